// SPDX-License-Identifier: BSD-3-Clause
// Sockets to peers (RFC 6062), made in the calling thread's network namespace and bound to one
// interface. No function blocks. Private to lib/stream.
#pragma once

#include <stdbool.h>

#include "addr.h"

// Listens on a relayed transport address, on an interface ("" = any). Returns -1 with errno on
// failure.
int sockets_listen(const struct endpoint *local, const char *device);
// Begins a connection from a relayed transport address to a peer. Returns -1 with errno on failure.
int sockets_connect(const struct endpoint *local, const char *device, const struct endpoint *peer);
// Returns the state of a connection begun by sockets_connect: 1 = established, 0 = pending, -1 =
// failed.
int sockets_connected(int fd);
// Accepts a connection; *peer gets the address of the peer. Returns -1 with errno on failure.
int sockets_accept(int fd, struct endpoint *peer);
// Returns 1 if an interface of this namespace has an address, or if that is unknown
// (ip_nonlocal_bind), else 0. -1 with errno if there is no descriptor left for the check.
int sockets_is_own(const struct addr *a);
// True if the peer has not acknowledged all written bytes and the FIN.
bool sockets_unsent(int fd);
// Makes the following close a reset, even if the process ends: the peer notices at once, and the
// kernel keeps no state.
void sockets_reset(int fd);
// Undoes sockets_reset: after the close the kernel sends the remaining bytes and a FIN.
void sockets_finish(int fd);
