// SPDX-License-Identifier: BSD-3-Clause
// The port that replays frames from memory. Its cost is part of every measurement with it. So it
// does as little per packet as a real frame needs: one copy in, one or two stores of patched
// headers, one copy out.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_ether.h>
#include <rte_malloc.h>
#include <rte_memcpy.h>
#ifdef __SSSE3__
#include <tmmintrin.h>
#endif

#include "counter.h"
#include "replay.h"
#include "open_request.h"

#define SCRATCH_LEN (128 * 1024) // bytes; any single-buffer frame fits, so tx need not check

// A prepared window: the bytes to store are the base XORed with the selected bytes of the patch.
struct window {
	uint8_t patch_idx[16] __rte_aligned(16); // top bit set: no patch byte
	uint8_t base[16];
	uint32_t offset;
};

// A prepared template.
struct source {
	uint8_t frame[PORT_REPLAY_FRAME_MAX] __rte_cache_aligned; // zero after its length
	struct window window[PORT_REPLAY_WINDOWS];
	uint32_t len;
};

// A pair of queues. One lcore polls both.
struct queue {
	const uint8_t (*patch)[PORT_REPLAY_PATCH_LEN];
	uint32_t nb_patches, next_patch; // next_patch: index
	uint32_t nb_windows; // larger number of windows of the templates
	uint32_t copied; // length of the longer template: equal work for every packet
	uint64_t random; // never 0
	uint64_t left; // remaining frames to receive
	uint32_t nb_injected; // injected frames, received before all other frames
	struct rte_mbuf *injected[PORT_REPLAY_INJECT_FRAMES];
	uint64_t nombuf; // written by the polling lcore, read by any thread
	// both are set: a single template is in both
	struct source source[PORT_REPLAY_TEMPLATES];
	uint8_t scratch[SCRATCH_LEN] __rte_cache_aligned;
} __rte_cache_aligned;

struct replay {
	struct port port;
	struct rte_mempool *pool;
	port_replay_tap *tap;
	void *tap_ctx;
	struct queue queue[];
};

static struct replay *to_replay(struct port *p)
{
	return p->priv;
}

// --- receive ------------------------------------------------------------------------------------

// Computes the patched bytes of a window and stores them.
static inline void window_store(uint8_t *dst, const struct window *w, const uint8_t *patch)
{
#ifdef __SSSE3__
	const __m128i shuffle = _mm_load_si128((const __m128i *)w->patch_idx);
	const __m128i base = _mm_loadu_si128((const __m128i *)w->base);
	const __m128i bytes = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)patch), shuffle);

	_mm_storeu_si128((__m128i *)dst, _mm_xor_si128(bytes, base));
#else
	for (unsigned int i = 0; i < 16; i++)
		dst[i] = w->base[i] ^ (w->patch_idx[i] < 16 ? patch[w->patch_idx[i]] : 0);
#endif
}

// Returns 64 random bits, one for each of 64 packets. The generator is xorshift64*, whose upper
// half is better, so both halves of the product are mixed.
static inline uint64_t draw_bits(struct queue *q)
{
	uint64_t x = q->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	q->random = x;
	x *= UINT64_C(0x2545f4914f6cdd1d);
	return x ^ x >> 32;
}

static __rte_noinline void fill_frames(struct queue *q, struct rte_mbuf **m, uint16_t n)
{
	const uint8_t(*const patch)[PORT_REPLAY_PATCH_LEN] = q->patch;
	const uint32_t nb = q->nb_patches, windows = q->nb_windows, copied = q->copied;
	uint32_t pos = q->next_patch;
	uint64_t bits = 0;

	for (uint16_t i = 0; i < n; i++) {
		uint8_t *dst = rte_pktmbuf_mtod(m[i], uint8_t *);
		const struct source *s;

		if (i % 64 == 0)
			bits = draw_bits(q);
		s = &q->source[bits & 1];
		bits >>= 1;
		rte_memcpy(dst, s->frame, copied);
		for (uint32_t w = 0; w < windows; w++)
			window_store(dst + s->window[w].offset, &s->window[w], patch[pos]);
		m[i]->data_len = (uint16_t)s->len;
		m[i]->pkt_len = s->len;
		m[i]->ol_flags |= RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
		pos = pos + 1 == nb ? 0 : pos + 1;
	}
	q->next_patch = pos;
}

