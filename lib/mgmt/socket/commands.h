// SPDX-License-Identifier: BSD-3-Clause
// From a line of a client to the command that it names, and back to a line. Private to lib/mgmt.
// The control thread only.
#pragma once

#include <jansson.h>

#include "capture/captures.h"
#include "conf.h"
#include "dp.h"
#include "socket/clients.h"
#include "socket/diffs.h"
#include "socket/facts.h"
#include "socket/scans.h"

struct mgmt_events;
struct mgmt_reload;
struct stun_crypto;

#define COMMANDS_VERSION 1
#define COMMANDS_DEPTH 8 // of what is nested in a request
#define COMMANDS_ERROR 256

// All that the control thread has.
struct control {
	struct dp *dp;
	const struct conf *conf;
	struct mgmt_events *events;
	struct mgmt_reload *reload;
	struct mgmt_drain *drain;
	struct stun_crypto *crypto; // of this thread
	struct clients clients;
	struct scans scans;
	struct captures captures;
	struct diffs diffs;
	struct facts facts;
};

// A request that is being answered.
struct command {
	struct control *control;
	struct client *client;
	json_t *in; // what was asked
	json_t *out; // the answer, an object; taken over by who answers later
	char error[COMMANDS_ERROR]; // why it is refused
};

enum command_end {
	COMMAND_DONE, // out is the answer
	COMMAND_REFUSED, // error is
	COMMAND_LATER, // a scan or a diff has taken out, and will answer
};

// clients.line: answers a line, now or later.
void commands_line(void *control, struct client *c, char *line, size_t len);
// Answers with an object, which is taken, or, if error is not NULL, with that.
void commands_answer(struct control *k, struct client *c, json_t *out, const char *error);
// Writes why a request is refused. Returns COMMAND_REFUSED.
__attribute__((format(printf, 2, 3))) enum command_end commands_refuse(
	struct command *c, const char *fmt, ...);
// What was ordered and by whom, for the log: the caller frees it. NULL without memory.
char *commands_order(const struct command *c);
