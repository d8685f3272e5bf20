// SPDX-License-Identifier: BSD-3-Clause
// The state area: what a process leaves to the next one, so that a restart drops no call
// (doc/decisions/0030-state-area.md). It is one block of memory that outlives the process, such as
// a mapped file. Shards write a record into it for each allocation, reservation, permission and
// channel as part of ordinary work. The next process checks the area and takes its records up by
// the ordinary calls, into shards of its own that write to an area of its own.
//
// Order of a start: turn_state_check of the old area; turn_state_keys_of it, or random keys;
// turn_state_redirects; turn_state_create of the new area; the shards, with turn_shard_params.state
// set to it; turn_state_adopt; turn_state_seal of the new area; then the workers run. The old area
// is only read, so a process that dies before the seal leaves the old area as good as it was.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"
#include "turn_config.h"
#include "turn_shard.h"

struct csprng;

#define TURN_STATE_LAYOUT 1 // changes with the meaning or the place of any field: a decision page
#define TURN_STATE_BOOT_ID_LEN 16
#define TURN_STATE_VERSION_LEN 32 // text of the program's version, with its NUL

// --- state/layout.c: what the layout is ---------------------------------------------------------

// One field of the area: sizes and offsets in bytes.
struct turn_state_field {
	const char *record, *name; // static text
	uint32_t offset, size;
};

// All fields; *nb gets how many. Static memory, any thread.
const struct turn_state_field *turn_state_fields(unsigned int *nb);
// A digest of TURN_STATE_LAYOUT, of all fields and of known answers of the hash: two builds that
// differ in it do not take up each other's areas. Any thread.
uint64_t turn_state_digest(void);

// --- state/area.c: making and checking an area; management thread, unless a comment says otherwise

// Secrets that go on being used, because clients, NICs or records depend on them.
struct turn_state_keys {
	struct hash_key clients; // turn_shard_params.client_key
	struct hash_key quota; // of turn_quota_create
	uint8_t boot[32]; // of turn_policy_create
};

// What an area is made for.
struct turn_state_new {
	const struct turn_config *config;
	const struct turn_relay_map *map;
	const struct turn_state_keys *keys; // copied
	const void *before; // an area that is to be taken up, which has passed; NULL = none
	struct csprng *rng; // makes the key of the records' checks; only used in the call
	const uint8_t *boot_id; // TURN_STATE_BOOT_ID_LEN bytes: which start of the kernel this is
	const char *version; // of this program; cut off at TURN_STATE_VERSION_LEN - 1
	uint64_t boot_ms, clock_ms; // as for turn_state_clock
};

// Bytes of the area for a configuration.
size_t turn_state_size(const struct turn_config *c, const struct turn_relay_map *map);
// Makes an area in mem: turn_state_size() bytes, 64-byte aligned, zeroed. The memory stays the
// caller's and outlives the shards that write to it. The area is not sealed yet.
struct turn_state *turn_state_create(void *mem, const struct turn_state_new *n);
// Says that the whole area stands for the box from now on; turn_state_check refuses one that was
// never sealed.
void turn_state_seal(struct turn_state *a);
// Writes the addresses of listeners and relay addresses anew, which are others in *c, and else
// those that the area was made for. No allocation is on those that have changed. A process that
// dies within this leaves an area that is refused as damaged.
void turn_state_move(struct turn_state *a, const struct turn_config *c);
// Tells the area how the clocks stand to each other: boot_ms of CLOCK_BOOTTIME is clock_ms of the
// shards' clock. Call it once a second: records count by the first, so that their times go on while
// no process runs. One store each for offset and time. Workers read the offset at any moment.
void turn_state_clock(struct turn_state *a, uint64_t boot_ms, uint64_t clock_ms);

// Why an area is not taken up: X(enum, meaning).
#define TURN_STATE_REFUSALS(X)                                                     \
	X(TURN_STATE_GOOD, "it is taken up")                                       \
	X(TURN_STATE_FOREIGN, "it is no state area of this program")               \
	X(TURN_STATE_LAYOUT_OTHER, "a version with another layout has written it") \
	X(TURN_STATE_TRUNCATED, "it is shorter than it says")                      \
	X(TURN_STATE_DAMAGED, "its header does not fit its check")                 \
	X(TURN_STATE_UNFINISHED, "the process that made it died before it was up") \
	X(TURN_STATE_OTHER_BOOT, "the machine has been restarted since")

enum turn_state_refusal {
#define X(id, text) id,
	TURN_STATE_REFUSALS(X)
#undef X
		TURN_STATE_REFUSAL_END
};

// Its meaning: static text; NULL for a number that is none. Any thread.
const char *turn_state_refusal_text(unsigned int refusal);

