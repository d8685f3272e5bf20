// SPDX-License-Identifier: BSD-3-Clause
// Handshakes by a stream thread's code, and sessions after them. The peer is libssl's client on a
// wire that loses, repeats and reorders. The test acts as the worker that is the client's home.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dtls_world.h"
#include "identity/identities.h"
#include "thread.h"
#include "test_rand.h"

#define CONN ((UINT64_C(1) << 32) + 7)
#define HALF_OPEN_BYTES (352 * 1024) // a half-open handshake uses less
#define SOURCE_MAX 40

// --- memory that libssl allocates at our end -----------------------------------------------------

static bool ours;
static size_t taken;

// In front of each allocation: its owner and its size.
struct head {
	size_t len;
	bool ours;
} __attribute__((aligned(16)));

static void *count_malloc(size_t len, const char *file, int line)
{
	struct head *h = malloc(sizeof(*h) + len);

	if (h == NULL)
		return NULL;
	*h = (struct head){len, ours};
	taken += ours ? malloc_usable_size(h) : 0;
	return h + 1;
}

static void count_free(void *p, const char *file, int line)
{
	struct head *h = p;

	if (p == NULL)
		return;
	h--;
	taken -= h->ours ? malloc_usable_size(h) : 0;
	free(h);
}

static void *count_realloc(void *p, size_t len, const char *file, int line)
{
	const struct head *h = p;
	void *fresh = count_malloc(len, file, line);

	if (p != NULL && fresh != NULL) {
		memcpy(fresh, p, h[-1].len < len ? h[-1].len : len);
		count_free(p, file, line);
	}
	return fresh;
}

// --- the world -----------------------------------------------------------------------------------

static struct streams streams;
static struct thread *thread;
static struct dtls_client client;
static struct dtls_cookies cookies;
static struct dtls_session *session; // of the worker
static struct datagram opened; // the last datagram that it opened
static struct dtls_wire left; // the rest of that datagram
static const struct endpoint client_at = {{.b = {[15] = 2}}, 40000}, server_at = {.port = 5349};
static uint64_t conn;
static bool begun, full;
static unsigned int ended, bounced;
static struct test_rand rnd;

static bool fake_take(void *ctx, unsigned int t, unsigned int w, struct stream_message *m)
{
	static uint8_t room[DATAGRAM_MAX];

	*m = (struct stream_message){.buf = room, .data = room};
	return !full;
}

static void fake_datagram(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m)
{
	if (m->kind == STREAM_BYTES)
		bounced++;
	else if (m->conn == conn)
		wire_put(&client.in, m->data, m->len);
}

static bool fake_handshake_ended(
	void *ctx, unsigned int t, unsigned int w, uint64_t c, struct dtls_session *s)
{
	if (full)
		return false;
	assert_int_equal(w, 3);
	if (s == NULL)
		ended++;
	else
		session = s;
	return true;
}

static const struct stream_ops ops = {
	.take = fake_take, .datagram = fake_datagram, .handshake_ended = fake_handshake_ended};

static void send_out(void *ctx, const uint8_t *data, size_t len)
{
	wire_put(&client.in, data, len);
}

static struct dtls_wire wire_of(struct datagram *d)
{
	return (struct dtls_wire){.in = d != NULL ? d->data : NULL,
		.in_len = d != NULL ? d->len : 0,
		.out = send_out};
}

static void to_thread(const struct datagram *d, enum stream_kind kind)
{
	struct datagram copy = *d;
	const struct stream_message m = {.data = copy.data,
		.len = copy.len,
		.kind = (uint8_t)kind,
		.conn = conn,
		.source = client_at.addr};

	ours = true;
	handshake_take(thread, 3, &m);
	while (handshake_work(thread) || !handshake_tell(thread))
		;
	ours = false;
}

// The next message of d, or of the rest of the previous datagram.
static int session_read(const struct datagram *d, uint8_t *buf, size_t len)
{
	uint8_t *message;
	int n;

	if (d != NULL) {
		opened = *d;
		left = wire_of(&opened);
	}
	n = dtls_session_read(session, &left, &message);
	if (n > 0) {
		assert_in_range(n, 1, len);
		memcpy(buf, message, (size_t)n);
	}
	return n;
}

