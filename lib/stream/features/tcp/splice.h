// SPDX-License-Identifier: BSD-3-Clause
// Relays bytes unchanged between a client's connection and the peer's connection that it has bound
// (RFC 6062 5.4). Each direction has one buffer, and reads only when that is empty. Private to
// lib/stream.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct conn;
struct hub_conn;
struct splice;
struct thread;

// Joins both connections; the thread's lists hold them from now on. The client's bytes after its
// ConnectionBind go to the peer first. False without memory.
bool splice_begin(struct thread *t, struct conn *c, struct hub_conn *p);
// Continues after an event of either side; the connection may be closed then.
void splice_work(struct thread *t, struct conn *c);
// Continues with the splices that wait for limits.rates.
void splice_dry(struct thread *t);
// True if one direction has ended.
bool splice_is_ending(const struct splice *s);
// Closes the peer's connection after the client's was closed. False if the client has not received
// the end of the peer's stream; its socket must be reset then.
bool splice_closed(struct thread *t, struct conn *c);
// Makes a bound connection, of any thread, end as soon as its client has closed its direction: a
// Connect to its peer waits (again.h). With the hub's lock.
void splice_want(const struct thread *t, struct hub_conn *p);
