// SPDX-License-Identifier: BSD-3-Clause
// stream_listeners.c: which listeners stream threads have.
#pragma once

#include "stream.h"

struct conf;

// Writes those of c to out, which points into c. NULL: it only counts. Returns how many there are.
unsigned int stream_listeners(const struct conf *c, struct stream_listener *out);
