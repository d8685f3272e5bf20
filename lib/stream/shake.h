// SPDX-License-Identifier: BSD-3-Clause
// DTLS handshakes of a stream thread: with datagrams that workers give it, until the session is
// complete and the worker's, or given up. The datagrams wait, as what a thread does for those whose
// connections are open comes first: shake_work takes one at a time.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SHAKE_BUCKETS 256

struct thread;
struct shake;
struct stream_message;

// Of one thread. Zeroed, there are none.
struct shakes {
	struct shake *bucket[SHAKE_BUCKETS]; // by session
	struct shake *ended; // workers have to be told of the outcome
	struct shake *first, *last; // those with datagrams that wait, in turn
	uint64_t ticked_ms;
};

// A message of worker w, of any kind but STREAM_BYTES; what it takes is kept.
void shake_take(struct thread *t, unsigned int w, const struct stream_message *m);
// Takes the next datagram that waits. False: none does any more.
bool shake_work(struct thread *t);
// Tells workers of outcomes. False: some have to wait.
bool shake_tell(struct thread *t);
// Sends again what is due and gives up what takes too long.
void shake_tick(struct thread *t);
// Frees all; workers are no longer told.
void shake_close(struct thread *t);
