// SPDX-License-Identifier: BSD-3-Clause
// Multicast listener discovery (RFC 3810; version 1: RFC 2710): reading queries, writing reports.
// PURE.
#pragma once

#include "net.h"

#define NET_MLD_GROUPS 60 // of a version 2 report: it fits 1280 bytes
#define NET_MLD_FRAME_MAX (NET_ETH_LEN + NET_VLAN_LEN + 1280)

struct net_mld_query {
	struct addr group; // :: = all
	uint32_t delay_ms; // an answer may come until then
	bool v1; // of a router that knows no version 2
};

// Reads a query out of a parsed frame. False when it is none, or one that is not to be believed:
// not from a link-local address, with another hop limit than 1, or without a router alert (RFC 3810
// section 6.2).
bool net_mld_msg_query(const uint8_t *data, const struct net_frame *f, struct net_mld_query *out);
// What a report says.
struct net_mld_report {
	const struct addr *src; // of ours, link-local
	const struct addr *groups; // that we listen to
	unsigned int nb; // 1 to NET_MLD_GROUPS; 1 in version 1
	bool change; // it is news, no answer (RFC 3810 section 5.2.12)
	bool v1;
};

// Writes the frame of a report into buf, which holds NET_MLD_FRAME_MAX bytes, and returns its
// length.
size_t net_mld_msg_report(uint8_t *buf, const struct net_l2 *l2, const struct net_mld_report *r);
