// SPDX-License-Identifier: BSD-3-Clause
// ARP and neighbour discovery on the wire: which messages are accepted and which are refused, and
// how requests and answers are written (RFC 826, RFC 4861).
#include <stdlib.h>
#include <string.h>

#include "addr_text.h"
#include "frames.h"
#include "net.h"
#include "test.h"
#include "test_rand.h"

static const struct net_rx rx_a = {.mac = {0x02, 0x00, 0x00, 0x00, 0x00, 0x0a}};
static const struct net_rx rx_b = {.mac = {0x02, 0x00, 0x00, 0x00, 0x00, 0x0b}};
static const struct net_l2 from_a = {.src = {0x02, [5] = 0x0a}, .dst = {0x02, [5] = 0x0b}};
static const struct net_l2 from_b = {.src = {0x02, [5] = 0x0b}, .dst = {0x02, [5] = 0x0a}};

static struct net_neigh_msg parse(const uint8_t *frame, size_t len, const struct net_rx *rx)
{
	struct net_neigh_msg msg;
	struct net_frame f;
	uint8_t *copy = malloc(len);

	assert_non_null(copy);
	memcpy(copy, frame, len);
	assert_int_equal(net_frame_parse(copy, len, rx, &f), NET_OK);
	net_neigh_parse(copy, len, &f, &msg);
	free(copy);
	return msg;
}

static void test_parse_arp(void **state)
{
	struct net_neigh_msg m = parse(arp_request, sizeof(arp_request), &rx_a);

	assert_int_equal(m.type, NET_NEIGH_ASK);
	assert_addr(&m.target, "192.0.2.1");
	assert_addr(&m.sender, "192.0.2.7");
	assert_memory_equal(m.mac, mac_b, 6);
	m = parse(arp_reply, sizeof(arp_reply), &rx_b);
	assert_int_equal(m.type, NET_NEIGH_ANSWER);
	assert_addr(&m.target, "192.0.2.1");
	assert_memory_equal(m.mac, mac_a, 6);
	assert_true(m.solicited);
	m = parse(arp_gratuitous, sizeof(arp_gratuitous), &rx_b);
	assert_int_equal(m.type, NET_NEIGH_ANSWER);
	assert_addr(&m.target, "192.0.2.1");
	assert_false(m.solicited);
}

struct row {
	uint8_t off, value;
	int want;
};

static void test_arp_rows(void **state)
{
	static const struct row rows[] = {
		{14, 0, NET_NEIGH_ASK}, {15, 6, NET_NEIGH_NONE}, // IEEE 802
		{16, 0x86, NET_NEIGH_NONE}, {18, 8, NET_NEIGH_NONE}, {19, 16, NET_NEIGH_NONE},
		{21, 3, NET_NEIGH_NONE}, // RARP
		{21, 0, NET_NEIGH_NONE}, {21, 2, NET_NEIGH_ANSWER},
		{22, 0x03, NET_NEIGH_NONE}, // group MAC
		{28, 127, NET_NEIGH_NONE}, {28, 224, NET_NEIGH_NONE}, {28, 255, NET_NEIGH_NONE},
		{28, 0, NET_NEIGH_NONE}, // 0.0.2.7
	};
	uint8_t frame[sizeof(arp_request)];
	struct net_neigh_msg m;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memcpy(frame, arp_request, sizeof(frame));
		frame[rows[i].off] = rows[i].value;
		if (parse(frame, sizeof(frame), &rx_a).type != (unsigned int)rows[i].want)
			fail_msg("row %zu", i);
	}
	memcpy(frame, arp_request, sizeof(frame));
	memset(frame + 28, 0, 4); // RFC 5227: a probe
	m = parse(frame, sizeof(frame), &rx_a);
	assert_int_equal(m.type, NET_NEIGH_ASK);
	assert_int_equal(addr_class(&m.sender), ADDR_UNSPECIFIED);
	frame[21] = 2; // a reply about no address
	assert_int_equal(parse(frame, sizeof(frame), &rx_a).type, NET_NEIGH_NONE);
	memset(frame + 22, 0, 6);
	frame[21] = 1;
	assert_int_equal(parse(frame, sizeof(frame), &rx_a).type, NET_NEIGH_NONE);
	assert_int_equal(parse(arp_request, sizeof(frame) - 1, &rx_a).type, NET_NEIGH_NONE);
	memcpy(frame, arp_reply, sizeof(frame));
	memset(frame, 0xff, 6); // a broadcast reply answers nobody
	assert_false(parse(frame, sizeof(frame), &rx_b).solicited);
}

