// SPDX-License-Identifier: BSD-3-Clause
// What a captured frame is, whether it is well-formed or not: who it is from and to, and how much
// of it is headers. Nothing is judged here; lengths are only kept to. PURE.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"

struct capture_look {
	bool ip; // there is a whole IP header: src and dst are good
	bool flow; // end is good: of UDP or TCP, or of the datagram that an ICMP error quotes
	bool piece; // a fragment; the first one has ports
	bool udp; // payload begins at headers
	uint8_t proto; // of the flow
	struct addr src, dst;
	struct endpoint end[2]; // source and destination
	uint32_t id; // of a fragment's datagram
	uint32_t headers; // bytes in front of the payload, which is what nobody has asked for
};

// Looks at len bytes of a frame.
void capture_look(const uint8_t *data, uint32_t len, struct capture_look *l);

// What may be shown of a message between a client and us without its payload: so many bytes from
// its beginning. Of STUN the header and all attributes in front of DATA; of ChannelData and DTLS
// the header; of anything else nothing.
uint32_t capture_message_keep(const uint8_t *message, uint32_t len);
// Overwrites what may not be shown in the kept bytes of a message: the values of all attributes of
// STUN except numbers and addresses. So no name, nonce, token or integrity is left.
void capture_message_mask(uint8_t *kept, uint32_t len);
// Whether bytes look like a message of STUN, ChannelData or DTLS, rather than a frame.
bool capture_message_is(const uint8_t *data, uint32_t len);
