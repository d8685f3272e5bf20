// SPDX-License-Identifier: BSD-3-Clause
// Queues of a vtap over a socket pair, which preserves frame boundaries like a TAP and can be made
// to refuse long frames (EMSGSIZE) or to take no more for now (EAGAIN), which a TAP seldom does.
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "port.h"
#include "slow_sum.h"
#include "test.h"
#include "vnet_hdr.h"
#include "vtap/vtap_rx.h"
#include "vtap/vtap_tx.h"
#include "vtap_world.h"

#define HEADER sizeof(struct virtio_net_hdr)

static struct wire {
	int ours, theirs;
	struct vtap_rx rx;
	struct vtap_tx tx;
	struct port port;
} w;
static uint8_t bytes[70000], frame[70000], expected[4096];

static int wire_open(void **state)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, fd) != 0)
		return -1;
	w = (struct wire){.ours = fd[0], .theirs = fd[1]};
	w.port = (struct port){.name = "wan", .uso = {64, 64, 65535}, .tso = {256, 64, 65535}};
	vtap_tx_init(&w.tx, w.ours, vtap_world_pool, &w.port);
	return vtap_rx_init(&w.rx, w.ours, vtap_world_pool, true);
}

static int wire_close(void **state)
{
	vtap_rx_free(&w.rx);
	super_kept_drop(&w.tx.kept);
	close(w.ours);
	close(w.theirs);
	return vtap_world_whole(state);
}

// Sends from the kernel's end: the header, then the frame in `bytes`.
static void kernel_send(const struct virtio_net_hdr *h, uint32_t len)
{
	const struct iovec iov[2] = {{(void *)(uintptr_t)h, HEADER}, {bytes, len}};

	assert_int_equal(writev(w.theirs, iov, 2), HEADER + len);
}

// Takes the next frame from the kernel's end into `frame`; returns 0 if there is no frame.
static uint32_t kernel_take(struct virtio_net_hdr *h)
{
	const struct iovec iov[2] = {{h, HEADER}, {frame, sizeof(frame)}};
	const ssize_t n = readv(w.theirs, iov, 2);

	return n < (ssize_t)HEADER ? 0 : (uint32_t)(n - (ssize_t)HEADER);
}

// Limits the bytes on the wire to `room`: a longer frame is refused, too many frames wait.
static void wire_narrow(int room)
{
	const int half = room / 2; // the kernel doubles it

	assert_int_equal(setsockopt(w.ours, SOL_SOCKET, SO_SNDBUF, &half, sizeof(half)), 0);
}

// Asserts that `frame` is segment i of a super-frame, except for fields that differ per segment.
static void assert_segment(const struct shape *s, uint16_t size, unsigned int i, uint32_t len)
{
	const uint32_t offset = i * size, n = RTE_MIN((uint32_t)size, s->payload - offset);
	const uint32_t l4 = shape_l4(s), field = l4 + (s->tcp ? 16 : 6);

	assert_int_equal(len, shape_headers(s) + n);
	for (uint32_t k = 0; k < n; k++)
		expected[k] = (uint8_t)((offset + k) * 31 + ((offset + k) >> 8) + s->seed);
	assert_memory_equal(frame + shape_headers(s), expected, n);
	// checks that a receiver makes
	const struct shape cut = {.v6 = s->v6, .tcp = s->tcp, .tag = s->tag, .payload = n};

	assert_int_equal(
		slow_sum(vtap_world_pseudo_sum(&cut, frame), frame + l4, len - l4), 0xffff);
	assert_true(frame[field] != 0 || frame[field + 1] != 0);
}

// --- receive ------------------------------------------------------------------------------------

