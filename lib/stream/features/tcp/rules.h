// SPDX-License-Identifier: BSD-3-Clause
// Closes connections with peers that a reload denies (RFC 6062): after a change of the rules each
// thread checks its own connections. Private to lib/stream.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"

struct hub_conn;
struct thread;

// True if the current rules allow a user of the hub (by index) a connection with a peer. Call it
// whenever a connection comes to a thread: the worker's decision may have used older rules than the
// last rules_review. With the hub's lock.
bool rules_allow(const struct thread *t, uint32_t user, const struct endpoint *peer);
// Closes a connection whose peer is denied, and counts it. With the hub's lock.
void rules_end(struct thread *t, struct hub_conn *c);
// Checks a portion of the thread's connections, if the rules have changed since all were checked.
void rules_review(struct thread *t);
// True if rules_review has more to check now.
bool rules_are_due(const struct thread *t);
