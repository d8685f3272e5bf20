// SPDX-License-Identifier: BSD-3-Clause
// Free relay ports of one shard, per family. Rested ports are chosen uniformly by the CSPRNG (also
// among even ports and among whole pairs); resting ports wait in FIFOs. O(1), except for the
// bounded search of a resting pair.
#pragma once

#include "csprng.h"
#include "ilist.h"
#include "relayed/vacancy.h"
#include "turn_relay_map.h"

enum relay_ports_kind { RELAY_PORTS_ANY, RELAY_PORTS_EVEN, RELAY_PORTS_PAIR };
_Static_assert(RELAY_PORTS_PAIR + 1 == VACANCY_KINDS, "every kind has a vacancy");

struct relay_ports;

// Links of a resting port in its FIFO.
struct relay_ports_rest {
	uint64_t freed_ms;
	struct ilist_link link;
};

struct relay_ports_memory {
	void *ports; // relay_ports_size() bytes, 8-byte aligned, zeroed
	// A struct relay_ports_rest for each slot, rest_stride bytes apart. It is used from
	// relay_ports_give to relay_ports_take; while a port is allocated, its owner may write to
	// it.
	void *rest;
	size_t rest_stride;
};

// Bytes of relay_ports_memory.ports for slots [0, turn_relay_map_slots(map, worker)).
size_t relay_ports_size(const struct turn_relay_map *map, unsigned int worker);
// Creates the ports in *mem, all of them rested. rng is kept and must outlive them.
struct relay_ports *relay_ports_create(const struct relay_ports_memory *mem,
	const struct turn_relay_map *map, unsigned int worker, struct csprng *rng);

// Arguments of relay_ports_take().
struct relay_ports_want {
	bool is_v4;
	enum relay_ports_kind kind;
	uint32_t quarantine_s;
	uint64_t now_ms;
};

// Allocates a slot (for PAIR the even one; slot + 1 is allocated, too). A port freed at time t has
// rested when now_ms >= t + quarantine and now_ms > t. If no port has rested, the longest-resting
// one is allocated, provided that it has rested for 1 s; *early counts such ports. False if there
// is no port.
bool relay_ports_take(struct relay_ports *p, const struct relay_ports_want *want, uint32_t *slot,
	uint64_t *early);
// Allocates a slot if its port has rested.
bool relay_ports_take_slot(struct relay_ports *p, uint32_t slot);
// Frees a slot; its port rests from now_ms on. Does nothing if it is not allocated.
void relay_ports_give(struct relay_ports *p, uint32_t slot, uint64_t now_ms);
// Frees a slot that was not used: its port counts as fully rested.
void relay_ports_give_unused(struct relay_ports *p, uint32_t slot);
// Number of ports that are not allocated, including resting ones. Ports outside the map do not
// count.
uint32_t relay_ports_free(const struct relay_ports *p, bool is_v4);
// Number of ports of the map that the shard owns.
uint32_t relay_ports_all(const struct relay_ports *p, bool is_v4);
// The ports that can be allocated, and from what time on. For a pair of resting ports the time is
// only a likely one.
void relay_ports_vacant(const struct relay_ports *p, bool is_v4, struct vacancy_family *out);
