// SPDX-License-Identifier: BSD-3-Clause
// Runs of workers on lcores of their own, as they are in the appliance.
#pragma once

#include "box.h"

// Runs every worker for so many seconds on its lcore (box_lcore), with whatever its queue receives.
// All begin together. Returns the TSC cycles of the worker that took longest; nothing is on its way
// between workers any more then. With options.handover a queue receives nothing while a ring that
// its worker hands packets to is nearly full: *held is the share of time in which it was so.
uint64_t lcores_run(struct box *b, const struct options *o, double seconds, double *held);
