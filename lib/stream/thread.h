// SPDX-License-Identifier: BSD-3-Clause
// A stream thread, and the state that all stream threads share. Private to lib/stream.
//
// A connection belongs to one thread from accept to its end. The kernel chooses the thread by the
// 5-tuple. So a later connection with the same 5-tuple comes to the same thread, and workers get
// its messages after the notice that the earlier connection closed.
#pragma once

#include <pthread.h>

#include "conn_limits.h"
#include "dtls/handshake.h"
#include "ilist.h"
#include "in/turns.h"
#include "out/gather.h"
#include "rates/limiter.h"
#include "nap.h"
#include "refused.h"
#include "stream.h"
#include "stream_features.h"
#include "tls.h"

#define STREAM_CHUNK 16384 // bytes of one read: a full TLS record, so libssl keeps no remainder

struct conn;
struct identities;
struct proxies;
struct proxy;

struct thread {
	// Written by any worker and by the thread.
	uint32_t sleeping __attribute__((aligned(64)));
	int event; // eventfd that wakes the thread
	struct streams *s __attribute__((aligned(64)));
	unsigned int index;
	pthread_t id;
	struct stream_progress progress; // written by the thread; tid is written last
	bool started;
	int epoll; // watches open connections, which are served first
	int fresh; // epoll of other connections and of listeners; the epoll above watches it
	int reserve; // spare descriptor, to accept and refuse when no other is left
	int *listen; // descriptor of each listener
	struct conn *conn; // max of them
	uint32_t max, used; // max: entries; [0, used) have been in use
	uint32_t free; // head of the free list
	struct {
		struct ilist list; // closed connections not yet known to every worker
		// By worker: the first closed connection that the worker does not know of.
		uint32_t pending[STREAM_WORKERS_MAX];
	} ended;
	uint64_t untold; // a bit for each worker without room for these notices: its clients wait
	struct ilist young; // connections without a message, oldest first
	uint32_t *live; // by connection: its generation while open, else 0; read by workers
	const char **cipher; // by connection: libssl's name of its TLS cipher; read by workers
	struct turns turns; // connections with bytes to read
	uint64_t kicks; // a bit for each worker that was sent messages since its last wake
	// A bit for each worker that was sent or has queued messages in this millisecond (met), and
	// in the one before it (beside).
	uint64_t met, beside;
	bool stalled; // some work of this round has to wait briefly
	struct handshakes handshakes;
	struct proxy *proxy; // connections of balancers; NULL: no listeners
	bool hungry; // this round left work undone: no nap
	bool handshakes_pending; // handshakes have pending work
	struct nap nap;
	int timer; // timerfd that ends a nap
	bool nap_set; // the timer is set for the next nap
	bool measures; // this nap's CPU time is measured; nap_ns until now
	uint64_t nap_ns;
	struct refused refused; // recent refusals
	uint64_t now_ms, scanned_ms;
#define X(type, field) type field;
	STREAM_THREAD(X)
#undef X
	// stream_review_clients calls that the thread has seen, and connections still to check
	uint32_t reviews_seen, to_review;
	uint32_t scan; // index of the next connection to check for deadlines
	struct stream_stats stats; // written by the thread, read by any thread
	struct gather gather; // messages of a worker for clients
	uint8_t scratch[STREAM_ROOM_MAX + 4 + STREAM_CHUNK]; // an incomplete message, and a chunk
};

struct streams {
	struct stream_config conf;
	struct stream_listener *listener;
	char *netns;
	struct conn_limits caps; // counts connections
	struct conn_limits sessions; // counts DTLS sessions
	pthread_mutex_t begun_lock; // guards begun and conf.handshakes
	struct limiter begun; // rate of TLS handshakes, by source
	pthread_mutex_t swap_lock; // held while identities are read and replaced
	pthread_mutex_t tls_lock; // guards identities
	struct identities *identities;
	struct proxies *proxies; // the allowed balancers
#define X(type, field, make, end, files, changed) type field;
	STREAM_COMMON(X)
#undef X
	uint32_t reviews; // counts stream_review_clients
	bool stop; // written by stream_stop, read by the threads
	struct thread *thread[STREAM_THREADS_MAX];
	unsigned int nb_threads;
};

// Adds n to a counter that one thread writes and others read.
static inline void stats_add(uint64_t *counter, int64_t n)
{
	__atomic_store_n(counter, *counter + (uint64_t)n, __ATOMIC_RELAXED);
}

// Reads a number of the configuration that stream_change may write concurrently.
static inline uint32_t load_number(const uint32_t *number)
{
	return __atomic_load_n(number, __ATOMIC_RELAXED);
}

// The counter of the reason why clients at this address are not served; NULL: they are.
uint64_t *thread_refuses(struct thread *t, const struct addr *client);

// Values of epoll's data: a connection's index, or one of these bits.
#define WATCH_EVENT (UINT64_C(1) << 32)
#define WATCH_LISTENER (UINT64_C(2) << 32)
#define WATCH_FRESH (UINT64_C(4) << 32)
#define WATCH_PROXY (UINT64_C(8) << 32)
#define WATCH_PORT (UINT64_C(16) << 32) // of a feature, plus its number for it
#define WATCH_PEER (UINT64_C(32) << 32) // the same

// Creates a thread without starting it. Returns NULL with errno on failure.
struct thread *thread_create(struct streams *s, unsigned int index);
// Frees a thread that does not run.
void thread_free(struct thread *t);
// Starts a thread. When it returns 0, the thread's listeners are open. Returns -1 with the reason
// in error (len bytes) on failure.
int thread_start(struct thread *t, char *error, size_t len);