// A worker's handling of a datagram.
static void serve(const struct datagram *d)
{
	uint8_t answer[DTLS_VERIFY_LEN], buf[DATAGRAM_MAX];
	struct dtls_hello h;

	if (!dtls_hello_is(d->data, d->len)) {
		if (session != NULL)
			assert_int_equal(session_read(d, buf, sizeof(buf)), IO_LATER);
		else if (begun)
			to_thread(d, STREAM_HANDSHAKE);
		return;
	}
	assert_true(dtls_hello_read(d->data, d->len, &h));
	if (dtls_cookie_good(&cookies, &h, &client_at, &server_at)) {
		if (session == NULL)
			to_thread(d, begun ? STREAM_HANDSHAKE : STREAM_HELLO);
		begun = true;
		return;
	}
	dtls_cookie_ask(&cookies, &h, &client_at, &server_at, answer);
	wire_put(&client.in, answer, sizeof(answer));
}

static void open_world(const char *ciphers)
{
	static const uint8_t key[DTLS_COOKIE_KEY_LEN] = {1};
	struct stream_config *c = &streams.conf;
	char error[256], list[64];

	*c = (struct stream_config){.connections = 1,
		.workers = 4,
		.threads = 1,
		.room = DATAGRAM_MAX,
		.ops = &ops,
		.dtls = {.sessions = SOURCE_MAX,
			.per_source = SOURCE_MAX - 1,
			.handshake_s = 10,
			.mtu = 1232,
			.message = 1459}};
	snprintf(list, sizeof(list), "%s:@SECLEVEL=0", ciphers != NULL ? ciphers : "");
	left = wire_of(NULL);
	assert_int_equal(conn_limits_init(&streams.caps, 1, 0, 0), 0);
	assert_int_equal(conn_limits_init(&streams.sessions, SOURCE_MAX, SOURCE_MAX - 1, 0), 0);
	pthread_mutex_init(&streams.tls_lock, NULL);
	streams.identities = identities_load(
		dtls_identities(ciphers != NULL ? "ALL:@SECLEVEL=0" : NULL), &c->dtls, error, 256);
	assert_non_null(streams.identities);
	thread = thread_create(&streams, 0);
	assert_non_null(thread);
	dtls_cookies_init(&cookies, key);
	conn = CONN;
	begun = full = false;
	ended = bounced = 0;
	session = NULL;
	dtls_client_open(&client, ciphers != NULL ? list : NULL);
}

static void session_over(void)
{
	const struct stream_message m = {
		.kind = STREAM_GONE, .conn = conn, .session = session, .source = client_at.addr};

	if (session != NULL)
		handshake_take(thread, 3, &m);
	session = NULL;
}

static void close_world(void)
{
	session_over();
	handshake_close(thread);
	assert_int_equal(streams.sessions.total, 0);
	assert_int_equal(thread->stats.dtls_sessions, 0);
	thread_free(thread);
	identities_free(streams.identities);
	conn_limits_fini(&streams.caps);
	conn_limits_fini(&streams.sessions);
	dtls_client_close(&client);
}

// One step of both ends.
static bool step(void)
{
	struct datagram d;
	const bool done = dtls_client_handshake(&client);

	while (wire_take(&client.out, &d))
		serve(&d);
	return done && session != NULL;
}

// Removes retransmissions that are still on the wire when both ends are done.
static void settle(void)
{
	uint8_t buf[DATAGRAM_MAX];

	assert_true(SSL_read(client.ssl, buf, sizeof(buf)) <= 0);
	client.in.n = client.out.n = 0;
}

static void shake(void)
{
	for (unsigned int i = 0; i < 20; i++) {
		if (step()) {
			settle();
			return;
		}
	}
	fail_msg("no handshake");
}

// --- sessions ------------------------------------------------------------------------------------

static const char *const ciphers[] = {"ECDHE-ECDSA-AES128-GCM-SHA256",
	"ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305"};
#define CIPHERS (sizeof(ciphers) / sizeof(ciphers[0]))

static void from_client(const void *data, size_t len, struct datagram *d)
{
	assert_int_equal(SSL_write(client.ssl, data, (int)len), len);
	assert_true(wire_take(&client.out, d));
}

// The record is built around the message in place, as a worker does it.
static void write_session(const void *message, size_t len)
{
	uint8_t buf[DATAGRAM_MAX + 64];
	int n;

	memcpy(buf + 30, message, len);
	n = dtls_session_write(session, buf + 30, len, buf + 7);
	assert_true(n > 0);
	wire_put(&client.in, buf + 7, (size_t)n);
}

