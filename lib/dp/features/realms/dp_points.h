// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/dp for more than one realm (lib/features/meson.build).
#pragma once

#include "features/realms/numbers.h"

#define REALMS_WORKERS(X) X(struct turn_tallies *, tallies, realms_open, realms_close)
#define REALMS_BEFORE_POLICY(X) X(realms_number)
#define REALMS_REALM_NUMBERS(X) X(realms_name, realms_add)
