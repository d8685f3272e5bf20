// SPDX-License-Identifier: BSD-3-Clause
// Reassembly of fragments, by RFC 791 section 3.2, RFC 815, RFC 8200 section 4.5 and RFC 5722, and
// the effects of senders of useless fragments.
#include <stdlib.h>

#include "bytes.h"
#include "reassembly.h"
#include "test.h"
#include "test_rand.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define FLOWS 32
#define LONGEST 9000

static struct test_rand rand_;
static struct reassembly *r;
static uint8_t room_of[FLOWS][LONGEST];
static uint8_t content[65536]; // content of all datagrams
static uint64_t now = 1000;

static uint8_t *room(void *ctx, uint32_t flow)
{
	assert_ptr_equal(ctx, &now);
	assert_in_range(flow, 0, FLOWS - 1);
	return room_of[flow];
}

static const struct reassembly_config usual = {.flows = FLOWS,
	.per_source = 4,
	.longest = LONGEST,
	.timeout_ms = 1000,
	.key = {{1, 2, 3, 4}},
	.room = room,
	.ctx = &now};

static void open_with(const struct reassembly_config *c)
{
	free(r);
	r = reassembly_create(calloc(1, reassembly_size(c)), c);
}

static int setup(void **state)
{
	rand_ = test_rand_start("reassembly");
	test_rand_fill(&rand_, content, sizeof(content));
	open_with(&usual);
	return 0;
}

static struct addr v4(uint32_t host)
{
	struct addr a = {.d = {0, 0}};

	a.b[10] = a.b[11] = 0xff;
	store_be32(a.b + 12, 0x0a630000 + host);
	return a;
}

static struct addr v6(uint32_t net, uint64_t host)
{
	struct addr a;

	store_be64(a.b, 0x20010db800000000 + net);
	store_be64(a.b + 8, host);
	return a;
}

static struct net_fragment piece(uint32_t id, uint16_t off, uint16_t len, bool more)
{
	return (struct net_fragment){.src = v4(7),
		.dst = v4(1),
		.data = content + off,
		.id = id,
		.off = off,
		.len = len,
		.proto = 17,
		.tos = 0xb8,
		.ttl = 60,
		.more = more};
}

static enum net_drop add(const struct net_fragment *p, struct reassembly_whole *whole)
{
	return reassembly_add(r, p, now, whole);
}

static void kept(const struct net_fragment *p)
{
	struct reassembly_whole whole;

	assert_int_equal(add(p, &whole), NET_OK);
	assert_int_equal(whole.flow, REASSEMBLY_NONE);
}

static void completes(const struct net_fragment *p, uint16_t len, unsigned int n)
{
	struct reassembly_whole whole;

	assert_int_equal(add(p, &whole), NET_OK);
	assert_int_not_equal(whole.flow, REASSEMBLY_NONE);
	assert_int_equal(whole.len, len);
	assert_int_equal(whole.fragments, n);
	assert_true(addr_eq(&whole.src, &p->src) && addr_eq(&whole.dst, &p->dst));
	assert_memory_equal(room_of[whole.flow], content, len);
}

static void dropped(const struct net_fragment *p, enum net_drop reason)
{
	struct reassembly_whole whole;

	assert_int_equal(add(p, &whole), reason);
	assert_int_equal(whole.flow, REASSEMBLY_NONE);
}

static void lost(enum net_drop reason, uint32_t n)
{
	assert_int_equal(reassembly_any_lost(r), n != 0);
	for (unsigned int i = 1; i < NET_DROP_END; i++)
		assert_int_equal(reassembly_lost(r, i), i == reason ? n : 0);
	assert_false(reassembly_any_lost(r));
}

static void keeps(uint32_t id, uint16_t off, uint16_t len, bool more)
{
	const struct net_fragment p = piece(id, off, len, more);

	kept(&p);
}

static void ends(uint32_t id, uint16_t off, uint16_t len, bool more, enum net_drop reason)
{
	const struct net_fragment p = piece(id, off, len, more);

	dropped(&p, reason);
}

static void makes(uint32_t id, uint16_t off, uint16_t len, bool more, unsigned int n)
{
	const struct net_fragment p = piece(id, off, len, more);
	const uint16_t total = more ? 0 : (uint16_t)(off + len);

	completes(&p, total, n);
}

