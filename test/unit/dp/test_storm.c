// SPDX-License-Identifier: BSD-3-Clause
// A storm of authenticated requests beside calls, in simulated time: frames arrive at a rate of
// their own in receive rings of finite length, which fill while a worker is at work. What a round
// costs is reckoned, from figures that no CPU of today is worse than: so a test can ask for rates
// of ten million a second, and says the same on every machine. No relayed datagram may be lost, and
// every request has to be answered or be counted. Clients who ask again as RFC 8489 has it, beside
// a storm of others, have their answers in time.
#include "bytes.h"
#include "datapath.h"
#include "dp_world.h"
#include "control/stats.h"
#include "steering/steer.h"
#include "worker.h"

#define RING 1024 // descriptors of a queue, the default
#define ROUND_NS 300 // of a worker, whatever there is to do
#define PACKET_NS 100 // more for each that is received, or handed over
#define REQUEST_NS 3500 // more for each that is answered
#define CLIENTS 256
#define FRAME_MAX 320
#define CHANNEL 0x4001
#define STREAMS 6
#define ASKERS 1000
#define RTO_NS UINT64_C(500000000) // after which a client asks again, then twice as long
#define PATIENCE_MS 3000
#define STUN_AT (NET_ETH_LEN + NET_IP4_LEN + NET_UDP_LEN)

struct frame {
	uint16_t len;
	uint8_t data[FRAME_MAX];
};

// What comes in on a queue, evenly.
struct stream {
	const struct frame *frame; // nb of them, in turn
	uint32_t nb, at;
	uint16_t queue;
	bool call; // else a request
	uint64_t every_ns, next_ns;
};

// A client that asks until it is answered.
struct asker {
	struct frame frame;
	uint64_t next_ns, rto_ns;
	bool answered;
};

struct tally {
	uint64_t sent, lost; // by the ring
	uint64_t back; // relayed, or answers
};

static struct dp_world world;
static struct frame storm[2 * CLIENTS]; // all allocate, then all release
static struct frame fakes[ASKERS]; // all valid, and of no use
static struct frame up, down;
static struct asker asker[ASKERS];
static unsigned int nb_askers, nb_answered, nb_expected;
static uint16_t asker_of[UINT16_MAX + 1]; // by port: its number from 1 on
static uint64_t ask_ns; // when one of them asks next
static uint16_t ask_queue;
static struct world_client call;
static struct endpoint peer;
static struct stream stream[STREAMS];
static unsigned int nb_streams;
static uint64_t clock_ns[TURN_WORKERS_MAX]; // of each worker
static struct tally calls, requests;

// --- frames -------------------------------------------------------------------------------------

static unsigned int home_of(const struct world_client *c)
{
	const struct net_frame f = {.src = c->at.addr,
		.dst = c->server.addr,
		.sport = c->at.port,
		.dport = c->server.port,
		.is_v4 = true};
	const struct rte_mbuf m = {.ol_flags = 0};

	return steer_client_home(world.dp, &world.dp->port[0], &m, &f, 0);
}

// The next client, by port number, that lives on a worker.
static void client_at(struct world_client *c, uint16_t *port, unsigned int home)
{
	do
		world_client(&world, c, "10.99.0.20", (*port)++);
	while (home_of(c) != home);
}

static void keep(struct frame *to, const struct endpoint *src, const struct endpoint *dst,
	const void *data, size_t len)
{
	struct world_datagram d = {.src = *src, .dst = *dst, .len = (uint16_t)len};
	uint8_t frame[2048];

	memcpy(d.data, data, len);
	to->len = (uint16_t)world_frame(&world, &d, frame);
	assert_true(to->len <= FRAME_MAX);
	memcpy(to->data, frame, to->len);
}

static void request_make(
	struct frame *to, struct world_client *c, enum stun_method method, uint32_t lifetime_s)
{
	uint16_t len;

