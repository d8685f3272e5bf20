// SPDX-License-Identifier: BSD-3-Clause
// Orders to stop, and whether calls are to be kept. Private to lib/mgmt.
#pragma once

#include <stdbool.h>

#include "conf.h"
#include "dp.h"
#include "socket/commands.h"

// The command stop. The control thread only.
enum command_end stop_command(struct command *c);
// A drain has ended: calls that are left end, or are kept, unless a stop was ordered, too. The
// management lcore.
void stop_drained(bool keep);
// Tells the data path, before dp_stop, what becomes of calls: as an order says, else as the
// configuration does. Management lcore.
void stop_settle(struct dp *d, const struct conf *c);
