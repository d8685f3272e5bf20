// SPDX-License-Identifier: BSD-3-Clause
// The command config: results of reloads, the changes that a reload would make, and the order to
// reload. Private to lib/mgmt. The control thread only.
#pragma once

#include "socket/commands.h"

enum command_end configs_config(struct command *c);
