// SPDX-License-Identifier: BSD-3-Clause
// Addresses that the network gives to the kernel's interface of a port. First the data path waits
// for them: there are no workers yet, and all that the management lcore carries between port and
// kernel is what learn_rules.c knows. Later it watches what becomes of them.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct dp;
struct dp_learning;

// Waits until every pending address of d->conf is there, and puts them into the configuration. The
// ports and exception ports are started, nothing else is. 0, or -1 with the reason in error. With
// no pending address it does nothing; with one, l must not be NULL.
int learn_addresses(struct dp *d, const struct dp_learning *l, char *error, size_t len);
// Sees what has become of the addresses, and tells the relay map of those that are lost.
void learn_tick(struct dp *d);
void learn_free(struct dp *d);
