// SPDX-License-Identifier: BSD-3-Clause
// A capture in a whole data path: exactly the frames of one allocation, as received and as sent;
// without payload unless requested; notified of allocations that are made and closed; and never at
// the cost of a datagram.
#include <errno.h>
#include <string.h>

#include "bytes.h"
#include "clients/streams.h"
#include "datapath.h"
#include "dp_capture.h"
#include "dp_world.h"
#include "drop_of.h"
#include "turn_drop.h"
#include "path/worker.h"

#define CHANNEL 0x4001
#define CLIENTS 4
#define PLANTED "PLANTED-MEDIA-OF-SOMEBODY"
#define HEADERS (14 + 20 + 8)

static struct dp_world world;
static struct world_client client[CLIENTS];
static struct endpoint peer[CLIENTS];
static struct turn_info info[CLIENTS];

bool __wrap_stream_alive(const struct streams *s, uint64_t conn);
void __wrap_stream_wake(struct streams *s, unsigned int thread);

bool __wrap_stream_alive(const struct streams *s, uint64_t conn)
{
	return true;
}

void __wrap_stream_wake(struct streams *s, unsigned int thread)
{
}

// --- the world -----------------------------------------------------------------------------------

// Asks a worker, and runs its rounds until it has answered.
static const struct dp_answer *ask(unsigned int worker, const struct dp_question *q)
{
	const struct dp_answer *a;

	assert_int_equal(dp_ask(world.dp, worker, q), 0);
	for (unsigned int n = 0; (a = dp_answered(world.dp, worker, q->kind)) == NULL; n++) {
		assert_true(n < 100);
		world_round(&world);
	}
	return a;
}

// Returns the data path's information about a client's allocation.
static struct turn_info info_of(const struct world_client *c)
{
	const struct dp_question q = {.kind = DP_ASK_ROWS, .max = DP_ANSWER_ROWS};
	struct turn_info found = {0};

	for (unsigned int i = 0; i < world.dp->nb_workers; i++) {
		const struct dp_answer *a = ask(i, &q);

		for (unsigned int k = 0; k < a->nb; k++)
			if (endpoint_eq(&a->rows[k].client, &c->endpoint))
				found = a->rows[k];
		dp_answer_done(world.dp, i, q.kind);
	}
	assert_int_not_equal(found.id, 0);
	return found;
}

static void place(unsigned int i)
{
	char host[16];

	snprintf(host, sizeof(host), "10.99.0.%u", 20 + i);
	world_client(&world, &client[i], host, (uint16_t)(40000 + i));
	peer[i] = world_endpoint("10.99.0.77", (uint16_t)(7000 + i));
	assert_int_equal(client_allocate(&world, &client[i], 4), 0);
	assert_int_equal(client_bind(&world, &client[i], CHANNEL, &peer[i]), 0);
	info[i] = info_of(&client[i]);
}

static void open_world(const struct world_setup *s)
{
	world_open(&world, s);
	for (unsigned int i = 0; i < CLIENTS; i++)
		place(i);
}

// Lets all workers capture by filter `f`, or stop if it is NULL.
static void set(const struct capture_filter *f)
{
	const struct dp_question q = {.kind = DP_ASK_CAPTURE, .capture = f};

	for (unsigned int i = 0; i < world.dp->nb_workers; i++) {
		ask(i, &q);
		dp_answer_done(world.dp, i, q.kind);
	}
}

static struct dp_capture_wanted wanted(void)
{
	return (struct dp_capture_wanted){
		.drop = DP_DROP_END, .payload = true, .snap = DP_CAPTURE_SNAP_MAX};
}

static void capture(const struct dp_capture_wanted *w, int alloc_idx)
{
	assert_int_equal(dp_capture_open(world.dp, w), 0);
	assert_int_equal(dp_capture_open(world.dp, w), -EBUSY);
	if (alloc_idx >= 0)
		assert_true(dp_capture_add(world.dp, &info[alloc_idx]));
	set(dp_capture_filter(world.dp));
}

