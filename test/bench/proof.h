// SPDX-License-Identifier: BSD-3-Clause
// The verified pass: every frame relayed is compared, bit by bit and with checksums computed the
// slow way, with what RFC 8656 says that its client or peer gets. A benchmark of wrong packets
// measures nothing.
#pragma once

#include "box.h"

// Relays n frames. Ends the process with the reason when one comes out wrong, twice or not at all.
void proof_run(struct box *b, const struct options *o, uint32_t n);
