// SPDX-License-Identifier: BSD-3-Clause
// Addresses that the network assigns to the kernel's interface of a port. First the data path waits
// for them: there are no workers yet, and the management lcore carries only the frames of
// learn_rules.c between port and kernel. Later it watches their changes.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct dp;
struct dp_learning;

// Waits until every pending address of d->conf is there, and writes them into the configuration.
// Only the ports and exception ports have been started. Returns 0, or -1 with the reason in error.
// Without a pending address it does nothing; with one, how must not be NULL.
int learn_addresses(struct dp *d, const struct dp_learning *how, char *error, size_t len);
// Checks the addresses, and reports lost ones to the relay map.
void learn_tick(struct dp *d);
void learn_free(struct dp *d);