static void stop(void)
{
	set(NULL);
	for (unsigned int i = 0; i < world.dp->nb_workers; i++)
		assert_null(world.dp->worker[i]->capture);
	dp_capture_close(world.dp);
	dp_capture_close(world.dp);
}

// Copies the next captured frame.
static bool next(struct dp_capture_frame *f, uint8_t data[2048])
{
	const struct dp_capture_frame *first = dp_capture_first(world.dp, UINT64_MAX);

	if (first == NULL)
		return false;
	assert_true(first->cut <= first->len && first->cut <= 2048);
	*f = *first;
	memcpy(data, first->data, first->cut);
	dp_capture_next(world.dp);
	return true;
}

static void nothing_left(void)
{
	uint64_t notes;

	assert_null(dp_capture_first(world.dp, UINT64_MAX));
	assert_int_equal(dp_capture_lost(world.dp, &notes), 0);
	assert_int_equal(notes, 0);
}

static uint8_t came[2048]; // the last frame that a host sent
static size_t came_len;

// Sends ChannelData of a client, or a datagram of its peer, and takes it where it leaves.
static void relay(unsigned int i, unsigned int leg, struct world_datagram *d)
{
	static const char data[] = PLANTED;
	struct world_datagram got;

	*d = leg == TURN_FROM_PEER
		? (struct world_datagram){.src = peer[i], .dst = client[i].relay}
		: (struct world_datagram){.src = client[i].endpoint, .dst = client[i].server};
	d->len = (uint16_t)(sizeof(data) + 4 * (leg == TURN_FROM_CLIENT));
	store_be16(d->data, CHANNEL);
	store_be16(d->data + 2, sizeof(data));
	memcpy(d->data + d->len - sizeof(data), data, sizeof(data));
	came_len = world_frame(&world, d, came);
	world_inject(&world, 0, came, came_len);
	world_run(&world);
	assert_true(
		world_take(&world, leg == TURN_FROM_PEER ? &client[i].endpoint : &peer[i], &got));
}

static void traffic(void)
{
	struct world_datagram d;

	for (unsigned int i = 0; i < CLIENTS; i++)
		for (unsigned int leg = 0; leg < 2; leg++)
			relay(i, leg, &d);
}

// --- frames --------------------------------------------------------------------------------------

// In: as the host made it. Out: with headers for the next host and unchanged data.
static void frames_of_one_allocation(void **state)
{
	const struct dp_capture_wanted w = wanted();
	struct dp_capture_frame f;
	struct world_datagram d;
	uint8_t data[2048];

	open_world(*state);
	traffic();
	capture(&w, 1);
	for (unsigned int leg = 0; leg < 2; leg++) {
		const unsigned int front = leg == TURN_FROM_PEER ? 4 : 0;

		for (unsigned int i = 0; i < 2; i++)
			relay(i, leg, &d);
		assert_true(next(&f, data));
		assert_int_equal(f.kind, DP_CAPTURE_RX);
		assert_int_equal(f.id, info[1].id);
		assert_int_equal(f.len, came_len);
		assert_int_equal(f.cut, came_len);
		assert_int_equal(f.frames, 1);
		assert_memory_equal(data, came, came_len);
		assert_true(next(&f, data));
		assert_int_equal(f.kind, DP_CAPTURE_TX);
		assert_int_equal(f.id, info[1].id);
		assert_int_equal(f.len, HEADERS + front + sizeof(PLANTED));
		assert_memory_equal(data + HEADERS + front, PLANTED, sizeof(PLANTED));
		assert_int_equal(
			load_be16(data + 36), leg == 0 ? peer[1].port : client[1].endpoint.port);
	}
	nothing_left();
	stop();
	traffic();
	world_close(&world);
}

