// SPDX-License-Identifier: BSD-3-Clause
// The queue of records, and the thread that empties it. One lock guards the queue. The thread holds
// it only while it copies, never while it writes.
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

#include "clock.h"
#include "fatal.h"
#include "log/log.h"

// Capacity in records: an order or a reload can end very many allocations at once. These are 64 MB
// of address space; pages that were never used take no memory.
#define QUEUE 262144
#define BATCH 32
#define LINE 4096 // limit of a record's bytes as text; a typical record has about 600
#define TICK_MS 1000
#define PATIENCES 10 // limit of the whole close, in multiples of patience_ms

struct records {
	const struct turn_config *turn;
	pthread_t thread;
	pthread_mutex_t lock; // guards the fields below, down to told_full
	// Used by the thread, which alone changes the pointer. Others read it, and counters, under
	// the lock.
	struct records_sinks *sinks;
	struct records_sinks *next; // replace `sinks` after before_reopen records
	pthread_cond_t more, less;
	struct record *queue;
	uint32_t size, first, n;
	uint32_t before_reopen; // number of queued records that go to the current files
	bool stop, reopen;
	uint64_t patient_until_ms; // limit after the stop
	bool told_full; // the queue is full, and this was logged
	uint64_t seq[RECORDS_FILES]; // of the last record of each file, lost ones included
	// Written under the lock by callers that put records, and by the thread; atomic.
	uint64_t full, unsent;
};

// --- the thread ----------------------------------------------------------------------------------

// True if a record may wait for a daemon. With a half full queue, waiting would cost the file
// records.
static bool is_patient(struct records *r)
{
	bool patient;

	pthread_mutex_lock(&r->lock);
	patient = r->n < r->size / 2 && (!r->stop || clock_monotonic_ms() < r->patient_until_ms);
	pthread_mutex_unlock(&r->lock);
	return patient;
}

static void send_one(struct records *r, const json_t *o, const char *line)
{
	uint64_t unsent = 0;

	if (r->sinks->journal.path != NULL)
		unsent += !records_socket_journal(&r->sinks->journal, is_patient(r), o, line);
	if (r->sinks->syslog.path != NULL)
		unsent += !records_socket_syslog(&r->sinks->syslog, is_patient(r), line);
	__atomic_add_fetch(&r->unsent, unsent, __ATOMIC_RELAXED);
}

static void write_one(struct records *r, const struct record *record)
{
	json_t *o = records_line_object(record, r->turn);
	char line[LINE];
	const size_t n = o != NULL ? records_line_write(o, line, sizeof(line)) : 0;

	if (n == 0) {
		__atomic_add_fetch(&r->full, 1, __ATOMIC_RELAXED);
		json_decref(o);
		return;
	}
	records_sinks_put(r->sinks, record->event.kind, line, n);
	line[n - 1] = '\0';
	send_one(r, o, line);
	json_decref(o);
}

// Work that the thread has taken from the queue.
struct batch {
	struct record record[BATCH];
	uint32_t n;
	bool reopen; // reopen the files after these records
	struct records_sinks *next; // replace the sinks after these records
	bool room; // the queue was full, and has room again
};

// Takes records that go to the current files. The caller holds the lock.
static void take_records(struct records *r, struct batch *b)
{
	const bool ends = r->reopen || r->next != NULL; // some records belong to other files

	b->reopen = false;
	b->next = NULL;
	for (b->n = 0; b->n < BATCH && r->n > 0; b->n++, r->n--) {
		if (ends && r->before_reopen == 0)
			break;
		r->before_reopen -= ends;
		b->record[b->n] = r->queue[r->first];
		r->first = (r->first + 1) % r->size;
	}
	if (ends && r->before_reopen == 0) {
		b->reopen = r->reopen;
		b->next = r->next;
		r->reopen = false;
		r->next = NULL;
	}
	b->room = r->told_full && r->n < r->size / 4;
	r->told_full = r->told_full && !b->room;
}

