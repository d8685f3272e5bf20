// SPDX-License-Identifier: BSD-3-Clause
// Peers that are denied after their connections were made (RFC 6062): a reload changes whom the
// rules allow, and each thread then looks at the connections that are its own. Private to
// lib/stream.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"

struct hub_conn;
struct thread;

// Whether a user of the hub (its index) may have a connection with a peer, by the rules that hold
// now. It is asked whenever a connection comes to a thread: what a worker has judged since may be
// older than rules_review's last look. With the hub's lock.
bool rules_allow(const struct thread *t, uint32_t user, const struct endpoint *peer);
// Closes a connection whose peer is denied, and counts it. With the hub's lock.
void rules_end(struct thread *t, struct hub_conn *c);
// Looks at a portion of the thread's connections, if the rules have changed since all were looked
// at.
void rules_review(struct thread *t);
// Whether there is more to be looked at at once.
bool rules_are_due(const struct thread *t);
