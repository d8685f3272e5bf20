// SPDX-License-Identifier: BSD-3-Clause
// Clients of libssl with a DTLS session each, an allocation and a channel, in a world of one worker
// (dp_world.h). The world's thread is played here until they are open.
#pragma once

#include "dp_world.h"
#include "dtls_world.h"

#define CLIENTS_MAX 60
#define CLIENT_PORT 20000 // of the first
#define PEER_PORT 30000 // likewise
#define CLIENT_CHANNEL 0x4000

extern struct world world;
extern struct worker *worker;
extern unsigned int clients;
extern struct world_client client[CLIENTS_MAX];
extern struct dtls_client end[CLIENTS_MAX];
extern struct endpoint peer[CLIENTS_MAX];
extern struct dtls_session *session[CLIENTS_MAX]; // the worker's

void clients_open(unsigned int n);
// Asserts that every packet buffer has come back.
void clients_close(void);
