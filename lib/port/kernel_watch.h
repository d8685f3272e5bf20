// SPDX-License-Identifier: BSD-3-Clause
// What addresses and default routers the kernel's interface of an exception port has, over
// rtnetlink, and news of it. Whoever gives them to the kernel (a DHCP client, router
// advertisements, an operator) does not matter. Management lcore.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"

#define PORT_KERNEL_ADDRESSES 32 // of an interface; what is more is not seen

struct port_kernel_watch;

struct port_kernel_address {
	struct prefix at; // the address itself, with the length of its prefix, of the 128-bit form
	bool deprecated; // still there, but not to be begun with (RFC 4862, 5.5.4)
};

// What the interface has at the moment. Addresses of the scope of the link or the host are none
// here, nor are those that duplicate detection has not passed, nor temporary ones (RFC 8981).
struct port_kernel_state {
	struct port_kernel_address address[PORT_KERNEL_ADDRESSES];
	uint32_t nb_addresses;
	struct addr router[2]; // of the default route with the lowest metric, by [is_v4]; :: = none
};

// Watches an interface that exists, in a namespace (NULL = that of the process). NULL with the
// reason in error (len bytes).
struct port_kernel_watch *port_kernel_watch_open(
	const char *netns, const char *interface, char *error, size_t len);
void port_kernel_watch_close(struct port_kernel_watch *w); // NULL is fine
// Whether anything about addresses or routes may have changed since it was asked last. The first
// time it has. Does not wait.
bool port_kernel_watch_news(struct port_kernel_watch *w);
// Asks the kernel for the state. 0 or -errno.
int port_kernel_watch_read(struct port_kernel_watch *w, struct port_kernel_state *out);
