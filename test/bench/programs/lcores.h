// SPDX-License-Identifier: BSD-3-Clause
// Runs of workers on their own lcores, as in the server.
#pragma once

#include "box.h"

// Runs every worker for `seconds` on its lcore (box_lcore), with all frames that its queue
// receives. All begin together. Returns the TSC cycles of the worker that took longest; no packet
// is on its way between workers then. With options.handover a queue receives nothing while a ring
// that its worker hands packets to is nearly full: *held is the share of time in which it was so.
uint64_t lcores_run(struct box *b, const struct options *o, double seconds, double *held);
