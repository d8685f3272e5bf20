// SPDX-License-Identifier: BSD-3-Clause
// Virtio-net headers to mbufs and back: every kind of frame, every flag, and headers that do not
// fit their frames (VIRTIO 1.2 section 5.1.6).
#include <string.h>

#include "bytes.h"
#include "slow_sum.h"
#include "test.h"
#include "vnet_hdr.h"
#include "vtap_world.h"

#define L4_GOOD(m) (((m)->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_GOOD)
#define L4_UNKNOWN(m) (((m)->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == 0)
#define LRO(m) (((m)->ol_flags & RTE_MBUF_F_RX_LRO) != 0)

static uint8_t bytes[70000], whole[70000];

static struct shape shape_of(unsigned int bits, uint32_t payload)
{
	return (struct shape){.v6 = bits & 1, .tcp = bits & 2, .tag = bits & 4, .payload = payload};
}

static struct virtio_net_hdr partial_header(const struct shape *s)
{
	return (struct virtio_net_hdr){.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.csum_start = (uint16_t)shape_l4(s),
		.csum_offset = s->tcp ? 16 : 6};
}

static uint8_t gso_type(const struct shape *s)
{
	if (!s->tcp)
		return VIRTIO_NET_HDR_GSO_UDP_L4;
	return s->v6 ? VIRTIO_NET_HDR_GSO_TCPV6 : VIRTIO_NET_HDR_GSO_TCPV4;
}

static void assert_frame(const struct rte_mbuf *m, const uint8_t *expected, uint32_t len)
{
	assert_int_equal(rte_pktmbuf_pkt_len(m), len);
	assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *), expected, len);
}

// Frames without offloads: nothing changes, and only checksums that the kernel verified are
// trusted.
static void test_plain(void **state)
{
	for (unsigned int bits = 0; bits < 8; bits++) {
		const struct shape s = shape_of(bits, 100);

		frame_make(&s, bytes, false);
		for (uint8_t flags = 0; flags < 8; flags++) {
			const struct virtio_net_hdr h = {.flags = flags};
			struct rte_mbuf *m = chain_make(bytes, shape_len(&s), VTAP_WORLD_ROOM);

			if ((flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) == 0) {
				assert_int_equal(vnet_hdr_received(&h, m), 0);
				assert_frame(m, bytes, shape_len(&s));
				assert_true((flags & VIRTIO_NET_HDR_F_DATA_VALID) != 0
						? L4_GOOD(m)
						: L4_UNKNOWN(m));
				assert_false(LRO(m));
			}
			rte_pktmbuf_free(m);
		}
	}
}

// A partial checksum is completed, for payloads of odd and even length and an empty one.
static void test_partial(void **state)
{
	static const uint32_t sizes[] = {0, 1, 2, 3, 7, 8, 31, 32, 33, 1000, 1459};

	for (unsigned int bits = 0; bits < 8; bits++)
		for (unsigned int i = 0; i < RTE_DIM(sizes); i++) {
			const struct shape s = shape_of(bits, sizes[i]);
			const struct virtio_net_hdr h = partial_header(&s);
			struct rte_mbuf *m;

			frame_make(&s, bytes, true);
			frame_make(&s, whole, false);
			m = chain_make(bytes, shape_len(&s), VTAP_WORLD_ROOM);
			assert_int_equal(vnet_hdr_received(&h, m), 0);
			assert_frame(m, whole, shape_len(&s));
			assert_true(L4_GOOD(m));
			assert_false(LRO(m));
			rte_pktmbuf_free(m);
		}
}

// IPv4 options move the header with the checksum.
static void test_partial_options(void **state)
{
	const struct shape s = shape_of(0, 100);
	struct virtio_net_hdr h = partial_header(&s);
	struct rte_mbuf *m;

	frame_make(&s, bytes, true);
	memmove(bytes + 34 + 8, bytes + 34, 108);
	memset(bytes + 34, 1, 8);
	bytes[14] = 0x47;
	h.csum_start = 34 + 8;
	m = chain_make(bytes, shape_len(&s) + 8, VTAP_WORLD_ROOM);
	assert_int_equal(vnet_hdr_received(&h, m), 0);
	assert_true(L4_GOOD(m));
	rte_pktmbuf_free(m);
}

// A sum of zero: UDP must send 0xffff, as 0 means that there is no checksum (RFC 768); TCP sends 0.
static void test_partial_zero(void **state)
{
	for (unsigned int bits = 0; bits < 8; bits++) {
		const struct shape s = shape_of(bits, 2);
		const struct virtio_net_hdr h = partial_header(&s);
		const uint32_t field = frame_make(&s, bytes, true);
		struct rte_mbuf *m;

		// the last two bytes complete the sum to all ones
		store_be16(bytes + shape_len(&s) - 2, 0);
		store_be16(bytes + shape_len(&s) - 2,
			(uint16_t)~slow_sum(0, bytes + shape_l4(&s), shape_len(&s) - shape_l4(&s)));
		m = chain_make(bytes, shape_len(&s), VTAP_WORLD_ROOM);
		assert_int_equal(vnet_hdr_received(&h, m), 0);
		store_be16(bytes + field, s.tcp ? 0 : 0xffff);
		assert_frame(m, bytes, shape_len(&s));
		rte_pktmbuf_free(m);
	}
}

