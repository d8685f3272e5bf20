// SPDX-License-Identifier: BSD-3-Clause
// Asks slipring-accounts (lookup_thread.h). Without a connection questions get "no answer" at once:
// workers decide what that means for each request. While the program does not read, they stay with
// the workers, until their deadline or until no more of them fit.
#include "features/lookup/lookup_thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "conf.h"
#include "dp_lookup.h"
#include "features/lookup/lookup_records.h"
#include "log/log.h"

#define TAKE 32 // questions at once
#define OUT_LEN (256 * LOOKUP_QUESTION_LEN) // questions that the program has not read
#define IN_LEN (64 * LOOKUP_ANSWER_LEN)
#define LONGEST_MS 1000 // of a wait
#define RETRY_MS 250 // until the next attempt to connect
#define SECRET_TRIES 1000 // milliseconds that the workers may take to make room for a secret

struct asker {
	struct dp *dp;
	char path[108];
	pthread_t thread;
	int fd; // -1 = not connected
	uint64_t retry_ms; // the time of the next attempt
	bool told; // that there is no connection
	bool full; // the program has to read before it can be asked more
	size_t out_at, out_len, in_len; // bytes in out from out_at on, and in in
	uint8_t out[OUT_LEN], in[IN_LEN];
	// Read by other threads.
	uint32_t stopping, again;
	uint32_t connected;
	uint64_t changed_ms, connections, no_connection, bad_records;
};

static struct asker *asker; // NULL: users are not looked up

static void add_count(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static void note_connected(struct asker *k, bool connected)
{
	__atomic_store_n(&k->changed_ms, clock_monotonic_ms(), __ATOMIC_RELAXED);
	__atomic_store_n(&k->connected, connected, __ATOMIC_RELAXED);
}

// --- the connection ------------------------------------------------------------------------------

static void end_connection(struct asker *k, const char *reason)
{
	if (k->fd < 0)
		return;
	close(k->fd);
	k->fd = -1;
	k->out_at = k->out_len = k->in_len = 0;
	k->retry_ms = clock_monotonic_ms() + RETRY_MS;
	note_connected(k, false);
	if (reason == NULL)
		return;
	k->told = true;
	LOG(AUTH, WARNING,
		"auth.lookup: lost the connection to %s: %s; users whose answers are no longer "
		"kept cannot log in until it is back",
		k->path, reason);
}

static void connect_again(struct asker *k)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, k->path, sizeof(address.sun_path));
	k->retry_ms = clock_monotonic_ms() + RETRY_MS;
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		if (!k->told)
			LOG(AUTH, WARNING,
				"auth.lookup: cannot connect to %s: %s; is slipring-accounts "
				"running, and may this process open its socket?",
				k->path, strerror(errno));
		k->told = true;
		if (fd >= 0)
			close(fd);
		return;
	}
	k->fd = fd;
	k->told = false;
	add_count(&k->connections, 1);
	note_connected(k, true);
	LOG(AUTH, INFO, "auth.lookup: connected to %s", k->path);
}

// --- questions -----------------------------------------------------------------------------------

static void send_questions(struct asker *k)
{
	while (k->fd >= 0 && k->out_len > 0) {
		const ssize_t n = send(k->fd, k->out + k->out_at, k->out_len, MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0)
			return end_connection(k, strerror(errno));
		k->out_at += (size_t)n;
		k->out_len -= (size_t)n;
	}
	k->out_at = 0;
}

// True if a burst of questions fits.
static bool has_room(struct asker *k)
{
	if (k->out_at + k->out_len + TAKE * LOOKUP_QUESTION_LEN > OUT_LEN && k->out_at > 0) {
		memmove(k->out, k->out + k->out_at, k->out_len);
		k->out_at = 0;
	}
	return k->out_at + k->out_len + TAKE * LOOKUP_QUESTION_LEN <= OUT_LEN;
}

// Takes questions of workers. True if there may be more.
static bool take_questions(struct asker *k)
{
	struct dp_lookup_question q[TAKE];
	unsigned int n;

	k->full = k->fd >= 0 && !has_room(k);
	if (k->full)
		return false;
	n = dp_lookup_take(k->dp, q, TAKE);
	for (unsigned int i = 0; i < n; i++) {
		const struct turn_lookup_answer none = {
			.id = q[i].id, .result = TURN_LOOKUP_NO_ANSWER};

		if (k->fd >= 0) {
			lookup_records_put(&q[i], k->out + k->out_at + k->out_len);
			k->out_len += LOOKUP_QUESTION_LEN;
			continue;
		}
		dp_lookup_answer(k->dp, &none);
		add_count(&k->no_connection, 1);
	}
	return n > 0;
}

// --- answers -------------------------------------------------------------------------------------

