// SPDX-License-Identifier: BSD-3-Clause
// A port in memory: queues of frames that a test puts in and takes out.
#include "softport.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_mempool.h>
#include <rte_spinlock.h>

#include "cutter.h"
#include "super/super.h"

// Marks a received packet. The port's metadata of such a packet is not valid for one made from it.
#define RECEIVED RTE_MBUF_F_RX_FDIR

#define FIFO_LEN 4096

enum softport_wake softport_wake;

// One thread puts frames, another takes them.
struct fifo {
	struct rte_mbuf *m[FIFO_LEN];
	uint32_t head, tail;
};

struct softport {
	struct port port;
	struct rte_mempool *pool;
	struct fifo in[PORT_QUEUES_MAX], out;
	rte_spinlock_t out_lock; // workers of a test with threads may send at one time
	uint64_t sent[PORT_QUEUES_MAX];
	uint32_t limit;
	struct port_super uso; // as offered to the data path
	unsigned int refuse; // the super-frame to refuse, counted from now; 0 = none is refused
	uint64_t supers, super_frames; // super-frames accepted whole, and the datagrams in them
	uint32_t used; // members of a bond that carry packets, as bits
	uint64_t ticks;
	bool started, up;
	enum softport_wake wake;
	int event[PORT_QUEUES_MAX];
	bool armed[PORT_QUEUES_MAX];
};

static void fifo_put(struct fifo *f, struct rte_mbuf *m)
{
	if (f->tail - f->head == FIFO_LEN) {
		fprintf(stderr, "softport: queue full\n");
		abort();
	}
	f->m[f->tail % FIFO_LEN] = m;
	__atomic_store_n(&f->tail, f->tail + 1, __ATOMIC_RELEASE);
}

static bool fifo_is_empty(const struct fifo *f)
{
	return f->head == __atomic_load_n(&f->tail, __ATOMIC_ACQUIRE);
}

static struct rte_mbuf *fifo_take(struct fifo *f)
{
	return !fifo_is_empty(f) ? f->m[f->head++ % FIFO_LEN] : NULL;
}

static void fifo_drain(struct fifo *f)
{
	struct rte_mbuf *m;

	while ((m = fifo_take(f)) != NULL)
		rte_pktmbuf_free(m);
}

static void tell(const struct softport *s, uint16_t queue)
{
	const uint64_t one = 1;

	if (write(s->event[queue], &one, sizeof(one)) < 0)
		abort();
}

static void forget(const struct softport *s, uint16_t queue)
{
	uint64_t times;

	if (read(s->event[queue], &times, sizeof(times)) < 0 && errno != EAGAIN)
		abort();
}

static uint16_t soft_rx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	struct softport *s = p->priv;
	uint16_t i = 0;

	while (i < n && (m[i] = fifo_take(&s->in[queue])) != NULL)
		i++;
	if (s->wake == SOFTPORT_LEVEL && fifo_is_empty(&s->in[queue])) {
		forget(s, queue);
		if (!fifo_is_empty(&s->in[queue]))
			tell(s, queue); // that a frame arrived in between
	}
	return i;
}

static int soft_wake_fd(struct port *p, uint16_t queue)
{
	return ((struct softport *)p->priv)->event[queue];
}

static int soft_wake_arm(struct port *p, uint16_t queue, bool on)
{
	struct softport *s = p->priv;

	if (on)
		forget(s, queue);
	__atomic_store_n(&s->armed[queue], on, __ATOMIC_SEQ_CST);
	return 0;
}

static void put_copy(void *port, const uint8_t *frame, size_t len)
{
	struct softport *s = port;
	struct rte_mbuf *m = rte_pktmbuf_alloc(s->pool);
	char *dst = m != NULL ? rte_pktmbuf_append(m, (uint16_t)len) : NULL;

	if (dst == NULL) {
		fprintf(stderr, "softport: no buffer for a frame of %zu bytes\n", len);
		abort();
	}
	memcpy(dst, frame, len);
	fifo_put(&s->out, m);
}

// Refuses a super-frame as lib/port/port.h says: cuts it here, and accepts no more of them whole.
static void refuse(struct softport *s, struct rte_mbuf *m)
{
	struct rte_mbuf *cut[256];
	const unsigned int n = port_super_cut(m, s->pool, cut, 256);

	if (n == 0) {
		fprintf(stderr, "softport: a super-frame that cannot be cut\n");
		abort();
	}
	for (unsigned int i = 0; i < n; i++)
		fifo_put(&s->out, cut[i]);
	rte_pktmbuf_free(m);
	__atomic_store_n(&s->port.uso.segments, 0, __ATOMIC_RELAXED);
}

static void take_super(struct softport *s, struct rte_mbuf *m)
{
	unsigned int n;

	if (s->port.uso.segments == 0 || (s->refuse > 0 && --s->refuse == 0)) {
		refuse(s, m);
		return;
	}
	n = cutter_cut(m, put_copy, s);
	if (n > s->uso.segments || m->nb_segs > s->uso.bufs || m->pkt_len > s->uso.bytes) {
		fprintf(stderr, "softport: super-frame exceeds the granted limits\n");
		abort();
	}
	s->supers++;
	s->super_frames += n;
	rte_pktmbuf_free(m);
}

