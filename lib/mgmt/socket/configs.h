// SPDX-License-Identifier: BSD-3-Clause
// The command about the configuration: what has become of reloads, what one would change, and the
// order for one. Private to lib/mgmt. The control thread only.
#pragma once

#include "socket/commands.h"

enum command_end configs_config(struct command *c);
