// SPDX-License-Identifier: BSD-3-Clause
// The listeners of stream threads.
#pragma once

#include "stream.h"

struct conf;

// Writes the listeners of c to out, which points into c. NULL: only counts them. Returns their
// number.
unsigned int stream_listeners(const struct conf *c, struct stream_listener *out);
