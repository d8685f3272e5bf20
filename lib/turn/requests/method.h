// SPDX-License-Identifier: BSD-3-Clause
// The handlers of requests by method.
#pragma once

#include "requests/request.h"

// Each returns why it refuses, or TURN_GRANTED after it has appended the attributes of the success
// response.
enum turn_refusal method_binding(struct turn_request *r);
enum turn_refusal method_allocate(struct turn_request *r);
enum turn_refusal method_refresh(struct turn_request *r);
enum turn_refusal method_create_permission(struct turn_request *r);
enum turn_refusal method_channel_bind(struct turn_request *r);

// Decodes the XOR-PEER-ADDRESS whose value is at offset off of m into *peer, in canonical form.
// TURN_REFUSED_MALFORMED; TURN_REFUSED_PEER_FAMILY when it is not of the family of the allocation's
// relayed transport address.
enum turn_refusal method_peer_decode(const struct turn_shard *s, uint32_t slot,
	const struct stun_msg *m, uint16_t off, struct endpoint *peer);
// Judges a peer that an allocation asks for: its address in canonical form, and a port for the
// policy.
enum turn_refusal method_peer_admit(
	const struct turn_shard *s, uint32_t slot, const struct endpoint *peer, uint16_t port);
