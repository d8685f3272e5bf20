// SPDX-License-Identifier: BSD-3-Clause
// Reads the addresses and default routers of the kernel interface of an exception port over
// rtnetlink, and detects changes, whatever their origin (a DHCP client, router advertisements, an
// operator). Management lcore.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"

struct port_kernel_watch;

struct port_kernel_address {
	struct prefix prefix; // the full address, with its prefix length in the 128-bit form
	bool deprecated; // still valid, but not for new communication (RFC 4862 5.5.4)
};

// Receives an address of the interface, except addresses of link or host scope, tentative and
// duplicate ones, and temporary ones (RFC 8981).
typedef void port_kernel_see(void *ctx, const struct port_kernel_address *a);

// Watches an existing interface in a network namespace (NULL = that of the process). Returns NULL
// with the reason in error (len bytes) on failure.
struct port_kernel_watch *port_kernel_watch_open(
	const char *netns, const char *interface, char *error, size_t len);
void port_kernel_watch_close(struct port_kernel_watch *w); // NULL is fine
// True if addresses or routes may have changed since the last call, if the last reading failed, and
// on the first call. Does not block.
bool port_kernel_watch_news(struct port_kernel_watch *w);
// Reads the current state of the interface: calls see for each address, and writes the router of
// the default route with the lowest metric to router[is_v4]; :: = no router. Returns 0, or -errno
// if the reading may be incomplete. Follows an interface that was removed and made again with its
// name.
int port_kernel_watch_read(
	struct port_kernel_watch *w, port_kernel_see *see, void *ctx, struct addr router[2]);
