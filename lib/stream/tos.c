// SPDX-License-Identifier: BSD-3-Clause
// Sets the DSCP of TCP connections. The kernel handles the ECN bits.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "tos.h"
#include "addr.h"

#define DSCP_BITS 0xfc
#define SYN_MAX 512 // bytes of IP and TCP headers: 60 and 60, and extension headers

static void set_tos(int fd, const struct stream_listener *l, uint8_t tos)
{
	const int value = tos;

	if (addr_is_v4(&l->endpoint.addr))
		setsockopt(fd, IPPROTO_IP, IP_TOS, &value, sizeof(value));
	else
		setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &value, sizeof(value));
}

void tos_listen(int fd, const struct stream_listener *l)
{
	const int save = !l->marked;

	set_tos(fd, l, l->tos);
	setsockopt(fd, IPPROTO_TCP, TCP_SAVE_SYN, &save, sizeof(save));
}

// Reads the traffic class of the SYN that the kernel has kept.
static uint8_t class_of_syn(int fd)
{
	uint8_t syn[SYN_MAX];
	socklen_t len = sizeof(syn);

	if (getsockopt(fd, IPPROTO_TCP, TCP_SAVED_SYN, syn, &len) != 0 || len < 2)
		return 0;
	return syn[0] >> 4 == 4 ? syn[1] : (uint8_t)(syn[0] << 4 | syn[1] >> 4);
}

uint8_t tos_accepted(int fd, const struct stream_listener *l)
{
	uint8_t tos = __atomic_load_n(&l->tos, __ATOMIC_RELAXED);

	if (__atomic_load_n(&l->marked, __ATOMIC_RELAXED))
		return tos;
	tos = class_of_syn(fd) & DSCP_BITS;
	if (tos != 0)
		set_tos(fd, l, tos);
	return tos;
}
