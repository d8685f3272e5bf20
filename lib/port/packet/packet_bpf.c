// SPDX-License-Identifier: BSD-3-Clause
// Loads and attaches the programs of a packet port.
#include "packet/packet_bpf.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/bpf_sys.h"

#define BEFORE (1u << 3) // before all other programs; Debian 12's headers lack it (Linux 6.6)

// Argument of BPF_LINK_CREATE in Linux 6.6.
struct link_create {
	uint32_t program, index, type, flags;
	uint32_t relative;
	uint32_t unused;
	uint64_t revision;
};

int packet_bpf_load(enum packet_bpf_as role, const struct bpf_insn *code, uint32_t nb)
{
	return bpf_sys_load(
		role == PACKET_BPF_SOCKET ? BPF_PROG_TYPE_SOCKET_FILTER : BPF_PROG_TYPE_SCHED_CLS,
		PACKET_BPF_NAME, code, nb);
}

int packet_bpf_filter(int socket, int program)
{
	return setsockopt(socket, SOL_SOCKET, SO_ATTACH_BPF, &program, sizeof(program)) == 0
		? 0
		: -errno;
}

int packet_bpf_attach(int index, int program, uint64_t revision)
{
	struct link_create link = {.program = (uint32_t)program,
		.index = (uint32_t)index,
		.type = PACKET_BPF_TCX_INGRESS,
		.flags = BEFORE,
		.revision = revision};
	const int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof(link));

	return fd >= 0 ? fd : -errno;
}