// One record in each direction, in place as a worker does it.
static void exchange(size_t len)
{
	uint8_t data[DATAGRAM_MAX], got[DATAGRAM_MAX];
	struct datagram d;

	settle();
	test_rand_fill(&rnd, data, len);
	from_client(data, len, &d);
	assert_int_equal(session_read(&d, d.data, d.len), len);
	assert_memory_equal(d.data, data, len);
	assert_int_equal(session_read(NULL, got, sizeof(got)), IO_LATER);
	write_session(data, len);
	assert_in_range(client.in.d[0].len, len + 13, len + DTLS_OVERHEAD_MAX);
	assert_int_equal(SSL_read(client.ssl, got, sizeof(got)), len);
	assert_memory_equal(got, data, len);
}

static void test_session(void **state)
{
	for (unsigned int i = 0; i < CIPHERS; i++) {
		open_world(ciphers[i]);
		shake();
		for (size_t len = 1; len <= 1459; len += len < 70 ? 1 : 101)
			exchange(len);
		exchange(1459);
		close_world();
	}
}

// Nothing that a stranger sends changes a session, in its client's name or not.
static void test_forged(void **state)
{
	for (unsigned int i = 0; i < CIPHERS; i++) {
		open_world(ciphers[i]);
		shake();
		for (unsigned int k = 0; k < 3000; k++) {
			struct datagram d = {.len = (uint16_t)(13 + test_rand_below(&rnd, 120))};
			uint8_t buf[DATAGRAM_MAX];

			test_rand_fill(&rnd, d.data, d.len);
			d.data[0] = (uint8_t)(20 + test_rand_below(&rnd, 5));
			d.data[1] = 0xfe;
			d.data[2] = 0xfd;
			memset(d.data + 3, 0, 5);
			d.data[4] = (uint8_t)test_rand_below(&rnd, 3); // epoch
			d.data[11] = 0;
			d.data[12] = (uint8_t)(d.len - 13);
			if (test_rand_below(&rnd, 8) == 0)
				d.data[12] = (uint8_t)test_rand_below(&rnd, 256);
			assert_int_equal(session_read(&d, buf, sizeof(buf)), IO_LATER);
		}
		exchange(100);
		close_world();
	}
}

static void test_replayed(void **state)
{
	struct datagram d[3];
	uint8_t buf[DATAGRAM_MAX];

	open_world(NULL);
	shake();
	for (unsigned int i = 0; i < 3; i++)
		from_client("0123456789", 10, &d[i]);
	for (unsigned int i = 3; i-- > 0;) // out of order
		assert_int_equal(session_read(&d[i], buf, sizeof(buf)), 10);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(session_read(&d[i], buf, sizeof(buf)), IO_LATER);
	d[0].data[d[0].len - 1] ^= 1;
	assert_int_equal(session_read(&d[0], buf, sizeof(buf)), IO_LATER);
	exchange(10);
	close_world();
}

// Two records in one datagram are two messages.
static void test_two_records(void **state)
{
	struct datagram a, b;
	uint8_t buf[DATAGRAM_MAX];

	open_world(NULL);
	shake();
	from_client("first", 5, &a);
	from_client("second", 6, &b);
	memcpy(a.data + a.len, b.data, b.len);
	a.len = (uint16_t)(a.len + b.len);
	assert_int_equal(session_read(&a, buf, sizeof(buf)), 5);
	assert_memory_equal(buf, "first", 5);
	assert_in_range(left.in_len, 13 + 6, 13 + 6 + DTLS_OVERHEAD_MAX);
	assert_int_equal(session_read(NULL, buf, sizeof(buf)), 6);
	assert_memory_equal(buf, "second", 6);
	assert_int_equal(left.in_len, 0);
	assert_int_equal(session_read(NULL, buf, sizeof(buf)), IO_LATER);
	close_world();
}

static void test_renegotiation(void **state)
{
	struct datagram d;
	uint8_t buf[DATAGRAM_MAX];

	open_world(NULL);
	shake();
	assert_int_equal(SSL_renegotiate(client.ssl), 1);
	SSL_do_handshake(client.ssl);
	assert_true(wire_take(&client.out, &d));
	assert_int_equal(session_read(&d, buf, sizeof(buf)), IO_LATER);
	assert_int_equal(client.in.n, 1);
	assert_int_equal(client.in.d[0].data[0], DTLS_ALERT);
	client.in.n = 0;
	// and it continues as if nothing had happened
	for (unsigned int i = 0; i < 5; i++)
		write_session("still", 5);
	close_world();
}

