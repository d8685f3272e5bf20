// SPDX-License-Identifier: BSD-3-Clause
// Counts of an allocation's relayed and lost datagrams.
#pragma once

#include <stdint.h>

struct turn_shard;
struct turn_view;

// Classes of an allocation's dropped datagrams, X(enum, name):
// - permission: no permission or channel binding, or the peer is denied
// - size: too long for the path
// - way: no route, or the neighbour does not answer
// - limit: above a limit
// - other: malformed, or out of memory
// - *_rate: above a rate of the allocation, its user or its realm (limits.rates)
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
// Classes from this one on are counted only if rates are configured. Their counts are outside the
// usage record, and start at 0 after a restart.
#define TURN_LOSS_KEPT TURN_LOSS_ALLOCATION

// Name of a class: static text; NULL for an unknown number. Any thread.
const char *turn_loss_name(unsigned int loss);
// Returns the loss class of a drop reason (enum turn_drop), or TURN_LOSS_END if datagrams dropped
// for that reason belong to no allocation or carry no data. Any thread.
unsigned int turn_loss_of(unsigned int drop);

struct turn_usage {
	struct {
		uint64_t datagrams,
			bytes; // relayed data, without the headers of TURN and lower layers
	} leg[2]; // by enum turn_leg: from the client, from its peers
	uint32_t lost[TURN_LOSS_END]; // dropped datagrams by class; each count stops at 65,535
};

// Totals of one realm in a shard: datagrams relayed and lost by live and ended allocations, and
// distributions over the ended ones. A live allocation adds to datagrams and bytes in steps, so
// each may leave out up to 63 datagrams and 64 KiB on each leg (turn_line.h). No counter ever
// decreases: a correction is subtracted from later additions.
#define TURN_LIFETIME_CLASSES 19 // up to 1 s, 2 s, 4 s ... 2^17 s, and more
#define TURN_SIZE_CLASSES 17 // up to 1 KiB, 4 KiB, 16 KiB ... 1 TiB, and more
struct turn_sums {
	uint64_t datagrams[2], bytes[2]; // by enum turn_leg; bytes as in struct turn_usage
	uint64_t lost[TURN_LOSS_END];
	uint64_t lifetimes[TURN_LIFETIME_CLASSES]; // ended allocations by lifetime
	uint64_t lifetime_s; // sum of their lifetimes
	uint64_t sizes[TURN_SIZE_CLASSES]; // ended allocations by bytes, both legs together
	uint64_t ended_bytes; // sum of their bytes
	uint64_t made; // allocations created by requests
};

struct turn_tally {
	struct turn_sums sums; // of its allocations, ended ones included
	uint64_t allocations; // live
};

// Upper bound of a lifetime class in seconds, and of a size class in bytes. UINT64_MAX for the last
// class. Any thread.
uint64_t turn_lifetime_bound(unsigned int class);
uint64_t turn_size_bound(unsigned int class);

// A datagram that was counted as relayed, and the bytes that were counted.
struct turn_relayed {
	uint32_t slot;
	uint16_t bytes;
	uint8_t leg; // enum turn_leg
};

// Counts a datagram as lost instead of relayed, because its plan could not be carried out. The
// counts are those of the allocation that now has the slot; does nothing if that one has ended.
// Worker's lcore only, like the functions below.
void turn_usage_lost(struct turn_shard *s, const struct turn_relayed *r, enum turn_loss loss);
// Counts a client's datagram that was lost before it had a plan. Does nothing unless the line that
// turn_route_begin found belongs to the client that sent the datagram.
void turn_usage_unplanned(struct turn_shard *s, const struct turn_view *v, enum turn_loss loss);
// Counts a datagram of a live allocation that was dropped before it was counted as relayed. drop:
// the reason, an enum turn_drop.
void turn_usage_refused(struct turn_shard *s, uint32_t slot, unsigned int drop);
// Returns the number of the latest allocation in the slot. A later call that returns another number
// shows that the slot has been reused.
uint32_t turn_usage_number(const struct turn_shard *s, uint32_t slot);
