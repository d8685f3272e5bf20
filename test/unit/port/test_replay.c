// SPDX-License-Identifier: BSD-3-Clause
// The replay port does what replay.h promises: which frames, in which order, how many, and where
// transmitted frames end.

#include <errno.h>

#include "frames.h"
#include "replay.h"
#include "replay_world.h"
#include "test.h"
#include "test_rand.h"

#define PATCHES 7

static uint8_t patch[PATCHES][PORT_REPLAY_PATCH_LEN];

// A template of random bytes with windows at these places, every other byte patched.
static struct port_replay_template template_of(
	uint64_t seed, uint16_t len, uint8_t nb, const uint16_t *offsets)
{
	struct port_replay_template t = {.len = len, .nb_windows = nb};
	struct test_rand r = {seed};

	test_rand_fill(&r, t.frame, len);
	for (unsigned int i = 0; i < nb; i++) {
		t.window[i].offset = offsets[i];
		for (unsigned int b = 0; b < 16; b++)
			t.window[i].patch_idx[b] =
				b % 2 == 0 ? PORT_REPLAY_KEEP : (uint8_t)test_rand_below(&r, 16);
	}
	return t;
}

static struct port_replay_frames frames_of(const struct port_replay_template *t, unsigned int nb)
{
	return (struct port_replay_frames){.template = t,
		.nb_templates = nb,
		.patch = (const uint8_t(*)[PORT_REPLAY_PATCH_LEN])patch,
		.nb_patches = PATCHES,
		.seed = 1};
}

// Asserts what replay.h promises about one template and one patch.
static void assert_frame(
	const struct rte_mbuf *m, const struct port_replay_template *t, const uint8_t *patched)
{
	uint8_t want[PORT_REPLAY_FRAME_MAX];

	memcpy(want, t->frame, t->len);
	for (unsigned int i = 0; i < t->nb_windows; i++)
		for (unsigned int b = 0; b < 16; b++)
			if (t->window[i].patch_idx[b] < 16)
				want[t->window[i].offset + b] ^= patched[t->window[i].patch_idx[b]];
	assert_int_equal(m->nb_segs, 1);
	assert_int_equal(m->data_len, t->len);
	assert_int_equal(m->pkt_len, t->len);
	assert_memory_equal(rte_pktmbuf_mtod(m, const uint8_t *), want, t->len);
}

// --- the port -----------------------------------------------------------------------------------

static void test_nothing_without_frames(void **state)
{
	struct port *p = replay_world_open("replay:a");
	struct rte_mbuf *m[4];

	assert_string_equal(p->ops->kind, "replay");
	assert_string_equal(p->name, "bench");
	assert_int_equal(p->nb_rxq, 1);
	assert_int_equal(p->nb_txq, 1);
	assert_true(p->ops->link(p));
	assert_int_equal(port_rx(p, 0, m, 4), 0);
	port_replay_limit(p, 0, PORT_REPLAY_FOREVER);
	assert_int_equal(port_rx(p, 0, m, 4), 0);
	replay_world_close(p);
}

// Bursts of any size: the patches come in order, and then start again.
static void test_order_and_bytes(void **state)
{
	static const uint16_t sizes[] = {1, 32, 5, 64, 65, 100, 7};
	const struct port_replay_template t = template_of(7, 200, 3, (uint16_t[]){10, 26, 184});
	const struct port_replay_frames f = frames_of(&t, 1);
	struct port *p = replay_world_open("replay:a");
	struct rte_mbuf *m[128];
	unsigned int sent = 0;

	assert_int_equal(port_replay_set(p, 0, &f), 0);
	assert_int_equal(port_rx(p, 0, m, 1), 0); // no limit set yet
	port_replay_limit(p, 0, PORT_REPLAY_FOREVER);
	for (unsigned int i = 0; i < RTE_DIM(sizes); i++) {
		assert_int_equal(port_rx(p, 0, m, sizes[i]), sizes[i]);
		for (unsigned int k = 0; k < sizes[i]; k++, sent++)
			assert_frame(m[k], &t, patch[sent % PATCHES]);
		rte_pktmbuf_free_bulk(m, sizes[i]);
	}
	// set again it begins with the first frame; removed it is silent
	assert_int_equal(port_replay_set(p, 0, &f), 0);
	port_replay_limit(p, 0, 1);
	assert_int_equal(port_rx(p, 0, m, 2), 1);
	assert_frame(m[0], &t, patch[0]);
	rte_pktmbuf_free(m[0]);
	assert_int_equal(port_replay_set(p, 0, NULL), 0);
	port_replay_limit(p, 0, 1);
	assert_int_equal(port_rx(p, 0, m, 2), 0);
	replay_world_close(p);
}

