// SPDX-License-Identifier: BSD-3-Clause
// Connections by way of balancers (listeners[].proxy): who may make them, and who they are of.
// Until the header is whole a connection is none of conn.c's, and costs no client anything. Private
// to lib/stream.
//
// What the header names is the client's transport address for all that follows. So connections
// with the same one have to come to one thread, as those that the kernel deals do (thread.h). A
// thread that has read a header gives the connection to the thread that the client's address and
// port choose. That one has no two connections of a client at a time: workers would take them for
// one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"

struct proxies;
struct stream_config;
struct streams;
struct thread;

// Copies what the listeners of s->conf say. False without memory.
bool proxies_make(struct streams *s);
// Takes what those of c say, in the same order, for connections from now on.
void proxies_change(struct streams *s, const struct stream_config *c);
void proxies_free(struct streams *s);

// Makes a thread's part, and frees it with all connections in it. False without memory or files.
bool proxy_open(struct thread *t);
void proxy_close(struct thread *t);

// Takes over a connection just accepted from peer if the listener is for balancers. False: it is
// not, and the socket stays the caller's.
bool proxy_accept(struct thread *t, int fd, uint8_t listener, const struct endpoint *peer);
// Handles an event whose data has WATCH_PROXY.
void proxy_event(struct thread *t, uint64_t data);
// Closes connections whose header is late. In every round.
void proxy_tick(struct thread *t);
