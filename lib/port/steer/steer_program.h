// SPDX-License-Identifier: BSD-3-Clause
// The BPF program that chooses the queue of a frame by a steer_table, like a NIC with RSS and flow
// rules. PURE. Private to lib/port.
//
//	frame                                   queue
//	UDP to an address and port with a rule  the rule's
//	UDP and TCP                             by the hash of addresses and ports
//	any other IP, fragments, and IPv6 with  by the hash of the addresses: fragments of one
//	an extension header                     datagram come to one queue
//	all other frames                        0
#pragma once

#include <linux/bpf.h>

#define STEER_INSNS_MAX 1200

// The first header of the frames that the kernel passes to the program.
enum steer_begins {
	STEER_AT_ETHERNET, // a TAP
	// A group of packet sockets, whose frames begin at the IP header. Here TCP, which a packet
	// port does not take, gets queue 0, too, and is checked first.
	STEER_AT_IP,
};

// Writes the program; table is the descriptor of an array map with one steer_table. Returns the
// number of instructions.
unsigned int steer_program_make(
	struct bpf_insn out[STEER_INSNS_MAX], int table, enum steer_begins begins);
