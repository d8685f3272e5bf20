// SPDX-License-Identifier: BSD-3-Clause
// reload.c: another policy for all workers; dp.h has what others may call.
#pragma once

struct dp;

// Frees what a reload has made that has not come to its end. Workers have stopped.
void reload_free(struct dp *d);
