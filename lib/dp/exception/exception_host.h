// SPDX-License-Identifier: BSD-3-Clause
// Addresses and routes of the kernel behind an exception port. Management lcore.
#pragma once

#include <stddef.h>

struct conf;
struct dp;
struct exception;

// Starts the port e->kernel, and gives its interface addresses and routes. Returns 0, or -1 with
// the reason in error.
int exception_host_start(struct exception *e, char *error, size_t len);
// Gives the kernel behind each exception port the gateways and routes of c, which has the same
// ports as the running configuration. Returns 0, or -1 with the reason in error, and then no routes
// have changed.
int exception_host_reroute(struct dp *d, const struct conf *c, char *error, size_t len);
