// SPDX-License-Identifier: BSD-3-Clause
// MLD reports of the groups that we listen to (RFC 3810; RFC 2710), byte by byte, and which queries
// are answered, how often and in which version.
#include "bytes.h"
#include "datapath.h"
#include "dp_world.h"
#include "slow_sum.h"

#define FRAMES 64

static struct dp_world world;
static uint8_t seen[FRAMES][2048];
static size_t seen_len[FRAMES];
static unsigned int nb_seen;

// Takes the next frame that left a port; keeps reports and ignores all other frames.
static bool receive(struct dp_world *w, unsigned int port)
{
	const size_t l2 = w->ports[0].vlan != 0 ? 18 : 14;
	uint8_t frame[2048];
	const size_t len = softport_take(w->dp->port[port].port, frame, sizeof(frame));

	if (len == 0)
		return false;
	if (load_be16(frame + l2 - 2) == 0x86dd && frame[l2 + 6] == 0) {
		assert_true(nb_seen < FRAMES);
		memcpy(seen[nb_seen], frame, len);
		seen_len[nb_seen++] = len;
	}
	return true;
}

static const struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .receive = receive},
	{.workers = 2, .rx_queues = 2, .tx_queues = 2, .receive = receive},
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .receive = receive, .vlan = 9},
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .receive = receive, .relays = 16},
};

static void open_with(const struct world_setup *s)
{
	nb_seen = 0;
	world_open(&world, s);
	world_wait(&world, 100);
	assert_int_equal(nb_seen, 0); // no link yet
}

// Solicited-node group of an address (RFC 4291 section 2.7.1).
static void group_of(const struct addr *a, uint8_t group[16])
{
	static const uint8_t prefix[13] = {0xff, 0x02, [11] = 1, 0xff};

	memcpy(group, prefix, 13);
	memcpy(group + 13, a->b + 13, 3);
}

// Checks the headers of a report to dst with `len` bytes of ICMPv6. Returns the ICMPv6 message.
static const uint8_t *is_report(unsigned int i, const uint8_t dst[16], size_t len)
{
	const size_t l2 = world.ports[0].vlan != 0 ? 18 : 14;
	const uint8_t *ip = seen[i] + l2, *icmp = ip + 48;
	uint32_t pseudo;

	assert_true(i < nb_seen);
	assert_int_equal(seen_len[i], l2 + 48 + len);
	assert_memory_equal(seen[i], "\x33\x33", 2);
	assert_memory_equal(seen[i] + 2, dst + 12, 4);
	assert_int_equal(ip[0], 0x60);
	assert_int_equal(load_be16(ip + 4), 8 + len);
	assert_int_equal(ip[7], 1); // hop limit (RFC 3810 section 5)
	assert_memory_equal(ip + 8, world.dp->port[0].link_local.b, 16);
	assert_memory_equal(ip + 24, dst, 16);
	// ICMPv6 follows; a router alert of value 0 (RFC 2711), and two bytes of padding
	assert_memory_equal(ip + 40, "\x3a\0\5\2\0\0\1\0", 8);
	pseudo = slow_sum(0, ip + 8, 32) + 58u + (uint32_t)len;
	assert_int_equal(slow_sum(pseudo, icmp, len), 0xffff);
	return icmp;
}

static const uint8_t to_routers[16] = {0xff, 0x02, [15] = 0x16};

// A report of version 2 about the link-local address and fd99::1 (and no IPv4 group).
static void is_whole(unsigned int i, uint8_t record)
{
	const uint8_t *icmp = is_report(i, to_routers, 8 + 2 * 20);
	uint8_t group[16];

	assert_int_equal(icmp[0], 143);
	assert_int_equal(icmp[1], 0);
	assert_int_equal(load_be16(icmp + 6), 2);
	for (unsigned int k = 0; k < 2; k++) {
		const uint8_t *r = icmp + 8 + 20 * k;

		assert_int_equal(load_be32(r), (uint32_t)record << 24);
		group_of(k == 0 ? &world.dp->port[0].link_local : &world.addresses[1].addr, group);
		assert_memory_equal(r + 4, group, 16);
	}
}

