// SPDX-License-Identifier: BSD-3-Clause
// Sends to programs of this host. IPv6 frames are sent over the loopback like over any interface.
// With IPv4 the kernel refuses received frames from its own addresses unless it has routed them
// itself: a raw socket sends those, as packets. It is bound to the loopback, so that packets to
// addresses of other hosts do not leave.
#include "packet/packet_loop.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bytes.h"
#include "counter.h"
#include "net.h"
#include "packet/packet_tx.h"

#define BURST 32 // most messages of one call
#define PIECES 64 // most pieces of a packet

int packet_loop_open(const char *interface, int send_buffer)
{
	const int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	struct ifreq name = {.ifr_ifindex = 0};
	int rc;

	if (fd < 0)
		return -errno;
	memcpy(name.ifr_name, interface, strnlen(interface, IFNAMSIZ - 1));
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, &name, sizeof(name)) != 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &send_buffer, sizeof(send_buffer)) != 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(send_buffer));
	return fd;
}

static bool is_v4(const struct rte_mbuf *m)
{
	return load_be16(rte_pktmbuf_mtod(m, const uint8_t *) + NET_ETH_TYPE_AT) ==
		NET_ETHERTYPE_IP4;
}

// Returns the number of leading frames with the family of the first one.
static uint16_t count_run(struct rte_mbuf *const *m, uint16_t n)
{
	const bool first = is_v4(m[0]);
	uint16_t i = 1;

	while (i < n && i < BURST && is_v4(m[i]) == first)
		i++;
	return i;
}

// Lists the pieces of the packet in a frame. Returns their number; 0 if there are too many.
static unsigned int fill_iovec(const struct rte_mbuf *m, struct iovec iov[PIECES])
{
	unsigned int n = 0;

	if (m->nb_segs > PIECES)
		return 0;
	iov[n++] = (struct iovec){
		rte_pktmbuf_mtod_offset(m, void *, NET_ETH_LEN), (size_t)m->data_len - NET_ETH_LEN};
	for (m = m->next; m != NULL; m = m->next)
		iov[n++] = (struct iovec){rte_pktmbuf_mtod(m, void *), m->data_len};
	return n;
}

static bool is_later(int error)
{
	return error == EAGAIN || error == ENOMEM || error == EINTR;
}

// Sends a run of IPv4 frames. Returns the number of frames sent or dropped.
static uint16_t send_run4(struct packet_loop *q, struct rte_mbuf **m, uint16_t n)
{
	struct sockaddr_in dst[BURST];
	struct mmsghdr msg[BURST];
	struct iovec iov[BURST][PIECES];
	uint16_t done = 0;

	for (uint16_t i = 0; i < n; i++) {
		const uint8_t *ip = rte_pktmbuf_mtod_offset(m[i], const uint8_t *, NET_ETH_LEN);

		dst[i] = (struct sockaddr_in){.sin_family = AF_INET};
		memcpy(&dst[i].sin_addr, ip + NET_IP4_ADDRS_AT + 4, 4);
		msg[i].msg_hdr = (struct msghdr){.msg_name = &dst[i],
			.msg_namelen = sizeof(dst[i]),
			.msg_iov = iov[i],
			.msg_iovlen = fill_iovec(m[i], iov[i])};
	}
	while (done < n) {
		const int sent =
			sendmmsg(q->fd, msg + done, (unsigned int)(n - done), MSG_DONTWAIT);

		if (sent > 0) {
			rte_pktmbuf_free_bulk(m + done, (unsigned int)sent);
			done = (uint16_t)(done + sent);
		} else if (sent < 0 && is_later(errno)) {
			break;
		} else { // not an address of the kernel, or a rule refuses it
			counter_add(&q->errors, 1);
			rte_pktmbuf_free(m[done++]);
		}
	}
	return done;
}

uint16_t packet_loop_burst(
	struct packet_loop *q, struct packet_tx *tx, struct rte_mbuf **m, uint16_t n)
{
	uint16_t sent = 0;

	while (sent < n) {
		const uint16_t run_len = count_run(m + sent, (uint16_t)(n - sent));
		const uint16_t more = is_v4(m[sent]) ? send_run4(q, m + sent, run_len)
						     : packet_tx_burst(tx, m + sent, run_len);

		sent = (uint16_t)(sent + more);
		if (more < run_len)
			break;
	}
	return sent;
}