static void test_close(void **state)
{
	struct dtls_wire w = wire_of(NULL);
	struct datagram d;
	uint8_t buf[DATAGRAM_MAX];

	open_world(NULL);
	shake();
	SSL_shutdown(client.ssl);
	assert_true(wire_take(&client.out, &d));
	assert_int_equal(session_read(&d, buf, sizeof(buf)), IO_CLOSED);
	dtls_session_close(session, &w);
	assert_int_equal(client.in.n, 1);
	assert_int_equal(SSL_shutdown(client.ssl), 1); // it has seen our close_notify
	close_world();
}

static void test_memory(void **state)
{
	struct dtls_session *all[32];
	size_t before;

	if (mallinfo2().uordblks == 0)
		skip(); // needs the test's allocator
	open_world(NULL);
	shake();
	before = mallinfo2().uordblks;
	for (unsigned int i = 0; i < 32; i++) {
		all[i] = session;
		dtls_client_close(&client);
		dtls_client_open(&client, NULL);
		session = NULL;
		begun = false;
		conn++;
		shake();
		exchange(1200);
		assert_int_equal(SSL_renegotiate(client.ssl), 1);
		SSL_do_handshake(client.ssl);
		serve(&client.out.d[0]);
	}
	before = (mallinfo2().uordblks - before) / 32;
	print_message("%zu bytes a session\n", before);
	assert_in_range(before, 1, SESSION_BYTES);
	for (unsigned int i = 0; i < 32; i++) {
		session_over();
		session = all[i];
	}
	close_world();
}

// --- handshakes on bad wires ---------------------------------------------------------------------

// The fate of datagram number i of both directions.
struct fate {
	int lost; // or -1
	bool twice, shuffled;
};

static void pass(struct wire *w, const struct fate *f, int *number)
{
	struct wire *out = calloc(1, sizeof(*out));
	struct datagram d;

	while (wire_take(w, &d)) {
		if ((*number)++ == f->lost)
			continue;
		wire_put(out, d.data, d.len);
		if (f->twice)
			wire_put(out, d.data, d.len);
	}
	for (unsigned int i = out->n; f->shuffled && i > 1; i--) {
		const unsigned int k = test_rand_below(&rnd, i);
		const struct datagram swap = out->d[i - 1];

		out->d[i - 1] = out->d[k];
		out->d[k] = swap;
	}
	*w = *out;
	free(out);
}

// Returns the number of datagrams that it took.
static int shake_badly(const struct fate *f)
{
	static const struct timespec pause = {.tv_nsec = 2000000};
	int number = 0;

	for (unsigned int i = 0; i < 2000; i++) {
		struct datagram d;
		const bool done = dtls_client_handshake(&client);

		pass(&client.out, f, &number);
		while (wire_take(&client.out, &d))
			serve(&d);
		thread->now_ms += 100;
		handshake_tick(thread);
		handshake_tell(thread);
		pass(&client.in, f, &number);
		if (done && session != NULL)
			return number;
		if (client.in.n == 0)
			nanosleep(&pause, NULL);
		thread->now_ms -= 99;
	}
	fail_msg("no handshake: lost %d, twice %d, shuffled %d", f->lost, f->twice, f->shuffled);
	return 0;
}

static void test_bad_wires(void **state)
{
	int all;

	for (unsigned int kind = 0; kind < 4; kind++) {
		struct fate f = {.lost = -1, .twice = (kind & 1) != 0, .shuffled = (kind & 2) != 0};

		open_world(NULL);
		all = shake_badly(&f);
		exchange(100);
		close_world();
		for (f.lost = 0; f.lost < all; f.lost++) {
			open_world(NULL);
			shake_badly(&f);
			close_world();
		}
	}
}

static void begin(void)
{
	assert_false(step());
	assert_false(step());
	assert_true(begun);
}

// Only our last flight is repeated, even if libssl's timer has just expired.
static void test_late_answer(void **state)
{
	open_world(NULL);
	begin();
	dtls_client_handshake(&client);
	usleep(1050000); // libssl's timer: a second
	step();
	client.in.n = 0; // all lost
	for (unsigned int i = 0; i < 100 && client.in.n == 0; i++, usleep(2000))
		step();
	assert_int_equal(client.in.d[0].data[13], 4); // its ticket, no ServerHello
	close_world();
}

// --- state that a thread keeps -------------------------------------------------------------------

