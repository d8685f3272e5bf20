// SPDX-License-Identifier: BSD-3-Clause
// The copy in a line while its channel or permission is made, expires or changes: channels bound
// for peers that had no channel, channels and permissions that expire, slots that pass to other
// clients. Datagrams relayed by the copy are at all times those that would be relayed without it.
#include "bytes.h"
#include "datapath.h"
#include "dp_burst.h"
#include "line_world.h"
#include "shard_rows.h"

#define PEERS 4
#define BOUND_S 600 // lifetime of a channel (RFC 8656 12)
#define PERMITTED_S 300 // lifetime of a permission (RFC 8656 9)

// --- requests -----------------------------------------------------------------------------------

// A client's request, which may be refused. It gets a new nonce each time.
static unsigned int ask(unsigned int i, enum stun_method method, const struct endpoint *target,
	uint32_t number, uint32_t lifetime_s)
{
	struct world_client *c = &client[i];

	client_begin(&world, c, method);
	if (method == STUN_CHANNEL_BIND)
		stun_put_u32(&c->w, STUN_CHANNEL_NUMBER, number << 16);
	if (method == STUN_REFRESH)
		stun_put_u32(&c->w, STUN_LIFETIME, lifetime_s);
	else
		stun_put_xor_addr(&c->w, STUN_XOR_PEER_ADDRESS, target);
	return client_ask(&world, c);
}

static void end_allocation(unsigned int i)
{
	assert_int_equal(ask(i, STUN_REFRESH, NULL, 0, 0), 0);
}

// --- datagrams ----------------------------------------------------------------------------------

static struct line_outcome three_ways(unsigned int i, const struct world_datagram *d)
{
	uint8_t frame[2048] = {0};
	const size_t len = world_frame(&world, d, frame);

	return line_three_ways(&client[i], 0, frame, len);
}

static struct world_datagram on_channel(unsigned int i, uint16_t number, uint16_t len)
{
	struct world_datagram d = line_up(i);

	line_data(&d, len);
	store_be16(d.data, number);
	d.df = true;
	return d;
}

static struct world_datagram in_send(unsigned int i, const struct endpoint *target, uint16_t len)
{
	static const uint8_t tid[STUN_TID_LEN];
	struct world_datagram d = line_up(i);
	struct stun_writer w;
	uint8_t data[1500];

	test_rand_fill(&world.rand, data, len);
	stun_begin(&w, d.data, sizeof(d.data), STUN_INDICATION, STUN_SEND, tid);
	stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, target);
	stun_put(&w, STUN_DATA_ATTR, data, len);
	d.len = stun_end(&w);
	d.df = true;
	return d;
}

static struct world_datagram from_peer(unsigned int i, const struct endpoint *src, uint16_t len)
{
	struct world_datagram d = {.src = *src, .dst = client[i].relay, .len = len, .df = true};

	test_rand_fill(&world.rand, d.data, len);
	return d;
}

// --- any sequence of events ---------------------------------------------------------------------

// Expected state of a client.
struct belief {
	struct endpoint peer[PEERS]; // two addresses, two ports each
	uint64_t permitted[PEERS / 2], bound[PEERS]; // expiry times; 0 = not permitted, not bound
	uint16_t number[PEERS]; // of the channel, while it is bound
	uint64_t until; // expiry of the allocation
};

static struct belief belief[2];

static void begin(unsigned int i)
{
	struct belief *b = &belief[i];

	*b = (struct belief){.until = world.ms + 600 * 1000};
	line_client(i);
	for (unsigned int k = 0; k < PEERS; k++) {
		b->peer[k] = peer[i];
		b->peer[k].addr.b[15] = (uint8_t)(b->peer[k].addr.b[15] + k / 2);
		b->peer[k].port = (uint16_t)(peer[i].port + k % 2);
	}
}

