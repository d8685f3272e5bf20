// SPDX-License-Identifier: BSD-3-Clause
// Parsing and writing UDP frames: Ethernet, VLAN, both families, extension headers, lengths and
// checksums; parsing a mutated frame never reads beyond its end.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "addr_text.h"
#include "bytes.h"
#include "frames.h"
#include "net.h"
#include "test.h"
#include "test_rand.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct net_rx rx_plain = {.mac = {0x02, 0x00, 0x00, 0x00, 0x00, 0x0a}};

// Parses a copy of exactly len bytes, so that the sanitizer finds each read beyond them.
static enum net_drop parse(
	const uint8_t *frame, size_t len, const struct net_rx *rx, struct net_frame *f)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);
	enum net_drop drop;

	assert_non_null(copy);
	memcpy(copy, frame, len);
	drop = net_frame_parse(copy, len, rx, f);
	free(copy);
	return drop;
}

static void test_names(void **state)
{
	assert_null(net_drop_name(NET_OK));
	assert_null(net_drop_text(NET_OK));
	assert_null(net_drop_name(NET_DROP_END));
	assert_null(net_drop_text(NET_DROP_END));
	assert_null(net_drop_name((enum net_drop) - 1));
	for (int i = NET_OK + 1; i < NET_DROP_END; i++) {
		assert_non_null(net_drop_name(i));
		assert_non_null(net_drop_text(i));
		for (int k = NET_OK + 1; k < i; k++)
			assert_string_not_equal(net_drop_name(i), net_drop_name(k));
	}
	assert_string_equal(net_drop_name(NET_DROP_PORT_ZERO), "port-zero");
}

// TCP is parsed only if rx.tcp is set, and then only its ports and data offset. The payload is the
// whole segment.
static void test_tcp(void **state)
{
	static const struct {
		uint8_t offset; // byte 12 of the header
		uint16_t sport, dport, len; // len: of the segment
		enum net_drop drop;
	} cases[] = {
		{0x50, 40000, 22, 20, NET_OK},
		{0x80, 40000, 22, 40, NET_OK}, // options
		{0xa0, 40000, 22, 40, NET_OK}, // options, no payload
		{0xb0, 40000, 22, 40, NET_DROP_SHORT},
		{0x40, 40000, 22, 40, NET_DROP_SHORT},
		{0x50, 40000, 22, 19, NET_DROP_SHORT},
		{0x50, 0, 22, 20, NET_DROP_PORT_ZERO},
		{0x50, 40000, 0, 20, NET_DROP_PORT_ZERO},
	};
	struct net_rx rx = rx_plain;
	struct net_frame f;
	uint8_t frame[128];

	rx.ip_checksum_good = true;
	for (size_t v6 = 0; v6 < 2; v6++) {
		const size_t l4 = v6 ? 54 : 34;

		for (size_t i = 0; i < COUNT(cases); i++) {
			uint8_t *tcp = frame + l4;

			memset(frame, 0, sizeof(frame));
			memcpy(frame, v6 ? udp6 : udp4, l4);
			frame[v6 ? 20 : 23] = 6;
			frame[v6 ? 19 : 17] = (uint8_t)(cases[i].len + (v6 ? 0 : 20));
			tcp[0] = (uint8_t)(cases[i].sport >> 8);
			tcp[1] = (uint8_t)cases[i].sport;
			tcp[3] = (uint8_t)cases[i].dport;
			tcp[12] = cases[i].offset;
			rx.tcp = false;
			assert_int_equal(
				parse(frame, l4 + cases[i].len, &rx, &f), NET_DROP_PROTOCOL);
			rx.tcp = true;
			assert_int_equal(parse(frame, l4 + cases[i].len, &rx, &f), cases[i].drop);
			if (cases[i].drop != NET_OK)
				continue;
			assert_int_equal(f.kind, NET_TCP);
			assert_int_equal(f.sport, cases[i].sport);
			assert_int_equal(f.dport, cases[i].dport);
			assert_int_equal(f.payload_off, l4);
			assert_int_equal(f.payload_len, cases[i].len);
		}
	}
}