// Asserts the lengths that a driver relies on in every packet, but no peer would notice.
static void check_lengths(const struct rte_mbuf *m)
{
	const uint32_t len = m->pkt_len;
	const uint16_t segs = m->nb_segs;
	uint32_t sum = 0;
	uint16_t n = 0;

	for (; m != NULL; m = m->next, n++)
		sum += m->data_len;
	if (n != segs || sum != len) {
		fprintf(stderr,
			"softport: sent %u bytes in %u segments, said to be %u bytes in %u\n", sum,
			n, len, segs);
		abort();
	}
}

static uint16_t soft_tx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	struct softport *s = p->priv;
	uint16_t i;

	if (queue >= p->nb_txq) {
		fprintf(stderr, "softport: sent on queue %u of %u\n", queue, p->nb_txq);
		abort();
	}
	rte_spinlock_lock(&s->out_lock);
	for (i = 0; i < n && s->limit > 0; i++, s->limit--) {
		check_lengths(m[i]);
		if ((m[i]->ol_flags & RECEIVED) != 0) {
			fprintf(stderr, "softport: sent with a flag of reception\n");
			abort();
		}
		if ((m[i]->ol_flags & RTE_MBUF_F_TX_UDP_SEG) != 0)
			take_super(s, m[i]);
		else
			fifo_put(&s->out, m[i]);
	}
	s->sent[queue] += i;
	rte_spinlock_unlock(&s->out_lock);
	return i;
}

static int soft_start(struct port *p)
{
	((struct softport *)p->priv)->started = true;
	return 0;
}

static int soft_host(struct port *p, const struct port_host *h, char *error, size_t len)
{
	return soft_start(p);
}

static void soft_stop(struct port *p)
{
	((struct softport *)p->priv)->started = false;
}

static void soft_close(struct port *p)
{
	struct softport *s = p->priv;

	for (unsigned int q = 0; q < PORT_QUEUES_MAX; q++)
		fifo_drain(&s->in[q]);
	fifo_drain(&s->out);
	for (unsigned int q = 0; s->wake != SOFTPORT_SILENT && q < s->port.nb_rxq; q++)
		close(s->event[q]);
	free(s);
}

static bool soft_link(struct port *p)
{
	return ((struct softport *)p->priv)->up;
}

static void soft_counters(struct port *p, struct port_counters *out)
{
	*out = (struct port_counters){0};
}

static void soft_tick(struct port *p, uint16_t queue)
{
	((struct softport *)p->priv)->ticks++;
}

static unsigned int soft_members(struct port *p, struct port_member out[PORT_MEMBERS_MAX])
{
	static const char *const name[] = {"soft0", "soft1", "soft2", "soft3"};
	const struct softport *s = p->priv;

	for (unsigned int i = 0; i < RTE_DIM(name); i++)
		out[i] = (struct port_member){
			.name = name[i], .link = true, .used = (s->used >> i & 1) != 0};
	return RTE_DIM(name);
}

static const struct port_ops ops = {
	.kind = "soft",
	.rx = soft_rx,
	.tx = soft_tx,
	.start = soft_start,
	.stop = soft_stop,
	.close = soft_close,
	.link = soft_link,
	.counters = soft_counters,
	.host = soft_host,
};

static const struct port_ops wake_ops[] = {
	[SOFTPORT_LEVEL] = {.kind = "soft",
		.rx = soft_rx,
		.tx = soft_tx,
		.start = soft_start,
		.stop = soft_stop,
		.close = soft_close,
		.link = soft_link,
		.counters = soft_counters,
		.host = soft_host,
		.wake_fd = soft_wake_fd},
	[SOFTPORT_INTERRUPT] = {.kind = "soft",
		.rx = soft_rx,
		.tx = soft_tx,
		.start = soft_start,
		.stop = soft_stop,
		.close = soft_close,
		.link = soft_link,
		.counters = soft_counters,
		.host = soft_host,
		.wake_fd = soft_wake_fd,
		.wake_arm = soft_wake_arm},
};

static const struct port_ops bond_ops = {
	.kind = "soft",
	.rx = soft_rx,
	.tx = soft_tx,
	.start = soft_start,
	.stop = soft_stop,
	.close = soft_close,
	.link = soft_link,
	.counters = soft_counters,
	.tick = soft_tick,
	.members = soft_members,
};

// Sets the given key, or else the key of the verification suite that all NIC manuals quote, and a
// round-robin table.
static void rss_fill(struct port *p, const uint8_t *given)
{
	static const uint8_t key[40] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
		0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4,
		0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac,
		0x01, 0xfa};

	p->rss = true;
	p->rss_udp = true;
	memcpy(p->rss_key, given != NULL ? given : key, sizeof(key));
	p->rss_key_len = sizeof(key);
	p->reta_size = 128;
	for (uint16_t i = 0; i < p->reta_size; i++)
		p->reta[i] = i % p->nb_rxq;
}

