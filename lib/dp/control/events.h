// SPDX-License-Identifier: BSD-3-Clause
// events.c: rings of events, from workers and stream threads to the management lcore.
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

// Makes the rings, once there are workers and the number of stream threads is known. 0 or -ENOMEM.
int events_create(struct dp *d);
void events_free(struct dp *d);
// Bytes of memory that events_create asks for.
size_t events_size(const struct conf *c);

// Leaves an event for management; worker is a struct worker. On a full ring it is lost, and
// counted. Called by the worker, or once workers have stopped by the management lcore.
void events_put(void *worker, const struct turn_event *e);
// How many events an order may make on a worker's ring now. Refusals cannot take all of that,
// and a quarter is left to what clients do.
unsigned int events_room(const struct worker *w);
// Tells of a DTLS client whose handshake or datagram the worker has refused, folded with those like
// it. Those whose sender is not proved are looked at some times a second at most.
void events_refused(struct worker *w, const struct endpoint *client, uint8_t listener,
	enum stream_refusal refusal);
// As events_put, for a connection that stream thread t has refused. False when there is no room.
bool events_put_refused(struct dp *d, unsigned int t, const struct stream_refused *r);

// Neither workers nor threads run any more: gives what is left on the rings to whom dp_events_to
// has named, and from now on each event at once.
void events_drain(struct dp *d);
