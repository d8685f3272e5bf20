// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of the vtap only.
#pragma once

#include <sys/uio.h>

#include <linux/virtio_net.h>

#include "port_int.h"
#include "vtap.h"

// Debian 12's headers lack these (Linux 6.2).
#ifndef TUN_F_USO4
#define TUN_F_USO4 0x20
#define TUN_F_USO6 0x40
#endif
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

// Bytes of the longest frame that comes out of a TAP: an IP packet of 64 KB behind a tagged header.
#define VTAP_FRAME_MAX (65535 + 14 + 4)
// The most segments in a super-frame that we send. UDP: what every kernel with USO takes. TCP: 64
// KB of the smallest segments in use.
#define VTAP_USO_SEGMENTS 64
#define VTAP_TSO_SEGMENTS 256
#define VTAP_SUPER_BUFS 64
#define VTAP_SUPER_BYTES 65535

// --- vtap_hdr.c: the virtio-net header (fields in host order, VIRTIO 1.2 section 5.1.6) ----------

#define VTAP_HDR_LEN sizeof(struct virtio_net_hdr)

// Turns m, as it was read, into what the header says: a plain frame with a whole checksum, or a
// received super-frame. -EINVAL when header and frame contradict each other; m must then not be
// used.
int vtap_hdr_received(const struct virtio_net_hdr *h, struct rte_mbuf *m);
// Fills the header for a super-frame to be sent. -EINVAL when the lengths in m contradict it.
int vtap_hdr_super(struct virtio_net_hdr *h, const struct rte_mbuf *m);

// --- vtap_rx.c: frames out of a file descriptor --------------------------------------------------

// A queue: a non-blocking descriptor that gives whole frames. One lcore at a time.
struct vtap_rx {
	int fd;
	uint16_t nb_bufs; // buffers for one read: one, or as many as a super-frame fills
	uint16_t empty; // the first of these, which have to be filled again
	struct rte_mempool *pool;
	struct rte_mbuf **buf;
	struct iovec *iov;
	uint64_t errors, nombuf; // written by that lcore, read by any thread
} __rte_cache_aligned;

// super: makes room for super-frames. 0 or -ENOMEM; call vtap_rx_free in either case.
int vtap_rx_init(struct vtap_rx *q, int fd, struct rte_mempool *pool, bool super);
void vtap_rx_free(struct vtap_rx *q);
// Receives up to n frames, and returns how many; the caller owns them.
uint16_t vtap_rx_burst(struct vtap_rx *q, struct rte_mbuf **m, uint16_t n);

// --- vtap_tx.c: frames into a file descriptor ----------------------------------------------------

// A queue: a non-blocking descriptor that takes whole frames. One lcore at a time.
struct vtap_tx {
	int fd;
	struct port *port; // port whose super-frames are switched off here
	struct rte_mempool *pool; // for the frames that a super-frame is cut into
	// The rest of a super-frame that had to be cut; it is sent before anything else.
	uint16_t kept_at, kept;
	struct rte_mbuf *keep[VTAP_TSO_SEGMENTS]; // no super-frame is cut into more
	uint64_t errors, cut; // written by that lcore, read by any thread
} __rte_cache_aligned;

// Sets up a queue; fd, pool and port stay the caller's. vtap_tx_free frees the frames that are
// kept.
void vtap_tx_init(struct vtap_tx *q, int fd, struct rte_mempool *pool, struct port *port);
void vtap_tx_free(struct vtap_tx *q);
// Returns how many frames it took; fewer than n when the kernel takes no more now.
uint16_t vtap_tx_burst(struct vtap_tx *q, struct rte_mbuf **m, uint16_t n);

// --- vtap_steer.c -------------------------------------------------------------------------------

// Fixes the queue of every flow on an interface; queue is the descriptor of one of its queues. 0 or
// -errno (-EPERM without CAP_BPF): the kernel then chooses as it likes.
int vtap_steer(int queue);

// --- vtap_iface.c: the kernel's end -------------------------------------------------------------

struct vtap_iface {
	int queue[VTAP_QUEUES_MAX]; // one descriptor each
	unsigned int nb_queues;
	int control; // socket in the interface's network namespace
	int counters; // descriptor of /proc/net/dev in that namespace
	int index; // the interface's index
	enum vtap_offload granted;
};

// Makes the interface, with as many queues as p has, and of its ring length. 0, or -1 with the
// reason written.
int vtap_iface_open(struct vtap_iface *v, const struct port_request *r,
	const struct vtap_spec *spec, const struct port *p);
// Closes all descriptors; closing the last one removes the interface.
void vtap_iface_close(struct vtap_iface *v);
int vtap_iface_up(const struct vtap_iface *v, bool up); // 0 or -errno
bool vtap_iface_running(const struct vtap_iface *v);
int vtap_iface_mac(const struct vtap_iface *v, uint8_t mac[6]); // 0 or -errno
// The number of frames that the kernel could not queue for us; false when it does not tell.
bool vtap_iface_missed(const struct vtap_iface *v, uint64_t *frames);
