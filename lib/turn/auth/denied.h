// SPDX-License-Identifier: BSD-3-Clause
// Peers that are denied by default, in every configuration.
#pragma once

#include <stddef.h>

// Prefixes, as text.
extern const char *const denied_by_default[];
extern const size_t nb_denied_by_default;