static void test_golden4(void **state)
{
	struct net_frame f;

	assert_int_equal(parse(udp4, sizeof(udp4), &rx_plain, &f), NET_OK);
	assert_int_equal(f.kind, NET_UDP);
	assert_addr(&f.src, "192.0.2.7");
	assert_addr(&f.dst, "198.51.100.1");
	assert_int_equal(f.sport, 50000);
	assert_int_equal(f.dport, 3478);
	assert_int_equal(f.l3_off, 14);
	assert_int_equal(f.l4_off, 34);
	assert_int_equal(f.payload_off, 42);
	assert_int_equal(f.payload_len, 5);
	assert_int_equal(f.l4_checksum, 0x3acd);
	assert_int_equal(f.tos, 0xb8);
	assert_int_equal(f.ttl, 57);
	assert_true(f.df && f.is_v4 && !f.l2_multicast);
}

static void test_golden6(void **state)
{
	struct net_frame f;

	assert_int_equal(parse(udp6, sizeof(udp6), &rx_plain, &f), NET_OK);
	assert_int_equal(f.kind, NET_UDP);
	assert_addr(&f.src, "2001:db8::7");
	assert_addr(&f.dst, "2001:db8:1::1");
	assert_int_equal(f.sport, 50000);
	assert_int_equal(f.dport, 3478);
	assert_int_equal(f.l3_off, 14);
	assert_int_equal(f.l4_off, 54);
	assert_int_equal(f.payload_off, 62);
	assert_int_equal(f.payload_len, 8);
	assert_int_equal(f.l4_checksum, 0x15bf);
	assert_int_equal(f.tos, 0xb9);
	assert_int_equal(f.ttl, 61);
	assert_true(!f.df && !f.is_v4 && !f.l2_multicast);
}

static void test_vlan(void **state)
{
	struct net_rx rx = rx_plain;
	uint8_t frame[sizeof(udp4_vlan)];
	struct net_frame f;

	memcpy(frame, udp4_vlan, sizeof(frame));
	assert_int_equal(parse(frame, sizeof(frame), &rx, &f), NET_DROP_VLAN);
	rx.vlan = 100;
	assert_int_equal(parse(frame, sizeof(frame), &rx, &f), NET_OK);
	assert_int_equal(f.l3_off, 18);
	assert_int_equal(f.payload_off, 46);
	assert_int_equal(parse(udp4, sizeof(udp4), &rx, &f), NET_DROP_VLAN);
	frame[15] = 101;
	assert_int_equal(parse(frame, sizeof(frame), &rx, &f), NET_DROP_VLAN);
	frame[15] = 0; // priority tag
	assert_int_equal(parse(frame, sizeof(frame), &rx, &f), NET_DROP_VLAN);
	rx.vlan = 0;
	assert_int_equal(parse(frame, sizeof(frame), &rx, &f), NET_OK);
	store_be16(frame + 16, 0x8100); // a second tag
	assert_int_equal(parse(frame, sizeof(frame), &rx, &f), NET_DROP_VLAN);
	store_be16(frame + 12, 0x88a8);
	assert_int_equal(parse(frame, sizeof(frame), &rx, &f), NET_DROP_VLAN);
}

static void test_link(void **state)
{
	uint8_t frame[sizeof(udp4)];
	struct net_frame f;

	memcpy(frame, udp4, sizeof(frame));
	frame[5] ^= 1;
	assert_int_equal(parse(frame, sizeof(frame), &rx_plain, &f), NET_DROP_NOT_FOR_US);
	frame[0] |= 1; // group MAC, unicast IP: RFC 1122 section 3.3.6
	assert_int_equal(parse(frame, sizeof(frame), &rx_plain, &f), NET_DROP_MARTIAN_DESTINATION);
	memcpy(frame, udp4, sizeof(frame));
	memcpy(frame + 6, mac_a, 6); // our own frame came back
	assert_int_equal(parse(frame, sizeof(frame), &rx_plain, &f), NET_DROP_MARTIAN_SOURCE);
	frame[6] = 0x03; // a group MAC as source
	assert_int_equal(parse(frame, sizeof(frame), &rx_plain, &f), NET_DROP_MARTIAN_SOURCE);
	memcpy(frame, udp4, sizeof(frame));
	store_be16(frame + 12, 0x88cc); // LLDP
	assert_int_equal(parse(frame, sizeof(frame), &rx_plain, &f), NET_DROP_ETHERTYPE);
	assert_int_equal(parse(arp_request, sizeof(arp_request), &rx_plain, &f), NET_OK);
	assert_int_equal(f.kind, NET_ARP);
	assert_int_equal(f.l3_off, 14);
	assert_true(f.l2_multicast);
}

