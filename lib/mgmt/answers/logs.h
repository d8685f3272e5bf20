// SPDX-License-Identifier: BSD-3-Clause
// The commands log and records. Private to lib/mgmt. The control thread only.
#pragma once

#include "socket/commands.h"

enum command_end logs_log(struct command *c);
enum command_end logs_records(struct command *c);
enum command_end logs_watch(struct command *c);
