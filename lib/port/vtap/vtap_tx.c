// SPDX-License-Identifier: BSD-3-Clause
// Sends frames to a TAP, one system call each. A super-frame that the kernel does not take is cut,
// and what does not go at once is kept.

#include <errno.h>
#include <sys/uio.h>

#include "port.h"
#include "port_log.h"
#include "super/super.h"
#include "vnet_hdr.h"
#include "vtap/vtap_tx.h"

static void count(uint64_t *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

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

	iov[n++] = (struct iovec){(void *)(uintptr_t)h, VNET_HDR_LEN};
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
		m->nb_segs <= VTAP_SUPER_BUFS && vnet_hdr_super(&h, m) == 0) {
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
