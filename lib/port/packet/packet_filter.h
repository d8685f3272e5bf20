// SPDX-License-Identifier: BSD-3-Clause
// The programs by which a packet port and the kernel share what comes in on an interface. PURE.
// Private to lib/port.
#pragma once

#include <stdint.h>

struct bpf_insn;
struct port_own;

// Who asks about a frame.
enum packet_filter_for {
	// The packet socket. It takes the UDP that is ours, with all later fragments of UDP, ARP,
	// neighbour solicitations and advertisements, and ICMP errors about UDP: 0 = not.
	PACKET_FILTER_SOCKET,
	// The kernel. It loses the UDP that is ours (TCX_DROP), of fragmented datagrams the first
	// fragment, and has all else (TCX_NEXT: other programs judge it).
	PACKET_FILTER_KERNEL,
};

// Longer ones have jumps that the instructions cannot express.
#define PACKET_FILTER_CODE_MAX 32000

// Brings own into the order that the search wants: what moves stands first.
void packet_filter_sort(struct port_own *owned, uint32_t nb);
// What a program is made for.
struct packet_filter {
	enum packet_filter_for whom;
	const struct port_own *owned; // nb_own, sorted; the caller's
	uint32_t nb_own;
	int moving; // descriptor of a struct packet_moving (bpf_sys_share), where something moves
};

// Makes a program. Returns instructions to be freed, and their number in *nb. NULL with errno:
// ENOMEM, or E2BIG when it would be longer than PACKET_FILTER_CODE_MAX.
struct bpf_insn *packet_filter_make(const struct packet_filter *f, uint32_t *nb);
