// SPDX-License-Identifier: BSD-3-Clause
// exception_host.c: addresses and routes of the kernel behind an exception port. Management lcore.
#pragma once

#include <stddef.h>

struct conf;
struct dp;
struct exception;

// Starts the port that e->kernel is, and makes a host of its interface. 0, or -1 with the reason in
// error.
int exception_host_start(struct exception *e, char *error, size_t len);
// Gives the kernel behind each exception port the gateways and routes of c, whose ports are those
// of the running configuration. 0, or -1 with the reason in error, and then none has others than
// before.
int exception_host_reroute(struct dp *d, const struct conf *c, char *error, size_t len);
