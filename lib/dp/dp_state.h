// SPDX-License-Identifier: BSD-3-Clause
// The state area, by which a restart keeps calls (doc/decisions/0031-restart.md): what this process
// has taken up at its start, and what its end leaves behind. lib/turn/turn_state.h has the area
// itself. Public, as dp.h.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "turn_state.h"

struct conf;
struct dp;

// What dp_start tells while it takes up an area. On the management lcore.
struct dp_state_watch {
	// Before the first event comes: dp_events_to may be called. Until dp_start returns, events
	// go there at once.
	void (*begin)(void *ctx, struct dp *d);
	// How far it has come, for people; only where it takes long.
	void (*progress)(void *ctx, const char *line);
	void *ctx;
};

enum dp_state_start {
	DP_STATE_EMPTY, // there was no area
	DP_STATE_TAKEN, // it was taken up
	DP_STATE_REFUSED, // it was not, and lies aside
	DP_STATE_CRASHED, // the same, because who took it up has died, again and again
};

// Times are in milliseconds.
struct dp_state {
	const char *file; // of the configuration
	uint64_t bytes; // of the file
	uint32_t each; // of these, for each allocation that can exist
	enum dp_state_start start;
	uint32_t deaths; // processes in a row before this one that have died young
	char reason[192]; // REFUSED, CRASHED: the reason; else ""
	char room[256]; // why the next start will find no room for its area; "" = it will
	// Why this process has no area, and what to do: its calls end with it. "" = it has one.
	char unkept[320];
	char warning[256]; // what is wrong with the new file, and what to do; "" = nothing
	bool aside; // it is FILE.refused or FILE.crashed now; else it could not be renamed
	char version[TURN_STATE_VERSION_LEN]; // of the program that wrote what was taken up
	// That program has lived until away_ms before, or up to a second less; taking up has taken
	// took_ms.
	uint64_t away_ms, took_ms;
	struct turn_state_adopted adopted;
};

// What has become of the area at the start. Any thread. False when the configuration names none.
// The text lives as long as the configuration.
bool dp_state(const struct dp *d, struct dp_state *out);
// What dp_stop does. forget: all allocations end, and the file is removed. Else both stay for the
// next process, and so they do until this is called. Management lcore.
void dp_state_forget(struct dp *d, bool forget);
// Whether the area of a configuration may lie in the file that it names, and has room there. 0; 1:
// less room than it takes for a restart to keep calls; -1: it may not. error says what to do.
int dp_state_check(const struct conf *c, char *error, size_t len);
// What is told of a file system that has room for so many bytes, and an area of size.
void dp_state_room_text(uint64_t room, uint64_t size, char *text, size_t len);
