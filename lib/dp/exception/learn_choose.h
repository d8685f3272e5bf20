// SPDX-License-Identifier: BSD-3-Clause
// learn_choose.c: which of the addresses that an interface has belong to the entries of its port.
// Pure.
#pragma once

#include <stdbool.h>

#include "addr.h"
#include "kernel_watch.h"

struct conf_port;

// One look at all addresses of an interface, however many there are. Arrays go by [is_v4]: a port
// has at most one entry of each family. Set port and used, the rest 0.
struct learn_choice {
	const struct conf_port *port;
	struct addr used[2]; // the address that the entry has got; :: = none yet
	bool is_there[2]; // the interface has it, deprecated or not
	// What an entry without one gets: the first address that is not deprecated and that no
	// entry of the port names; a unique local one (RFC 4193) only where there is no other.
	bool any[2];
	struct prefix first[2];
};

// Whether an address serves an entry where the other one does not: the other is a unique local one.
bool learn_choose_better(const struct addr *a, const struct addr *rival);

// A port_kernel_see; ctx is the choice.
void learn_choose(void *ctx, const struct port_kernel_address *a);