// Each row changes bytes of the frame, corrects the checksums, and expects the reason.
struct row {
	uint8_t off, len;
	uint8_t bytes[16];
	enum net_drop want;
};

static void run_rows(const uint8_t *golden, size_t len, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t frame[128];
		struct net_frame f;
		enum net_drop drop;

		memcpy(frame, golden, len);
		memcpy(frame + rows[i].off, rows[i].bytes, rows[i].len);
		if (golden == udp4) {
			frames_fix_ip4(frame + 14);
			frames_fix_l4(frame + 26, 8, 17, frame + 34, len - 34);
		} else {
			frames_fix_l4(frame + 22, 32, 17, frame + 54, len - 54);
		}
		drop = parse(frame, len, &rx_plain, &f);
		if (drop != rows[i].want)
			fail_msg("row %zu: got %d, want %d", i, drop, rows[i].want);
	}
}

static void test_rows4(void **state)
{
	static const struct row rows[] = {
		{14, 0, {0}, NET_OK},
		{14, 1, {0x65}, NET_DROP_IP_VERSION},
		{14, 1, {0x44}, NET_DROP_IP_HEADER},
		{14, 1, {0x46}, NET_DROP_IP_OPTIONS},
		{16, 2, {0x00, 0x22}, NET_DROP_IP_LENGTH}, // one byte more than the frame has
		{16, 2, {0xff, 0xff}, NET_DROP_IP_LENGTH},
		{16, 2, {0x00, 0x13}, NET_DROP_IP_LENGTH},
		{16, 2, {0x00, 0x14}, NET_DROP_UDP_LENGTH},
		{16, 2, {0x00, 0x20}, NET_DROP_UDP_LENGTH}, // UDP longer than the IP payload
		{16, 2, {0x00, 0x1b}, NET_DROP_UDP_LENGTH}, // 7 bytes of UDP
		{20, 2, {0x20, 0x00}, NET_DROP_FRAGMENT}, // first
		{20, 2, {0x00, 0x01}, NET_DROP_FRAGMENT}, // last
		{20, 2, {0x40, 0x01}, NET_DROP_FRAGMENT},
		{20, 2, {0x00, 0x00}, NET_OK}, // DF clear
		{23, 1, {6}, NET_DROP_PROTOCOL},
		{23, 1, {47}, NET_DROP_PROTOCOL},
		{26, 4, {0, 0, 0, 0}, NET_DROP_MARTIAN_SOURCE},
		{26, 4, {0, 1, 2, 3}, NET_DROP_MARTIAN_SOURCE},
		{26, 4, {127, 0, 0, 1}, NET_DROP_MARTIAN_SOURCE},
		{26, 4, {224, 0, 0, 1}, NET_DROP_MARTIAN_SOURCE},
		{26, 4, {240, 0, 0, 1}, NET_DROP_MARTIAN_SOURCE},
		{26, 4, {255, 255, 255, 255}, NET_DROP_MARTIAN_SOURCE},
		{26, 4, {198, 51, 100, 1}, NET_DROP_MARTIAN_SOURCE}, // LAND
		{26, 4, {223, 255, 255, 255}, NET_OK},
		{26, 4, {1, 0, 0, 0}, NET_OK},
		{26, 4, {126, 1, 1, 1}, NET_OK},
		{26, 4, {128, 1, 1, 1}, NET_OK},
		{26, 4, {10, 0, 0, 1}, NET_OK},
		{30, 4, {224, 0, 0, 251}, NET_DROP_MARTIAN_DESTINATION},
		{30, 4, {255, 255, 255, 255}, NET_DROP_MARTIAN_DESTINATION},
		{30, 4, {127, 0, 0, 1}, NET_DROP_MARTIAN_DESTINATION},
		{30, 4, {0, 0, 0, 0}, NET_DROP_MARTIAN_DESTINATION},
		{34, 2, {0, 0}, NET_DROP_PORT_ZERO},
		{36, 2, {0, 0}, NET_DROP_PORT_ZERO},
		{34, 4, {0, 1, 0, 1}, NET_OK},
		{38, 2, {0x00, 0x0e}, NET_DROP_UDP_LENGTH},
		{38, 2, {0x00, 0x0c}, NET_DROP_UDP_LENGTH}, // IP payload longer than UDP
		{38, 2, {0x00, 0x07}, NET_DROP_UDP_LENGTH},
		{38, 2, {0x00, 0x00}, NET_DROP_UDP_LENGTH},
	};

	run_rows(udp4, sizeof(udp4), rows, COUNT(rows));
}

