// SPDX-License-Identifier: BSD-3-Clause
// Tickets (RFC 8016 MOBILITY-TICKET): which allocation, and the how many-th ticket of it. They are
// sealed, so a client can neither read nor make one. Nothing is kept of a ticket. PURE
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stun_crypto;

// Characters, of base64. Not more: coturn's client keeps 32, and none that is a NUL.
#define TICKET_LEN 32

struct ticket {
	uint64_t handle; // alloc_id of the allocation as it was made: no other ever has it
	uint32_t serial; // 1 for the first ticket of it
};

// Part of the policy. The keys of a fleet are the same where auth.nonce.secret is, and the box is
// each server's own: a ticket says nothing on another server than that it is none of its own.
struct ticket_keys {
	uint8_t tag[32], seal[32], box[32];
};

// Makes the keys from a secret, which a fleet may share, and a key of this box. False when
// libcrypto fails.
bool ticket_keys_make(struct stun_crypto *c, const void *secret, size_t len,
	const uint8_t boot_key[32], struct ticket_keys *out);
// Writes TICKET_LEN characters (no NUL). The same ticket has the same text. False when libcrypto
// fails.
bool ticket_seal(struct stun_crypto *c, const struct ticket_keys *k, const struct ticket *t,
	uint8_t out[TICKET_LEN]);
// Reads a text of TICKET_LEN bytes. False when it is no ticket of this box.
bool ticket_open(struct stun_crypto *c, const struct ticket_keys *k, const uint8_t text[TICKET_LEN],
	struct ticket *out);
