// SPDX-License-Identifier: BSD-3-Clause
// Which worker owns which relayed transport address. The map is immutable for the life of the
// process and shared by all workers.
#pragma once

#include "addr.h"

#define TURN_SLICES 64 // of a relay address: port bits 1..6, so that EVEN-PORT pairs stay together

struct turn_config;
struct turn_relay_map;

// Relay addresses of a family are dealt whole when there are at least as many as workers, else
// every one is cut into 64 slices dealt over the workers. Ports that listeners use on a relay
// address belong to no slot. Shared ports (c->shared) are dealt over the workers one by one, family
// by family: slots are then no addresses, but every worker has as many as it may need for
// limits.allocations, which must not be 0. NULL with errno ENOMEM/EINVAL; EINVAL also when there
// are fewer shared addresses of a family than workers, or more than TURN_SHARED_MAX.
#define TURN_SHARED_MAX 4096
struct turn_relay_map *turn_relay_map_create(const struct turn_config *c);
void turn_relay_map_free(struct turn_relay_map *m);
// Index of a relay address, or -1. Control path (linear or binary search).
int turn_relay_map_find(const struct turn_relay_map *m, const struct addr *a);
// Worker that owns a relayed transport address and its slot in that worker's shard. False when no
// slot belongs to it (port out of range, or a listener's). Per packet: no division, no search. A
// shared address has a number among those of its worker in place of a slot: a view wants just that.
bool turn_relay_map_home(const struct turn_relay_map *m, unsigned int addr_index, uint16_t port,
	unsigned int *worker, uint32_t *slot);
// Worker that owns slice 0..TURN_SLICES-1 (bits 1 to 6 of the port) of a relay address. Of one that
// was dealt whole it is the same for all slices. Control path. Not of shared ports.
unsigned int turn_relay_map_slice_worker(
	const struct turn_relay_map *m, unsigned int addr_index, unsigned int slice);
// A relay address by its index.
struct addr turn_relay_map_addr(const struct turn_relay_map *m, uint32_t index);
// Index of the relay address of a slot, and its port. Control path. Not of shared ports.
uint32_t turn_relay_map_locate(
	const struct turn_relay_map *m, unsigned int worker, uint32_t slot, uint16_t *port);
// The ports [lo, lo + nb) of a relay address when all of them are slots of one worker, slot = base
// + port (in 32 bits, which may wrap); else false.
struct turn_relay_map_run {
	uint32_t base, nb;
	uint16_t lo;
	uint8_t worker;
};
bool turn_relay_map_run(
	const struct turn_relay_map *m, unsigned int addr_index, struct turn_relay_map_run *out);
// Number of slots of a worker (some may belong to no usable port: turn_relay_map_usable; of shared
// ports none does).
uint32_t turn_relay_map_slots(const struct turn_relay_map *m, unsigned int worker);
bool turn_relay_map_usable(const struct turn_relay_map *m, unsigned int worker, uint32_t slot);
