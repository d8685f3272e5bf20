// SPDX-License-Identifier: BSD-3-Clause
// Counts of an allocation's relayed and lost datagrams.
#pragma once

#include <stdint.h>

struct turn_shard;
struct turn_view;

// Classes of drops of an allocation's datagrams: X(enum, name). permission: there is no permission
// or channel, or the peer is denied; size: too long for the path; way: no route, or the neighbour
// does not answer; limit: above a limit; other: malformed, or no memory; the rest: above the rate
// of limits.rates with that name.
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
// Classes from here on are counted outside the usage record, if rates are configured, and start at
// 0 after a restart.
#define TURN_LOSS_KEPT TURN_LOSS_ALLOCATION

// Name of a class: static text; NULL for an unknown number. Any thread.
const char *turn_loss_name(unsigned int loss);
// Class of a drop (enum turn_drop) of an allocation's datagram. TURN_LOSS_END if the dropped
// datagram belongs to no allocation, or is not data. Any thread.
unsigned int turn_loss_of(unsigned int drop);

struct turn_usage {
	struct {
		uint64_t datagrams,
			bytes; // relayed; bytes of data, without TURN's headers and below
	} leg[2]; // by enum turn_leg: from the client, from its peers
	uint32_t lost[TURN_LOSS_END]; // datagrams dropped, by class; stops at 65,535
};

// Totals of one realm's allocations in a shard: relayed and lost datagrams, ended allocations
// included, and distributions over the ended ones. The first two counters leave out counts that
// live allocations have not spilled yet: up to 63 datagrams and 64 KiB of each leg (turn_line.h).
// No counter ever decreases: a correction is subtracted from later additions.
#define TURN_LIFETIME_CLASSES 19 // up to 1 s, 2 s, 4 s ... 2^17 s, and more
#define TURN_SIZE_CLASSES 17 // up to 1 KiB, 4 KiB, 16 KiB ... 1 TiB, and more
struct turn_sums {
	uint64_t datagrams[2], bytes[2]; // by enum turn_leg; bytes as in struct turn_usage
	uint64_t lost[TURN_LOSS_END];
	uint64_t lifetimes[TURN_LIFETIME_CLASSES]; // ended allocations by lifetime
	uint64_t lifetime_s; // sum of their lifetimes
	uint64_t sizes[TURN_SIZE_CLASSES]; // ended allocations by their bytes, of both legs
	uint64_t ended_bytes; // sum of their bytes
	uint64_t made; // allocations that requests have made
};

// The upper bound of a class, in seconds and in bytes; UINT64_MAX for the last one. Any thread.
uint64_t turn_lifetime_bound(unsigned int class);
uint64_t turn_size_bound(unsigned int class);

// A datagram that an allocation has relayed, with the counted bytes.
struct turn_relayed {
	uint32_t slot;
	uint16_t bytes;
	uint8_t leg; // enum turn_leg
};

// Changes a datagram's count from relayed to lost, for the allocation that now has its slot: its
// plan could not be carried out. Does nothing if the allocation has ended. Worker's lcore only, as
// for the following functions.
void turn_usage_lost(struct turn_shard *s, const struct turn_relayed *r, enum turn_loss loss);
// Counts a loss without a plan: of a client's datagram, if the line that turn_route_begin found
// belongs to its client.
void turn_usage_unplanned(struct turn_shard *s, const struct turn_view *v, enum turn_loss loss);
// Counts a datagram of a live allocation that was dropped before it was relayed, for a reason of
// enum turn_drop.
void turn_usage_refused(struct turn_shard *s, uint32_t slot, unsigned int drop);
// Number of the slot's last allocation: a later comparison shows if it is still the same.
uint32_t turn_usage_number(const struct turn_shard *s, uint32_t slot);
