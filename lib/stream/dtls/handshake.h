// SPDX-License-Identifier: BSD-3-Clause
// DTLS handshakes of a stream thread: with datagrams that workers give it, until the session is
// complete and the worker's, or given up. The datagrams wait, as what a thread does for those whose
// connections are open comes first: handshake_work takes one at a time.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HANDSHAKE_BUCKETS 256

struct thread;
struct handshake;
struct stream_message;

// The handshakes of one thread. Zeroed memory has none.
struct handshakes {
	struct handshake *bucket[HANDSHAKE_BUCKETS]; // by session
	struct handshake *ended; // workers have to be told of the outcome
	struct handshake *first, *last; // those with datagrams that wait, in turn
	uint64_t ticked_ms;
};

// A message of worker w, of any kind but STREAM_BYTES; what it takes is kept.
void handshake_take(struct thread *t, unsigned int w, const struct stream_message *m);
// Takes the next datagram that waits. False: none does any more.
bool handshake_work(struct thread *t);
// Tells workers of outcomes. False: some have to wait.
bool handshake_tell(struct thread *t);
// Sends again what is due and gives up what takes too long.
void handshake_tick(struct thread *t);
// Frees all; workers are no longer told.
void handshake_close(struct thread *t);
