// SPDX-License-Identifier: BSD-3-Clause
// A socket joins a group after it is bound (required before Linux 6.13), and cannot be bound again.
// A bound socket that has not joined would get a copy of every frame, and a growing group moves
// flows between sockets. So all sockets receive nothing until the group is complete.
//
// The kernel numbers sockets in the order of joining. When the interface goes down all leave, and
// when it comes up they join in the order of their creation: the list must have that order, too.
#include "packet/packet_fanout.h"

#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include "packet/packet_bpf.h"

#ifndef PACKET_FANOUT_FLAG_IGNORE_OUTGOING
#define PACKET_FANOUT_FLAG_IGNORE_OUTGOING 0x4000 // Linux 5.11
#endif

// Binds a socket that receives nothing yet. ETH_P_ALL: only such a socket gets its copy before the
// program at the ingress drops the frame for the kernel.
static int bind_deaf(int fd, int index, bool sends_only)
{
	struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
	const struct sock_fprog filter = {.len = 1, .filter = &none};
	const struct sockaddr_ll addr = {.sll_family = AF_PACKET,
		.sll_protocol = sends_only ? 0 : htons(ETH_P_ALL),
		.sll_ifindex = index};

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) != 0 ||
		bind(fd, (const struct sockaddr *)(const void *)&addr, sizeof(addr)) != 0)
		return -errno;
	return 0;
}

// Makes the group with the first socket. *group gets the value for the others to join.
static int make_group(int fd, int chooses, uint32_t *group)
{
	socklen_t len = sizeof(*group);

	*group = chooses >= 0 ? PACKET_FANOUT_EBPF : PACKET_FANOUT_HASH;
	*group |= PACKET_FANOUT_FLAG_UNIQUEID | PACKET_FANOUT_FLAG_IGNORE_OUTGOING;
	*group <<= 16;
	if (setsockopt(fd, SOL_PACKET, PACKET_FANOUT, group, sizeof(*group)) != 0 ||
		(chooses >= 0 &&
			setsockopt(fd, SOL_PACKET, PACKET_FANOUT_DATA, &chooses, sizeof(chooses)) !=
				0) ||
		getsockopt(fd, SOL_PACKET, PACKET_FANOUT, group, &len) != 0)
		return -errno;
	// the kernel has chosen an id
	*group &= ~((uint32_t)PACKET_FANOUT_FLAG_UNIQUEID << 16);
	return 0;
}

int packet_fanout_start(const struct packet_fanout *f, const int fd[], unsigned int nb)
{
	uint32_t group;
	int rc = 0;

	for (unsigned int i = 0; i < nb && rc == 0; i++)
		rc = bind_deaf(fd[i], f->index, f->alone && i > 0);
	if (f->alone && nb > 1)
		nb = 1;
	if (nb > 1 && rc == 0)
		rc = make_group(fd[0], f->chooses, &group);
	for (unsigned int i = 1; i < nb && rc == 0; i++)
		if (setsockopt(fd[i], SOL_PACKET, PACKET_FANOUT, &group, sizeof(group)) != 0)
			rc = -errno;
	for (unsigned int i = 0; i < nb && rc == 0; i++)
		rc = packet_bpf_filter(fd[i], f->filter);
	return rc;
}
