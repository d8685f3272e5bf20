// SPDX-License-Identifier: BSD-3-Clause
// A running data path with a port that has learnt its addresses: the kernel renews leases and
// advertisements. Also which of an interface's addresses an entry gets.
#include "exception/learn_choose.h"
#include "datapath.h"
#include "drop_of.h"
#include "exception_world.h"

#include <stdio.h>

static const uint8_t everybody[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static void open_learning(bool dhcp, bool slaac)
{
	exception_world_open(exception_one, 0);
	exception()->rules.learn = (struct learn_rules){.dhcp = dhcp, .slaac = slaac};
}

static size_t make(const char *src, uint16_t sport, const char *dst, uint16_t dport)
{
	struct packet p = packet_tcp(sport, dport, 0);

	p.proto = IPPROTO_UDP;
	p.src = src;
	p.dst = dst;
	return packet_make(&p, frame);
}

static void assert_up(size_t len, bool arrives)
{
	world_inject(&world, 0, frame, len);
	exception_world_run();
	assert_int_equal(softport_take(exception()->kernel, got, sizeof(got)), arrives ? len : 0);
	if (arrives)
		assert_memory_equal(got, frame, len);
}

// Unicast to the address that we have and to one that we do not have yet, and broadcast.
static void answers_of_a_dhcp_server_reach_the_kernel(void **state)
{
	size_t len;

	open_learning(true, false);
	assert_up(make("10.99.0.254", 67, "10.99.0.1", 68), true);
	assert_up(make("10.99.0.254", 67, "10.99.0.9", 68), true);
	len = make("10.99.0.254", 67, "255.255.255.255", 68);
	memcpy(frame, everybody, 6);
	assert_up(len, true);
	assert_int_equal(world_drops(&world), 0);
	assert_int_equal(exception_world_counters().to_kernel[EXC_UDP], 3);
	// to another host, and not from a server
	len = make("10.99.0.254", 67, "10.99.0.9", 68);
	frame[5] ^= 1;
	assert_up(len, false);
	assert_up(make("10.99.0.254", 66, "10.99.0.1", 68), false);
	// with our own MAC as source
	len = make("10.99.0.254", 67, "255.255.255.255", 68);
	memcpy(frame, everybody, 6);
	memcpy(frame + 6, world.dp->port[0].port->mac, 6);
	assert_up(len, false);
	assert_int_equal(world_drops(&world), 3);
	exception_world_close();
}

static void without_dhcp_the_kernel_gets_no_answer(void **state)
{
	size_t len;

	open_learning(false, true);
	assert_up(make("10.99.0.254", 67, "10.99.0.1", 68), false);
	len = make("10.99.0.254", 67, "255.255.255.255", 68);
	memcpy(frame, everybody, 6);
	assert_up(len, false);
	assert_int_equal(world_drops(&world), 2);
	exception_world_close();
}

static size_t down(size_t len)
{
	memcpy(frame + 6, world.dp->port[0].port->mac, 6);
	memcpy(frame, everybody, 6);
	return exception_world_down(frame, len);
}

static void the_kernel_asks_from_its_addresses_alone(void **state)
{
	size_t len;

	open_learning(true, true);
	len = make("0.0.0.0", 68, "255.255.255.255", 67);
	assert_int_equal(down(len), len);
	len = make("10.99.0.1", 68, "10.99.0.254", 67);
	assert_int_equal(down(len), len);
	len = make("10.99.0.9", 68, "10.99.0.254", 67);
	assert_int_equal(down(len), 0);
	len = make("0.0.0.0", 68, "255.255.255.255", 68);
	assert_int_equal(down(len), 0);
	assert_int_equal(world_dropped(&world, DP_DROP_EXC_FOREIGN), 2);
	len = make("fe80::77", 546, "ff02::1:2", 547);
	assert_int_equal(down(len), 0);
	memcpy(frame + NET_ETH_LEN + 8, world.dp->port[0].link_local.b, 16);
	assert_int_equal(down(len), len);
	exception_world_close();
}

// A router advertisement to all nodes, with a length that does not matter here.
static size_t advertisement(uint8_t type)
{
	size_t len = make("fe80::fe", 0, "ff02::1", 0);
	uint8_t *ip = frame + NET_ETH_LEN, *icmp = ip + NET_IP6_LEN;
	struct addr src = addr_from_v6(ip + 8), dst = addr_from_v6(ip + 24);
	const uint16_t payload = (uint16_t)(len - NET_ETH_LEN - NET_IP6_LEN);

	memcpy(frame, "\x33\x33\x00\x00\x00\x01", 6);
	ip[6] = NET_PROTO_ICMP6;
	ip[7] = 255;
	memset(icmp, 0, payload);
	icmp[0] = type;
	store_be16(icmp + 2,
		(uint16_t)~csum_fold(csum_add(
			csum_addrs(&src, &dst) + NET_PROTO_ICMP6 + payload, icmp, payload)));
	return len;
}

static void router_advertisements_reach_the_kernel(void **state)
{
	open_learning(false, true);
	assert_up(advertisement(134), true);
	assert_int_equal(exception_world_counters().to_kernel[EXC_ND], 1);
	assert_up(advertisement(137), false); // a redirect
	assert_up(advertisement(133), false); // a solicitation: we are not a router
	assert_int_equal(world_dropped(&world, DP_DROP_ICMP), 2);
	exception()->rules.learn.slaac = false;
	assert_up(advertisement(134), false);
	assert_int_equal(world_dropped(&world, DP_DROP_ICMP), 3);
	exception_world_close();
}

// A flood of advertisements takes the share of ARP and ND, as was possible before, and nothing from
// connections.
static void a_flood_of_advertisements_is_bounded(void **state)
{
	const uint32_t share = exception_entry.buffers / 4;
	const size_t len = (open_learning(true, true), advertisement(134));

	for (unsigned int i = 0; i < 10 * share; i++)
		world_inject(&world, 0, frame, len);
	while (world_round(&world))
		;
	assert_int_equal(exception_world_counters().to_kernel[EXC_ND], share);
	assert_int_equal(world_dropped(&world, DP_DROP_EXC_RATE), 9 * share);
	exception_world_close();
}

// --- choosing ------------------------------------------------------------------------------------

#define STATIC 66 // entries of the file, the last two are keywords

static struct conf_address entries[STATIC + 2];
static const struct conf_port port = {.addresses = entries, .nb_addresses = STATIC + 2};
static struct learn_choice choice;

static void begin(void)
{
	for (unsigned int i = 0; i < STATIC; i++) {
		entries[i].addr = world_endpoint(i % 2 == 0 ? "10.99.0.1" : "fd99::1", 0).addr;
		entries[i].addr.b[15] = (uint8_t)(i + 1);
	}
	entries[STATIC] = (struct conf_address){.learn = CONF_LEARN_DHCP, .pending = true};
	entries[STATIC + 1] = (struct conf_address){.learn = CONF_LEARN_SLAAC, .pending = true};
	choice = (struct learn_choice){.port = &port};
}

static void has(const char *addr, uint8_t len, bool deprecated)
{
	const struct port_kernel_address a = {{world_endpoint(addr, 0).addr, len}, deprecated};

	learn_choose(&choice, &a);
}

static void has_those_of_the_file(void)
{
	for (unsigned int i = 0; i < STATIC; i++)
		learn_choose(&choice, &(struct port_kernel_address){{entries[i].addr, 120}, false});
}

static void assert_first(bool is_v4, const char *addr, uint8_t len)
{
	const struct addr want = world_endpoint(addr, 0).addr;

	assert_true(choice.any[is_v4]);
	assert_true(addr_eq(&choice.first[is_v4].addr, &want));
	assert_int_equal(choice.first[is_v4].len, len);
}

static void the_first_learned_address_is_taken(void **state)
{
	begin();
	has_those_of_the_file();
	assert_false(choice.any[0] || choice.any[1]);
	has("10.7.0.9", 112, false);
	has("10.8.0.9", 113, false);
	has("2001:db8:1::9", 63, true);
	assert_first(true, "10.7.0.9", 112);
	assert_false(choice.any[0]);
	has("2001:db8::9", 64, false);
	assert_first(false, "2001:db8::9", 64);
	assert_false(choice.is_there[0] || choice.is_there[1]);
}

// Home routers advertise both kinds: an address that is not global is only a substitute.
static void a_unique_local_address_gives_way(void **state)
{
	begin();
	has("fd00::9", 64, false);
	assert_first(false, "fd00::9", 64);
	has("fd01::9", 64, false);
	assert_first(false, "fd00::9", 64);
	has("2001:db8:1::9", 64, true);
	assert_first(false, "fd00::9", 64);
	has("2001:db8::9", 64, false);
	assert_first(false, "2001:db8::9", 64);
	has("fd02::9", 64, false);
	has("2001:db8:2::9", 64, false);
	assert_first(false, "2001:db8::9", 64);
}

// Prefixes of any host on the link become addresses, and newer ones come first.
static void other_addresses_hide_no_address_in_use(void **state)
{
	char text[32];

	begin();
	choice.used[0] = world_endpoint("2001:db8::9", 0).addr;
	choice.used[1] = world_endpoint("10.7.0.9", 0).addr;
	for (unsigned int i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "2001:db8:%x::9", i + 1);
		has(text, 64, false);
	}
	has_those_of_the_file();
	assert_false(choice.is_there[0] || choice.is_there[1]);
	has("2001:db8::9", 64, true); // a deprecated address is still there
	assert_true(choice.is_there[0]);
	assert_false(choice.is_there[1]);
	has("10.7.0.9", 112, false);
	assert_true(choice.is_there[1]);
	assert_first(false, "2001:db8:1::9", 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_of_a_dhcp_server_reach_the_kernel),
		cmocka_unit_test(without_dhcp_the_kernel_gets_no_answer),
		cmocka_unit_test(the_kernel_asks_from_its_addresses_alone),
		cmocka_unit_test(router_advertisements_reach_the_kernel),
		cmocka_unit_test(a_flood_of_advertisements_is_bounded),
		cmocka_unit_test(the_first_learned_address_is_taken),
		cmocka_unit_test(a_unique_local_address_gives_way),
		cmocka_unit_test(other_addresses_hide_no_address_in_use),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
