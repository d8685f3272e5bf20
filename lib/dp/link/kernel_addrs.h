// SPDX-License-Identifier: BSD-3-Clause
// Addresses of ports whose interface stays the kernel's (packet:): taken from there before the port
// is opened, where the file has `dhcp` or `slaac`, and watched afterwards.
#pragma once

#include <stddef.h>

struct dp;
struct dp_learned;
struct dp_learning;

// Waits until the interfaces of packet ports have the addresses that l->conf asks them for, and
// puts them there. 0, or -1 with the reason in error. Management lcore, as all here, before ports
// are open.
int kernel_addrs_learn(const struct dp_learning *l, char *error, size_t len);
// Begins to watch the addresses of packet ports; the relay map is made. 0 or -errno.
int kernel_addrs_open(struct dp *d);
// Tells the relay map of addresses that an interface has had and has no longer, and of those that
// it has again.
void kernel_addrs_tick(struct dp *d);
// Writes what has become of them to out, of the first most. Returns how many. Any thread.
unsigned int kernel_addrs_told(const struct dp *d, struct dp_learned *out, unsigned int most);
void kernel_addrs_free(struct dp *d);
