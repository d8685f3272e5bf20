// SPDX-License-Identifier: BSD-3-Clause
// The state area in memory: its header, its tables, and records of fixed size with a checksum each.
// Any change here changes the layout (TURN_STATE_LAYOUT). PURE
#pragma once

#include "stun.h"
#include "turn_relay_map.h"
#include "turn_state.h"
#include "usage.h"

// A record is valid if its first word is:
//
//	63      the allocation has ended; its relay port is quarantined from the time on
//	24..62  time in milliseconds of CLOCK_BOOTTIME: when it expires, or ended
//	 0..23  check: a keyed hash over body, index and time
//
// 0 means no record. STATE_WRITING marks one that is being written; no valid word has the time 0. A
// writer stores STATE_WRITING, then the body, then the word. If a process dies, each of its threads
// stops at one point, and memory keeps everything that was stored before: so only the order of
// stores matters.
#define STATE_EMPTY UINT64_C(0)
#define STATE_WRITING UINT64_C(1)
#define STATE_ENDED (UINT64_C(1) << 63)
#define STATE_TIME_SHIFT 24
#define STATE_TIME_MASK ((UINT64_C(1) << 39) - 1) // 17 years

enum state_kind { STATE_ALLOCATION = 1, STATE_RESERVATION = 2 };

// Flags of a state_alloc.
#define STATE_REST 1 // its user has a time-limited name (turn_rest.h)
#define STATE_RFC8489 2 // the Allocate had PASSWORD-ALGORITHMS
#define STATE_TCP 4 // its relay_port is a TCP port (RFC 6062)

// An allocation, or a reserved port. One for each slot of a shard.
struct state_alloc {
	uint64_t word;
	uint64_t digest; // keyed hash of all following fields
	uint64_t made_ms; // CLOCK_BOOTTIME when it was made
	uint64_t user; // hash by which quota counts the user
	struct addr client;
	union {
		uint8_t ident[TURN_IDENT_LEN]; // allocation
		struct { // reservation
			uint64_t source; // hash by which quota counts the source
			uint8_t token[8];
		};
	};
	uint32_t made; // number of the allocation, unique within its slot
	uint16_t client_port, relay_port;
	uint16_t relay; // index into the table of relay addresses
	uint8_t listener; // index into the table of listeners
	uint8_t kind; // enum state_kind
	uint8_t flags, alg, name_len, spare;
	uint8_t tid[STUN_TID_LEN]; // transaction ID of the Allocate
	uint8_t mac[STUN_REST_MAC_LEN];
	char name[TURN_NAME_LEN];
	// For a dual allocation, the relayed transport address of the sibling; port 0 = no sibling.
	// It stays when the sibling ends, which the sibling's own record shows.
	uint16_t relay2, relay2_port;
	union {
		struct {
			uint16_t realm, spare2;
		};
		uint32_t realm_tag; // state_realm_tag of its realm
	};
	// Data of an allocation that may move (features/mobility): the handle of its tickets, the
	// source that quota has counted, the number of the last ticket. handle 0 = it may not move.
	union {
		uint8_t ticket[16];
		struct {
			uint64_t handle, counted;
		} __attribute__((packed, aligned(4)));
	};
	union {
		uint8_t spare3[4];
		uint32_t serial;
	};
};
_Static_assert(sizeof(struct state_alloc) == 160, "size of an allocation in the area");

// A permission. It belongs to allocation number `made` of the slot, and to no later one. So the
// record can stay when that allocation ends.
struct state_permission {
	uint64_t word;
	struct addr peer;
	uint32_t slot, made;
};
_Static_assert(sizeof(struct state_permission) == 32, "size of a permission in the area");

// A channel, or (in an array of its own, with number 0) a peer registered on a shared address.
struct state_channel {
	uint64_t word;
	uint32_t slot, made;
	uint32_t permission; // index of the permission of its peer
	uint16_t number, port;
	uint8_t form; // external_form
	uint8_t spare[7];
};
_Static_assert(sizeof(struct state_channel) == 32, "size of a channel in the area");

struct state_listener {
	struct addr addr;
	uint16_t port;
	uint8_t transport; // enum turn_transport
	uint8_t spare[5];
};

// Where a worker's records are: offsets in bytes from the start of the area, and numbers of
// records.
struct state_part {
	uint64_t alloc_at, usage_at, permission_at, channel_at, endpoint_at;
	uint32_t nb_slots, nb_permissions, nb_channels, nb_endpoints;
};

#define STATE_MAGIC "SRstate"

