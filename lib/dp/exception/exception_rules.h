// SPDX-License-Identifier: BSD-3-Clause
// Traffic that an exception port carries. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "exception/learn_rules.h"

struct conf;
struct net_frame;

#define EXC_PORT_WORDS (65536 / 64)

struct exception_rules {
	// Bit sets of ports; [0] is UDP, [1] is TCP. served: our ports that the kernel serves.
	// used: remote ports that it contacts as a client.
	uint64_t served[2][EXC_PORT_WORDS], used[2][EXC_PORT_WORDS];
	uint16_t client_lo, client_hi; // our UDP ports that the kernel sends from as a client
	bool ping, ping_out; // ping: in both directions; ping_out: only from the kernel
	struct endpoint *endpoint; // TCP listeners, with their addresses
	uint32_t nb_at;
	struct learn_rules learn; // address assignment by the network; not used on most ports
};

// One packet, seen from our side. proto is IPPROTO_TCP or _UDP.
struct exception_flow {
	uint8_t proto;
	uint16_t our_port, their_port;
	struct addr ours;
};

// Makes the rules from the port's configuration. Returns 0 or -ENOMEM.
int exception_rules_init(struct exception_rules *r, const struct conf *c, uint32_t port);
void exception_rules_free(struct exception_rules *r);
// True if the kernel may send a packet. ICMP errors about such a packet go to the kernel.
bool exception_rules_out(const struct exception_rules *r, const struct exception_flow *f);
// True if a packet may go to the kernel. begins: a TCP segment that begins a connection.
bool exception_rules_in(
	const struct exception_rules *r, const struct exception_flow *f, bool begins);
// Like the two functions above, for ICMP messages except ND. f is the parsed frame, icmp its
// message. An ICMP error goes to the kernel if the kernel may have sent the packet that it quotes.
// *about is set to that packet; its proto is 0 if it is neither TCP nor UDP.
bool exception_rules_icmp_in(const struct exception_rules *r, const struct net_frame *f,
	const uint8_t *icmp, struct exception_flow *about);
bool exception_rules_icmp_out(
	const struct exception_rules *r, const struct net_frame *f, const uint8_t *icmp);
