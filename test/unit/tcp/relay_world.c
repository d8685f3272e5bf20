// SPDX-License-Identifier: BSD-3-Clause
// The worker, clients and peers around stream threads that relay TCP.
#include "relay_world.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "addr_text.h"
#include "held_port.h"
#include "stream_change.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct item *up[2], *down[2]; // down: one list for each thread; up has one list, up[0]
struct relay_world world;

// --- the worker ----------------------------------------------------------------------------------

static void append(struct item **list, struct item *i)
{
	pthread_mutex_lock(&lock);
	while (*list != NULL)
		list = &(*list)->next;
	*list = i;
	pthread_mutex_unlock(&lock);
}

static struct item *first(struct item **list)
{
	struct item *i;

	pthread_mutex_lock(&lock);
	i = *list;
	if (i != NULL)
		*list = i->next;
	pthread_mutex_unlock(&lock);
	if (i != NULL)
		i->next = NULL;
	return i;
}

static unsigned int home(void *ctx, const struct endpoint *client, uint8_t listener)
{
	return 0;
}

static atomic_bool dry;

void buffers_run_out(bool out)
{
	atomic_store(&dry, out);
}

static bool take(void *ctx, unsigned int t, unsigned int w, struct stream_message *m)
{
	struct item *i;

	if (atomic_load(&dry))
		return false;
	i = calloc(1, sizeof(*i));
	assert_non_null(i);
	i->thread = t;
	m->buf = i;
	m->data = i->data;
	return true;
}

static bool may_ask(void *ctx, unsigned int t, unsigned int w)
{
	return true;
}

static void give(struct item *i, int kind, const struct stream_message *m)
{
	i->kind = kind;
	i->m = *m;
	append(&up[0], i);
}

static void message(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m,
	const struct stream_from *origin)
{
	((struct item *)m->buf)->origin = *origin;
	give(m->buf, ITEM_MESSAGE, m);
}

static void kick(void *ctx, unsigned int w)
{
}

static bool ended(void *ctx, unsigned int t, unsigned int w, const struct stream_from *origin)
{
	return true;
}

static unsigned int receive(
	void *ctx, unsigned int t, unsigned int w, struct stream_message *m, unsigned int n)
{
	struct item *i = first(&down[t]);

	if (i == NULL)
		return 0;
	m[0] = i->m;
	m[0].buf = i;
	m[0].data = i->data;
	return 1;
}

static void release(void *ctx, unsigned int t, unsigned int w, void *buf)
{
	free(buf);
}

static void attempted(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m,
	const struct stream_attempt *a)
{
	((struct item *)m->buf)->attempt = *a;
	give(m->buf, ITEM_ATTEMPT, m);
}

static void unopened(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m,
	const struct stream_alloc *p)
{
	((struct item *)m->buf)->attempt.owner = *p;
	give(m->buf, ITEM_UNOPENED, m);
}

static void device(void *ctx, const struct addr *a, char name[STREAM_DEVICE_LEN])
{
	strcpy(name, "lo");
}

// Counts calls in the calling thread's round.
static void tally(struct relay_tally tallies[2])
{
	struct stream_progress p;
	unsigned int t = 0;

	while (stream_progress(world.streams, t, &p) && p.tid != gettid())
		t++;
	if (t >= 2)
		return; // before stream_start has returned
	if (tallies[t].round != p.rounds)
		tallies[t].now = 0;
	tallies[t].round = p.rounds;
	if (++tallies[t].now > tallies[t].most)
		tallies[t].most = tallies[t].now;
}

static bool lives(void *ctx, unsigned int w, const struct stream_alloc *p)
{
	if (__atomic_load_n(&world.alive, __ATOMIC_RELAXED) != 0)
		return true;
	tally(world.gone);
	return false;
}

static void counted(void *ctx, unsigned int w, const struct stream_alloc *p, uint32_t n)
{
	__atomic_store_n(&world.connections, n, __ATOMIC_RELAXED);
}

static uint32_t allow(void *ctx, const struct stream_flow *f, uint32_t want)
{
	int64_t *left = &world.allowed[f->to_client];
	const int64_t had = __atomic_load_n(left, __ATOMIC_RELAXED);
	const uint32_t n = had < 0 ? 0 : had < want ? (uint32_t)had : want;

	__atomic_fetch_sub(left, n, __ATOMIC_RELAXED);
	return n;
}

