// SPDX-License-Identifier: BSD-3-Clause
// What an allocation has relayed and lost.
#pragma once

#include <stdint.h>

struct turn_shard;
struct turn_view;

// Classes of drops of an allocation's datagrams: X(enum, name). permission: there is no permission
// or channel, or the peer is denied; size: too long for the way; way: no route, or the neighbour
// does not answer; limit: past a limit; other: malformed, or no memory; the rest: past the rate of
// limits.rates that they name.
#define TURN_LOSSES(X)                             \
	X(TURN_LOSS_PERMISSION, "permission")      \
	X(TURN_LOSS_SIZE, "size")                  \
	X(TURN_LOSS_WAY, "way")                    \
	X(TURN_LOSS_LIMIT, "limit")                \
	X(TURN_LOSS_OTHER, "other")                \
	X(TURN_LOSS_ALLOCATION, "allocation_rate") \
	X(TURN_LOSS_USER, "user_rate")             \
	X(TURN_LOSS_REALM, "realm_rate")

enum turn_loss {
#define X(id, name) id,
	TURN_LOSSES(X)
#undef X
		TURN_LOSS_END
};
// Classes from here on are counted beside the usage record, where rates are configured, and from
// anew after a restart.
#define TURN_LOSS_KEPT TURN_LOSS_ALLOCATION

// Name of a class: static text; NULL for a number that is none. Any thread.
const char *turn_loss_name(unsigned int loss);
// Class of a drop (enum turn_drop) of an allocation's datagram. TURN_LOSS_END: none, as what is
// dropped so is of no allocation, or is no data. Any thread.
unsigned int turn_loss_of(unsigned int drop);

struct turn_usage {
	struct {
		uint64_t datagrams,
			bytes; // relayed; bytes of data, without TURN's headers and below
	} leg[2]; // by enum turn_leg: from the client, from its peers
	uint32_t lost[TURN_LOSS_END]; // datagrams dropped, by class; stops at 65,535
};

// What the allocations of a shard that are of one realm have relayed and lost, ended ones included,
// and how those that have ended were. What a live allocation has not spilled yet is missing in the
// first two counters: up to 63 datagrams and 64 KiB of each leg (turn_line.h). No counter falls:
// what is taken back once it was added is left out of what comes next.
#define TURN_LIFETIME_CLASSES 19 // up to 1 s, 2 s, 4 s ... 2^17 s, and more
#define TURN_SIZE_CLASSES 17 // up to 1 KiB, 4 KiB, 16 KiB ... 1 TiB, and more
struct turn_sums {
	uint64_t datagrams[2], bytes[2]; // by enum turn_leg; bytes as in struct turn_usage
	uint64_t lost[TURN_LOSS_END];
	uint64_t lifetimes[TURN_LIFETIME_CLASSES]; // ended allocations by how long they have lived
	uint64_t lifetime_s; // of all of them together
	uint64_t sizes[TURN_SIZE_CLASSES]; // ended allocations by their bytes, of both legs
	uint64_t ended_bytes; // of all of them together
	uint64_t made; // allocations that requests have made
};

// The most that belongs to a class, in seconds and in bytes; UINT64_MAX for the last one. Any
// thread.
uint64_t turn_lifetime_bound(unsigned int class);
uint64_t turn_size_bound(unsigned int class);

// A datagram that an allocation has relayed, as far as it was counted.
struct turn_relayed {
	uint32_t slot;
	uint16_t bytes;
	uint8_t leg; // enum turn_leg
};

// Takes back that a datagram was relayed, by the allocation that has its slot, and counts it as
// lost: its plan could not be carried out. Nothing happens when the allocation has ended. Worker's
// lcore only, as the following ones.
void turn_usage_lost(struct turn_shard *s, const struct turn_relayed *r, enum turn_loss loss);
// Counts a loss that was no plan's: of a client's datagram, if the line that turn_route_begin found
// is its client's.
void turn_usage_unplanned(struct turn_shard *s, const struct turn_view *v, enum turn_loss loss);
// Counts a datagram of a live allocation that was dropped before it was relayed, for a reason of
// enum turn_drop.
void turn_usage_refused(struct turn_shard *s, uint32_t slot, unsigned int drop);
// Which allocation of a slot that has had one there is: it tells later whether it still is.
uint32_t turn_usage_number(const struct turn_shard *s, uint32_t slot);
