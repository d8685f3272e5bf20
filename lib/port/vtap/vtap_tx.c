// SPDX-License-Identifier: BSD-3-Clause
// Sends frames to a TAP, one system call each. A super-frame that the kernel refuses is cut, and
// frames that cannot be sent at once are kept.

#include <errno.h>
#include <sys/uio.h>

#include "counter.h"
#include "port.h"
#include "port_log.h"
#include "vnet_hdr.h"
#include "vtap/vtap_tx.h"

enum written { WRITTEN, LATER, REFUSED };

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
	case EBADFD: // the interface was removed
		return LATER;
	default:
		return REFUSED;
	}
}

// Sends a plain frame. True if m was sent, or dropped because the kernel will never accept it.
static bool plain_send(struct vtap_tx *q, struct rte_mbuf *m)
{
	static const struct virtio_net_hdr nothing; // says that the checksum is complete
	const enum written w = frame_write(q, &nothing, m);

	if (unlikely(w == LATER))
		return false;
	if (unlikely(w == REFUSED))
		counter_add(&q->errors, 1);
	rte_pktmbuf_free(m);
	return true;
}

static uint16_t kept_send(void *queue, struct rte_mbuf **m, uint16_t n)
{
	uint16_t sent = 0;

	while (sent < n && plain_send(queue, m[sent]))
		sent++;
	return sent;
}

void vtap_tx_init(struct vtap_tx *q, int fd, struct rte_mempool *pool, struct port *port)
{
	*q = (struct vtap_tx){.fd = fd, .port = port};
	q->kept = (struct super_kept){.send = kept_send,
		.queue = q,
		.pool = pool,
		.most = VTAP_TSO_SEGMENTS,
		.errors = &q->errors};
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
		// several workers may detect this at once; only one logs it
		if (__atomic_exchange_n(&super->segments, 0, __ATOMIC_RELAXED) != 0)
			PORT_LOG(WARNING,
				"port %s: the kernel refuses %s super-frames (%s): from now on "
				"they are cut before they are sent, which is slower",
				q->port->name, udp ? "UDP" : "TCP", strerror(errno));
	}
	return super_kept_cut(&q->kept, m);
}

uint16_t vtap_tx_burst(struct vtap_tx *q, struct rte_mbuf **m, uint16_t n)
{
	uint16_t i;

	if (unlikely(q->kept.nb > 0) && !super_kept_send(&q->kept))
		return 0;
	for (i = 0; i < n; i++) {
		const bool super =
			(m[i]->ol_flags & (RTE_MBUF_F_TX_UDP_SEG | RTE_MBUF_F_TX_TCP_SEG)) != 0;

		// frames after a cut super-frame wait until all of that is sent
		if (unlikely(q->kept.nb > 0) ||
			!(unlikely(super) ? super_send(q, m[i]) : plain_send(q, m[i])))
			break;
	}
	return i;
}
