// SPDX-License-Identifier: BSD-3-Clause
// The program of a packet port in the chain of programs at the ingress of an interface (TCX). It
// must be the first: a program before it that returns TCX_PASS hides the frame from all later
// programs. Private to lib/port.
//
// The owner of a program's descriptor may attach it without a capability. Listing the chain needs
// one (CAP_NET_ADMIN), so the chain is watched by its revision: attaching an attached program with
// a given revision fails with one error if the chain has that revision, and with another if not.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct packet_chain {
	int program[2]; // two copies, because a chain cannot have a program twice; -1 = none
	unsigned int attached; // index of the attached copy
	int link; // descriptor of the attachment; -1 = not attached
	int index; // index of the interface
	uint64_t revision; // revision of the chain when our program became the first, or lower
	// Number of times that it may be attached again; number of checks until now.
	uint32_t credit, looks;
	bool behind; // not attached, or maybe not the first; any thread may read it
};

// Result of a look.
enum packet_chain_news {
	PACKET_CHAIN_SAME,
	// Other programs were attached or detached, and our program is the first again.
	PACKET_CHAIN_FIRST,
	PACKET_CHAIN_BEHIND, // other programs may be before our program, which stays there for now
};

// Sets up a chain without programs.
void packet_chain_init(struct packet_chain *c);
// Attaches the program before all others of an interface, and detaches it from its last one.
// Returns 0, or -errno: -EINVAL before Linux 6.6, the first with TCX. Management lcore, like all
// functions here.
int packet_chain_attach(struct packet_chain *c, int index);
void packet_chain_detach(struct packet_chain *c);
// Checks if our program is still the first, and makes it the first again if not: at most 8 times at
// once and six times a minute, in case another program insists on this, too. Call it once a second.
enum packet_chain_news packet_chain_look(struct packet_chain *c);
