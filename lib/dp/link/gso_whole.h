// SPDX-License-Identifier: BSD-3-Clause
// Relays super-frames whole.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "super/super_whole.h"

struct port_super_info;
struct rte_mbuf;
struct worker;

// A super-frame whose first datagram is relayed ahead.
struct whole {
	struct rte_mbuf *m; // NULL: there is no super-frame
	const struct rte_mbuf *first;
	// slot of the allocation; datagrams and bytes of payload in total
	uint32_t slot, frames, len;
	uint32_t rest_bytes; // bytes that all datagrams except the first would have as frames
	uint32_t rest_data; // bytes of data of all except the first
	bool paid; // these are charged to the rates that apply
	uint8_t leg, out; // out: egress port
	bool vouched; // a line vouches for all of it, and the first datagram leaves at once
	struct port_super_edit edit;
};

// Puts the first datagram of m, a UDP super-frame that info describes, into the worker's burst, on
// behalf of all. False, and nothing has changed: no port can send it whole, something else has to
// see each datagram, or there is no buffer.
bool gso_whole_begin(struct worker *w, struct rte_mbuf *m, const struct port_super_info *info);
// Call it with that burst after the look-up, just before it is relayed.
void gso_whole_look(struct worker *w);
// Call it after the burst. True: the others have left with the first one and are counted; m is
// freed. False: they must be cut, and the caller owns m again.
bool gso_whole_end(struct worker *w, uint8_t port);