static void test_parse_nd(void **state)
{
	struct net_neigh_msg m = parse(nd_solicit, sizeof(nd_solicit), &rx_a);

	assert_int_equal(m.type, NET_NEIGH_ASK);
	assert_addr(&m.target, "2001:db8::1");
	assert_addr(&m.sender, "2001:db8::7");
	assert_memory_equal(m.mac, mac_b, 6);
	m = parse(nd_dad, sizeof(nd_dad), &rx_a);
	assert_int_equal(m.type, NET_NEIGH_ASK);
	assert_addr(&m.sender, "::");
	assert_memory_equal(m.mac, "\0\0\0\0\0\0", 6);
	assert_int_equal(parse(nd_probe, sizeof(nd_probe), &rx_a).type, NET_NEIGH_ASK);
	m = parse(nd_advert, sizeof(nd_advert), &rx_b);
	assert_int_equal(m.type, NET_NEIGH_ANSWER);
	assert_addr(&m.target, "2001:db8::1");
	assert_memory_equal(m.mac, mac_a, 6);
	assert_true(m.solicited);
	m = parse(nd_unsolicited, sizeof(nd_unsolicited), &rx_b);
	assert_int_equal(m.type, NET_NEIGH_ANSWER);
	assert_false(m.solicited);
	assert_int_equal(parse(echo6, sizeof(echo6), &rx_a).type, NET_NEIGH_NONE);
	assert_int_equal(parse(udp6, sizeof(udp6), &rx_a).type, NET_NEIGH_NONE);
}

static void run_nd(const uint8_t *golden, size_t len, const struct row *rows, size_t n)
{
	const struct net_rx *rx = golden[11] == 0x0a ? &rx_b : &rx_a;

	for (size_t i = 0; i < n; i++) {
		uint8_t frame[128];

		memcpy(frame, golden, len);
		frame[rows[i].off] = rows[i].value;
		frames_fix_l4(frame + 22, 32, 58, frame + 54, len - 54);
		if (parse(frame, len, rx).type != (unsigned int)rows[i].want)
			fail_msg("row %zu", i);
	}
}

// RFC 4861 section 7.1.1.
static void test_solicit_rows(void **state)
{
	static const struct row rows[] = {
		{21, 254, NET_NEIGH_NONE}, // has passed a router
		{55, 1, NET_NEIGH_NONE}, // code
		{58, 0xff, NET_NEIGH_ASK}, // reserved: ignored
		{62, 0xff, NET_NEIGH_NONE}, // multicast target
		{87 - 8, 0, NET_NEIGH_NONE}, // option length 0
		{87 - 8, 2, NET_NEIGH_NONE}, // option longer than the message
		{86 - 8, 14, NET_NEIGH_ASK}, // an unknown option: no MAC
		{88 - 8, 0x03, NET_NEIGH_NONE}, // group MAC
	};
	static const struct row dad_rows[] = {
		{51, 0x02, NET_NEIGH_NONE}, // not the group of the target
		{77, 0x02, NET_NEIGH_NONE},
		{23, 0x01, NET_NEIGH_ASK}, // from a host's address: any destination is valid
	};
	uint8_t frame[128];

	run_nd(nd_solicit, sizeof(nd_solicit), rows, 8);
	run_nd(nd_dad, sizeof(nd_dad), dad_rows, 3);
	memcpy(frame, nd_solicit, sizeof(nd_solicit)); // DAD with a source link-layer address
	memset(frame + 22, 0, 16);
	frames_fix_l4(frame + 22, 32, 58, frame + 54, 32);
	assert_int_equal(parse(frame, sizeof(nd_solicit), &rx_a).type, NET_NEIGH_NONE);
	memcpy(frame, nd_dad, sizeof(nd_dad)); // 16 bytes
	frame[19] = 16;
	frame[23] = 1;
	frames_fix_l4(frame + 22, 32, 58, frame + 54, 16);
	assert_int_equal(parse(frame, sizeof(nd_dad), &rx_a).type, NET_NEIGH_NONE);
	memcpy(frame, nd_solicit, sizeof(nd_solicit)); // an unknown option that never ends
	frame[78] = 14;
	frame[79] = 0;
	frames_fix_l4(frame + 22, 32, 58, frame + 54, 32);
	assert_int_equal(parse(frame, sizeof(nd_solicit), &rx_a).type, NET_NEIGH_NONE);
	memcpy(frame, nd_solicit, sizeof(nd_solicit)); // half an option
	frame[19] = 28;
	frames_fix_l4(frame + 22, 32, 58, frame + 54, 28);
	assert_int_equal(parse(frame, sizeof(nd_solicit), &rx_a).type, NET_NEIGH_NONE);
}

