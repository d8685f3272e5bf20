// SPDX-License-Identifier: BSD-3-Clause
// The ports that the kernel gives to its own sockets. On a packet port they must differ from ours:
// a reply to such a socket would be taken for a datagram of a client or peer.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conf;
struct conf_port;

#define KERNEL_PORTS_SYSCTL "/proc/sys/net/ipv4"
#define KERNEL_PORTS_MS 10000 // interval of checks

// The range that the kernel chooses from.
struct kernel_ports {
	unsigned int lo, hi;
	char *reserved; // ports that it leaves out, as text; kernel_ports_free frees it
};

// Reads them from a directory of sysctl. False if they are unreadable; then there is nothing to
// free.
bool kernel_ports_read(const char *sysctl, struct kernel_ports *k);
void kernel_ports_free(struct kernel_ports *k);
// True if the kernel may choose one of [lo, hi].
bool kernel_ports_may(const struct kernel_ports *k, unsigned int lo, unsigned int hi);
// Counts the ports of a range (first and last) that are in neither of two lists in the kernel's
// form, such as "1000,2000-2999". Management lcore.
unsigned int kernel_ports_left(const char *reserved, const char *more, const unsigned int range[2]);
// True if a port uses an interface that remains the kernel's (packet:eth0).
bool kernel_ports_shared(const struct conf_port *p);

// True if the kernel may currently choose a relay port of a packet port; text (len bytes) then says
// what to do. It reads one or two files.
bool kernel_ports_wrong(const struct conf *c, const char *sysctl, char *text, size_t len);

// The state that was logged last. Zero-initialised.
struct kernel_ports_told {
	bool wrong;
	uint64_t next_ms;
};

// Checks again every KERNEL_PORTS_MS, and logs when it has become wrong, or right. Management
// lcore.
void kernel_ports_tick(
	struct kernel_ports_told *t, const struct conf *c, const char *sysctl, uint64_t now_ms);
