// SPDX-License-Identifier: BSD-3-Clause
// The verified pass. Every relayed frame is compared, bit by bit and with checksums computed the
// slow way, with the datagram that its client or peer must get by RFC 8656. A benchmark of wrong
// packets measures nothing.
#pragma once

#include "box.h"

// Relays n frames. Ends the process with the reason when a frame is wrong, missing or comes twice.
void proof_run(struct box *b, const struct options *o, uint32_t n);