static __rte_noinline uint16_t take_injected(struct queue *q, struct rte_mbuf **m, uint16_t n)
{
	n = (uint16_t)RTE_MIN((uint32_t)n, q->nb_injected);
	memcpy(m, q->injected, n * sizeof(*m));
	q->nb_injected -= n;
	memmove(q->injected, q->injected + n, q->nb_injected * sizeof(*m));
	return n;
}

static uint16_t replay_rx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	struct replay *r = to_replay(p);
	struct queue *q = &r->queue[queue];

	if (unlikely(q->nb_injected > 0))
		return take_injected(q, m, n);
	if (unlikely(n > q->left))
		n = (uint16_t)q->left;
	if (unlikely(n == 0))
		return 0;
	if (unlikely(rte_pktmbuf_alloc_bulk(r->pool, m, n) != 0)) {
		counter_add(&q->nombuf, n);
		return 0;
	}
	q->left -= n;
	fill_frames(q, m, n);
	for (uint16_t i = 0; unlikely(r->tap != NULL) && i < n; i++)
		r->tap(r->tap_ctx, false, rte_pktmbuf_mtod(m[i], const uint8_t *), m[i]->data_len);
	return n;
}

// --- transmit -----------------------------------------------------------------------------------

// Copies a frame of several buffers into the scratch buffer; the longest super-frame fits.
static void copy_chain(struct queue *q, const struct rte_mbuf *m)
{
	size_t off = 0;

	for (; m != NULL; m = m->next) {
		if (off + m->data_len > SCRATCH_LEN)
			off = 0;
		rte_memcpy(q->scratch + off, rte_pktmbuf_mtod(m, const void *), m->data_len);
		off += m->data_len;
	}
}

static inline void copy_out(struct queue *q, const struct rte_mbuf *m)
{
	if (likely(m->nb_segs == 1))
		rte_memcpy(q->scratch, rte_pktmbuf_mtod(m, const void *), m->data_len);
	else
		copy_chain(q, m);
}

static void show_sent(struct replay *r, struct queue *q, struct rte_mbuf **m, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		copy_out(q, m[i]);
		r->tap(r->tap_ctx, true, q->scratch, RTE_MIN(m[i]->pkt_len, (uint32_t)SCRATCH_LEN));
	}
}

static uint16_t replay_tx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	struct replay *r = to_replay(p);
	struct queue *q = &r->queue[queue];

	if (unlikely(r->tap != NULL))
		show_sent(r, q, m, n);
	// one mbuf at a time, like the drivers that this port is compared with
	for (uint16_t i = 0; i < n; i++) {
		copy_out(q, m[i]);
		rte_pktmbuf_free(m[i]);
	}
	return n;
}

// --- other functions ----------------------------------------------------------------------------

static int replay_start(struct port *p)
{
	return 0;
}

static void replay_stop(struct port *p)
{
}

static void replay_close(struct port *p)
{
	struct replay *r = to_replay(p);

	for (uint16_t q = 0; q < p->nb_rxq; q++)
		rte_pktmbuf_free_bulk(r->queue[q].injected, r->queue[q].nb_injected);
	free((char *)(uintptr_t)p->name);
	rte_free(r);
}

static bool replay_link(struct port *p)
{
	return true;
}

static void replay_counters(struct port *p, struct port_counters *out)
{
	*out = (struct port_counters){0};
	for (uint16_t q = 0; q < p->nb_rxq; q++)
		out->rx_nombuf += __atomic_load_n(&to_replay(p)->queue[q].nombuf, __ATOMIC_RELAXED);
}

