// SPDX-License-Identifier: BSD-3-Clause
// The DTLS handshakes of a stream thread. Workers give it the datagrams, until the session is
// complete and the worker's, or is given up. The datagrams wait, because a thread serves open
// connections first: handshake_work takes one at a time. All functions run on the thread itself.
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
	struct handshake *ended; // workers have still to be told the outcome
	struct handshake *first, *last; // those with datagrams that wait, in turn
	uint64_t ticked_ms;
};

// Takes a message of worker w, of any kind except STREAM_BYTES. It copies what it needs: the
// message stays the caller's, except that it frees the session of STREAM_GONE.
void handshake_take(struct thread *t, unsigned int w, const struct stream_message *m);
// Handles the next datagram that waits. False: no more wait.
bool handshake_work(struct thread *t);
// Tells the workers outcomes. False: some have to wait.
bool handshake_tell(struct thread *t);
// Sends again the flights that are due, and gives up the handshakes that take too long.
void handshake_tick(struct thread *t);
// Frees all handshakes. Workers are no longer told.
void handshake_close(struct thread *t);