// Resolves the world's hosts again, whichever were forgotten; ignores the frames that this sends.
static void meet(unsigned int i)
{
	for (unsigned int n = 0; n < 3; n++) {
		for (unsigned int k = 0; k < PEERS; k++) {
			struct world_datagram d = in_send(i, &belief[i].peer[k], 4);

			world_send(&world, &d);
			d = from_peer(i, &belief[i].peer[k], 4);
			world_send(&world, &d);
		}
		world_run(&world);
	}
	world.nb_seen = 0;
}

static void pass_time(void)
{
	const uint32_t s = test_rand_below(&world.rand, 4) == 0 ? 320 : 100;

	world.ms += 1 + test_rand_below(&world.rand, s * 1000);
	for (unsigned int i = 0; i < 2; i++) {
		if (belief[i].until <= world.ms + 1000) {
			world.ms = RTE_MAX(world.ms, belief[i].until + 1);
			world_run(&world);
			begin(i); // on the same transport address
			continue;
		}
		if (belief[i].until < world.ms + 500 * 1000) {
			world_run(&world);
			assert_int_equal(ask(i, STUN_REFRESH, NULL, 0, 3000), 0);
			belief[i].until = world.ms + 3000 * 1000;
		}
	}
	world_run(&world);
	for (unsigned int i = 0; i < 2; i++)
		meet(i);
}

// Nothing shortens a permission.
static void lasts_until(uint64_t *until, uint64_t ms)
{
	*until = RTE_MAX(*until, ms);
}

static void permit(unsigned int i, unsigned int k)
{
	assert_int_equal(client_permit(&world, &client[i], &belief[i].peer[k]), 0);
	lasts_until(&belief[i].permitted[k / 2], world.ms + PERMITTED_S * 1000);
	meet(i);
}

static void bind(unsigned int i, unsigned int k)
{
	struct belief *b = &belief[i];
	uint16_t number = b->number[k];

	if (b->bound[k] <= world.ms) {
		number = (uint16_t)(LINE_CHANNEL + test_rand_below(&world.rand, 8));
		for (unsigned int j = 0; j < PEERS; j++)
			if (b->bound[j] > world.ms && b->number[j] == number)
				return;
	}
	assert_int_equal(client_bind(&world, &client[i], number, &b->peer[k]), 0);
	b->number[k] = number;
	b->bound[k] = world.ms + BOUND_S * 1000;
	lasts_until(&b->permitted[k / 2], b->bound[k]);
	meet(i);
}

// State of something with an expiry time; PERHAPS just after it, when the test expects nothing.
enum believed { NO, YES, PERHAPS };

static enum believed lasts(uint64_t until)
{
	if (until > world.ms && until < world.ms + 100)
		return PERHAPS;
	// the test learns of an expiry from an answer, some rounds later
	return until > world.ms ? YES : until + 100 > world.ms ? PERHAPS : NO;
}

static bool sure(const struct line_outcome *o, enum believed relayed)
{
	if (relayed == PERHAPS)
		return false;
	assert_int_equal(o->len != 0, relayed == YES);
	return relayed == YES;
}

static enum believed both(enum believed a, enum believed b)
{
	return a == NO || b == NO ? NO : a == YES && b == YES ? YES : PERHAPS;
}

// Asserts the source and the destination of a frame.
static void assert_ends(
	struct line_outcome *o, const struct endpoint *src, const struct endpoint *dst)
{
	const bool is_v4 = o->frame[14] >> 4 == 4;
	const uint8_t *addrs = o->frame + 14 + (is_v4 ? 12 : 8), *udp = frame_udp(o->frame);
	const struct endpoint frame_src = {
		is_v4 ? addr_from_v4(addrs) : addr_from_v6(addrs), load_be16(udp)};
	const struct endpoint frame_dst = {
		is_v4 ? addr_from_v4(addrs + 4) : addr_from_v6(addrs + 16), load_be16(udp + 2)};

	assert_true(endpoint_eq(&frame_src, src));
	assert_true(endpoint_eq(&frame_dst, dst));
}

