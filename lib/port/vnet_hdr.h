// SPDX-License-Identifier: BSD-3-Clause
// The virtio-net header in front of a frame of a TAP or a packet socket (fields in host order,
// VIRTIO 1.2 section 5.1.6). Private to lib/port.
#pragma once

#include <linux/virtio_net.h>

#include <rte_mbuf.h>

// Debian 12's headers lack it (Linux 6.2).
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

#define VNET_HDR_LEN sizeof(struct virtio_net_hdr)

// Turns m, as it was read, into what the header says: a plain frame with a whole checksum, or a
// received super-frame. -EINVAL when header and frame contradict each other; m must then not be
// used.
int vnet_hdr_received(const struct virtio_net_hdr *h, struct rte_mbuf *m);
// Fills the header for a super-frame to be sent. -EINVAL when the lengths in m contradict it.
int vnet_hdr_super(struct virtio_net_hdr *h, const struct rte_mbuf *m);