static bool relayed(void *ctx, const struct stream_flow *f, uint32_t allowed, uint32_t bytes)
{
	const bool over = __atomic_load_n(&world.over, __ATOMIC_RELAXED);

	__atomic_fetch_add(
		&world.allowed[f->to_client], (int64_t)allowed - bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(over ? &world.late[f->to_client] : &world.relayed[f->to_client], bytes,
		__ATOMIC_RELAXED);
	return !over;
}

static bool may_be_peer(void *ctx, uint8_t realm, const struct endpoint *peer)
{
	tally(world.asked);
	if (__atomic_load_n(&world.restless, __ATOMIC_RELAXED))
		rules_changed();
	return !__atomic_load_n(&world.all_denied[realm], __ATOMIC_RELAXED) &&
		!(realm == 0 && __atomic_load_n(&world.denied[peer->port], __ATOMIC_RELAXED));
}

static const struct stream_ops ops = {.home = home,
	.take = take,
	.may_ask = may_ask,
	.send = message,
	.kick = kick,
	.rouse = kick,
	.ended = ended,
	.receive = receive,
	.release = release};

static const struct stream_relay_ops relay_ops = {.attempt = attempted,
	.unopened = unopened,
	.device = device,
	.lives = lives,
	.may_be_peer = may_be_peer,
	.counted = counted,
	.allow = allow,
	.relayed = relayed};

// The next item of a kind.
struct item *next(int kind)
{
	struct item *i = NULL;

	for (;;) {
		UNTIL((i = first(&up[0])) != NULL);
		if (i->kind == (unsigned int)kind)
			return i;
		free(i);
	}
}

// Sends an order to the thread of a connection. Its answers are the numbers of their outcomes.
void order(uint64_t conn, struct stream_order o)
{
	static const char *const texts[STREAM_ANSWER_END] = {
		"done", "port", "same", "fail", "many", "deny", "what"};
	struct item *i = calloc(1, sizeof(*i));
	size_t used = sizeof(o);

	assert_non_null(i);
	for (unsigned int k = 0; k < STREAM_ANSWER_END; k++) {
		o.len[k] = 4;
		memcpy(i->data + used, texts[k], 4);
		used += 4;
	}
	memcpy(i->data, &o, sizeof(o));
	i->m = (struct stream_message){
		.kind = STREAM_ORDER, .conn = conn, .len = (uint16_t)used, .lease_s = 60};
	append(&down[stream_thread_of(conn)], i);
	stream_wake(world.streams, stream_thread_of(conn));
}

void tell(uint64_t conn, uint16_t len)
{
	struct item *i = calloc(1, sizeof(*i));

	assert_non_null(i);
	i->m = (struct stream_message){
		.kind = STREAM_BYTES, .conn = conn, .len = len, .lease_s = 60};
	append(&down[stream_thread_of(conn)], i);
	stream_wake(world.streams, stream_thread_of(conn));
}

struct stream_stats stats(void)
{
	struct stream_stats s;

	stream_stats(world.streams, &s);
	return s;
}

// --- clients and peers ---------------------------------------------------------------------------

int dial(const struct sockaddr_in *addr)
{
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	// a reset may arrive before the system call returns
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) != 0)
		assert_int_equal(errno, ECONNRESET);
	return fd;
}

void assert_reads(int fd, const char *text)
{
	char got[64] = "";

	for (size_t n = 0; n < strlen(text);) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t k;

		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		k = recv(fd, got + n, strlen(text) - n, 0);
		assert_true(k > 0);
		n += (size_t)k;
	}
	assert_string_equal(got, text);
}

// Waits until the other end has closed.
void assert_closes(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char c;

	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	assert_true(recv(fd, &c, 1, 0) <= 0);
	close(fd);
}

static void assert_last(int fd, int want)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char c;

	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	assert_int_equal(recv(fd, &c, 1, 0), want == 0 ? 0 : -1);
	if (want != 0)
		assert_int_equal(errno, want);
	close(fd);
}

void assert_ends(int fd)
{
	assert_last(fd, 0);
}

void assert_is_reset(int fd)
{
	assert_last(fd, ECONNRESET);
}

// A client whose connection the worker knows; *conn is set to its number. It sends a request of
// this method, followed by `more`.
int client(uint8_t method, const char *more, uint64_t *conn)
{
	uint8_t request[64] = {0, method, 0, 0, 0x21, 0x12, 0xa4, 0x42};
	const int fd = dial(&world.server);
	struct item *i;

	memcpy(request + 20, more, strlen(more));
	assert_true(send(fd, request, 20 + strlen(more), 0) > 0);
	i = next(ITEM_MESSAGE);
	assert_int_equal(i->m.len, 20);
	*conn = i->origin.conn;
	free(i);
	return fd;
}

const struct stream_order listening = {
	.owner = {ALLOCATION, 0}, .ident = "ivan", .kind = STREAM_ORDER_LISTEN};

// A control connection with an open port, for the allocation with a relay port of this index.
int control_at(uint64_t *conn, uint32_t port_index, const struct sockaddr_in *addr)
{
	const int fd = client(3, "", conn);
	struct stream_order o = listening;

	__atomic_store_n(&world.alive, ALLOCATION, __ATOMIC_RELAXED);
	o.owner = (struct stream_alloc){ALLOCATION + port_index, port_index};
	o.endpoint = (struct endpoint){addr_text("127.0.0.1"), ntohs(addr->sin_port)};
	order(*conn, o);
	assert_reads(fd, "done");
	return fd;
}

