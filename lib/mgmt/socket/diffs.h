// SPDX-License-Identifier: BSD-3-Clause
// What a reload would change: the file is loaded by a thread of its own, as that may take seconds,
// and nobody else is to wait for it. One at a time. Private to lib/mgmt. The control thread only.
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
	bool runs; // the thread has been started, and not been joined
	bool done; // written by the thread, which no longer uses what follows then
	pthread_t thread;
	struct mgmt_reload *reload;
	json_t *rows;
	int changes; // -1: the file is refused, for that error
	char error[512];
	struct client *client; // NULL: has gone
	json_t *out;
};

enum command_end diffs_begin(struct command *c);
// Answers when it is there. Returns in how many microseconds to call again; -1: there is none.
int64_t diffs_step(struct control *k);
// Forgets a client that has gone.
void diffs_gone(struct control *k, const struct client *c);
// Waits for the thread; nobody is answered.
void diffs_close(struct control *k);
