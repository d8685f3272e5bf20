// SPDX-License-Identifier: BSD-3-Clause
// A stream thread: waits for sockets and for messages from workers, and handles both in turn.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "conn.h"
#include "fatal.h"
#include "listen.h"
#include "out/outgoing.h"
#include "proxy/proxy.h"
#include "threads/prompt_wakes.h"

#define EVENTS 64
#define TICK_MS 100 // longest sleep of a round, and time between two scans for deadlines
#define SCAN_PARTS 5 // each tick checks one part of the connections, so each one twice a second
#define STALL_NS (200 * 1000) // until the thread tries again to get buffers of workers
#define PORTION_NS (1000 * 1000) // time for handshakes in a round; the last step may exceed it

// Handles a message of a kind that a feature adds, after the messages before it are written. False
// if it is of another kind.
static bool take_special(struct thread *t, const struct stream_message *m)
{
#define X(type, take)              \
	if (m->kind == (type)) {   \
		outgoing_write(t); \
		take(t, m);        \
		return true;       \
	}
	STREAM_MESSAGES(X)
#undef X
	return false;
}

// Handles the n messages of a worker in t->gather. Messages to one connection are written together.
static void handle_messages(struct thread *t, unsigned int w, unsigned int n)
{
	const struct stream_message *m = t->gather.m;

	for (unsigned int i = 0; i < n; i++) {
		if (m[i].kind == STREAM_BYTES) {
			outgoing_add(t, i);
		} else if (!take_special(t, &m[i])) {
			handshake_take(t, w, &m[i]);
		}
	}
	outgoing_write(t);
}

// Receives the messages that workers have for clients. Returns their number.
static unsigned int receive_messages(struct thread *t)
{
	const struct stream_config *conf = &t->s->conf;
	unsigned int total = 0;

	for (unsigned int w = 0; w < conf->workers; w++) {
		const unsigned int n =
			conf->ops->receive(conf->ctx, t->index, w, t->gather.m, STREAM_BURST);

		if (n > 0)
			t->met |= UINT64_C(1) << w;
		handle_messages(t, w, n);
		for (unsigned int i = 0; i < n; i++)
			conf->ops->release(conf->ctx, t->index, w, t->gather.m[i].buf);
		total += n;
	}
	return total;
}

// Wakes the workers that were sent messages, once per round, so that a worker does not wake for the
// first message alone.
static void kick_workers(struct thread *t)
{
	const struct stream_config *conf = &t->s->conf;

	t->met |= t->kicks;
	for (; t->kicks != 0; t->kicks &= t->kicks - 1)
		conf->ops->kick(conf->ctx, (unsigned int)__builtin_ctzll(t->kicks));
}

// A napping thread is the clock of the dozing workers that it exchanges messages with: it also ends
// the dozes of those that it has no messages for.
static void rouse_workers(struct thread *t)
{
	const struct stream_config *conf = &t->s->conf;

	for (uint64_t left = t->beside & ~t->kicks; left != 0; left &= left - 1)
		conf->ops->rouse(conf->ctx, (unsigned int)__builtin_ctzll(left));
}

uint64_t *thread_refuses(struct thread *t, const struct addr *client)
{
	const struct stream_config *c = &t->s->conf;

	if (c->ops->refuses == NULL)
		return NULL;
	switch (c->ops->refuses(c->ctx, client)) {
	case STREAM_REFUSED_DENIED:
		return &t->stats.refused_denied;
	case STREAM_REFUSED_BLOCKED:
		return &t->stats.refused_blocked;
	default:
		return NULL;
	}
}

// Closes a connection whose client is no longer served, if the rules have changed since the last
// check of all connections.
static void review_client(struct thread *t, struct conn *c)
{
	uint64_t *reason = NULL;

	if (t->to_review == 0)
		return;
	t->to_review--;
	if (c->state != CONN_FREE && c->state != CONN_ENDED)
		reason = thread_refuses(t, &c->client.addr);
	if (reason != NULL)
		conn_close(t, c, reason);
}

