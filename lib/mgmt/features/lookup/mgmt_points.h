// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/mgmt for users who are looked up (lib/features/meson.build).
#pragma once

#include "features/lookup/lookup_thread.h"

#define LOOKUP_THREADS(X) X(lookup_thread_open, lookup_thread_reload, lookup_thread_close)
#define LOOKUP_COMMANDS(X) \
	X("/slipring/lookup", lookup_telemetry, "Connection to the program that knows users.")
#define LOOKUP_STATUS(X) X("lookup", lookup_json)
