// SPDX-License-Identifier: BSD-3-Clause
// The state area: data that a process leaves to the next one, so that a restart drops no call
// (doc/decisions/0030-state-area.md). It is one block of memory that outlives the process, such as
// a mapped file. During normal work shards write a record into it for each allocation, reservation,
// permission and channel. The next process checks the area and restores its records by the ordinary
// calls, into new shards that write to a new area.
//
// Order of a start: turn_state_check of the old area; turn_state_keys_of it, or random keys;
// turn_state_redirects; turn_state_create of the new area; the shards, with turn_shard_params.state
// set to it; turn_state_adopt; turn_state_seal of the new area; then the workers run. The old area
// is only read, so if the process dies before the seal, the old area is still intact.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"
#include "turn_config.h"
#include "turn_shard.h"

struct csprng;

// Changes with the meaning or the offset of any field: see the decision page.
#define TURN_STATE_LAYOUT 1
#define TURN_STATE_BOOT_ID_LEN 16
#define TURN_STATE_VERSION_LEN 32 // text of the program's version, with its NUL

// --- state/layout.c: the layout ------------------------------------------------------------------

// One field of the area: sizes and offsets in bytes.
struct turn_state_field {
	const char *record, *name; // static text
	uint32_t offset, size;
};

// All fields; *nb gets their number. Static memory, any thread.
const struct turn_state_field *turn_state_fields(unsigned int *nb);
// A digest of TURN_STATE_LAYOUT, of all fields and of known results of the hash: builds with
// different digests do not restore each other's areas. Any thread.
uint64_t turn_state_digest(void);

// --- state/area.c: making and checking an area; management thread, unless a comment says otherwise

// Secrets that stay in use over a restart, because clients, NICs or records depend on them.
struct turn_state_keys {
	struct hash_key clients; // turn_shard_params.client_key
	struct hash_key quota; // for turn_quota_create
	uint8_t boot[32]; // for turn_policy_create
};

// Parameters of a new area.
struct turn_state_new {
	const struct turn_config *config;
	const struct turn_relay_map *map;
	const struct turn_state_keys *keys; // copied
	// An old area that will be restored, and has passed the check; NULL = no such area.
	const void *before;
	struct csprng *rng; // makes the key of the records' checksums; only used in the call
	const uint8_t *boot_id; // TURN_STATE_BOOT_ID_LEN bytes: identifies this boot of the kernel
	const char *version; // of this program; truncated to TURN_STATE_VERSION_LEN - 1
	uint64_t boot_ms, clock_ms; // as for turn_state_clock
};

// Bytes of the area for a configuration.
size_t turn_state_size(const struct turn_config *c, const struct turn_relay_map *map);
// Makes an area in mem: turn_state_size() bytes, 64-byte aligned, zeroed. The memory belongs to the
// caller and outlives the shards that write to it. The area is not sealed yet.
struct turn_state *turn_state_create(void *mem, const struct turn_state_new *n);
// Declares the area complete; turn_state_check refuses one that was never sealed.
void turn_state_seal(struct turn_state *a);
// Replaces the addresses of listeners and relay addresses by those of *c, which otherwise equals
// the configuration that the area was made for. No allocation is on the changed ones. If the
// process dies during this call, the area is later refused as damaged.
void turn_state_move(struct turn_state *a, const struct turn_config *c);
// Tells the area the relation of the clocks: boot_ms of CLOCK_BOOTTIME is clock_ms of the shards'
// clock. Call it once a second: records count by CLOCK_BOOTTIME, so that their times continue while
// no process runs. One store each for offset and time. Workers may read the offset at any moment.
void turn_state_clock(struct turn_state *a, uint64_t boot_ms, uint64_t clock_ms);

// Why an area is not restored: X(enum, meaning).
#define TURN_STATE_REFUSALS(X)                                                        \
	X(TURN_STATE_GOOD, "it is restored")                                          \
	X(TURN_STATE_FOREIGN, "it is not a state area of this program")               \
	X(TURN_STATE_LAYOUT_OTHER, "it was written by a version with another layout") \
	X(TURN_STATE_TRUNCATED, "it is shorter than its header says")                 \
	X(TURN_STATE_DAMAGED, "its header does not match its checksum")               \
	X(TURN_STATE_UNFINISHED, "the process that made it died before it was ready") \
	X(TURN_STATE_OTHER_BOOT, "the machine has been rebooted since")

enum turn_state_refusal {
#define X(id, text) id,
	TURN_STATE_REFUSALS(X)
#undef X
		TURN_STATE_REFUSAL_END
};

// Its meaning: static text; NULL for an unknown number. Any thread.
const char *turn_state_refusal_text(unsigned int refusal);

// Checks size bytes at mem (8-byte aligned, any content): TURN_STATE_GOOD if they are an area that
// this build can restore, sealed in this boot of the kernel. Reads nothing beyond them. The other
// functions for an old area require one that has passed.
enum turn_state_refusal turn_state_check(
	const void *mem, size_t size, const uint8_t boot_id[TURN_STATE_BOOT_ID_LEN]);
