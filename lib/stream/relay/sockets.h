// SPDX-License-Identifier: BSD-3-Clause
// Sockets towards peers (RFC 6062): made in the namespace that the calling thread is in, bound to
// one interface. None of these blocks. Private to lib/stream.
#pragma once

#include <stdbool.h>

#include "addr.h"

// Listens on a relayed transport address, on an interface ("" = whichever). -1 with errno.
int sockets_listen(const struct endpoint *local, const char *device);
// Begins a connection from a relayed transport address to a peer. -1 with errno.
int sockets_connect(const struct endpoint *local, const char *device, const struct endpoint *peer);
// How a connection that was begun stands: 1 = it is there, 0 = not yet, -1 = it has failed.
int sockets_connected(int fd);
// Accepts a connection; *peer gets who made it. -1 with errno.
int sockets_accept(int fd, struct endpoint *peer);
// Whether an address is one of this namespace, whatever interface has it: 1 or 0. Also where that
// cannot be told (ip_nonlocal_bind). -1 with errno: there is no descriptor to find it out.
int sockets_is_own(const struct addr *a);
// Whether the other side has not acknowledged all that was written, the end included.
bool sockets_unsent(int fd);
// Makes the close that follows a reset, even if it is the process that ends: the other side learns
// of it at once, and the kernel keeps nothing.
void sockets_reset(int fd);
// Undoes sockets_reset: the kernel sends on what it has, and behind it the end.
void sockets_finish(int fd);
