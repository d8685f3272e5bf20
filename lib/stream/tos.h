// SPDX-License-Identifier: BSD-3-Clause
// tos.c: the DSCP of connections. A TCP connection has a single one (RFC 7657 5.1, RFC 8656 15 and
// 16): the listener's, or that of the client's SYN, which we answer with. Private to lib/stream.
#pragma once

#include <stdint.h>

#include "stream.h"

// Sets a listening socket up, for connections from then on.
void tos_listen(int fd, const struct stream_listener *l);
// Sets a connection up that was accepted from it. Returns its DSCP as it stands in TOS, without
// ECN; 0 where the kernel has not kept the SYN (a SYN cookie was used).
uint8_t tos_accepted(int fd, const struct stream_listener *l);
