// SPDX-License-Identifier: BSD-3-Clause
// The programs that divide the received frames of an interface between a packet port and the
// kernel. PURE. Private to lib/port.
#pragma once

#include <stdint.h>

struct bpf_insn;
struct port_own;

// The receiver that a program filters for.
enum packet_filter_for {
	// The packet socket. It accepts our UDP and all later fragments of UDP, ARP, neighbour
	// solicitations and advertisements, and ICMP errors about UDP; 0 = refused.
	PACKET_FILTER_SOCKET,
	// The kernel. It does not get our UDP (TCX_DROP; of fragmented datagrams only the first
	// fragment is dropped), and gets all other frames (TCX_NEXT: other programs may filter
	// them).
	PACKET_FILTER_KERNEL,
};

// Sorts the rows for the search: those with moves come first.
void packet_filter_sort(struct port_own *owned, uint32_t nb);
// Parameters of a program.
struct packet_filter {
	enum packet_filter_for whom;
	const struct port_own *owned; // nb_own rows, sorted; owned by the caller
	uint32_t nb_own;
	int moving; // descriptor of a struct packet_moving (bpf_sys_share), if an address may move
};

// Makes a program. Returns its instructions, which the caller frees, and their number in *nb. NULL
// with errno ENOMEM, or E2BIG if it would be longer than INSN_MAX.
struct bpf_insn *packet_filter_make(const struct packet_filter *f, uint32_t *nb);
