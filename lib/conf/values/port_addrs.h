// SPDX-License-Identifier: BSD-3-Clause
// The addresses of a port: ranges with the prefix length of their subnet, and their external
// addresses.
#pragma once

#include "addr.h"

struct conf_ctx;
struct conf_key;
struct conf_node;

// One entry of ports[].addresses while it is read. It becomes one conf_address per address.
struct conf_port_run {
	struct addr_range local, external; // external.lo is :: without translation
	uint8_t prefix_len; // of the 128-bit form
	uint8_t learn; // enum conf_learn; if the network gives the address, local is 0.0.0.0 or ::
};

// Reads one entry, a scalar or a mapping, into the list of base. 0 or -EINVAL.
int conf_port_addrs_read(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
// Each reads a value of an entry into base, a conf_port_run. 0 or -EINVAL.
int conf_port_addrs_own(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
int conf_port_addrs_external(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
