// SPDX-License-Identifier: BSD-3-Clause
// Fixture of stream threads: workers' rings, a certificate, a port.
#pragma once

#include <netinet/in.h>
#include <stdbool.h>

#include "test.h"
#include "thread.h"

#define STREAM_WORLD_ROOM 1400 // bytes for a message
#define STREAM_WORLD_WORKERS 2
#define STREAM_WORLD_THREADS 2
#define STREAM_WORLD_DEADLINE_S 60 // for the whole process

// A stream thread's message for a worker: data of a client, or news of its end.
struct stream_world_message {
	struct stream_world_message *next;
	unsigned int thread, worker;
	bool ended; // news of the end
	bool media; // to the client: may be dropped for newer media
	uint16_t len, port; // port of the client
	uint64_t conn;
	uint8_t data[];
};

extern SSL_CTX *stream_world_tls; // for clients

// Group set-up: makes a certificate and its key in files, and a context for clients, and sets the
// deadline. Returns 0 or -1.
int stream_world_open(void **state);
// Group teardown: removes them. Returns 0 or -1.
int stream_world_close(void **state);
// Starts threads with a listener for plain clients and TLS, on the loopback interface. Sets its
// address and mode, and threads, workers, room and identities; c gives the other settings.
// c.listeners is NULL, or one listener with further settings. Sets *addr to its address.
struct streams *stream_world_start(struct stream_config c, struct sockaddr_in *addr);
// The oldest message for any worker, which the caller answers or frees, or NULL if there is no
// message.
struct stream_world_message *stream_world_take(void);
// From here on messages for this worker stay on the ring, until stream_world_drain.
void stream_world_leave(int worker);
// Sends the message back to its client, padded.
void stream_world_answer(struct streams *s, struct stream_world_message *p);
// While it is set, threads see no messages of workers; those that wait then arrive together.
void stream_world_hold(bool yes);
// While it is set, no client is served.
void stream_world_deny(bool yes);
// How often threads ended the doze of a worker for which they had no message.
unsigned int stream_world_roused(unsigned int worker);
// Frees the messages in transit. The threads must have ended.
void stream_world_drain(void);
// Number of file descriptors that the process has open.
unsigned int stream_world_open_files(void);