// Traffic of its client or its peer with our other addresses is not part of the allocation.
static void no_other_flows_of_its_ends(void **state)
{
	const struct dp_capture_wanted w = wanted();
	struct endpoint namesake;

	open_world(*state);
	namesake = world_endpoint("10.99.0.78", client[1].relay.port);
	assert_int_equal(client_bind(&world, &client[0], CHANNEL + 1, &namesake), 0);
	capture(&w, 1);
	world_send_bytes(&world, &namesake, &client[0].relay, PLANTED, sizeof(PLANTED));
	world_send_bytes(&world, &client[1].endpoint, &client[0].relay, PLANTED, sizeof(PLANTED));
	world_send_bytes(&world, &peer[1], &client[0].relay, PLANTED, sizeof(PLANTED));
	world_send_bytes(&world, &peer[1], &client[1].server, PLANTED, sizeof(PLANTED));
	world_run(&world);
	nothing_left();
	stop();
	world_close(&world);
}

static void headers_alone(void **state)
{
	struct dp_capture_wanted w = wanted();
	struct dp_capture_frame f;
	uint8_t data[2048];
	unsigned int n = 0, front = 0;

	w.payload = false;
	open_world(*state);
	capture(&w, 1);
	traffic();
	client_begin(&world, &client[1], STUN_REFRESH);
	assert_int_equal(client_ask(&world, &client[1]), 0);
	for (; next(&f, data); n++) {
		assert_null(memmem(data, f.cut, "PLANTED", 7));
		assert_null(memmem(data, f.cut, "ivan", 4));
		assert_null(memmem(data, f.cut, client[1].nonce, client[1].nonce_len));
		if (n < 4) {
			assert_true(f.cut == HEADERS || f.cut == HEADERS + 4);
			front += f.cut - HEADERS;
		} else {
			assert_true(f.cut >= HEADERS + STUN_HEADER_LEN);
		}
	}
	assert_int_equal(n, 6);
	assert_int_equal(front, 8); // the headers of ChannelData
	nothing_left();
	stop();
	world_close(&world);
}

static void no_more_than_asked_for(void **state)
{
	struct dp_capture_wanted w = wanted();
	struct dp_capture_frame f;
	uint8_t data[2048];

	w.snap = 64;
	open_world(*state);
	capture(&w, 1);
	traffic();
	while (next(&f, data)) {
		assert_int_equal(f.cut, 64);
		assert_true(f.len >= HEADERS + sizeof(PLANTED));
	}
	stop();
	world_close(&world);
}

// Another client's requests, and all other traffic from an address, without any allocation.
static void all_traffic_of_an_address(void **state)
{
	struct dp_capture_wanted w = wanted();
	struct dp_capture_frame f;
	struct world_client c;
	uint8_t data[2048];
	unsigned int n = 0;

	w.of_source = true;
	assert_int_equal(addr_prefix_parse("10.99.0.40/30", &w.source), 0);
	open_world(*state);
	capture(&w, -1);
	traffic();
	nothing_left();
	world_client(&world, &c, "10.99.0.41", 50000);
	client_begin(&world, &c, STUN_ALLOCATE);
	assert_int_not_equal(client_ask(&world, &c), 0);
	while (next(&f, data)) {
		assert_int_equal(f.id, 0);
		n += f.kind == DP_CAPTURE_RX && load_be16(data + HEADERS) == STUN_ALLOCATE;
		n += f.kind == DP_CAPTURE_TX && load_be16(data + HEADERS) == 0x0113; // RFC 8489 5
	}
	assert_int_equal(n, 4); // its first request has no credentials
	stop();
	world_close(&world);
}

static void with_fragments(struct dp_world *w)
{
	w->conf.fragments = (struct conf_fragments){.flows = 16,
		.per_source = 4,
		.longest = 9000,
		.buffers = 8,
		.timeout_ms = 1000,
		.rate = 10000};
}