// Copies the keys of an old area. The caller wipes *out after use.
void turn_state_keys_of(const void *mem, struct turn_state_keys *out);

struct turn_state_about {
	char version[TURN_STATE_VERSION_LEN]; // of the program that wrote it
	uint64_t boot_ms; // CLOCK_BOOTTIME when turn_state_clock was last called
	uint32_t workers, slots; // for which it has records
};

void turn_state_about(const void *mem, struct turn_state_about *out);

// --- state/adopt.c: restoring an old area; management thread, before the workers run -------------

// Records that are not restored, counted by reason: X(enum, name, meaning). Reasons up to
// TURN_STATE_LOST_RESERVATION are about allocations; those with an event end with a reason of
// turn_event.h.
#define TURN_STATE_LOSSES(X)                                                                       \
	X(TURN_STATE_LOST_EXPIRED, "expired", "it has expired")                                    \
	X(TURN_STATE_LOST_STREAM, "stream", "its client came over TCP, TLS or DTLS")               \
	X(TURN_STATE_LOST_LISTENER, "listener", "its listener is no longer configured")            \
	X(TURN_STATE_LOST_RELAY, "relay", "its relayed transport address is no longer configured") \
	X(TURN_STATE_LOST_PORT, "port", "its relayed transport address is in use")                 \
	X(TURN_STATE_LOST_USER, "user", "its user is no longer configured")                        \
	X(TURN_STATE_LOST_DENIED, "client-denied", "its client's address is now denied")           \
	X(TURN_STATE_LOST_PEER, "peer", "one of its peers is now denied")                          \
	X(TURN_STATE_LOST_QUOTA, "quota", "above a limit")                                         \
	X(TURN_STATE_LOST_ROOM, "room", "no room in a table or a pool")                            \
	X(TURN_STATE_LOST_SIBLING, "sibling",                                                      \
		"the other address of its dual allocation belongs to another worker now")          \
	X(TURN_STATE_LOST_RESERVATION, "reservation",                                              \
		"a reserved port that could not be restored")                                      \
	X(TURN_STATE_LOST_PERMISSION, "permission",                                                \
		"a permission above a limit, or to an unreachable peer")                           \
	X(TURN_STATE_LOST_CHANNEL, "channel", "a channel that could not be restored")              \
	X(TURN_STATE_LOST_HALF, "half-written", "the process died while it wrote this record")     \
	X(TURN_STATE_LOST_DAMAGED, "damaged",                                                      \
		"the record does not match its checksum, or is inconsistent")

enum turn_state_loss {
#define X(id, name, text) id,
	TURN_STATE_LOSSES(X)
#undef X
		TURN_STATE_LOST_END
};

// Name and meaning: static text; NULL for an unknown number. Any thread.
const char *turn_state_loss_name(unsigned int loss);
const char *turn_state_loss_text(unsigned int loss);

struct turn_state_adoption {
	const void *area; // an area that turn_state_check has accepted
	uint64_t boot_ms, clock_ms, wall_s; // now: CLOCK_BOOTTIME, the shards' clock, time of day
	const struct turn_config *config; // the new configuration
	const struct turn_relay_map *map; // that of the new configuration
	struct turn_shard *const *shards; // config->workers of them; their quota counts nothing yet
	// Returns the home worker of a client of a listener of the new configuration.
	unsigned int (*home)(void *ctx, const struct endpoint *client, uint8_t listener);
	// Called after every TURN_STATE_STEP allocations, with the number of slots done, out of
	// `all` slots; or NULL.
	void (*progress)(void *ctx, uint64_t done, uint64_t all);
	void *ctx;
};
#define TURN_STATE_STEP 65536

struct turn_state_adopted {
	uint64_t allocations, permissions, channels, endpoints, reservations, redirects;
	uint64_t resting; // ports that continue to rest
	uint64_t lost[TURN_STATE_LOST_END];
};

// Counts by worker the redirects that turn_state_adopt will make there, so that
// turn_shard_params.redirects can leave room for more. Needs no shards.
void turn_state_redirects(const struct turn_state_adoption *a, uint32_t nb[TURN_WORKERS_MAX]);
// Recreates in the shards everything that the area holds and a request could have made, with its
// remaining time: by the calls that requests make, with their checks. Records that cannot be
// restored are counted in *out, and the allocations among them are reported as ended
// (turn_shard_params.event, of the shard that would have had them or else of the first). Returns 0,
// or ENOMEM; then nothing was restored.
int turn_state_adopt(const struct turn_state_adoption *a, struct turn_state_adopted *out);

// --- shard.c -------------------------------------------------------------------------------------

// Closes a shard whose area the next process will restore: live allocations do not end, and get no
// event. Folded refusals are reported. Use it in place of turn_shard_close, on the worker's lcore
// or after it has stopped.
void turn_shard_keep(struct turn_shard *s);
