// SPDX-License-Identifier: BSD-3-Clause
// Orders to stop, and whether calls are to be kept. Private to lib/mgmt.
#pragma once

#include "conf.h"
#include "dp.h"
#include "socket/commands.h"

// The command stop. The control thread only.
enum command_end stop_command(struct command *c);
// Tells the data path, before dp_stop, what becomes of calls: as an order says, else as the
// configuration does. Management lcore.
void stop_settle(struct dp *d, const struct conf *c);
