// SPDX-License-Identifier: BSD-3-Clause
// Orders of workers (RFC 6062), and what comes of them: ports that listen, connections that are
// made, accepted, judged and bound, and those that nobody has bound in time. Private to lib/stream.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "relay/stream_relay.h"

struct hub_alloc;
struct hub_conn;
struct stream_message;
struct thread;

// An order with its answers.
struct ordered {
	struct stream_order o;
	const uint8_t *answers;
	uint64_t conn; // the client's
	uint64_t since_ms; // when its Connect has begun to wait (again.h); 0: it has not
};

// Carries out a message of kind STREAM_ORDER.
void orders_take(struct thread *t, const struct stream_message *m);
// Accepts from the port of the allocation at a place, on which epoll has reported connections.
void orders_port(struct thread *t, uint32_t place);
// Handles events of a peer's connection.
void orders_peer(struct thread *t, uint32_t index, uint32_t events);
// Asks workers about connections between allocations. Not between ops.receive and ops.release.
void orders_ask(struct thread *t);
// Asks for a look at a part of all, five times for one at each: it ends what has waited too long,
// and what is of allocations that are gone.
void orders_tick(struct thread *t);
// Looks at a portion of what was asked for.
void orders_review(struct thread *t);
// Whether there is more to be looked at at once.
bool orders_are_due(const struct thread *t);
// Ends a connection that is not bound any more, and counts it. With the hub's lock, as orders_fail.
void orders_end(struct thread *t, struct hub_conn *c);
// Answers a Connect that is under way by a failure, and ends it.
void orders_fail(struct thread *t, struct hub_conn *c);
// Begins a connection of an allocation. With the hub's lock.
struct hub_conn *orders_begin(
	struct thread *t, struct hub_alloc *a, const struct endpoint *peer, int fd);
// Carries out a Connect. With the hub's lock.
void orders_connect(struct thread *t, const struct ordered *d);
