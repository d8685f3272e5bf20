// SPDX-License-Identifier: BSD-3-Clause
// What addresses and default routers the kernel's interface of an exception port has, over
// rtnetlink, and news of it. Whoever gives them to the kernel (a DHCP client, router
// advertisements, an operator) does not matter. Management lcore.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"

struct port_kernel_watch;

struct port_kernel_address {
	struct prefix
		prefix; // the address itself, with the length of its prefix, of the 128-bit form
	bool deprecated; // still there, but not to be begun with (RFC 4862, 5.5.4)
};

// Is told of an address of the interface. Addresses of the scope of the link or the host are not
// told, nor those that duplicate detection has not passed, nor temporary ones (RFC 8981).
typedef void port_kernel_see(void *ctx, const struct port_kernel_address *a);

// Watches an interface that exists, in a namespace (NULL = that of the process). NULL with the
// reason in error (len bytes).
struct port_kernel_watch *port_kernel_watch_open(
	const char *netns, const char *interface, char *error, size_t len);
void port_kernel_watch_close(struct port_kernel_watch *w); // NULL is fine
// Whether anything about addresses or routes may have changed since it was asked last, or the last
// reading failed. The first time it has. Does not wait.
bool port_kernel_watch_news(struct port_kernel_watch *w);
// Asks the kernel what the interface has at the moment: calls see for each address, however many
// there are, and writes the router of the default route with the lowest metric to router, by
// [is_v4]; :: = none. 0 or -errno: something may then be missing, and nothing can be said of what
// was not seen. An interface that was removed and made again under its name is followed.
int port_kernel_watch_read(
	struct port_kernel_watch *w, port_kernel_see *see, void *ctx, struct addr router[2]);