	client_begin(&world, c, method);
	if (method == STUN_ALLOCATE)
		stun_put_u32(&c->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	else
		stun_put_u32(&c->w, STUN_LIFETIME, lifetime_s);
	stun_put(&c->w, STUN_USERNAME, "ivan", 4);
	stun_put(&c->w, STUN_REALM, "turn.test", 9);
	stun_put(&c->w, STUN_NONCE, c->nonce, c->nonce_len);
	stun_put_integrity(&c->w, world.crypto, STUN_ALG_MD5, &c->key);
	len = stun_end(&c->w);
	assert_int_not_equal(len, 0);
	keep(to, &c->at, &c->server, c->message, len);
}

static void world_begin(unsigned int workers)
{
	const struct world_setup s = {.workers = workers,
		.rx_queues = workers,
		.tx_queues = workers,
		.relay_ports = 4096,
		.backlog = 512};
	uint8_t media[100] = {CHANNEL >> 8, CHANNEL & 0xff, 0, sizeof(media) - 4};
	uint16_t port = 19000;

	world_open(&world, &s);
	peer = world_endpoint("10.99.0.30", 7000);
	client_at(&call, &port, 0);
	assert_int_equal(client_allocate(&world, &call, 4), 0);
	assert_int_equal(client_bind(&world, &call, CHANNEL, &peer), 0);
	keep(&up, &call.at, &call.server, media, sizeof(media));
	keep(&down, &peer, &call.relay, media, sizeof(media));
	nb_streams = nb_askers = nb_answered = nb_expected = 0;
	ask_ns = UINT64_MAX;
	memset(asker_of, 0, sizeof(asker_of));
	memset(clock_ns, 0, sizeof(clock_ns));
	calls = requests = (struct tally){0};
}

// A call that lives on worker 0, and a storm's clients, all of whom live on worker home.
static void open(unsigned int workers, unsigned int home)
{
	uint16_t port = 20000;

	world_begin(workers);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		struct world_client c;

		client_at(&c, &port, home);
		assert_int_equal(client_permit(&world, &c, &peer), 437); // for a nonce
		request_make(&storm[i], &c, STUN_ALLOCATE, 0);
		request_make(&storm[CLIENTS + i], &c, STUN_REFRESH, 0);
	}
	assert_int_equal(world_drops(&world), 0);
}

// As many clients of worker 0 that will ask, in turn, within a tenth of a second from when their
// storm begins: with an allocation for its Refresh, else for one.
static void askers_make(unsigned int nb, uint16_t port, bool allocated)
{
	for (unsigned int i = 0; i < nb; i++) {
		struct asker *a = &asker[nb_askers++];
		struct world_client c;

		client_at(&c, &port, 0);
		*a = (struct asker){.rto_ns = RTO_NS, .next_ns = 10000000 + i * 100000};
		if (allocated)
			assert_int_equal(client_allocate(&world, &c, 4), 0);
		else
			assert_int_equal(client_permit(&world, &c, &peer), 437);
		request_make(&a->frame, &c, allocated ? STUN_REFRESH : STUN_ALLOCATE, 600);
		asker_of[c.at.port] = (uint16_t)nb_askers;
	}
	nb_expected = nb_askers;
}

// Requests of strangers: signed, with nothing to refresh. They are answered, and change nothing.
static void fakes_of_strangers(unsigned int nb)
{
	uint16_t port = 40000;

	for (unsigned int i = 0; i < nb; i++) {
		struct world_client c;

		client_at(&c, &port, 0);
		assert_int_equal(client_permit(&world, &c, &peer), 437);
		request_make(&fakes[i], &c, STUN_REFRESH, 600);
	}
}

// Requests that somebody sends in the name of the askers [from, from + nb): nothing is theirs but
// the 5-tuple.
static void fakes_of_askers(unsigned int from, unsigned int nb)
{
	for (unsigned int i = 0; i < nb; i++) {
		fakes[i] = asker[from + i].frame;
		// in its id: the signature is wrong
		fakes[i].data[STUN_AT + STUN_HEADER_LEN - 1] ^= 1;
		store_be16(fakes[i].data + STUN_AT - 2, 0); // no checksum of UDP
	}
}

// --- time ---------------------------------------------------------------------------------------

static void begin(const struct frame *frames, uint32_t nb, uint16_t queue, uint64_t per_second)
{
	struct stream *s = &stream[nb_streams++];

	assert_true(nb_streams <= STREAMS);
	*s = (struct stream){.frame = frames,
		.nb = nb,
		.queue = queue,
		.call = frames == &up || frames == &down,
		.every_ns = 1000000000 / per_second};
	s->next_ns = clock_ns[0] + s->every_ns * nb_streams / STREAMS; // not all at once
}

static void call_begins(uint16_t queue_up, uint16_t queue_down, uint64_t per_second)
{
	begin(&up, 1, queue_up, per_second);
	begin(&down, 1, queue_down, per_second);
}

static void receive(struct tally *t, uint16_t queue, const struct frame *f)
{
	struct port *p = world.dp->port[0].port;

	t->sent++;
	if (softport_waiting(p, queue) >= RING)
		t->lost++;
	else
		softport_put(p, queue, f->data, f->len);
}

// Those who have waited long enough ask, once more if need be.
static void askers_ask(uint64_t by_ns)
{
	if (by_ns < ask_ns)
		return;
	ask_ns = UINT64_MAX;
	for (unsigned int i = 0; i < nb_askers; i++) {
		struct asker *a = &asker[i];

		if (a->answered)
			continue;
		if (a->next_ns <= by_ns) {
			receive(&requests, ask_queue, &a->frame);
			a->next_ns += a->rto_ns;
			a->rto_ns *= 2;
		}
		ask_ns = RTE_MIN(ask_ns, a->next_ns);
	}
}

