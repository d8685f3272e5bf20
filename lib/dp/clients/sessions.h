// SPDX-License-Identifier: BSD-3-Clause
// The DTLS sessions of a home worker: a table by 5-tuple. A client's datagram comes in like any
// other. No line vouches for it, so fastpath.c gives it to dtls_clients_take:
//
//	ClientHello without a valid cookie -> answered in place, no state is kept
//	ClientHello with one, and the rest of its handshake -> a stream thread
//	(lib/stream/dtls/handshake.c), which sends back datagrams for the client and at the end
//	the session
//	record of a session -> kept for the end of the burst; dtls_clients_open_burst then
//	decrypts it in place and makes the frame that it would have been over UDP, for a burst of
//	its own
//
// dtls_clients_seal and dtls_clients_reply encrypt messages to a client, only on its home. Another
// worker that has the allocation (RESERVATION-TOKEN) gives them to the home unencrypted.
//
// The stream thread owns the handshake. It hands the resulting session to the worker with a note,
// and the worker owns the session from then on. The worker returns it with a note (STREAM_GONE),
// and the thread frees it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"
#include "clients/half_open.h"
#include "datapath.h"
#include "dp_burst.h"
#include "dp_view.h"
#include "dtls.h"
#include "dtls_cookie.h"
#include "dtls_hello.h"
#include "handle.h"
#include "hash.h"
#include "ilist.h"
#include "rates/limiter.h"
#include "link/local_addrs.h"
#include "stream.h"
#include "tables/table.h"
#include "turn.h"
#include "path/worker.h"

struct conf;

#define SESSION_NONE UINT32_MAX

enum session_state {
	SESSION_FREE,
	SESSION_HANDSHAKE, // its thread owns it
	SESSION_GIVEN_UP, // its thread owns it and is being notified; no client has it any more
	SESSION_OPEN,
	SESSION_CLOSED, // waiting until all others know
};

struct session {
	struct addr client;
	struct dtls_session *dtls; // OPEN, CLOSED
	uint64_t heard_ms; // HANDSHAKE: its start; GIVEN_UP: when its thread was last notified
	uint64_t lease_ms; // end of its allocation on another worker, as reported by that worker
	uint64_t away; // bit mask: workers that may have its allocation
	uint64_t hello; // identifies its ClientHello
	uint64_t number; // cookies made after its start have this number or a higher one
	uint32_t generation;
	uint32_t next; // in the list of free slots
	struct ilist_link by_age; // HANDSHAKE: in the list of handshakes
	uint16_t port;
	uint16_t given; // number of datagrams of its handshake
	uint8_t listener;
	uint8_t state; // enum session_state
	bool told; // GIVEN_UP: its thread has been notified
	bool spent; // its cookie has been used
};
_Static_assert(sizeof(struct session) == 88, "there are many sessions");

// A record that waits for the end of its burst.
struct sealed {
	struct rte_mbuf *m; // NULL: passed on with its last message
	struct turn_view view;
	uint64_t conn;
	int outcome; // result of the last read; below 0: the session ends
	bool bare; // the datagram has no frame headers
	bool used; // the datagram has produced a message or an answer
	bool begun; // the datagram's first record has been read
	uint16_t in_len;
	uint8_t *in; // its unread rest
};

// The end of a session that a worker could not be told yet.
struct owed_end {
	struct addr client;
	uint64_t conn;
	uint16_t port;
	uint8_t listener;
	uint8_t worker; // the worker to tell
};
#define OWED_ENDS 256
// Records that may be decrypted per burst in addition to one per datagram, so that a burst produces
// no more messages than two bursts of datagrams.
#define SESSIONS_MORE DP_BURST

// Sessions of one worker.
struct sessions {
	struct session *session; // max entries
	uint32_t max, used, free, scan;
	struct half_open half_open;
	struct hash_key key;
	struct table table; // all except FREE, GIVEN_UP and CLOSED
	struct dtls_cookies cookies;
	struct limiter begun; // handshakes, by source
	uint64_t *spent; // for the latest clients with used cookies: see sessions_spend
	uint64_t rotated_ms, ticked_ms;
	unsigned int nb_owed;
	struct owed_end owed[OWED_ENDS];
	uint16_t more; // records that may still be decrypted in addition to one per datagram
	unsigned int n, next_sealed;
	struct sealed sealed[DP_BURST];
};

// Makes the sessions of every worker, if a listener has DTLS. Returns 0 or -ENOMEM.
int sessions_create(struct dp *d);
void sessions_free(struct worker *w); // after threads and workers have stopped
size_t sessions_size(const struct conf *c); // bytes of memory that EAL is asked for
struct stream_dtls sessions_config(const struct conf *c); // sessions 0: no listener has DTLS

// True if dtls_clients_take has to look at a datagram that no line vouches for.
static inline bool sessions_concern(const struct worker *w, const struct turn_view *v)
{
	return v->leg == TURN_FROM_CLIENT && w->sessions != NULL &&
		(v->flags & (DP_DTLS | DP_STREAM)) == 0 &&
		(v->listener == LOCAL_ONLY_DTLS || (v->len > 0 && dtls_first_byte(v->data[0])));
}

// The id of a session (conn) is a handle (handle.h). Returns its worker.
static inline unsigned int sessions_home(uint64_t conn)
{
	return handle_owner(conn);
}

uint64_t sessions_conn(const struct worker *w, const struct session *c);
// The session of this worker with this id, or NULL.
struct session *sessions_of(const struct worker *w, uint64_t conn);
// A client's session in state OPEN (or HANDSHAKE), or NULL.
struct session *sessions_find(const struct worker *w, const struct addr *client, uint16_t port,
	uint8_t listener, enum session_state state);
// Makes a new session in state HANDSHAKE. NULL if a limit is reached.
struct session *sessions_add(
	struct worker *w, const struct addr *client, uint16_t port, uint8_t listener);
// Call it when a flight of the session's handshake is sent: from then on the cookies that the
// client has are not valid for another handshake.
void sessions_spend(struct worker *w, struct session *c);
// True if a client's valid cookie was made after that flight was sent.
bool sessions_is_fresh(const struct worker *w, const struct turn_view *v, uint64_t number);
// Call it when the thread has completed the handshake. An older session of its client ends.
void sessions_opened(struct worker *w, struct session *c, struct dtls_session *s);
// Call it when the thread has ended the handshake, because it failed or came too late; the session
// s, if not NULL, must then be freed.
void sessions_refused(struct worker *w, uint64_t conn, struct dtls_session *s);
// Gives up a handshake.
void sessions_give_up(struct worker *w, struct session *c);
// Ends an OPEN session, and its allocation; reason: the counter of such ends. Its client has been
// told.
void sessions_end(struct worker *w, struct session *c, uint64_t *reason);
// Tells a worker that a session of this worker has ended. If that is impossible now the tick does
// it. Beyond OWED_ENDS pending ends the last ones are dropped, until that worker sends something
// for them again.
void sessions_tell_end(struct worker *w, unsigned int dst, const struct turn_view *v);
// A view of the session's client, without a datagram.
struct turn_view sessions_view(const struct worker *w, const struct session *c);
// Runs timers. Call it at most once a millisecond.
void sessions_tick(struct worker *w);
// Next time at which sessions_tick has work, given the current state; UINT64_MAX: never.
uint64_t sessions_next_ms(const struct worker *w);

static inline unsigned int sessions_thread(const struct worker *w, const struct session *c)
{
	return (unsigned int)(c - w->sessions->session) % w->dp->nb_streams;
}
