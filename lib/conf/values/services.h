// SPDX-License-Identifier: BSD-3-Clause
// Parses the kernel's traffic that an exception port carries.
#pragma once

struct conf_ctx;
struct conf_key;
struct conf_node;

// Reads one item of a list of services into base. 0 or -EINVAL.
int conf_services_read(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
