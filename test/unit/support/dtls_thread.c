// SPDX-License-Identifier: BSD-3-Clause
// A stream thread without a kernel thread: handshakes are its only work.
#include "dtls_thread.h"
#include "dtls_world.h"
#include "identity/identities.h"
#include "thread.h"

static struct streams streams;
static struct thread *thread;

void dtls_thread_open(const struct stream_config *c)
{
	char error[256];

	streams = (struct streams){.conf = *c};
	streams.conf.connections = 1;
	streams.conf.threads = 1;
	streams.conf.room = 1600;
	assert_int_equal(conn_limits_init(&streams.caps, 1, 0, 0), 0);
	assert_int_equal(conn_limits_init(&streams.sessions, c->dtls.sessions, 0, 0), 0);
	pthread_mutex_init(&streams.tls_lock, NULL);
	streams.identities = identities_load(dtls_identities(NULL), &c->dtls, error, sizeof(error));
	assert_non_null(streams.identities);
	thread = thread_create(&streams, 0);
	assert_non_null(thread);
}

void dtls_thread_close(void)
{
	thread_free(thread);
	identities_free(streams.identities);
	conn_limits_fini(&streams.caps);
	conn_limits_fini(&streams.sessions);
}

void dtls_thread_limit(uint32_t sessions)
{
	streams.sessions.max = sessions;
}

void dtls_thread_take(unsigned int w, const struct stream_message *m)
{
	handshake_take(thread, w, m);
}

bool dtls_thread_work(void)
{
	return handshake_work(thread);
}

void dtls_thread_round(uint64_t now_ms)
{
	while (handshake_work(thread))
		;
	handshake_tell(thread);
	thread->now_ms = now_ms;
	handshake_tick(thread);
}

struct stream_stats dtls_thread_stats(void)
{
	return thread->stats;
}
