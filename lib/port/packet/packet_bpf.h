// SPDX-License-Identifier: BSD-3-Clause
// Loads and attaches the programs of packet_filter.h. All disappear with the process. Private to
// lib/port.
#pragma once

#include <stdint.h>

// enum bpf_attach_type; Debian 12's headers lack it (Linux 6.6)
#define PACKET_BPF_TCX_INGRESS 46
#define PACKET_BPF_NAME "slipring_packet" // name in bpftool

struct bpf_insn;

// The use of a program.
enum packet_bpf_as { PACKET_BPF_SOCKET, PACKET_BPF_INGRESS };

// Loads a program. Returns a descriptor, or -errno: -EPERM without CAP_BPF (for the ingress also
// CAP_NET_ADMIN).
int packet_bpf_load(enum packet_bpf_as role, const struct bpf_insn *code, uint32_t nb);
// Sets the program of a packet socket, which keeps a reference to it. Returns 0 or -errno.
int packet_bpf_filter(int socket, int program);
// Attaches a program that filters the frames received on an interface, after packet sockets and
// before all other programs, if the chain of programs there has that revision. The revision of an
// empty chain is 1, and grows with each change. Returns a descriptor that must stay open, or
// -errno: -ESTALE if the revision differs; else -EEXIST if the program is attached already; -EINVAL
// before Linux 6.6, the first with TCX.
int packet_bpf_attach(int index, int program, uint64_t revision);
