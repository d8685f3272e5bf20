// SPDX-License-Identifier: BSD-3-Clause
// Super-frames that are received and sent whole. The payload is copied once, with its new fronts;
// no checksums are computed, because the port that cuts the frame does this.
#include "super/super_whole.h"

#include "bytes.h"
#include "invariant.h"
#include "net.h"
#include "port.h"
#include "super/super_shape.h"

#define IP_LEN_MAX 65535
#define BUFS_MAX 64 // 65535 bytes in buffers of 1024

// A position in a chain that is being filled.
struct writer {
	struct rte_mbuf **cursor;
	uint32_t room; // room of each buffer
};

// Returns the position for the next bytes, at most *n; *n gets the number that fit there.
static uint8_t *writer_next(struct writer *w, uint32_t *n)
{
	struct rte_mbuf *m;

	if ((*w->cursor)->data_len == w->room)
		w->cursor++;
	m = *w->cursor;
	*n = RTE_MIN(*n, w->room - m->data_len);
	ASSERT(m->data_len + *n <= w->room && *n > 0);
	m->data_len = (uint16_t)(m->data_len + *n);
	return rte_pktmbuf_mtod_offset(m, uint8_t *, m->data_len - *n);
}

static void writer_put(struct writer *w, const uint8_t *src, uint32_t n)
{
	while (n > 0) {
		uint32_t part = n;
		uint8_t *dst = writer_next(w, &part);

		memcpy(dst, src, part);
		src += part;
		n -= part;
	}
}

static void writer_copy(struct writer *w, struct super_reader *r, uint32_t n)
{
	while (n > 0) {
		uint32_t part = n;
		uint8_t *dst = writer_next(w, &part);

		super_reader_copy(r, dst, part);
		n -= part;
	}
}

bool port_super_alike(const struct rte_mbuf *m, const struct port_super_edit *e)
{
	struct super_reader r = {.m = m};
	struct super_shape s;
	unsigned int n;

	if (!super_shape_read(&s, m))
		return false;
	n = super_shape_frames(&s);
	super_reader_skip(&r, (uint32_t)s.payload + super_shape_len(&s, 0));
	for (unsigned int i = 1; i < n; i++) {
		const uint32_t len = super_shape_len(&s, i);
		uint8_t front[PORT_SUPER_FRONT];

		if (len < e->taken)
			return false;
		super_reader_copy(&r, front, e->taken);
		if (memcmp(front, e->front[i == n - 1], e->taken) != 0)
			return false;
		super_reader_skip(&r, len - e->taken);
	}
	return true;
}

// True if first may begin a super-frame (coalesce.h), and the result is within limits.
static bool may_grow(const struct rte_mbuf *first, uint32_t len, const struct port_super *limits)
{
	const uint8_t *ip = rte_pktmbuf_mtod_offset(first, const uint8_t *, NET_ETH_LEN);
	const bool is_v4 = load_be16(ip - 2) == NET_ETHERTYPE_IP4;

	return first->nb_segs == 1 && first->pkt_len + len <= limits->bytes &&
		first->pkt_len + len - NET_ETH_LEN <= IP_LEN_MAX &&
		(!is_v4 || (ip[NET_IP4_FRAGMENT_AT] & NET_IP4_DF) != 0);
}

// Returns the bytes of edited payload of all datagrams except the first. 0 if there are no others,
// or if the last one would be empty, which a super-frame cannot represent.
static uint32_t rest_len(const struct super_shape *s, const struct port_super_edit *e)
{
	const unsigned int n = super_shape_frames(s);
	const uint32_t more = (uint32_t)e->put - e->taken;

	if (n < 2 || super_shape_len(s, n - 1) + more == 0)
		return 0;
	return s->len - s->size + (n - 1) * more;
}

static void write_rest(struct writer *w, const struct rte_mbuf *m, const struct super_shape *s,
	const struct port_super_edit *e)
{
	const unsigned int n = super_shape_frames(s);
	struct super_reader r = {.m = m};

	super_reader_skip(&r, (uint32_t)s->payload + super_shape_len(s, 0));
	for (unsigned int i = 1; i < n; i++) {
		super_reader_skip(&r, e->taken);
		writer_put(w, e->front[i == n - 1], e->put);
		writer_copy(w, &r, super_shape_len(s, i) - e->taken);
	}
}

bool port_super_follow(struct rte_mbuf *first, const struct rte_mbuf *m,
	const struct port_super_edit *e, const struct port_super *limits, struct rte_mempool *pool)
{
	const uint32_t room = rte_pktmbuf_data_room_size(pool) - RTE_PKTMBUF_HEADROOM;
	struct rte_mbuf *buf[BUFS_MAX], *last = first;
	struct writer w = {.cursor = buf, .room = room};
	uint32_t size, len, nb, l3;
	struct super_shape s;

	if (!super_shape_read(&s, m))
		return false;
	size = s.size + (uint32_t)e->put - e->taken;
	len = rest_len(&s, e);
	nb = (len + room - 1) / room;
	if (len == 0 || super_shape_frames(&s) > limits->segments || nb > BUFS_MAX ||
		nb + 1 > limits->bufs || !may_grow(first, len, limits) ||
		rte_pktmbuf_alloc_bulk(pool, buf, nb) != 0)
		return false;
	write_rest(&w, m, &s, e);
	for (unsigned int i = 0; i < nb; i++) {
		last->next = buf[i];
		last = buf[i];
	}
	l3 = first->pkt_len - size - NET_ETH_LEN - NET_UDP_LEN;
	first->nb_segs = (uint16_t)(nb + 1);
	first->pkt_len += len;
	super_finish(first, NET_ETH_LEN, (uint16_t)l3, (uint16_t)size);
	return true;
}
