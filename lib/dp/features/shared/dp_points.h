// SPDX-License-Identifier: BSD-3-Clause
// What shared relay ports add to lib/dp (lib/features/meson.build).
#pragma once

#include "features/shared/shared_rules.h"

#define SHARED_RULES(X) X(shared_rules_used, shared_rules_make)
#define SHARED_RELOADS(X) X(shared_too_small)