static void link_comes_up(void)
{
	softport_link(world.dp->port[0].port, false);
	dp_tick(world.dp);
	softport_link(world.dp->port[0].port, true);
	dp_tick(world.dp);
}

static void groups_are_reported_twice_when_the_link_comes_up(void **state)
{
	open_with(*state);
	link_comes_up();
	world_wait(&world, 500);
	assert_int_equal(nb_seen, 1);
	is_whole(0, 4); // CHANGE_TO_EXCLUDE_MODE
	world_wait(&world, 5000);
	assert_int_equal(nb_seen, 2);
	is_whole(1, 4);
	link_comes_up();
	world_wait(&world, 5000);
	assert_int_equal(nb_seen, 4);
	world_close(&world);
}

static void many_groups_take_several_reports(void **state)
{
	unsigned int records = 0;

	open_with(*state);
	assert_int_equal(world.ports[0].nb_addresses, 2 + 2 * 16);
	link_comes_up();
	world_wait(&world, 500);
	for (unsigned int i = 0; i < nb_seen; i++)
		records += load_be16(seen[i] + 14 + 48 + 6);
	assert_int_equal(records, 1 + 1 + 16); // link-local, fd99::1, the relays
	world_close(&world);
}

// A query; a test may make its parts invalid.
struct query {
	struct addr src, group;
	uint16_t len; // length of the ICMPv6 message
	uint16_t code; // Maximum Response Code
	uint8_t hops;
	bool no_alert;
};

static struct query good(bool v1)
{
	return (struct query){.src = world_endpoint("fe80::77", 0).addr,
		.len = v1 ? 24 : 28,
		.code = 200,
		.hops = 1};
}

