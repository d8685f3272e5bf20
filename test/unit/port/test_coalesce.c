// SPDX-License-Identifier: BSD-3-Clause
// Runs of datagrams in a burst: cut by cutter.c, the super-frames give back exactly the frames that
// were put in, in the order of each flow; frames that differ in any header stay separate; limits
// hold.
#include <rte_eal.h>

#include "bytes.h"
#include "coalesce.h"
#include "cutter.h"
#include "port.h"
#include "super/super.h"
#include "slow_sum.h"
#include "test.h"
#include "test_rand.h"

#define BURST PORT_COALESCE_MAX
#define ROOM 4000
#define FLOWS 5
#define UNKNOWN 255 // flow of a frame without a recognizable flow

static struct rte_mempool *pool;

// --- frames -------------------------------------------------------------------------------------

struct spec {
	uint8_t flow; // selects addresses and ports: two flows differ in the port alone
	bool v6, frag, arp, nodf, nosum;
	uint8_t tos, ttl, mac;
	uint16_t len, id, label;
};

struct frame {
	uint8_t data[ROOM];
	uint32_t len;
	struct spec s;
	bool joined; // in a super-frame
};

static uint16_t vlan;

static uint8_t *put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
	return p + 2;
}

static uint8_t *put_ip(uint8_t *p, const struct spec *s)
{
	uint8_t *const ip = p;
	const uint32_t udp_len = 8u + s->len;

	if (s->v6) {
		p = put16(p, 0x6000u | (uint32_t)s->tos << 4);
		p = put16(put16(p, s->label), udp_len);
		*p++ = 17;
		*p++ = s->ttl;
		for (unsigned int i = 0; i < 32; i++)
			*p++ = (uint8_t)(i == 0 || i == 16 ? 0x2a : i == 31 ? s->flow / 2 : 1);
		return p;
	}
	*p++ = 0x45;
	*p++ = s->tos;
	p = put16(put16(p, 20 + udp_len), s->id);
	p = put16(p, s->frag ? 0x2000 : s->nodf ? 0 : 0x4000);
	*p++ = s->ttl;
	*p++ = 17;
	p = put16(p, 0);
	memcpy(p, (const uint8_t[]){10, 0, 0, 1, 10, 0, 0, s->flow / 2}, 8);
	put16(ip + 10, 0xffff ^ slow_sum(0, ip, 20));
	return p + 8;
}

static void build(struct test_rand *r, struct frame *f, const struct spec *s)
{
	const uint8_t macs[12] = {2, 0, 0, 0, 0, s->mac, 2, 0, 0, 0, 0, 9};
	uint8_t pseudo[4] = {0, 17}, *p = f->data, *ip, *udp;
	uint32_t sum;

	f->s = *s;
	memcpy(p, macs, 12);
	p += 12;
	if (vlan != 0)
		p = put16(put16(p, 0x8100), vlan);
	ip = put16(p, s->arp ? 0x0806 : s->v6 ? 0x86dd : 0x0800);
	udp = put_ip(ip, s);
	p = put16(put16(udp, 3478), 40000u + s->flow % 2);
	p = put16(put16(p, 8u + s->len), 0);
	test_rand_fill(r, p, s->len);
	f->len = (uint32_t)(p - f->data) + s->len;
	if (s->nosum)
		return;
	put16(pseudo + 2, 8u + s->len);
	sum = slow_sum(slow_sum(0, pseudo, 4), ip + (s->v6 ? 8 : 12), s->v6 ? 32 : 8);
	sum = 0xffff ^ slow_sum(sum, udp, 8u + s->len);
	put16(udp + 6, sum != 0 ? sum : 0xffff);
}

// --- one burst ----------------------------------------------------------------------------------

static struct frame in[BURST], out[BURST];
static unsigned int nb_out, nb_supers, nb_joined;
static const struct port_super no_limits = {.segments = 64, .bufs = 64, .bytes = 70000};

static void collect(void *joined, const uint8_t *frame, size_t len)
{
	assert_true(nb_out < BURST);
	memcpy(out[nb_out].data, frame, len);
	out[nb_out].len = (uint32_t)len;
	out[nb_out++].joined = joined != NULL;
}