static void test_rows6(void **state)
{
	static const struct row rows[] = {
		{14, 0, {0}, NET_OK},
		{14, 1, {0x4b}, NET_DROP_IP_VERSION},
		{18, 2, {0x00, 0x11}, NET_DROP_IP_LENGTH},
		{18, 2, {0x00, 0x0f}, NET_DROP_UDP_LENGTH},
		{18, 2, {0x00, 0x00}, NET_DROP_UDP_LENGTH},
		{20, 1, {44}, NET_DROP_FRAGMENT},
		{20, 1, {59}, NET_DROP_PROTOCOL}, // no next header
		{20, 1, {6}, NET_DROP_PROTOCOL},
		{20, 1, {50}, NET_DROP_PROTOCOL}, // ESP
		{22, 16, {0}, NET_DROP_MARTIAN_SOURCE},
		{22, 16, {[15] = 1}, NET_DROP_MARTIAN_SOURCE},
		{22, 16, {[15] = 2}, NET_OK},
		{30, 8, {0}, NET_OK}, // interface identifier 0
		{22, 16, {[10] = 0xff, 0xff, 192, 0, 2, 1}, NET_DROP_MARTIAN_SOURCE},
		{22, 2, {0xff, 0x02}, NET_DROP_MARTIAN_SOURCE},
		{22, 2, {0xfe, 0x80}, NET_DROP_MARTIAN_SOURCE}, // no UDP from link-local addresses
		{22, 2, {0xfe, 0xbf}, NET_DROP_MARTIAN_SOURCE},
		{22, 2, {0xfe, 0xc0}, NET_OK},
		{22, 16, {0x20, 0x01, 0x0d, 0xb8, 0, 1, [15] = 1}, NET_DROP_MARTIAN_SOURCE},
		{38, 16, {0}, NET_DROP_MARTIAN_DESTINATION},
		{38, 16, {[15] = 1}, NET_DROP_MARTIAN_DESTINATION},
		{38, 16, {[10] = 0xff, 0xff, 192, 0, 2, 1}, NET_DROP_MARTIAN_DESTINATION},
		{38, 16, {0xff, 0x02, [15] = 0xfb}, NET_DROP_MARTIAN_DESTINATION},
		{54, 2, {0, 0}, NET_DROP_PORT_ZERO},
		{56, 2, {0, 0}, NET_DROP_PORT_ZERO},
		{58, 2, {0x00, 0x0f}, NET_DROP_UDP_LENGTH},
		{58, 2, {0x00, 0x11}, NET_DROP_UDP_LENGTH},
	};

	run_rows(udp6, sizeof(udp6), rows, COUNT(rows));
}

static void test_checksums(void **state)
{
	struct net_rx offload = rx_plain;
	uint8_t frame[128];
	struct net_frame f;

	offload.ip_checksum_good = offload.l4_checksum_good = true;
	memcpy(frame, udp4, sizeof(udp4));
	frame[24] ^= 1;
	assert_int_equal(parse(frame, sizeof(udp4), &rx_plain, &f), NET_DROP_IP_CHECKSUM);
	assert_int_equal(parse(frame, sizeof(udp4), &offload, &f), NET_OK);
	memcpy(frame, udp4, sizeof(udp4));
	frame[44] ^= 1;
	assert_int_equal(parse(frame, sizeof(udp4), &rx_plain, &f), NET_DROP_UDP_CHECKSUM);
	assert_int_equal(parse(frame, sizeof(udp4), &offload, &f), NET_OK);
	assert_int_equal(f.l4_checksum, 0x3acd);
	store_be16(frame + 40, 0); // RFC 768: no checksum
	assert_int_equal(parse(frame, sizeof(udp4), &rx_plain, &f), NET_OK);
	assert_int_equal(f.l4_checksum, 0);
	memcpy(frame, udp6, sizeof(udp6));
	store_be16(frame + 60, 0); // RFC 8200 section 8.1
	assert_int_equal(parse(frame, sizeof(udp6), &rx_plain, &f), NET_DROP_UDP_CHECKSUM);
	assert_int_equal(parse(frame, sizeof(udp6), &offload, &f), NET_DROP_UDP_CHECKSUM);
	memcpy(frame, echo4, sizeof(echo4));
	frame[45] ^= 1;
	assert_int_equal(parse(frame, sizeof(echo4), &offload, &f), NET_DROP_UDP_CHECKSUM);
	memcpy(frame, echo6, sizeof(echo6));
	frame[65] ^= 1;
	assert_int_equal(parse(frame, sizeof(echo6), &offload, &f), NET_DROP_UDP_CHECKSUM);
}

