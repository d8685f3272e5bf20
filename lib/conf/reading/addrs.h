// SPDX-License-Identifier: BSD-3-Clause
// The address types of the schema: single addresses, ranges, prefixes.
#pragma once

#include "addr.h"

struct conf_ctx;
struct conf_key;
struct conf_node;

// Each reads one scalar, or one item of a list, of an address type into base. 0 or -EINVAL.
int conf_addrs_read_one(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
int conf_addrs_read_list(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
int conf_addrs_read_port(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
int conf_addrs_read_nat64(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
int conf_addrs_read_prefixes(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);

// The prefix of len bits (of the 128-bit form) that address a lies in.
struct prefix conf_addrs_prefix(const struct addr *a, uint8_t len);
