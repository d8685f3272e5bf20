// SPDX-License-Identifier: BSD-3-Clause
// A NIC in software: a software port whose receive queue is chosen for each frame as hardware does
// it. Rules come first (UDP that is no fragment, destination address, destination port under a
// mask); what no rule matches is spread by the port's Toeplitz key and redirection table.
#pragma once

#include "softport.h"

// What a NIC can do, and what is wrong with it. There is one for all ports of a test.
struct nicmodel {
	bool no_rules; // its driver knows nothing of them
	bool exact; // destination ports wholly or not at all
	bool one_mask; // the same mask in all rules, for as long as there is one
	bool misdeliver; // takes rules and sends their packets to the next queue
	// Calls to make a rule, counted from 1, that are refused: from first to last. 0: none.
	unsigned int refuse_first, refuse_last;
	// What has become of it.
	unsigned int calls, rules;
};

extern struct nicmodel nicmodel;

// A dp_port_opener: devices as for softport_open, with rss.
struct port *nicmodel_open(const struct port_config *c, char *error, size_t len);
// Queues a frame where the NIC would, with its RSS hash.
void nicmodel_put(struct port *p, const void *frame, size_t len);
// Queue that it would choose.
uint16_t nicmodel_queue(const struct port *p, const void *frame, size_t len, uint32_t *hash);
