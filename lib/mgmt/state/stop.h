// SPDX-License-Identifier: BSD-3-Clause
// Orders to stop, and the decision whether calls are kept. Private to lib/mgmt.
#pragma once

#include <stdbool.h>

#include "conf.h"
#include "dp.h"
#include "socket/commands.h"

// The command stop. The control thread only.
enum command_end stop_command(struct command *c);
// A drain has ended: the remaining calls are kept or closed, unless a stop was ordered, too.
// Management lcore.
void stop_drained(bool keep);
// Tells the data path, before dp_stop, whether to keep calls: by the order if there is one,
// otherwise by the configuration. Management lcore.
void stop_settle(struct dp *d, const struct conf *c);
