// SPDX-License-Identifier: BSD-3-Clause
// The handlers of requests by method.
#pragma once

#include "requests/request.h"

// Each returns a STUN error code, or 0 after it has appended the attributes of the success
// response.
unsigned int method_binding(struct turn_request *r);
unsigned int method_allocate(struct turn_request *r);
unsigned int method_refresh(struct turn_request *r);
unsigned int method_create_permission(struct turn_request *r);
unsigned int method_channel_bind(struct turn_request *r);

// Decodes the XOR-PEER-ADDRESS whose value is at offset off of m into *peer, in canonical form. 0;
// 400 when it is malformed; 443 when it is not of the family of the allocation's relayed transport
// address.
unsigned int method_peer_decode(const struct turn_shard *s, uint32_t slot, const struct stun_msg *m,
	uint16_t off, struct endpoint *peer);
