// SPDX-License-Identifier: BSD-3-Clause
// Answers that need many questions to workers. Each scan asks a few at a time, and scans take
// turns, so that neither workers nor other clients wait for one scan. Private to lib/mgmt. The
// control thread only.
#pragma once

#include <jansson.h>

#include "dp.h"
#include "answers/ranking.h"

#define SCANS_HEAVY 2 // limit of concurrent scans that keep data about every allocation
#define SCANS_ERROR 128

struct client;
struct command;
struct control;
struct scan;

struct scan_kind {
	bool heavy;
	bool orders; // continues when its client has disconnected
	// Handles an answer of the worker s->worker. False: the scan fails with s->error.
	bool (*take)(struct scan *s, const struct dp_answer *a);
	// All workers from s->first to s->last have been asked, or s->enough is set. True: s->out
	// or s->error is the answer. False: the scan continues with s->question.
	bool (*end)(struct scan *s);
	// The scan is complete, or has failed with s->error, and its client is answered next. May
	// be NULL.
	void (*done)(struct scan *s);
};

struct scan_sample {
	uint64_t id, value;
	uint32_t at_ms; // low half of the workers' clock
};

struct scan {
	struct scan *next;
	const struct scan_kind *kind;
	struct control *control;
	struct client *client; // NULL: disconnected
	json_t *out;
	char error[SCANS_ERROR];
	// The questions, to the workers first to last, one after the other.
	struct dp_question question;
	unsigned int first, last, worker;
	bool begun, asked, enough;
	uint64_t since_ms; // when the worker was first asked; 0 = not waiting
	uint64_t rest_until_ms;
	// Used by the kinds of scans.
	unsigned int page, rows, got, phase, sort;
	bool by_user; // sums by user, not allocations
	bool again; // fetch the row again with another id
	json_t *list; // rows, borrowed from out
	char *order; // an order, for the log
	struct ranking ranking;
	struct tally tally;
	struct scan_sample *sample;
	size_t nb_samples, room_samples, at_sample;
	uint64_t begun_ms;
};

struct scans {
	struct scan *first;
	unsigned int heavy; // number of started heavy scans
};

// Creates a scan that answers c, and takes its out. worker: one worker, or -1 for all. NULL without
// memory.
struct scan *scans_new(struct command *c, const struct scan_kind *kind, int worker);
// Starts it, or queues it while SCANS_HEAVY heavy ones run.
void scans_begin(struct scan *s);
// Advances all scans. Returns in how many microseconds to call it again; -1 without scans.
int64_t scans_step(struct control *k);
// Forgets a client that has disconnected.
void scans_gone(struct control *k, const struct client *c);
// Gives all scans up, without answers.
void scans_close(struct control *k);
