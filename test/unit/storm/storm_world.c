// SPDX-License-Identifier: BSD-3-Clause
// Time, receive rings, calls and clients, for the storms of test_storm and test_storm_strangers.
#include "storm_world.h"
#include "bytes.h"
#include "datapath.h"
#include "drop_of.h"
#include "dtls_hello.h"
#include "see/stats.h"
#include "steering/steer.h"
#include "path/worker.h"

#define RING 1024 // descriptors of a queue, the default
#define ROUND_NS 300 // of a worker, whatever its work
#define PACKET_NS 100 // more for each packet received or handed over
#define REQUEST_NS 3500 // more for each request that is answered
#define HELLO_NS 400 // and ClientHello
#define ANSWER_NS 100 // and for each other answer of a host
#define ERROR_NS 200 // ICMP error
#define FRAGMENT_NS 100
#define RECORD_NS 100 // for a useless DTLS record
#define CHANNEL 0x4001
#define STREAMS 6
#define UDP 17
#define RTO_NS UINT64_C(500000000) // after which a client asks again, then twice as long

// Traffic that comes in on a queue at even intervals.
struct stream {
	const struct frame *frame; // nb of them, in turn
	uint32_t nb, next;
	uint16_t queue;
	struct tally *tally;
	uint64_t every_ns, next_ns;
};

// A client that repeats its request until it is answered.
struct asker {
	struct frame frame;
	uint64_t next_ns, rto_ns;
	bool answered;
};

struct dp_world world;
struct frame storm[2 * CLIENTS]; // all allocate, then all release
struct frame fakes[ASKERS]; // all valid, and useless
struct frame up, down;
static struct asker asker[ASKERS];
static unsigned int nb_askers, nb_answered, nb_expected;
static uint16_t asker_of[UINT16_MAX + 1]; // by port: number of the asker, from 1 on
static uint64_t ask_ns; // when the next asker asks
static uint16_t ask_queue;
struct world_client call;
struct endpoint peer;
static struct stream stream[STREAMS];
static unsigned int nb_streams;
static uint64_t clock_ns[TURN_WORKERS_MAX]; // of each worker
struct tally calls, requests, others;

// --- frames -------------------------------------------------------------------------------------

static unsigned int home_of(const struct world_client *c)
{
	const struct net_frame f = {.src = c->endpoint.addr,
		.dst = c->server.addr,
		.sport = c->endpoint.port,
		.dport = c->server.port,
		.is_v4 = true};
	const struct rte_mbuf m = {.ol_flags = 0};

	return steer_client_home(world.dp, &world.dp->port[0], &m, &f, 0);
}

void client_at(struct world_client *c, uint16_t *port, unsigned int home)
{
	do
		world_client(&world, c, "10.99.0.20", (*port)++);
	while (home_of(c) != home);
}

void keep(struct frame *out, const struct endpoint *src, const struct endpoint *dst,
	const void *data, size_t len)
{
	struct world_datagram d = {.src = *src, .dst = *dst, .len = (uint16_t)len};
	uint8_t frame[2048];

	memcpy(d.data, data, len);
	out->len = (uint16_t)world_frame(&world, &d, frame);
	assert_true(out->len <= FRAME_MAX);
	memcpy(out->data, frame, out->len);
}

void request_make(
	struct frame *out, struct world_client *c, enum stun_method method, uint32_t lifetime_s)
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
	keep(out, &c->endpoint, &c->server, c->message, len);
}

// Other work of a host: it reassembles fragments and answers echo requests.
static void all_on(struct dp_world *w)
{
	w->conf.fragments = (struct conf_fragments){
		.flows = 16, .per_source = 4, .timeout_ms = 2000, .longest = 9000, .buffers = 16};
}

