// SPDX-License-Identifier: BSD-3-Clause
// Sends frames through a packet socket, a burst with one system call. Each frame has a virtio-net
// header, so that runs of datagrams can be sent as super-frames (super.h): the kernel passes a
// super-frame down whole and cuts it if the NIC does not. A super-frame that it refuses is cut
// here, and frames that cannot be sent at once are kept.
#include "packet/packet_tx.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "counter.h"
#include "port.h"
#include "port_log.h"
#include "super/super.h"
#include "vnet_hdr.h"

#define BURST 32 // most messages of one call
#define PIECES (BURST * 2 + PACKET_SUPER_BUFS + 1) // most pieces of one call

// Arguments of a call of sendmmsg(2).
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

// Adds a frame as message i. False if there is no room left, or it is a super-frame that must be
// cut.
static bool add_frame(
	const struct packet_tx *q, struct sending *s, unsigned int i, const struct rte_mbuf *m)
{
	static const struct virtio_net_hdr nothing; // says that the checksum is complete
	const struct virtio_net_hdr *h = &nothing;
	struct iovec *iov = &s->iov[s->pieces];

	if (s->pieces + m->nb_segs + 1u > PIECES)
		return false;
	if (is_super(m)) {
		if (__atomic_load_n(&q->port->uso.segments, __ATOMIC_RELAXED) == 0 ||
			vnet_hdr_super(&s->super[i], m) != 0)
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

// Sends frames in one call. Returns the number that the kernel accepted, -errno if it refused the
// first, or 0 if the first is a super-frame that must be cut.
static int offer_frames(const struct packet_tx *q, struct rte_mbuf **m, uint16_t n)
{
	struct sending s;
	unsigned int nb = 0;
	int sent;

	s.pieces = 0;
	while (nb < n && nb < BURST && add_frame(q, &s, nb, m[nb]))
		nb++;
	if (nb == 0)
		return 0;
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

// Handles a super-frame that the kernel refuses.
static void super_refused(const struct packet_tx *q, int error)
{
	// several workers may detect this at once; only one logs it
	if (__atomic_exchange_n(&q->port->uso.segments, 0, __ATOMIC_RELAXED) != 0)
		PORT_LOG(WARNING,
			"port %s: the kernel refuses UDP super-frames (%s): from now on they are "
			"cut before they are sent, which is slower",
			q->port->name, strerror(error));
}

// Sends frames, and returns the number sent, or dropped because the kernel will never accept them.
// Stops if the kernel accepts no more now or, with *cut set, before a super-frame that must be cut.
//
// ENOBUFS means that the kernel accepted a frame and dropped it: a queue is full, or an egress rule
// refuses it. Later frames may have other destinations.
static uint16_t frames_send(struct packet_tx *q, struct rte_mbuf **m, uint16_t n, bool *cut)
{
	uint16_t sent = 0;

	*cut = false;
	while (sent < n && !*cut) {
		const int more = offer_frames(q, m + sent, (uint16_t)(n - sent));

		if (likely(more > 0)) {
			rte_pktmbuf_free_bulk(m + sent, (unsigned int)more);
			sent = (uint16_t)(sent + more);
		} else if (is_later(-more)) {
			break;
		} else if (is_super(m[sent]) && more != -ENOBUFS) {
			*cut = true;
			if (more < 0)
				super_refused(q, -more);
		} else {
			counter_add(&q->errors, 1);
			rte_pktmbuf_free(m[sent++]);
		}
	}
	return sent;
}

// Kept frames are never super-frames.
static uint16_t kept_send(void *queue, struct rte_mbuf **m, uint16_t n)
{
	bool cut;

	return frames_send(queue, m, n, &cut);
}

void packet_tx_init(struct packet_tx *q, int fd, struct rte_mempool *pool, struct port *port)
{
	*q = (struct packet_tx){.fd = fd, .port = port};
	q->kept = (struct super_kept){.send = kept_send,
		.queue = q,
		.pool = pool,
		.most = PACKET_USO_SEGMENTS,
		.errors = &q->errors};
}

uint16_t packet_tx_burst(struct packet_tx *q, struct rte_mbuf **m, uint16_t n)
{
	uint16_t sent = 0;
	bool cut = true;

	// frames after a cut super-frame wait until all of that is sent
	while (sent < n && cut && (likely(q->kept.nb == 0) || super_kept_send(&q->kept))) {
		sent = (uint16_t)(sent + frames_send(q, m + sent, (uint16_t)(n - sent), &cut));
		if (unlikely(cut)) {
			if (!super_kept_cut(&q->kept, m[sent]))
				break;
			sent++;
		}
	}
	return sent;
}
