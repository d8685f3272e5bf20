// SPDX-License-Identifier: BSD-3-Clause
// Multicast listener discovery (RFC 3810; version 1: RFC 2710): reading queries, writing reports.
// PURE.
#pragma once

#include "net.h"

#define NET_MLD_GROUPS 60 // most groups in a version 2 report of 1280 bytes
#define NET_MLD_FRAME_MAX (NET_ETH_LEN + NET_VLAN_LEN + 1280)

struct net_mld_query {
	struct addr group; // :: = all groups
	uint32_t delay_ms; // the answer may be delayed by up to this
	bool v1; // from a router that supports only version 1
};

// Reads a query from a parsed frame. False if it is not a query, or an invalid one: not from a
// link-local address, with another hop limit than 1, or without a router alert (RFC 3810 section
// 6.2).
bool net_mld_msg_query(const uint8_t *data, const struct net_frame *f, struct net_mld_query *out);
// The contents of a report.
struct net_mld_report {
	const struct addr *src; // our link-local address
	const struct addr *groups; // groups that we listen to
	unsigned int nb; // 1 to NET_MLD_GROUPS; 1 in version 1
	bool change; // a state change, not an answer (RFC 3810 section 5.2.12)
	bool v1;
};

// Writes the frame of a report to buf, which has NET_MLD_FRAME_MAX bytes, and returns its length.
size_t net_mld_msg_report(uint8_t *buf, const struct net_l2 *l2, const struct net_mld_report *r);
