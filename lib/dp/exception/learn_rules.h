// SPDX-License-Identifier: BSD-3-Clause
// Recognizes the frames by which the kernel's interface gets an address from the network: DHCP,
// DHCPv6, router discovery, and, while there is no data path, the protocols that support them.
// Pure.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Kinds of address assignment that a port uses.
struct learn_rules {
	bool dhcp, slaac; // IPv4, IPv6
	uint16_t vlan; // of the port; 0 = untagged
};

// Kind of a frame. LINK is needed only by a host without a data path: ARP, neighbour discovery,
// multicast listener discovery.
enum learn_kind { LEARN_NONE, LEARN_DHCP, LEARN_ROUTER, LEARN_LINK, LEARN_KINDS };

// Classify len bytes of a frame from the network, or from the kernel, by its type and ports only:
// the kernel verifies the rest. LEARN_NONE if the port learns no addresses.
enum learn_kind learn_rules_in(const struct learn_rules *r, const uint8_t *data, size_t len);
enum learn_kind learn_rules_out(const struct learn_rules *r, const uint8_t *data, size_t len);