void world_begin(unsigned int workers, bool dtls)
{
	const struct world_setup s = {.workers = workers,
		.rx_queues = workers,
		.tx_queues = workers,
		.relay_ports = 4096,
		.backlog = 512,
		.dtls = dtls,
		.change = dtls ? all_on : NULL};
	uint8_t media[100] = {CHANNEL >> 8, CHANNEL & 0xff, 0, sizeof(media) - 4};
	uint16_t port = 19000;

	world_open(&world, &s);
	peer = world_endpoint("10.99.0.30", 7000);
	client_at(&call, &port, 0);
	assert_int_equal(client_allocate(&world, &call, 4), 0);
	assert_int_equal(client_bind(&world, &call, CHANNEL, &peer), 0);
	keep(&up, &call.endpoint, &call.server, media, sizeof(media));
	keep(&down, &peer, &call.relay, media, sizeof(media));
	nb_streams = nb_askers = nb_answered = nb_expected = 0;
	ask_ns = UINT64_MAX;
	memset(asker_of, 0, sizeof(asker_of));
	memset(clock_ns, 0, sizeof(clock_ns));
	calls = requests = others = (struct tally){0};
}

void storm_open(unsigned int workers, unsigned int home)
{
	uint16_t port = 20000;

	world_begin(workers, false);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		struct world_client c;

		client_at(&c, &port, home);
		assert_int_equal(client_permit(&world, &c, &peer), 437); // for a nonce
		request_make(&storm[i], &c, STUN_ALLOCATE, 0);
		request_make(&storm[CLIENTS + i], &c, STUN_REFRESH, 0);
	}
	assert_int_equal(world_drops(&world), 0);
}

void askers_make(unsigned int nb, uint16_t port, bool allocated)
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
		asker_of[c.endpoint.port] = (uint16_t)nb_askers;
	}
	nb_expected = nb_askers;
}

void askers_forget(unsigned int nb)
{
	for (unsigned int i = nb; i < nb_askers; i++)
		asker_of[load_be16(asker[i].frame.data + NET_ETH_LEN + NET_IP4_LEN)] = 0;
	nb_askers = nb_expected = nb;
}

void fakes_of_strangers(unsigned int nb)
{
	uint16_t port = 40000;

	for (unsigned int i = 0; i < nb; i++) {
		struct world_client c;

		client_at(&c, &port, 0);
		assert_int_equal(client_permit(&world, &c, &peer), 437);
		request_make(&fakes[i], &c, STUN_REFRESH, 600);
	}
}

void fakes_of_askers(unsigned int first, unsigned int nb)
{
	for (unsigned int i = 0; i < nb; i++) {
		fakes[i] = asker[first + i].frame;
		// the last byte of the id: the signature is wrong
		fakes[i].data[STUN_AT + STUN_HEADER_LEN - 1] ^= 1;
		store_be16(fakes[i].data + STUN_AT - 2, 0); // no UDP checksum
	}
}

// --- time ---------------------------------------------------------------------------------------

static void begin_for(struct tally *tally, const struct frame *frames, uint32_t nb, uint16_t queue,
	uint64_t per_second)
{
	struct stream *s = &stream[nb_streams++];

	assert_true(nb_streams <= STREAMS);
	*s = (struct stream){.frame = frames,
		.nb = nb,
		.queue = queue,
		.tally = tally,
		.every_ns = 1000000000 / per_second};
	s->next_ns = clock_ns[0] + s->every_ns * nb_streams / STREAMS; // not all at once
}

void begin(const struct frame *frames, uint32_t nb, uint16_t queue, uint64_t per_second)
{
	begin_for(&requests, frames, nb, queue, per_second);
}

void begin_others(const struct frame *frames, uint32_t nb, uint16_t queue, uint64_t per_second)
{
	begin_for(&others, frames, nb, queue, per_second);
}

void call_begins(uint16_t queue_up, uint16_t queue_down, uint64_t per_second)
{
	begin_for(&calls, &up, 1, queue_up, per_second);
	begin_for(&calls, &down, 1, queue_down, per_second);
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

// Sends the requests of clients that have waited long enough, repeated if necessary.
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

// Asserts that the answer to an asker belongs to its request.
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

// Puts everything that has come by that time in the rings, in order of arrival.
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
		receive(s->tally, s->queue, &s->frame[s->next]);
		s->next = (s->next + 1) % s->nb;
	}
}