// Frames of every length come out as they went in; only longer ones take more than one buffer.
static void test_receive(void **state)
{
	static const uint32_t sizes[] = {0, 1, 18, 1458, 2005, 2006, 2007, 4054, 30000, 65493};
	const struct virtio_net_hdr none = {0};
	struct rte_mbuf *m[4];

	for (unsigned int i = 0; i < RTE_DIM(sizes); i++) {
		const struct shape s = {.payload = sizes[i], .seed = (uint8_t)i};
		const uint32_t len = shape_len(&s);

		frame_make(&s, bytes, false);
		kernel_send(&none, len);
		assert_int_equal(vtap_rx_burst(&w.rx, m, 4), 1);
		assert_int_equal(m[0]->pkt_len, len);
		assert_int_equal(m[0]->nb_segs, (len + VTAP_WORLD_ROOM - 1) / VTAP_WORLD_ROOM);
		assert_int_equal(rte_pktmbuf_headroom(m[0]), RTE_PKTMBUF_HEADROOM);
		assert_memory_equal(rte_pktmbuf_read(m[0], 0, len, frame), bytes, len);
		rte_mbuf_sanity_check(m[0], 1);
		rte_pktmbuf_free(m[0]);
		assert_int_equal(vtap_rx_burst(&w.rx, m, 4), 0);
	}
	assert_int_equal(w.rx.errors, 0);
}

// The longest frame possible: 64 KB of IP after a tag.
static void test_receive_longest(void **state)
{
	const struct virtio_net_hdr none = {0};
	const struct shape s = {.tag = true, .payload = 65507};
	struct rte_mbuf *m;

	frame_make(&s, bytes, false);
	assert_int_equal(shape_len(&s), 65553);
	kernel_send(&none, shape_len(&s));
	assert_int_equal(vtap_rx_burst(&w.rx, &m, 1), 1);
	assert_int_equal(m->pkt_len, shape_len(&s));
	assert_memory_equal(rte_pktmbuf_read(m, 0, m->pkt_len, frame), bytes, m->pkt_len);
	// closing frees the buffers in the slots, and none that was handed out
	vtap_rx_free(&w.rx);
	assert_int_equal(rte_mempool_in_use_count(vtap_world_pool), m->nb_segs);
	rte_pktmbuf_free(m);
}

// No more frames than asked for, in order, and neither an empty poll nor a bad header uses a
// buffer.
static void test_receive_burst(void **state)
{
	const struct virtio_net_hdr none = {0}, bad = {.gso_type = 0x7f, .gso_size = 1};
	struct shape s = {.payload = 100};
	struct rte_mbuf *m[8];
	unsigned int before;

	for (s.seed = 0; s.seed < 5; s.seed++) {
		frame_make(&s, bytes, false);
		kernel_send(s.seed == 1 ? &bad : &none, shape_len(&s));
	}
	assert_int_equal(vtap_rx_burst(&w.rx, m, 2), 1);
	assert_int_equal(vtap_rx_burst(&w.rx, m + 1, 6), 3);
	assert_int_equal(w.rx.errors, 1);
	for (unsigned int i = 0; i < 4; i++) {
		s.seed = (uint8_t)(i < 1 ? i : i + 1);
		frame_make(&s, bytes, false);
		assert_memory_equal(rte_pktmbuf_mtod(m[i], uint8_t *), bytes, shape_len(&s));
		rte_pktmbuf_free(m[i]);
	}
	vtap_rx_burst(&w.rx, m, 8);
	before = rte_mempool_in_use_count(vtap_world_pool);
	for (unsigned int i = 0; i < 100; i++)
		assert_int_equal(vtap_rx_burst(&w.rx, m, 8), 0);
	assert_int_equal(rte_mempool_in_use_count(vtap_world_pool), before);
	assert_int_equal(w.rx.errors, 1);
}

// Without super-frames a queue holds just one buffer.
static void test_receive_single(void **state)
{
	const struct virtio_net_hdr none = {0};
	const struct shape s = {.payload = 1400};
	struct rte_mbuf *m[2];

	vtap_rx_free(&w.rx);
	assert_int_equal(vtap_rx_init(&w.rx, w.ours, vtap_world_pool, false), 0);
	assert_int_equal(vtap_rx_burst(&w.rx, m, 2), 0);
	assert_int_equal(rte_mempool_in_use_count(vtap_world_pool), 1);
	frame_make(&s, bytes, false);
	kernel_send(&none, shape_len(&s));
	assert_int_equal(vtap_rx_burst(&w.rx, m, 2), 1);
	assert_memory_equal(rte_pktmbuf_mtod(m[0], uint8_t *), bytes, shape_len(&s));
	rte_pktmbuf_free(m[0]);
}

