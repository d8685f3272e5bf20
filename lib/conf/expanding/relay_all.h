// SPDX-License-Identifier: BSD-3-Clause
// Turns `relay: {addresses: all}` into addresses.
#pragma once

struct conf_ctx;

// Puts the addresses that the word means into turn.relay. Call it after turn.local has been
// gathered. 0, or -EINVAL if there is no such address. Does nothing if the file has a list.
int conf_relay_all_expand(struct conf_ctx *x);
