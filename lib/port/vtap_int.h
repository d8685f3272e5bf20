// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of the vtap only.
#pragma once

#include <sys/uio.h>

#include <linux/virtio_net.h>

#include "port_int.h"
#include "vtap.h"

// Newer than Debian 12's headers (Linux 6.2).
#ifndef TUN_F_USO4
#define TUN_F_USO4 0x20
#define TUN_F_USO6 0x40
#endif
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

// The longest frame that comes out of a TAP: an IP packet of 64 KB behind a tagged header.
#define VTAP_FRAME_MAX (65535 + 14 + 4)
// Most segments in a super-frame we send. UDP: what every kernel with USO takes. TCP: 64 KB of the
// smallest segments in use.
#define VTAP_USO_SEGMENTS 64
#define VTAP_TSO_SEGMENTS 256
#define VTAP_SUPER_BUFS 64
#define VTAP_SUPER_BYTES 65535

// --- vtap_hdr.c: the virtio-net header (fields in host order, VIRTIO 1.2 section 5.1.6) ----------

// Makes m, as it was read, what the header says of it: a plain frame with a whole checksum, or a
// received super-frame. -EINVAL when the two do not fit each other; m is then not to be used.
int vtap_hdr_received(const struct virtio_net_hdr *h, struct rte_mbuf *m);
// The header of a super-frame to be sent. -EINVAL when its lengths do not fit it.
int vtap_hdr_super(struct virtio_net_hdr *h, const struct rte_mbuf *m);

// --- vtap_queue.c: frames in and out of a file descriptor ---------------------------------------

// A descriptor in non-blocking mode that gives and takes whole frames. One lcore at a time.
struct vtap_rx {
	int fd;
	uint16_t nb_bufs; // for a read: one, or what a super-frame fills
	uint16_t empty; // of these the first ones are to be filled again
	struct rte_mempool *pool;
	struct rte_mbuf **buf;
	struct iovec *iov;
	uint64_t errors, nombuf; // written by that lcore, read by any thread
} __rte_cache_aligned;

struct vtap_tx {
	int fd;
	struct port *port; // its super-frames are switched off here
	struct rte_mempool *pool; // for what a super-frame is cut into
	// Rest of a super-frame that had to be cut: sent before anything else.
	uint16_t kept_at, kept;
	struct rte_mbuf *keep[VTAP_TSO_SEGMENTS]; // more than one of either kind is made of
	uint64_t errors, cut; // written by that lcore, read by any thread
} __rte_cache_aligned;

// super: room for super-frames. -ENOMEM; vtap_rx_free is to be called all the same.
int vtap_rx_init(struct vtap_rx *q, int fd, struct rte_mempool *pool, bool super);
void vtap_rx_free(struct vtap_rx *q);
uint16_t vtap_rx_burst(struct vtap_rx *q, struct rte_mbuf **m, uint16_t n);

void vtap_tx_init(struct vtap_tx *q, int fd, struct rte_mempool *pool, struct port *port);
void vtap_tx_free(struct vtap_tx *q);
// Frames taken; less than n when the kernel takes no more now.
uint16_t vtap_tx_burst(struct vtap_tx *q, struct rte_mbuf **m, uint16_t n);

// --- vtap_steer.c -------------------------------------------------------------------------------

// Fixes the queue of every flow, for the interface that a descriptor is a queue of. 0 or -errno
// (-EPERM without CAP_BPF): the kernel then chooses as it likes.
int vtap_steer(int queue);

// --- vtap_iface.c: the kernel's end -------------------------------------------------------------

struct vtap_iface {
	int queue[VTAP_QUEUES_MAX]; // a descriptor each
	unsigned int nb_queues;
	int control; // socket in the interface's network namespace
	int counters; // /proc/net/dev of that namespace
	int index; // of the interface
	enum vtap_offload granted;
};

// Makes the interface with the queues of p and their length. 0, or -1 with the reason written.
int vtap_iface_open(struct vtap_iface *v, const struct port_request *r,
	const struct vtap_spec *spec, const struct port *p);
// Closing the last descriptor removes the interface.
void vtap_iface_close(struct vtap_iface *v);
int vtap_iface_up(const struct vtap_iface *v, bool up); // 0 or -errno
bool vtap_iface_running(const struct vtap_iface *v);
int vtap_iface_mac(const struct vtap_iface *v, uint8_t mac[6]); // 0 or -errno
// Frames that the kernel could not queue for us; false when it does not say.
bool vtap_iface_missed(const struct vtap_iface *v, uint64_t *frames);
