// SPDX-License-Identifier: BSD-3-Clause
// Whose turn it is to be read. Connections with something to be read wait in a list of their
// worker, first come, first served, and each has so many messages in a turn. So a client waits for
// one turn of each other connection, however much the others send. All functions run on the
// connections' thread. Private to lib/stream.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stream.h"

#define TURNS_MESSAGES 32 // messages, or reads without one, of a turn
#define TURNS_ASKS 8 // requests among them

struct conn;
struct thread;

enum turns_list {
	TURNS_NONE,
	TURNS_READ, // of those with something to be read
	TURNS_ASK, // of those whose next message is a request that the worker has no room for
	TURNS_LISTS
};

struct turns {
	struct turns_ends {
		uint32_t first, last;
	} list[STREAM_WORKERS_MAX][TURNS_LISTS];
	uint64_t busy; // a bit for each worker with a list that is not empty
	unsigned int next; // the worker to begin with
};

void turns_init(struct turns *q);
// Puts a connection at the end of a list of its worker, unless it is in one.
void turns_add(struct thread *t, struct conn *c, enum turns_list list);
// Takes a connection out of the list that it is in, if it is in one.
void turns_remove(struct thread *t, struct conn *c);
// Gives turns, one of each worker's lists after the other, for a time that delays nobody else for
// long. What is left waits for the next round: t->hungry. Where a worker has no room, the first of
// its list keeps his place, and what is left of his turn: t->stalled.
void turns_run(struct thread *t);