// The offset is that of an inner packet (VXLAN, say): the outer checksum is independent.
static void test_partial_inner(void **state)
{
	const struct shape inner = shape_of(0, 50), outer = shape_of(0, shape_len(&inner));
	struct virtio_net_hdr h = partial_header(&inner);
	uint8_t *inner_bytes = bytes + shape_headers(&outer);
	struct rte_mbuf *m;

	frame_make(&outer, bytes, false);
	frame_make(&inner, inner_bytes, true);
	memcpy(whole, bytes, shape_len(&outer));
	frame_make(&inner, whole + shape_headers(&outer), false);
	h.csum_start = (uint16_t)(h.csum_start + shape_headers(&outer));
	m = chain_make(bytes, shape_len(&outer), VTAP_WORLD_ROOM);
	assert_int_equal(vnet_hdr_received(&h, m), 0);
	assert_frame(m, whole, shape_len(&outer));
	assert_true(L4_UNKNOWN(m));
	rte_pktmbuf_free(m);
}

// Checksum offsets at, across and beyond the end of the frame.
static void test_partial_hostile(void **state)
{
	const struct shape s = shape_of(0, 20);
	const uint16_t len = (uint16_t)shape_len(&s);
	const struct {
		uint16_t start, offset;
		bool fits;
	} places[] = {
		{(uint16_t)(len - 2), 0, true},
		{(uint16_t)(len - 1), 0, false},
		{len, 0, false},
		{34, (uint16_t)(len - 34 - 2), true},
		{34, (uint16_t)(len - 34 - 1), false},
		{0, 0, true},
		{0xffff, 0, false},
		{0, 0xffff, false},
		{0xffff, 0xffff, false},
	};
	struct rte_mbuf *m;

	for (unsigned int i = 0; i < RTE_DIM(places); i++) {
		const struct virtio_net_hdr h = {.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
			.csum_start = places[i].start,
			.csum_offset = places[i].offset};

		frame_make(&s, bytes, true);
		m = chain_make(bytes, len, VTAP_WORLD_ROOM);
		assert_int_equal(vnet_hdr_received(&h, m), places[i].fits ? 0 : -EINVAL);
		assert_true(L4_UNKNOWN(m));
		rte_pktmbuf_free(m);
	}
	// frames from one byte to two headers: nothing after them is read
	for (uint32_t cut = 1; cut < shape_len(&s); cut++) {
		const struct virtio_net_hdr h = partial_header(&s);

		m = chain_make(bytes, cut, VTAP_WORLD_ROOM);
		assert_int_equal(vnet_hdr_received(&h, m), cut < 34 + 8 ? -EINVAL : 0);
		rte_pktmbuf_free(m);
	}
	// a plain frame in two buffers is longer than any frame that was asked for
	m = chain_make(bytes, len, 50);
	assert_int_equal(
		vnet_hdr_received(
			&(struct virtio_net_hdr){.flags = 1, .csum_start = 34, .csum_offset = 6},
			m),
		-EINVAL);
	rte_pktmbuf_free(m);
}

static void test_super_received(void **state)
{
	for (unsigned int bits = 0; bits < 8; bits++)
		for (uint8_t flags = 0; flags < 4; flags++)
			for (unsigned int ecn = 0; ecn < 2; ecn++) {
				const struct shape s = shape_of(bits, 40000);
				struct virtio_net_hdr h = partial_header(&s);
				struct rte_mbuf *m;

				h.flags = flags;
				h.gso_type = gso_type(&s) | (ecn ? VIRTIO_NET_HDR_GSO_ECN : 0);
				h.gso_size = 1200;
				frame_make(&s, bytes, true);
				m = chain_make(bytes, shape_len(&s), VTAP_WORLD_ROOM);
				assert_int_equal(vnet_hdr_received(&h, m), 0);
				assert_true(LRO(m));
				assert_int_equal(m->tso_segsz, 1200);
				// left partial by this host, or verified: correct in both cases
				assert_true(flags != 0 ? L4_GOOD(m) : L4_UNKNOWN(m));
				assert_memory_equal(
					rte_pktmbuf_mtod(m, uint8_t *), bytes, VTAP_WORLD_ROOM);
				rte_pktmbuf_free(m);
			}
}

