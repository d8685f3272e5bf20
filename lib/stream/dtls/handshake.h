// SPDX-License-Identifier: BSD-3-Clause
// The DTLS handshakes of a stream thread. Workers pass the datagrams to the thread, until the
// handshake is complete and the worker gets the session, or the thread gives the handshake up. The
// datagrams wait, because a thread serves open connections first: handshake_work handles one at a
// time. All functions run on the thread itself.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HANDSHAKE_BUCKETS 256

struct thread;
struct handshake;
struct stream_message;

// The handshakes of one thread. Zeroed memory is empty.
struct handshakes {
	struct handshake *bucket[HANDSHAKE_BUCKETS]; // by session
	struct handshake *ended; // outcome not yet reported to the worker
	struct handshake *first, *last; // queue of handshakes with waiting datagrams
	uint64_t ticked_ms;
};

// Handles a message of worker w, of any kind except STREAM_BYTES. The caller keeps the message;
// only the session of STREAM_GONE is freed.
void handshake_take(struct thread *t, unsigned int w, const struct stream_message *m);
// Handles the next waiting datagram. False if no more wait.
bool handshake_work(struct thread *t);
// Reports outcomes to the workers. False if some have to wait.
bool handshake_tell(struct thread *t);
// Retransmits the flights that are due, and gives up handshakes that take too long.
void handshake_tick(struct thread *t);
// Frees all handshakes without notice to the workers.
void handshake_close(struct thread *t);
