// SPDX-License-Identifier: BSD-3-Clause
// The command capture: one capture at a time, for the client that asked for it. The client polls
// for the captured frames, so it is never sent more than it takes. Private to lib/mgmt. The control
// thread only.
#pragma once

#include <jansson.h>

#include "dp.h"

struct client;
struct command;
struct control;

enum captures_state {
	CAPTURES_NONE,
	CAPTURES_BEGINS, // workers are being asked
	CAPTURES_RUNS,
	CAPTURES_ENDS, // workers must stop it
	CAPTURES_LEFT, // workers have stopped; its client may take the rest
};

struct captures {
	enum captures_state state;
	struct client *client; // NULL: the client has disconnected
	struct turn_filter follow;
	bool dirty; // allocations were made or have ended since the workers were asked
	bool asking; // workers are being asked again
	bool left_out; // there are more allocations than a capture can follow
	const char *end_reason; // why it ends; NULL while it runs
	char *order; // the request, for the log
	uint64_t until_ms, heard_ms, retry_ms;
	uint64_t datagrams, bytes; // the rest of the limits
	uint64_t given, given_bytes;
	json_t *made; // allocations that the client was not told about yet
};

enum command_end captures_command(struct command *c);
// Does the work that is due. Returns in how many microseconds to call it again; -1 without a
// capture.
int64_t captures_step(struct control *k);
// Forgets a client that has disconnected.
void captures_gone(struct control *k, const struct client *c);
// Gives up without an answer. Memory that workers know is freed with the data path.
void captures_close(struct control *k);
