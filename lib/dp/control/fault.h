// SPDX-License-Identifier: BSD-3-Clause
// fault.c: faults on order, under debug.faults alone.
#pragma once

#include "dp_progress.h"

struct worker;

// An order that waits for the next burst of a port.
struct fault {
	bool armed;
	struct dp_fault_order order;
};

// Takes an order: has the fault, or waits for a burst. On the worker.
void fault_take(struct worker *w, const struct dp_fault_order *o);
// Has what waits. On the worker, with a burst of which nothing is done yet.
void fault_commit(struct worker *w);
