// SPDX-License-Identifier: BSD-3-Clause
// gso_whole.c: super-frames that leave as they came, whole.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "super/super_whole.h"

struct port_super_info;
struct rte_mbuf;
struct worker;

// A super-frame whose first datagram goes ahead.
struct whole {
	struct rte_mbuf *m; // NULL: there is none
	const struct rte_mbuf *first;
	uint32_t slot, frames, len; // of its allocation; datagrams and bytes of payload in all
	uint32_t rest_bytes; // of the frames that the others stand for
	uint64_t cost; // taken of the meters for all but the first
	uint8_t leg, out; // out: the port that it leaves by
	bool vouched; // a line vouches for all of it, and the first datagram leaves at once
	struct port_super_edit edit;
};

// Puts the first datagram of m, a super-frame of UDP that info describes, into the worker's burst,
// to be taken for all of them. False, and nothing has been done: there is no port that would take
// them whole, something else wants to see each, or there is no buffer.
bool gso_whole_begin(struct worker *w, struct rte_mbuf *m, const struct port_super_info *info);
// To be called with that burst when it has been looked up, just before it is relayed.
void gso_whole_look(struct worker *w);
// To be called behind it. True: the others have left with the first one and are counted; m is gone.
// False: they are still to be cut, and m is the caller's again.
bool gso_whole_end(struct worker *w, uint8_t port);
