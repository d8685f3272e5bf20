// SPDX-License-Identifier: BSD-3-Clause
// A NIC in software: a software port that chooses the receive queue of each frame as hardware does.
// Rules come first (unfragmented UDP, destination address, destination port under a mask). The
// port's Toeplitz key and redirection table spread all frames that no rule matches.
#pragma once

#include "softport.h"

// The NIC's features and faults. One for all ports of a test.
struct nicmodel {
	bool no_rules; // its driver has no rules
	bool exact; // rules match whole destination ports or none
	bool one_mask; // all rules must have one mask at any time
	bool misdeliver; // accepts rules, but sends their packets to the next queue
	// Calls refuse_first to refuse_last to make a rule fail, counted from 1; 0 = no call fails.
	unsigned int refuse_first, refuse_last;
	// Counters: calls to make a rule, and existing rules.
	unsigned int calls, rules;
};

extern struct nicmodel nicmodel;

// A dp_port_opener. Device names are those of softport_open, with rss.
struct port *nicmodel_open(const struct port_config *c, char *error, size_t len);
// Queues a frame on the queue that the NIC would choose, with its RSS hash.
void nicmodel_put(struct port *p, const void *frame, size_t len);
// Returns the queue that the NIC would choose; *hash is the RSS hash.
uint16_t nicmodel_queue(const struct port *p, const void *frame, size_t len, uint32_t *hash);
