// SPDX-License-Identifier: BSD-3-Clause
// Parsing and writing fragments, against frames of an independent implementation (ip_pieces.c), and
// by the rules of RFC 791, RFC 1858, RFC 7112 and RFC 8200.
#include <stdlib.h>

#include "bytes.h"
#include "fragment.h"
#include "ip_pieces.h"
#include "test.h"
#include "test_rand.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const uint8_t macs[12] = {2, 0, 0, 0, 0, 0xa, 2, 0, 0, 0, 0, 0xb};
static const struct net_rx rx = {.mac = {2, 0, 0, 0, 0, 0xa}};
static struct test_rand rand_;
static struct ip_long sent, got;
static struct ip_pieces pieces;
static struct ip_assembly assembly;

static struct addr addr(bool is_v4, uint8_t last)
{
	struct addr a = {.d = {0, 0}};

	if (is_v4) {
		a.b[10] = a.b[11] = 0xff;
		store_be32(a.b + 12, 0xc0000200);
	} else {
		store_be64(a.b, 0x20010db800000000);
	}
	a.b[15] = last;
	return a;
}

static void make(bool is_v4, uint32_t len)
{
	memset(&sent, 0, offsetof(struct ip_long, data));
	sent.src = (struct endpoint){addr(is_v4, 7), 50000};
	sent.dst = (struct endpoint){addr(is_v4, 1), 3478};
	sent.len = len;
	sent.tos = 0x2a;
	sent.ttl = 33;
	sent.id = is_v4 ? 0xfedc : 0xfedcba98;
	test_rand_fill(&rand_, sent.data, len);
}

static enum net_drop read_piece(const uint8_t *frame, size_t len, struct net_fragment *p)
{
	struct net_frame f;

	assert_int_equal(net_frame_parse(frame, len, &rx, &f), NET_DROP_FRAGMENT);
	return net_fragment_read(frame, &f, p);
}

static void reads(void **state)
{
	static uint8_t l4[70000];

	for (unsigned int is_v4 = 0; is_v4 < 2; is_v4++) {
		const uint32_t each = is_v4 ? 1480 : 1448;
		uint32_t total;

		make(is_v4, 4000);
		total = ip_pieces_l4(&sent, l4);
		ip_pieces_cut(&pieces, &sent, macs, 1500);
		assert_int_equal(pieces.n, 3);
		for (unsigned int i = 0; i < pieces.n; i++) {
			const uint32_t len = i < 2 ? each : total - 2 * each;
			struct net_fragment p;

			assert_int_equal(read_piece(pieces.frame[i], pieces.len[i], &p), NET_OK);
			assert_true(addr_eq(&p.src, &sent.src.addr));
			assert_true(addr_eq(&p.dst, &sent.dst.addr));
			assert_int_equal(p.id, sent.id);
			assert_int_equal(p.off, i * each);
			assert_int_equal(p.len, len);
			assert_memory_equal(p.data, l4 + i * each, len);
			assert_int_equal(p.proto, 17);
			assert_int_equal(p.tos, 0x2a);
			assert_int_equal(p.ttl, 33);
			assert_int_equal(p.more, i < 2);
		}
	}
}

// Asserts the result for one fragment.
static void verdict(bool is_v4, uint32_t off, uint32_t len, bool more, enum net_drop want)
{
	static uint8_t l4[70000];
	uint8_t frame[1600];
	struct net_fragment p;
	size_t n;

	make(is_v4, 1000);
	n = ip_piece(frame, macs, &sent, l4, (struct ip_piece){0, len, more});
	if (is_v4) {
		store_be16(frame + 20, (uint16_t)(off / 8 + (more ? 0x2000 : 0)));
		frame[24] = frame[25] = 0;
	} else {
		store_be16(frame + 56, (uint16_t)(off + more));
	}
	if (is_v4) {
		uint32_t sum = 0;

		for (unsigned int i = 14; i < 34; i += 2)
			sum += load_be16(frame + i);
		sum = (sum & 0xffff) + (sum >> 16);
		store_be16(frame + 24, (uint16_t) ~((sum & 0xffff) + (sum >> 16)));
	}
	assert_int_equal(read_piece(frame, n, &p), want);
}

