// SPDX-License-Identifier: BSD-3-Clause
// Finds the changes that a reload would make. A separate thread loads the file, as that may take
// seconds and would delay other clients. One diff at a time. Private to lib/mgmt. The control
// thread only.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct client;
struct command;
struct control;
struct mgmt_reload;

struct diffs {
	bool runs; // the thread was started, and not joined yet
	bool done; // the thread sets it, and then no longer uses the fields below
	pthread_t thread;
	struct mgmt_reload *reload;
	json_t *rows;
	int changes; // -1: the file is refused, for the reason in error
	char error[512];
	struct client *client; // NULL: disconnected
	json_t *out;
};

enum command_end diffs_begin(struct command *c);
// Answers once the thread is done. Returns in how many microseconds to call it again; -1 without a
// diff.
int64_t diffs_step(struct control *k);
// Forgets a client that has disconnected.
void diffs_gone(struct control *k, const struct client *c);
// Waits for the thread, without an answer.
void diffs_close(struct control *k);