// Waits for work, and takes it. False if the thread must stop and no work is left.
static bool take_batch(struct records *r, struct batch *b)
{
	const struct timespec until = clock_timespec(clock_monotonic_ms() + TICK_MS);
	bool stop;

	pthread_mutex_lock(&r->lock);
	if (r->n == 0 && !r->stop && !r->reopen && r->next == NULL)
		pthread_cond_clockwait(&r->more, &r->lock, CLOCK_MONOTONIC, &until);
	take_records(r, b);
	stop = r->stop && r->n == 0 && b->n == 0 && b->next == NULL;
	if (b->n > 0)
		pthread_cond_broadcast(&r->less);
	pthread_mutex_unlock(&r->lock);
	return !stop;
}

static void change_sinks(struct records *r, struct records_sinks *next)
{
	struct records_sinks *before = r->sinks;

	records_sinks_follow(next, before);
	pthread_mutex_lock(&r->lock);
	r->sinks = next;
	pthread_mutex_unlock(&r->lock);
	records_sinks_close(before);
}

static void *run_thread(void *arg)
{
	struct records *r = arg;
	struct batch b;

	while (take_batch(r, &b)) {
		if (b.room)
			LOG(SESSIONS, NOTICE, "records: the queue has room again");
		for (uint32_t i = 0; i < b.n; i++)
			write_one(r, &b.record[i]);
		if (b.next != NULL)
			change_sinks(r, b.next);
		// more records follow a full batch
		if (b.n < BATCH)
			records_sinks_flush(r->sinks);
		if (b.reopen)
			records_sinks_reopen(r->sinks);
		records_sinks_tick(r->sinks, clock_monotonic_ms());
	}
	records_sinks_flush(r->sinks);
	return NULL;
}

// --- start and end -------------------------------------------------------------------------------

static void records_free(struct records *r)
{
	records_sinks_close(r->sinks);
	records_sinks_close(r->next);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->more);
	pthread_cond_destroy(&r->less);
	free(r->queue);
	free(r);
}