static void check_super(const struct rte_mbuf *m, const struct port_super *limits)
{
	bool yes = true;
	const unsigned int n = cutter_cut(m, collect, &yes);

	assert_true(n > 1 && n <= limits->segments);
	assert_true(m->nb_segs == n && n <= limits->bufs);
	assert_true(m->pkt_len <= limits->bytes);
	assert_int_equal(port_super_frames(m), n);
	nb_supers++;
	nb_joined += n;
}

static struct rte_mbuf *put(const struct frame *f)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, (uint16_t)f->len), f->data, f->len);
	m->tx_offload = UINT64_MAX; // any old value
	return m;
}

// Asserts that the datagrams reported for frame f are those that it was cut into, out[pos] and on.
static void check_members(unsigned int n, const uint8_t *frame_of, unsigned int f, unsigned int pos)
{
	for (unsigned int i = 0; i < n; i++) {
		if (frame_of[i] != f)
			continue;
		assert_true(pos < nb_out);
		// the payload's last bytes are random, and nothing changes them
		assert_int_equal(out[pos].len, in[i].len);
		assert_memory_equal(out[pos].data + in[i].len - in[i].s.len,
			in[i].data + in[i].len - in[i].s.len, in[i].s.len);
		pos++;
	}
	assert_int_equal(pos, nb_out);
}

// Puts in[] through the coalescer into out[]. Returns how many frames it made.
static unsigned int run(unsigned int n, const struct port_super *limits)
{
	struct rte_mbuf *m[BURST];
	uint8_t frame_of[BURST];
	struct port_coalesced c;

	nb_out = nb_supers = nb_joined = 0;
	for (unsigned int i = 0; i < n; i++)
		m[i] = put(&in[i]);
	c = port_coalesce(limits, vlan, m, n, frame_of);
	for (unsigned int i = 0; i < c.frames; i++) {
		const unsigned int begin = nb_out;

		if ((m[i]->ol_flags & RTE_MBUF_F_TX_UDP_SEG) != 0)
			check_super(m[i], limits);
		else
			collect(NULL, rte_pktmbuf_mtod(m[i], uint8_t *), m[i]->pkt_len);
		check_members(n, frame_of, i, begin);
		rte_pktmbuf_free(m[i]);
	}
	assert_int_equal(nb_out, n); // no frame lost, no frame added
	assert_int_equal(c.supers, nb_supers);
	assert_int_equal(c.segments, nb_joined);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	return c.frames;
}

static uint8_t *ip_of(struct frame *f)
{
	return f->data + (vlan != 0 ? 18 : 14);
}

// Compares identification and checksum of an IPv4 header: a super-frame increments the former.
static void same_frame(struct frame *got, const struct frame *sent, int first_id, unsigned int nth)
{
	struct frame want = *sent;

	if (got->joined && !want.s.v6) {
		assert_false(want.s.nodf);
		if (nth > 0) {
			uint8_t *ip = ip_of(&want);

			put16(ip + 4, (uint32_t)first_id + nth);
			put16(ip + 10, 0);
			put16(ip + 10, 0xffff ^ slow_sum(0, ip, 20));
		}
	}
	assert_int_equal(got->len, want.len);
	assert_memory_equal(got->data, want.data, want.len);
}

// Flow of a frame, by its addresses; UNKNOWN if it cannot be determined.
static unsigned int flow_of(const struct frame *f)
{
	const uint8_t *ip = ip_of((struct frame *)(uintptr_t)f);

	if (load_be16(ip - 2) == 0x86dd)
		return ip[39] * 2u + ip[43] % 2;
	return load_be16(ip - 2) == 0x0800 && (ip[6] & 0x20) == 0 ? ip[19] * 2u + ip[23] % 2
								  : UNKNOWN;
}

static bool v6_of(const struct frame *f)
{
	return load_be16(ip_of((struct frame *)(uintptr_t)f) - 2) == 0x86dd;
}

