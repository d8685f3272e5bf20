// SPDX-License-Identifier: BSD-3-Clause
// exception_rules.c: what an exception port carries. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "exception/learn_rules.h"

struct conf;
struct net_frame;

#define EXC_PORT_WORDS (65536 / 64)

struct exception_rules {
	// Ports by [tcp]: ours on which the kernel serves, others' of which it is a client.
	uint64_t served[2][EXC_PORT_WORDS], used[2][EXC_PORT_WORDS];
	uint16_t client_lo, client_hi; // UDP ports of ours that it is a client from
	bool ping, ping_out; // pings both ways; those of the kernel
	struct endpoint *endpoint; // TCP listeners, each on its own address
	uint32_t nb_at;
	struct learn_rules learn; // what the port learns; nothing, for most
};

// One packet, from our side. proto is IPPROTO_TCP or _UDP.
struct exception_flow {
	uint8_t proto;
	uint16_t our_port, their_port;
	struct addr ours;
};

// Makes the rules from what a port's entry allows. 0 or -ENOMEM.
int exception_rules_init(struct exception_rules *r, const struct conf *c, uint32_t port);
void exception_rules_free(struct exception_rules *r);
// May a packet come out of the kernel, or is an ICMP error about one for it?
bool exception_rules_out(const struct exception_rules *r, const struct exception_flow *f);
// May a packet go into the kernel? begins: a TCP segment that begins a connection.
bool exception_rules_in(
	const struct exception_rules *r, const struct exception_flow *f, bool begins);
// The same for ICMP messages that are not ND; f is the parsed frame, icmp its message. An error is
// for the kernel when it is about a packet that may have come out of it. *about is that packet; its
// proto is 0 when it is neither TCP nor UDP.
bool exception_rules_icmp_in(const struct exception_rules *r, const struct net_frame *f,
	const uint8_t *icmp, struct exception_flow *about);
bool exception_rules_icmp_out(
	const struct exception_rules *r, const struct net_frame *f, const uint8_t *icmp);
