// SPDX-License-Identifier: BSD-3-Clause
// permit.c: the peers that requests and Send indications name. Its handlers are in method.h.
#pragma once

#include "requests/request.h"

// Decodes the XOR-PEER-ADDRESS whose value is at offset off of m into *peer, in canonical form.
// *slot is an allocation of the client; it becomes the one whose relayed transport address is of
// the peer's family. TURN_REFUSED_MALFORMED; TURN_REFUSED_PEER_FAMILY when the client has none.
enum turn_refusal permit_decode(const struct turn_shard *s, uint32_t *slot,
	const struct stun_msg *m, uint16_t off, struct endpoint *peer);
// Judges a peer that an allocation asks for: its address in canonical form, and a port for the
// policy.
enum turn_refusal permit_admit(
	const struct turn_shard *s, uint32_t slot, const struct endpoint *peer, uint16_t port);