// --- whole datagrams ----------------------------------------------------------------------------

static void in_order(void **state)
{
	keeps(1, 0, 1480, true);
	assert_int_equal(reassembly_held(r), 1);
	keeps(1, 1480, 1480, true);
	assert_int_equal(reassembly_held(r), 2);
	makes(1, 2960, 1048, false, 3);
	assert_int_equal(reassembly_held(r), 0);
	lost(0, 0);
}

// RFC 815: in any order, cut at any places.
static void any_order(void **state)
{
	for (unsigned int n = 0; n < 3000; n++) {
		uint16_t off[NET_FRAGMENTS_MAX + 1], order[NET_FRAGMENTS_MAX];
		const unsigned int pieces = 1 + test_rand_below(&rand_, NET_FRAGMENTS_MAX);
		unsigned int i;

		for (i = 0, off[0] = 0; i < pieces; i++) {
			off[i + 1] = (uint16_t)(off[i] + 8 * (1 + test_rand_below(&rand_, 17)));
			order[i] = (uint16_t)i;
		}
		off[pieces] = (uint16_t)(off[pieces] - test_rand_below(&rand_, 8));
		for (i = pieces; i-- > 1;) {
			const unsigned int swapped = test_rand_below(&rand_, i + 1);
			const uint16_t moved = order[i];

			order[i] = order[swapped];
			order[swapped] = moved;
		}
		for (i = 0; i < pieces; i++) {
			struct net_fragment p = piece(n, off[order[i]],
				(uint16_t)(off[order[i] + 1] - off[order[i]]),
				order[i] + 1u < pieces);

			if (i + 1 < pieces)
				kept(&p);
			else
				completes(&p, off[pieces], pieces);
		}
	}
	assert_int_equal(reassembly_held(r), 0);
	lost(0, 0);
}

// RFC 791: identification, source, destination and protocol together identify a datagram.
static void keys(void **state)
{
	struct net_fragment p = piece(1, 0, 800, true), q;

	kept(&p);
	for (unsigned int i = 0; i < 4; i++) {
		q = piece(1, 800, 100, false);
		q.id += i == 0;
		q.src.b[15] ^= i == 1;
		q.dst.b[15] ^= i == 2;
		q.proto = i == 3 ? 6 : 17;
		kept(&q);
	}
	makes(1, 800, 100, false, 2);
}

// RFC 8200: all bits of the IPv6 source and destination, and a 32-bit identification.
static void keys_v6(void **state)
{
	struct net_fragment p = piece(0x10000, 0, 800, true), q;

	p.src = v6(1, 1);
	p.dst = v6(2, 1);
	kept(&p);
	q = p;
	q.off = 800;
	q.data = content + 800;
	q.len = 99;
	q.more = false;
	q.id = 0;
	kept(&q);
	q.id = 0x10000;
	q.src = v6(1, 2);
	kept(&q);
	q.src = p.src;
	completes(&q, 899, 2);
}

// The header of the first fragment becomes the header of the datagram, whenever it comes (RFC
// 8200).
static void first_header(void **state)
{
	struct net_fragment p = piece(1, 800, 100, false), q = piece(1, 0, 800, true);
	struct reassembly_whole whole;

	p.tos = 0x04;
	p.ttl = 3;
	q.tos = 0x48;
	q.ttl = 55;
	kept(&p);
	assert_int_equal(add(&q, &whole), NET_OK);
	assert_int_equal(whole.tos, 0x48);
	assert_int_equal(whole.ttl, 55);
}

// RFC 3168 section 5.3: congestion marked on one fragment marks the datagram; a datagram whose
// sender did not support ECN gets no mark.
static void ecn(void **state)
{
	static const struct {
		uint8_t first, last;
		int want; // -1: the datagram is dropped
	} rows[] = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {2, 3, 3}, {3, 2, 3}, {3, 3, 3}, {1, 3, 3},
		{0, 3, -1}, {3, 0, -1}};

	for (unsigned int i = 0; i < COUNT(rows); i++) {
		struct net_fragment p = piece(i, 0, 800, true), q = piece(i, 800, 8, false);
		struct reassembly_whole whole;

		p.tos = 0x20 | rows[i].first;
		q.tos = 0x20 | rows[i].last;
		kept(&p);
		if (rows[i].want < 0) {
			dropped(&q, NET_DROP_FRAGMENT_MALFORMED);
			lost(NET_DROP_FRAGMENT_MALFORMED, 1);
			continue;
		}
		assert_int_equal(add(&q, &whole), NET_OK);
		assert_int_equal(whole.tos, 0x20 | rows[i].want);
	}
}

