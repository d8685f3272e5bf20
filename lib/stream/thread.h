// SPDX-License-Identifier: BSD-3-Clause
// A stream thread, and what all stream threads share. Private to lib/stream.
//
// A connection belongs to one thread from accept to its end. The kernel chooses the thread by the
// 5-tuple. So a later connection with the same 5-tuple comes to the same thread, and its messages
// reach the workers after the news that the earlier one has ended.
#pragma once

#include <pthread.h>

#include "conn_limits.h"
#include "dtls/handshake.h"
#include "in/turns.h"
#include "out/gather.h"
#include "limiter.h"
#include "nap.h"
#include "refused.h"
#include "stream.h"
#include "tls.h"

#define STREAM_CHUNK 16384 // bytes of one read: a whole TLS record, so that libssl keeps no rest

struct conn;
struct hub;
struct identities;
struct proxies;
struct proxy;
struct splice;

struct thread {
	// Written by any worker, and by the thread itself.
	uint32_t sleeping __attribute__((aligned(64)));
	int event; // eventfd that wakes the thread
	struct streams *s __attribute__((aligned(64)));
	unsigned int index;
	pthread_t id;
	struct stream_progress progress; // written by the thread; tid comes last
	bool started;
	int epoll; // of connections that are open, which come first
	int fresh; // epoll of other connections and of the listeners; the first epoll watches it
	int reserve; // descriptor to accept and refuse with when there is no other
	int *listen; // descriptor of each listener
	struct conn *conn; // max of them
	uint32_t max, used; // max: entries; [0, used) were used at some time
	uint32_t free; // head of a list
	struct {
		uint32_t first, last; // list of connections of whose end not every worker knows
		uint32_t pending[STREAM_WORKERS_MAX]; // the first that a worker does not know of
	} ended;
	uint64_t untold; // a bit for each worker that has no room for such news: its clients wait
	uint32_t oldest, youngest; // list of the connections that may have to give way
	uint32_t *live; // by connection: generation while it is open, else 0; workers read it
	const char **cipher; // by connection: of its TLS, in libssl's text; workers read it
	struct turns turns; // of connections to be read
	uint64_t kicks; // a bit for each worker that was sent something since it was woken last
	// The same for those that were sent or have left something in this millisecond, and in the
	// last.
	uint64_t met, beside;
	bool stalled; // some work of this round has to wait a little
	struct handshakes shakes;
	struct proxy *proxy; // connections of balancers; NULL: there is no listener
	bool hungry; // this round left something undone: no nap
	bool shaking; // handshakes have to go on
	struct nap nap;
	int timer; // timerfd that ends a nap
	bool nap_set; // it is set for the next one
	bool measures; // what this nap takes of the CPU, nap_ns until now
	uint64_t nap_ns;
	struct refused refused; // of late
	uint64_t now_ms, scanned_ms;
	bool relay_off; // the thread opens no sockets towards peers
	uint32_t relay_untold; // connections in process of which workers are still to be asked
	struct relay_look { // at what is relayed over TCP
		uint32_t left, next; // how many are to be looked at, and the next one
	} relay_conns, relay_allocs;
	uint32_t relay_rules; // by which (streams.rules) its connections with peers are judged
	uint32_t relay_left, relay_at; // how many are still to be, and the next one
	struct splice *dry; // list of those that wait for limits.rates
	uint64_t dry_ms; // when they were looked at last
	uint32_t scan; // the next connection whose deadline to look at
	struct stream_stats stats; // written by the thread, read by any thread
	struct gather gather; // what a worker has for clients
	uint8_t scratch[STREAM_ROOM_MAX + 4 + STREAM_CHUNK]; // part of a message, and a chunk
};

struct streams {
	struct stream_config conf;
	struct stream_listener *listener;
	char *netns;
	struct conn_limits caps; // counts connections
	struct conn_limits sessions; // counts DTLS sessions
	pthread_mutex_t begun_lock; // guards begun and conf.handshakes
	struct limiter begun; // TLS handshakes, by source
	pthread_mutex_t swap_lock; // held by who replaces identities, while he reads files, too
	pthread_mutex_t tls_lock; // guards identities
	struct identities *identities;
	struct proxies *proxies; // which balancers there are
	struct hub *hub; // of what is relayed over TCP; NULL: nothing is
	uint32_t rules; // grows whenever the rules of peers have changed; written by stream_change
	bool stop; // written by stream_stop, read by the threads
	struct thread *thread[STREAM_THREADS_MAX];
	unsigned int nb_threads;
};

// Adds n to a counter: one thread writes it, others read it.
static inline void stats_add(uint64_t *counter, int64_t n)
{
	__atomic_store_n(counter, *counter + (uint64_t)n, __ATOMIC_RELAXED);
}

// A number of the configuration that stream_change may write meanwhile.
static inline uint32_t load_number(const uint32_t *number)
{
	return __atomic_load_n(number, __ATOMIC_RELAXED);
}

// The values of epoll's data: a connection's index, or one of these.
#define WATCH_EVENT (UINT64_C(1) << 32)
#define WATCH_LISTENER (UINT64_C(2) << 32)
#define WATCH_FRESH (UINT64_C(4) << 32)
#define WATCH_PROXY (UINT64_C(8) << 32)
#define WATCH_PORT (UINT64_C(16) << 32) // the port of a TCP allocation, by its place
#define WATCH_PEER (UINT64_C(32) << 32) // a peer's connection, by its index

// Makes a thread that does not run yet. NULL with errno set.
struct thread *thread_create(struct streams *s, unsigned int index);
// Frees a thread that does not run.
void thread_free(struct thread *t);
// Runs a thread; its listeners are open when this returns 0. -1 with the reason in error (len
// bytes).
int thread_start(struct thread *t, char *error, size_t len);
