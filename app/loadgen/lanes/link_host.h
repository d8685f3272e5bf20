// SPDX-License-Identifier: BSD-3-Clause
// Being a host on the link for the addresses of both sides.
#pragma once

#include "lanes/lane.h"

// ARP, ND, echo requests: consumes m.
void link_host_input(
	struct lane *l, unsigned int side, struct rte_mbuf *m, const struct net_frame *f);