// Builds Ethernet + IPv6 + ext + UDP or ICMPv6 echo and parses it.
static enum net_drop parse_ext(uint8_t first, const uint8_t *ext, size_t ext_len, uint8_t last)
{
	const uint8_t *template = last == 58 ? echo6 : udp6;
	const size_t tail = last == 58 ? sizeof(echo6) - 54 : sizeof(udp6) - 54;
	uint8_t frame[512];
	struct net_frame f;
	enum net_drop drop;

	memcpy(frame, template, 54);
	store_be16(frame + 18, (uint16_t)(ext_len + tail));
	frame[20] = first;
	memcpy(frame + 54, ext, ext_len);
	memcpy(frame + 54 + ext_len, template + 54, tail);
	drop = parse(frame, 54 + ext_len + tail, &rx_plain, &f);
	if (drop == NET_OK) {
		assert_int_equal(f.l4_off, 54 + ext_len);
		assert_int_equal(f.payload_off, 54 + ext_len + (last == 58 ? 0 : 8));
		assert_int_equal(f.kind, last == 58 ? NET_ICMP6 : NET_UDP);
	}
	return drop;
}

static void test_extensions(void **state)
{
	static const struct {
		uint8_t first, len;
		uint8_t ext[48];
		uint8_t last;
		enum net_drop want;
	} rows[] = {
		{0, 8, {58, 0, 5, 2, 0, 0, 1, 0}, 58, NET_OK}, // router alert, as in MLD
		{60, 8, {17, 0, 1, 4}, 17, NET_OK},
		{60, 16, {17, 1, 1, 12}, 17, NET_OK},
		{60, 8, {17, 0}, 17, NET_OK}, // six Pad1
		{0, 24, {60, 0, 1, 4, 0, 0, 0, 0, 43, 0, 1, 4, 0, 0, 0, 0, 17, 0, 2, 0}, 17,
			NET_OK},
		{0, 16, {0, 0, 1, 4, 0, 0, 0, 0, 17, 0, 1, 4}, 17,
			NET_DROP_IP_HEADER}, // two hop-by-hop headers
		{60, 16, {0, 0, 1, 4, 0, 0, 0, 0, 17, 0, 1, 4}, 17,
			NET_DROP_IP_HEADER}, // hop-by-hop header not first
		{43, 8, {17, 0, 0, 0}, 17, NET_DROP_IP_HEADER}, // routing type 0, none left
		{43, 8, {17, 0, 2, 1}, 17, NET_DROP_IP_HEADER}, // segments left
		{43, 8, {17, 0, 2, 0}, 17, NET_OK},
		{60, 8, {17, 0, 0xc2, 4}, 17, NET_DROP_IP_HEADER}, // jumbo payload: discard
		{60, 8, {17, 0, 0x41, 4}, 17, NET_DROP_IP_HEADER}, // unknown option: discard
		{60, 8, {17, 0, 1, 5}, 17, NET_DROP_IP_HEADER}, // option longer than the header
		{60, 8, {17, 0, 0, 0, 0, 0, 0, 1}, 17, NET_DROP_IP_HEADER}, // no length byte
		{60, 8, {17, 9, 1, 4}, 17, NET_DROP_IP_HEADER}, // header longer than the packet
		{60, 8, {44, 0, 1, 4}, 17, NET_DROP_FRAGMENT},
		{44, 8, {17, 0, 0, 0, 1, 2, 3, 4}, 17, NET_OK}, // atomic fragment (RFC 6946)
		{44, 8, {17, 9, 0, 6, 1, 2, 3, 4}, 17, NET_OK}, // reserved bits are ignored
		{44, 8, {17, 0, 0, 1, 1, 2, 3, 4}, 17, NET_DROP_FRAGMENT}, // more fragments
		{44, 8, {17, 0, 0, 8, 1, 2, 3, 4}, 17, NET_DROP_FRAGMENT}, // offset 8 bytes
		{44, 8, {58, 0, 0, 0, 1, 2, 3, 4}, 17, NET_DROP_FRAGMENT}, // not for ND (RFC 6980)
		{44, 16, {44, 0, 0, 0, 0, 0, 0, 0, 17}, 17, NET_DROP_FRAGMENT}, // two headers
		{60, 32,
			{60, 0, 1, 4, 0, 0, 0, 0, 60, 0, 1, 4, 0, 0, 0, 0, 60, 0, 1, 4, 0, 0, 0, 0,
				17, 0, 1, 4},
			17, NET_OK},
		{60, 40,
			{60, 0, 1, 4, 0, 0, 0, 0, 60, 0, 1, 4, 0, 0, 0, 0, 60, 0, 1, 4, 0, 0, 0, 0,
				60, 0, 1, 4, 0, 0, 0, 0, 17, 0, 1, 4},
			17, NET_DROP_IP_HEADER}, // five headers
		{60, 8, {59, 0, 1, 4}, 17, NET_DROP_PROTOCOL},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const enum net_drop drop =
			parse_ext(rows[i].first, rows[i].ext, rows[i].len, rows[i].last);

		if (drop != rows[i].want)
			fail_msg("row %zu: got %d, want %d", i, drop, rows[i].want);
	}
}

