// SPDX-License-Identifier: BSD-3-Clause
// Chooses the queue of a TAP that a frame goes to. Left alone, the kernel moves a flow to the queue
// that the flow's other direction was last sent on, and back after three seconds of silence. At
// each move, frames that wait in one queue are overtaken by frames in the other. Instead a small
// BPF program chooses by addresses and ports, for good. For fragments, and for IPv6 with any
// extension header, it is by addresses alone: all fragments of a datagram then come to one worker.

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/if_tun.h>
#include <rte_common.h>

#include "net.h"
#include "vtap/vtap_steer.h"

#define INSN(c, d, s, o, i)                                                         \
	{                                                                           \
		.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) \
	}
// r0 = the field at an offset of the frame, in host byte order. Beyond the frame's end the program
// ends with 0.
#define LOAD(size, at) INSN(BPF_LD | BPF_ABS | (size), 0, 0, 0, at)
#define XOR_LOAD(at) LOAD(BPF_W, at), INSN(BPF_ALU | BPF_XOR | BPF_X, 7, 0, 0, 0)
#define MOVE(to, from) INSN(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0)
#define JUMP(condition, value, over) INSN(BPF_JMP | (condition) | BPF_K, 0, 0, over, value)

// The kernel takes the result modulo the number of queues.
static const struct bpf_insn program[] = {MOVE(6, 1), // r6: where the loads expect the frame
	INSN(BPF_ALU64 | BPF_MOV | BPF_K, 7, 0, 0, 0), LOAD(BPF_H, NET_ETH_TYPE_AT),
	JUMP(BPF_JEQ, NET_ETHERTYPE_IP6, 10), // to IPv6
	JUMP(BPF_JNE, NET_ETHERTYPE_IP4, 22), // all else: to the end
	XOR_LOAD(26), XOR_LOAD(30), LOAD(BPF_H, 20),
	JUMP(BPF_JSET, NET_IP4_FRAGMENTED, 16), // a fragment: to the end, all of a packet alike
	XOR_LOAD(34), JUMP(BPF_JA, 0, 13), // to the end
	XOR_LOAD(22), XOR_LOAD(34), XOR_LOAD(38), XOR_LOAD(50), // IPv6
	LOAD(BPF_B, 20), JUMP(BPF_JEQ, NET_PROTO_UDP, 1),
	JUMP(BPF_JNE, NET_PROTO_TCP, 2), // no ports there: to the end
	XOR_LOAD(54), INSN(BPF_ALU | BPF_MUL | BPF_K, 7, 0, 0, (int32_t)0x9e3779b1), // the end: mix
	INSN(BPF_ALU | BPF_RSH | BPF_K, 7, 0, 0, 16), MOVE(0, 7),
	INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)};

int vtap_steer(int queue)
{
	union bpf_attr load = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = (uintptr_t)program,
		.insn_cnt = RTE_DIM(program),
		.license = (uintptr_t) "BSD",
	};
	const int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load));
	int rc;

	if (fd < 0)
		return -errno;
	rc = ioctl(queue, TUNSETSTEERINGEBPF, &fd) == 0 ? 0 : -errno;
	close(fd); // the interface holds the program
	return rc;
}
