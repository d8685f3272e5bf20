// SPDX-License-Identifier: BSD-3-Clause
// What stream threads need around them: workers' rings, a certificate, a port.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <netinet/in.h>

#include "thread.h"

#define WORLD_ROOM 1400
#define WORLD_WORKERS 2
#define WORLD_THREADS 2

struct mbuf_meta {
	struct mbuf_meta *next;
	unsigned int thread, worker;
	bool ended; // news of that
	uint16_t len, port; // of the client
	uint64_t conn;
	uint8_t data[];
};

// Makes a certificate and its key in files. 0, or -1.
int world_open(void);
int world_close(void);
// Threads with a listener for plain clients and TLS; of c what is not 0 here is asked for. Fills in
// where it listens.
struct streams *world_start(struct stream_config c, struct sockaddr_in *at);
// The oldest message for any worker, to be answered or freed; NULL: none.
struct mbuf_meta *world_take(void);
// Sends it back to its client, padded.
void world_answer(struct streams *s, struct mbuf_meta *p);
// Frees what is on the way; the threads have ended.
void world_drain(void);
unsigned int world_open_files(void);
