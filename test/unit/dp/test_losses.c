// SPDX-License-Identifier: BSD-3-Clause
// Drops that are counted for the allocation of the datagram: every reason has a class or concerns
// no allocation, and datagrams lost on their way do not count as relayed.
#include "bytes.h"
#include "see/losses.h"
#include "datapath.h"
#include "drop_of.h"
#include "line_world.h"
#include "shard_rows.h"
#include "turn_drop.h"
#include "path/worker.h"

// --- reasons ------------------------------------------------------------------------------------

// Reasons that are no loss of an allocation's data, in addition to all of lib/net, which precede
// every lookup.
static const unsigned int turn_none[] = {TURN_DROP_NO_ALLOCATION, TURN_DROP_PEER_NO_ALLOCATION,
	TURN_DROP_SHARED_UNKNOWN_PEER, TURN_DROP_UNAUTHENTICATED_RATE, TURN_DROP_GUESS_RATE,
	TURN_DROP_LOOKUP, TURN_DROP_CLIENT_DENIED, TURN_DROP_CLIENT_BLOCKED, TURN_DROP_BINDING_RATE,
	TURN_DROP_BINDING_OFF, TURN_DROP_ICMP_NO_ALLOCATION, TURN_DROP_ICMP_NO_PERMISSION,
	TURN_DROP_ICMP_UNTOLD, TURN_DROP_ICMP_RATE, TURN_DROP_KEEPALIVE, TURN_DROP_INTERNAL};
static const unsigned int dp_none[] = {DP_DROP_NO_LISTENER, DP_DROP_RX_OVERSIZE,
	DP_DROP_HANDOVER_FULL, DP_DROP_TX_FULL, DP_DROP_ICMP, DP_DROP_ICMP_RATE, DP_DROP_ICMP_QUOTE,
	DP_DROP_ICMP_TOTAL, DP_DROP_ARP, DP_DROP_SEGMENTED, DP_DROP_DTLS_PLAIN,
	DP_DROP_DTLS_UNKNOWN, DP_DROP_DTLS_HELLO, DP_DROP_DTLS_FRAGMENT, DP_DROP_DTLS_FULL,
	DP_DROP_DTLS_RATE, DP_DROP_DTLS_RECORD, DP_DROP_DTLS_MANY, DP_DROP_SUPER,
	DP_DROP_EXC_DENIED, DP_DROP_EXC_FOREIGN, DP_DROP_EXC_RATE, DP_DROP_FRAGMENT_RATE,
	DP_DROP_LOOKUP_WAITS, DP_DROP_LOOKUP_ROOM, DP_DROP_STOPPING};

static bool of_none(unsigned int reason)
{
	bool found = reason < DP_DROP_TURN;

	for (unsigned int i = 0; i < RTE_DIM(turn_none); i++)
		found |= reason == drop_of_turn(turn_none[i]);
	for (unsigned int i = 0; i < RTE_DIM(dp_none); i++)
		found |= reason == dp_none[i];
	return found;
}

static void every_reason_has_a_class(void **state)
{
	unsigned int classed[TURN_LOSS_END + 1] = {0};

	for (unsigned int i = 0; i < DP_DROP_END; i++) {
		const unsigned int loss = losses_of(i);

		assert_true(loss <= TURN_LOSS_END);
		if ((loss == TURN_LOSS_END) != of_none(i))
			fail_msg("%s", dp_drop_name(i));
		classed[loss]++;
	}
	for (unsigned int i = 0; i < TURN_LOSS_END; i++) {
		assert_true(classed[i] > 0);
		assert_non_null(turn_loss_name(i));
	}
	assert_null(turn_loss_name(TURN_LOSS_END));
	assert_int_equal(losses_of(DP_DROP_END), TURN_LOSS_END);
	assert_int_equal(turn_loss_of(0), TURN_LOSS_END);
	assert_int_equal(turn_loss_of(TURN_DROP_END), TURN_LOSS_END);
}

// --- datagrams ----------------------------------------------------------------------------------

static struct turn_usage expected[2]; // of the first two clients

static struct turn_usage usage(const struct world_client *c)
{
	struct turn_info info[LINE_CLIENTS];
	const unsigned int n = shard_rows(line_worker()->shard, info, LINE_CLIENTS);

	for (unsigned int i = 0; i < n; i++)
		if (endpoint_eq(&info[i].client, &c->endpoint))
			return info[i].usage;
	fail_msg("not listed");
	return expected[0];
}

static void check(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		const struct turn_usage got = usage(&client[i]);

		assert_memory_equal(&got, &expected[i], sizeof(got));
	}
}

static void open(const struct world_setup *s)
{
	line_open(s, 2);
	for (unsigned int i = 0; i < 2; i++)
		expected[i] = usage(&client[i]);
}

static void relays(unsigned int i, unsigned int leg, const struct world_datagram *d, uint16_t bytes)
{
	struct world_datagram got;

	world_send(&world, d);
	world_run(&world);
	assert_true(world_take(&world, leg == 0 ? &peer[i] : &client[i].endpoint, &got));
	expected[i].leg[leg].datagrams++;
	expected[i].leg[leg].bytes += bytes;
	check();
}

