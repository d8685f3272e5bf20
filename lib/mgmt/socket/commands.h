// SPDX-License-Identifier: BSD-3-Clause
// Parses a client's line, runs its command, and writes the answer as a line. Private to lib/mgmt.
// The control thread only.
#pragma once

#include <jansson.h>

#include "capture/captures.h"
#include "conf.h"
#include "dp.h"
#include "socket/clients.h"
#include "answers/diffs.h"
#include "answers/facts.h"
#include "answers/scans.h"

struct mgmt_blocks;
struct mgmt_events;
struct mgmt_reload;
struct stun_crypto;

#define COMMANDS_VERSION 1
#define COMMANDS_DEPTH 8 // nesting of a request
#define COMMANDS_ERROR 256

// All state of the control thread.
struct control {
	struct dp *dp;
	const struct conf *conf;
	struct mgmt_events *events;
	struct mgmt_reload *reload;
	struct mgmt_drain *drain;
	struct mgmt_blocks *blocks;
	struct stun_crypto *crypto; // for this thread
	struct clients clients;
	struct scans scans;
	struct captures captures;
	struct diffs diffs;
	struct facts facts;
	uint64_t denied_ms; // when an order of a reader was logged last; 0 = never
};

// A request that is being answered.
struct command {
	struct control *control;
	struct client *client;
	json_t *in; // the request
	json_t *out; // the answer, an object; a later answer takes ownership of it
	char error[COMMANDS_ERROR]; // reason of a refusal
};

enum command_end {
	COMMAND_DONE, // out is the answer
	COMMAND_REFUSED, // error is the answer
	COMMAND_LATER, // a scan or a diff has taken out, and will answer
};

// A handler for clients.line: answers a line, now or later.
void commands_line(void *control, struct client *c, char *line, size_t len);
// Answers with an object and takes ownership of it, or, if error is not NULL, with the error.
void commands_answer(struct control *k, struct client *c, json_t *out, const char *error);
// Writes the reason of a refusal. Returns COMMAND_REFUSED.
__attribute__((format(printf, 2, 3))) enum command_end commands_refuse(
	struct command *c, const char *fmt, ...);
// Describes the request and its sender for the log. The caller frees the text. NULL without memory.
char *commands_order(const struct command *c);
