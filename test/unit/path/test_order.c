// SPDX-License-Identifier: BSD-3-Clause
// Mixed bursts: datagrams that lines vouch for, others that take plans, indications, requests, and
// datagrams that must be dropped. Each comes out exactly once; a flow keeps its order, and a
// client's datagrams keep their order relative to its requests.
#include "bytes.h"
#include "dp.h"
#include "line_world.h"

#define CLIENTS 8
#define OTHER_CHANNEL 0x4100 // of which no line has a copy
#define UNBOUND 0x4fff

// How a client exchanges data with its peer.
enum manner {
	BY_LINE,
	BY_PLAN, // it uses two channels in turn, and a line can have only one
	BY_SEND,
	ACROSS, // across families
};

static struct endpoint second[CLIENTS]; // the peer of the client's other channel
static struct world_client clients[CLIENTS];
static struct endpoint far[CLIENTS];

static enum manner manner_of(unsigned int i)
{
	return (enum manner)(i % 4);
}

// --- datagrams under way ------------------------------------------------------------------------

// Numbers of the datagrams sent, in order, by sender: a client's datagrams go up and, if it asks,
// back; those of its peers go down.
struct expected {
	uint32_t number[4096];
	unsigned int n, seen;
};

static struct expected up[CLIENTS], down[CLIENTS];
static uint32_t next_number;
static uint64_t to_drop; // datagrams that must be dropped

static uint32_t expect(struct expected *e)
{
	assert_true(e->n < RTE_DIM(e->number));
	return e->number[e->n++] = ++next_number;
}

static void arrived(struct expected *e, uint32_t number)
{
	assert_true(e->seen < e->n);
	assert_int_equal(number, e->number[e->seen]); // in order, and not twice
	e->seen++;
}

// --- senders ------------------------------------------------------------------------------------

// ChannelData that carries a number.
static void put_channel(struct world_datagram *d, uint16_t channel, uint32_t number)
{
	d->len = (uint16_t)(8 + test_rand_below(&world.rand, 60));
	store_be16(d->data, channel);
	store_be16(d->data + 2, d->len - 4);
	store_be32(d->data + 4, number);
}

static void put_send(struct world_datagram *d, const struct endpoint *target, uint32_t number)
{
	static const uint8_t tid[STUN_TID_LEN];
	struct stun_writer w;
	uint8_t data[64];

	store_be32(data, number);
	stun_begin(&w, d->data, sizeof(d->data), STUN_INDICATION, STUN_SEND, tid);
	stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, target);
	stun_put(&w, STUN_DATA_ATTR, data, 4 + test_rand_below(&world.rand, 60));
	d->len = stun_end(&w);
}

// A request with its number in the transaction id.
static void put_request(struct world_datagram *d, unsigned int i, uint32_t number)
{
	struct world_client *c = &clients[i];

	client_begin(&world, c, STUN_BINDING);
	d->len = stun_end(&c->w);
	memcpy(d->data, c->message, d->len);
	store_be32(d->data + 8, number);
}

static struct world_datagram make_up(unsigned int i)
{
	struct world_datagram d = {
		.src = clients[i].endpoint, .dst = clients[i].server, .df = true};
	const uint32_t pick = test_rand_below(&world.rand, 16);
	uint32_t number;

	if (pick == 0) {
		put_channel(&d, UNBOUND, 0);
		to_drop++;
		return d;
	}
	number = expect(&up[i]);
	if (pick == 1)
		put_request(&d, i, number);
	else if (manner_of(i) == BY_SEND)
		put_send(&d, &far[i], number);
	else if (manner_of(i) == BY_PLAN && pick % 2 == 0)
		put_channel(&d, OTHER_CHANNEL, number);
	else
		put_channel(&d, LINE_CHANNEL, number);
	d.no_checksum = pick == 2 && addr_is_v4(&d.src.addr); // takes the slow path
	return d;
}

static struct world_datagram make_down(unsigned int i)
{
	const uint32_t pick = test_rand_below(&world.rand, 16);
	struct world_datagram d = {.src = far[i], .dst = clients[i].relay, .df = true};

	d.len = (uint16_t)(4 + test_rand_below(&world.rand, 60));
	if (pick == 0) {
		d.src.addr.b[15] ^= 0x40;
		to_drop++;
		return d;
	}
	store_be32(d.data, expect(&down[i]));
	d.no_checksum = pick == 1 && addr_is_v4(&d.src.addr);
	return d;
}

// --- receivers ----------------------------------------------------------------------------------

static void see_at_client(unsigned int i, const struct world_datagram *d)
{
	struct stun_msg m;

	assert_true(endpoint_eq(&d->src, &clients[i].server));
	if (d->data[0] == 0x40) {
		arrived(&down[i], load_be32(d->data + 4));
		return;
	}
	assert_int_equal(stun_parse(d->data, d->len, &m), 0);
	if (m.method == STUN_DATA)
		arrived(&down[i], load_be32(d->data + m.off[STUN_DATA_ATTR]));
	else
		arrived(&up[i], load_be32(d->data + 8));
}

static void see(const struct world_datagram *d)
{
	for (unsigned int i = 0; i < CLIENTS; i++) {
		if (endpoint_eq(&d->dst, &clients[i].endpoint)) {
			see_at_client(i, d);
			return;
		}
		if (!endpoint_eq(&d->src, &clients[i].relay))
			continue;
		assert_true(endpoint_eq(&d->dst, &far[i]) || endpoint_eq(&d->dst, &second[i]));
		arrived(&up[i], load_be32(d->data));
		return;
	}
	fail_msg("a datagram for nobody");
}