// Sends a datagram of each kind between a client and a peer. Returns how many the line relayed.
static unsigned int talk(unsigned int i, unsigned int k)
{
	struct belief *b = &belief[i];
	const uint16_t len = (uint16_t)test_rand_below(&world.rand, 60);
	const enum believed permitted = lasts(b->permitted[k / 2]);
	const enum believed bound = both(lasts(b->bound[k]), permitted);
	struct world_datagram d = in_send(i, &b->peer[k], len);
	struct line_outcome o = three_ways(i, &d);
	unsigned int by_line = o.by_line;

	if (sure(&o, permitted)) {
		assert_ends(&o, &client[i].relay, &b->peer[k]);
		assert_memory_equal(frame_udp(o.frame) + 8, d.data + d.len - ((len + 3) & ~3), len);
	}
	d = from_peer(i, &b->peer[k], len);
	o = three_ways(i, &d);
	by_line += o.by_line;
	if (sure(&o, permitted)) {
		assert_ends(&o, &client[i].server, &client[i].endpoint);
		if (bound == YES)
			assert_int_equal(load_be16(frame_udp(o.frame) + 8), b->number[k]);
		else if (bound == NO)
			assert_int_equal(load_be16(frame_udp(o.frame) + 8), 0x0017);
	}
	if (b->number[k] == 0)
		return by_line;
	for (unsigned int j = 0; j < PEERS; j++) // another peer may have the number by now
		if (j != k && b->number[j] == b->number[k])
			return by_line;
	d = on_channel(i, b->number[k], len);
	o = three_ways(i, &d);
	if (sure(&o, bound))
		assert_ends(&o, &client[i].relay, &b->peer[k]);
	return by_line + o.by_line;
}

static void test_changes(void **state)
{
	unsigned int by_line = 0, lines = 0;

	line_open(&line_one, 0);
	for (unsigned int i = 0; i < 2; i++)
		begin(i);
	for (unsigned int n = 0; n < 1500; n++) {
		const unsigned int i = test_rand_below(&world.rand, 2);
		const unsigned int k = test_rand_below(&world.rand, PEERS);

		line_new_ids();
		switch (test_rand_below(&world.rand, 16)) {
		case 0:
			pass_time();
			break;
		case 1:
			permit(i, k);
			break;
		case 2:
			if (n % 3 == 0)
				bind(i, k);
			break;
		case 3:
			assert_int_equal(ask(i, STUN_REFRESH, NULL, 0, 3000), 0);
			belief[i].until = world.ms + 3000 * 1000;
			break;
		default:
			for (unsigned int m = test_rand_below(&world.rand, 12); m > 0; m--)
				by_line += talk(i, k), lines++;
		}
	}
	assert_true(by_line > lines / 4);
	world_close(&world);
}

// --- listings -----------------------------------------------------------------------------------

static struct turn_usage listed(unsigned int i)
{
	struct turn_info info[LINE_CLIENTS];
	const unsigned int n = shard_rows(line_worker()->shard, info, LINE_CLIENTS);

	for (unsigned int k = 0; k < n; k++)
		if (endpoint_eq(&info[k].client, &client[i].endpoint))
			return info[k].usage;
	fail_msg("client %u is not listed", i);
	return (struct turn_usage){0};
}

static void assert_counts(unsigned int i, uint64_t rx, uint64_t tx)
{
	const struct turn_usage u = listed(i);

	assert_int_equal(u.leg[TURN_FROM_CLIENT].datagrams, rx);
	assert_int_equal(u.leg[TURN_FROM_PEER].datagrams, tx);
}

// --- reused slots -------------------------------------------------------------------------------

