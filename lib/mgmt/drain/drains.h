// SPDX-License-Identifier: BSD-3-Clause
// The commands drain and undrain, and the state of a drain as JSON. Private to lib/mgmt. The
// control thread only.
#pragma once

#include "socket/commands.h"

enum command_end drains_drain(struct command *c);
enum command_end drains_undrain(struct command *c);
// The state of the drain as an object. Without a drain it has one member.
json_t *drains_shown(struct mgmt_drain *m);
// Writes a sentence for people during a drain. False without a drain.
bool drains_told(struct mgmt_drain *m, char *buf, size_t len);