static const struct port_ops replay_ops = {
	.kind = "replay",
	.rx = replay_rx,
	.tx = replay_tx,
	.start = replay_start,
	.stop = replay_stop,
	.close = replay_close,
	.link = replay_link,
	.counters = replay_counters,
};

// The parsed device string. queues is 0 if the string is invalid.
struct wanted {
	unsigned int queues;
	bool verified; // checksums=verified
};

static struct wanted wanted_of(const char *device)
{
	static const char verified[] = ",checksums=verified";
	const char *more = strchr(device, ',');
	struct wanted w = {.queues = 1};
	int used = 0;

	if (more == NULL)
		return w;
	if (sscanf(more, ",queues=%u%n", &w.queues, &used) == 1)
		more += used;
	w.verified = strcmp(more, verified) == 0;
	if (w.queues > PORT_QUEUES_MAX || (*more != '\0' && !w.verified))
		w.queues = 0;
	return w;
}

struct port *port_replay_open(const struct port_request *r)
{
	const struct wanted wanted = wanted_of(r->c->device);
	const uint16_t queues = (uint16_t)wanted.queues;
	const uint32_t frame = r->c->mtu + RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN;
	const uint32_t room = rte_pktmbuf_data_room_size(r->c->pool) - RTE_PKTMBUF_HEADROOM;
	struct replay *new;

	if (frame > room) {
		port_request_fail(r,
			"mtu %u: frames of %u bytes do not fit the packet buffers (%u)", r->c->mtu,
			frame, room);
		return NULL;
	}
	if (queues == 0) {
		port_request_fail(r,
			"must be replay:NAME[,queues=N][,checksums=verified], N up to %u",
			PORT_QUEUES_MAX);
		return NULL;
	}
	new = rte_zmalloc_socket("replay", sizeof(*new) + queues * sizeof(new->queue[0]),
		RTE_CACHE_LINE_SIZE, r->c->socket);
	if (new == NULL) {
		port_request_fail(r, "out of memory");
		return NULL;
	}
	new->pool = r->c->pool;
	new->port = (struct port){
		.ops = &replay_ops,
		.priv = new,
		.name = strdup(r->c->name),
		.driver = "replay",
		.mac = {0x02, 0, 0, 0, 0, 0x01},
		.nb_rxq = queues,
		.nb_txq = queues,
		.mtu = r->c->mtu,
		.vlan = r->c->vlan,
		.dpdk_id = RTE_MAX_ETHPORTS,
		.ip_checksum_good = wanted.verified,
		.l4_checksum_good = wanted.verified,
	};
	if (new->port.name == NULL) {
		port_request_fail(r, "out of memory");
		replay_close(&new->port);
		return NULL;
	}
	return &new->port;
}

// --- frames -------------------------------------------------------------------------------------

// True if no windows overlap (they would undo each other) and all byte indexes are within the
// patch.
static bool windows_valid(const struct port_replay_template *t)
{
	if (t->nb_windows == 0 || t->nb_windows > PORT_REPLAY_WINDOWS)
		return false;
	for (unsigned int i = 0; i < t->nb_windows; i++) {
		const struct port_replay_window *w = &t->window[i];

		if (w->offset + sizeof(w->patch_idx) > t->len)
			return false;
		for (unsigned int b = 0; b < sizeof(w->patch_idx); b++)
			if (w->patch_idx[b] >= PORT_REPLAY_PATCH_LEN &&
				w->patch_idx[b] != PORT_REPLAY_KEEP)
				return false;
		for (unsigned int k = 0; k < i; k++)
			if (abs((int)w->offset - (int)t->window[k].offset) <
				(int)sizeof(w->patch_idx))
				return false;
	}
	return true;
}