static bool give_secret(struct asker *k, const struct turn_lookup_secret *s)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (unsigned int i = 0; i < SECRET_TRIES; i++) {
		if (dp_lookup_secret(k->dp, s))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

// True if the record was one.
static bool take_record(struct asker *k, const uint8_t *record)
{
	struct turn_lookup_answer a;
	struct turn_lookup_secret s;
	bool ok = true;

	switch (lookup_records_read(record, &a, &s)) {
	case LOOKUP_RECORD_BAD:
		add_count(&k->bad_records, 1);
		return false;
	case LOOKUP_RECORD_ANSWER:
		dp_lookup_answer(k->dp, &a);
		explicit_bzero(&a, sizeof(a));
		break;
	case LOOKUP_RECORD_SECRET:
		ok = give_secret(k, &s);
		explicit_bzero(&s, sizeof(s));
		break;
	}
	return ok;
}

static void receive_answers(struct asker *k)
{
	const ssize_t n = recv(k->fd, k->in + k->in_len, IN_LEN - k->in_len, 0);
	size_t done = 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		return end_connection(k, n == 0 ? "it was closed" : strerror(errno));
	k->in_len += (size_t)n;
	for (; k->in_len - done >= LOOKUP_ANSWER_LEN; done += LOOKUP_ANSWER_LEN)
		if (!take_record(k, k->in + done))
			return end_connection(
				k, "it sent a record that the protocol does not have");
	memmove(k->in, k->in + done, k->in_len - done);
	explicit_bzero(k->in + k->in_len - done, done);
	k->in_len -= done;
}

// --- the thread ----------------------------------------------------------------------------------

static void wait_for(struct asker *k, bool busy)
{
	struct pollfd fds[2] = {{.fd = dp_lookup_fd(k->dp), .events = POLLIN},
		{.fd = k->fd, .events = (short)(POLLIN | (k->out_len > 0 ? POLLOUT : 0))}};
	eventfd_t count;
	int ms = k->fd < 0 ? RETRY_MS : LONGEST_MS;

	if (busy || (!k->full && !dp_lookup_sleep(k->dp)))
		ms = 0;
	if (poll(fds, 2, ms) < 0)
		return;
	if (fds[0].revents != 0)
		(void)eventfd_read(fds[0].fd, &count);
	if (k->fd >= 0 && (fds[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0)
		receive_answers(k);
}

static void *run_asker(void *arg)
{
	struct asker *k = arg;
	bool busy = false;

	while (__atomic_load_n(&k->stopping, __ATOMIC_ACQUIRE) == 0) {
		if (__atomic_exchange_n(&k->again, 0, __ATOMIC_ACQUIRE) != 0) {
			end_connection(k, NULL);
			k->retry_ms = 0;
		}
		if (k->fd < 0 && clock_monotonic_ms() >= k->retry_ms)
			connect_again(k);
		wait_for(k, busy);
		busy = take_questions(k);
		send_questions(k);
	}
	end_connection(k, NULL);
	return NULL;
}

int lookup_thread_open(struct dp *d, const struct conf *c)
{
	struct asker *k;
	int rc;

	if (!c->turn.lookup.enabled)
		return 0;
	k = calloc(1, sizeof(*k));
	if (k == NULL) {
		LOG(START, ERR, "auth.lookup: out of memory");
		return -ENOMEM;
	}
	k->dp = d;
	k->fd = -1;
	snprintf(k->path, sizeof(k->path), "%s", c->turn.lookup.socket);
	note_connected(k, false);
	rc = -pthread_create(&k->thread, NULL, run_asker, k);
	if (rc != 0) {
		LOG(START, ERR, "auth.lookup: thread: %s", strerror(-rc));
		free(k);
		return rc;
	}
	pthread_setname_np(k->thread, "slipring-lookup");
	asker = k;
	return 0;
}

void lookup_thread_reload(void)
{
	if (asker == NULL)
		return;
	__atomic_store_n(&asker->again, 1, __ATOMIC_RELEASE);
	dp_lookup_wake(asker->dp);
}

void lookup_thread_close(void)
{
	struct asker *k = asker;

	if (k == NULL)
		return;
	__atomic_store_n(&k->stopping, 1, __ATOMIC_RELEASE);
	dp_lookup_wake(k->dp);
	pthread_join(k->thread, NULL);
	asker = NULL;
	explicit_bzero(k, sizeof(*k));
	free(k);
}

void lookup_thread_state(struct lookup_state *out)
{
	const struct asker *k = asker;

	*out = (struct lookup_state){.on = k != NULL};
	if (k == NULL)
		return;
	out->connected = __atomic_load_n(&k->connected, __ATOMIC_RELAXED) != 0;
	out->since_s =
		(clock_monotonic_ms() - __atomic_load_n(&k->changed_ms, __ATOMIC_RELAXED)) / 1000;
	out->connections = __atomic_load_n(&k->connections, __ATOMIC_RELAXED);
	out->no_connection = __atomic_load_n(&k->no_connection, __ATOMIC_RELAXED);
	out->bad_records = __atomic_load_n(&k->bad_records, __ATOMIC_RELAXED);
}