// RFC 4861 section 7.1.2.
static void test_advert_rows(void **state)
{
	static const struct row rows[] = {
		{21, 254, NET_NEIGH_NONE},
		{55, 1, NET_NEIGH_NONE},
		{62, 0xff, NET_NEIGH_NONE},
		{79, 0, NET_NEIGH_NONE},
		{54, 137, NET_NEIGH_NONE}, // redirect
		{54, 134, NET_NEIGH_NONE}, // router advertisement
		{58, 0x80, NET_NEIGH_ANSWER},
	};
	static const struct row group_rows[] = {
		{58, 0x60, NET_NEIGH_NONE}, // solicited, but to a group
		{58, 0x00, NET_NEIGH_ANSWER},
	};
	uint8_t frame[128];
	struct net_neigh_msg m;

	run_nd(nd_advert, sizeof(nd_advert), rows, 7);
	run_nd(nd_unsolicited, sizeof(nd_unsolicited), group_rows, 2);
	memcpy(frame, nd_advert, sizeof(nd_advert)); // without the option
	frame[19] = 24;
	frames_fix_l4(frame + 22, 32, 58, frame + 54, 24);
	m = parse(frame, sizeof(nd_advert) - 8, &rx_b);
	assert_int_equal(m.type, NET_NEIGH_ANSWER);
	assert_memory_equal(m.mac, "\0\0\0\0\0\0", 6);
}

#define assert_frame(buf, len, golden)                            \
	do {                                                      \
		assert_int_equal(len, sizeof(golden));            \
		assert_memory_equal(buf, golden, sizeof(golden)); \
	} while (0)

static void test_write_ask(void **state)
{
	const struct addr v4 = addr_text("192.0.2.7"), to4 = addr_text("192.0.2.1");
	const struct addr v6 = addr_text("2001:db8::7"), to6 = addr_text("2001:db8::1"),
			  none = addr_text("::");
	uint8_t buf[NET_ND_FRAME_MAX];

	assert_frame(buf, net_write_ask(buf, &from_b, &v4, &to4, NULL), arp_request);
	assert_frame(buf, net_write_ask(buf, &from_b, &v6, &to6, NULL), nd_solicit);
	assert_frame(buf, net_write_ask(buf, &from_b, &none, &to6, NULL), nd_dad);
	assert_frame(buf, net_write_ask(buf, &from_b, &v6, &to6, mac_a), nd_probe);
	assert_int_equal(net_write_ask(buf, &from_b, &v4, &to4, mac_a), 42);
	assert_memory_equal(buf, mac_a, 6);
	assert_memory_equal(buf + 6, arp_request + 6, 36);
	assert_int_equal(net_write_ask(buf, &from_b, &none, &to4, NULL), 42); // RFC 5227 probe
	assert_memory_equal(buf + 28, "\0\0\0\0", 4);
}