// With an empty pool the frame stays in the kernel.
static void test_receive_no_buffers(void **state)
{
	const struct virtio_net_hdr none = {0};
	const struct shape s = {.payload = 100};
	struct rte_mbuf *held[VTAP_WORLD_POOL], *m[2];
	unsigned int n = 0;

	while (n < VTAP_WORLD_POOL && (held[n] = rte_pktmbuf_alloc(vtap_world_pool)) != NULL)
		n++;
	frame_make(&s, bytes, false);
	kernel_send(&none, shape_len(&s));
	assert_int_equal(vtap_rx_burst(&w.rx, m, 2), 0);
	assert_int_equal(w.rx.nombuf, 1);
	rte_pktmbuf_free_bulk(held, n);
	assert_int_equal(vtap_rx_burst(&w.rx, m, 2), 1);
	assert_memory_equal(rte_pktmbuf_mtod(m[0], uint8_t *), bytes, shape_len(&s));
	rte_pktmbuf_free(m[0]);
}

// --- transmit -----------------------------------------------------------------------------------

static void test_send(void **state)
{
	struct shape s = {.payload = 500};
	struct virtio_net_hdr h;
	struct rte_mbuf *m[3];

	for (unsigned int i = 0; i < 3; i++) {
		s.seed = (uint8_t)i;
		frame_make(&s, bytes, false);
		m[i] = chain_make(bytes, shape_len(&s), i == 2 ? 100 : VTAP_WORLD_ROOM);
	}
	assert_int_equal(vtap_tx_burst(&w.tx, m, 3), 3);
	for (unsigned int i = 0; i < 3; i++) {
		const struct virtio_net_hdr none = {0};

		s.seed = (uint8_t)i;
		frame_make(&s, bytes, false);
		assert_int_equal(kernel_take(&h), shape_len(&s));
		assert_memory_equal(&h, &none, HEADER);
		assert_memory_equal(frame, bytes, shape_len(&s));
	}
	assert_int_equal(kernel_take(&h), 0);
}

// Super-frames leave whole until the kernel refuses one.
static void test_send_super(void **state)
{
	for (unsigned int bits = 0; bits < 4; bits++) {
		const struct shape s = {.v6 = bits & 1, .tcp = bits & 2, .payload = 60000};
		struct virtio_net_hdr h;
		struct rte_mbuf *m;

		frame_make(&s, bytes, true);
		m = super_make(&s, bytes, 1200, VTAP_WORLD_ROOM);
		assert_int_equal(vtap_tx_burst(&w.tx, &m, 1), 1);
		assert_int_equal(kernel_take(&h), shape_len(&s));
		assert_int_equal(h.gso_size, 1200);
		assert_memory_equal(frame, bytes, shape_len(&s));
	}
	assert_int_equal(w.port.uso.segments, 64);
	assert_int_equal(w.tx.kept.cut, 0);
}

// A refused super-frame switches its kind off for good, and leaves in pieces; so does every later
// one.
static void test_refused(void **state)
{
	for (unsigned int bits = 0; bits < 4; bits++) {
		const struct shape s = {.v6 = bits & 1, .tcp = bits & 2, .payload = 50001};
		struct port_super *super = s.tcp ? &w.port.tso : &w.port.uso;
		const struct port_super *other_kind = s.tcp ? &w.port.uso : &w.port.tso;
		struct virtio_net_hdr h;

		wire_close(state);
		wire_open(state);
		wire_narrow(40000);
		for (unsigned int round = 0; round < 2; round++) {
			struct rte_mbuf *m;
			unsigned int got = 0;
			uint32_t len;

			frame_make(&s, bytes, true);
			m = super_make(&s, bytes, 1200, VTAP_WORLD_ROOM);
			assert_int_equal(vtap_tx_burst(&w.tx, &m, 1), 1);
			assert_int_equal(super->segments, 0);
			assert_int_not_equal(other_kind->segments, 0);
			assert_int_equal(w.tx.kept.cut, round + 1);
			do {
				for (; (len = kernel_take(&h)) > 0; got++) {
					assert_int_equal(h.gso_type, 0);
					assert_segment(&s, 1200, got, len);
				}
				vtap_tx_burst(&w.tx, NULL, 0); // the waiting ones
			} while (got < 42);
			assert_int_equal(kernel_take(&h), 0);
		}
		assert_int_equal(w.tx.errors, 0);
	}
}