static void test_extension_bytes(void **state)
{
	uint8_t ext[264] = {17, 31, 1, 252}; // 256 bytes: PadN 252 fills it

	assert_int_equal(parse_ext(60, ext, 256, 17), NET_OK);
	ext[1] = 32; // 264 bytes
	ext[3] = 254;
	assert_int_equal(ext[260], 0); // the rest is Pad1
	assert_int_equal(parse_ext(60, ext, 264, 17), NET_DROP_IP_HEADER);
}

// The last byte of a packet is the type of an option whose length byte is missing. The parser must
// not read beyond the packet: the next page is not mapped.
static void test_extension_end(void **state)
{
	static const uint8_t ext[] = {59, 0, 1, 3, 0, 0, 0, 1}; // PadN, then a lone option type
	const size_t len = 54 + sizeof(ext), page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *mem =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *frame = mem + page - len;
	struct net_frame f;

	assert_true(mem != MAP_FAILED);
	assert_int_equal(mprotect(mem + page, page, PROT_NONE), 0);
	memcpy(frame, udp6, 54);
	store_be16(frame + 18, sizeof(ext));
	frame[20] = 60;
	memcpy(frame + 54, ext, sizeof(ext));
	assert_int_equal(net_frame_parse(frame, len, &rx_plain, &f), NET_DROP_IP_HEADER);
	munmap(mem, 2 * page);
}

// Neighbour discovery uses group addresses and comes from :: and fe80::/10; UDP does neither.
static void test_icmp6_addrs(void **state)
{
	uint8_t frame[sizeof(nd_solicit)];
	struct net_frame f;

	assert_int_equal(parse(nd_solicit, sizeof(nd_solicit), &rx_plain, &f), NET_OK);
	assert_int_equal(f.kind, NET_ICMP6);
	assert_true(f.l2_multicast);
	assert_int_equal(f.payload_off, 54);
	assert_int_equal(f.payload_len, 32);
	assert_int_equal(f.ttl, 255);
	assert_int_equal(parse(nd_dad, sizeof(nd_dad), &rx_plain, &f), NET_OK);
	memcpy(frame, nd_solicit, sizeof(frame));
	store_be16(frame + 22, 0xfe80);
	frames_fix_l4(frame + 22, 32, 58, frame + 54, 32);
	assert_int_equal(parse(frame, sizeof(frame), &rx_plain, &f), NET_OK);
	store_be16(frame + 38, 0x2001); // L2 group, IP unicast
	frames_fix_l4(frame + 22, 32, 58, frame + 54, 32);
	assert_int_equal(parse(frame, sizeof(frame), &rx_plain, &f), NET_DROP_MARTIAN_DESTINATION);
}

