// SPDX-License-Identifier: BSD-3-Clause
// Rings of events, from workers and stream threads to the management lcore.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"
#include "stream.h"

struct conf;
struct dp;
struct turn_event;
struct worker;

// Makes the rings. Call it after the workers were made and when the number of stream threads is
// known. Returns 0 or -ENOMEM.
int events_create(struct dp *d);
void events_free(struct dp *d);
// Bytes of memory that events_create allocates.
size_t events_size(const struct conf *c);

// Puts an event on the ring to management; worker is a struct worker. If the ring is full the event
// is lost, and counted. Called by the worker, or by the management lcore after workers have
// stopped.
void events_put(void *worker, const struct turn_event *e);
// Number of events that an order may put on a worker's ring now. Refusals cannot use all of it, and
// a quarter is reserved for clients.
unsigned int events_room(const struct worker *w);
// Reports a DTLS client whose handshake or datagram the worker has refused, folded with similar
// ones. Reports from unproved sources are limited per second.
void events_refused(struct worker *w, const struct endpoint *client, uint8_t listener,
	enum stream_refusal refusal);
// Like events_put, for a connection that stream thread t has refused. False if there is no room.
bool events_put_refused(struct dp *d, unsigned int t, const struct stream_refused *r);

// Passes the rest of the rings to the receiver set by dp_events_to; from now on it gets each event
// at once. Call it after workers and threads have stopped.
void events_drain(struct dp *d);
