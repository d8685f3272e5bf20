// SPDX-License-Identifier: BSD-3-Clause
// Maps shared addresses to workers. The map is immutable and part of the relay map.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct shared_map;
struct turn_config;

struct shared_relayed {
	uint32_t addr; // index of the relay address
	uint16_t port;
	bool is_v4;
};

// Makes the map, if ports are shared; else *out remains NULL. Returns 0, or ENOMEM or EINVAL as
// turn_relay_map_create; shared_map_free frees a partial result in either case.
int shared_map_create(struct shared_map **out, const struct turn_config *c);
void shared_map_free(struct shared_map *m); // accepts NULL
// turn_relay_map_home() for shared ports; *number counts the worker's shared addresses from 0.
bool shared_map_home(const struct shared_map *m, unsigned int addr, uint16_t port,
	unsigned int *worker, uint32_t *number);
// Number of shared addresses of a worker.
uint32_t shared_map_count(const struct shared_map *m, unsigned int worker);
// The shared address of a worker with this number, which is below shared_map_count.
struct shared_relayed shared_map_relayed(
	const struct shared_map *m, unsigned int worker, uint32_t number);