static void scan_conns(struct thread *t)
{
	const uint32_t reviews = load_number(&t->s->reviews);
	uint32_t n = t->used / SCAN_PARTS + 1;

	if (t->now_ms < t->scanned_ms + TICK_MS)
		return;
	t->scanned_ms = t->now_ms;
#define X(enter, begin, wait_ms, ready, tick, review) tick(t);
	STREAM_ROUNDS(X)
#undef X
	if (t->reviews_seen != reviews)
		t->to_review = t->used;
	t->reviews_seen = reviews;
	for (; n > 0; n--) {
		struct conn *c;

		if (t->scan >= t->used)
			t->scan = 0;
		c = &t->conn[t->scan++];
		conn_judge(t, c);
		review_client(t, c);
	}
}

// Handles an event of a socket of a feature. False if it is another socket.
static bool special_event(struct thread *t, const struct epoll_event *e)
{
#define X(bit, event)                                       \
	if ((e->data.u64 & (bit)) != 0) {                   \
		event(t, (uint32_t)e->data.u64, e->events); \
		return true;                                \
	}
	STREAM_WATCHES(X)
#undef X
	return false;
}

static void dispatch_event(struct thread *t, const struct epoll_event *e)
{
	uint64_t times;

	if (e->data.u64 == WATCH_EVENT) {
		if (read(t->event, &times, sizeof(times)) < 0)
			return; // awake in any case
	} else if (e->data.u64 == WATCH_FRESH) {
		t->handshakes_pending = true; // after all other work
	} else if ((e->data.u64 & WATCH_LISTENER) != 0) {
		listen_accept(t, (uint8_t)e->data.u64);
	} else if ((e->data.u64 & WATCH_PROXY) != 0) {
		proxy_event(t, e->data.u64);
	} else if (!special_event(t, e)) {
		struct conn *c = &t->conn[(uint32_t)e->data.u64];

		if (c->state != CONN_FREE && c->state != CONN_ENDED)
			conn_event(t, c, e->events);
	}
}

// Does one step for a connection that is not open yet: on a listener, or in a TLS handshake. False
// if there is no such step.
static bool fresh_work(struct thread *t)
{
	struct epoll_event e;

	if (epoll_wait(t->fresh, &e, 1, 0) != 1)
		return false;
	dispatch_event(t, &e);
	return true;
}

// Serves connections that are not open yet, one step of each kind in turn, for at most PORTION_NS.
static void shake_hands(struct thread *t)
{
	const uint64_t until = clock_monotonic_ns() + PORTION_NS;

	do {
		const bool fresh = fresh_work(t);

		t->handshakes_pending = handshake_work(t) || fresh;
	} while (t->handshakes_pending && clock_monotonic_ns() < until);
	kick_workers(t);
	t->hungry |= t->handshakes_pending;
}

