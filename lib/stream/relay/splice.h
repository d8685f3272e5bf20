// SPDX-License-Identifier: BSD-3-Clause
// Bytes between a client's connection and that of a peer which it has bound (RFC 6062 5.4), as they
// are. What one side does not take is not read from the other: each way holds one buffer and no
// more. Private to lib/stream.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct conn;
struct hub_conn;
struct splice;
struct thread;

// Joins both; the thread's lists have them from now on. The client's bytes behind its
// ConnectionBind are the first for the peer. False without memory.
bool splice_begin(struct thread *t, struct conn *c, struct hub_conn *p);
// Goes on after an event of either side; the connection may be closed then.
void splice_work(struct thread *t, struct conn *c);
// Goes on with those that wait for limits.rates.
void splice_dry(struct thread *t);
// Whether one way has ended.
bool splice_is_ending(const struct splice *s);
// The client's connection is closed: so is that of the peer. False: the client has not been passed
// the end of the peer's bytes, and its socket is reset when it is closed.
bool splice_closed(struct thread *t, struct conn *c);
// Has a connection that is bound end as soon as its client has ended it: a Connect to its peer
// waits (again.h). Of any thread, with the hub's lock.
void splice_want(const struct thread *t, struct hub_conn *p);