static void wakes(struct softport *s)
{
	s->wake = softport_wake;
	s->port.ops = &wake_ops[s->wake];
	for (unsigned int q = 0; q < s->port.nb_rxq; q++) {
		s->event[q] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (s->event[q] < 0)
			abort();
	}
}

struct port *softport_open(const struct port_config *c, char *error, size_t len)
{
	struct softport *s = calloc(1, sizeof(*s));
	unsigned int rxq, txq;
	char rss[4] = "";

	if (s == NULL || sscanf(c->device, "soft:%u:%u:%3s", &rxq, &txq, rss) < 2) {
		snprintf(error, len, "port %s: device %s: not a software port", c->name, c->device);
		free(s);
		return NULL;
	}
	s->pool = c->pool;
	s->limit = UINT32_MAX;
	s->up = true;
	s->port = (struct port){.ops = &ops,
		.priv = s,
		.name = c->name,
		.driver = "soft",
		.mac = {0x02, 0, 0, 0, 0xff, (uint8_t)c->name[strlen(c->name) - 1]},
		.nb_rxq = (uint16_t)rxq,
		.nb_txq = (uint16_t)txq,
		.mtu = c->mtu,
		.vlan = c->vlan,
		.loopback = c->loopback,
		.kernel_is_host = c->loopback,
		.dpdk_id = RTE_MAX_ETHPORTS};
	if (strcmp(rss, "rss") == 0)
		rss_fill(&s->port, c->rss_key);
	if (softport_wake != SOFTPORT_SILENT)
		wakes(s);
	return &s->port;
}

void softport_put_mbuf(struct port *p, uint16_t queue, struct rte_mbuf *m)
{
	struct softport *s = p->priv;

	fifo_put(&s->in[queue], m);
	if (s->wake == SOFTPORT_LEVEL)
		tell(s, queue);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (s->wake == SOFTPORT_INTERRUPT && __atomic_load_n(&s->armed[queue], __ATOMIC_SEQ_CST))
		tell(s, queue);
}

struct rte_mbuf *softport_mbuf(struct port *p, const void *frame, size_t len)
{
	struct softport *s = p->priv;
	struct rte_mbuf *m = rte_pktmbuf_alloc(s->pool);
	char *dst = m != NULL ? rte_pktmbuf_append(m, (uint16_t)len) : NULL;

	if (dst == NULL) {
		fprintf(stderr, "softport: no buffer for a frame of %zu bytes\n", len);
		abort();
	}
	memcpy(dst, frame, len);
	return m;
}

void softport_put(struct port *p, uint16_t queue, const void *frame, size_t len)
{
	struct rte_mbuf *m = softport_mbuf(p, frame, len);

	m->ol_flags |= RECEIVED;
	softport_put_mbuf(p, queue, m);
}

uint32_t softport_waiting(const struct port *p, uint16_t queue)
{
	const struct fifo *f = &((const struct softport *)p->priv)->in[queue];

	return f->tail - f->head;
}

size_t softport_take(struct port *p, void *buf, size_t cap)
{
	struct rte_mbuf *m = softport_take_mbuf(p);
	size_t len;

	if (m == NULL)
		return 0;
	len = m->pkt_len;
	if (len > cap || m->nb_segs != 1) {
		fprintf(stderr, "softport: %zu bytes sent in %u segments\n", len, m->nb_segs);
		abort();
	}
	memcpy(buf, rte_pktmbuf_mtod(m, void *), len);
	rte_pktmbuf_free(m);
	return len;
}

struct rte_mbuf *softport_take_mbuf(struct port *p)
{
	struct softport *s = p->priv;
	struct rte_mbuf *m;

	rte_spinlock_lock(&s->out_lock);
	m = fifo_take(&s->out);
	rte_spinlock_unlock(&s->out_lock);
	return m;
}

void softport_limit(struct port *p, uint32_t frames)
{
	((struct softport *)p->priv)->limit = frames;
}

void softport_uso(struct port *p, const struct port_super *uso, unsigned int refuse_nth)
{
	struct softport *s = p->priv;

	s->uso = *uso;
	s->refuse = refuse_nth;
	p->uso = *uso;
}

uint64_t softport_supers(const struct port *p, uint64_t *datagrams)
{
	const struct softport *s = p->priv;

	*datagrams = s->super_frames;
	return s->supers;
}

void softport_link(struct port *p, bool up)
{
	((struct softport *)p->priv)->up = up;
}

void softport_use(struct port *p, uint32_t used)
{
	p->ops = &bond_ops;
	((struct softport *)p->priv)->used = used;
}

uint64_t softport_ticks(const struct port *p)
{
	return ((const struct softport *)p->priv)->ticks;
}

uint64_t softport_sent(const struct port *p, uint16_t queue)
{
	return ((const struct softport *)p->priv)->sent[queue];
}
