// SPDX-License-Identifier: BSD-3-Clause
// Carries out orders of workers (RFC 6062): opens ports, makes, accepts and binds connections, and
// closes those that are not bound in time. Private to lib/stream.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stream_relay.h"

struct hub_alloc;
struct hub_conn;
struct stream_message;
struct thread;

// An order with its answers.
struct ordered {
	struct stream_order o;
	const uint8_t *answers;
	uint64_t conn; // the client's connection
	uint64_t since_ms; // when its Connect began to wait (again.h); 0: it does not wait
};

// Carries out a message of kind STREAM_ORDER.
void orders_take(struct thread *t, const struct stream_message *m);
// Accepts connections from the relay port with this index, which epoll has reported.
void orders_port(struct thread *t, uint32_t port_index, uint32_t events);
// Handles epoll events of a peer's connection.
void orders_peer(struct thread *t, uint32_t index, uint32_t events);
// Asks workers about in-process connections between allocations. Do not call it between ops.receive
// and ops.release.
void orders_ask(struct thread *t);
// Schedules a check of one fifth of all connections and allocations. The check closes connections
// that have waited too long, and those of allocations that have ended.
void orders_tick(struct thread *t);
// Checks a portion of the scheduled ones.
void orders_review(struct thread *t);
// True if orders_review has more to check now.
bool orders_are_due(const struct thread *t);
// Ends a connection that is not bound any more, and counts it. With the hub's lock, like
// orders_fail.
void orders_end(struct thread *t, struct hub_conn *c);
// Answers a pending Connect with a failure, and ends its connection.
void orders_fail(struct thread *t, struct hub_conn *c);
// Begins a connection of an allocation, and counts it. With the hub's lock.
struct hub_conn *orders_begin(
	struct thread *t, struct hub_alloc *a, const struct endpoint *peer, int fd);
// Carries out a Connect. With the hub's lock.
void orders_connect(struct thread *t, const struct ordered *d);
