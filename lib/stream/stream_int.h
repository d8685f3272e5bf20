// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of lib/stream only. A connection belongs to one thread from accept to the
// end: which one, the kernel decides by its 5-tuple, so what comes after it on the same 5-tuple is
// that thread's too, and reaches the workers behind the news of its end.
#pragma once

#include <openssl/ssl.h>
#include <pthread.h>
#include <sys/epoll.h>

#include "conn_limits.h"
#include "dtls/dtls.h"
#include "nap.h"
#include "queue.h"
#include "rates.h"
#include "dtls/handshake.h"
#include "stream.h"

#define STREAM_CHUNK 16384 // read at once: a whole record of TLS, so that libssl keeps no rest
#define STREAM_WORKERS_MAX 64
#define CONN_NONE UINT32_MAX

enum conn_state {
	CONN_FREE,
	CONN_DETECT, // nothing has come yet
	CONN_HANDSHAKE,
	CONN_OPEN,
	CONN_ENDED, // closed, but there are workers to be told
};

struct conn {
	SSL *ssl; // NULL: plain
	struct endpoint client;
	int fd;
	uint32_t generation;
	uint32_t next, prev; // in the list of free, of ended or of held ones
	uint32_t younger, older; // in the list of those that have not been heard of
	uint32_t events; // that epoll watches for
	uint8_t state; // enum conn_state
	uint8_t listener; // of the configuration given to us
	uint8_t home, told; // its worker; CONN_ENDED: workers told
	bool heard; // a whole message has come
	bool young; // none has come, not even one that waits: it may have to give way
	bool given; // and was given to a worker
	bool chunk; // the socket may be read, once
	bool more; // and then was found to have more
	bool ended; // or to have reached its end
	bool held; // its next message is a request that its worker takes no more of now
	bool fresh; // epoll has it among those that are not open yet
	uint32_t skip; // bytes of an oversize message still to come
	uint32_t rest_len;
	uint8_t *rest; // received, and not a whole message yet
	struct queue out;
	uint64_t opened_ms, heard_ms, rest_ms, lease_ms; // rest_ms: since when there is a rest
};

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

struct tls_contexts {
	SSL_CTX *tls, *dtls; // NULL: no listener wants it
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

static inline uint64_t conn_handle(const struct thread *t, const struct conn *c)
{
	return (uint64_t)c->generation << 32 | t->index << 24 | (uint32_t)(c - t->conn);
}

// --- tls.c ---------------------------------------------------------------------------------------

// What all versions of TLS and DTLS have in common: files, ciphers, ALPN, options. False with a
// reason in error.
bool tls_fill(SSL_CTX *c, const struct stream_tls *tls, char *error, size_t len);
// NULL with a reason in error.
SSL_CTX *tls_load(const struct stream_tls *tls, char *error, size_t len);
// Those that are wanted. 0, or -1 with a reason in error and nothing made.
int tls_load_all(const struct streams *s, bool tls, bool dtls, struct tls_contexts *out,
	char *error, size_t len);
// Whether a source may begin another handshake now, which is counted.
bool tls_allowed(struct thread *t, const struct addr *source);
// The server's end of a connection; NULL when there is no memory.
SSL *tls_open(struct streams *s, struct conn *c);
// A kind of BIO; NULL when there is no memory.
BIO_METHOD *io_method(const char *name, int (*in)(BIO *b, char *buf, int len),
	int (*out)(BIO *b, const char *buf, int len), long (*ctrl)(BIO *b, int, long, void *));

// Plain or TLS. Bytes, or IO_* (dtls.h); IO_LATER: it would block, or c->chunk has been read.
int io_read(struct conn *c, uint8_t *buf, size_t len);
// Whether libssl has something that io_read may return and epoll does not tell of.
bool io_pending(const struct conn *c);
int io_write(struct conn *c, const uint8_t *buf, size_t len);
int io_handshake(struct conn *c);
// The first byte that has come, before there is TLS or not; it stays.
int io_peek(const struct conn *c, uint8_t *first);

// --- conn.c: one connection ----------------------------------------------------------------------

// Takes what accept has given and the caps have counted. False: no room or memory, and it has not.
bool conn_open(struct thread *t, int fd, uint8_t listener, const struct endpoint *client);
// reason: the counter of that.
void conn_close(struct thread *t, struct conn *c, uint64_t *reason);
// Closes the oldest of which no message has come. False: there is none.
bool conn_give_way(struct thread *t);
void conn_event(struct thread *t, struct conn *c, uint32_t events);
// Goes on with what waited for a worker's buffers.
void conn_resume(struct thread *t, struct conn *c);
// Goes on with what waited to ask a worker, in turn.
void conn_resume_held(struct thread *t, unsigned int worker);
// Sends a message of a worker.
void conn_send(struct thread *t, const struct stream_message *m);
// Closes it if one of its deadlines has passed.
void conn_judge(struct thread *t, struct conn *c);
// Tells workers of its end; true once all know, and it is free.
bool conn_tell(struct thread *t, struct conn *c);

// --- listen.c ------------------------------------------------------------------------------------

// Opens a thread's listeners, in its network namespace; the calling thread stays there. 0, or -1
// with the reason in error.
int listen_open(struct thread *t, char *error, size_t len);
void listen_close(struct thread *t);
// There is somebody on a listener.
void listen_accept(struct thread *t, unsigned int listener);

// --- thread.c ------------------------------------------------------------------------------------

// What epoll says something is about: a connection's index, or these.
#define WATCH_EVENT (UINT64_C(1) << 32)
#define WATCH_LISTENER (UINT64_C(2) << 32)
#define WATCH_FRESH (UINT64_C(4) << 32)

struct thread *thread_create(struct streams *s, unsigned int index);
// Frees a thread that does not run.
void thread_free(struct thread *t);
// Runs it; its listeners are open when it returns 0. -1 with the reason in error.
int thread_start(struct thread *t, char *error, size_t len);
