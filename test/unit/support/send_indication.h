// SPDX-License-Identifier: BSD-3-Clause
// The short recognition of a Send indication, for a peer of either family.
#pragma once

#include "stun_usual.h"

// Returns where the data begins, and its length in *payload_len. 0: stun_usual_send says no.
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
