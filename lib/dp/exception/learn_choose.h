// SPDX-License-Identifier: BSD-3-Clause
// Assigns the addresses of an interface to the entries of its port. Pure.
#pragma once

#include <stdbool.h>

#include "addr.h"
#include "kernel_watch.h"

struct conf_port;

// One pass over all addresses of an interface, however many there are. Arrays are indexed by
// [is_v4]: a port has at most one entry of each family. Set port and used, and the rest to 0.
struct learn_choice {
	const struct conf_port *port;
	struct addr used[2]; // the address that the entry has; :: = none yet
	bool is_there[2]; // the interface has it, deprecated or not
	// Address for an entry without one: the first address that is not deprecated and that no
	// entry of the port names; a unique local one (RFC 4193) only if there is no other.
	bool any[2];
	struct prefix first[2];
};

// True if an address is better for an entry than a rival, because the rival is a unique local one.
bool learn_choose_better(const struct addr *a, const struct addr *rival);

// Callback port_kernel_see; ctx is the choice.
void learn_choose(void *ctx, const struct port_kernel_address *a);
