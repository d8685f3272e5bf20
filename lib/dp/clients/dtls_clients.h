// SPDX-License-Identifier: BSD-3-Clause
// dtls_clients.c: datagrams of DTLS clients.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "clients/sessions.h"
#include "turn.h"
#include "worker.h"

struct rewrite;
struct rte_mbuf;

// Takes a datagram for which sessions_concern is true. A ClientHello waits in the backlog if it
// may. False: it is for no DTLS listener, and still the caller's.
bool dtls_clients_take(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, bool may_wait);
// To be called once for a burst, when dtls_clients_take has seen all of it.
static inline void dtls_clients_begin(struct worker *w)
{
	w->sessions->more = SESSIONS_MORE;
}
// Decrypts what dtls_clients_take has kept, up to a whole burst, into w->burst, and returns how
// many datagrams are in it. To be called again while dtls_clients_waiting.
unsigned int dtls_clients_open_burst(struct worker *w);
static inline bool dtls_clients_waiting(const struct worker *w)
{
	return w->sessions != NULL && w->sessions->n > 0;
}

// Bytes that the record for the client of a slot has more than its message; if another worker has
// its session, at most.
uint16_t dtls_clients_overhead(const struct worker *w, uint32_t slot);
// Encrypts front and kept payload of r for the client of slot v->slot; the record, of *len bytes,
// begins where the payload did. False: the packet has been taken.
bool dtls_clients_seal(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const struct rewrite *r, uint16_t *len);
// Sends an answer to the client of v, whose request m was. Takes the packet.
void dtls_clients_reply(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const uint8_t *message, uint16_t len);
// To be told that the client of v, whose request it is, has been redirected to another worker.
void dtls_clients_went(struct worker *w, const struct turn_view *v, unsigned int dst);
// Encrypts and sends a message that another worker has for a client of ours (MBUF_META_SEAL). Takes
// the packet.
void dtls_clients_reply_for(struct worker *w, struct rte_mbuf *m);
// Does what a thread has sent: MBUF_META_DTLS or MBUF_META_DTLS_NOTE. Takes the packet.
void dtls_clients_from_thread(struct worker *w, struct rte_mbuf *m);
// Tells a client that its session ends.
void dtls_clients_bye(struct worker *w, const struct session *c);
