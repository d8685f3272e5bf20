// SPDX-License-Identifier: BSD-3-Clause
// Which worker owns which relayed transport address. The map is immutable for the life of the
// process and shared by all workers, except that an address may be lost, or another one in its
// place.
#pragma once

#include "addr.h"

#define TURN_SLICES 64 // of a relay address, by port bits 1..6: EVEN-PORT pairs stay together

struct turn_config;
struct turn_relay_map;

// Makes the map. If a family has at least as many relay addresses as there are workers, whole
// addresses are dealt over the workers; else every address is cut into 64 slices, which the workers
// take in turn. Ports that listeners use on a relay address belong to no slot. Shared ports
// (c->shared) are dealt over the workers one by one, family by family. Slots are then no addresses,
// but every worker has as many as it may need for limits.allocations, which must not be 0. NULL
// with errno ENOMEM or EINVAL; EINVAL also when a family has fewer shared addresses than there are
// workers, or when there are more than TURN_SHARED_MAX.
#define TURN_SHARED_MAX 4096
struct turn_relay_map *turn_relay_map_create(const struct turn_config *c);
void turn_relay_map_free(struct turn_relay_map *m);
// Index of a relay address, or -1. Control path (binary search).
int turn_relay_map_find(const struct turn_relay_map *m, const struct addr *a);
// Finds the worker that owns a relayed transport address (port in host order), and its slot in that
// worker's shard. False when no slot belongs to the address: the port is out of range, or a
// listener's. Runs per packet: no division, no search. For a shared address *slot gets its number
// among those of its worker instead; turn_view.slot wants just that.
bool turn_relay_map_home(const struct turn_relay_map *m, unsigned int addr_index, uint16_t port,
	unsigned int *worker, uint32_t *slot);
// Worker that owns slice 0..TURN_SLICES-1 (bits 1 to 6 of the port) of a relay address. If the
// address was dealt whole, all slices have the same worker. Control path. Not for shared ports.
unsigned int turn_relay_map_slice_worker(
	const struct turn_relay_map *m, unsigned int addr_index, unsigned int slice);
// Says that this box has a relay address no longer, or has it again: new allocations get one that
// it has. Existing ones are left. Management lcore; workers see it some time later.
void turn_relay_map_lose(struct turn_relay_map *m, unsigned int addr_index, bool lost);
// Puts another address of its family in the place of a relay address. No allocation is on it, and
// nobody asks turn_relay_map_find meanwhile. Management lcore.
void turn_relay_map_move(
	struct turn_relay_map *m, unsigned int addr_index, const struct addr *addr);
// Whether it is lost. Any thread.
bool turn_relay_map_lost(const struct turn_relay_map *m, uint32_t addr_index);
// The relay address with this index.
struct addr turn_relay_map_addr(const struct turn_relay_map *m, uint32_t index);
// Index of the relay address of a slot; *port gets the port in host order. Control path. Not for
// shared ports.
uint32_t turn_relay_map_locate(
	const struct turn_relay_map *m, unsigned int worker, uint32_t slot, uint16_t *port);
// The ports [lo, lo + nb) of a relay address, when all of them are slots of one worker; then slot =
// base + port (in 32 bits, which may wrap).
struct turn_relay_map_run {
	uint32_t base, nb, lo;
	uint8_t worker;
};
// False when the ports of the address are not one run.
bool turn_relay_map_run(
	const struct turn_relay_map *m, unsigned int addr_index, struct turn_relay_map_run *out);
// Number of slots of a worker. Some may belong to no usable port (see turn_relay_map_usable).
uint32_t turn_relay_map_slots(const struct turn_relay_map *m, unsigned int worker);
// Number of slots that each worker has for limits.allocations with shared ports: its share and half
// as much again, because clients are not dealt evenly.
uint32_t turn_relay_map_shared_slots(const struct turn_config *c);
// Whether a slot belongs to a port that may be given out. Never true for shared ports.
bool turn_relay_map_usable(const struct turn_relay_map *m, unsigned int worker, uint32_t slot);

// --- relay_pools.c -------------------------------------------------------------------------------

// The address that stands for the relay address with this index in a pool (from 1; pool 0 is the
// relay addresses themselves). It is the relay address where the pool has none of its family.
struct addr turn_relay_pool_addr(const struct turn_config *c, uint32_t pool, uint32_t relay);
// The source (an index: pool * c->nb_relay + relay address) that an address of a pool is; -1 when
// it is none.
int turn_relay_pool_find(const struct turn_config *c, const struct addr *a);
