// SPDX-License-Identifier: BSD-3-Clause
// The state area, by which a restart keeps calls (doc/decisions/0031-restart.md): the state that
// this process has adopted at its start, and the state that it leaves behind.
// lib/turn/public/turn_state.h has the area itself. Public, like dp.h.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "turn_state.h"

struct conf;
struct dp;

// Reports of dp_start while it adopts an area. On the management lcore.
struct dp_state_watch {
	// Called before the first event: dp_events_to may be called in it. Until dp_start returns,
	// its receiver gets events at once.
	void (*begin)(void *ctx, struct dp *d);
	// Progress as a line of text; only if adopting takes long.
	void (*progress)(void *ctx, const char *line);
	void *ctx;
};

enum dp_state_start {
	DP_STATE_EMPTY, // there was no area
	DP_STATE_TAKEN, // the area was adopted
	DP_STATE_REFUSED, // the area was refused, and moved aside
	// The area was refused, because processes that adopted it crashed again and again.
	DP_STATE_CRASHED,
};

// Times are in milliseconds.
struct dp_state {
	const char *file; // name of the file, from the configuration
	uint64_t bytes; // size of the file
	uint32_t each; // bytes for each allocation that can exist
	enum dp_state_start start;
	// number of consecutive processes before this one that died soon after their start
	uint32_t deaths;
	char reason[192]; // REFUSED, CRASHED: the reason; else ""
	char room[256]; // why the next start will find no room for its area; "" = there is room
	// Why this process has no area, and what to do: its calls end with it. "" = it has one.
	char unkept[320];
	char warning[256]; // problem of the new file, and what to do; "" = none
	// the old file is FILE.refused or FILE.crashed now; else it could not be renamed
	bool aside;
	char version[TURN_STATE_VERSION_LEN]; // version of the program that wrote the adopted state
	// The previous process lived until away_ms before this one (accurate to a second). Adopting
	// took took_ms.
	uint64_t away_ms, took_ms;
	struct turn_state_adopted adopted;
};

// Describes what happened to the area at the start. Any thread. False if the configuration names no
// file. The texts live as long as the configuration.
bool dp_state(const struct dp *d, struct dp_state *out);
// Chooses what dp_stop does. forget: it ends all allocations and removes the file. Else, and by
// default, both stay for the next process. Management lcore.
void dp_state_forget(struct dp *d, bool forget);
// Checks that the file of a configuration can hold the area. Returns 0; 1 if there is too little
// room for a restart to keep calls; -1 if the file cannot be used. error then says what to do.
int dp_state_check(const struct conf *c, char *error, size_t len);
// Writes the warning about a file system that has room bytes free, for an area of size bytes.
void dp_state_room_text(uint64_t room, uint64_t size, char *text, size_t len);
