// SPDX-License-Identifier: BSD-3-Clause
// Fair reading. Connections with bytes to read wait in a list of their worker, first come, first
// served, and each may have up to TURNS_MESSAGES messages in a turn. So a client waits for at most
// one turn of each other connection, however much the others send. All functions run on the
// connections' thread. Private to lib/stream.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ilist.h"
#include "stream.h"

#define TURNS_MESSAGES 32 // messages, or reads without a message, per turn
#define TURNS_ASKS 8 // requests among them

struct conn;
struct thread;

enum turns_list {
	TURNS_NONE,
	TURNS_READ, // connections with bytes to read
	TURNS_ASK, // connections whose next message is a request that the worker has no room for
	TURNS_LISTS
};

struct turns {
	struct ilist list[STREAM_WORKERS_MAX][TURNS_LISTS];
	uint64_t busy; // a bit for each worker with a non-empty list
	unsigned int next; // the worker to start with
};

void turns_init(struct turns *q);
// Appends a connection to a list of its worker, unless it is in a list already.
void turns_add(struct thread *t, struct conn *c, enum turns_list list);
// Removes a connection from its list, if it is in one.
void turns_remove(struct thread *t, struct conn *c);
// Gives turns, one from each worker's lists in rotation, for a short bounded time. If connections
// are left for the next round, it sets t->hungry. If a worker has no room, the first connection of
// its list keeps its place and the rest of its turn, and t->stalled is set.
void turns_run(struct thread *t);
