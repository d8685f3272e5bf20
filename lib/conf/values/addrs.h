// SPDX-License-Identifier: BSD-3-Clause
// The address types of the schema: single addresses, ranges, prefixes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"

struct conf_ctx;
struct conf_key;
struct conf_node;

// Each reads one scalar, or one item of a list, of an address type into base. 0 or -EINVAL.
int conf_addrs_read_one(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
int conf_addrs_read_listen(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
int conf_addrs_read_list(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
int conf_addrs_read_relay(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
int conf_addrs_read_nat64(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
int conf_addrs_read_prefix(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
int conf_addrs_read_prefixes(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);

// Reads the text of a node: "a", "a-b" or a prefix. 0, or -EINVAL after reporting the reason.
int conf_addrs_range(struct conf_ctx *x, const struct conf_node *n, struct addr_range *r);
// Reports that the text of a node lacks the form that `form` describes. Returns -EINVAL.
int conf_addrs_fail(struct conf_ctx *x, const struct conf_node *n, const char *form);
// Splits "addr/len"; len counts bits of the 128-bit form. False if text does not have that form.
bool conf_addrs_split(const char *text, struct addr *a, uint8_t *len);
// Returns why no host of the Internet can have an address, in words, or NULL if one can.
const char *conf_addrs_class(const struct addr *a);
// True for addresses that no host can have, used as placeholders for those that the network gives:
// 0.0.0.0/8 without 0.0.0.0, and ::1.0.0.0/104. No file may contain them.
bool conf_addrs_nobodys(const struct addr *a);
// The number of addresses in a range, or 0 after an error if they would make the list of key k too
// long.
uint32_t conf_addrs_room(struct conf_ctx *x, const struct conf_key *k, const struct conf_node *n,
	const void *base, const struct addr_range *r);
