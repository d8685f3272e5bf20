// SPDX-License-Identifier: BSD-3-Clause
// Sends frames through a packet socket, a burst with one system call. Each has a virtio-net header,
// so that runs of datagrams go as super-frames (super.h): the kernel passes a super-frame down
// whole and cuts it where the NIC does not.
#include "packet/packet_tx.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "port.h"
#include "port_log.h"
#include "super.h"
#include "vnet_hdr.h"

#define BURST 32 // messages of one call
#define PIECES (BURST * 2 + PACKET_SUPER_BUFS + 1) // of all of them

static void count(uint64_t *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

// What a call of sendmmsg(2) takes.
struct sending {
	struct virtio_net_hdr super[BURST];
	struct mmsghdr msg[BURST];
	struct iovec iov[PIECES];
	unsigned int pieces;
};

static bool is_super(const struct rte_mbuf *m)
{
	return (m->ol_flags & RTE_MBUF_F_TX_UDP_SEG) != 0;
}

// Adds a frame as message i. False: there is no room left, or it is none that can be sent.
static bool add(struct sending *s, unsigned int i, const struct rte_mbuf *m)
{
	static const struct virtio_net_hdr nothing; // says that the checksum is whole
	const struct virtio_net_hdr *h = &nothing;
	struct iovec *iov = &s->iov[s->pieces];

	if (s->pieces + m->nb_segs + 1u > PIECES)
		return false;
	if (is_super(m)) {
		if (vnet_hdr_super(&s->super[i], m) != 0)
			return false;
		h = &s->super[i];
	}
	s->msg[i].msg_hdr = (struct msghdr){.msg_iov = iov, .msg_iovlen = m->nb_segs + 1u};
	*iov++ = (struct iovec){(void *)(uintptr_t)h, sizeof(*h)};
	for (; m != NULL; m = m->next)
		*iov++ = (struct iovec){rte_pktmbuf_mtod(m, void *), m->data_len};
	s->pieces = (unsigned int)(iov - s->iov);
	return true;
}

// Offers frames in one call, super-frames whole. Returns how many the kernel took; 0 or -errno when
// it did not take the first.
static int offer(const struct packet_tx *q, struct rte_mbuf **m, uint16_t n)
{
	struct sending s;
	unsigned int nb = 0;
	int sent;

	s.pieces = 0;
	while (nb < n && nb < BURST && add(&s, nb, m[nb]))
		nb++;
	if (nb == 0)
		return -EINVAL;
	sent = sendmmsg(q->fd, s.msg, nb, MSG_DONTWAIT);
	return sent >= 0 ? sent : -errno;
}

static bool is_later(int error)
{
	switch (error) {
	case EAGAIN: // the socket's buffer is full
	case ENOMEM:
	case EINTR:
	case ENETDOWN:
	case ENXIO: // the interface was removed
	case ENODEV:
		return true;
	default:
		return false;
	}
}

// Sends a super-frame in pieces. Pieces that do not go now are lost, and counted.
static void cut_send(struct packet_tx *q, struct rte_mbuf *m)
{
	struct rte_mbuf *piece[PACKET_USO_SEGMENTS];
	const unsigned int n = port_super_cut(m, q->pool, piece, PACKET_USO_SEGMENTS);
	unsigned int sent = 0;

	while (sent < n) {
		const int more = offer(q, piece + sent, (uint16_t)(n - sent));

		if (more <= 0)
			break;
		sent += (unsigned int)more;
	}
	count(sent > 0 ? &q->cut : &q->errors);
	if (n > 0)
		rte_pktmbuf_free_bulk(piece, n);
	__atomic_store_n(&q->errors, q->errors + (n - sent), __ATOMIC_RELAXED);
}

// Deals with a frame that the kernel refuses; it is taken in any case.
static void refused(struct packet_tx *q, struct rte_mbuf *m, int error)
{
	if (!is_super(m)) {
		count(&q->errors);
	} else {
		// several workers may find out at once; only one says so
		if (__atomic_exchange_n(&q->port->uso.segments, 0, __ATOMIC_RELAXED) != 0)
			PORT_LOG(WARNING,
				"port %s: the kernel refuses UDP super-frames (%s): from now on "
				"they are cut before they are sent, which is slower",
				q->port->name, strerror(error));
		cut_send(q, m);
	}
	rte_pktmbuf_free(m);
}

// ENOBUFS says that the kernel has taken a frame and dropped it: a queue is full, or a rule of
// egress refuses it. Those behind it may be others'.
uint16_t packet_tx_burst(struct packet_tx *q, struct rte_mbuf **m, uint16_t n)
{
	uint16_t sent = 0;

	while (sent < n) {
		const int more = offer(q, m + sent, (uint16_t)(n - sent));

		if (more > 0) {
			rte_pktmbuf_free_bulk(m + sent, (unsigned int)more);
			sent = (uint16_t)(sent + more);
			continue;
		}
		if (more == -ENOBUFS) {
			count(&q->errors);
			rte_pktmbuf_free(m[sent++]);
			continue;
		}
		if (is_later(-more))
			break;
		refused(q, m[sent++], -more);
	}
	return sent;
}
