// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/dp for shared relay ports (lib/features/meson.build).
#pragma once

#include "features/shared/shared_rules.h"

#define SHARED_RULES(X) X(shared_rules_used, shared_rules_make)
#define SHARED_RELOADS(X) X(shared_too_small)
