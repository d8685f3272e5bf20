// SPDX-License-Identifier: BSD-3-Clause
// The command that explains why a client cannot connect. Private to lib/mgmt. The control thread
// only.
#pragma once

#include "socket/commands.h"

enum command_end explain(struct command *c);
