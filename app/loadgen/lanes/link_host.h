// SPDX-License-Identifier: BSD-3-Clause
// Answers on the link for the addresses of both sides, as a host does.
#pragma once

#include "lanes/lane.h"

// Processes an ARP, ND or echo request frame f in m and answers it. Consumes m.
void link_host_input(
	struct lane *l, unsigned int side, struct rte_mbuf *m, const struct net_frame *f);
