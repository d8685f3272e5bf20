// SPDX-License-Identifier: BSD-3-Clause
// Faults on demand, only with debug.faults.
#pragma once

#include "dp_progress.h"

struct worker;

// An order that waits for the next burst of a port.
struct fault {
	bool armed;
	struct dp_fault_order order;
};

// Takes an order: triggers the fault, or waits for a burst. On the worker.
void fault_take(struct worker *w, const struct dp_fault_order *o);
// Triggers the waiting fault. On the worker, with a burst that has not been processed yet.
void fault_commit(struct worker *w);