static void test_given_up(void **state)
{
	struct datagram hello;

	open_world(NULL);
	begin();
	hello = client.in.d[0];
	assert_int_equal(thread->stats.dtls_sessions, 1);
	thread->now_ms += 10001;
	handshake_tick(thread);
	assert_true(handshake_tell(thread));
	assert_int_equal(ended, 1);
	assert_int_equal(thread->stats.dtls_failed, 1);
	assert_int_equal(thread->stats.dtls_sessions, 0);
	// late datagrams go back to the worker
	to_thread(&hello, STREAM_HANDSHAKE);
	assert_int_equal(bounced, 1);
	close_world();
}

// Datagrams after the end of a handshake go to the worker, which hears of that end first.
static void test_behind_the_end(void **state)
{
	struct datagram d = {.len = 60, .data = {DTLS_APPLICATION, 0xfe, 0xfd}};
	struct stream_message m = {.kind = STREAM_HANDSHAKE, .conn = CONN, .data = d.data};

	open_world(NULL);
	begin();
	dtls_client_handshake(&client); // its last flight
	wire_put(&client.out, d.data, d.len);
	while (wire_take(&client.out, &d)) {
		m.len = d.len;
		handshake_take(thread, 3, &m);
	}
	while (handshake_work(thread) || session == NULL)
		handshake_tell(thread);
	assert_int_equal(bounced, 1);
	close_world();
}

// A fragment of every message number that a handshake may be ahead by, each of a message of the
// greatest length that libssl accepts, then as many records of the next epoch as a worker passes.
static void test_half_open_memory(void **state)
{
	size_t before;

	open_world(NULL);
	begin();
	before = taken;
	for (unsigned int i = 0; i < 64; i++) {
		struct datagram d = {.len = 60, .data = {DTLS_HANDSHAKE, 0xfe, 0xfd}};
		const bool early = i >= 16;

		d.data[4] = early;
		d.data[10] = (uint8_t)(20 + i); // of the record
		d.data[12] = 60 - 13;
		d.data[13] = 11;
		d.data[15] = 0x40; // 16384 bytes
		d.data[18] = (uint8_t)(2 + i); // of the message
		d.data[24] = 60 - 25;
		to_thread(&d, STREAM_HANDSHAKE);
	}
	print_message("%zu bytes\n", taken - before);
	assert_in_range(taken - before, 1, HALF_OPEN_BYTES);
	close_world();
}

static void test_abandoned(void **state)
{
	const struct stream_message gone = {.kind = STREAM_GONE, .conn = CONN};

	open_world(NULL);
	begin();
	full = true;
	handshake_take(thread, 3, &gone);
	assert_false(handshake_tell(thread));
	full = false;
	assert_true(handshake_tell(thread));
	handshake_take(thread, 3, &gone); // nothing is left: its worker may not know yet
	assert_int_equal(ended, 2);
	assert_int_equal(thread->stats.dtls_failed, 0);
	close_world();
}

static void test_caps(void **state)
{
	open_world(NULL);
	for (unsigned int i = 0; i < SOURCE_MAX; i++) {
		dtls_client_close(&client);
		dtls_client_open(&client, NULL);
		begun = false;
		conn++;
		begin();
	}
	assert_int_equal(thread->stats.dtls_sessions, SOURCE_MAX - 1);
	assert_int_equal(thread->stats.dtls_refused_source, 1);
	assert_int_equal(ended, 1);
	assert_int_equal(client.in.n, 0); // the last one is not answered
	close_world();
}

// DTLS 1.0 is refused by an alert, not by silence.
static void test_old_version(void **state)
{
	open_world("ALL");
	assert_int_equal(SSL_set_max_proto_version(client.ssl, DTLS1_VERSION), 1);
	begin();
	assert_int_equal(client.in.n, 1);
	assert_int_equal(client.in.d[0].data[0], DTLS_ALERT);
	assert_int_equal(thread->stats.dtls_failed, 1);
	assert_int_equal(ended, 1);
	close_world();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_session),
		cmocka_unit_test(test_forged),
		cmocka_unit_test(test_replayed),
		cmocka_unit_test(test_two_records),
		cmocka_unit_test(test_renegotiation),
		cmocka_unit_test(test_close),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_bad_wires),
		cmocka_unit_test(test_late_answer),
		cmocka_unit_test(test_given_up),
		cmocka_unit_test(test_behind_the_end),
		cmocka_unit_test(test_half_open_memory),
		cmocka_unit_test(test_abandoned),
		cmocka_unit_test(test_caps),
		cmocka_unit_test(test_old_version),
	};

	if (CRYPTO_set_mem_functions(count_malloc, count_realloc, count_free) != 1)
		return 1;
	rnd = test_rand_start("dtls");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
