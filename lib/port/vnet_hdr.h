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

// Applies the header to m, a frame just read: m becomes a plain frame with a complete checksum, or
// a received super-frame. Returns -EINVAL if header and frame contradict each other; m must not be
// used then.
int vnet_hdr_received(const struct virtio_net_hdr *h, struct rte_mbuf *m);
// Fills the header for a super-frame to send. Returns -EINVAL if the lengths in m contradict it.
int vnet_hdr_super(struct virtio_net_hdr *h, const struct rte_mbuf *m);
