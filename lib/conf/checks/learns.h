// SPDX-License-Identifier: BSD-3-Clause
// Addresses that the network gives: what they need, and what stands in for them until then.
#pragma once

#include <stdint.h>

struct conf;
struct conf_ctx;

// Gives each pending address of the configuration one that no host can have: of its family, and
// like no other. So whatever counts and compares addresses need not know that it is none.
void conf_learns_stand_in(struct conf *c);
// Checks the words of one port. 0 or -EINVAL.
int conf_learns_check(struct conf_ctx *x, uint32_t port);
