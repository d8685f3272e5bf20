// SPDX-License-Identifier: BSD-3-Clause
// A stream thread, and what all of them share. Private to lib/stream.
//
// A connection belongs to one thread from accept to the end: which one, the kernel decides by its
// 5-tuple, so what comes after it on the same 5-tuple is that thread's too, and reaches the workers
// behind the news of its end.
#pragma once

#include <pthread.h>

#include "conn_limits.h"
#include "dtls/handshake.h"
#include "nap.h"
#include "rates.h"
#include "stream.h"
#include "tls.h"

#define STREAM_CHUNK 16384 // read at once: a whole record of TLS, so that libssl keeps no rest
#define STREAM_WORKERS_MAX 64

struct conn;

struct thread {
	// Written by any worker, and by the thread.
	uint32_t sleeping __attribute__((aligned(64)));
	int event; // wakes it
	struct streams *s __attribute__((aligned(64)));
	unsigned int index;
	pthread_t id;
	bool started;
	int epoll; // of what comes first: connections that are open
	int fresh; // epoll of those that are not, and of the listeners; watched by the other
	int reserve; // descriptor to accept and refuse with when there is no other
	int *listen; // of each listener
	struct conn *conn; // max of them
	uint32_t max, used; // connections ever used: [0, used)
	uint32_t free, ended; // lists
	uint32_t oldest, youngest; // of those that may have to give way
	uint32_t *live; // generation of each connection that is open, else 0; read by workers
	uint32_t blocked[STREAM_WORKERS_MAX]; // connection that waits for a worker's buffers
	struct held { // connections that wait till they may ask a worker: first come, first served
		uint32_t first, last;
	} held[STREAM_WORKERS_MAX];
	bool untold; // workers have no room for the news of an end: till then nothing new is read
	bool stalled; // something of this round has to wait a little
	struct handshakes shakes;
	bool hungry; // it left something: no nap
	bool shaking; // there are handshakes to go on with
	struct nap nap;
	uint64_t now_ms, scanned_ms;
	uint32_t scan; // next connection to look at for its deadline
	struct stream_stats stats; // written by the thread, read by any
	uint8_t scratch[STREAM_ROOM_MAX + 4 + STREAM_CHUNK]; // part of a message, and a chunk
};

struct streams {
	struct stream_config conf;
	struct stream_listener *listener;
	char *netns;
	struct conn_limits caps; // of connections
	struct conn_limits sessions; // of DTLS
	pthread_mutex_t rates_lock; // of rates
	struct rates rates; // of TLS handshakes
	pthread_mutex_t tls_lock; // of tls
	struct tls_contexts tls;
	bool stop; // written by who stops, read by the threads
	struct thread *thread[STREAM_THREADS_MAX];
	unsigned int nb_threads;
};

// Counters have one writer and are read by others.
static inline void count(uint64_t *counter, int64_t n)
{
	__atomic_store_n(counter, *counter + (uint64_t)n, __ATOMIC_RELAXED);
}

// What epoll says something is about: a connection's index, or these.
#define WATCH_EVENT (UINT64_C(1) << 32)
#define WATCH_LISTENER (UINT64_C(2) << 32)
#define WATCH_FRESH (UINT64_C(4) << 32)

struct thread *thread_create(struct streams *s, unsigned int index);
// Frees a thread that does not run.
void thread_free(struct thread *t);
// Runs it; its listeners are open when it returns 0. -1 with the reason in error.
int thread_start(struct thread *t, char *error, size_t len);
