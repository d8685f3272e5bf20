// SPDX-License-Identifier: BSD-3-Clause
// Delays a Connect to a peer with which the allocation has a bound connection (RFC 6062 5.2). The
// client may have closed that connection already, with the FIN still on its way: it travels on
// another connection than the Connect. So the Connect waits a second for it. Private to lib/stream;
// all functions need the hub's lock.
#pragma once

#include <stdbool.h>

#include "features/tcp/hub.h"
#include "features/tcp/orders.h"

// Makes a Connect wait for the end of a connection or, with NULL, until the kernel has released the
// 5-tuple of the last one. False if it may not wait, and fails.
bool again_wait(
	struct thread *t, struct hub_alloc *a, const struct ordered *d, struct hub_conn *until);
// Retries a waiting Connect, which may have to wait again.
void again_go_on(struct thread *t, struct hub_conn *c);
// Call it when a connection with a peer has ended: wakes the Connect that waits for it.
void again_ended(struct hub *h, const struct stream_alloc *owner, const struct endpoint *peer);
