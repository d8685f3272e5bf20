// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors as routers and hosts send them into a world (dp_world.h).
#pragma once

#include "dp_world.h"

// An error about a UDP datagram that has left the world, or that the sender claims has.
struct icmp_frame {
	const char *reporter; // the router or host that reports
	struct endpoint src, dst; // of the datagram
	uint8_t type, code;
	uint32_t mtu; // 0 = the field is unused
	uint16_t len; // of the datagram's IP packet; 0 = 100
	struct addr target; // where the error goes; :: = src
};

// Writes the frame; it quotes 8 bytes of UDP. Returns its length.
size_t icmp_frame_write(struct dp_world *w, const struct icmp_frame *e, uint8_t frame[2048]);
// Sends it to port `port`, or to port 0.
void icmp_frame_send_by(struct dp_world *w, unsigned int port, const struct icmp_frame *e);
void icmp_frame_send(struct dp_world *w, const struct icmp_frame *e);