static void loses(
	unsigned int i, const struct world_datagram *d, unsigned int reason, enum turn_loss loss)
{
	const uint64_t before = world_dropped(&world, reason);

	world_send(&world, d);
	world_run(&world);
	assert_int_equal(world_dropped(&world, reason), before + 1);
	assert_int_equal(world.nb_seen, 0);
	expected[i].lost[loss]++;
	check();
}

static void lost_datagrams_do_not_count_as_relayed(void **state)
{
	struct world_datagram d;

	open(&line_one);
	for (unsigned int n = 0; n < 200; n++) {
		const unsigned int i = n % 2;

		d = line_up(i);
		line_data(&d, 20);
		relays(i, 0, &d, 20);
		d.ttl = 1;
		loses(i, &d, DP_DROP_TTL, TURN_LOSS_WAY);
		store_be16(d.data, 0x4fff);
		d.ttl = 64;
		loses(i, &d, drop_of_turn(TURN_DROP_CHANNEL_UNBOUND), TURN_LOSS_PERMISSION);
		d = line_down(i);
		d.len = 100;
		relays(i, 1, &d, 100);
		d.ttl = 1;
		loses(i, &d, DP_DROP_TTL, TURN_LOSS_WAY);
		d.ttl = 64;
		d.len = 1472 - 20; // it fits over IPv6, too, but not with a ChannelData header
		d.df = true;
		if (addr_is_v4(&d.src.addr) && addr_is_v4(&client[i].endpoint.addr)) {
			d.len = 1472;
			loses(i, &d, DP_DROP_MTU, TURN_LOSS_SIZE);
		}
		d.len = 10;
		d.src.addr.b[15] ^= 0x40; // another host, which has no permission
		loses(i, &d, drop_of_turn(TURN_DROP_PEER_NO_PERMISSION), TURN_LOSS_PERMISSION);
	}
	world_close(&world);
}

// A peer that does not answer ARP: some datagrams wait for the answer, and are lost in the end.
static void held_datagrams_without_an_answer_are_lost(void **state)
{
	const struct world_setup s = {
		.workers = 1, .rx_queues = 1, .tx_queues = 1, .neigh_held_each = 5};
	const struct endpoint silent = world_endpoint("10.99.0.77", 7000);
	struct world_datagram d;
	uint64_t held;

	open(&s);
	world.deaf = true;
	assert_int_equal(client_bind(&world, &client[0], LINE_CHANNEL + 5, &silent), 0);
	for (unsigned int n = 0; n < 20; n++) {
		d = line_up(0);
		line_data(&d, 20);
		store_be16(d.data, LINE_CHANNEL + 5);
		world_send(&world, &d);
		world_run(&world);
	}
	held = world_stats(&world).held;
	assert_in_range(held, 1, 19);
	expected[0].leg[0].datagrams += held;
	expected[0].leg[0].bytes += 20 * held;
	expected[0].lost[TURN_LOSS_WAY] += 20 - held;
	assert_int_equal(world_dropped(&world, DP_DROP_NEIGH_HELD), 20 - held);
	check();
	world_wait(&world, 5000);
	assert_int_equal(world_stats(&world).held, 0);
	assert_int_equal(world_dropped(&world, DP_DROP_NEIGH_FAILED), held);
	expected[0].leg[0].datagrams -= held;
	expected[0].leg[0].bytes -= 20 * held;
	expected[0].lost[TURN_LOSS_WAY] += held;
	check();
	world_close(&world);
}

// Datagrams of a closed allocation that waited for a neighbour are not losses of the next
// allocation.
static void the_next_allocation_has_lost_nothing(void **state)
{
	const struct endpoint silent = world_endpoint("10.99.0.77", 7000);
	const struct world_setup one = {
		.workers = 1, .rx_queues = 1, .tx_queues = 1, .relay_ports = 1};
	struct world_client *c = &client[0];
	struct turn_usage none = {0}, got;
	struct world_datagram d;

	world_open(&world, &one);
	world_client(&world, c, "10.99.0.20", 5000);
	assert_int_equal(client_allocate(&world, c, 4), 0);
	world.deaf = true;
	assert_int_equal(client_bind(&world, c, LINE_CHANNEL, &silent), 0);
	d = line_up(0);
	line_data(&d, 20);
	world_send(&world, &d);
	world_run(&world);
	assert_int_equal(world_stats(&world).held, 1);
	client_begin(&world, c, STUN_REFRESH);
	stun_put_u32(&c->w, STUN_LIFETIME, 0);
	assert_int_equal(client_ask(&world, c), 0);
	assert_int_equal(client_allocate(&world, c, 4), 0); // the only IPv4 port
	world_wait(&world, 5000);
	assert_int_equal(world_dropped(&world, DP_DROP_NEIGH_FAILED), 1);
	got = usage(c);
	assert_memory_equal(&got, &none, sizeof(got));
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reason_has_a_class),
		cmocka_unit_test(lost_datagrams_do_not_count_as_relayed),
		cmocka_unit_test(held_datagrams_without_an_answer_are_lost),
		cmocka_unit_test(the_next_allocation_has_lost_nothing),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
