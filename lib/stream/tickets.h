// SPDX-License-Identifier: BSD-3-Clause
// The keys of session tickets (RFC 5077, RFC 8446 4.6.1). A new key is made every hour, and the
// previous key stays valid for one more hour. So a stolen key opens at most two hours of sessions
// that were resumed without a fresh key exchange. Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TICKET_NAME_LEN 16
#define TICKET_PERIOD_MS (3600 * 1000)

struct ticket_key {
	uint8_t name[TICKET_NAME_LEN], aes[32], hmac[32];
	uint64_t made_ms;
};

struct tickets;

struct tickets *tickets_create(void); // NULL without memory
void tickets_free(struct tickets *t); // NULL is fine
// Gets the key for a new ticket at now_ms (milliseconds). False if there is no randomness.
bool tickets_seal(struct tickets *t, uint64_t now_ms, struct ticket_key *out);
// Finds the key with this name. Returns 1 if it is found, 2 if it is found but the ticket should be
// renewed, 0 if the key is unknown or too old.
int tickets_open(struct tickets *t, uint64_t now_ms, const uint8_t name[TICKET_NAME_LEN],
	struct ticket_key *out);

struct ssl_ctx_st; // libssl's SSL_CTX
// Creates separate keys for a context, freed with it. False without memory.
bool tickets_use(struct ssl_ctx_st *c);
