// SPDX-License-Identifier: BSD-3-Clause
// Who is connected to the control socket: accepting, reading lines, writing answers, all bounded.
// Private to lib/mgmt. The control thread only.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "socket/lines.h"

#define CLIENTS_ANSWER_MAX (1024 * 1024) // bytes of an answer
#define CLIENTS_READ_MS 10000 // who reads nothing of an answer for so long is closed
#define CLIENTS_FOR_ROOT 4 // connections of root beyond control.connections
#define CLIENTS_IDLE_MS 60000 // who has asked nothing for so long gives way where there is no room
#define CLIENTS_BAD 5 // lines in a row that are no requests, and then a client is closed

struct client {
	struct client *next;
	int fd;
	uid_t uid;
	pid_t pid;
	struct lines in;
	char *out; // an answer on its way
	size_t out_len, out_sent;
	uint64_t moved_ms; // when something of it was read last
	uint64_t asked_ms; // when something of it came last, or an answer had gone
	unsigned int bad; // lines in a row that were no requests
	bool waits; // its request is being answered: nothing more is read meanwhile
	bool serves; // its lines are being given out
	bool ends; // closed once its answer is out
	bool dead; // to be freed
};

struct clients {
	int listener, epoll;
	int spare; // descriptor to give up, to refuse who comes when there is none left; -1: gone
	uint64_t deaf_ms; // since when nobody is accepted, for want of descriptors; 0 = all are
	unsigned int max, nb;
	bool more; // lines of some client have not had their turn
	struct client *first;
	// One line of a client, to be answered by clients_answer, now or later.
	void (*line)(void *ctx, struct client *c, char *line, size_t len);
	void (*gone)(void *ctx, struct client *c); // the last that is heard of it
	void *ctx;
	// Clients so far: too many, did not read, no JSON, gave way to others.
	uint64_t refused, unread, broken, idle;
	uint64_t told_ms; // when the log was told of such clients last
	uint64_t told; // how many had come by then
};

// listener: listens; the caller's. 0 or -errno.
int clients_open(struct clients *cs, int listener, unsigned int max);
void clients_close(struct clients *cs);
// Serves what is ready, and waits for it up to wait_ms (-1: until there is something). other: a
// descriptor of the caller's in cs->epoll; true when that is ready.
bool clients_serve(struct clients *cs, int wait_ms, int stop_fd);
// Takes the answer, a line of len bytes that free() frees, and sends it. The client is read on
// afterwards.
void clients_answer(struct clients *cs, struct client *c, char *text, size_t len);
