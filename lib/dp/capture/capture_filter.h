// SPDX-License-Identifier: BSD-3-Clause
// Selects the frames and messages of a capture. PURE: made by the requester, read by workers.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bytes.h"
#include "capture/capture_look.h"
#include "dp_capture.h"
#include "protocols.h"
#include "turn_config.h"

#define CAPTURE_RELAYS 16 // addresses at which an allocation is seen: its own, and those of pools

// An allocation whose frames are captured.
struct capture_end {
	uint64_t id;
	struct endpoint client, server; // 5-tuple
	uint8_t proto; // UDP or TCP
	uint8_t listener;
	uint16_t relay_port; // 0: shared with other allocations, so it is ignored
	uint8_t nb_relays;
	struct addr relay[CAPTURE_RELAYS];
};

struct capture_filter {
	struct dp_capture_wanted wanted;
	unsigned int nb;
	struct capture_end end[DP_CAPTURE_ENDS];
	// bitmap of the UDP ports of clients and relayed addresses
	uint64_t ports[UINT16_MAX / 64 + 1];
};

void capture_filter_init(struct capture_filter *f, const struct dp_capture_wanted *wanted);
// Adds an allocation. False if it is already there, or the filter has DP_CAPTURE_ENDS allocations.
bool capture_filter_add(
	struct capture_filter *f, const struct turn_config *c, const struct turn_info *i);
// Removes an allocation. False if it was not there.
bool capture_filter_remove(struct capture_filter *f, uint64_t id);
// True if a frame belongs to an allocation, whose id is then in *id, or has one of the wanted
// addresses: *id is then 0.
bool capture_filter_frame(
	const struct capture_filter *f, const struct capture_look *l, uint64_t *id);
// Like capture_filter_frame, for a message from or to a client.
bool capture_filter_message(const struct capture_filter *f, const struct endpoint *client,
	uint8_t listener, uint64_t *id);

// True if a captured allocation has this port.
static inline bool capture_filter_port(const struct capture_filter *f, uint16_t port)
{
	return (f->ports[port / 64] >> port % 64 & 1) != 0;
}

// Fast check: true if capture_filter_frame is certainly false for a frame of len bytes.
static inline bool capture_filter_skips(
	const struct capture_filter *f, const uint8_t *data, uint32_t len)
{
	const uint8_t *ip = data + NET_ETH_LEN, *ports;
	uint16_t type;

	if (f->wanted.of_source || len < NET_ETH_LEN + NET_IP6_LEN + NET_PORTS_LEN)
		return false;
	type = load_be16(data + NET_ETH_TYPE_AT);
	if (type == NET_ETHERTYPE_IP4 && ip[0] == 0x45 && ip[NET_IP4_PROTO_AT] == NET_PROTO_UDP &&
		(load_be16(ip + NET_IP4_FRAGMENT_AT) & NET_IP4_FRAGMENTED) == 0)
		ports = ip + NET_IP4_LEN;
	else if (type == NET_ETHERTYPE_IP6 && ip[NET_IP6_NEXT_AT] == NET_PROTO_UDP)
		ports = ip + NET_IP6_LEN;
	else
		return false;
	return !capture_filter_port(f, load_be16(ports)) &&
		!capture_filter_port(f, load_be16(ports + 2));
}