static struct records *records_make(const struct turn_config *t, const struct records_hooks *h)
{
	struct records *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->turn = t;
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

// The thread blocks all signals: other threads handle them.
static int thread_start(struct records *r)
{
	sigset_t all, before;
	int rc;

	fatal_others(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&r->thread, NULL, run_thread, r);
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
	int rc;

	*out = NULL;
	if (hooks == NULL)
		hooks = &none;
	if (k->file == NULL && !k->journal && !k->syslog)
		return 0;
	r = records_make(hooks->turn != NULL ? hooks->turn : &c->turn, hooks);
	if (r == NULL) {
		snprintf(error, len, "records: out of memory");
		return -1;
	}
	r->sinks = records_sinks_open(k, hooks, error, len);
	if (r->sinks == NULL) {
		records_free(r);
		return -1;
	}
	rc = thread_start(r);
	if (rc == 0) {
		*out = r;
		return 0;
	}
	snprintf(error, len, "records: %s", strerror(rc));
	records_free(r);
	return -1;
}

// True if the thread has ended. Waits as long as it makes progress.
static bool join_thread(struct records *r, uint64_t patience_ms)
{
	const uint64_t end = clock_monotonic_ms() + PATIENCES * patience_ms;
	uint32_t before, waiting = records_counters(r).waiting;

	do {
		const uint64_t next = clock_monotonic_ms() + patience_ms;
		const struct timespec until = clock_timespec(next < end ? next : end);

		if (pthread_clockjoin_np(r->thread, NULL, CLOCK_MONOTONIC, &until) == 0)
			return true;
		before = waiting;
		waiting = records_counters(r).waiting;
	} while (waiting < before && clock_monotonic_ms() < end);
	return false;
}

void records_close(struct records *r, uint64_t patience_ms)
{
	struct records_counters c;

	if (r == NULL)
		return;
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	r->patient_until_ms = clock_monotonic_ms() +
		patience_ms / 2; // the other half is for records that still wait then
	pthread_cond_signal(&r->more);
	pthread_mutex_unlock(&r->lock);
	if (join_thread(r, patience_ms)) {
		c = records_counters(r);
		if (c.lost + c.unsent > 0)
			LOG(SESSIONS, WARNING,
				"records: %" PRIu64 " lost in all, %" PRIu64
				" not accepted by journald or syslog",
				c.lost, c.unsent);
		records_free(r);
		return;
	}
	// the thread may still use its data, so nothing is freed
	LOG(SESSIONS, ERR, "records: %u were not written, %s does not accept them",
		records_counters(r).waiting,
		r->sinks->path[RECORDS_SESSIONS] != NULL ? r->sinks->path[RECORDS_SESSIONS]
							 : "a socket");
}

// --- callers -------------------------------------------------------------------------------------

// How many records may wait before another one is refused. Anybody can cause refusals, so these may
// fill only half of the queue. Any user can have very many peers: these leave a quarter of it to
// sessions.
static uint32_t most_before(const struct records *r, const struct record *record)
{
	if (record->event.kind == TURN_EVENT_PEER)
		return r->size / 4 * 3;
	return turn_event_refuses(record->event.kind) ? r->size / 2 : r->size;
}

// Adds a record. The caller holds the lock. *tell becomes true if this is the first record without
// room.
static bool add_record(struct records *r, const struct record *record, bool *tell)
{
	const uint64_t seq = ++r->seq[records_sinks_file_of(record->event.kind)];

	if (r->n < most_before(r, record)) {
		struct record *place = &r->queue[(r->first + r->n++) % r->size];

		*place = *record;
		place->seq = seq;
		pthread_cond_signal(&r->more);
		return true;
	}
	__atomic_add_fetch(&r->full, 1, __ATOMIC_RELAXED);
	*tell = !r->told_full;
	r->told_full = true;
	return false;
}

static void tell_full(const struct records *r)
{
	LOG(SESSIONS, ERR,
		"records: the queue of %u is full, the part for refusals or peers, or all of it: "
		"new records are lost",
		r->size);
}

void records_put(struct records *r, const struct record *record)
{
	bool tell = false;

	if (r == NULL)
		return;
	pthread_mutex_lock(&r->lock);
	add_record(r, record, &tell);
	pthread_mutex_unlock(&r->lock);
	if (tell)
		tell_full(r);
}

bool records_put_until(struct records *r, const struct record *record, uint64_t until_ms)
{
	const struct timespec until = clock_timespec(until_ms);
	bool good, tell = false;

	if (r == NULL)
		return true;
	pthread_mutex_lock(&r->lock);
	while (r->n >= most_before(r, record) &&
		pthread_cond_clockwait(&r->less, &r->lock, CLOCK_MONOTONIC, &until) == 0)
		;
	good = add_record(r, record, &tell);
	pthread_mutex_unlock(&r->lock);
	if (tell)
		tell_full(r);
	return good;
}

void records_reopen(struct records *r)
{
	if (r == NULL)
		return;
	pthread_mutex_lock(&r->lock);
	if (!r->reopen && r->next == NULL)
		r->before_reopen = r->n;
	r->reopen = true;
	pthread_cond_signal(&r->more);
	pthread_mutex_unlock(&r->lock);
}

void records_change(struct records *r, struct records_sinks *sinks)
{
	struct records_sinks *unused;

	pthread_mutex_lock(&r->lock);
	if (!r->reopen && r->next == NULL)
		r->before_reopen = r->n;
	unused = r->next;
	r->next = sinks;
	pthread_cond_signal(&r->more);
	pthread_mutex_unlock(&r->lock);
	records_sinks_close(unused);
}

const char *records_path(struct records *r, enum records_sinks_file which, char *buf, size_t len)
{
	const struct records_sinks *s;

	if (r == NULL)
		return NULL;
	buf[0] = '\0';
	pthread_mutex_lock(&r->lock);
	s = r->next != NULL ? r->next : r->sinks;
	if (s->path[which] != NULL)
		snprintf(buf, len, "%s", s->path[which]);
	pthread_mutex_unlock(&r->lock);
	return buf[0] != '\0' ? buf : NULL;
}

struct records_counters records_counters(struct records *r)
{
	struct records_counters c = {0};

	if (r == NULL)
		return c;
	pthread_mutex_lock(&r->lock);
	c.waiting = r->n;
	records_sinks_count(r->sinks, &c.written, &c.lost);
	c.lost += __atomic_load_n(&r->full, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&r->lock);
	c.unsent = __atomic_load_n(&r->unsent, __ATOMIC_RELAXED);
	return c;
}
