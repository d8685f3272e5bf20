// SPDX-License-Identifier: BSD-3-Clause
// A storm of authenticated requests beside calls, in simulated time: frames arrive at a rate of
// their own in receive rings of finite length, which fill while a worker is at work. What a round
// costs is reckoned, from figures that no CPU of today is worse than: so a test can ask for rates
// of ten million a second, and says the same on every machine. No relayed datagram may be lost, and
// every request has to be answered or be counted.
#include "dp_world.h"

#include "bytes.h"

#define RING 1024 // descriptors of a queue, the default
#define ROUND_NS 300 // of a worker, whatever there is to do
#define PACKET_NS 100 // more for each that is received, or handed over
#define REQUEST_NS 3500 // more for each that is answered
#define CLIENTS 256
#define FRAME_MAX 320
#define CHANNEL 0x4001
#define STREAMS 6

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

struct tally {
	uint64_t sent, lost; // by the ring
	uint64_t back; // relayed, or answers
};

static struct world world;
static struct frame storm[2 * CLIENTS]; // all allocate, then all release
static struct frame up, down;
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

static void request_make(struct frame *to, struct world_client *c, enum stun_method method)
{
	uint16_t len;

	client_begin(&world, c, method);
	if (method == STUN_ALLOCATE)
		stun_put_u32(&c->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	else
		stun_put_u32(&c->w, STUN_LIFETIME, 0);
	stun_put(&c->w, STUN_USERNAME, "ivan", 4);
	stun_put(&c->w, STUN_REALM, "turn.test", 9);
	stun_put(&c->w, STUN_NONCE, c->nonce, c->nonce_len);
	stun_put_integrity(&c->w, world.crypto, STUN_ALG_MD5, &c->key);
	len = stun_end(&c->w);
	assert_int_not_equal(len, 0);
	keep(to, &c->at, &c->server, c->message, len);
}

// A call that lives on worker 0, and a storm's clients, all of whom live on worker home.
static void open(unsigned int workers, unsigned int home)
{
	const struct world_setup s = {.workers = workers,
		.rx_queues = workers,
		.tx_queues = workers,
		.relay_ports = 2048,
		.backlog = 512};
	uint8_t media[100] = {CHANNEL >> 8, CHANNEL & 0xff, 0, sizeof(media) - 4};
	uint16_t port = 20000;

	world_open(&world, &s);
	peer = world_endpoint("10.99.0.30", 7000);
	client_at(&call, &port, 0);
	assert_int_equal(client_allocate(&world, &call, 4), 0);
	assert_int_equal(client_bind(&world, &call, CHANNEL, &peer), 0);
	keep(&up, &call.at, &call.server, media, sizeof(media));
	keep(&down, &peer, &call.relay, media, sizeof(media));
	for (unsigned int i = 0; i < CLIENTS; i++) {
		struct world_client c;

		client_at(&c, &port, home);
		assert_int_equal(client_permit(&world, &c, &peer), 437); // for a nonce
		request_make(&storm[i], &c, STUN_ALLOCATE);
		request_make(&storm[CLIENTS + i], &c, STUN_REFRESH);
	}
	assert_int_equal(world_drops(&world), 0);
	nb_streams = 0;
	memset(clock_ns, 0, sizeof(clock_ns));
	calls = requests = (struct tally){0};
}

// --- time ---------------------------------------------------------------------------------------

static void begin(const struct frame *frames, uint32_t nb, uint16_t queue, uint64_t per_second)
{
	struct stream *s = &stream[nb_streams++];

	assert_true(nb_streams <= STREAMS);
	*s = (struct stream){.frame = frames,
		.nb = nb,
		.queue = queue,
		.call = frames != storm,
		.every_ns = 1000000000 / per_second};
	s->next_ns = clock_ns[0] + s->every_ns * nb_streams / STREAMS; // not all at once
}

static void call_begins(uint16_t queue_up, uint16_t queue_down, uint64_t per_second)
{
	begin(&up, 1, queue_up, per_second);
	begin(&down, 1, queue_down, per_second);
}

// Puts what has come by that time in the rings, in order of arrival.
static void arrive(uint64_t by_ns)
{
	struct port *p = world.dp->port[0].port;

	for (;;) {
		struct stream *s = &stream[0];
		struct tally *t;

		for (unsigned int i = 1; i < nb_streams; i++)
			if (stream[i].next_ns < s->next_ns)
				s = &stream[i];
		if (s->next_ns > by_ns)
			return;
		s->next_ns += s->every_ns;
		t = s->call ? &calls : &requests;
		t->sent++;
		if (softport_waiting(p, s->queue) >= RING)
			t->lost++;
		else
			softport_put(p, s->queue, s->frame[s->at].data, s->frame[s->at].len);
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
		if (to == peer.port || to == call.at.port)
			calls.back++;
		else
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

	while (clock_ns[0] < end)
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

// Asserts what must hold of any storm, and at least so many answers a second.
static void check(unsigned int ms, uint64_t least)
{
	uint64_t full = 0;

	for (unsigned int i = 0; i < world.dp->nb_workers; i++)
		stats_publish(world.dp->worker[i]);
	full = world_stats(&world).drop[DP_DROP_BACKLOG];
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_queue),
		cmocka_unit_test(test_call_begins),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_other_queue),
		cmocka_unit_test(test_other_worker),
	};

	world_eal();
	return cmocka_run_group_tests_name("storm", tests, NULL, NULL);
}
