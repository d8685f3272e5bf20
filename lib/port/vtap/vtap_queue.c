// SPDX-License-Identifier: BSD-3-Clause
// Moves frames of a TAP, one system call each. A read has to offer room for the longest frame
// before anybody knows which frame comes. So a queue holds as many buffers as that frame fills, and
// replaces only those that were used: an ordinary frame takes one, and an empty poll none.

#include <errno.h>
#include <stdlib.h>

#include "super.h"
#include "vtap_int.h"

#define HEADER_LEN sizeof(struct virtio_net_hdr)

_Static_assert(HEADER_LEN <= RTE_PKTMBUF_HEADROOM, "the header is read into the headroom");

static void count(uint64_t *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

// --- receive ------------------------------------------------------------------------------------

int vtap_rx_init(struct vtap_rx *q, int fd, struct rte_mempool *pool, bool super)
{
	const uint32_t room = rte_pktmbuf_data_room_size(pool) - RTE_PKTMBUF_HEADROOM;

	*q = (struct vtap_rx){.fd = fd, .pool = pool, .nb_bufs = 1};
	if (super)
		q->nb_bufs = (uint16_t)((VTAP_FRAME_MAX + room - 1) / room);
	q->empty = q->nb_bufs;
	q->buf = calloc(q->nb_bufs, sizeof(*q->buf));
	q->iov = calloc(q->nb_bufs, sizeof(*q->iov));
	return q->buf != NULL && q->iov != NULL ? 0 : -ENOMEM;
}

void vtap_rx_free(struct vtap_rx *q)
{
	for (unsigned int i = q->empty; q->buf != NULL && i < q->nb_bufs; i++)
		rte_pktmbuf_free(q->buf[i]);
	free(q->buf);
	free(q->iov);
	q->buf = NULL;
	q->iov = NULL;
}

// Fills the used places again. The virtio-net header goes into the headroom of the first buffer.
static bool refill(struct vtap_rx *q)
{
	if (rte_pktmbuf_alloc_bulk(q->pool, q->buf, q->empty) != 0) {
		count(&q->nombuf);
		return false;
	}
	for (unsigned int i = 0; i < q->empty; i++) {
		q->iov[i].iov_base = rte_pktmbuf_mtod(q->buf[i], void *);
		q->iov[i].iov_len = rte_pktmbuf_tailroom(q->buf[i]);
	}
	q->iov[0].iov_base = (char *)q->iov[0].iov_base - HEADER_LEN;
	q->iov[0].iov_len += HEADER_LEN;
	q->empty = 0;
	return true;
}

// Takes the buffers that len bytes of a frame were read into.
static struct rte_mbuf *take(struct vtap_rx *q, uint32_t len)
{
	struct rte_mbuf *first = q->buf[0], *last = first;
	uint32_t left = len;

	first->pkt_len = len;
	for (;;) {
		last->data_len = (uint16_t)RTE_MIN(left, (uint32_t)rte_pktmbuf_tailroom(last));
		left -= last->data_len;
		q->empty++;
		if (left == 0)
			break;
		last->next = q->buf[q->empty];
		last = last->next;
		first->nb_segs++;
	}
	return first;
}

uint16_t vtap_rx_burst(struct vtap_rx *q, struct rte_mbuf **m, uint16_t n)
{
	struct virtio_net_hdr h;
	uint16_t got = 0;

	for (uint16_t tries = 0; tries < n; tries++) {
		ssize_t len;

		if (q->empty > 0 && !refill(q))
			break;
		len = readv(q->fd, q->iov, q->nb_bufs);
		if (len < 0 && (errno == EAGAIN || errno == EBADFD)) // nothing there; removed
			break;
		if (len <= (ssize_t)HEADER_LEN) {
			count(&q->errors);
			continue;
		}
		memcpy(&h, q->iov[0].iov_base, sizeof(h));
		m[got] = take(q, (uint32_t)len - HEADER_LEN);
		if (unlikely(vtap_hdr_received(&h, m[got]) != 0)) {
			count(&q->errors);
			rte_pktmbuf_free(m[got]);
			continue;
		}
		got++;
	}
	return got;
}

// --- transmit -----------------------------------------------------------------------------------

enum written { WRITTEN, LATER, REFUSED };

void vtap_tx_init(struct vtap_tx *q, int fd, struct rte_mempool *pool, struct port *port)
{
	*q = (struct vtap_tx){.fd = fd, .pool = pool, .port = port};
}

void vtap_tx_free(struct vtap_tx *q)
{
	for (; q->kept > 0; q->kept--) {
		rte_pktmbuf_free(q->keep[q->kept_at++]);
		count(&q->errors);
	}
}

static enum written frame_write(
	const struct vtap_tx *q, const struct virtio_net_hdr *h, const struct rte_mbuf *m)
{
	struct iovec iov[VTAP_SUPER_BUFS + 1];
	int n = 0;

	iov[n++] = (struct iovec){(void *)(uintptr_t)h, HEADER_LEN};
	for (; m != NULL; m = m->next) {
		if (n == RTE_DIM(iov))
			return REFUSED;
		iov[n++] = (struct iovec){rte_pktmbuf_mtod(m, void *), m->data_len};
	}
	if (writev(q->fd, iov, n) >= 0)
		return WRITTEN;
	switch (errno) {
	case EAGAIN:
	case ENOBUFS:
	case ENOMEM:
	case EINTR:
	case EIO: // the interface is down
	case EBADFD: // it was removed
		return LATER;
	default:
		return REFUSED;
	}
}

// Sends a plain frame. True when m is taken: sent, or given up because the kernel will never take
// it.
static bool plain_send(struct vtap_tx *q, struct rte_mbuf *m)
{
	static const struct virtio_net_hdr nothing; // says that the checksum is whole
	const enum written w = frame_write(q, &nothing, m);

	if (unlikely(w == LATER))
		return false;
	if (unlikely(w == REFUSED))
		count(&q->errors);
	rte_pktmbuf_free(m);
	return true;
}

// Sends the kept frames first, so that the order within a flow stays.
static bool kept_send(struct vtap_tx *q)
{
	while (q->kept > 0) {
		if (!plain_send(q, q->keep[q->kept_at]))
			return false;
		q->kept_at++;
		q->kept--;
	}
	return true;
}

// Sends a super-frame in pieces; no pieces of an earlier one are kept any more. Once the first
// piece has gone the others have to follow, so those that cannot go now are kept.
static bool cut_send(struct vtap_tx *q, struct rte_mbuf *m)
{
	const unsigned int n = port_super_cut(m, q->pool, q->keep, VTAP_TSO_SEGMENTS);

	if (n == 0) {
		const bool wrong =
			port_super_frames(m) == 1 || port_super_frames(m) > VTAP_TSO_SEGMENTS;

		if (wrong) { // headers contradict it, or it is longer than we take
			count(&q->errors);
			rte_pktmbuf_free(m);
		}
		return wrong;
	}
	q->kept_at = 0;
	q->kept = (uint16_t)n;
	if (!kept_send(q) && q->kept == n) {
		rte_pktmbuf_free_bulk(q->keep, n);
		q->kept = 0;
		return false;
	}
	count(&q->cut);
	rte_pktmbuf_free(m);
	return true;
}

static bool super_send(struct vtap_tx *q, struct rte_mbuf *m)
{
	const bool udp = (m->ol_flags & RTE_MBUF_F_TX_UDP_SEG) != 0;
	struct port_super *super = udp ? &q->port->uso : &q->port->tso;
	struct virtio_net_hdr h;

	if (__atomic_load_n(&super->segments, __ATOMIC_RELAXED) != 0 &&
		m->nb_segs <= VTAP_SUPER_BUFS && vtap_hdr_super(&h, m) == 0) {
		const enum written w = frame_write(q, &h, m);

		if (w == WRITTEN)
			rte_pktmbuf_free(m);
		if (w != REFUSED)
			return w == WRITTEN;
		// several workers may find out at once; only one says so
		if (__atomic_exchange_n(&super->segments, 0, __ATOMIC_RELAXED) != 0)
			PORT_LOG(WARNING,
				"port %s: the kernel refuses %s super-frames (%s): from now on "
				"they are cut before they are sent, which is slower",
				q->port->name, udp ? "UDP" : "TCP", strerror(errno));
	}
	return cut_send(q, m);
}

uint16_t vtap_tx_burst(struct vtap_tx *q, struct rte_mbuf **m, uint16_t n)
{
	uint16_t i;

	if (unlikely(q->kept > 0) && !kept_send(q))
		return 0;
	for (i = 0; i < n; i++) {
		const bool super =
			(m[i]->ol_flags & (RTE_MBUF_F_TX_UDP_SEG | RTE_MBUF_F_TX_TCP_SEG)) != 0;

		// frames behind a cut super-frame wait until all of it has gone
		if (unlikely(q->kept > 0) ||
			!(unlikely(super) ? super_send(q, m[i]) : plain_send(q, m[i])))
			break;
	}
	return i;
}
