// SPDX-License-Identifier: BSD-3-Clause
// The queue of records and the thread that empties it. One lock guards the queue. The thread holds
// it for as long as copying takes, never while it writes.
#include "records/records.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "log.h"
#include "records/records_file.h"
#include "records/records_socket.h"

#define QUEUE 16384 // records, 4 MB
#define BATCH 32
#define LINE 4096 // bytes of a record as text; it has about 600
#define TICK_MS 1000

struct records {
	const struct conf *conf;
	const char *journal, *syslog; // paths; NULL = not asked for
	int socket;
	bool to_file;
	pthread_t thread;
	pthread_mutex_t lock; // guards what follows, down to reopen
	pthread_cond_t more, less;
	struct record *queue;
	uint32_t size, first, n;
	bool stop, reopen;
	// Written by those who put records, under the lock, and by the thread; atomic.
	uint64_t full, unsent;
	bool told_full; // the queue is full, and that was told; under the lock
	struct records_file file; // the thread's, except its counters
};

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static struct timespec at_ms(uint64_t ms)
{
	return (struct timespec){
		.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
}

// --- the thread ----------------------------------------------------------------------------------

static void write_one(struct records *r, const struct record *record)
{
	json_t *o = records_line_object(record, &r->conf->turn);
	char line[LINE];
	const size_t n = o != NULL ? records_line_write(o, line, sizeof(line)) : 0;

	if (n == 0) {
		__atomic_add_fetch(&r->full, 1, __ATOMIC_RELAXED);
		json_decref(o);
		return;
	}
	if (r->to_file)
		records_file_put(&r->file, line, n);
	line[n - 1] = '\0';
	if (r->journal != NULL && !records_socket_journal(r->socket, r->journal, o, line))
		__atomic_add_fetch(&r->unsent, 1, __ATOMIC_RELAXED);
	if (r->syslog != NULL && !records_socket_syslog(r->socket, r->syslog, line))
		__atomic_add_fetch(&r->unsent, 1, __ATOMIC_RELAXED);
	json_decref(o);
}

// Waits for something to do, and takes records. False: the end has come and there are none.
static bool take(struct records *r, struct record out[BATCH], uint32_t *n, bool *reopen)
{
	const struct timespec until = at_ms(now_ms() + TICK_MS);
	bool stop;

	pthread_mutex_lock(&r->lock);
	if (r->n == 0 && !r->stop && !r->reopen)
		pthread_cond_clockwait(&r->more, &r->lock, CLOCK_MONOTONIC, &until);
	for (*n = 0; *n < BATCH && r->n > 0; (*n)++, r->n--) {
		out[*n] = r->queue[r->first];
		r->first = (r->first + 1) % r->size;
	}
	*reopen = r->reopen && r->n == 0;
	if (*reopen)
		r->reopen = false;
	if (r->told_full && r->n < r->size / 2) {
		r->told_full = false;
		LOG(SESSIONS, NOTICE, "records: the queue has room again");
	}
	stop = r->stop && *n == 0;
	if (*n > 0)
		pthread_cond_broadcast(&r->less);
	pthread_mutex_unlock(&r->lock);
	return !stop;
}

static void *run(void *arg)
{
	struct records *r = arg;
	struct record batch[BATCH];
	bool reopen;
	uint32_t n;

	while (take(r, batch, &n, &reopen)) {
		for (uint32_t i = 0; i < n; i++)
			write_one(r, &batch[i]);
		// full batches are followed by others
		if (r->to_file && n < BATCH)
			records_file_flush(&r->file);
		if (r->to_file && reopen)
			records_file_reopen(&r->file);
		if (r->to_file)
			records_file_tick(&r->file, now_ms());
	}
	records_file_close(&r->file);
	return NULL;
}

// --- start and end -------------------------------------------------------------------------------

static void records_free(struct records *r)
{
	if (r->socket >= 0)
		close(r->socket);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->more);
	pthread_cond_destroy(&r->less);
	free(r->queue);
	free(r);
}

static struct records *records_make(const struct conf *c, const struct records_hooks *h)
{
	struct records *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->conf = c;
	r->socket = -1;
	r->to_file = c->records.file != NULL;
	if (c->records.journal)
		r->journal = h->journal != NULL ? h->journal : RECORDS_SOCKET_JOURNAL;
	if (c->records.syslog)
		r->syslog = h->syslog != NULL ? h->syslog : RECORDS_SOCKET_SYSLOG;
	r->file.path = c->records.file;
	r->file.rotate = c->records.rotate;
	r->file.keep = c->records.keep;
	r->file.write = h->write;
	r->file.fd = -1;
	r->size = h->queue > 0 ? h->queue : QUEUE;
	r->queue = calloc(r->size, sizeof(*r->queue));
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->more, NULL);
	pthread_cond_init(&r->less, NULL);
	if (r->queue != NULL)
		return r;
	records_free(r);
	return NULL;
}