// --- inconsistent fragments ---------------------------------------------------------------------

// RFC 5722 section 4, also applied to IPv4: any overlap drops the whole datagram, including later
// fragments; before the last fragment and after it, with other bytes or equal ones.
static void overlaps(void **state)
{
	static const struct {
		uint16_t off, len;
		bool more;
	} over[] = {
		{0, 808, true}, // more than the first
		{0, 792, true}, // less
		{400, 800, true}, // its end and beyond
		{400, 400, true}, // its end
		{8, 16, true}, // within
		{792, 8, true}, // its last unit
		{1592, 16, true}, // between two others
		{2392, 16, true}, // beyond the end: a contradiction, see below
		{0, 2400, false}, // all
		{2000, 400, false}, // the end of the last
		{1600, 800, true}, // equal to the last, but not marked as the last
	};

	for (unsigned int is_v6 = 0; is_v6 < 2; is_v6++) {
		for (unsigned int i = 0; i < COUNT(over); i++) {
			struct net_fragment p[] = {piece(i, 0, 800, true),
				piece(i, 1600, 800, false),
				piece(i, over[i].off, over[i].len, over[i].more),
				piece(i, 800, 800, true)};
			const enum net_drop want =
				i == 10 ? NET_DROP_FRAGMENT_MALFORMED : NET_DROP_FRAGMENT_OVERLAP;

			for (unsigned int k = 0; k < 4; k++)
				p[k].src = is_v6 ? v6(i, 1) : v4(100 + i);
			kept(&p[0]);
			kept(&p[1]);
			if (i == 10) { // an equal range with equal bytes
				dropped(&p[2], NET_DROP_FRAGMENT_DUPLICATE);
				completes(&p[3], 2400, 3);
				continue;
			}
			dropped(&p[2], want);
			lost(want, 2);
			// nothing completes it any more
			for (unsigned int k = 0; k < 4; k++)
				dropped(&p[k], want);
			lost(0, 0);
			assert_int_equal(reassembly_held(r), 0);
		}
		now += 1000;
	}
}

// RFC 8200 section 4.5: an exact duplicate may be dropped alone. With other bytes it is no
// duplicate.
static void duplicates(void **state)
{
	struct net_fragment p = piece(1, 800, 80, true);
	uint8_t changed[80];

	keeps(1, 0, 800, true);
	ends(1, 0, 800, true, NET_DROP_FRAGMENT_DUPLICATE);
	kept(&p);
	dropped(&p, NET_DROP_FRAGMENT_DUPLICATE);
	lost(0, 0);
	assert_int_equal(reassembly_held(r), 2);
	makes(1, 880, 1, false, 3);
	keeps(2, 0, 800, true);
	keeps(2, 800, 80, true);
	memcpy(changed, content + 800, sizeof(changed));
	changed[79] ^= 1;
	p.id = 2;
	p.data = changed;
	dropped(&p, NET_DROP_FRAGMENT_OVERLAP);
	lost(NET_DROP_FRAGMENT_OVERLAP, 2);
}

// Two ends, or data after the end.
static void ends_contradict(void **state)
{
	keeps(1, 800, 80, false);
	ends(1, 160, 8, false, NET_DROP_FRAGMENT_MALFORMED); // an earlier end
	lost(NET_DROP_FRAGMENT_MALFORMED, 1);
	keeps(2, 800, 80, false);
	ends(2, 1000, 8, false, NET_DROP_FRAGMENT_MALFORMED); // a later one
	lost(NET_DROP_FRAGMENT_MALFORMED, 1);
	keeps(3, 800, 80, false);
	ends(3, 1000, 8, true, NET_DROP_FRAGMENT_MALFORMED); // after it
	lost(NET_DROP_FRAGMENT_MALFORMED, 1);
	keeps(4, 1600, 80, true);
	ends(4, 800, 80, false, NET_DROP_FRAGMENT_MALFORMED); // the end before earlier data
	lost(NET_DROP_FRAGMENT_MALFORMED, 1);
}

