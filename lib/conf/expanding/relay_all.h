// SPDX-License-Identifier: BSD-3-Clause
// Turns `relay: {addresses: all}` into addresses.
#pragma once

struct conf_ctx;

// Puts the addresses that the word stands for into turn.relay. turn.local has been gathered. 0, or
// -EINVAL when there is none. Nothing happens where the file has a list.
int conf_relay_all_expand(struct conf_ctx *x);
