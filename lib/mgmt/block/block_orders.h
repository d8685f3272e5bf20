// SPDX-License-Identifier: BSD-3-Clause
// The block commands of the control socket. Private to lib/mgmt. The control thread only.
#pragma once

#include "socket/commands.h"

enum command_end block_orders_block(struct command *c);
enum command_end block_orders_unblock(struct command *c);
enum command_end block_orders_list(struct command *c);