// Makes workers wake this thread from here on, and handles messages queued before. Returns the
// number of messages.
static unsigned int fall_asleep(struct thread *t)
{
	__atomic_store_n(&t->sleeping, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return receive_messages(t);
}

// Sets the timer that ends a nap. A round sets it before it kicks workers, and so before their
// timers: the kernel programs the hardware only for the first timer of a CPU, and in a virtual
// machine that costs more than the rest of a sleep. For this reason the timer is set once for both
// parts of a nap, too.
static void nap_set(struct thread *t)
{
	const struct itimerspec spec = {
		.it_value = {.tv_sec = t->nap.us / 1000000, .tv_nsec = t->nap.us % 1000000 * 1000}};
	const uint64_t before = sleep_cost_measures(&t->nap.cost) ? clock_cpu_ns() : 0;

	t->nap_set = timerfd_settime(t->timer, 0, &spec, NULL) == 0;
	t->measures = before != 0;
	t->nap_ns = before != 0 ? clock_cpu_ns() - before : 0;
}

// Sleeps until the timer ends the nap, or until a worker wakes the thread. True if the nap is over.
static bool sleep_on(struct thread *t)
{
	struct pollfd p[2] = {
		{.fd = t->event, .events = POLLIN}, {.fd = t->timer, .events = POLLIN}};
	const uint64_t before = t->measures ? clock_cpu_ns() : 0;
	const int n = ppoll(p, 2, NULL, NULL);
	uint64_t times;

	if (n > 0 && p[0].revents != 0 && read(t->event, &times, sizeof(times)) < 0)
		times = 0; // awake in any case
	if (t->measures)
		t->nap_ns += clock_cpu_ns() - before;
	return n <= 0 || p[1].revents != 0;
}

// Sleeps while more bytes arrive. Workers wake the thread once during the nap, with the answers to
// everything that it has read before: these need not wait for the end of the nap, and the thread
// does not wake for each of them. Returns the number of messages.
static unsigned int take_nap(struct thread *t)
{
	unsigned int found = fall_asleep(t);
	bool over = false;

	if (!t->nap_set)
		nap_set(t);
	over = !t->nap_set;
	t->nap_set = false;
	if (found == 0 && !over) {
		over = sleep_on(t);
		found = receive_messages(t);
	}
	__atomic_store_n(&t->sleeping, 0, __ATOMIC_RELAXED);
	if (!over)
		sleep_on(t);
	if (t->measures)
		sleep_cost_learn(&t->nap.cost, t->nap_ns);
	t->measures = false;
	return found;
}

// Polls the sockets, waiting for them if there is nothing else to do, and handles their events.
// Returns the number of events.
static unsigned int poll_sockets(struct thread *t, uint32_t wait_ms)
{
	struct epoll_event e[EVENTS];
	const int n = epoll_wait(t->epoll, e, EVENTS, (int)wait_ms);

	t->hungry = n == EVENTS;
	__atomic_store_n(&t->sleeping, 0, __ATOMIC_RELAXED);
	t->now_ms = clock_monotonic_ms();
	for (int i = 0; i < n; i++)
		dispatch_event(t, &e[i]);
#define X(enter, begin, wait, ready, tick, review) ready(t);
	STREAM_ROUNDS(X)
#undef X
	turns_run(t);
	return n > 0 ? (unsigned int)n : 0;
}

// Wakes workers, after the last read of the round.
static void go_round(struct thread *t)
{
	if (t->nap.on && !t->hungry) {
		nap_set(t);
		rouse_workers(t);
	}
	kick_workers(t);
}

static void update_nap(struct thread *t, unsigned int messages)
{
	if (!nap_see(&t->nap, t->now_ms, messages, load_number(&t->s->conf.nap_us)))
		return;
	t->beside = t->nap.on ? t->met : 0;
	t->met = 0;
	t->nap_set &= t->nap.on;
}

// Milliseconds that the round may wait for sockets.
static uint32_t wait_of(const struct thread *t, bool busy)
{
	uint32_t most_ms =
		busy || t->stalled || t->handshakes_pending || t->nap.on || t->turns.busy != 0
		? 0
		: TICK_MS;

#define X(enter, begin, wait_ms, ready, tick, review) \
	if (wait_ms(t) < most_ms)                     \
		most_ms = wait_ms(t);
	STREAM_ROUNDS(X)
#undef X
	return most_ms;
}

static void round_of(struct thread *t)
{
	static const struct timespec pause = {.tv_nsec = STALL_NS};
	unsigned int busy = 0;
	uint32_t wait_ms;

	stats_add(&t->progress.rounds, 1);
	if (t->nap.on && !t->hungry)
		busy = take_nap(t);
	t->now_ms = clock_monotonic_ms();
	conn_tell_ends(t);
	t->stalled |= !handshake_tell(t);
#define X(enter, begin, wait, ready, tick, review) begin(t);
	STREAM_ROUNDS(X)
#undef X
	busy += receive_messages(t);
	if (busy == 0 && !t->nap.on)
		busy = fall_asleep(t);
	kick_workers(t);
	if (t->stalled)
		nanosleep(&pause, NULL);
	wait_ms = wait_of(t, busy > 0);
	t->stalled = false;
	busy += poll_sockets(t, wait_ms);
	go_round(t);
	if (t->handshakes_pending || t->handshakes.first != NULL)
		shake_hands(t);
	update_nap(t, busy);
	scan_conns(t);
#define X(enter, begin, wait, ready, tick, review) t->hungry |= review(t);
	STREAM_ROUNDS(X)
#undef X
	handshake_tick(t);
	proxy_tick(t);
	refused_tick(t);
}

// --- start and end -------------------------------------------------------------------------------

struct opening {
	struct thread *t;
	int rc;
	char *error;
	size_t len;
};

static void *open_listeners(void *arg)
{
	struct opening *o = arg;

	o->rc = listen_open(o->t, o->error, o->len);
	return NULL;
}

static void *run_thread(void *arg)
{
	struct thread *t = arg;

	pthread_getcpuclockid(pthread_self(), &t->progress.clock);
	prompt_wakes();
#define X(enter, begin, wait_ms, ready, tick, review) enter(t);
	STREAM_ROUNDS(X)
#undef X
	__atomic_store_n(&t->progress.tid, gettid(), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&t->s->stop, __ATOMIC_ACQUIRE))
		round_of(t);
	return NULL;
}

