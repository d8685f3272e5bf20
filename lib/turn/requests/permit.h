// SPDX-License-Identifier: BSD-3-Clause
// The peers in requests and Send indications (permit.c). Its handlers are in method.h.
#pragma once

#include "requests/request.h"

// Decodes the XOR-PEER-ADDRESS whose value is at offset off of m into *peer, in canonical form.
// *slot is an allocation of the client; it becomes the one whose relayed transport address has the
// peer's family. TURN_REFUSED_MALFORMED, or TURN_REFUSED_PEER_FAMILY if the client has no such
// allocation.
enum turn_refusal permit_decode(const struct turn_shard *s, uint32_t *slot,
	const struct stun_msg *m, uint16_t off, struct endpoint *peer);
// Judges a requested peer of an allocation: its address in canonical form, and a port for the
// policy.
enum turn_refusal permit_admit(
	const struct turn_shard *s, uint32_t slot, const struct endpoint *peer, uint16_t port);