// All fragments of a datagram in both directions, although only the first one has ports.
static void fragments_of_an_allocation(void **state)
{
	const struct world_setup s = {
		.workers = 1, .rx_queues = 1, .tx_queues = 1, .change = with_fragments};
	const struct dp_capture_wanted w = wanted();
	static struct ip_long d, got;
	struct dp_capture_frame f;
	unsigned int n[2] = {0, 0};
	uint8_t data[2048];

	open_world(&s);
	capture(&w, 1);
	for (unsigned int i = 0; i < 2; i++) {
		d = (struct ip_long){.src = peer[i], .dst = client[i].relay, .len = 4000, .ttl = 9};
		world_send_long(&world, &d, 1500, false);
		world_run(&world);
		assert_true(world_take_long(&world, &client[i].endpoint, &got));
	}
	for (; next(&f, data); n[f.kind]++) {
		assert_true(f.kind == DP_CAPTURE_RX || f.kind == DP_CAPTURE_TX);
		assert_int_equal(f.id, info[1].id);
	}
	assert_int_equal(n[DP_CAPTURE_RX], 3); // 4,008 bytes after IP headers, 1,480 in each
	assert_int_equal(n[DP_CAPTURE_TX], got.pieces);
	nothing_left();
	stop();
	world_close(&world);
}

// A super-frame handed to the port is one frame in the capture, with the number of its datagrams.
static void super_frames_are_one(void **state)
{
	static const struct port_super granted = {.segments = 64, .bufs = 64, .bytes = 65535};
	struct world_datagram d = {.df = true, .ttl = 9};
	const struct dp_capture_wanted w = wanted();
	struct dp_capture_frame f;
	uint8_t data[2048];
	unsigned int in = 0;

	open_world(*state);
	relay(1, TURN_FROM_PEER, &d); // the route is known
	softport_uso(world.dp->port[0].port, &granted, 0);
	capture(&w, 1);
	d.df = true;
	for (unsigned int i = 0; i < 8; i++)
		world_send(&world, &d);
	world_run(&world);
	for (; next(&f, data) && f.kind == DP_CAPTURE_RX; in++)
		assert_int_equal(f.frames, 1);
	assert_int_equal(in, 8);
	assert_int_equal(f.kind, DP_CAPTURE_TX);
	assert_int_equal(f.frames, 8);
	assert_int_equal(f.len, HEADERS + 8 * (sizeof(PLANTED) + 4));
	nothing_left();
	stop();
	world_close(&world);
}

// --- drops ---------------------------------------------------------------------------------------

static void dropped_frames(void **state)
{
	struct dp_capture_wanted w = wanted();
	const unsigned int reason = drop_of_turn(TURN_DROP_PEER_NO_PERMISSION);
	const struct endpoint stranger = world_endpoint("10.99.0.78", 9);
	struct dp_capture_frame f;
	uint8_t data[2048];

	open_world(*state);
	w.drop = reason;
	capture(&w, -1);
	traffic();
	nothing_left();
	world_send_bytes(&world, &stranger, &client[0].relay, PLANTED, sizeof(PLANTED));
	world_run(&world);
	assert_true(next(&f, data));
	assert_int_equal(f.kind, DP_CAPTURE_DROP);
	assert_int_equal(f.reason, reason);
	assert_memory_equal(data + HEADERS, PLANTED, sizeof(PLANTED));
	nothing_left();
	stop();

	// frames of an allocation are captured as received and as dropped
	w.drop = DP_DROP_END;
	capture(&w, 0);
	world_send_bytes(&world, &stranger, &client[0].relay, PLANTED, sizeof(PLANTED));
	world_send_bytes(&world, &stranger, &client[1].relay, PLANTED, sizeof(PLANTED));
	world_run(&world);
	assert_true(next(&f, data));
	assert_int_equal(f.kind, DP_CAPTURE_RX);
	assert_true(next(&f, data));
	assert_int_equal(f.kind, DP_CAPTURE_DROP);
	assert_int_equal(f.reason, reason);
	assert_int_equal(f.id, info[0].id);
	nothing_left();
	stop();
	world_close(&world);
}

