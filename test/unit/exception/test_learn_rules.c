// SPDX-License-Identifier: BSD-3-Clause
// Frames that bring an interface its addresses, by the ports and types of RFC 2131, 8415 and 4861.
#include "bytes.h"
#include "dp_world.h"
#include "exception/learn_rules.h"
#include "net.h"

#include <netinet/in.h>

static const struct learn_rules both = {.dhcp = true, .slaac = true};
static uint8_t data[256];

static size_t udp(const char *src, uint16_t sport, const char *dst, uint16_t dport, uint16_t vlan)
{
	const struct endpoint source = world_endpoint(src, sport),
			      target = world_endpoint(dst, dport);
	const struct net_l2 l2 = {.vlan = vlan};
	const uint16_t headers = net_headers_len(addr_is_v4(&source.addr), vlan);

	net_write_udp(data + headers, 20, &l2, &source, &target, &(struct net_ip){.ttl = 1}, 0);
	return headers + 20u;
}

// An ICMPv6 message of a type, after a hop-by-hop header if asked for.
static size_t icmp6(uint8_t type, bool alert)
{
	size_t len = udp("fe80::1", 0, "ff02::1", 0, 0);
	uint8_t *icmp = data + NET_ETH_LEN + NET_IP6_LEN;

	data[NET_ETH_LEN + 6] = alert ? 0 : 58;
	if (alert) {
		memcpy(icmp, "\x3a\x00\x05\x02\x00\x00\x01\x00", 8); // RFC 2711: router alert
		icmp += 8;
	}
	icmp[0] = type;
	return len;
}

#define IN(r, len) learn_rules_in(r, data, len)
#define OUT(r, len) learn_rules_out(r, data, len)

static void dhcp_is_known_by_both_ports(void **state)
{
	size_t len = udp("10.0.0.1", 67, "255.255.255.255", 68, 0);

	assert_int_equal(IN(&both, len), LEARN_DHCP);
	assert_int_equal(OUT(&both, len), LEARN_NONE); // the kernel is not a server
	len = udp("0.0.0.0", 68, "255.255.255.255", 67, 0);
	assert_int_equal(OUT(&both, len), LEARN_DHCP);
	assert_int_equal(IN(&both, len), LEARN_NONE); // nor does it serve
	len = udp("10.0.0.1", 53, "10.0.0.9", 68, 0);
	assert_int_equal(IN(&both, len), LEARN_NONE);
	len = udp("10.0.0.1", 67, "10.0.0.9", 69, 0);
	assert_int_equal(IN(&both, len), LEARN_NONE);
	len = udp("10.0.0.9", 40000, "10.0.0.1", 67, 0);
	assert_int_equal(OUT(&both, len), LEARN_NONE);
}

static void dhcpv6_answers_come_from_any_port(void **state)
{
	size_t len = udp("fe80::1", 547, "fe80::9", 546, 0);

	assert_int_equal(IN(&both, len), LEARN_DHCP);
	len = udp("fe80::1", 40000, "fe80::9", 546, 0);
	assert_int_equal(IN(&both, len), LEARN_DHCP);
	len = udp("fe80::1", 547, "fe80::9", 547, 0);
	assert_int_equal(IN(&both, len), LEARN_NONE);
	len = udp("fe80::9", 546, "ff02::1:2", 547, 0);
	assert_int_equal(OUT(&both, len), LEARN_DHCP);
	len = udp("fe80::9", 40000, "ff02::1:2", 547, 0);
	assert_int_equal(OUT(&both, len), LEARN_NONE);
}

