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
	// Ports by [tcp]: our ports that the kernel serves, and remote ports that it connects to.
	uint64_t served[2][EXC_PORT_WORDS], used[2][EXC_PORT_WORDS];
	uint16_t client_lo, client_hi; // our UDP ports that the kernel sends from as a client
	bool ping, ping_out; // pings in both directions; pings from the kernel
	struct endpoint *endpoint; // TCP listeners, with their addresses
	uint32_t nb_at;
	struct learn_rules learn; // frames of address configuration; empty for most ports
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
// True if a packet may come out of the kernel, or an ICMP error about such a packet is for the
// kernel.
bool exception_rules_out(const struct exception_rules *r, const struct exception_flow *f);
// True if a packet may go to the kernel. begins: a TCP segment that begins a connection.
bool exception_rules_in(
	const struct exception_rules *r, const struct exception_flow *f, bool begins);
// These check ICMP messages except ND in the same way. f is the parsed frame, icmp its message. An
// error is for the kernel if it is about a packet that may have come out of it. *about is that
// packet; its proto is 0 if it is neither TCP nor UDP.
bool exception_rules_icmp_in(const struct exception_rules *r, const struct net_frame *f,
	const uint8_t *icmp, struct exception_flow *about);
bool exception_rules_icmp_out(
	const struct exception_rules *r, const struct net_frame *f, const uint8_t *icmp);