// Asserts that frames of one flow come out as they went in.
static void check_flow(unsigned int n, unsigned int flow, bool v6)
{
	unsigned int pos = 0, nth = 0;
	uint16_t id = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct frame *got;

		if (flow_of(&in[i]) != flow || v6_of(&in[i]) != v6)
			continue;
		while (pos < nb_out && (flow_of(&out[pos]) != flow || v6_of(&out[pos]) != v6))
			pos++;
		assert_true(pos < nb_out);
		got = &out[pos];
		// the first segment of a super-frame has its own identification
		if (pos > 0 && got->joined && out[pos - 1].joined &&
			flow_of(&out[pos - 1]) == flow && v6_of(&out[pos - 1]) == v6 &&
			load_be16(ip_of(got) + 4) == (uint16_t)(id + nth + 1))
			nth++;
		else
			nth = 0;
		if (nth == 0)
			id = load_be16(ip_of(got) + 4);
		same_frame(got, &in[i], id, nth);
		pos++;
	}
}

// Asserts that no frame overtakes one with an unknown flow.
static void check_barriers(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (flow_of(&in[i]) == UNKNOWN) {
			assert_int_equal(out[i].len, in[i].len);
			assert_memory_equal(out[i].data, in[i].data, in[i].len);
		}
}

static void check_all(unsigned int n)
{
	for (unsigned int flow = 0; flow < BURST; flow++) {
		check_flow(n, flow, false);
		check_flow(n, flow, true);
	}
	check_barriers(n);
}

// --- random bursts ------------------------------------------------------------------------------

static bool one_in(struct test_rand *r, uint32_t n)
{
	return test_rand_below(r, n) == 0;
}

static struct spec random_spec(struct test_rand *r, uint32_t wild, uint16_t size)
{
	struct spec s = {.flow = (uint8_t)test_rand_below(r, FLOWS),
		.ttl = 63,
		.mac = 1,
		.id = (uint16_t)test_rand(r)};

	s.v6 = s.flow % 2 != 0;
	if (one_in(r, 20))
		s.v6 = !s.v6; // equal ports, and an equal last byte of the address
	s.len = (uint16_t)(size + s.flow);
	if (one_in(r, wild))
		s.len = (uint16_t)test_rand_below(r, s.len + 2u);
	s.tos = one_in(r, 2 * wild) ? 0xb8 : 0;
	s.ttl = one_in(r, 2 * wild) ? 62 : 63;
	s.mac = one_in(r, 4 * wild) ? 2 : 1;
	s.nodf = !s.v6 && one_in(r, wild);
	s.nosum = !s.v6 && one_in(r, 2 * wild);
	s.frag = !s.v6 && one_in(r, 4 * wild);
	s.arp = !s.v6 && one_in(r, 4 * wild);
	s.label = s.v6 && one_in(r, 2 * wild) ? 7 : 0;
	return s;
}

static void test_random(void **state)
{
	struct test_rand r = test_rand_start("coalesce");
	unsigned int joined = 0, all = 0;

	for (unsigned int k = 0; k < 4000; k++) {
		const unsigned int n = 1 + test_rand_below(&r, BURST);
		const uint32_t wild = (const uint32_t[]){2, 10, 100}[k % 3];
		const uint16_t size = (uint16_t)test_rand_below(&r, k % 5 == 0 ? 2300 : 300);
		const struct port_super limits = {
			.segments = (uint16_t)(2 + test_rand_below(&r, 40)),
			.bufs = (uint16_t)(2 + test_rand_below(&r, 40)),
			.bytes = k % 2 != 0 ? 70000 : 100 + test_rand_below(&r, 5000)};

		vlan = one_in(&r, 3) ? 77 : 0;
		for (unsigned int i = 0; i < n; i++) {
			const struct spec s = random_spec(&r, wild, size);

			build(&r, &in[i], &s);
		}
		run(n, k % 4 == 0 ? &no_limits : &limits);
		check_all(n);
		joined += nb_joined;
		all += n;
	}
	assert_true(joined > all / 8); // a minimum was joined
	vlan = 0;
}

// --- frames that join ---------------------------------------------------------------------------

static unsigned int frames_of(const struct spec *s, unsigned int n, const struct port_super *limits)
{
	struct test_rand r = {.s = 1};
	unsigned int frames;

	for (unsigned int i = 0; i < n; i++)
		build(&r, &in[i], &s[i]);
	frames = run(n, limits);
	check_all(n);
	return frames;
}

