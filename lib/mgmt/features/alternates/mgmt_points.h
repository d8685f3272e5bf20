// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/mgmt for the redirection of clients to other servers (lib/features/meson.build).
#pragma once

#include "features/alternates/alternate.h"

#define ALTERNATES_CHOOSE_INTAKE(X) \
	X(mgmt_alternates_open, mgmt_alternates_reload, mgmt_alternates_choose)
#define ALTERNATES_COMMANDS(X)                        \
	X("/slipring/alternate", alternate_telemetry, \
		"Redirection of new clients to other servers.")
#define ALTERNATES_STATUS(X) X("alternate", alternate_json)