static void test_write_answer(void **state)
{
	const struct addr us4 = addr_text("192.0.2.1"), to4 = addr_text("192.0.2.7");
	const struct addr us6 = addr_text("2001:db8::1"), to6 = addr_text("2001:db8::7"),
			  none = addr_text("::");
	struct net_l2 nowhere = from_a;
	uint8_t buf[NET_ND_FRAME_MAX];

	memset(nowhere.dst, 0x77, 6);
	assert_frame(buf, net_write_answer(buf, &from_a, &us4, &to4), arp_reply);
	assert_frame(buf, net_write_answer(buf, &nowhere, &us4, NULL), arp_gratuitous);
	assert_frame(buf, net_write_answer(buf, &from_a, &us6, &to6), nd_advert);
	assert_frame(buf, net_write_answer(buf, &nowhere, &us6, NULL), nd_unsolicited);
	assert_frame(buf, net_write_answer(buf, &from_a, &us6, &none), nd_unsolicited);
}

// With a tag each frame is four bytes longer, fits the documented buffer and parses equally.
static void test_write_tagged(void **state)
{
	const struct addr sender[] = {addr_text("192.0.2.7"), addr_text("2001:db8::7")};
	const struct addr target[] = {addr_text("192.0.2.1"), addr_text("2001:db8::1")};
	struct net_l2 l2 = from_b;
	struct net_rx rx = rx_a;

	l2.vlan = rx.vlan = 42;
	for (int i = 0; i < 2; i++) {
		uint8_t *buf = malloc(NET_ND_FRAME_MAX);
		struct net_neigh_msg m;
		size_t len;

		assert_non_null(buf);
		len = net_write_ask(buf, &l2, &sender[i], &target[i], NULL);
		m = parse(buf, len, &rx);
		assert_int_equal(m.type, NET_NEIGH_ASK);
		assert_true(addr_eq(&m.target, &target[i]) && addr_eq(&m.sender, &sender[i]));
		assert_memory_equal(m.mac, mac_b, 6);
		len = net_write_answer(buf, &l2, &target[i], &sender[i]);
		m = parse(buf, len, &rx);
		assert_int_equal(m.type, NET_NEIGH_ANSWER);
		assert_true(addr_eq(&m.target, &target[i]));
		assert_true(m.solicited);
		free(buf);
	}
}

// RFC 2464 section 7, RFC 4291 section 2.7.1 and appendix A.
static void test_groups(void **state)
{
	const struct addr a = addr_text("4037::1:800:200e:8c6c");
	const struct addr group = net_solicited_node(&a);
	const struct addr local =
		net_link_local((const uint8_t[]){0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde});
	uint8_t mac[6];

	assert_addr(&group, "ff02::1:ff0e:8c6c");
	net_mac_of_multicast(&group, mac);
	assert_memory_equal(mac, "\x33\x33\xff\x0e\x8c\x6c", 6);
	assert_addr(&local, "fe80::3656:78ff:fe9a:bcde");
}

static void test_mutations(void **state)
{
	static const struct {
		const uint8_t *frame;
		size_t len;
	} goldens[] = {{arp_request, sizeof(arp_request)}, {nd_solicit, sizeof(nd_solicit)},
		{nd_probe, sizeof(nd_probe)}, {nd_dad, sizeof(nd_dad)}};
	struct test_rand r = test_rand_start("mutations");

	for (int i = 0; i < 100000; i++) {
		const uint32_t g = test_rand_below(&r, 4);
		const size_t len = goldens[g].len;
		uint8_t *frame = malloc(len);
		struct net_neigh_msg m;
		struct net_frame f;

		assert_non_null(frame);
		memcpy(frame, goldens[g].frame, len);
		for (uint32_t n = test_rand_below(&r, 4); n > 0; n--)
			frame[14 + test_rand_below(&r, (uint32_t)len - 14)] =
				(uint8_t)test_rand(&r);
		if (g > 0)
			frames_fix_l4(frame + 22, 32, 58, frame + 54, len - 54);
		if (net_frame_parse(frame, len, &rx_a, &f) == NET_OK) {
			net_neigh_parse(frame, len, &f, &m);
			if (m.type != NET_NEIGH_NONE)
				assert_false(m.mac[0] & 1);
		}
		free(frame);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_arp),
		cmocka_unit_test(test_arp_rows),
		cmocka_unit_test(test_parse_nd),
		cmocka_unit_test(test_solicit_rows),
		cmocka_unit_test(test_advert_rows),
		cmocka_unit_test(test_write_ask),
		cmocka_unit_test(test_write_answer),
		cmocka_unit_test(test_write_tagged),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_mutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