static void refuses(void **state)
{
	for (unsigned int is_v4 = 0; is_v4 < 2; is_v4++) {
		const uint32_t most = is_v4 ? 65515 : 65535;

		verdict(is_v4, 0, 8, true, NET_OK); // RFC 1858: the complete UDP header
		verdict(is_v4, 0, 4, true, NET_DROP_FRAGMENT_MALFORMED); // not half of it
		verdict(is_v4, 8, 1, false, NET_OK);
		verdict(is_v4, 8, 0, false, NET_DROP_FRAGMENT_MALFORMED);
		verdict(is_v4, 0, 0, true, NET_DROP_FRAGMENT_MALFORMED);
		verdict(is_v4, 0, 12, true, NET_DROP_FRAGMENT_MALFORMED); // not a multiple of 8
		verdict(is_v4, 8, 7, true, NET_DROP_FRAGMENT_MALFORMED);
		// RFC 791, 8200: no packet is longer than 65,535 bytes
		verdict(is_v4, most / 8 * 8, most % 8, false, NET_OK);
		verdict(is_v4, most / 8 * 8, most % 8 + 1, false, NET_DROP_FRAGMENT_MALFORMED);
		verdict(is_v4, 65528, 400, false, NET_DROP_FRAGMENT_MALFORMED);
	}
}

// Only UDP; neither martians nor packets with damaged headers become fragments.
static void others(void **state)
{
	struct net_fragment p;
	struct net_frame f;

	for (unsigned int is_v4 = 0; is_v4 < 2; is_v4++) {
		uint8_t *frame = pieces.frame[0], *next = frame + (is_v4 ? 23 : 54);

		make(is_v4, 4000);
		ip_pieces_cut(&pieces, &sent, macs, 1500);
		*next = 6;
		if (is_v4)
			store_be16(frame + 24, (uint16_t)(load_be16(frame + 24) + 17 - 6));
		assert_int_equal(read_piece(frame, pieces.len[0], &p), NET_DROP_FRAGMENT);
		make(is_v4, 4000);
		sent.src.addr = sent.dst.addr; // LAND
		ip_pieces_cut(&pieces, &sent, macs, 1500);
		assert_int_equal(
			net_frame_parse(frame, pieces.len[0], &rx, &f), NET_DROP_MARTIAN_SOURCE);
		frame[0] = 0xff; // to a group MAC
		assert_int_equal(
			net_frame_parse(frame, pieces.len[0], &rx, &f), NET_DROP_MARTIAN_SOURCE);
		make(is_v4, 4000);
		sent.src.addr = addr(is_v4, 0);
		store_be64(sent.src.addr.b + 8, is_v4 ? 0xffff7f000001 : 1);
		sent.src.addr.d[0] = 0; // loopback
		ip_pieces_cut(&pieces, &sent, macs, 1500);
		assert_int_equal(
			net_frame_parse(frame, pieces.len[0], &rx, &f), NET_DROP_MARTIAN_SOURCE);
	}
}

// A host reassembles the fragments to the original; no fragment is longer than the MTU, and over
// IPv6 none is longer than 1280 (RFC 8656 section 13.2).
static void writes(void **state)
{
	static uint8_t frame[66000], out[1600];

	for (unsigned int n = 0; n < 400; n++) {
		const bool is_v4 = n % 2 == 0;
		const uint16_t mtu = (uint16_t)(1280 + test_rand_below(&rand_, 221));
		const uint16_t room = net_fragment_room(is_v4, mtu);
		const struct net_l2 l2 = {.dst = {2, 0, 0, 0, 0, 0xa}, .src = {2, 0, 0, 0, 0, 0xb}};
		const struct net_ip ip = {.tos = 0x2a, .ttl = 33};
		const uint32_t l4_off = is_v4 ? 34 : 54;
		struct net_fragment_cut c = {.id = is_v4 ? 0xfedc : 0xfedcba98};
		uint32_t total, len;
		bool done = false;

		make(is_v4, 1500 + test_rand_below(&rand_, 60000));
		total = ip_pieces_l4(&sent, frame + l4_off);
		net_write_udp(frame + l4_off + 8, (uint16_t)sent.len, &l2, &sent.src, &sent.dst,
			&ip, load_be16(frame + l4_off + 6));
		assert_int_equal(room % 8, 0);
		for (uint32_t off = 0; off < total; off += room) {
			assert_false(done);
			c.off = (uint16_t)off;
			c.more = off + room < total;
			c.len = (uint16_t)(c.more ? room : total - off);
			len = net_fragment_write(out, frame, 14, &c);
			assert_in_range(len, 0, 14u + (is_v4 ? mtu : 1280));
			if (c.more) // and no more fragments than needed
				assert_in_range(14u + (is_v4 ? mtu : 1280) - len, 0, 7);
			assert_memory_equal(out, macs, 12);
			done = ip_assembly_put(&assembly, out, len, &got);
		}
		assert_true(done);
		assert_true(endpoint_eq(&got.src, &sent.src) && endpoint_eq(&got.dst, &sent.dst));
		assert_int_equal(got.len, sent.len);
		assert_int_equal(got.tos, 0x2a);
		assert_int_equal(got.ttl, 33);
		assert_int_equal(got.id, sent.id);
		assert_memory_equal(got.data, sent.data, sent.len);
	}
}