// Returns which of the two templates each of n frames comes from, after a check of the whole frame.
static void directions(
	struct port *p, const struct port_replay_frames *f, bool *out, unsigned int n)
{
	assert_int_equal(port_replay_set(p, 0, f), 0);
	port_replay_limit(p, 0, n);
	for (unsigned int received = 0; received < n;) {
		struct rte_mbuf *m[32];
		const uint16_t nb = port_rx(p, 0, m, 32);

		assert_int_equal(nb, RTE_MIN(32u, n - received));
		for (unsigned int k = 0; k < nb; k++, received++) {
			out[received] = m[k]->pkt_len == f->template[1].len;
			assert_frame(m[k], &f->template[out[received]], patch[received % PATCHES]);
		}
		rte_pktmbuf_free_bulk(m, nb);
	}
}

// Queues are independent of each other.
static void test_queues(void **state)
{
	const struct port_replay_template t[2] = {
		template_of(7, 200, 1, (uint16_t[]){10}), template_of(8, 100, 1, (uint16_t[]){20})};
	const struct port_replay_frames f[2] = {frames_of(&t[0], 1), frames_of(&t[1], 1)};
	struct port *p = replay_world_open("replay:a,queues=3");
	struct rte_mbuf *m[8];

	assert_int_equal(p->nb_rxq, 3);
	assert_int_equal(p->nb_txq, 3);
	assert_int_equal(port_replay_set(p, 0, &f[0]), 0);
	assert_int_equal(port_replay_set(p, 2, &f[1]), 0);
	assert_int_equal(port_replay_set(p, 3, &f[1]), -EINVAL);
	for (uint16_t q = 0; q < 3; q++)
		port_replay_limit(p, q, 2u + q);
	assert_int_equal(port_rx(p, 1, m, 8), 0); // without frames
	assert_int_equal(port_rx(p, 2, m, 1), 1);
	assert_frame(m[0], &t[1], patch[0]);
	assert_int_equal(port_rx(p, 0, m + 1, 8), 2);
	assert_frame(m[1], &t[0], patch[0]);
	assert_frame(m[2], &t[0], patch[1]);
	assert_int_equal(port_rx(p, 2, m + 3, 8), 3);
	assert_frame(m[3], &t[1], patch[1]);
	assert_int_equal(port_tx(p, 1, m, 6), 6);
	replay_world_close(p);
}

static void test_bad_devices(void **state)
{
	static const char *const bad[] = {"replay:a,queues=0", "replay:a,queues=65",
		"replay:a,queues=2x", "replay:a,queue=2", "replay:a,queues="};
	char error[256];

	for (unsigned int i = 0; i < RTE_DIM(bad); i++) {
		const struct port_config c = {
			.name = "bench", .device = bad[i], .mtu = 1500, .pool = replay_world_pool};

		assert_null(port_open(&c, error, sizeof(error)));
		assert_non_null(strstr(error, "queues=N"));
	}
}

static void test_two_templates(void **state)
{
	enum { N = 10000 };
	static bool first[N], again[N], reseeded[N];
	const struct port_replay_template t[2] = {template_of(1, 166, 2, (uint16_t[]){10, 28}),
		template_of(2, 162, 4, (uint16_t[]){62, 10, 28, 78})};
	struct port_replay_frames f = frames_of(t, 2);
	struct port *p = replay_world_open("replay:a");
	unsigned int ones = 0, changes = 0;

	directions(p, &f, first, N);
	directions(p, &f, again, N);
	assert_memory_equal(first, again, sizeof(first));
	f.seed = 2;
	directions(p, &f, reseeded, N);
	assert_memory_not_equal(first, reseeded, sizeof(first));
	for (unsigned int i = 0; i < N; i++) {
		ones += first[i];
		changes += i > 0 && first[i] != first[i - 1];
	}
	// five standard deviations of a fair coin
	assert_in_range(ones, N / 2 - 250, N / 2 + 250);
	assert_in_range(changes, N / 2 - 250, N / 2 + 250);
	replay_world_close(p);
}

