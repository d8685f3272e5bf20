// SPDX-License-Identifier: BSD-3-Clause
// The BPF program that chooses the queue of a frame as a NIC with RSS and flow rules does, by a
// steer_table. PURE. Private to lib/port.
//
//	what comes                              its queue
//	UDP to an address and port with a rule  the rule's
//	UDP and TCP                             by the hash of addresses and ports
//	any other IP, fragments, and IPv6 with  by the hash of the addresses: fragments of one
//	an extension header                     datagram come to one queue
//	all else                                0
#pragma once

#include <linux/bpf.h>

#define STEER_INSNS_MAX 1200

// Where the kernel that asks has a frame begin.
enum steer_begins {
	STEER_AT_ETHERNET, // a TAP
	// A group of packet sockets, which has the packet of a frame alone. Here TCP, which is none
	// of a packet port's, is of queue 0 as well, and is found out first.
	STEER_AT_IP,
};

// Writes the program; table is the descriptor of an array map with one steer_table in it. Returns
// how many instructions.
unsigned int steer_program_make(
	struct bpf_insn out[STEER_INSNS_MAX], int table, enum steer_begins begins);