static void test_super_hostile(void **state)
{
	const struct shape s = shape_of(0, 4000);
	const struct virtio_net_hdr good = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = VIRTIO_NET_HDR_GSO_UDP_L4,
		.gso_size = 1000,
		.csum_start = 34,
		.csum_offset = 6,
	};
	struct virtio_net_hdr bad[8];
	struct rte_mbuf *m;

	for (unsigned int i = 0; i < RTE_DIM(bad); i++)
		bad[i] = good;
	bad[0].gso_size = 0;
	bad[1].csum_start = 33;
	bad[2].csum_start = 0xffff;
	bad[3].csum_offset = 16;
	bad[4].gso_type = VIRTIO_NET_HDR_GSO_UDP; // fragments: never requested
	bad[5].gso_type = 2;
	bad[6].gso_type = 0x7f;
	bad[7].gso_type = VIRTIO_NET_HDR_GSO_TCPV4; // offset of a UDP checksum
	frame_make(&s, bytes, true);
	for (unsigned int i = 0; i <= RTE_DIM(bad); i++) {
		m = chain_make(bytes, shape_len(&s), VTAP_WORLD_ROOM);
		assert_int_equal(vnet_hdr_received(i < RTE_DIM(bad) ? &bad[i] : &good, m),
			i < RTE_DIM(bad) ? -EINVAL : 0);
		rte_pktmbuf_free(m);
	}
	// not IP, or IP without UDP or TCP
	for (unsigned int i = 0; i < 2; i++) {
		frame_make(&s, bytes, true);
		bytes[i == 0 ? 12 : 23] = 0x55;
		m = chain_make(bytes, shape_len(&s), VTAP_WORLD_ROOM);
		assert_int_equal(vnet_hdr_received(&good, m), -EINVAL);
		rte_pktmbuf_free(m);
	}
	// every frame length up to its headers
	for (uint32_t cut = 1; cut < 60; cut++) {
		m = chain_make(bytes, cut, VTAP_WORLD_ROOM);
		vnet_hdr_received(&good, m);
		rte_pktmbuf_free(m);
	}
}

static void test_super_sent(void **state)
{
	for (unsigned int bits = 0; bits < 8; bits++) {
		const struct shape s = shape_of(bits, 5000);
		struct virtio_net_hdr h;
		struct rte_mbuf *m;

		memset(&h, 0xa5, sizeof(h));
		frame_make(&s, bytes, true);
		m = super_make(&s, bytes, 1200, VTAP_WORLD_ROOM);
		assert_int_equal(vnet_hdr_super(&h, m), 0);
		assert_int_equal(h.flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
		assert_int_equal(h.gso_type, gso_type(&s));
		assert_int_equal(h.gso_size, 1200);
		assert_int_equal(h.hdr_len, shape_headers(&s));
		assert_int_equal(h.csum_start, shape_l4(&s));
		assert_int_equal(h.csum_offset, s.tcp ? 16 : 6);
		if (s.tcp) { // CWR needs the kernel's attention
			rte_pktmbuf_mtod(m, uint8_t *)[shape_l4(&s) + 13] |= 0x80;
			assert_int_equal(vnet_hdr_super(&h, m), 0);
			assert_int_equal(h.gso_type, gso_type(&s) | VIRTIO_NET_HDR_GSO_ECN);
		}
		rte_pktmbuf_free(m);
	}
}

static void test_super_sent_wrong(void **state)
{
	const struct shape s = shape_of(0, 5000);
	struct virtio_net_hdr h;

	frame_make(&s, bytes, true);
	for (unsigned int i = 0; i < 5; i++) {
		// headers have to be in the first buffer
		struct rte_mbuf *m = super_make(&s, bytes, 1200, i == 4 ? 41 : VTAP_WORLD_ROOM);

		if (i == 0)
			m->tso_segsz = 0;
		if (i == 1)
			m->l4_len = 7;
		if (i == 2)
			m->l2_len = 0;
		if (i == 3)
			m->l4_len = 255, m->data_len = 200;
		assert_int_equal(vnet_hdr_super(&h, m), -EINVAL);
		rte_pktmbuf_free(m);
	}
}

static int start_world(void **state)
{
	return vtap_world_start("--file-prefix=vtap_hdr");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_plain, vtap_world_whole),
		cmocka_unit_test_teardown(test_partial, vtap_world_whole),
		cmocka_unit_test_teardown(test_partial_options, vtap_world_whole),
		cmocka_unit_test_teardown(test_partial_zero, vtap_world_whole),
		cmocka_unit_test_teardown(test_partial_inner, vtap_world_whole),
		cmocka_unit_test_teardown(test_partial_hostile, vtap_world_whole),
		cmocka_unit_test_teardown(test_super_received, vtap_world_whole),
		cmocka_unit_test_teardown(test_super_hostile, vtap_world_whole),
		cmocka_unit_test_teardown(test_super_sent, vtap_world_whole),
		cmocka_unit_test_teardown(test_super_sent_wrong, vtap_world_whole),
	};

	return cmocka_run_group_tests(tests, start_world, vtap_world_stop);
}
