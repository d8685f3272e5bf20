// SPDX-License-Identifier: BSD-3-Clause
// What stream threads need around them: workers' rings, a certificate, a port.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <netinet/in.h>

#include "thread.h"

#define STREAM_WORLD_ROOM 1400 // bytes of a message
#define STREAM_WORLD_WORKERS 2
#define STREAM_WORLD_THREADS 2
#define STREAM_WORLD_DEADLINE_S 60 // of the whole process

// What a stream thread gives a worker: a message of a client, or news of its end.
struct stream_world_message {
	struct stream_world_message *next;
	unsigned int thread, worker;
	bool ended; // news of that
	bool media; // back to the client: may be dropped for newer ones
	uint16_t len, port; // of the client
	uint64_t conn;
	uint8_t data[];
};

extern SSL_CTX *stream_world_tls; // for clients

// Set-up of a group: makes a certificate and its key in files, and a context for clients, and sets
// the deadline. Returns 0 or -1.
int stream_world_open(void **state);
// Removes them: teardown of the group. Returns 0 or -1.
int stream_world_close(void **state);
// Threads with a listener for plain clients and TLS; of c what is not 0 here is asked for. Of its
// listeners, NULL or one, the balancers are. Fills in where it listens.
struct streams *stream_world_start(struct stream_config c, struct sockaddr_in *addr);
// The oldest message for any worker, to be answered or freed; NULL: none.
struct stream_world_message *stream_world_take(void);
// From here on messages for a worker stay where they are, until stream_world_drain.
void stream_world_leave(int worker);
// Sends it back to its client, padded.
void stream_world_answer(struct streams *s, struct stream_world_message *p);
// While it is set, threads find nothing of the workers'; what is left for them then comes together.
void stream_world_hold(bool yes);
// How often a thread has ended the doze of a worker that it had nothing for.
unsigned int stream_world_roused(unsigned int worker);
// Frees what is on the way; the threads have ended.
void stream_world_drain(void);
// File descriptors that the process has open.
unsigned int stream_world_open_files(void);