static int frames_check(const struct port *p, const struct port_replay_frames *f)
{
	const uint32_t link = RTE_ETHER_HDR_LEN + (p->vlan != 0 ? RTE_VLAN_HLEN : 0);

	if (f->nb_templates == 0 || f->nb_templates > PORT_REPLAY_TEMPLATES || f->nb_patches == 0)
		return -EINVAL;
	for (unsigned int i = 0; i < f->nb_templates; i++) {
		const struct port_replay_template *t = &f->template[i];

		if (t->len > PORT_REPLAY_FRAME_MAX || !windows_valid(t))
			return -EINVAL;
		if (t->len > link + p->mtu)
			return -EMSGSIZE;
	}
	return 0;
}

static void source_make(struct source *s, const struct port_replay_template *t)
{
	memset(s, 0, sizeof(*s));
	memcpy(s->frame, t->frame, t->len);
	s->len = t->len;
	for (unsigned int i = 0; i < PORT_REPLAY_WINDOWS; i++) {
		// a template with fewer windows than the other stores its last window again
		const struct port_replay_window *w =
			&t->window[i < t->nb_windows ? i : t->nb_windows - 1u];

		s->window[i].offset = w->offset;
		memcpy(s->window[i].patch_idx, w->patch_idx, sizeof(w->patch_idx));
		memcpy(s->window[i].base, t->frame + w->offset, sizeof(w->patch_idx));
	}
}

static void frames_take(struct queue *q, const struct port_replay_frames *f)
{
	q->nb_windows = q->copied = 0;
	for (unsigned int i = 0; i < PORT_REPLAY_TEMPLATES; i++) {
		const struct port_replay_template *t = &f->template[i % f->nb_templates];

		source_make(&q->source[i], t);
		q->nb_windows = RTE_MAX(q->nb_windows, (uint32_t)t->nb_windows);
		q->copied = RTE_MAX(q->copied, (uint32_t)t->len);
	}
	q->patch = f->patch;
	q->nb_patches = f->nb_patches;
	q->random = f->seed != 0 ? f->seed : 1;
}

int port_replay_set(struct port *p, uint16_t queue, const struct port_replay_frames *f)
{
	struct queue *q;
	int rc;

	if (p->ops != &replay_ops || queue >= p->nb_rxq)
		return -EINVAL;
	rc = f != NULL ? frames_check(p, f) : 0;
	if (rc != 0)
		return rc;
	q = &to_replay(p)->queue[queue];
	q->left = 0;
	q->next_patch = 0;
	q->patch = NULL;
	if (f != NULL)
		frames_take(q, f);
	return 0;
}

void port_replay_limit(struct port *p, uint16_t queue, uint64_t frames)
{
	struct queue *q = &to_replay(p)->queue[queue];

	// a queue without frames receives nothing
	q->left = q->patch != NULL ? frames : 0;
}

void port_replay_frame(const struct port_replay_template *t,
	const uint8_t patch[PORT_REPLAY_PATCH_LEN], uint8_t *buf)
{
	memcpy(buf, t->frame, t->len);
	for (unsigned int i = 0; i < t->nb_windows; i++)
		for (unsigned int b = 0; b < sizeof(t->window[i].patch_idx); b++)
			if (t->window[i].patch_idx[b] != PORT_REPLAY_KEEP)
				buf[t->window[i].offset + b] ^= patch[t->window[i].patch_idx[b]];
}

int port_replay_inject(struct port *p, uint16_t queue, const void *frame, size_t len)
{
	struct queue *q = &to_replay(p)->queue[queue];
	struct rte_mbuf *m;

	if (len > PORT_REPLAY_INJECT_MAX)
		return -EMSGSIZE;
	if (q->nb_injected == PORT_REPLAY_INJECT_FRAMES)
		return -EBUSY;
	m = rte_pktmbuf_alloc(to_replay(p)->pool);
	if (m == NULL)
		return -ENOMEM;
	memcpy(rte_pktmbuf_append(m, (uint16_t)len), frame, len);
	q->injected[q->nb_injected++] = m;
	return 0;
}

void port_replay_watch(struct port *p, port_replay_tap *tap, void *ctx)
{
	to_replay(p)->tap = tap;
	to_replay(p)->tap_ctx = ctx;
}
