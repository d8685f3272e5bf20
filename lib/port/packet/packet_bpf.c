// SPDX-License-Identifier: BSD-3-Clause
// bpf(2) by itself: two commands are no reason for a library.
#include "packet/packet_bpf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>

#define TCX_INGRESS 46 // enum bpf_attach_type; Debian 12's headers lack it (Linux 6.6)

// BPF_LINK_CREATE as Linux 6.6 knows it.
struct link_create {
	uint32_t program, index, type, flags;
	uint32_t relative;
	uint32_t unused;
	uint64_t revision;
};

int packet_bpf_load(enum packet_bpf_as as, const struct bpf_insn *code, uint32_t nb)
{
	union bpf_attr load;
	int fd;

	memset(&load, 0, sizeof(load)); // the kernel wants holes to be zero, too
	load.prog_type =
		as == PACKET_BPF_SOCKET ? BPF_PROG_TYPE_SOCKET_FILTER : BPF_PROG_TYPE_SCHED_CLS;
	load.insns = (uintptr_t)code;
	load.insn_cnt = nb;
	load.license = (uintptr_t) "BSD";
	snprintf(load.prog_name, sizeof(load.prog_name), "slipring_packet");
	fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load));
	return fd >= 0 ? fd : -errno;
}

int packet_bpf_filter(int socket, int program)
{
	return setsockopt(socket, SOL_SOCKET, SO_ATTACH_BPF, &program, sizeof(program)) == 0
		? 0
		: -errno;
}

int packet_bpf_attach(int index, int program)
{
	struct link_create link = {
		.program = (uint32_t)program, .index = (uint32_t)index, .type = TCX_INGRESS};
	const int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof(link));

	return fd >= 0 ? fd : -errno;
}
