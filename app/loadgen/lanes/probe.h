// SPDX-License-Identifier: BSD-3-Clause
// What senders send in modes that probe the server.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "measure/stamp.h"

struct lane;

void probe_begin(struct lane *l);
void probe_send(struct lane *l, uint32_t n);
// What the transaction id of an answer to a probe says; false when it is none of ours. The number
// has 24 bits.
bool probe_read(const struct lane *l, const uint8_t *tid, struct stamp *out);

// MODE_HANDSHAKE: up to n clients that have no connection make one. Returns how many there were
// not.
uint32_t probe_knock(struct lane *l, uint32_t n);
