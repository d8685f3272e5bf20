// SPDX-License-Identifier: BSD-3-Clause
// ports.c: the ports of a data path, opened, watched and closed. All on the management lcore.
#pragma once

#include <stddef.h>

#include "datapath.h"

// Opens and starts the ports of d->conf and their exception ports, in their order, and fills in
// d->port. Before workers run. 0, or -1 with a reason in error: the caller then calls ports_close.
int ports_open(struct dp *d, dp_port_opener *open, char *error, size_t len);
// Stops and closes what is open, the last one first. Workers no longer run, exception ports are
// closed.
void ports_close(struct dp *d);
// Notes links and bonds that have changed: worker 0 announces the addresses of a port that has come
// up. Follows MACs and MTUs that change. Ten times a second.
void ports_watch(struct dp *d);