static void test_runs(void **state)
{
	struct spec s[BURST];

	for (unsigned int v6 = 0; v6 < 2; v6++) {
		const struct spec one = {.v6 = v6, .ttl = 60, .len = 1200};

		for (unsigned int i = 0; i < BURST; i++)
			s[i] = one;
		assert_int_equal(frames_of(s, BURST, &no_limits), 1);
		assert_int_equal(frames_of(s, 2, &no_limits), 1);
		assert_int_equal(frames_of(s, 1, &no_limits), 1);
		assert_int_equal(nb_supers, 0);
		for (unsigned int i = 0; i < BURST; i++)
			s[i].flow = i % FLOWS;
		assert_int_equal(frames_of(s, BURST, &no_limits), FLOWS);
		for (unsigned int i = 0; i < BURST; i++) {
			s[i].flow = 0;
			s[i].len = (uint16_t)(100 + i); // each longer than the last
		}
		assert_int_equal(frames_of(s, BURST, &no_limits), BURST);
		for (unsigned int i = 0; i < BURST; i++)
			s[i].len = i % 4 == 3 ? 50 : 100; // a short one ends a run
		assert_int_equal(frames_of(s, BURST, &no_limits), BURST / 4);
	}
}

// The maximum number of flows: none is mistaken for another.
static void test_many_flows(void **state)
{
	struct spec s[BURST];

	for (unsigned int i = 0; i < BURST; i++)
		s[i] = (struct spec){.flow = (uint8_t)(i % 16), .ttl = 60, .len = 100};
	assert_int_equal(frames_of(s, BURST, &no_limits), 16);
	for (unsigned int i = 0; i < BURST; i++)
		s[i].flow = (uint8_t)i;
	assert_int_equal(frames_of(s, BURST, &no_limits), BURST);
	for (unsigned int i = 0; i < BURST; i++)
		s[i].v6 = true;
	assert_int_equal(frames_of(s, BURST, &no_limits), BURST);
}

static void test_differences(void **state)
{
	const struct spec v4 = {.ttl = 60, .len = 100}, v6 = {.v6 = true, .ttl = 60, .len = 100};
	struct spec variant[] = {v4, v4, v4, v4, v4, v4, v4, v6, v6, v6, v6, v6, v4, v6};

	variant[0].tos = 1; // one bit of ECN
	variant[1].ttl = 59;
	variant[2].nodf = true;
	variant[3].nosum = true;
	variant[4].len = 0;
	variant[5].mac = 1;
	variant[6].frag = true;
	variant[7].tos = 0x10;
	variant[8].ttl = 59;
	variant[9].label = 1;
	variant[10].len = 0;
	variant[11].mac = 1;
	variant[12].arp = true;
	variant[13].arp = true;
	for (unsigned int i = 0; i < RTE_DIM(variant); i++) {
		const struct spec *like = variant[i].v6 ? &v6 : &v4;
		const struct spec s[] = {*like, *like, variant[i], *like, *like};

		// in the order of the flow: a later frame does not join an earlier one
		assert_int_equal(frames_of(s, 5, &no_limits), 3);
		assert_int_equal(nb_joined, 4);
	}
	for (unsigned int i = 2; i < 5; i++) { // not with equal frames either
		const struct spec s[] = {variant[i], variant[i], variant[i]};

		assert_int_equal(frames_of(s, 3, &no_limits), 3);
	}
}

