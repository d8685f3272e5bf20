// SPDX-License-Identifier: BSD-3-Clause
// The fast recognition of Send indications, for peers of both families.
#pragma once

#include "stun_usual.h"

// Returns the offset of the data, and its length in *payload_len. Returns 0 if stun_usual_send
// rejects the message.
static inline uint16_t send_indication(
	const uint8_t *data, uint16_t len, const struct endpoint *peer, uint16_t *payload_len)
{
	const bool is_v4 = addr_is_v4(&peer->addr);
	uint32_t got = 0;

	if (is_v4 ? !stun_usual_send(data, len,
			    (struct stun_usual_peer){&peer->addr, peer->port, true}, &got)
		  : !stun_usual_send(data, len,
			    (struct stun_usual_peer){&peer->addr, peer->port, false}, &got))
		return 0;
	*payload_len = (uint16_t)got;
	return is_v4 ? STUN_FRONT4 : STUN_FRONT6;
}
