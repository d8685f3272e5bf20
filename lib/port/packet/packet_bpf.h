// SPDX-License-Identifier: BSD-3-Clause
// Programs of packet_filter.h in the kernel. All go with the process, however that ends. Private to
// lib/port.
#pragma once

#include <stdint.h>

// enum bpf_attach_type; Debian 12's headers lack it (Linux 6.6)
#define PACKET_BPF_TCX_INGRESS 46
#define PACKET_BPF_NAME "slipring_packet" // that bpftool shows

struct bpf_insn;

// What a program is loaded for.
enum packet_bpf_as { PACKET_BPF_SOCKET, PACKET_BPF_INGRESS };

// Loads a program. A descriptor of it, or -errno: -EPERM without CAP_BPF (for the ingress also
// CAP_NET_ADMIN).
int packet_bpf_load(enum packet_bpf_as role, const struct bpf_insn *code, uint32_t nb);
// Gives a packet socket a program; it holds it from then on. 0 or -errno.
int packet_bpf_filter(int socket, int program);
// Has a program judge, after packet sockets and before all other programs, what the kernel receives
// on the interface of that index: if the chain of programs there has that revision, which is 1
// while there is none, and grows with each change. A descriptor that has to stay open for as
// long, or -errno: -ESTALE if it has another one; else -EEXIST if the program is attached already;
// -EINVAL before Linux 6.6, which is the first with TCX.
int packet_bpf_attach(int index, int program, uint64_t revision);