// Frames with inconsistent headers leave unchanged.
static void test_odd_frames(void **state)
{
	struct test_rand r = {.s = 1};
	static const struct {
		unsigned int offset; // after the link header
		uint8_t value;
	} odd[] = {{0, 0x46}, {3, 0}, {9, 6}};

	for (unsigned int k = 0; k < RTE_DIM(odd); k++) {
		for (unsigned int i = 0; i < 3; i++) {
			build(&r, &in[i], &(struct spec){.ttl = 60, .len = 300});
			ip_of(&in[i])[odd[k].offset] = odd[k].value;
		}
		assert_int_equal(run(3, &no_limits), 3);
		for (unsigned int i = 0; i < 3; i++)
			assert_memory_equal(out[i].data, in[i].data, in[i].len);
	}
	for (unsigned int k = 0; k < 2;
		k++) { // not UDP over IPv6: by the next header, by the link's type
		for (unsigned int i = 0; i < 3; i++) {
			build(&r, &in[i], &(struct spec){.v6 = true, .ttl = 60, .len = 300});
			if (k == 0)
				ip_of(&in[i])[6] = 6;
			else
				put16(ip_of(&in[i]) - 2, 0x88b5);
		}
		assert_int_equal(run(3, &no_limits), 3);
		for (unsigned int i = 0; i < 3; i++)
			assert_memory_equal(out[i].data, in[i].data, in[i].len);
	}
	for (uint32_t len = 14; len < 62; len++) { // shorter than any datagram
		for (unsigned int i = 0; i < 3; i++) {
			build(&r, &in[i], &(struct spec){.v6 = len >= 42, .ttl = 60, .len = 0});
			in[i].len = len; // and its header agrees
			put16(in[i].data + (len >= 42 ? 18 : 16), len - (len >= 42 ? 54 : 14));
		}
		assert_int_equal(run(3, &no_limits), 3);
	}
}

// --- limits -------------------------------------------------------------------------------------

static void test_limits(void **state)
{
	struct port_super l = no_limits;
	struct spec s[BURST];

	for (unsigned int v6 = 0; v6 < 2; v6++) {
		const uint32_t headers = v6 ? 62 : 42;

		for (unsigned int i = 0; i < BURST; i++)
			s[i] = (struct spec){.v6 = v6, .ttl = 60, .len = 100};
		l = no_limits;
		l.segments = 8;
		assert_int_equal(frames_of(s, BURST, &l), 4);
		l = no_limits;
		l.bufs = 4;
		assert_int_equal(frames_of(s, BURST, &l), 8);
		l = no_limits;
		l.bytes = headers + 1600;
		assert_int_equal(frames_of(s, BURST, &l), 2);
		l.bytes--;
		assert_int_equal(frames_of(s, BURST, &l), 3);
		// the length field of IP: 32 x 2046 = 65472 and headers of 28 are 65500
		for (unsigned int i = 0; i < BURST; i++)
			s[i].len = v6 ? 2045 : 2046;
		assert_int_equal(frames_of(s, BURST, &no_limits), 1);
		for (unsigned int i = 0; i < BURST; i++)
			s[i].len = v6 ? 2047 : 2048;
		assert_int_equal(frames_of(s, BURST, &no_limits), 2);
	}
}

// A caller that does not ask where the datagrams went gets the same frames.
static void test_not_asked(void **state)
{
	struct test_rand r = {.s = 1};
	struct rte_mbuf *m[4];
	struct port_coalesced c;

	for (unsigned int i = 0; i < 4; i++) {
		build(&r, &in[i], &(struct spec){.flow = i == 1, .ttl = 60, .len = 50});
		m[i] = put(&in[i]);
	}
	c = port_coalesce(&no_limits, 0, m, 4, NULL);
	assert_int_equal(c.frames, 2);
	assert_int_equal(c.supers, 1);
	assert_int_equal(c.segments, 3);
	rte_pktmbuf_free_bulk(m, 2);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
}

static int start_eal(void **state)
{
	char *argv[] = {"test", "--no-huge", "-m", "64", "--no-pci", "--no-shconf",
		"--no-telemetry", "--iova-mode=va", "--file-prefix=test_coalesce",
		"--log-level=*:critical"};

	if (rte_eal_init(RTE_DIM(argv), argv) < 0)
		return -1;
	pool = rte_pktmbuf_pool_create(
		"coalesce", 255, 0, 0, ROOM + RTE_PKTMBUF_HEADROOM, SOCKET_ID_ANY);
	return pool == NULL ? -1 : 0;
}

static int stop_eal(void **state)
{
	rte_mempool_free(pool);
	return rte_eal_cleanup();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_many_flows),
		cmocka_unit_test(test_differences),
		cmocka_unit_test(test_odd_frames),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_not_asked),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
