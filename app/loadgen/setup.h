// SPDX-License-Identifier: BSD-3-Clause
// From the command line to running lanes, and back. Main lcore.
#pragma once

#include <stddef.h>

#include "lanes/engine.h"

// Opens the ports and makes the lanes on EAL's worker lcores; nothing runs yet. NULL with a reason
// in error, everything undone.
struct engine *engine_create(const struct config *c, char *error, size_t len);
int engine_launch(struct engine *e);
// Lanes return, ports are stopped and closed, all packets freed.
void engine_destroy(struct engine *e);
