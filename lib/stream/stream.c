// SPDX-License-Identifier: BSD-3-Clause
// Starts and stops the stream threads, and answers other threads' questions about them.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "handle.h"
#include "identity/identities.h"
#include "proxy/proxy.h"
#include "thread.h"

#define FILES_SPARE 256 // descriptors for everything except connections
#define SOURCES 8192 // buckets of the handshake limiter, by source

// Checks the limit of open files, and raises it if possible.
static int files_ask(uint32_t connections, char *error, size_t len)
{
	const rlim_t need = connections + FILES_SPARE;
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur >= need)
		return 0;
	r.rlim_cur = need;
	if (r.rlim_max < need)
		r.rlim_max = need;
	if (setrlimit(RLIMIT_NOFILE, &r) == 0)
		return 0;
	snprintf(error, len,
		"streams.connections: %u need %lu open files, more than the limit: raise it "
		"(LimitNOFILE=, ulimit -n), or allow fewer connections",
		connections, (unsigned long)need);
	return -1;
}

// Returns the number of connections that may wait for their headers, in addition to all others.
static uint32_t headers_of(const struct stream_config *c)
{
	for (unsigned int i = 0; i < c->nb_listeners; i++)
		if (c->listeners[i].nb_proxy > 0)
			return c->threads * c->headers;
	return 0;
}

// Does everything that can fail, except starting the threads.
static int prepare_streams(struct streams *s, char *error, size_t len)
{
	struct stream_config *c = &s->conf;
	uint32_t files = 0;

#define X(type, field, make, end, files_of, changed) files += files_of(c);
	STREAM_COMMON(X)
#undef X
	if (c->nb_listeners > 0 &&
		files_ask(c->connections + headers_of(c) + files, error, len) != 0)
		return -1;
#define X(type, field, make, end, files_of, changed) \
	if (!make(s, error, len))                    \
		return -1;
	STREAM_COMMON(X)
#undef X
	s->identities = identities_load(c->identities, &c->dtls, error, len);
	c->identities = NULL; // owned by the caller
	if (s->identities == NULL)
		return -1;
	if (!proxies_make(s)) {
		snprintf(error, len, "streams: out of memory");
		return -1;
	}
	for (unsigned int i = 0; i < c->threads; i++) {
		s->thread[i] = thread_create(s, i);
		if (s->thread[i] == NULL) {
			snprintf(error, len, "streams: %s", strerror(errno));
			return -1;
		}
		s->nb_threads = i + 1;
	}
	return 0;
}

static int limiter_make(struct streams *s)
{
	struct limiter *l = &s->begun;
	void *mem = calloc(1, limiter_size(SOURCES, 0));

	if (mem == NULL || getrandom(&l->key, sizeof(l->key), 0) != sizeof(l->key)) {
		free(mem);
		return -1;
	}
	limiter_init(l, mem, SOURCES, 0);
	l->times = STREAM_RATE_NETWORK;
	return 0;
}

static int caps_make(struct streams *s)
{
	const struct stream_config *c = &s->conf;
	const uint32_t sessions = c->dtls.sessions > 0 ? c->dtls.sessions : 1;

	if (conn_limits_init(&s->caps, c->connections, c->per_source, c->per_network) != 0)
		return -1;
	conn_limits_trust(&s->caps, c->trusted, c->nb_trusted);
	s->conf.trusted = NULL; // owned by the caller
	if (conn_limits_init(&s->sessions, sessions, c->dtls.per_source, c->dtls.per_network) == 0)
		return 0;
	conn_limits_fini(&s->caps);
	return -1;
}

static struct streams *create_streams(const struct stream_config *c)
{
	struct streams *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->conf = *c;
	s->netns = strdup(c->netns != NULL ? c->netns : "");
	s->listener = calloc(c->nb_listeners + 1, sizeof(*s->listener));
	if (s->netns == NULL || s->listener == NULL || limiter_make(s) != 0 || caps_make(s) != 0) {
		free(s->begun.bucket);
		free(s->netns);
		free(s->listener);
		free(s);
		return NULL;
	}
	memcpy(s->listener, c->listeners, c->nb_listeners * sizeof(*s->listener));
	s->conf.listeners = s->listener;
	s->conf.netns = s->netns;
	pthread_mutex_init(&s->begun_lock, NULL);
	pthread_mutex_init(&s->swap_lock, NULL);
	pthread_mutex_init(&s->tls_lock, NULL);
	return s;
}