static void too_long(void **state)
{
	ends(1, LONGEST - 8, 16, true, NET_DROP_FRAGMENT_LONG);
	ends(1, 0, 800, true, NET_DROP_FRAGMENT_LONG); // of that datagram
	keeps(2, 0, 800, true);
	ends(2, 65512, 3, false, NET_DROP_FRAGMENT_LONG);
	lost(NET_DROP_FRAGMENT_LONG, 1);
	keeps(3, LONGEST / 8 * 8 - 8, 8, false); // the longest
	// one fragment more than there may be
	for (uint16_t i = 0; i < NET_FRAGMENTS_MAX; i++)
		keeps(4, i * 8, 8, true);
	ends(4, NET_FRAGMENTS_MAX * 8, 8, false, NET_DROP_FRAGMENT_LONG);
	lost(NET_DROP_FRAGMENT_LONG, NET_FRAGMENTS_MAX);
	for (uint16_t i = 1; i < NET_FRAGMENTS_MAX; i++)
		keeps(5, i * 8, 8, i + 1 < NET_FRAGMENTS_MAX);
	completes(&(struct net_fragment){.src = v4(7),
			  .dst = v4(1),
			  .data = content,
			  .id = 5,
			  .len = 8,
			  .proto = 17,
			  .more = true},
		NET_FRAGMENTS_MAX * 8, NET_FRAGMENTS_MAX);
}

// --- time and bounds ----------------------------------------------------------------------------

// The timeout starts with the first fragment to come, not with the latest (RFC 8200 section 4.5).
static void time_is_over(void **state)
{
	keeps(1, 0, 800, true);
	now += 500;
	keeps(1, 800, 800, true);
	keeps(2, 0, 800, true);
	now += 499;
	reassembly_tick(r, now);
	assert_int_equal(reassembly_held(r), 3);
	now += 1;
	reassembly_tick(r, now);
	lost(NET_DROP_FRAGMENT_TIMEOUT, 2);
	makes(2, 800, 80, false, 2);
	keeps(1, 1600, 80, false); // starts again
	now += 1000;
	keeps(3, 0, 800, true); // also without a tick
	lost(NET_DROP_FRAGMENT_TIMEOUT, 1);
	// the overlap has been forgotten by then
	ends(3, 8, 800, true, NET_DROP_FRAGMENT_OVERLAP);
	lost(NET_DROP_FRAGMENT_OVERLAP, 1);
	now += 1000;
	keeps(3, 0, 800, true);
	makes(3, 800, 80, false, 2);
}

// A source that sends too much loses its own datagrams, the oldest first, and those of no other
// source.
static void one_source(void **state)
{
	struct net_fragment distant = piece(77, 0, 800, true);

	distant.src = v4(8);
	kept(&distant);
	for (uint32_t id = 0; id < 1000; id++)
		keeps(id, 0, 800, true);
	lost(NET_DROP_FRAGMENT_SOURCE, 996);
	for (uint32_t id = 996; id < 1000; id++)
		makes(id, 800, 80, false, 2);
	distant = piece(77, 800, 80, false);
	distant.src = v4(8);
	completes(&distant, 880, 2);
}

// A /64 is one source, whatever the rest of its addresses; another /64 is another source.
static void one_network(void **state)
{
	struct net_fragment p = piece(1, 0, 800, true);

	p.src = v6(2, 1);
	kept(&p);
	for (uint32_t i = 0; i < 100; i++) {
		p.src = v6(1, test_rand(&rand_));
		p.id = i;
		kept(&p);
	}
	lost(NET_DROP_FRAGMENT_SOURCE, 96);
	p = piece(1, 800, 80, false);
	p.src = v6(2, 1);
	completes(&p, 880, 2);
}

