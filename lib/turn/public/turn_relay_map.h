// SPDX-License-Identifier: BSD-3-Clause
// Maps relayed transport addresses to workers. The map is immutable for the life of the process and
// shared by all workers, except that an address may be lost, or replaced by another one.
#pragma once

#include "addr.h"

#define TURN_SLICES 64 // per relay address, by port bits 1..6: EVEN-PORT pairs stay together

struct turn_config;
struct turn_relay_map;

// Makes the map. If a family has at least as many relay addresses as there are workers, whole
// addresses are dealt to the workers; else every address is cut into 64 slices, which the workers
// get in turn. Ports that listeners use on a relay address have no slot. Shared ports are dealt to
// the workers one by one, family by family. Slots are then not bound to addresses, but every worker
// has as many as it may need for limits.allocations, which must not be 0. NULL with errno ENOMEM or
// EINVAL; EINVAL also if a family has fewer shared addresses than there are workers, or too many.
struct turn_relay_map *turn_relay_map_create(const struct turn_config *c);
void turn_relay_map_free(struct turn_relay_map *m);
// Index of a relay address, or -1. Control path (binary search).
int turn_relay_map_find(const struct turn_relay_map *m, const struct addr *a);
// Finds the worker that owns a relayed transport address (port in host order), and its slot in that
// worker's shard. False if the address has no slot: the port is out of range, or a listener's. Runs
// per packet: no division, no search. For a shared address *slot gets its number among those of its
// worker instead, as turn_view.slot needs it.
bool turn_relay_map_home(const struct turn_relay_map *m, unsigned int addr_index, uint16_t port,
	unsigned int *worker, uint32_t *slot);
// Worker that owns slice 0..TURN_SLICES-1 (bits 1 to 6 of the port) of a relay address. If the
// address was dealt whole, all slices have the same worker. Control path. Not for shared ports.
unsigned int turn_relay_map_slice_worker(
	const struct turn_relay_map *m, unsigned int addr_index, unsigned int slice);
// Marks a relay address as lost, or as present again: new allocations get only present ones.
// Existing allocations do not change. Management lcore; workers see it some time later.
void turn_relay_map_lose(struct turn_relay_map *m, unsigned int addr_index, bool lost);
// Replaces a relay address by another one of its family. No allocation is on it, and no thread
// calls turn_relay_map_find meanwhile. Management lcore.
void turn_relay_map_move(
	struct turn_relay_map *m, unsigned int addr_index, const struct addr *addr);
// True if the address is lost. Any thread.
bool turn_relay_map_lost(const struct turn_relay_map *m, uint32_t addr_index);
// The relay address with this index.
struct addr turn_relay_map_addr(const struct turn_relay_map *m, uint32_t index);
// Index of the relay address of a slot; *port gets the port in host order. Control path. Not for
// shared ports.
uint32_t turn_relay_map_locate(
	const struct turn_relay_map *m, unsigned int worker, uint32_t slot, uint16_t *port);
// The ports [lo, lo + nb) of a relay address, if all of them are slots of one worker; then slot =
// base + port (in 32 bits, which may wrap).
struct turn_relay_map_run {
	uint32_t base, nb, lo;
	uint8_t worker;
};
// False if the ports of the address are not one run.
bool turn_relay_map_run(
	const struct turn_relay_map *m, unsigned int addr_index, struct turn_relay_map_run *out);
// Number of slots of a worker. Some may have no usable port (see turn_relay_map_usable).
uint32_t turn_relay_map_slots(const struct turn_relay_map *m, unsigned int worker);
// True if a slot has a port that may be allocated. Never true for shared ports.
bool turn_relay_map_usable(const struct turn_relay_map *m, unsigned int worker, uint32_t slot);

// --- relay_pools.c -------------------------------------------------------------------------------

// The address that replaces the relay address with this index in a pool (from 1; pool 0 is the
// relay addresses themselves). It is the relay address if the pool has no address of its family.
struct addr turn_relay_pool_addr(const struct turn_config *c, uint32_t pool, uint32_t relay);
// Index of a pool's address as a source: pool * c->nb_relay + relay address; -1 if no pool has it.
int turn_relay_pool_find(const struct turn_config *c, const struct addr *a);
