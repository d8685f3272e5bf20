// SPDX-License-Identifier: BSD-3-Clause
// Clients over DTLS as their home worker sees them: a table of sessions by 5-tuple, and what
// becomes of their datagrams. A client's datagram comes in as any other does. No line vouches for
// it, so fastpath.c gives it to dtls_clients_take:
//
//	ClientHello without a good cookie -> answered in place, nothing is kept
//	with one, and the rest of its handshake -> a stream thread
//	(lib/stream/dtls/handshake.c), which sends back datagrams for the client and at the end
//	the session
//	record of a session -> kept for the end of the burst; dtls_clients_open_burst then
//	decrypts it in place and makes the frame that it would have been over UDP, for a burst of
//	its own
//
// dtls_clients_seal and dtls_clients_reply encrypt what is for a client, on its home alone. Another
// worker that has the allocation (RESERVATION-TOKEN) gives it to the home in the clear.
//
// The handshake is the stream thread's. The session that comes of it belongs to the worker from
// when the thread gives it with a note. The worker gives it back with a note (STREAM_GONE), to be
// freed.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"
#include "clients/half_open.h"
#include "datapath.h"
#include "dp_burst.h"
#include "dp_view.h"
#include "dtls/dtls.h"
#include "dtls/dtls_cookie.h"
#include "dtls/dtls_hello.h"
#include "hash.h"
#include "limiter.h"
#include "link/local_addrs.h"
#include "stream.h"
#include "table.h"
#include "turn.h"
#include "worker.h"

struct conf;

#define SESSION_NONE UINT32_MAX

enum session_state {
	SESSION_FREE,
	SESSION_SHAKING, // its thread has it
	SESSION_GIVEN_UP, // its thread has it and is told of it; it is no client's any more
	SESSION_OPEN,
	SESSION_CLOSED, // others have to be told
};

struct session {
	struct addr client;
	struct dtls_session *dtls; // OPEN, CLOSED
	uint64_t heard_ms; // SHAKING: when it began; GIVEN_UP: when its thread was last told
	uint64_t lease_ms; // until when it has an allocation on another worker, as that has said
	uint64_t away; // workers, as bits, that may have its allocation
	uint64_t hello; // what its ClientHello is known by
	uint64_t number; // cookies made since it began have this number or a higher one
	uint32_t generation;
	uint32_t next; // in the list of free ones
	uint32_t younger, older; // SHAKING: in the list of those
	uint16_t port;
	uint16_t given; // datagrams of its handshake
	uint8_t listener;
	uint8_t state; // enum session_state
	bool told; // GIVEN_UP: its thread
	bool spent; // its cookie
};
_Static_assert(sizeof(struct session) == 88, "there are many");

// A record that waits for the end of its burst.
struct sealed {
	struct rte_mbuf *m; // NULL: its last message is on the way in it
	struct turn_view view;
	uint64_t conn;
	int outcome; // what the last try has come to; below 0: its session ends
	bool bare; // there are no headers of a frame in front of it
	bool used; // a message has come of it, or an answer
	bool begun; // its first record has been read
	uint16_t in_len;
	uint8_t *in; // what is left of it
};

// A session's end of which a worker could not be told yet.
struct owed_end {
	struct addr client;
	uint64_t conn;
	uint16_t port;
	uint8_t listener;
	uint8_t worker; // that worker
};
#define OWED_ENDS 256
// Records that may be decrypted for a burst besides one of each datagram: so it brings no more
// messages than two bursts of datagrams would.
#define SESSIONS_MORE DP_BURST

// One worker's.
struct sessions {
	struct session *session; // max of them
	uint32_t max, used, free, scan;
	struct half_open shaking;
	struct hash_key key;
	struct table table; // all except FREE, GIVEN_UP and CLOSED
	struct dtls_cookies cookies;
	struct limiter begun; // handshakes, by source
	uint64_t *spent; // for the last clients whose cookies are spent: see sessions_spend
	uint64_t rotated_ms, ticked_ms;
	unsigned int nb_owed;
	struct owed_end owed[OWED_ENDS];
	uint16_t more; // records that may still be decrypted besides one of each datagram
	unsigned int n, next_sealed;
	struct sealed sealed[DP_BURST];
};

// For every worker, where there is a DTLS listener. 0 or -ENOMEM.
int sessions_create(struct dp *d);
void sessions_free(struct worker *w); // neither threads nor workers run any more
size_t sessions_size(const struct conf *c); // bytes of memory that EAL is asked for
struct stream_dtls sessions_config(const struct conf *c); // sessions 0: no such listener

// Whether dtls_clients_take has to look at a datagram for which no line vouches.
static inline bool sessions_concern(const struct worker *w, const struct turn_view *v)
{
	return v->leg == TURN_FROM_CLIENT && w->sessions != NULL &&
		(v->flags & (DP_DTLS | DP_STREAM)) == 0 &&
		(v->listener == LOCAL_ONLY_DTLS || (v->len > 0 && dtls_first_byte(v->data[0])));
}

// The id of a session (conn) names its worker and its place there. The worker:
static inline unsigned int sessions_home(uint64_t conn)
{
	return (uint8_t)(conn >> 24);
}

uint64_t sessions_conn(const struct worker *w, const struct session *c);
// The session of this worker that has this id, or NULL.
struct session *sessions_of(const struct worker *w, uint64_t conn);
// A client's session that is OPEN (or SHAKING); NULL: there is none.
struct session *sessions_find(const struct worker *w, const struct addr *client, uint16_t port,
	uint8_t listener, enum session_state state);
// A new one, SHAKING. NULL: the limits say no.
struct session *sessions_add(
	struct worker *w, const struct addr *client, uint16_t port, uint8_t listener);
// To be told when a flight of its handshake goes out: no cookie that its client has by then is good
// for another handshake.
void sessions_spend(struct worker *w, struct session *c);
// Whether a client's good cookie has been made since then.
bool sessions_is_fresh(const struct worker *w, const struct turn_view *v, uint64_t number);
// The thread has completed its handshake; one that its client had before ends.
void sessions_opened(struct worker *w, struct session *c, struct dtls_session *s);
// The thread has ended its handshake: without success, or too late, and then s is nobody's.
void sessions_refused(struct worker *w, uint64_t conn, struct dtls_session *s);
// Gives up a handshake.
void sessions_give_up(struct worker *w, struct session *c);
// Ends one that is OPEN, and its allocation; reason: the counter of such ends. Its client has been
// told.
void sessions_end(struct worker *w, struct session *c, uint64_t *reason);
// Tells a worker that a session of this one, which is no more, has ended. Where that cannot be now
// it is done by the tick; of more than OWED_ENDS at once the last are forgotten, until their worker
// has something for them again.
void sessions_tell_end(struct worker *w, unsigned int dst, const struct turn_view *v);
// A view of the session's client, without a datagram.
struct turn_view sessions_view(const struct worker *w, const struct session *c);
// What is due by time. Once a millisecond at most.
void sessions_tick(struct worker *w);
// When sessions_tick has something to do next, as things are now; UINT64_MAX: never.
uint64_t sessions_next_ms(const struct worker *w);

static inline unsigned int sessions_thread(const struct worker *w, const struct session *c)
{
	return (unsigned int)(c - w->sessions->session) % w->dp->nb_streams;
}
