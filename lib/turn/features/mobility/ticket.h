// SPDX-License-Identifier: BSD-3-Clause
// Tickets (RFC 8016 MOBILITY-TICKET): they contain the allocation and a serial number. They are
// sealed, so a client can neither read nor forge one. No state is kept per ticket. PURE
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stun_crypto;

// Base64 characters. Not more: coturn's client stores 32, without NULs.
#define TICKET_LEN 32

struct ticket {
	uint64_t handle; // first alloc_id of the allocation, which is unique
	uint32_t serial; // 1 for its first ticket
};

// Part of the policy. A fleet shares the keys if it shares auth.nonce.secret; box differs for each
// server: another server can only tell that the ticket is not its own.
struct ticket_keys {
	uint8_t tag[32], seal[32], box[32];
};

// Makes the keys from a secret, which a fleet may share, and a key of this box. False if libcrypto
// fails.
bool ticket_keys_make(struct stun_crypto *c, const void *secret, size_t len,
	const uint8_t boot_key[32], struct ticket_keys *out);
// Writes TICKET_LEN characters (no NUL). Equal tickets have equal texts. False if libcrypto fails.
bool ticket_seal(struct stun_crypto *c, const struct ticket_keys *k, const struct ticket *t,
	uint8_t out[TICKET_LEN]);
// Reads a text of TICKET_LEN bytes. False if it is not a ticket of this box.
bool ticket_open(struct stun_crypto *c, const struct ticket_keys *k, const uint8_t text[TICKET_LEN],
	struct ticket *out);