// No reader takes frames: frames without room are counted, and everything is still relayed.
static void a_full_ring_costs_copies(void **state)
{
	const struct dp_capture_wanted w = wanted();
	const uint64_t drops = 0;
	struct world_datagram d;
	uint64_t notes;
	unsigned int n = 0, taken = 0;
	struct dp_capture_frame f;
	uint8_t data[2048];

	open_world(*state);
	capture(&w, 1);
	for (; dp_capture_lost(world.dp, &notes) < 100; n++) {
		assert_true(n < 100000);
		relay(1, n % 2, &d);
	}
	assert_int_equal(world_drops(&world), drops);
	for (; next(&f, data); taken++)
		assert_int_equal(f.id, info[1].id);
	assert_int_equal(taken + dp_capture_lost(world.dp, &notes), 2 * n);
	relay(1, 0, &d); // and continues
	assert_true(next(&f, data));
	stop();
	world_close(&world);
}

// --- allocations that are made and closed --------------------------------------------------------

static void new_allocations_of_a_client_are_reported(void **state)
{
	struct dp_capture_wanted w = wanted();
	struct dp_capture_note n;
	struct world_client c;
	struct world_datagram d;

	open_world(*state);
	w.follow.wants = TURN_FILTER_CLIENT;
	assert_int_equal(addr_prefix_parse("10.99.0.60/31", &w.follow.client), 0);
	capture(&w, -1);
	assert_false(dp_capture_note(world.dp, &n));
	world_client(&world, &c, "10.99.0.62", 50000);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	assert_false(dp_capture_note(world.dp, &n));
	world_client(&world, &c, "10.99.0.61", 50000);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	assert_true(dp_capture_note(world.dp, &n));
	assert_false(n.ended);
	assert_true(
		endpoint_eq(&n.info.client, &c.endpoint) && endpoint_eq(&n.info.relay, &c.relay));
	assert_true(dp_capture_add(world.dp, &n.info));
	assert_false(dp_capture_add(world.dp, &n.info));
	set(dp_capture_filter(world.dp));
	client_begin(&world, &c, STUN_REFRESH);
	stun_put(&c.w, STUN_LIFETIME, "\0\0\0\0", 4);
	assert_int_equal(client_ask(&world, &c), 0);
	assert_true(dp_capture_note(world.dp, &n));
	assert_true(n.ended && endpoint_eq(&n.info.client, &c.endpoint));
	assert_true(dp_capture_remove(world.dp, n.info.id));
	assert_false(dp_capture_remove(world.dp, n.info.id));
	set(dp_capture_filter(world.dp));
	relay(0, 0, &d);
	while (dp_capture_first(world.dp, UINT64_MAX) != NULL)
		dp_capture_next(world.dp);
	world_send_bytes(&world, &c.endpoint, &c.server, PLANTED, sizeof(PLANTED));
	world_run(&world);
	nothing_left(); // another client may have its addresses by now
	assert_false(dp_capture_note(world.dp, &n));
	stop();
	world_close(&world);
}

static void allocations_are_limited(void **state)
{
	const struct dp_capture_wanted w = wanted();
	struct turn_info i;

	open_world(*state);
	assert_int_equal(dp_capture_open(world.dp, &w), 0);
	i = info[0];
	for (unsigned int n = 0; n < DP_CAPTURE_ENDS; n++, i.id++)
		assert_true(dp_capture_add(world.dp, &i));
	assert_false(dp_capture_add(world.dp, &i));
	assert_true(dp_capture_remove(world.dp, info[0].id));
	assert_true(dp_capture_add(world.dp, &i));
	dp_capture_close(world.dp);
	world_close(&world);
}

