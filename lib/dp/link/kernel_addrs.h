// SPDX-License-Identifier: BSD-3-Clause
// Addresses of ports whose interface the kernel keeps (packet:): read from there before the port is
// opened, if the file has `dhcp` or `slaac`, and watched afterwards.
#pragma once

#include <stddef.h>

struct dp;
struct dp_learned;
struct dp_learning;

// Waits until the interfaces of packet ports have the addresses that l->conf requests, and writes
// them into it. Returns 0, or -1 with the reason in error. Management lcore, like all functions
// here. Call it before ports are open.
int kernel_addrs_learn(const struct dp_learning *l, char *error, size_t len);
// Starts to watch the addresses of packet ports, after the relay map was made. Returns 0 or -errno.
int kernel_addrs_open(struct dp *d);
// Tells the relay map about addresses that an interface had and has lost, and about those that came
// back.
void kernel_addrs_tick(struct dp *d);
// Writes the state of at most `most` addresses to out. Returns their number. Any thread.
unsigned int kernel_addrs_told(const struct dp *d, struct dp_learned *out, unsigned int most);
void kernel_addrs_free(struct dp *d);
