// SPDX-License-Identifier: BSD-3-Clause
// Connections through load balancers (listeners[].proxy): checks the balancer and reads the
// client's address from the PROXY header. Until the header is complete, the connection has no slot
// in conn.c and counts for no client. Private to lib/stream.
//
// The address in the header is the client's transport address from then on. So connections with the
// same client address must come to the same thread, like those that the kernel distributes
// (thread.h). A thread that has read a header gives the connection to the thread chosen by the
// client's address and port. The thread refuses a second connection of one client transport
// address: workers could not distinguish the two.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"

struct proxies;
struct stream_config;
struct streams;
struct thread;

// Copies the balancers of the listeners in s->conf. False without memory.
bool proxies_make(struct streams *s);
// Applies the balancers of the listeners in c, in the same order, to new connections.
void proxies_change(struct streams *s, const struct stream_config *c);
void proxies_free(struct streams *s);

// proxy_open makes the state of a thread; false without memory or descriptors. proxy_close frees it
// and closes its connections.
bool proxy_open(struct thread *t);
void proxy_close(struct thread *t);

// Takes over a connection just accepted from peer if the listener is for balancers. Otherwise
// returns false, and the caller keeps the socket.
bool proxy_accept(struct thread *t, int fd, uint8_t listener, const struct endpoint *peer);
// Handles an event whose data has WATCH_PROXY.
void proxy_event(struct thread *t, uint64_t data);
// Closes connections whose header is late. Call it in every round.
void proxy_tick(struct thread *t);