#ifdef FEATURE_SHARED
// A shared relay port has peers of other clients, too.
static void shared_ports_are_not_looked_at(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1, .shared = 2};
	const struct dp_capture_wanted w = wanted();
	struct dp_capture_frame f;
	uint8_t data[2048];
	unsigned int n = 0;

	open_world(&s);
	capture(&w, 1);
	traffic();
	for (; next(&f, data); n++)
		assert_int_equal(f.kind, n == 0 ? DP_CAPTURE_RX : DP_CAPTURE_TX);
	assert_int_equal(n, 2); // from the client, and to it
	stop();
	world_close(&world);
}
#endif

// A data path that stops during a capture frees its memory.
static void stopping_during_a_capture_frees_memory(void **state)
{
	const struct dp_capture_wanted w = wanted();

	open_world(*state);
	capture(&w, 1);
	traffic();
	world_close(&world);
}

// --- streams -------------------------------------------------------------------------------------

// Messages over a stream, in and out, if requested.
static void messages_of_streams(void **state)
{
	const struct world_setup s = {
		.workers = 1, .rx_queues = 1, .tx_queues = 1, .stream_ring = 64};
	struct dp_capture_wanted w = wanted();
	struct dp_capture_frame f;
	struct world_client c;
	struct world_datagram d;
	uint8_t data[2048];
	unsigned int ways = 0;

	open_world(&s);
	world.dp->streams = (struct streams *)1; // only ever passed to wrapped functions
	world_stream_client(&world, &c, "203.0.113.5", 40000);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	assert_int_equal(client_bind(&world, &c, CHANNEL, &peer[0]), 0);
	info[1] = info_of(&c);
	for (unsigned int decrypted = 0; decrypted < 2; decrypted++) {
		w.decrypted = decrypted;
		capture(&w, 1);
		client_channel_data(&world, &c, CHANNEL, PLANTED, sizeof(PLANTED));
		world_send_bytes(&world, &peer[0], &c.relay, PLANTED, sizeof(PLANTED));
		world_run(&world);
		assert_true(world_take(&world, &c.endpoint, &d));
		assert_true(world_take(&world, &peer[0], &d));
		while (next(&f, data)) {
			if (!f.message)
				continue;
			assert_true(endpoint_eq(&f.client, &c.endpoint));
			assert_int_equal(f.id, info[1].id);
			assert_int_equal(load_be16(data), CHANNEL);
			assert_memory_equal(data + 4, PLANTED, sizeof(PLANTED));
			ways |= 1u << f.kind;
		}
		assert_int_equal(ways,
			decrypted ? 1u << DP_CAPTURE_STREAM_IN | 1u << DP_CAPTURE_STREAM_OUT : 0);
		stop();
	}
	world.dp->streams = NULL;
	world_close(&world);
}

static const struct world_setup setup[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1},
	{.workers = 3, .rx_queues = 2, .tx_queues = 2}, // frames of one queue leave by another
	{.workers = 4, .rx_queues = 4, .tx_queues = 4, .nic = true},
};

#define EACH(test) \
	WORLD_CASE(test, setup, 0), WORLD_CASE(test, setup, 1), WORLD_CASE(test, setup, 2)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(frames_of_one_allocation),
		WORLD_CASE(no_other_flows_of_its_ends, setup, 0),
		EACH(headers_alone),
		WORLD_CASE(no_more_than_asked_for, setup, 0),
		EACH(all_traffic_of_an_address),
		cmocka_unit_test(fragments_of_an_allocation),
		WORLD_CASE(super_frames_are_one, setup, 0),
		EACH(dropped_frames),
		WORLD_CASE(a_full_ring_costs_copies, setup, 0),
		WORLD_CASE(a_full_ring_costs_copies, setup, 1),
		EACH(new_allocations_of_a_client_are_reported),
		WORLD_CASE(allocations_are_limited, setup, 0),
#ifdef FEATURE_SHARED
		cmocka_unit_test(shared_ports_are_not_looked_at),
#endif
		WORLD_CASE(stopping_during_a_capture_frees_memory, setup, 1),
		cmocka_unit_test(messages_of_streams),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
