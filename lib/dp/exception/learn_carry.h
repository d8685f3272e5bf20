// SPDX-License-Identifier: BSD-3-Clause
// learn_carry.c: frames between a port and its kernel interface before there are workers.
#pragma once

#include <stdint.h>

#include "bucket.h"
#include "exception/learn_rules.h"

struct port;

// The way of one port. All zero but the rules, then learn_carry_init. Mgmt lcore.
struct learn_carry {
	struct learn_rules rules;
	struct bucket in, out;
	uint64_t now_ns; // of the round
	uint64_t carried[2]; // frames to the kernel, from it
};

void learn_carry_init(struct learn_carry *l);
// Carries what has come on each side to the other. Returns how many frames there were, those
// included that were not carried.
unsigned int learn_carry(
	struct learn_carry *l, struct port *wire, struct port *kernel, uint64_t now_ns);