// An answer to an asker, and no other than to what it has asked.
static void asker_answered(uint16_t port, const uint8_t *message)
{
	struct asker *a;

	if (asker_of[port] == 0)
		return;
	a = &asker[asker_of[port] - 1];
	if (a->answered || memcmp(message + 8, a->frame.data + STUN_AT + 8, STUN_TID_LEN) != 0)
		return;
	assert_int_equal(message[0] << 8 & 0x100, 0x100); // success
	assert_int_equal(message[1] & 0x10, 0);
	a->answered = true;
	nb_answered++;
}

// Puts what has come by that time in the rings, in order of arrival.
static void arrive(uint64_t by_ns)
{
	for (;;) {
		struct stream *s = &stream[0];

		for (unsigned int i = 1; i < nb_streams; i++)
			if (stream[i].next_ns < s->next_ns)
				s = &stream[i];
		askers_ask(RTE_MIN(s->next_ns, by_ns));
		if (s->next_ns > by_ns)
			return;
		s->next_ns += s->every_ns;
		receive(s->call ? &calls : &requests, s->queue, &s->frame[s->at]);
		s->at = (s->at + 1) % s->nb;
	}
}

// Counts what was sent; returns the answers among it.
static unsigned int leave(void)
{
	unsigned int answers = 0;
	uint8_t frame[2048];

	while (softport_take(world.dp->port[0].port, frame, sizeof(frame)) > 0) {
		const uint16_t to = load_be16(frame + NET_ETH_LEN + NET_IP4_LEN + 2);

		if (frame[12] != 0x08 || frame[13] != 0) // ARP
			continue;
		if (to == peer.port || to == call.at.port) {
			calls.back++;
			continue;
		}
		asker_answered(to, frame + STUN_AT);
		answers++;
	}
	requests.back += answers;
	return answers;
}

// A round of the worker that is ready first.
static bool step(void)
{
	unsigned int first = 0;
	struct worker *w;
	uint64_t packets;
	bool busy;

	for (unsigned int i = 1; i < world.dp->nb_workers; i++)
		if (clock_ns[i] < clock_ns[first])
			first = i;
	arrive(clock_ns[first]);
	w = world.dp->worker[first];
	packets = w->live.rx + w->live.handed_in + w->live.handed_out;
	busy = worker_round(w,
		world.dp->tsc_start + world.ms * world.dp->tsc_per_ms +
			clock_ns[first] * world.dp->tsc_per_ms / 1000000);
	packets = w->live.rx + w->live.handed_in + w->live.handed_out - packets;
	clock_ns[first] += ROUND_NS + packets * PACKET_NS + leave() * REQUEST_NS;
	return busy;
}

static void run_for(unsigned int ms)
{
	const uint64_t end = clock_ns[0] + ms * UINT64_C(1000000);

	while (clock_ns[0] < end && (nb_expected == 0 || nb_answered < nb_expected))
		step();
}

// The same, and until all that came has been dealt with.
static void run(unsigned int ms)
{
	unsigned int quiet = 0;

	run_for(ms);
	nb_streams = 0;
	stream[0].next_ns = UINT64_MAX;
	while (quiet < 1000) // one may be ahead of the other
		quiet = step() ? 0 : quiet + 1;
	world.ms += clock_ns[0] / 1000000 + 1;
}

// Requests that found no room to wait.
static uint64_t refused(void)
{
	const struct dp_stats s = world_stats(&world);

	return s.drop[DP_DROP_BACKLOG] + s.drop[DP_DROP_BACKLOG_KNOWN] +
		s.drop[DP_DROP_BACKLOG_CLIENT];
}

// Asserts what must hold of any storm, and at least so many answers a second.
static void check(unsigned int ms, uint64_t least)
{
	uint64_t full = 0;

	for (unsigned int i = 0; i < world.dp->nb_workers; i++)
		stats_publish(world.dp->worker[i]);
	full = refused();
	assert_int_equal(world_drops(&world), full);
	assert_int_equal(calls.lost, 0);
	assert_int_equal(calls.back, calls.sent);
	assert_int_equal(requests.lost, 0); // there is room for those of a call at any time
	assert_int_equal(requests.back + full, requests.sent);
	assert_true(requests.back * 1000 / ms >= least);
	world_close(&world);
}

// --- storms -------------------------------------------------------------------------------------

// On the queue of a call, at rates below and far beyond what a worker can answer.
static void test_same_queue(void **state)
{
	const uint64_t rates[] = {100000, 250000, 400000, 1000000, 3000000};

	for (unsigned int i = 0; i < RTE_DIM(rates); i++) {
		open(1, 0);
		call_begins(0, 0, 5000);
		begin(storm, 2 * CLIENTS, 0, rates[i]);
		run(50);
		check(50, RTE_MIN(rates[i] * 9 / 10, UINT64_C(150000)));
	}
}