struct streams *stream_start(const struct stream_config *c, char *error, size_t len)
{
	struct streams *s = create_streams(c);

	if (s == NULL) {
		snprintf(error, len, "streams: out of memory");
		return NULL;
	}
	if (prepare_streams(s, error, len) != 0) {
		stream_stop(s);
		return NULL;
	}
	for (unsigned int i = 0; i < s->nb_threads; i++) {
		if (thread_start(s->thread[i], error, len) != 0) {
			stream_stop(s);
			return NULL;
		}
	}
	return s;
}

// Wakes a thread that sleeps or naps, or is about to.
static void wake_thread(struct thread *t)
{
	static const uint64_t once = 1;

	if (write(t->event, &once, sizeof(once)) < 0)
		return; // write fails only by overflow; then the thread is awake
}

void stream_stop(struct streams *s)
{
	__atomic_store_n(&s->stop, true, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < s->nb_threads; i++) {
		if (!s->thread[i]->started)
			continue;
		wake_thread(s->thread[i]);
		pthread_join(s->thread[i]->id, NULL);
	}
	for (unsigned int i = 0; i < s->nb_threads; i++)
		thread_free(s->thread[i]);
#define X(type, field, make, end, files, changed) end(s);
	STREAM_COMMON(X)
#undef X
	identities_free(s->identities);
	proxies_free(s);
	conn_limits_fini(&s->caps);
	conn_limits_fini(&s->sessions);
	pthread_mutex_destroy(&s->begun_lock);
	pthread_mutex_destroy(&s->swap_lock);
	pthread_mutex_destroy(&s->tls_lock);
	free(s->begun.bucket);
	free(s->netns);
	free(s->listener);
	free(s);
}

void stream_stats(const struct streams *s, struct stream_stats *out)
{
	uint64_t *sum = (uint64_t *)out;

	*out = (struct stream_stats){0};
	for (unsigned int i = 0; i < s->nb_threads; i++) {
		const uint64_t *src = (const uint64_t *)&s->thread[i]->stats;

		for (size_t k = 0; k < sizeof(*out) / sizeof(*sum); k++)
			sum[k] += __atomic_load_n(&src[k], __ATOMIC_RELAXED);
	}
}

bool stream_progress(const struct streams *s, unsigned int index, struct stream_progress *out)
{
	const struct stream_progress *p;

	if (index >= s->nb_threads)
		return false;
	p = &s->thread[index]->progress;
	out->tid = __atomic_load_n(&p->tid, __ATOMIC_ACQUIRE);
	out->clock = p->clock;
	out->rounds = __atomic_load_n(&p->rounds, __ATOMIC_RELAXED);
	return true;
}

bool stream_alive(const struct streams *s, uint64_t conn)
{
	const struct thread *t = s->thread[stream_thread_of(conn)];
	const uint32_t live = __atomic_load_n(&t->live[handle_index(conn)], __ATOMIC_SEQ_CST);

	return live == handle_generation(conn);
}

const char *stream_cipher(const struct streams *s, uint64_t conn)
{
	const struct thread *t = s->thread[stream_thread_of(conn)];
	const char *name = __atomic_load_n(&t->cipher[handle_index(conn)], __ATOMIC_ACQUIRE);

	// the value belongs to this connection if it is still open: no other connection had its
	// slot before
	return stream_alive(s, conn) ? name : NULL;
}

void stream_wake(struct streams *s, unsigned int thread)
{
	struct thread *t = s->thread[thread];

	// order the queueing of messages before the check if the thread sleeps
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&t->sleeping, __ATOMIC_RELAXED) == 0 ||
		__atomic_exchange_n(&t->sleeping, 0, __ATOMIC_RELAXED) == 0)
		return;
	wake_thread(t);
}