// A /48 gets half of the total: beyond that it loses its own datagrams, the oldest first.
static void one_site(void **state)
{
	struct net_fragment distant = piece(77, 0, 800, true), p = piece(1, 0, 800, true);

	distant.src = v6(0x20000, 1);
	kept(&distant);
	for (uint32_t i = 0; i < 1000; i++) {
		p.src = v6(0x10000 + i, 1);
		kept(&p);
	}
	lost(NET_DROP_FRAGMENT_SOURCE, 1000 - FLOWS / 2);
	for (uint32_t i = 1000 - FLOWS / 2; i < 1000; i++) {
		p = piece(1, 800, 80, false);
		p.src = v6(0x10000 + i, 1);
		completes(&p, 880, 2);
	}
	distant = piece(77, 800, 80, false);
	distant.src = v6(0x20000, 1);
	completes(&distant, 880, 2);
}

// Many sources: the oldest datagram is dropped, so datagrams that come back to back are still
// reassembled.
static void many_sources(void **state)
{
	for (uint32_t i = 0; i < 100000; i++) {
		struct net_fragment p = piece(1, 0, 800, true);

		p.src = v4(1000 + i);
		kept(&p);
		if (i % 100 == 0)
			keeps(i, 0, 1480, true);
		if (i % 100 == 5)
			makes(i - 5, 1480, 120, false, 2);
		assert_in_range(reassembly_held(r), 0, FLOWS);
	}
	lost(NET_DROP_FRAGMENT_FULL, 100000 - reassembly_held(r));
}

static void clear(void **state)
{
	keeps(1, 0, 800, true);
	makes(1, 800, 80, false, 2);
	keeps(2, 0, 800, true);
	assert_int_equal(reassembly_clear(r), 1);
	assert_int_equal(reassembly_held(r), 0);
	lost(0, 0);
}

// Random fragments: each is kept, lost, part of a whole datagram or refused, and a whole datagram
// has the bytes of its sender.
static void anything(void **state)
{
	uint64_t in = 0, out = 0, gone = 0, wholes = 0;

	for (unsigned int n = 0; n < 400000; n++) {
		const uint16_t off = (uint16_t)(8 * test_rand_below(&rand_, 20));
		const bool more = test_rand_below(&rand_, 4) != 0;
		struct net_fragment p = piece(test_rand_below(&rand_, 6), off,
			(uint16_t)(8 * (1 + test_rand_below(&rand_, 10))), more);
		struct reassembly_whole whole;

		p.src = test_rand_below(&rand_, 2) != 0 ? v4(test_rand_below(&rand_, 20))
							: v6(test_rand_below(&rand_, 9), n);
		if (!addr_is_v4(&p.src))
			p.src.b[15] &= 1;
		now += test_rand_below(&rand_, 100) == 0 ? 300 : 0;
		if (add(&p, &whole) == NET_OK)
			in++;
		if (whole.flow != REASSEMBLY_NONE) {
			out += whole.fragments;
			wholes++;
			assert_memory_equal(room_of[whole.flow], content, whole.len);
		}
		if (test_rand_below(&rand_, 50) == 0)
			reassembly_tick(r, now);
		for (unsigned int i = 1; i < NET_DROP_END; i++)
			gone += reassembly_lost(r, i);
		assert_int_equal(in, out + gone + reassembly_held(r));
	}
	assert_true(wholes > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(in_order, setup),
		cmocka_unit_test_setup(any_order, setup),
		cmocka_unit_test_setup(keys, setup),
		cmocka_unit_test_setup(keys_v6, setup),
		cmocka_unit_test_setup(first_header, setup),
		cmocka_unit_test_setup(ecn, setup),
		cmocka_unit_test_setup(overlaps, setup),
		cmocka_unit_test_setup(duplicates, setup),
		cmocka_unit_test_setup(ends_contradict, setup),
		cmocka_unit_test_setup(too_long, setup),
		cmocka_unit_test_setup(time_is_over, setup),
		cmocka_unit_test_setup(one_source, setup),
		cmocka_unit_test_setup(one_network, setup),
		cmocka_unit_test_setup(one_site, setup),
		cmocka_unit_test_setup(many_sources, setup),
		cmocka_unit_test_setup(clear, setup),
		cmocka_unit_test_setup(anything, setup),
	};
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(r);
	return failed;
}