static void test_limit(void **state)
{
	const struct port_replay_template t = template_of(3, 64, 1, (uint16_t[]){40});
	const struct port_replay_frames f = frames_of(&t, 1);
	struct port *p = replay_world_open("replay:a");
	struct rte_mbuf *m[32];

	assert_int_equal(port_replay_set(p, 0, &f), 0);
	port_replay_limit(p, 0, 70);
	for (unsigned int left = 70; left > 0;) {
		const uint16_t nb = port_rx(p, 0, m, 32);

		assert_int_equal(nb, RTE_MIN(32u, left));
		left -= nb;
		assert_int_equal(port_tx(p, 0, m, nb), nb);
	}
	assert_int_equal(port_rx(p, 0, m, 32), 0);
	// continues where it stopped
	port_replay_limit(p, 0, 1);
	assert_int_equal(port_rx(p, 0, m, 32), 1);
	assert_frame(m[0], &t, patch[70 % PATCHES]);
	rte_pktmbuf_free(m[0]);
	replay_world_close(p);
}

// Frames without a buffer are counted, and the order is kept.
static void test_no_buffers(void **state)
{
	const struct port_replay_template t = template_of(4, 64, 1, (uint16_t[]){0});
	const struct port_replay_frames f = frames_of(&t, 1);
	struct port *p = replay_world_open("replay:a");
	struct rte_mbuf *taken[REPLAY_WORLD_POOL], *m[8];
	struct port_counters k;

	assert_int_equal(port_replay_set(p, 0, &f), 0);
	port_replay_limit(p, 0, 9);
	assert_int_equal(port_rx(p, 0, m, 1), 1);
	rte_pktmbuf_free(m[0]);
	assert_int_equal(
		rte_pktmbuf_alloc_bulk(replay_world_pool, taken, REPLAY_WORLD_POOL - 4), 0);
	assert_int_equal(port_rx(p, 0, m, 8), 0);
	p->ops->counters(p, &k);
	assert_int_equal(k.rx_nombuf, 8);
	rte_pktmbuf_free_bulk(taken, REPLAY_WORLD_POOL - 4);
	assert_int_equal(port_rx(p, 0, m, 8), 8);
	assert_frame(m[0], &t, patch[1]);
	assert_int_equal(port_tx(p, 0, m, 8), 8);
	replay_world_close(p);
}

struct watched {
	unsigned int received, sent;
	size_t len;
	uint8_t frame[4096]; // the last frame sent
};

static void watch(void *ctx, bool sent, const uint8_t *frame, size_t len)
{
	struct watched *w = ctx;

	assert_true(len <= sizeof(w->frame));
	w->received += !sent;
	w->sent += sent;
	if (!sent)
		return;
	w->len = len;
	memcpy(w->frame, frame, len);
}

// Every byte arrives in the scratch line, also from frames in several buffers, and all are freed.
static void test_transmit(void **state)
{
	struct port *p = replay_world_open("replay:a");
	struct test_rand r = {5};
	struct watched w = {0};
	uint8_t bytes[3000];

	port_replay_watch(p, watch, &w);
	for (uint16_t len = 1; len <= 2000; len += 37) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(replay_world_pool);

		test_rand_fill(&r, bytes, sizeof(bytes));
		memcpy(rte_pktmbuf_append(m, len), bytes, len);
		if (len > 1000) {
			struct rte_mbuf *tail = rte_pktmbuf_alloc(replay_world_pool);

			memcpy(rte_pktmbuf_append(tail, 1000), bytes + len, 1000);
			assert_int_equal(rte_pktmbuf_chain(m, tail), 0);
		}
		assert_int_equal(port_tx(p, 0, &m, 1), 1);
		assert_int_equal(w.len, len > 1000 ? len + 1000 : len);
		assert_memory_equal(w.frame, bytes, w.len);
		assert_int_equal(rte_mempool_in_use_count(replay_world_pool), 0);
	}
	assert_int_equal(w.sent, 55);
	assert_int_equal(w.received, 0);
	port_replay_watch(p, NULL, NULL);
	replay_world_close(p);
}

