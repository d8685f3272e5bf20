// SPDX-License-Identifier: BSD-3-Clause
// Datagrams through the server, there and back, in at most three tries.
#pragma once

#include "client/client.h"

// From the UDP socket fd to the relayed transport address of c, and back from there by a Send
// indication. FAULT_TO_RELAY or FAULT_FROM_RELAY if a way does not work.
enum fault echo_peer(struct client *c, int fd);
// From the relayed transport address of a to that of b, and back. FAULT_PAIR if it does not work.
enum fault echo_pair(struct client *a, struct client *b);