// Whether size bytes at mem (8-byte aligned, of any content) are an area that this build can take
// up, sealed in this start of the kernel. Reads no byte beyond them. The other functions on an old
// area want one that has passed.
enum turn_state_refusal turn_state_check(
	const void *mem, size_t size, const uint8_t boot_id[TURN_STATE_BOOT_ID_LEN]);
// Copies the keys of an old area. The caller wipes *out when done.
void turn_state_keys_of(const void *mem, struct turn_state_keys *out);

struct turn_state_about {
	char version[TURN_STATE_VERSION_LEN]; // of the program that wrote it
	uint64_t boot_ms; // CLOCK_BOOTTIME when turn_state_clock was last called
	uint32_t workers, slots; // it has records for so many
};

void turn_state_about(const void *mem, struct turn_state_about *out);

// --- state/adopt.c: taking up an old area; management thread, before the workers run -------------

// What is not taken up, counted by reason: X(enum, name, meaning). Allocations up to
// TURN_STATE_LOST_RESERVATION; each of those that is told ends with a reason of turn_event.h.
#define TURN_STATE_LOSSES(X)                                                                       \
	X(TURN_STATE_LOST_EXPIRED, "expired", "its time was over")                                 \
	X(TURN_STATE_LOST_STREAM, "stream", "its client came by TCP, TLS or DTLS")                 \
	X(TURN_STATE_LOST_LISTENER, "listener", "its listener is configured no longer")            \
	X(TURN_STATE_LOST_RELAY, "relay", "its relayed transport address is configured no longer") \
	X(TURN_STATE_LOST_PORT, "port", "its relayed transport address is taken")                  \
	X(TURN_STATE_LOST_USER, "user", "its user is configured no longer")                        \
	X(TURN_STATE_LOST_PEER, "peer", "one of its peers is denied now")                          \
	X(TURN_STATE_LOST_QUOTA, "quota", "past a limit")                                          \
	X(TURN_STATE_LOST_ROOM, "room", "no room in a table or a pool")                            \
	X(TURN_STATE_LOST_SIBLING, "sibling",                                                      \
		"the other address of its dual allocation is another worker's now")                \
	X(TURN_STATE_LOST_RESERVATION, "reservation", "a reserved port without a place")           \
	X(TURN_STATE_LOST_PERMISSION, "permission", "a permission past a limit, or unreachable")   \
	X(TURN_STATE_LOST_CHANNEL, "channel", "a channel that has no place")                       \
	X(TURN_STATE_LOST_HALF, "half-written", "the process died while it wrote this record")     \
	X(TURN_STATE_LOST_DAMAGED, "damaged",                                                      \
		"the record does not fit its check, or makes no sense")

enum turn_state_loss {
#define X(id, name, text) id,
	TURN_STATE_LOSSES(X)
#undef X
		TURN_STATE_LOST_END
};

// Name and meaning: static text; NULL for a number that is none. Any thread.
const char *turn_state_loss_name(unsigned int loss);
const char *turn_state_loss_text(unsigned int loss);

struct turn_state_adoption {
	const void *area; // turn_state_check has found it good
	uint64_t boot_ms, clock_ms, wall_s; // now: CLOCK_BOOTTIME, the shards' clock, time of day
	const struct turn_config *config; // the new configuration
	const struct turn_relay_map *map; // of it
	struct turn_shard *const *shards; // config->workers of them; their quota counts nothing yet
	// The worker that is home to a client of a listener of the new configuration.
	unsigned int (*home)(void *ctx, const struct endpoint *client, uint8_t listener);
	// Called after every TURN_STATE_STEP allocations, with how many of all slots are done. NULL
	// = nobody wants to know.
	void (*progress)(void *ctx, uint64_t done, uint64_t all);
	void *ctx;
};
#define TURN_STATE_STEP 65536

struct turn_state_adopted {
	uint64_t allocations, permissions, channels, endpoints, reservations, redirects;
	uint64_t resting; // ports that go on resting
	uint64_t lost[TURN_STATE_LOST_END];
};

// Counts by worker how many redirects turn_state_adopt will make there, so that
// turn_shard_params.redirects can be that and some more. Needs no shards.
void turn_state_redirects(const struct turn_state_adoption *a, uint32_t nb[TURN_WORKERS_MAX]);
// Makes in the shards all that the area holds and a request could have made, with the time that it
// has left: by the calls that requests make, with their checks. What has no place is counted in
// *out, and allocations without a place are told to have ended (turn_shard_params.event, of the
// shard that would have had them or else of the first). 0, or ENOMEM; then nothing was taken up.
int turn_state_adopt(const struct turn_state_adoption *a, struct turn_state_adopted *out);

// --- shard.c -------------------------------------------------------------------------------------

// The end of a shard whose area the next process is to take up: ends and tells nothing that lives.
// Folded refusals are told. In place of turn_shard_close, worker's lcore or after it has stopped.
void turn_shard_keep(struct turn_shard *s);