int control(uint64_t *conn)
{
	return control_at(conn, 0, &world.port);
}

void admit(struct item *i, uint32_t id)
{
	order(i->attempt.conn,
		(struct stream_order){.owner = i->attempt.owner,
			.peer = i->attempt.number,
			.id = id,
			.kind = STREAM_ORDER_ADMIT});
	free(i);
}

static uint64_t judged(void)
{
	const struct stream_stats s = stats();

	return s.relay_accepted + s.relay_strangers + s.relay_denied;
}

// A connected peer that is admitted under a number. A thread other than that of `conn` may bind it
// at once: the order has been carried out.
int admitted(uint64_t conn, uint32_t id)
{
	const uint64_t before = judged();
	const int fd = dial(&world.port);
	struct item *i = next(ITEM_ATTEMPT);

	assert_int_equal(i->attempt.owner.allocation, ALLOCATION);
	assert_true(i->attempt.conn == conn);
	admit(i, id);
	UNTIL(judged() != before);
	return fd;
}

struct stream_order binding(uint32_t id, const char *user)
{
	struct stream_order o = {.id = id, .kind = STREAM_ORDER_BIND};

	memcpy(o.ident, user, strlen(user));
	return o;
}

int bound(uint32_t id, const char *more)
{
	uint64_t conn;
	const int data = client(11, more, &conn);

	order(conn, binding(id, "ivan"));
	assert_reads(data, "done");
	return data;
}

int joined(uint64_t *conn, int *peer, const char *more, int *data)
{
	const int c = control(conn);

	*peer = admitted(*conn, 5);
	assert_reads(c, "done");
	*data = bound(5, more);
	return c;
}

static struct stream_listener listener;
static struct stream_config config; // the configuration of world.streams

void rules_changed(void)
{
	stream_change(world.streams, &config);
}

static int holder[3]; // hold the world's ports

static const struct stream_identities *identities; // or NULL: clients use plain TCP

static int open_world(const struct stream_relay *relay, uint32_t handshake_s)
{
	struct sockaddr_in *const addrs[] = {&world.server, &world.port, &world.other_port};
	char error[200];

	memset(&world, 0, sizeof(world));
	for (unsigned int i = 0; i < 3; i++)
		holder[i] = held_port(addrs[i]);
	listener = (struct stream_listener){.mode = identities != NULL ? STREAM_TLS : STREAM_PLAIN,
		.endpoint = {addr_text("127.0.0.1"), ntohs(world.server.sin_port)}};
	config = (struct stream_config){.listeners = &listener,
		.nb_listeners = 1,
		.threads = 2,
		.workers = 1,
		.connections = 64,
		.idle_s = 60,
		.handshake_s = handshake_s,
		.queue = 65536,
		.room = ROOM,
		.relay = *relay,
		.identities = identities,
		.ops = &ops};
	config.relay.ops = &relay_ops;
	world.allowed[0] = world.allowed[1] = INT64_MAX / 2;
	world.streams = stream_start(&config, error, sizeof(error));
	if (world.streams == NULL)
		fail_msg("%s", error);
	return 0;
}

static const struct stream_relay usual = {.ports = 4,
	.connections = 8,
	.per_user = 6,
	.per_allocation = 4,
	.timeout_s = 60,
	.buffer = 16384};

int relay_world_open(void **state)
{
	return open_world(&usual, 60);
}

int relay_world_open_hasty(void **state)
{
	struct stream_relay r = usual;

	r.timeout_s = 1;
	return open_world(&r, 60);
}

int relay_world_open_curt(void **state)
{
	return open_world(&usual, 1);
}

int relay_world_open_slow(void **state)
{
	struct stream_relay r = usual;

	r.connects = (struct limit){1, RELAY_WORLD_BURST};
	return open_world(&r, 60);
}

int relay_world_open_tls(const struct stream_identities *certs)
{
	identities = certs;
	return open_world(&usual, 60);
}

int relay_world_open_many(void **state)
{
	struct stream_relay r = usual;
	struct rlimit files;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	r.connections = r.per_user = r.per_allocation = RELAY_WORLD_MANY;
	r.timeout_s = 600; // it takes a while to make them
	return open_world(&r, 60);
}

int relay_world_close(void **state)
{
	struct item *i;

	if (world.streams != NULL)
		stream_stop(world.streams);
	identities = NULL;
	for (unsigned int k = 0; k < 3; k++)
		close(holder[k]);
	while ((i = first(&up[0])) != NULL || (i = first(&down[0])) != NULL ||
		(i = first(&down[1])) != NULL)
		free(i);
	return 0;
}