static void routers_and_neighbours_are_told_apart(void **state)
{
	static const struct {
		uint8_t type, in, out;
	} t[] = {{130, LEARN_LINK, LEARN_NONE}, {131, LEARN_NONE, LEARN_LINK},
		{132, LEARN_NONE, LEARN_LINK}, {133, LEARN_NONE, LEARN_ROUTER},
		{134, LEARN_ROUTER, LEARN_NONE}, {135, LEARN_LINK, LEARN_LINK},
		{136, LEARN_LINK, LEARN_LINK}, {137, LEARN_NONE, LEARN_NONE},
		{143, LEARN_NONE, LEARN_LINK}, {128, LEARN_NONE, LEARN_NONE},
		{1, LEARN_NONE, LEARN_NONE}};

	for (size_t i = 0; i < RTE_DIM(t); i++) {
		for (int alert = 0; alert < 2; alert++) {
			const size_t len = icmp6(t[i].type, alert);

			assert_int_equal(IN(&both, len), t[i].in);
			assert_int_equal(OUT(&both, len), t[i].out);
		}
	}
}

// A port that learns nothing gets nothing, a port that learns IPv4 gets nothing of IPv6.
static void families_are_apart(void **state)
{
	const struct learn_rules none = {.dhcp = false}, v4 = {.dhcp = true}, v6 = {.slaac = true};
	size_t len = udp("10.0.0.1", 67, "255.255.255.255", 68, 0);

	assert_int_equal(IN(&none, len), LEARN_NONE);
	assert_int_equal(IN(&v4, len), LEARN_DHCP);
	assert_int_equal(IN(&v6, len), LEARN_NONE);
	store_be16(data + NET_ETH_TYPE_AT, NET_ETHERTYPE_ARP);
	assert_int_equal(IN(&v4, len), LEARN_LINK);
	assert_int_equal(IN(&v6, len), LEARN_NONE);
	len = icmp6(134, false);
	assert_int_equal(IN(&v4, len), LEARN_NONE);
	assert_int_equal(IN(&v6, len), LEARN_ROUTER);
}

static void fragments_and_short_frames_teach_nothing(void **state)
{
	const size_t len = udp("10.0.0.1", 67, "255.255.255.255", 68, 0);

	for (size_t n = 0; n < len; n++)
		assert_int_equal(IN(&both, n), LEARN_NONE);
	assert_int_equal(IN(&both, len), LEARN_DHCP);
	assert_int_equal(IN(&both, len + 18), LEARN_DHCP); // padding
	data[NET_ETH_LEN + 6] = 0x20; // more fragments
	assert_int_equal(IN(&both, len), LEARN_NONE);
	data[NET_ETH_LEN + 6] = 0;
	data[NET_ETH_LEN] = 0x4f; // options beyond the end of the frame
	assert_int_equal(IN(&both, 60), LEARN_NONE);
	data[NET_ETH_LEN] = 0x41; // no header is so short
	assert_int_equal(IN(&both, len), LEARN_NONE);
	for (size_t n = 0, whole = icmp6(134, true); n < whole; n++)
		assert_int_equal(IN(&both, n), LEARN_NONE);
}

static void the_tag_is_that_of_the_port(void **state)
{
	const struct learn_rules tagged = {.dhcp = true, .vlan = 9};
	size_t len = udp("10.0.0.1", 67, "255.255.255.255", 68, 9);

	assert_int_equal(IN(&tagged, len), LEARN_DHCP);
	assert_int_equal(IN(&both, len), LEARN_NONE);
	len = udp("10.0.0.1", 67, "255.255.255.255", 68, 8);
	assert_int_equal(IN(&tagged, len), LEARN_NONE);
	len = udp("10.0.0.1", 67, "255.255.255.255", 68, 0);
	assert_int_equal(IN(&tagged, len), LEARN_NONE);
	// the kernel's messages have no tag yet
	len = udp("0.0.0.0", 68, "255.255.255.255", 67, 0);
	assert_int_equal(OUT(&tagged, len), LEARN_DHCP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dhcp_is_known_by_both_ports),
		cmocka_unit_test(dhcpv6_answers_come_from_any_port),
		cmocka_unit_test(routers_and_neighbours_are_told_apart),
		cmocka_unit_test(families_are_apart),
		cmocka_unit_test(fragments_and_short_frames_teach_nothing),
		cmocka_unit_test(the_tag_is_that_of_the_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
