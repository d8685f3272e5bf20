// SPDX-License-Identifier: BSD-3-Clause
// Receives the frames of a TAP, one system call each. A read has to offer room for the longest
// frame, because the next frame is unknown. So a queue holds enough buffers for that frame, and
// replaces only the used ones: a plain frame uses one, and an empty poll none.

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "counter.h"
#include "invariant.h"
#include "vnet_hdr.h"
#include "vtap/vtap_rx.h"

_Static_assert(VNET_HDR_LEN <= RTE_PKTMBUF_HEADROOM, "the header is read into the headroom");

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

// Refills the used buffers. The virtio-net header goes into the headroom of the first buffer.
static bool refill_buffers(struct vtap_rx *q)
{
	if (rte_pktmbuf_alloc_bulk(q->pool, q->buf, q->empty) != 0) {
		counter_add(&q->nombuf, 1);
		return false;
	}
	for (unsigned int i = 0; i < q->empty; i++) {
		q->iov[i].iov_base = rte_pktmbuf_mtod(q->buf[i], void *);
		q->iov[i].iov_len = rte_pktmbuf_tailroom(q->buf[i]);
	}
	q->iov[0].iov_base = (char *)q->iov[0].iov_base - VNET_HDR_LEN;
	q->iov[0].iov_len += VNET_HDR_LEN;
	q->empty = 0;
	return true;
}

// Removes the buffers that contain the len bytes of a frame.
static struct rte_mbuf *take_frame(struct vtap_rx *q, uint32_t len)
{
	struct rte_mbuf *first = q->buf[0], *last = first;
	uint32_t left = len;

	first->pkt_len = len;
	for (;;) {
		last->data_len = (uint16_t)RTE_MIN(left, (uint32_t)rte_pktmbuf_tailroom(last));
		left -= last->data_len;
		ASSERT(q->empty < q->nb_bufs);
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

		if (q->empty > 0 && !refill_buffers(q))
			break;
		len = readv(q->fd, q->iov, q->nb_bufs);
		if (len < 0 && (errno == EAGAIN || errno == EBADFD)) // empty; removed
			break;
		if (len <= (ssize_t)VNET_HDR_LEN) {
			counter_add(&q->errors, 1);
			continue;
		}
		memcpy(&h, q->iov[0].iov_base, sizeof(h));
		m[got] = take_frame(q, (uint32_t)len - VNET_HDR_LEN);
		if (unlikely(vnet_hdr_received(&h, m[got]) != 0)) {
			counter_add(&q->errors, 1);
			rte_pktmbuf_free(m[got]);
			continue;
		}
		got++;
	}
	return got;
}