static void ask(const struct query *q)
{
	const size_t l2 = world.ports[0].vlan != 0 ? 18 : 14;
	uint8_t frame[128] = {0x33, 0x33, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0x77};
	uint8_t *ip = frame + l2, *icmp = ip + 48;

	if (l2 == 18) {
		store_be16(frame + 12, 0x8100);
		store_be16(frame + 14, world.ports[0].vlan);
	}
	store_be16(ip - 2, 0x86dd);
	ip[0] = 0x60;
	store_be16(ip + 4, (uint16_t)(8 + q->len));
	ip[7] = q->hops;
	memcpy(ip + 8, q->src.b, 16);
	memcpy(ip + 24, "\xff\2\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
	memcpy(ip + 40, q->no_alert ? "\x3a\0\1\4\0\0\0\0" : "\x3a\0\5\2\0\0\1\0", 8);
	icmp[0] = 130;
	store_be16(icmp + 4, q->code);
	memcpy(icmp + 8, q->group.b, 16);
	store_be16(icmp + 2,
		(uint16_t)~slow_sum(slow_sum(0, ip + 8, 32) + 58u + q->len, icmp, q->len));
	world_inject(&world, 0, frame, l2 + 48 + q->len);
	world_run(&world);
}

static void queries_are_answered_within_their_time(void **state)
{
	struct query q;

	open_with(*state);
	q = good(false);
	ask(&q);
	world_wait(&world, 250);
	assert_int_equal(nb_seen, 1);
	is_whole(0, 2); // MODE_IS_EXCLUDE
	world_wait(&world, 5000);
	assert_int_equal(nb_seen, 1); // once
	group_of(&world.addresses[1].addr, q.group.b); // asked for by name
	ask(&q);
	world_wait(&world, 250);
	assert_int_equal(nb_seen, 2);
	q.code = 0x8000 | 2; // 0x1002 << 3 ms
	ask(&q);
	world_wait(&world, 33 * 1000);
	assert_int_equal(nb_seen, 3);
	q = good(false);
	q.code = 0x8000 | 0x7fff; // hours
	ask(&q);
	q.code = 100; // the earlier time counts
	ask(&q);
	world_wait(&world, 1200);
	assert_int_equal(nb_seen, 4);
	world_close(&world);
}

// RFC 3810 section 6.2: a group is answered for within the time of its own query, however late
// another answer is due.
static void a_late_answer_delays_no_earlier_answer(void **state)
{
	struct query q;

	open_with(*state);
	q = good(false);
	q.code = 0xffff; // 0x1fff << 10 ms: hours
	ask(&q);
	q.code = 200;
	group_of(&world.addresses[1].addr, q.group.b);
	ask(&q);
	world_wait(&world, 250);
	assert_int_equal(nb_seen, 1);
	is_whole(0, 2);
	world_close(&world);
}

static void a_router_of_version_1_is_answered_in_its_own(void **state)
{
	struct query q;
	uint8_t group[16];

	open_with(*state);
	q = good(true);
	ask(&q);
	world_wait(&world, 250);
	assert_int_equal(nb_seen, 2);
	for (unsigned int i = 0; i < 2; i++) {
		const uint8_t *icmp;

		group_of(i == 0 ? &world.dp->port[0].link_local : &world.addresses[1].addr, group);
		icmp = is_report(i, group, 24);
		assert_int_equal(icmp[0], 131);
		assert_int_equal(load_be32(icmp + 4), 0);
		assert_memory_equal(icmp + 8, group, 16);
	}
	nb_seen = 0;
	link_comes_up(); // also the change report
	world_wait(&world, 500);
	assert_int_equal(nb_seen, 2);
	nb_seen = 0;
	world_wait(&world, 261 * 1000); // the older querier has timed out
	nb_seen = 0;
	link_comes_up();
	world_wait(&world, 500);
	is_whole(0, 4);
	world_close(&world);
}

// RFC 3810 section 6.2, and RFC 2710 section 3.1.
static void some_queries_are_not_believed(void **state)
{
	struct query q;

	open_with(*state);
	q = good(false);
	q.src = world_endpoint("fd99::77", 0).addr;
	ask(&q);
	q = good(false);
	q.hops = 2; // a router forwarded it
	ask(&q);
	q = good(false);
	q.no_alert = true;
	ask(&q);
	q = good(false);
	q.len = 26; // neither version
	ask(&q);
	assert_int_equal(world_dropped(&world, DP_DROP_ICMP), 4);
	q = good(false);
	q.group = world_endpoint("ff02::1:ff12:3456", 0).addr; // no host here listens to it
	ask(&q);
	world_wait(&world, 5000);
	assert_int_equal(nb_seen, 0);
	world_close(&world);
}

// However often a host on the link asks, there is one answer a second.
static void a_flood_of_queries_is_answered_once_a_second(void **state)
{
	struct query q;

	open_with(*state);
	q = good(false);
	q.code = 0;
	for (unsigned int i = 0; i < 500; i++)
		ask(&q); // a delay of a few milliseconds each
	world_wait(&world, 2000);
	assert_in_range(nb_seen, 2, 8);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(groups_are_reported_twice_when_the_link_comes_up, setups, 0),
		WORLD_CASE(groups_are_reported_twice_when_the_link_comes_up, setups, 1),
		WORLD_CASE(groups_are_reported_twice_when_the_link_comes_up, setups, 2),
		WORLD_CASE(many_groups_take_several_reports, setups, 3),
		WORLD_CASE(queries_are_answered_within_their_time, setups, 0),
		WORLD_CASE(queries_are_answered_within_their_time, setups, 1),
		WORLD_CASE(queries_are_answered_within_their_time, setups, 2),
		WORLD_CASE(a_late_answer_delays_no_earlier_answer, setups, 0),
		WORLD_CASE(a_router_of_version_1_is_answered_in_its_own, setups, 0),
		WORLD_CASE(some_queries_are_not_believed, setups, 0),
		WORLD_CASE(a_flood_of_queries_is_answered_once_a_second, setups, 0),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
