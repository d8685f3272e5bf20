// SPDX-License-Identifier: BSD-3-Clause
// The handlers of requests by method.
#pragma once

#include "requests/request.h"

// Each returns 0 (attributes of the success response appended) or a STUN error code.
unsigned int method_binding(struct turn_request *r);
unsigned int method_allocate(struct turn_request *r);
unsigned int method_refresh(struct turn_request *r);
unsigned int method_create_permission(struct turn_request *r);
unsigned int method_channel_bind(struct turn_request *r);

// Decodes the peer address attribute whose value is at off: canonical, of the family of the
// allocation's relayed transport address. 0, 400 or 443.
unsigned int method_peer_decode(const struct turn_shard *s, uint32_t slot, const struct stun_msg *m,
	uint16_t off, struct endpoint *peer);