// Starts a thread with all signals blocked except those that every thread handles: other threads
// handle the rest.
static int spawn_thread(pthread_t *id, void *(*function)(void *), void *arg)
{
	sigset_t all, before;
	int rc;

	fatal_others(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(id, NULL, function, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int thread_start(struct thread *t, char *error, size_t len)
{
	struct opening o = {.t = t, .error = error, .len = len};
	char name[16];
	int rc;

	// on a temporary thread, because it may move to another network namespace
	rc = spawn_thread(&t->id, open_listeners, &o);
	if (rc == 0) {
		pthread_join(t->id, NULL);
		if (o.rc != 0)
			return -1;
		rc = spawn_thread(&t->id, run_thread, t);
	}
	if (rc != 0) {
		snprintf(error, len, "streams: thread: %s", strerror(rc));
		return -1;
	}
	t->started = true;
	// wait until it has entered its namespace
	while (__atomic_load_n(&t->progress.tid, __ATOMIC_ACQUIRE) == 0)
		nanosleep(&(struct timespec){.tv_nsec = STALL_NS}, NULL);
	snprintf(name, sizeof(name), "stream-%u", t->index);
	pthread_setname_np(t->id, name);
	return 0;
}

struct thread *thread_create(struct streams *s, unsigned int index)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = WATCH_EVENT};
	struct epoll_event fresh = {.events = EPOLLIN, .data.u64 = WATCH_FRESH};
	struct thread *t = aligned_alloc(64, (sizeof(*t) + 63) & ~(size_t)63);

	if (t == NULL)
		return NULL;
	*t = (struct thread){.s = s,
		.index = index,
		.max = s->conf.connections,
		.free = CONN_NONE,
		.young = ILIST_EMPTY,
		.reserve = -1};
	nap_init(&t->nap);
	memset(&t->ended, 0xff, sizeof(t->ended)); // all bytes 0xff: CONN_NONE
	turns_init(&t->turns);
	refused_init(t);
	t->listen = calloc(s->conf.nb_listeners + 1, sizeof(*t->listen));
	t->conn = calloc(t->max, sizeof(*t->conn));
	t->live = calloc(t->max, sizeof(*t->live));
	t->cipher = calloc(t->max, sizeof(*t->cipher));
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	t->fresh = epoll_create1(EPOLL_CLOEXEC);
	t->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	t->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	for (unsigned int i = 0; t->listen != NULL && i < s->conf.nb_listeners; i++)
		t->listen[i] = -1;
	if (t->listen != NULL && t->conn != NULL && t->live != NULL && t->cipher != NULL &&
		t->epoll >= 0 && t->event >= 0 && t->timer >= 0 &&
		epoll_ctl(t->epoll, EPOLL_CTL_ADD, t->event, &e) == 0 && t->fresh >= 0 &&
		epoll_ctl(t->epoll, EPOLL_CTL_ADD, t->fresh, &fresh) == 0 &&
		(s->conf.nb_listeners == 0 || proxy_open(t)))
		return t;
	thread_free(t);
	return NULL;
}

void thread_free(struct thread *t)
{
	for (uint32_t i = 0; i < t->used; i++)
		if (t->conn[i].state != CONN_FREE && t->conn[i].state != CONN_ENDED)
			conn_close(t, &t->conn[i], &t->stats.closed);
	handshake_close(t);
	proxy_close(t);
	if (t->listen != NULL)
		listen_close(t);
	if (t->epoll >= 0)
		close(t->epoll);
	if (t->fresh >= 0)
		close(t->fresh);
	if (t->event >= 0)
		close(t->event);
	if (t->timer >= 0)
		close(t->timer);
	free(t->listen);
	free(t->conn);
	free(t->live);
	free(t->cipher);
	free(t);
}
