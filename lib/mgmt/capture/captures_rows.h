// SPDX-License-Identifier: BSD-3-Clause
// Captured frames as JSON. Private to lib/mgmt. The control thread only.
#pragma once

#include <jansson.h>

#include "dp_capture.h"

// Upper bound of the JSON bytes of a frame with `cut` captured bytes.
#define CAPTURES_ROW_BYTES(cut) (((cut) + 2) / 3 * 4 + 512)

json_t *captures_row(const struct dp *d, const struct conf *c, const struct dp_capture_frame *f);