// A super-frame that arrives after its kind was switched off: a worker had read the old state.
static void test_already_off(void **state)
{
	const struct shape s = {.payload = 3000};
	struct virtio_net_hdr h;
	struct rte_mbuf *m;

	w.port.uso.segments = 0;
	frame_make(&s, bytes, true);
	m = super_make(&s, bytes, 1000, VTAP_WORLD_ROOM);
	assert_int_equal(vtap_tx_burst(&w.tx, &m, 1), 1);
	for (unsigned int i = 0; i < 3; i++)
		assert_segment(&s, 1000, i, kernel_take(&h));
	assert_int_equal(kernel_take(&h), 0);
}

// While the kernel takes no more, nothing is lost or reordered, and a half-sent super-frame is
// finished first.
static void test_full(void **state)
{
	struct shape s = {.payload = 20000}, plain = {.payload = 1000, .seed = 9};
	struct virtio_net_hdr h;
	struct rte_mbuf *m[2];
	unsigned int got = 0, taken, tries;
	uint32_t len;

	w.port.uso.segments = 0;
	wire_narrow(10000);
	frame_make(&s, bytes, true);
	m[0] = super_make(&s, bytes, 1000, VTAP_WORLD_ROOM);
	frame_make(&plain, bytes, false);
	m[1] = chain_make(bytes, shape_len(&plain), VTAP_WORLD_ROOM);
	taken = vtap_tx_burst(&w.tx, m, 2);
	assert_int_equal(taken, 1); // the super-frame is taken, and blocks the queue
	assert_int_equal(vtap_tx_burst(&w.tx, m + 1, 1), 0);
	for (tries = 0; tries < 100; tries++) {
		for (; (len = kernel_take(&h)) > 0; got++) {
			if (got < 20)
				assert_segment(&s, 1000, got, len);
			else
				assert_memory_equal(frame, bytes, len);
		}
		if (taken < 2)
			taken += vtap_tx_burst(&w.tx, m + 1, 1);
	}
	assert_int_equal(taken, 2);
	assert_int_equal(got, 21);
	assert_int_equal(w.tx.errors, 0);
}

// No piece of it fits: the caller keeps it, and its pieces are freed.
static void test_full_at_once(void **state)
{
	const struct shape plain = {.payload = 1000}, s = {.payload = 5000};
	struct virtio_net_hdr h;
	struct rte_mbuf *m[100];
	unsigned int sent = 0, in_use;

	wire_narrow(10000);
	frame_make(&plain, bytes, false);
	do {
		m[sent] = chain_make(bytes, shape_len(&plain), VTAP_WORLD_ROOM);
		assert_true(sent < 99);
	} while (vtap_tx_burst(&w.tx, &m[sent], 1) == 1 && ++sent > 0);
	assert_true(sent > 0);
	frame_make(&s, bytes, true);
	m[99] = super_make(&s, bytes, 1000, VTAP_WORLD_ROOM);
	in_use = rte_mempool_in_use_count(vtap_world_pool);
	for (unsigned int off = 0; off < 2; off++) { // whole, and cut
		assert_int_equal(vtap_tx_burst(&w.tx, &m[99], 1), 0);
		assert_int_equal(rte_mempool_in_use_count(vtap_world_pool), in_use);
		assert_int_equal(w.tx.kept.cut, 0);
		assert_int_equal(w.port.uso.segments, off == 0 ? 64 : 0);
		w.port.uso.segments = 0;
	}
	while (kernel_take(&h) > 0)
		;
	assert_int_equal(vtap_tx_burst(&w.tx, &m[99], 1), 1);
	while (kernel_take(&h) > 0)
		;
	assert_int_equal(vtap_tx_burst(&w.tx, &m[sent], 1), 1);
	assert_int_equal(w.tx.errors, 0);
}

// No buffers for the pieces: the caller keeps it.
static void test_no_buffers(void **state)
{
	const struct shape s = {.payload = 5000};
	struct rte_mbuf *held[VTAP_WORLD_POOL], *m;
	unsigned int n = 0;

	w.port.uso.segments = 0;
	frame_make(&s, bytes, true);
	m = super_make(&s, bytes, 1000, VTAP_WORLD_ROOM);
	while (n < VTAP_WORLD_POOL && (held[n] = rte_pktmbuf_alloc(vtap_world_pool)) != NULL)
		n++;
	assert_int_equal(vtap_tx_burst(&w.tx, &m, 1), 0);
	rte_pktmbuf_free_bulk(held, n);
	assert_int_equal(vtap_tx_burst(&w.tx, &m, 1), 1);
	assert_int_equal(w.tx.errors, 0);
}

