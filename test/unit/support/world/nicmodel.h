// SPDX-License-Identifier: BSD-3-Clause
// A NIC in software: a software port that chooses the receive queue of each frame as hardware does.
// Rules come first (UDP that is no fragment, destination address, destination port under a mask).
// The port's Toeplitz key and redirection table spread all frames that no rule matches.
#pragma once

#include "softport.h"

// What the NIC can do, and what is wrong with it. One for all ports of a test.
struct nicmodel {
	bool no_rules; // its driver has no rules
	bool exact; // rules match whole destination ports or none
	bool one_mask; // all rules at one time have the same mask
	bool misdeliver; // takes rules, but sends their packets to the next queue
	// Refuses the calls to make a rule from refuse_first to refuse_last, counted from 1; 0 =
	// refuses none.
	unsigned int refuse_first, refuse_last;
	// Counters: calls to make a rule, and rules that exist.
	unsigned int calls, rules;
};

extern struct nicmodel nicmodel;

// A dp_port_opener. Device names as for softport_open, with rss.
struct port *nicmodel_open(const struct port_config *c, char *error, size_t len);
// Queues a frame on the queue that the NIC would choose, with its RSS hash.
void nicmodel_put(struct port *p, const void *frame, size_t len);
// Returns the queue that the NIC would choose; *hash is the RSS hash.
uint16_t nicmodel_queue(const struct port *p, const void *frame, size_t len, uint32_t *hash);
