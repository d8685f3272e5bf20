// SPDX-License-Identifier: BSD-3-Clause
// Makes the engine (ports, packet pool, lanes) from the configuration, and takes it down again.
// Main lcore.
#pragma once

#include <stddef.h>

#include "lanes/engine.h"

// Opens the ports and makes the lanes on EAL's worker lcores. No lane runs yet. The configuration
// has to outlive the engine. On failure it undoes everything and returns NULL with the reason in
// error.
struct engine *engine_create(const struct config *c, char *error, size_t len);
// Starts lane_run on every lane's lcore. Returns 0, or -1 when an lcore could not be launched.
int engine_launch(struct engine *e);
// Ends the lanes and waits for them, stops and closes the ports, and frees all packets and e.
void engine_destroy(struct engine *e);
