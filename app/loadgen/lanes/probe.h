// SPDX-License-Identifier: BSD-3-Clause
// Sends the requests in modes that probe the server. Sender's lane.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "measure/stamp.h"

struct lane;

// Sends n probes, from one flow after the other.
void probe_send(struct lane *l, uint32_t n);
// Reads the stamp from the transaction id of an answer. False if this process did not make the id.
// It holds only 24 bits of the sequence number.
bool probe_read(const struct lane *l, const uint8_t *tid, struct stamp *out);

// MODE_HANDSHAKE: opens connections for up to n clients without a connection. Returns how many such
// clients were lacking.
uint32_t probe_connect(struct lane *l, uint32_t n);
