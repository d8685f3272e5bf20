// SPDX-License-Identifier: BSD-3-Clause
// Answers ARP, ND and echo requests for the addresses of both sides, as a host does.
#pragma once

#include "lanes/lane.h"

// Processes a frame with ARP, ND or an echo request: m holds it, and f describes it. Consumes m.
void link_host_input(
	struct lane *l, unsigned int side, struct rte_mbuf *m, const struct net_frame *f);
