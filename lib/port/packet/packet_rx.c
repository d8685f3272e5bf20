// SPDX-License-Identifier: BSD-3-Clause
// Receives with TPACKET_V2: the kernel writes each frame into a slot of the ring, where it is
// visible at once, and a burst is copied from there without a system call. (TPACKET_V3 shows frames
// a block at a time, milliseconds later when there are few.) A slot has room for an ordinary frame.
// A super-frame does not fit; the kernel also queues it at the socket, and it is read from there.
#include "packet/packet_rx.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/if_packet.h>

#include "counter.h"
#include "invariant.h"
#include "net.h"
#include "vnet_hdr.h"

#define BLOCK 65536u // least bytes that the kernel allocates at a time
#define SLOT_MIN 2048u
#define FRAME_MAX (65535u + NET_ETH_LEN)
#define BUFS_MAX 64

// Most bytes before a frame in its slot: the kernel's headers, the virtio-net header, and
// alignment.
#define BEFORE (TPACKET2_HDRLEN + TPACKET_ALIGNMENT + sizeof(struct virtio_net_hdr) + NET_ETH_LEN)

static uint32_t slot_len(uint16_t mtu)
{
	uint32_t len = SLOT_MIN;

	while (len < BEFORE + NET_ETH_LEN + NET_VLAN_LEN + mtu)
		len *= 2;
	return len;
}

int packet_rx_prepare(int fd)
{
	const int version = TPACKET_V2, on = 1;
	const int super = 32 * (int)FRAME_MAX; // super-frames that may wait at the socket

	if (setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) != 0 ||
		setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)) != 0 ||
		setsockopt(fd, SOL_PACKET, PACKET_COPY_THRESH, &on, sizeof(on)) != 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &super, sizeof(super)) != 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &super, sizeof(super));
	return 0;
}

// Makes a ring of `slots` slots for a socket. NULL with errno.
static uint8_t *ring_make(int fd, uint32_t slots, uint32_t len)
{
	const uint32_t block = RTE_MAX(BLOCK, len);
	const struct tpacket_req req = {.tp_block_size = block,
		.tp_block_nr = slots / (block / len),
		.tp_frame_size = len,
		.tp_frame_nr = slots};
	void *ring;

	if (setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &req, sizeof(req)) != 0)
		return NULL;
	ring = mmap(NULL, (size_t)slots * len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		fd, 0);
	return ring != MAP_FAILED ? ring : NULL;
}

int packet_rx_init(
	struct packet_rx *q, int fd, uint32_t frames, uint16_t mtu, struct rte_mempool *pool)
{
	const uint32_t len = slot_len(mtu), of_block = RTE_MAX(BLOCK, len) / len;

	*q = (struct packet_rx){.fd = fd,
		.pool = pool,
		.slots = (frames + of_block - 1) / of_block * of_block,
		.slot_len = len};
	q->ring = q->mapped = ring_make(fd, q->slots, len);
	return q->ring != NULL ? 0 : -errno;
}

static void ring_free(const struct packet_rx *q, uint8_t *ring)
{
	if (ring != NULL)
		munmap(ring, (size_t)q->slots * q->slot_len);
}

void packet_rx_free(struct packet_rx *q)
{
	if (q->next != q->mapped)
		ring_free(q, q->next);
	ring_free(q, q->mapped);
	q->ring = q->mapped = q->next = NULL;
}

// --- another socket ------------------------------------------------------------------------------

int packet_rx_replace(struct packet_rx *q, int fd)
{
	uint8_t *ring;

	if (q->next != NULL && q->next != q->mapped) // the ring was given already
		return 0;
	ring = ring_make(fd, q->slots, q->slot_len);
	if (ring == NULL)
		return -errno;
	__atomic_store_n(&q->next, ring, __ATOMIC_RELEASE);
	return 0;
}

bool packet_rx_is_taken(const struct packet_rx *q)
{
	return __atomic_load_n(&q->taken, __ATOMIC_ACQUIRE) == q->next;
}

int packet_rx_replaced(struct packet_rx *q, int fd)
{
	// the old ring is not used any more, and is freed with its mapping
	ring_free(q, q->mapped);
	q->mapped = q->next;
	return dup3(fd, q->fd, O_CLOEXEC) >= 0 ? 0 : -errno;
}

void packet_rx_tick(struct packet_rx *q)
{
	uint8_t *next = __atomic_load_n(&q->next, __ATOMIC_ACQUIRE);

	if (likely(next == q->taken))
		return;
	q->ring = next;
	q->next_slot = 0;
	__atomic_store_n(&q->taken, next, __ATOMIC_RELEASE);
}

// --- one frame -----------------------------------------------------------------------------------

// Allocates buffers for the longest possible frame. 0 if there are too few.
static unsigned int chain_make(struct packet_rx *q, struct rte_mbuf *buf[BUFS_MAX])
{
	const uint32_t room = rte_pktmbuf_data_room_size(q->pool) - RTE_PKTMBUF_HEADROOM;
	const unsigned int nb = RTE_MIN((FRAME_MAX + room - 1) / room, (uint32_t)BUFS_MAX);

	return rte_pktmbuf_alloc_bulk(q->pool, buf, nb) == 0 ? nb : 0;
}