// Each slot in turn gets another client, with other families: nothing of the last one remains.
static void test_reuse(void **state)
{
	const struct world_setup *s = *state;
	unsigned int by_line = 0;

	line_open(s, 0);
	for (unsigned int n = 0; n < 60; n++) {
		const unsigned int i = test_rand_below(&world.rand, 4);
		struct world_datagram d;

		line_new_ids();
		line_client(i);
		assert_counts(i, 0, 0);
		assert_int_equal(client_permit(&world, &client[i], &peer[i]), 0);
		if (n % 3 == 0)
			assert_int_equal(
				client_bind(&world, &client[i], LINE_CHANNEL, &peer[i]), 0);
		for (unsigned int k = 0; k < 6; k++) {
			d = n % 3 == 0 ? on_channel(i, LINE_CHANNEL, 20) : in_send(i, &peer[i], 20);
			world_send(&world, &d);
			world_run(&world);
			world.nb_seen = 0;
			by_line += three_ways(i, &d).by_line;
			d = from_peer(i, &peer[i], (uint16_t)(20 + k));
			by_line += three_ways(i, &d).by_line;
		}
		end_allocation(i);
		world_wait(&world, 2);
		three_ways(i, &d);
		d = on_channel(i, LINE_CHANNEL, 20);
		three_ways(i, &d);
	}
	assert_true(by_line > 200);
	world_close(&world);
}

// --- counts -------------------------------------------------------------------------------------

#define SIZES 5

// Frames of client 0 on its channel, of client 1 in indications, by leg and size.
static struct {
	uint16_t bytes;
	size_t len;
	uint8_t data[2048];
} frame[2][2][SIZES];

static void frames_make(void)
{
	static const uint16_t sizes[SIZES] = {0, 1, 20, 200, 1400};

	for (unsigned int i = 0; i < 2; i++) {
		for (unsigned int k = 0; k < SIZES; k++) {
			struct world_datagram d = i == 0 ? on_channel(0, LINE_CHANNEL, sizes[k])
							 : in_send(1, &peer[1], sizes[k]);

			frame[i][0][k].len = world_frame(&world, &d, frame[i][0][k].data);
			d = from_peer(i, &peer[i], sizes[k]);
			frame[i][1][k].len = world_frame(&world, &d, frame[i][1][k].data);
			frame[i][0][k].bytes = frame[i][1][k].bytes = sizes[k];
		}
	}
}

// Full bursts with random shares of each leg and size, until both counts have overflowed many
// times: the list is exact all the time.
static void test_counts(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	struct turn_usage count[2];
	uint8_t sent[2048];

	line_open(&s, 1);
	line_client(1);
	assert_int_equal(client_permit(&world, &client[1], &peer[1]), 0);
	frames_make();
	count[0] = count[1] = (struct turn_usage){0};
	for (unsigned int leg = 0; leg < 2; leg++) { // line_open has sent two in each direction
		count[0].leg[leg].datagrams = 2;
		count[0].leg[leg].bytes = listed(0).leg[leg].bytes;
	}
	for (unsigned int n = 0; n < 2000; n++) {
		for (unsigned int k = 0; k < DP_BURST; k++) {
			const unsigned int i = test_rand_below(&world.rand, 3) == 0;
			const unsigned int leg = test_rand_below(&world.rand, 2);
			const unsigned int size = test_rand_below(&world.rand, SIZES);

			softport_put(world.dp->port[0].port, 0, frame[i][leg][size].data,
				frame[i][leg][size].len);
			count[i].leg[leg].datagrams++;
			count[i].leg[leg].bytes += frame[i][leg][size].bytes;
		}
		line_round();
		if (n < 3) {
			world_run(&world); // resolves the neighbours
			world.nb_seen = 0;
		}
		while (softport_take(world.dp->port[0].port, sent, sizeof(sent)) > 0)
			;
		for (unsigned int i = 0; i < 2; i++) {
			const struct turn_usage got = listed(i);

			assert_memory_equal(&got, &count[i], sizeof(got));
		}
	}
	world_close(&world);
}

static struct world_setup exclusive = {
	.workers = 1, .rx_queues = 1, .tx_queues = 1, .relay_ports = 1};
#ifdef FEATURE_SHARED
static struct world_setup shared = {.workers = 1, .rx_queues = 1, .tx_queues = 1, .shared = 2};
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),
		cmocka_unit_test_prestate(test_reuse, &exclusive),
#ifdef FEATURE_SHARED
		cmocka_unit_test_prestate(test_reuse, &shared),
#endif
		cmocka_unit_test(test_counts),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
