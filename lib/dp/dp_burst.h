// SPDX-License-Identifier: BSD-3-Clause
// A burst of datagrams that a worker processes together.
#pragma once

#include "turn.h"

struct rte_mbuf;

#define DP_BURST TURN_BURST

struct burst {
	unsigned int n;
	struct rte_mbuf *m[DP_BURST];
	struct turn_burst turn; // turn.view[i] belongs to m[i]
};