// Links the buffers that contain len bytes; frees the others.
static struct rte_mbuf *chain_link(struct rte_mbuf *buf[BUFS_MAX], unsigned int nb, uint32_t len)
{
	struct rte_mbuf *first = buf[0];
	unsigned int used = 0;

	first->pkt_len = len;
	for (; used < nb && (len > 0 || used == 0); used++) {
		buf[used]->data_len =
			(uint16_t)RTE_MIN(len, (uint32_t)rte_pktmbuf_tailroom(buf[used]));
		len -= buf[used]->data_len;
		if (used > 0)
			buf[used - 1]->next = buf[used];
	}
	ASSERT(len == 0); // the buffers have room for the longest frame
	first->nb_segs = (uint16_t)used;
	if (used < nb)
		rte_pktmbuf_free_bulk(buf + used, nb - used);
	return first;
}

// Reads a frame of `bytes` bytes from the socket's queue. Skips an error (the interface was down)
// and frames whose slot is gone.
static ssize_t read_one(int fd, struct msghdr *msg, uint32_t bytes)
{
	for (unsigned int tries = 0; tries < 4; tries++) {
		const ssize_t len = recvmsg(fd, msg, MSG_DONTWAIT | MSG_TRUNC);

		if (len >= 0 && len - (ssize_t)sizeof(struct virtio_net_hdr) == (ssize_t)bytes)
			return len;
		if (len < 0 && errno == EAGAIN)
			break;
	}
	return -1;
}

// Reads a frame that is longer than a slot from the socket.
static struct rte_mbuf *long_frame(struct packet_rx *q, struct virtio_net_hdr *h, uint32_t bytes)
{
	struct rte_mbuf *buf[BUFS_MAX];
	struct iovec iov[BUFS_MAX + 1] = {{h, sizeof(*h)}};
	const unsigned int nb = chain_make(q, buf);
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = nb + 1};
	ssize_t len;

	for (unsigned int i = 0; i < nb; i++)
		iov[i + 1] = (struct iovec){
			rte_pktmbuf_mtod(buf[i], void *), rte_pktmbuf_tailroom(buf[i])};
	// without buffers the frame is removed from the queue, too
	len = read_one(q->fd, &msg, bytes);
	if (nb == 0)
		counter_add(&q->nombuf, 1);
	else if (len > (ssize_t)sizeof(*h) && (msg.msg_flags & MSG_TRUNC) == 0)
		return chain_link(buf, nb, (uint32_t)(len - (ssize_t)sizeof(*h)));
	else
		counter_add(&q->errors, 1);
	if (nb > 0)
		rte_pktmbuf_free_bulk(buf, nb);
	return NULL;
}

// Copies a frame out of its slot. NULL if it is dropped.
static struct rte_mbuf *take_frame(
	struct packet_rx *q, const struct tpacket2_hdr *slot, uint32_t status, struct rte_mbuf *m)
{
	const uint8_t *frame = (const uint8_t *)slot + slot->tp_mac;
	struct rte_mbuf *got = m;
	struct virtio_net_hdr h;

	if (unlikely(slot->tp_snaplen < slot->tp_len || slot->tp_len > rte_pktmbuf_tailroom(m))) {
		rte_pktmbuf_free(m);
		got = NULL;
		if ((status & TP_STATUS_COPY) != 0)
			got = long_frame(q, &h, slot->tp_len);
		else
			counter_add(&q->errors, 1);
		if (got == NULL)
			return NULL;
	} else {
		memcpy(&h, frame - sizeof(h), sizeof(h));
		rte_memcpy(rte_pktmbuf_mtod(m, void *), frame, slot->tp_len);
		m->data_len = (uint16_t)slot->tp_len;
		m->pkt_len = slot->tp_len;
	}
	if (likely(vnet_hdr_received(&h, got) == 0))
		return got;
	counter_add(&q->errors, 1);
	rte_pktmbuf_free(got);
	return NULL;
}

uint16_t packet_rx_burst(struct packet_rx *q, struct rte_mbuf **m, uint16_t n)
{
	uint16_t got = 0;

	for (uint16_t tries = 0; tries < n; tries++) {
		struct tpacket2_hdr *slot = (void *)(q->ring + (size_t)q->next_slot * q->slot_len);
		const uint32_t status = __atomic_load_n(&slot->tp_status, __ATOMIC_ACQUIRE);
		struct rte_mbuf *into;

		if ((status & TP_STATUS_USER) == 0)
			break;
		into = rte_pktmbuf_alloc(q->pool);
		if (unlikely(into == NULL)) { // the frame waits
			counter_add(&q->nombuf, 1);
			break;
		}
		m[got] = take_frame(q, slot, status, into);
		got += m[got] != NULL;
		__atomic_store_n(&slot->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
		ASSERT(q->next_slot < q->slots && got <= tries + 1);
		q->next_slot = q->next_slot + 1 < q->slots ? q->next_slot + 1 : 0;
	}
	return got;
}

uint64_t packet_rx_missed(struct packet_rx *q)
{
	struct tpacket_stats s;
	socklen_t len = sizeof(s);

	// reading the kernel's counter resets it
	if (getsockopt(q->fd, SOL_PACKET, PACKET_STATISTICS, &s, &len) != 0)
		s.tp_drops = 0;
	return __atomic_add_fetch(&q->missed, s.tp_drops, __ATOMIC_RELAXED);
}
