// SPDX-License-Identifier: BSD-3-Clause
// Decrypts and encrypts datagrams of DTLS clients.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "clients/sessions.h"
#include "turn.h"
#include "path/worker.h"

struct rewrite;
struct rte_mbuf;

// Consumes a datagram for which sessions_concern is true. A ClientHello waits in the backlog if
// may_wait is true. False if it is for no DTLS listener; the caller keeps it.
bool dtls_clients_take(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, bool may_wait);
// Call it once per burst, after dtls_clients_take has seen all of it.
static inline void dtls_clients_begin(struct worker *w)
{
	w->sessions->more = SESSIONS_MORE;
}
// Decrypts the datagrams that dtls_clients_take has kept, up to a whole burst, into w->burst, and
// returns the number of messages in it. Call it again while dtls_clients_waiting.
unsigned int dtls_clients_open_burst(struct worker *w);
static inline bool dtls_clients_waiting(const struct worker *w)
{
	return w->sessions != NULL && w->sessions->n > 0;
}

// Number of bytes by which the record for the client of a slot is longer than its message. If
// another worker owns its session this is an upper limit.
uint16_t dtls_clients_overhead(const struct worker *w, uint32_t slot);
// Encrypts front and kept payload of r for the client of slot v->slot. The record of *len bytes
// begins at the old payload. False if the packet has been consumed.
bool dtls_clients_seal(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const struct rewrite *r, uint16_t *len);
// Sends an answer to the client of v, whose request is in m. Consumes the packet.
void dtls_clients_reply(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const uint8_t *message, uint16_t len);
// Call it when a client has been redirected to worker dst; v is the view of its request.
void dtls_clients_redirected(struct worker *w, const struct turn_view *v, unsigned int dst);
// Encrypts and sends a message from another worker to our client (MBUF_META_SEAL). Consumes the
// packet.
void dtls_clients_reply_for(struct worker *w, struct rte_mbuf *m);
// Handles a message from a thread: MBUF_META_DTLS or MBUF_META_DTLS_NOTE. Consumes the packet.
void dtls_clients_from_thread(struct worker *w, struct rte_mbuf *m);
// Sends the close alert of a session to its client.
void dtls_clients_bye(struct worker *w, const struct session *c);
