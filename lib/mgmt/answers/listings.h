// SPDX-License-Identifier: BSD-3-Clause
// The commands that ask workers: allocations, show, kill, users, neighbours. Private to lib/mgmt.
// The control thread only.
#pragma once

#include "socket/commands.h"

enum command_end listings_allocations(struct command *c);
enum command_end listings_show(struct command *c);
enum command_end listings_kill(struct command *c);
enum command_end listings_users(struct command *c);
enum command_end listings_neighbours(struct command *c);