// Injected frames come at once, apart from all others, even if there is nothing else.
static void test_inject(void **state)
{
	const struct port_replay_template t = template_of(6, 64, 1, (uint16_t[]){0});
	const struct port_replay_frames f = frames_of(&t, 1);
	struct port *p = replay_world_open("replay:a");
	struct watched w = {0};
	struct rte_mbuf *m[PORT_REPLAY_INJECT_FRAMES];
	uint8_t big[PORT_REPLAY_INJECT_MAX + 1] = {0};

	assert_int_equal(port_replay_inject(p, 0, udp4, sizeof(udp4)), 0);
	assert_int_equal(port_replay_inject(p, 0, big, sizeof(big)), -EMSGSIZE);
	assert_int_equal(port_replay_set(p, 0, &f), 0);
	port_replay_limit(p, 0, 2);
	port_replay_watch(p, watch, &w);
	assert_int_equal(port_rx(p, 0, m, 4), 1);
	assert_int_equal(m[0]->pkt_len, sizeof(udp4));
	assert_memory_equal(rte_pktmbuf_mtod(m[0], const void *), udp4, sizeof(udp4));
	rte_pktmbuf_free(m[0]);
	assert_int_equal(w.received, 0); // only frames from the templates are shown
	assert_int_equal(port_rx(p, 0, m, 4), 2);
	assert_int_equal(w.received, 2);
	rte_pktmbuf_free_bulk(m, 2);
	for (uint16_t i = 1; i <= PORT_REPLAY_INJECT_FRAMES; i++)
		assert_int_equal(port_replay_inject(p, 0, big, i), 0);
	assert_int_equal(port_replay_inject(p, 0, big, 1), -EBUSY);
	assert_int_equal(port_rx(p, 0, m, 3), 3);
	assert_int_equal(
		port_rx(p, 0, m + 3, PORT_REPLAY_INJECT_FRAMES), PORT_REPLAY_INJECT_FRAMES - 3);
	for (uint16_t i = 0; i < PORT_REPLAY_INJECT_FRAMES; i++)
		assert_int_equal(m[i]->pkt_len, i + 1);
	rte_pktmbuf_free_bulk(m, PORT_REPLAY_INJECT_FRAMES);
	assert_int_equal(port_replay_inject(p, 0, big, PORT_REPLAY_INJECT_MAX), 0);
	replay_world_close(p); // with a frame that nobody has fetched
}

static void test_refusals(void **state)
{
	const struct port_replay_template good = template_of(8, 100, 2, (uint16_t[]){0, 84});
	struct port *p = replay_world_open("replay:a"), *null;
	struct port_replay_template t = good;
	struct port_replay_frames f = frames_of(&t, 1);

	assert_int_equal(port_replay_set(p, 0, &f), 0);
	t.window[1].offset = 85; // beyond the end
	assert_int_equal(port_replay_set(p, 0, &f), -EINVAL);
	t.window[1].offset = 15; // overlaps the other
	assert_int_equal(port_replay_set(p, 0, &f), -EINVAL);
	t = good;
	t.window[0].patch_idx[3] = 16;
	assert_int_equal(port_replay_set(p, 0, &f), -EINVAL);
	t = good;
	t.nb_windows = 0;
	assert_int_equal(port_replay_set(p, 0, &f), -EINVAL);
	t.nb_windows = PORT_REPLAY_WINDOWS + 1;
	assert_int_equal(port_replay_set(p, 0, &f), -EINVAL);
	t = good;
	t.len = PORT_REPLAY_FRAME_MAX + 1;
	assert_int_equal(port_replay_set(p, 0, &f), -EINVAL);
	t.len = 1515; // MTU 1500
	assert_int_equal(port_replay_set(p, 0, &f), -EMSGSIZE);
	t = good;
	f.nb_templates = 3;
	assert_int_equal(port_replay_set(p, 0, &f), -EINVAL);
	f = frames_of(&t, 1);
	f.nb_patches = 0;
	assert_int_equal(port_replay_set(p, 0, &f), -EINVAL);
	null = replay_world_open("net_null0");
	f = frames_of(&t, 1);
	assert_int_equal(port_replay_set(null, 0, &f), -EINVAL);
	replay_world_close(null);
	replay_world_close(p);
}

static int start_world(void **state)
{
	struct test_rand r = {10};

	test_rand_fill(&r, patch, sizeof(patch));
	return replay_world_start("--file-prefix=test_replay");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_without_frames),
		cmocka_unit_test(test_order_and_bytes),
		cmocka_unit_test(test_queues),
		cmocka_unit_test(test_bad_devices),
		cmocka_unit_test(test_two_templates),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_no_buffers),
		cmocka_unit_test(test_transmit),
		cmocka_unit_test(test_inject),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, start_world, replay_world_stop);
}