// --- identifications -----------------------------------------------------------------------------

static struct hash_key key;

static uint32_t id_of(uint32_t n)
{
	return net_fragment_id(&key, &sent.src.addr, &sent.dst.addr, n);
}

static void new_key(bool is_v4)
{
	test_rand_fill(&rand_, &key, sizeof(key));
	make(is_v4, 0);
}

// RFC 6864: no identification is repeated before all others were used, from any starting point.
static void ids_are_a_permutation(void **state)
{
	static uint8_t seen[65536];

	for (unsigned int i = 0; i < 20; i++) {
		const uint32_t base = (uint32_t)test_rand(&rand_);

		new_key(true);
		sent.dst.addr.b[15] = (uint8_t)i;
		memset(seen, 0, sizeof(seen));
		for (uint32_t n = 0; n < 65536; n++) {
			const uint32_t id = id_of(base + n);

			assert_in_range(id, 0, 65535);
			assert_int_equal(seen[id]++, 0);
		}
	}
}

static int compare(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

// 128 pairs of 2^20 random 32-bit numbers would be equal.
static void ids_of_v6_do_not_come_back(void **state)
{
	static uint32_t ids[1 << 20];

	new_key(false);
	for (uint32_t n = 0; n < COUNT(ids); n++)
		ids[n] = id_of(0xfff80000 + n);
	qsort(ids, COUNT(ids), sizeof(ids[0]), compare);
	for (uint32_t n = 1; n < COUNT(ids); n++)
		assert_int_not_equal(ids[n], ids[n - 1]);
	assert_true(ids[COUNT(ids) - 1] > 0xff000000 && ids[0] < 0x01000000);
}

// How often the most frequent of 65,536 differences occurs. By chance each of 65,536 values occurs
// once, and hardly any of them ten times.
static unsigned int commonest(const uint16_t *difference)
{
	static uint16_t times[65536];
	unsigned int most = 0;

	memset(times, 0, sizeof(times));
	for (uint32_t n = 0; n < 65536; n++) {
		times[difference[n]]++;
		most = times[difference[n]] > most ? times[difference[n]] : most;
	}
	return most;
}

// An identification cannot be predicted from the last ones, nor from those of another pair or key.
static void ids_tell_nothing_of_each_other(void **state)
{
	static uint16_t step[65536], two[65536], next_dst[65536], swapped[65536], keyed[65536];

	for (unsigned int i = 0; i < 5; i++) {
		struct hash_key last;
		struct addr next;

		new_key(true);
		next = sent.dst.addr;
		next.b[15]++;
		test_rand_fill(&rand_, &last, sizeof(last));
		for (uint32_t n = 0; n < 65536; n++) {
			const struct addr *src = &sent.src.addr, *dst = &sent.dst.addr;
			const uint32_t id = id_of(n);

			step[n] = (uint16_t)(id_of(n + 1) - id);
			two[n] = (uint16_t)(id_of(n + 1) ^ id);
			next_dst[n] = (uint16_t)(net_fragment_id(&key, src, &next, n) ^ id);
			swapped[n] = (uint16_t)(net_fragment_id(&key, dst, src, n) ^ id);
			keyed[n] = (uint16_t)(net_fragment_id(&last, src, dst, n) - id);
		}
		assert_in_range(commonest(step), 5, 16);
		assert_in_range(commonest(two), 5, 24); // n and n + 1 may belong to each other
		assert_in_range(commonest(next_dst), 5, 16);
		assert_in_range(commonest(swapped), 5, 16);
		assert_in_range(commonest(keyed), 5, 16);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads),
		cmocka_unit_test(refuses),
		cmocka_unit_test(others),
		cmocka_unit_test(writes),
		cmocka_unit_test(ids_are_a_permutation),
		cmocka_unit_test(ids_of_v6_do_not_come_back),
		cmocka_unit_test(ids_tell_nothing_of_each_other),
	};

	rand_ = test_rand_start("fragment");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