// Counts the frames sent. Returns the time that the answers cost.
static uint64_t leave(void)
{
	uint64_t ns = 0;
	uint8_t frame[2048];

	while (softport_take(world.dp->port[0].port, frame, sizeof(frame)) > 0) {
		const uint16_t dst_port = load_be16(frame + NET_ETH_LEN + NET_IP4_LEN + 2);

		if (load_be16(frame + 12) != NET_ETHERTYPE_IP4 || frame[NET_ETH_LEN + 9] != UDP) {
			ns += ANSWER_NS; // ARP, ND, ICMP
		} else if (dtls_first_byte(frame[STUN_AT])) {
			ns += HELLO_NS;
		} else if (dst_port == peer.port || dst_port == call.endpoint.port) {
			calls.back++;
		} else {
			asker_answered(dst_port, frame + STUN_AT);
			requests.back++;
			ns += REQUEST_NS;
		}
	}
	return ns;
}

// Total work of a worker on packets other than requests, beyond receiving them.
static uint64_t done_ns(const struct worker *w)
{
	const struct dp_stats *s = &w->live;

	return s->fragments_in * FRAGMENT_NS + s->drop[DP_DROP_DTLS_UNKNOWN] * RECORD_NS +
		s->drop[DP_DROP_DTLS_HELLO] * RECORD_NS +
		(s->drop[DP_DROP_ICMP_QUOTE] + s->drop[DP_DROP_ICMP_TOTAL] +
			s->drop[drop_of_turn(TURN_DROP_ICMP_NO_ALLOCATION)] +
			s->drop[drop_of_turn(TURN_DROP_ICMP_NO_PERMISSION)] +
			s->drop[drop_of_turn(TURN_DROP_ICMP_UNTOLD)] +
			s->drop[drop_of_turn(TURN_DROP_ICMP_RATE)]) *
		ERROR_NS;
}

// A round of the worker that is ready first.
static bool step(void)
{
	unsigned int first = 0;
	struct worker *w;
	uint64_t packets, done;
	bool busy;

	for (unsigned int i = 1; i < world.dp->nb_workers; i++)
		if (clock_ns[i] < clock_ns[first])
			first = i;
	arrive(clock_ns[first]);
	w = world.dp->worker[first];
	packets = w->live.rx + w->live.handed_in + w->live.handed_out;
	done = done_ns(w);
	busy = worker_round(w,
		world.dp->tsc_start + world.ms * world.dp->tsc_per_ms +
			clock_ns[first] * world.dp->tsc_per_ms / 1000000);
	packets = w->live.rx + w->live.handed_in + w->live.handed_out - packets;
	clock_ns[first] += ROUND_NS + packets * PACKET_NS + done_ns(w) - done + leave();
	return busy;
}

void run_for(unsigned int ms)
{
	const uint64_t end = clock_ns[0] + ms * UINT64_C(1000000);

	while (clock_ns[0] < end && (nb_expected == 0 || nb_answered < nb_expected))
		step();
}

void run(unsigned int ms)
{
	unsigned int quiet = 0;

	run_for(ms);
	nb_streams = 0;
	stream[0].next_ns = UINT64_MAX;
	while (quiet < 1000) // one worker may be ahead of the other
		quiet = step() ? 0 : quiet + 1;
	world.ms += clock_ns[0] / 1000000 + 1;
}

uint64_t refused(void)
{
	const struct dp_stats s = world_stats(&world);

	return s.drop[DP_DROP_BACKLOG] + s.drop[DP_DROP_BACKLOG_KNOWN] +
		s.drop[DP_DROP_BACKLOG_CLIENT];
}

void check_call(void)
{
	assert_int_equal(calls.lost, 0);
	assert_int_equal(calls.back, calls.sent);
}

void check(unsigned int ms, uint64_t least)
{
	uint64_t full = 0;

	for (unsigned int i = 0; i < world.dp->nb_workers; i++)
		stats_publish(world.dp->worker[i]);
	full = refused();
	assert_int_equal(world_drops(&world), full);
	check_call();
	assert_int_equal(requests.lost, 0); // there is room for a call's requests at any time
	assert_int_equal(requests.back + full, requests.sent);
	assert_true(requests.back * 1000 / ms >= least);
	world_close(&world);
}

void run_askers(uint16_t queue)
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
