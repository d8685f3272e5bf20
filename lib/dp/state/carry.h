// SPDX-License-Identifier: BSD-3-Clause
// carry.c: the steps of starting and stopping that have to do with the state area, in their order.
// Each does nothing where the configuration names no file. Management lcore.
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

// Takes the lock and looks at what the last process has left. 0, or -1 with the reason in error.
int carry_open(struct dp *d, char *error, size_t len);
void carry_watch(struct dp *d, const struct dp_state_watch *watch); // who is told, or NULL
// Puts the keys of an area that is to be taken up in the place of those in keys.
void carry_keys(const struct dp *d, struct turn_state_keys *keys);
// Makes the new area, once d->map is there. 0, or -1 with the reason in error.
int carry_make(struct dp *d, const struct turn_state_keys *keys, struct csprng *rng, char *error,
	size_t len);
// The area that shards write to, or NULL.
struct turn_state *carry_area(const struct dp *d);
// Room for redirects that a worker's shard needs; 0 = as many as usual.
uint32_t carry_redirects(const struct dp *d, unsigned int worker);
// The most that carry_redirects may say, for a shard of so many slots; 0 = as many as usual.
uint32_t carry_redirects_most(const struct conf *c, uint32_t slots);
// Fills the shards, none of which runs yet, and gives the new area the old one's name. 0, or -1
// with the reason in error; the old area is then as it was.
int carry_take(struct dp *d, char *error, size_t len);
// The workers run: gives back the memory of the old area, which takes its time.
void carry_started(struct dp *d);
// Tells the area how the clocks stand, once a second. Often.
void carry_tick(struct dp *d);
// Ends a shard whose worker has stopped: as turn_shard_close, or so that its area stays.
void carry_close_shard(const struct dp *d, struct turn_shard *s);
void carry_free(struct dp *d);
