// SPDX-License-Identifier: BSD-3-Clause
// The ports that the kernel gives to its own sockets. On a packet port those have to be others than
// ours: what comes back to such a socket would be taken for a client's or peer's.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conf;
struct conf_port;

#define KERNEL_PORTS_SYSCTL "/proc/sys/net/ipv4"
#define KERNEL_PORTS_MS 10000 // between two looks

// What the kernel chooses from.
struct kernel_ports {
	unsigned int lo, hi;
	char *reserved; // what it leaves out, as text; kernel_ports_free frees it
};

// Reads them from a directory of sysctl. False: nobody can say, and there is nothing to be freed.
bool kernel_ports_read(const char *sysctl, struct kernel_ports *k);
void kernel_ports_free(struct kernel_ports *k);
// Whether the kernel may choose one of [lo, hi].
bool kernel_ports_may(const struct kernel_ports *k, unsigned int lo, unsigned int hi);
// How many ports of a range, first and last, are in neither of two lists in the kernel's form,
// "1000,2000-2999". Management lcore.
unsigned int kernel_ports_left(const char *reserved, const char *more, const unsigned int range[2]);
// Whether a port is on an interface that stays the kernel's (packet:eth0).
bool kernel_ports_shared(const struct conf_port *p);

// Whether the kernel may choose a relay port of a packet port, as things are now; text (len bytes)
// then says what to do. A file or two are read.
bool kernel_ports_wrong(const struct conf *c, const char *sysctl, char *text, size_t len);

// What the log has been told. Zeros at first.
struct kernel_ports_told {
	bool wrong;
	uint64_t next_ms;
};

// Looks again now and then, and logs it when it has become wrong, or right. Management lcore.
void kernel_ports_tick(
	struct kernel_ports_told *t, const struct conf *c, const char *sysctl, uint64_t now_ms);
