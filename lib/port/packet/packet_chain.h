// SPDX-License-Identifier: BSD-3-Clause
// The program of a packet port among others at the ingress of an interface (TCX). It has to be the
// first: one before it that lets a frame pass (TCX_PASS) keeps the frame from all behind it.
// Private to lib/port.
//
// Whoever has a program's descriptor may attach it: no capability is needed. To ask the kernel who
// is attached takes one (CAP_NET_ADMIN), so the chain is watched by its revision: attaching what is
// there already, for a revision, is refused in one way if it is that, and in another if it is not.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct packet_chain {
	int program[2]; // the same text twice, since a chain has no program twice; -1 = none
	unsigned int attached; // the one that is attached
	int link; // by which it is; -1 = it is not
	int index; // of the interface
	uint64_t revision; // of the chain when ours was put first, or lower
	uint32_t credit, looks; // times that it may be put first again; looks so far
	bool behind; // it is not attached, or others may be before it; any thread may read it
};

// What a look has found.
enum packet_chain_news {
	PACKET_CHAIN_SAME,
	PACKET_CHAIN_FIRST, // others were attached or taken away, and ours is the first again
	PACKET_CHAIN_BEHIND, // ours may have others before it, and stays there for now
};

// Sets up a chain without programs.
void packet_chain_init(struct packet_chain *c);
// Attaches the program before all others of the interface with that index; what it was attached to
// before is left. 0, or -errno: -EINVAL before Linux 6.6, which is the first with TCX. Management
// lcore, as all here.
int packet_chain_attach(struct packet_chain *c, int index);
void packet_chain_detach(struct packet_chain *c);
// Looks whether ours is still the first, and puts it there (again): not more than 8 times at once
// and six times a minute, if somebody else insists. Once a second.
enum packet_chain_news packet_chain_look(struct packet_chain *c);
