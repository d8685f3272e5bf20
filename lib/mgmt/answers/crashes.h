// SPDX-License-Identifier: BSD-3-Clause
// Crash reports, and faults for tests. Private to lib/mgmt. The control thread only.
#pragma once

#include "socket/commands.h"

enum command_end crashes_crash(struct command *c);
enum command_end crashes_fault(struct command *c);