// A super-frame that no kernel takes and that cannot be cut is freed and counted; this does not
// change how others are sent.
static void test_wrong(void **state)
{
	const struct shape s = {.payload = 5000}, longest = {.payload = 60000};
	struct rte_mbuf *m;

	frame_make(&s, bytes, true);
	m = super_make(&s, bytes, 0, VTAP_WORLD_ROOM);
	assert_int_equal(vtap_tx_burst(&w.tx, &m, 1), 1);
	assert_int_equal(w.tx.errors, 1);
	m = super_make(&s, bytes, 1000, VTAP_WORLD_ROOM);
	m->l4_len = 0;
	assert_int_equal(vtap_tx_burst(&w.tx, &m, 1), 1);
	assert_int_equal(w.tx.errors, 2);
	assert_int_equal(w.port.uso.segments, 64);
	// more pieces than any port takes, once super-frames are off
	frame_make(&longest, bytes, true);
	m = super_make(&longest, bytes, 200, VTAP_WORLD_ROOM);
	w.port.uso.segments = 0;
	assert_int_equal(vtap_tx_burst(&w.tx, &m, 1), 1);
	assert_int_equal(w.tx.errors, 3);
	// a plain frame that is refused
	wire_narrow(5000);
	m = chain_make(bytes, 60000, VTAP_WORLD_ROOM);
	assert_int_equal(vtap_tx_burst(&w.tx, &m, 1), 1);
	assert_int_equal(w.tx.errors, 4);
	assert_int_equal(w.tx.kept.cut, 0);
}

// Without another packet to send, a half-sent super-frame is still finished, or given up after a
// second.
static void test_tick(void **state)
{
	const struct shape s = {.payload = 20000};

	wire_narrow(10000);
	w.port.uso.segments = 0;
	for (unsigned int taken = 0; taken < 2; taken++) {
		struct virtio_net_hdr h;
		struct rte_mbuf *m;
		unsigned int got = 0;
		uint32_t len;

		frame_make(&s, bytes, true);
		m = super_make(&s, bytes, 1000, VTAP_WORLD_ROOM);
		assert_int_equal(vtap_tx_burst(&w.tx, &m, 1), 1);
		assert_true(w.tx.kept.nb > 0);
		for (unsigned int i = 0; i < SUPER_KEPT_TICKS && w.tx.kept.nb > 0; i++) {
			for (; taken == 0 && (len = kernel_take(&h)) > 0; got++)
				assert_segment(&s, 1000, got, len);
			super_kept_tick(&w.tx.kept);
		}
		assert_int_equal(w.tx.kept.nb, 0);
		while ((len = kernel_take(&h)) > 0)
			assert_segment(&s, 1000, got++, len);
		assert_int_equal(got + w.tx.errors, 20);
		assert_int_equal(w.tx.errors > 0, taken == 1);
	}
}

// Closing frees a half-sent super-frame, and counts it.
static void test_close_half_sent(void **state)
{
	const struct shape s = {.payload = 20000};
	struct rte_mbuf *m;

	w.port.uso.segments = 0;
	wire_narrow(10000);
	frame_make(&s, bytes, true);
	m = super_make(&s, bytes, 1000, VTAP_WORLD_ROOM);
	assert_int_equal(vtap_tx_burst(&w.tx, &m, 1), 1);
	assert_true(w.tx.kept.nb > 0 && w.tx.kept.nb < 20);
	super_kept_drop(&w.tx.kept);
	assert_true(w.tx.errors > 0 && w.tx.errors < 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, wire_open, wire_close)

static int start_world(void **state)
{
	return vtap_world_start("--file-prefix=vtap_queue");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_receive),
		TEST(test_receive_longest),
		TEST(test_receive_burst),
		TEST(test_receive_single),
		TEST(test_receive_no_buffers),
		TEST(test_send),
		TEST(test_send_super),
		TEST(test_refused),
		TEST(test_already_off),
		TEST(test_full),
		TEST(test_full_at_once),
		TEST(test_no_buffers),
		TEST(test_wrong),
		TEST(test_tick),
		TEST(test_close_half_sent),
	};

	return cmocka_run_group_tests(tests, start_world, vtap_world_stop);
}