// Checks all frames in the order in which they left, which is the order of one port.
static void see_all(void)
{
	for (unsigned int k = 0; k < world.nb_seen; k++)
		see(&world.seen[k]);
	world.nb_seen = 0;
}

// --- the test -----------------------------------------------------------------------------------

static void meet(unsigned int i)
{
	const struct world_client *c = &clients[i];
	const struct world_datagram hello = {
		.src = far[i], .dst = c->relay, .len = 4, .data = "meet"};
	struct world_datagram d = {.src = c->endpoint, .dst = c->server};

	for (unsigned int n = 0; n < 3; n++) {
		world_send(&world, &hello);
		put_send(&d, &far[i], 0);
		world_send(&world, &d);
		put_send(&d, &second[i], 0);
		world_send(&world, &d);
		world_run(&world);
	}
	world.nb_seen = 0;
}

static void begin(unsigned int i)
{
	static const char *const hosts[] = {"10.99.0.20", "fd99::20"};
	const bool v6 = i / 4 % 2 != 0;
	const bool across = manner_of(i) == ACROSS;
	struct world_client *c = &clients[i];

	up[i].n = up[i].seen = down[i].n = down[i].seen = 0;
	world_client(&world, c, hosts[v6], (uint16_t)(40000 + 17 * i));
	far[i] = world_endpoint(v6 != across ? "fd99::30" : "10.99.0.30", (uint16_t)(7000 + i));
	second[i] = far[i];
	second[i].port = (uint16_t)(second[i].port + 1000);
	assert_int_equal(client_allocate(&world, c, v6 != across ? 6 : 4), 0);
	assert_int_equal(client_permit(&world, c, &far[i]), 0);
	if (manner_of(i) != BY_SEND)
		assert_int_equal(client_bind(&world, c, LINE_CHANNEL, &far[i]), 0);
	if (manner_of(i) == BY_PLAN)
		assert_int_equal(client_bind(&world, c, OTHER_CHANNEL, &second[i]), 0);
	meet(i);
}

static uint64_t all_drops(void)
{
	const struct dp_stats s = world_stats(&world);
	uint64_t n = 0;

	for (unsigned int i = 0; i < DP_DROP_END; i++)
		n += s.drop[i];
	return n;
}

static void send_any(void)
{
	const unsigned int i = test_rand_below(&world.rand, CLIENTS);
	const struct world_datagram d =
		test_rand_below(&world.rand, 2) != 0 ? make_up(i) : make_down(i);

	world_send(&world, &d);
}

// One queue, so that datagrams are received in the order in which they were sent: a full burst, or
// a few datagrams, or several bursts in a round, or before the requests of the last one have been
// answered.
static void test_bursts(void **state)
{
	const struct world_setup *s = *state;
	uint64_t drops;

	world_open(&world, s);
	for (unsigned int i = 0; i < CLIENTS; i++)
		begin(i);
	drops = all_drops();
	to_drop = 0;
	for (unsigned int round = 0; round < 400; round++) {
		for (unsigned int n = test_rand_below(&world.rand, 40); n > 0; n--)
			send_any();
		if (test_rand_below(&world.rand, 3) == 0)
			world_run(&world);
		else
			world_round(&world);
		see_all();
	}
	world_run(&world);
	see_all();
	for (unsigned int i = 0; i < CLIENTS; i++) {
		assert_int_equal(up[i].seen, up[i].n);
		assert_int_equal(down[i].seen, down[i].n);
	}
	if (all_drops() != drops + to_drop)
		world_drops(&world);
	assert_int_equal(all_drops(), drops + to_drop);
	assert_int_equal(world_stats(&world).held, 0);
	world_close(&world);
}

// Datagrams of one client after its request, in one burst with those of all others, with requests
// first, last and anywhere: every mix of three of its datagrams in a burst.
static void test_mixes(void **state)
{
	world_open(&world, *state);
	for (unsigned int i = 0; i < CLIENTS; i++)
		begin(i);
	for (unsigned int n = 0; n < 64 * CLIENTS; n++) {
		const unsigned int i = n % CLIENTS;

		for (unsigned int k = 0; k < 3; k++) {
			struct world_datagram d = {
				.src = clients[i].endpoint, .dst = clients[i].server, .df = true};
			const unsigned int kind = n / CLIENTS >> 2 * k & 3;

			if (kind == 0) {
				send_any();
				continue;
			}
			if (kind == 1)
				put_request(&d, i, expect(&up[i]));
			else if (kind == 2 && manner_of(i) != BY_SEND)
				put_channel(&d, LINE_CHANNEL, expect(&up[i]));
			else
				put_send(&d, &far[i], expect(&up[i]));
			world_send(&world, &d);
		}
		world_run(&world);
		see_all();
		assert_int_equal(up[i].seen, up[i].n);
	}
	world_close(&world);
}

static struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1},
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .requests = 1},
	{.workers = 2, .rx_queues = 1, .tx_queues = 2},
	{.workers = 2, .rx_queues = 1, .tx_queues = 1}, // one worker sends by way of the other
	{.workers = 2, .rx_queues = 2, .tx_queues = 2, .nic = true},
};

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(test_bursts, setups, 0),
		WORLD_CASE(test_bursts, setups, 1),
		WORLD_CASE(test_bursts, setups, 2),
		WORLD_CASE(test_bursts, setups, 3),
		WORLD_CASE(test_bursts, setups, 4),
		WORLD_CASE(test_mixes, setups, 0),
		WORLD_CASE(test_mixes, setups, 1),
		WORLD_CASE(test_mixes, setups, 2),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
