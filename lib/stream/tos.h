// SPDX-License-Identifier: BSD-3-Clause
// The DSCP of connections. A TCP connection has a single DSCP (RFC 7657 5.1, RFC 8656 15 and 16):
// that of the listener, or that of the client's SYN, copied to our packets. Private to lib/stream.
#pragma once

#include <stdint.h>

#include "stream.h"

// Sets up a listening socket, for later connections.
void tos_listen(int fd, const struct stream_listener *l);
// Sets up a connection accepted from it. Returns its DSCP in its place in the TOS byte, ECN bits
// zero; 0 if the kernel has not kept the SYN (a SYN cookie was used).
uint8_t tos_accepted(int fd, const struct stream_listener *l);
