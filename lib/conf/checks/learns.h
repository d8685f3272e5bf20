// SPDX-License-Identifier: BSD-3-Clause
// Addresses that the network gives: their requirements, and their placeholders until then.
#pragma once

#include <stdint.h>

struct conf;
struct conf_ctx;

// Gives each pending address of the configuration a unique placeholder of its family that no host
// can have. So code that counts or compares addresses needs no special case.
void conf_learns_stand_in(struct conf *c);
// Checks `dhcp` and `slaac` among the addresses of one port. 0 or -EINVAL.
int conf_learns_check(struct conf_ctx *x, uint32_t port);
