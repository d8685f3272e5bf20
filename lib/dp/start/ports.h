// SPDX-License-Identifier: BSD-3-Clause
// Opens, watches and closes the ports of a data path. All on the management lcore.
#pragma once

#include <stddef.h>

#include "datapath.h"

// Opens and starts the ports of d->conf and their exception ports, in the order of d->conf, and
// fills in d->port. Call it before workers run. Returns 0, or -1 with a reason in error: the caller
// then calls ports_close.
int ports_open(struct dp *d, dp_port_opener *open, char *error, size_t len);
// Stops and closes all open ports, the last one first. Call it after workers have stopped and
// exception ports were closed.
void ports_close(struct dp *d);
// Checks links and bonds: worker 0 announces the addresses of a port that has come up. Adopts
// changed MACs and MTUs. Call it ten times a second.
void ports_watch(struct dp *d);