static const struct {
	const uint8_t *frame;
	size_t len;
} goldens[] = {
	{udp4, sizeof(udp4)},
	{udp6, sizeof(udp6)},
	{echo4, sizeof(echo4)},
	{echo6, sizeof(echo6)},
	{nd_solicit, sizeof(nd_solicit)},
};

// No frame is accepted without its last byte; trailing padding changes nothing.
static void test_lengths(void **state)
{
	for (size_t g = 0; g < COUNT(goldens); g++) {
		uint8_t padded[256] = {0};
		struct net_frame f, longer;

		memset(&f, 0, sizeof(f));
		memset(&longer, 0, sizeof(longer));
		for (size_t len = 0; len < goldens[g].len; len++)
			assert_int_not_equal(parse(goldens[g].frame, len, &rx_plain, &f), NET_OK);
		assert_int_equal(parse(goldens[g].frame, goldens[g].len, &rx_plain, &f), NET_OK);
		memcpy(padded, goldens[g].frame, goldens[g].len);
		memset(padded + goldens[g].len, 0xa5, 64);
		assert_int_equal(parse(padded, goldens[g].len + 64, &rx_plain, &longer), NET_OK);
		assert_memory_equal(&f, &longer, sizeof(f));
	}
}

// A single flipped bit after the Ethernet header is always detected, except where no checksum
// covers it: in IPv6 traffic class, flow label and hop limit.
static void test_bit_flips(void **state)
{
	for (size_t g = 0; g < COUNT(goldens); g++) {
		const bool is_v6 = goldens[g].frame[12] == 0x86;

		for (size_t bit = 14 * 8; bit < goldens[g].len * 8; bit++) {
			const bool unchecked =
				is_v6 && ((bit >= 116 && bit < 144) || bit / 8 == 21);
			uint8_t frame[128];
			struct net_frame f;

			memcpy(frame, goldens[g].frame, goldens[g].len);
			frame[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
			if ((parse(frame, goldens[g].len, &rx_plain, &f) == NET_OK) != unchecked)
				fail_msg("frame %zu bit %zu", g, bit);
		}
	}
}

// Random damage. The checksums count as verified, so the parser goes on after them. It reads
// nothing outside the frame (the sanitizer checks that), and an accepted payload lies inside the
// frame.
static void test_mutations(void **state)
{
	struct test_rand r = test_rand_start("mutations");
	unsigned int accepted = 0;

	for (int i = 0; i < 200000; i++) {
		const size_t g = test_rand_below(&r, COUNT(goldens));
		struct net_rx rx = rx_plain;
		uint8_t frame[128];
		struct net_frame f;
		size_t len = goldens[g].len;

		memcpy(frame, goldens[g].frame, len);
		rx.ip_checksum_good = rx.l4_checksum_good = true;
		for (uint32_t n = test_rand_below(&r, 4); n > 0; n--)
			frame[12 + test_rand_below(&r, (uint32_t)len - 12)] =
				(uint8_t)test_rand(&r);
		if (test_rand_below(&r, 4) == 0)
			frame[20] = "\0\x2b\x3c\x2c"[test_rand_below(&r, 4)]; // extension headers
		if (test_rand_below(&r, 4) == 0)
			len = test_rand_below(&r, (uint32_t)len + 1);
		if (parse(frame, len, &rx, &f) != NET_OK)
			continue;
		accepted++;
		if (f.kind == NET_ARP)
			continue;
		assert_true((size_t)f.payload_off + f.payload_len <= len);
		assert_true(f.l3_off < f.l4_off && f.l4_off <= f.payload_off);
		assert_int_equal(f.is_v4, addr_is_v4(&f.src));
		assert_int_equal(f.is_v4, addr_is_v4(&f.dst));
	}
	assert_true(accepted > 20000);
}

static void test_write_golden(void **state)
{
	struct net_l2 l2 = {.dst = {0x02, [5] = 0x0a}, .src = {0x02, [5] = 0x0b}};
	struct endpoint src = {addr_from_v4(udp4 + 26), 50000};
	struct endpoint dst = {addr_from_v4(udp4 + 30), 3478};
	struct net_ip ip = {.tos = 0xb8, .ttl = 57, .id = 0x1234, .df = true};
	uint8_t buf[NET_HEADERS_MAX + 8];
	uint8_t *payload = buf + NET_HEADERS_MAX;

	memcpy(payload, "turn!", 5);
	assert_ptr_equal(net_write_udp(payload, 5, &l2, &src, &dst, &ip, 0x3acd), payload - 42);
	assert_memory_equal(payload - 42, udp4, sizeof(udp4));
	l2.vlan = 100; // we send priority 0
	assert_ptr_equal(net_write_udp(payload, 5, &l2, &src, &dst, &ip, 0x3acd), payload - 46);
	assert_int_equal(payload[-32], 0x00);
	payload[-32] = 0x60;
	assert_memory_equal(payload - 46, udp4_vlan, sizeof(udp4_vlan));
	l2.vlan = 0;
	src.addr = addr_from_v6(udp6 + 22);
	dst.addr = addr_from_v6(udp6 + 38);
	ip.tos = 0xb9;
	ip.ttl = 61;
	memcpy(payload, "slipring", 8);
	assert_ptr_equal(net_write_udp(payload, 8, &l2, &src, &dst, &ip, 0x15bf), payload - 62);
	assert_memory_equal(payload - 62, udp6, sizeof(udp6));
}

// A written frame is read back with equal fields.
static void test_round_trip(void **state)
{
	struct test_rand r = test_rand_start("round trip");

	for (int i = 0; i < 20000; i++) {
		const bool is_v4 = i % 2 == 0;
		const uint16_t len = (uint16_t)test_rand_below(&r, 1400);
		struct net_l2 l2 = {.src = {0x02, [5] = 0x0b}};
		struct net_rx rx = rx_plain;
		struct endpoint e[2];
		struct net_ip ip = {.tos = (uint8_t)test_rand(&r), .ttl = 9, .df = i & 2};
		static uint8_t buf[NET_HEADERS_MAX + 1400];
		uint8_t *payload = buf + NET_HEADERS_MAX, *frame;
		struct net_frame f;
		uint16_t checksum;

		rx.vlan = l2.vlan = i & 4 ? (uint16_t)test_rand_below(&r, 4095) : 0;
		memcpy(l2.dst, mac_a, 6);
		test_rand_fill(&r, e, sizeof(e));
		test_rand_fill(&r, payload, len);
		for (int k = 0; k < 2; k++) {
			e[k].addr.b[0] = e[k].addr.b[0] % 32 + 32;
			e[k].port |= 1;
			if (is_v4)
				e[k].addr = addr_from_v4(e[k].addr.b);
		}
		frame = net_write_udp(payload, len, &l2, &e[0], &e[1], &ip, 0);
		checksum = csum_udp(&e[0].addr, &e[1].addr, payload - 8, len + 8);
		frame = net_write_udp(payload, len, &l2, &e[0], &e[1], &ip, checksum);
		assert_int_equal(payload - frame, net_headers_len(is_v4, l2.vlan));
		assert_int_equal(parse(frame, (size_t)(payload - frame) + len, &rx, &f), NET_OK);
		assert_true(addr_eq(&f.src, &e[0].addr) && addr_eq(&f.dst, &e[1].addr));
		assert_true(f.sport == e[0].port && f.dport == e[1].port);
		assert_int_equal(f.payload_off, payload - frame);
		assert_int_equal(f.payload_len, len);
		assert_int_equal(f.tos, ip.tos);
		assert_int_equal(f.ttl, 9);
		assert_int_equal(f.df, is_v4 && ip.df);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_tcp),
		cmocka_unit_test(test_golden4),
		cmocka_unit_test(test_golden6),
		cmocka_unit_test(test_vlan),
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_rows4),
		cmocka_unit_test(test_rows6),
		cmocka_unit_test(test_checksums),
		cmocka_unit_test(test_extensions),
		cmocka_unit_test(test_extension_bytes),
		cmocka_unit_test(test_extension_end),
		cmocka_unit_test(test_icmp6_addrs),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_bit_flips),
		cmocka_unit_test(test_mutations),
		cmocka_unit_test(test_write_golden),
		cmocka_unit_test(test_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