// Nothing has been relayed for long when the call begins, and no ring is full then.
static void test_call_begins(void **state)
{
	open(1, 0);
	begin(storm, 2 * CLIENTS, 0, 3000000);
	run_for(20);
	call_begins(0, 0, 5000);
	run(50);
	check(70, 100000);
}

// A worker that has as much to relay as it can is not held up either.
static void test_busy(void **state)
{
	open(1, 0);
	call_begins(0, 0, 3500000);
	begin(storm, 2 * CLIENTS, 0, 300000);
	run(20);
	check(20, 50000);
}

// The storm comes in on another worker's queue, is handed over, and has the ring between them to
// itself, or shares it with the call.
static void test_other_queue(void **state)
{
	for (unsigned int with = 0; with < 2; with++) {
		open(2, 0);
		call_begins((uint16_t)with, (uint16_t)with, 20000);
		begin(storm, 2 * CLIENTS, 1, 2000000);
		run(50);
		check(50, 150000);
	}
}

// A storm of clients of one worker on all queues, and a call of the other, one way of which takes
// the ring between them.
static void test_other_worker(void **state)
{
	open(2, 1);
	begin(storm, 2 * CLIENTS, 0, 1000000);
	begin(storm, 2 * CLIENTS, 1, 1000000);
	call_begins(0, 1, 20000);
	run(50);
	check(50, 150000);
}

// Until everybody who is expected to has an answer.
static void run_askers(uint16_t queue)
{
	const uint64_t begun = clock_ns[0];

	ask_queue = queue;
	ask_ns = 0;
	run_for(PATIENCE_MS);
	print_message("%u of %u answered within %u ms\n", nb_answered, nb_expected,
		(unsigned int)((clock_ns[0] - begun) / 1000000));
	assert_int_equal(nb_answered, nb_expected);
	run(0);
}

// Refreshes beside strangers' requests: on one queue, and through the ring between workers.
static void test_strangers(void **state)
{
	for (unsigned int workers = 1; workers <= 2; workers++) {
		const uint16_t queue = (uint16_t)(workers - 1);

		world_begin(workers);
		askers_make(ASKERS, 20000, true);
		fakes_of_strangers(CLIENTS);
		call_begins(queue, queue, 20000);
		begin(fakes, CLIENTS, queue, 3000000);
		run_askers(queue);
		assert_int_equal(world_stats(&world).drop[DP_DROP_BACKLOG_KNOWN], 0);
		check(PATIENCE_MS, 0);
	}
}

// The same of a worker that has as much to relay as it can: nearly every burst is full.
static void test_strangers_busy(void **state)
{
	world_begin(1);
	askers_make(ASKERS, 20000, true);
	fakes_of_strangers(CLIENTS);
	call_begins(0, 0, 2500000);
	begin(fakes, CLIENTS, 0, 3000000);
	run_askers(0);
	check(PATIENCE_MS, 0);
}

// Somebody sends in the name of some clients: all others have their answers in time.
static void test_in_the_name_of(void **state)
{
	const unsigned int victims[] = {1, 20, 200};

	for (unsigned int i = 0; i < RTE_DIM(victims); i++) {
		const unsigned int n = victims[i];

		world_begin(1);
		askers_make(ASKERS, 20000, true);
		fakes_of_askers(ASKERS - n, n);
		nb_askers = nb_expected = ASKERS - n; // these do not ask
		call_begins(0, 0, 20000);
		begin(fakes, n, 0, 3000000);
		run_askers(0);
		assert_int_equal(world_stats(&world).drop[DP_DROP_BACKLOG], 0);
		if (n == 1) // and nothing of the others
			assert_int_equal(world_stats(&world).drop[DP_DROP_BACKLOG_KNOWN], 0);
		check(PATIENCE_MS, 0);
	}
}

// A storm in the name of clients does not keep new ones out.
static void test_newcomers(void **state)
{
	world_begin(1);
	askers_make(CLIENTS, 20000, true);
	fakes_of_askers(0, CLIENTS);
	nb_askers = 0;
	memset(asker_of, 0, sizeof(asker_of));
	askers_make(CLIENTS, 30000, false);
	call_begins(0, 0, 20000);
	begin(fakes, CLIENTS, 0, 3000000);
	run_askers(0);
	check(PATIENCE_MS, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_queue),
		cmocka_unit_test(test_call_begins),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_other_queue),
		cmocka_unit_test(test_other_worker),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_strangers_busy),
		cmocka_unit_test(test_in_the_name_of),
		cmocka_unit_test(test_newcomers),
	};

	world_eal();
	return cmocka_run_group_tests_name("storm", tests, NULL, NULL);
}
