// SPDX-License-Identifier: BSD-3-Clause
// Answers that take many questions to workers: a few questions at a time, and everybody's in turn,
// so that neither workers nor other clients wait for one. Private to lib/mgmt. The control thread
// only.
#pragma once

#include <jansson.h>

#include "dp.h"
#include "socket/ranking.h"

#define SCANS_HEAVY 2 // at a time, of those that keep something of every allocation
#define SCANS_ERROR 128

struct client;
struct command;
struct control;
struct scan;

struct scan_kind {
	bool heavy;
	bool orders; // goes on when its client has gone
	// Takes an answer of the worker s->worker. False: it fails, by s->error.
	bool (*take)(struct scan *s, const struct dp_answer *a);
	// All workers from s->first to s->last have been asked, or s->enough. True: s->out is the
	// answer, or s->error is. False: go on; question and workers say how.
	bool (*end)(struct scan *s);
	// It is complete, or has failed by s->error, and its client is answered next. May be NULL.
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
	struct client *client; // NULL: has gone
	json_t *out;
	char error[SCANS_ERROR];
	// The questions: to workers first to last, one after the other.
	struct dp_question question;
	unsigned int first, last, worker;
	bool begun, asked, enough;
	uint64_t since_ms; // when the worker was to be asked; 0 = nothing is waited for
	uint64_t rest_until_ms;
	// For the kinds.
	unsigned int page, rows, got, phase, sort;
	bool by_user; // sums, not allocations
	bool again; // the row is to be fetched by another id
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
	unsigned int heavy; // that have begun
};

// A scan of a kind that answers c, which gives it its out; workers: one, or -1 for all. NULL
// without memory.
struct scan *scans_new(struct command *c, const struct scan_kind *kind, int worker);
// Begins it, or, when there are heavy ones enough, later.
void scans_begin(struct scan *s);
// Goes on with all. Returns in how many microseconds to call again; -1: there is none.
int64_t scans_step(struct control *k);
// Forgets a client that has gone.
void scans_gone(struct control *k, const struct client *c);
// Gives all up: nobody is answered.
void scans_close(struct control *k);