// The thread takes no signals: those are for others.
static int thread_start(struct records *r)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&r->thread, NULL, run, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0)
		pthread_setname_np(r->thread, "records");
	return rc;
}

int records_open(const struct conf *c, const struct records_hooks *hooks, struct records **out,
	char *error, size_t len)
{
	static const struct records_hooks none;
	const struct conf_records *k = &c->records;
	struct records *r;
	int rc = 0;

	*out = NULL;
	if (k->file == NULL && !k->journal && !k->syslog)
		return 0;
	r = records_make(c, hooks != NULL ? hooks : &none);
	if (r == NULL) {
		snprintf(error, len, "records: out of memory");
		return -1;
	}
	if (r->to_file && records_file_open(&r->file, error, len) != 0) {
		records_free(r);
		return -1;
	}
	if (k->journal || k->syslog) {
		r->socket = records_socket_open();
		rc = r->socket < 0 ? errno : 0;
	}
	if (rc == 0)
		rc = thread_start(r);
	if (rc == 0) {
		*out = r;
		return 0;
	}
	snprintf(error, len, "records: %s", strerror(rc));
	records_file_close(&r->file);
	records_free(r);
	return -1;
}

void records_close(struct records *r, uint64_t patience_ms)
{
	const struct timespec until = at_ms(now_ms() + patience_ms);
	struct records_counters c;

	if (r == NULL)
		return;
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_cond_signal(&r->more);
	pthread_mutex_unlock(&r->lock);
	if (pthread_clockjoin_np(r->thread, NULL, CLOCK_MONOTONIC, &until) == 0) {
		c = records_counters(r);
		if (c.lost + c.unsent > 0)
			LOG(SESSIONS, WARNING,
				"records: %" PRIu64 " were lost in all, %" PRIu64
				" not taken by journald or syslog",
				c.lost, c.unsent);
		records_free(r);
		return;
	}
	// the thread may still use what it has, so nothing of it is freed
	LOG(SESSIONS, ERR, "records: %u are not written, %s does not take them",
		records_counters(r).waiting, r->to_file ? r->file.path : "a socket");
}

// --- for others ----------------------------------------------------------------------------------

static bool add(struct records *r, const struct record *record)
{
	if (r->n < r->size) {
		r->queue[(r->first + r->n++) % r->size] = *record;
		pthread_cond_signal(&r->more);
		return true;
	}
	__atomic_add_fetch(&r->full, 1, __ATOMIC_RELAXED);
	if (!r->told_full)
		LOG(SESSIONS, ERR,
			"records: %u wait to be written, and those that come now are lost",
			r->size);
	r->told_full = true;
	return false;
}

void records_put(struct records *r, const struct record *record)
{
	if (r == NULL)
		return;
	pthread_mutex_lock(&r->lock);
	add(r, record);
	pthread_mutex_unlock(&r->lock);
}

bool records_put_until(struct records *r, const struct record *record, uint64_t until_ms)
{
	const struct timespec until = at_ms(until_ms);
	bool good;

	if (r == NULL)
		return true;
	pthread_mutex_lock(&r->lock);
	while (r->n == r->size &&
		pthread_cond_clockwait(&r->less, &r->lock, CLOCK_MONOTONIC, &until) == 0)
		;
	good = add(r, record);
	pthread_mutex_unlock(&r->lock);
	return good;
}

void records_reopen(struct records *r)
{
	if (r == NULL)
		return;
	pthread_mutex_lock(&r->lock);
	r->reopen = true;
	pthread_cond_signal(&r->more);
	pthread_mutex_unlock(&r->lock);
}

struct records_counters records_counters(struct records *r)
{
	struct records_counters c = {0};

	if (r == NULL)
		return c;
	pthread_mutex_lock(&r->lock);
	c.waiting = r->n;
	pthread_mutex_unlock(&r->lock);
	c.written = __atomic_load_n(&r->file.written, __ATOMIC_RELAXED);
	c.lost = __atomic_load_n(&r->full, __ATOMIC_RELAXED) +
		__atomic_load_n(&r->file.lost, __ATOMIC_RELAXED);
	c.unsent = __atomic_load_n(&r->unsent, __ATOMIC_RELAXED);
	return c;
}
