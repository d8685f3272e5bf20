// SPDX-License-Identifier: BSD-3-Clause
// The commands drain and undrain, and the state of a drain as JSON. Private to lib/mgmt. The
// control thread only.
#pragma once

#include "socket/commands.h"

enum command_end drains_drain(struct command *c);
enum command_end drains_undrain(struct command *c);
// An object; of an appliance that does not drain it says that alone.
json_t *drains_shown(struct mgmt_drain *m);
// What status says of other servers; without any it says that alone.
json_t *drains_alternate(struct mgmt_drain *m);
// A sentence for people while it drains. False when it does not.
bool drains_told(struct mgmt_drain *m, char *buf, size_t len);
