// SPDX-License-Identifier: BSD-3-Clause
// The steps of one transport.
#pragma once

#include "options/opts.h"

// Probes one transport, and fills *r. Whatever happens, it releases its allocations.
void run_transport(const struct opts *o, enum transport t, struct result *r);
