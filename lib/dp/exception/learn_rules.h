// SPDX-License-Identifier: BSD-3-Clause
// learn_rules.c: the frames by which the kernel's interface gets an address from the network: DHCP,
// DHCPv6, router discovery, and while there is no data path what goes with them. Pure.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What a port learns.
struct learn_rules {
	bool dhcp, slaac; // IPv4, IPv6
	uint16_t vlan; // of the port; 0 = untagged
};

// What a frame is to them. LINK is what only a host without a data path needs: ARP, neighbour
// discovery, multicast listener discovery.
enum learn_kind { LEARN_NONE, LEARN_DHCP, LEARN_ROUTER, LEARN_LINK, LEARN_KINDS };

// Judge len bytes of a frame that came from the network, and one that came out of the kernel, by
// its kind and ports alone: the kernel verifies the rest. Nothing is learned: LEARN_NONE.
enum learn_kind learn_rules_in(const struct learn_rules *r, const uint8_t *data, size_t len);
enum learn_kind learn_rules_out(const struct learn_rules *r, const uint8_t *data, size_t len);
