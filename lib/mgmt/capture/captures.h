// SPDX-License-Identifier: BSD-3-Clause
// The command capture: one capture at a time, for the client that has asked for it. It asks again
// and again for what has been captured, so that it is never sent more than it takes. Private to
// lib/mgmt. The control thread only.
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
	CAPTURES_ENDS, // workers have to forget it
	CAPTURES_LEFT, // they have; its client may take what is left
};

struct captures {
	enum captures_state state;
	struct client *client; // NULL: has gone
	struct turn_filter follow;
	bool dirty; // allocations have come or gone since workers were asked
	bool asking; // workers are being asked again
	bool left_out; // there are more allocations than a capture has
	const char *end_reason; // it ends
	char *order; // the order, for the log
	uint64_t until_ms, heard_ms, retry_ms;
	uint64_t datagrams, bytes; // that may still come
	uint64_t given, given_bytes;
	json_t *made; // allocations that the client has not been told of
};

enum command_end captures_command(struct command *c);
// What is due by time. Returns in how many microseconds to call again; -1: there is no capture.
int64_t captures_step(struct control *k);
// Forgets a client that has gone.
void captures_gone(struct control *k, const struct client *c);
// Gives up: nobody is answered. Memory that workers know is freed with the data path.
void captures_close(struct control *k);
