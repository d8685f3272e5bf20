// SPDX-License-Identifier: BSD-3-Clause
// Relaying over TCP (RFC 6062) as the rest of lib/stream sees it: a thread's data for it, and the
// functions at the points of lib/features/meson.build. Private to lib/stream.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hub;
struct splice;
struct stream_config;
struct streams;
struct thread;

// A thread's part.
struct relay_part {
	bool off; // the thread opens no sockets to peers
	uint32_t untold; // in-process connections not yet reported to workers
	struct relay_look { // pending checks of connections and allocations
		uint32_t left, next; // entries left to check, and the next index
	} conns, allocs;
	uint32_t rules; // hub.rules of the last check of its connections
	struct relay_look mine; // pending checks of its connections
	struct splice *dry; // list of splices that wait for limits.rates
	uint64_t dry_ms; // time of the last retry of these
};

// Makes the state that all threads share, if relaying is on. False with the reason in error.
bool relay_make(struct streams *s, char *error, size_t len);
void relay_end(struct streams *s);
// Number of descriptors that relaying may need.
uint32_t relay_files(const struct stream_config *c);
// Has all threads check their connections against changed rules, in their next round.
void relay_changed(struct streams *s);

// Begins the thread: sockets to peers are made in its namespace.
void relay_enter(struct thread *t);
// Begins a round: asks workers about in-process connections.
void relay_ask(struct thread *t);
// Milliseconds that a round may wait for sockets; 0 = there is work to do at once.
uint32_t relay_wait_ms(const struct thread *t);
// Continues with the splices that wait for limits.rates, after the sockets of a round.
void relay_retry(struct thread *t);
// Schedules checks of a part of the connections and allocations.
void relay_tick(struct thread *t);
// Checks a portion of those that are scheduled. True if there is more to check now.
bool relay_review(struct thread *t);
// True for a ConnectionBind request, which bytes for a peer may follow (RFC 6062 4.5).
bool relay_is_bind(const struct thread *t, const uint8_t *message);