struct state_header {
	char magic[8];
	uint32_t layout; // TURN_STATE_LAYOUT
	uint32_t workers;
	uint64_t layout_digest; // turn_state_digest
	uint64_t size; // of the area
	uint64_t check; // hash of header and tables, without check and the fields that can change
	uint64_t listeners_at, relay_at, parts_at; // the tables
	uint32_t nb_listeners, nb_relay;
	uint32_t shared; // 1: relay ports are shared
	uint32_t life; // number of preceding processes, carried from one area to the next
	char version[TURN_STATE_VERSION_LEN];
	uint8_t boot_id[TURN_STATE_BOOT_ID_LEN];
	struct turn_state_keys keys;
	struct hash_key record_key; // for digests and checks of records
	// Fields that can change, on their own cache line. Management writes; workers read the
	// offset.
	uint64_t offset; // CLOCK_BOOTTIME - the shards' clock
	uint64_t alive_ms; // CLOCK_BOOTTIME when the offset was last set
	uint64_t sealed; // 1: the area was complete once, so a restart may use it
	uint8_t spare2[40];
};
_Static_assert(offsetof(struct state_header, offset) % 64 == 0, "on its own cache line");
_Static_assert(sizeof(struct state_header) % 64 == 0, "nothing else shares that cache line");

struct turn_state {
	struct state_header header;
};

// A shard's data for writing its records.
struct state_writer {
	struct state_alloc *alloc; // nb_slots; NULL = no area
	struct state_permission *permission; // nb_permissions
	struct state_channel *channel, *endpoint; // nb_channels, nb_endpoints
	const uint64_t *offset; // header.offset
	struct hash_key key;
	uint32_t numbers; // the numbers of allocations are above this; 0 without an area
};

// An allocation number has two parts: these upper bits count processes, the lower bits count the
// allocations that one process has made in a slot.
#define STATE_LIFE_BITS 12
#define STATE_LIFE_MASK ((UINT32_C(1) << STATE_LIFE_BITS) - 1)
#define STATE_LIFE_SHIFT (32 - STATE_LIFE_BITS)

// A record's tag for the name of its realm: 0 for the first realm, which a restart may rename.
// There are so few realms that only one of many millions of areas has two with the same tag.
static inline uint32_t state_realm_tag(const struct hash_key *key, uint8_t number, const char *name)
{
	const uint32_t tag = (uint32_t)hash_bytes(key, name, strlen(name));

	if (number == 0)
		return 0;
	return tag != 0 ? tag : 1;
}

// --- words -------------------------------------------------------------------------------------

static inline uint64_t state_digest_alloc(const struct hash_key *key, const struct state_alloc *r)
{
	return hash_bytes(key, &r->made_ms, sizeof(*r) - offsetof(struct state_alloc, made_ms));
}

static inline uint64_t state_digest_permission(
	const struct hash_key *key, const struct state_permission *r)
{
	return hash_addr(key, &r->peer, (uint64_t)r->slot << 32 | r->made);
}

static inline uint64_t state_digest_channel(
	const struct hash_key *key, const struct state_channel *r)
{
	struct addr a;
	uint64_t last;

	memcpy(&a, &r->slot, sizeof(a)); // slot, made, permission, number and port
	memcpy(&last, &r->form, sizeof(last)); // form and spare
	return hash_addr(key, &a, last);
}

// The word of a record whose body has this digest. index: the array, such as STATE_ARRAY_ALLOC,
// and the index in it. time: with or without STATE_ENDED, at least 1.
static inline uint64_t state_word(
	const struct hash_key *key, uint64_t digest, uint64_t index, uint64_t time)
{
	const struct addr a = {.d = {digest, index}};
	const uint64_t check = hash_addr(key, &a, time);
	const uint64_t low = check & ((UINT64_C(1) << STATE_TIME_SHIFT) - 1);

	return (time & STATE_ENDED) | (time & STATE_TIME_MASK) << STATE_TIME_SHIFT | low;
}

// The time of a word, including STATE_ENDED.
static inline uint64_t state_time(uint64_t word)
{
	return (word & STATE_ENDED) | (word >> STATE_TIME_SHIFT & STATE_TIME_MASK);
}

// The array of a record, in the high half of its index.
#define STATE_ARRAY_ALLOC (UINT64_C(1) << 32)
#define STATE_ARRAY_PERMISSION (UINT64_C(2) << 32)
#define STATE_ARRAY_CHANNEL (UINT64_C(3) << 32)
#define STATE_ARRAY_ENDPOINT (UINT64_C(4) << 32)
