// SPDX-License-Identifier: BSD-3-Clause
// The steps of start and stop that concern the state area, in their order. They do nothing if the
// configuration names no file. Management lcore.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "turn_config.h"

struct conf;
struct csprng;
struct dp;
struct dp_state_watch;
struct turn_shard;
struct turn_state_keys;

// Takes the lock and looks at the area of the last process. Returns 0, or -1 with the reason in
// error.
int carry_open(struct dp *d, char *error, size_t len);
void carry_watch(struct dp *d, const struct dp_state_watch *watch); // receiver of reports, or NULL
// Replaces keys by those of the old area, if it will be adopted.
void carry_keys(const struct dp *d, struct turn_state_keys *keys);
// Makes the new area, after d->map. Returns 0, or -1 with the reason in error.
int carry_make(struct dp *d, const struct turn_state_keys *keys, struct csprng *rng, char *error,
	size_t len);
// The area that shards write to, or NULL.
struct turn_state *carry_area(const struct dp *d);
// Room for redirects that a worker's shard needs; 0 = the default.
uint32_t carry_redirects(const struct dp *d, unsigned int worker);
// Upper limit of carry_redirects, for a shard of `slots` slots; 0 = the default.
uint32_t carry_redirects_most(const struct conf *c, uint32_t slots);
// Fills the shards, before any of them runs, and gives the new area the old one's name. Returns 0,
// or -1 with the reason in error; the old area is then unchanged.
int carry_take(struct dp *d, char *error, size_t len);
// Call it when the workers run: frees the memory of the old area, which takes some time.
void carry_started(struct dp *d);
// Updates the clock of the area, once a second. Call it often.
void carry_tick(struct dp *d);
// Closes a shard whose worker has stopped: by turn_shard_close, or so that its area stays.
void carry_close_shard(const struct dp *d, struct turn_shard *s);
void carry_free(struct dp *d);
