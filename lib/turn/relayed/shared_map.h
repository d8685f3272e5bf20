// SPDX-License-Identifier: BSD-3-Clause
// Which worker owns which shared address. The map is immutable and part of the relay map.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct shared_map;
struct turn_config;

struct shared_place {
	uint32_t addr; // index of the relay address
	uint16_t port;
	bool is_v4;
};

// NULL with errno as turn_relay_map_create.
struct shared_map *shared_map_create(const struct turn_config *c);
void shared_map_free(struct shared_map *m);
// As turn_relay_map_home.
bool shared_map_home(const struct shared_map *m, unsigned int addr, uint16_t port,
	unsigned int *worker, uint32_t *number);
// Shared addresses of a worker.
uint32_t shared_map_count(const struct shared_map *m, unsigned int worker);
// The address of a number below that.
struct shared_place shared_map_place(
	const struct shared_map *m, unsigned int worker, uint32_t number);
// Allocations that a worker has room for: its share and half as much again, for clients are not
// dealt evenly.
uint32_t shared_map_slots(const struct turn_config *c);
