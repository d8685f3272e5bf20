// SPDX-License-Identifier: BSD-3-Clause
// Connects to a peer with whom the allocation has a connection that is bound (RFC 6062 5.2). Its
// client may have ended that, and its end may be on the way still: it comes by another connection
// than the Connect. So the Connect waits a second for it. Private to lib/stream; all wants the
// hub's lock.
#pragma once

#include <stdbool.h>

#include "relay/hub.h"
#include "relay/orders.h"

// Has a Connect wait for the end of a connection, or, with NULL, until the kernel has forgotten the
// last one. False: it may not, and its outcome stands.
bool again_wait(
	struct thread *t, struct hub_alloc *a, const struct ordered *d, struct hub_conn *until);
// Carries out a Connect that has waited; it may wait on.
void again_go_on(struct thread *t, struct hub_conn *c);
// To be told that a connection with a peer has ended for which a Connect waits.
void again_ended(struct hub *h, const struct stream_place *owner, const struct endpoint *peer);
