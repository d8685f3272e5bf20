// SPDX-License-Identifier: BSD-3-Clause
// The addresses, ports and header length of a captured frame, well-formed or not. It validates
// nothing; it only stays within the lengths. PURE.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"

struct capture_look {
	bool ip; // there is a complete IP header: src and dst are valid
	// end is valid: ports of UDP or TCP, or of the datagram that an ICMP error quotes
	bool flow;
	bool piece; // a fragment; the first one has ports
	bool udp; // payload begins at headers
	uint8_t proto; // of the flow
	struct addr src, dst;
	struct endpoint end[2]; // source and destination
	uint32_t id; // identification of a fragment's datagram
	uint32_t headers; // bytes before the payload, which a capture without payload keeps
};

// Parses len bytes of a frame.
void capture_look(const uint8_t *data, uint32_t len, struct capture_look *l);

// Number of bytes at the start of a message between a client and us that may be shown without its
// payload: for STUN the header and all attributes before DATA; for ChannelData and DTLS the header;
// for anything else 0.
uint32_t capture_message_keep(const uint8_t *message, uint32_t len);
// Overwrites the secret parts of the kept bytes of a message: the values of all STUN attributes
// except numbers and addresses. So no name, nonce, token or integrity remains.
void capture_message_mask(uint8_t *m, uint32_t len);
// True if the bytes look like a STUN, ChannelData or DTLS message, and not like a frame.
bool capture_message_is(const uint8_t *data, uint32_t len);
