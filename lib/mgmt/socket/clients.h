// SPDX-License-Identifier: BSD-3-Clause
// The clients of the control socket: accepts, reads lines and writes answers, all within limits.
// Private to lib/mgmt. The control thread only.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "socket/lines.h"
#include "socket/roles.h"

#define CLIENTS_ANSWER_MAX (1024 * 1024) // bytes of an answer
#define CLIENTS_READ_MS 10000 // a client that reads nothing of its answer for this time is closed
#define CLIENTS_FOR_ROOT 4 // connections of root beyond the limit
// A client without a request for this time may be closed for a new one.
#define CLIENTS_IDLE_MS 60000
// A client is closed after this number of lines in a row that are not requests.
#define CLIENTS_BAD 5

struct client {
	struct client *next;
	int fd;
	uid_t uid;
	pid_t pid;
	enum role role; // not ROLE_NONE
	struct lines in;
	char *out; // the answer that is being sent
	size_t out_len, out_sent;
	uint64_t moved_ms; // when the client last read some of it
	uint64_t asked_ms; // when a request last arrived, or an answer was sent
	unsigned int bad; // number of lines in a row that were not requests
	bool waits; // its request is being answered: nothing is read meanwhile
	bool serves; // its lines are being served
	bool ends; // close it after its answer
	bool dead; // will be freed
};

struct clients {
	int listener, epoll;
	int spare; // spare descriptor, closed to accept and refuse a client when none is free; -1:
		// not open
	uint64_t deaf_ms; // when accepting paused for want of descriptors; 0 = not paused
	unsigned int max, nb;
	struct roles roles;
	bool more; // some client has lines that were not served yet
	struct client *first;
	// A line of a client. The answer follows by clients_answer, now or later.
	void (*line)(void *ctx, struct client *c, char *line, size_t len);
	void (*gone)(void *ctx, struct client *c); // the client is closed
	void *ctx;
	// Numbers of clients that exceeded the limit, did not read, sent no JSON, or were closed to
	// make room for others.
	uint64_t refused, unread, broken, idle;
	uint64_t denied; // number of clients without a role, and of orders of readers
	uint64_t told_ms; // when these were logged last
	uint64_t told; // their sum then
};

// listener: a listening socket, which the caller keeps. Readers share half of the max connections.
// 0 or -errno.
int clients_open(struct clients *cs, int listener, unsigned int max, const struct roles *roles);
void clients_close(struct clients *cs);
// Serves clients that are ready, and waits for them up to wait_ms (-1: without limit). stop_fd: a
// descriptor of the caller in cs->epoll; true if it is ready.
bool clients_serve(struct clients *cs, int wait_ms, int stop_fd);
// Sends the answer, a line of len bytes, and takes ownership of text (malloc). Reading from the
// client resumes afterwards.
void clients_answer(struct clients *cs, struct client *c, char *text, size_t len);
