// SPDX-License-Identifier: BSD-3-Clause
// DTLS clients of libssl against a whole data path (dp_world.h). The tests call the stream thread's
// code themselves. One world at a time.
#pragma once

#include "dp_world.h"
#include "dtls_thread.h"
#include "dtls_world.h"

#define CLIENTS_MAX 60
#define CLIENT_PORT 20000 // of the first client
#define CLIENT_CHANNEL 0x4000
#define PEER_PORT 30000 // of the first client's peer

extern struct dp_world world;
extern bool thread_asleep;
extern bool wire_harmed; // datagrams may come from anywhere
extern unsigned int nb_clients;
extern struct world_client client[CLIENTS_MAX];
extern struct dtls_client end[CLIENTS_MAX];
// Passes on a datagram of client i: client_sends, unless a test sets another function.
extern void (*on_the_wire)(unsigned int i, const struct datagram *d);

void clients_world_open(const struct world_setup *s);
// Asserts that all packet buffers are back in the pool.
void clients_world_close(void);
// Adds a client at `host` that uses one of world.listeners.
void client_place(const char *host, unsigned int listener);
void client_sends(unsigned int i, const struct datagram *d);

// One round of clients, workers and thread.
void step(void);
void settle(unsigned int rounds);
uint64_t sum_open(void); // open sessions of all workers
uint64_t sum_half_open(void);

void handshake_all(void);
// Sends the request in client i's writer and reads the answer. Returns 0 or the error code.
unsigned int exchange(unsigned int i);
void sign(unsigned int i);
unsigned int ask(unsigned int i); // like exchange, but signed
void begin_allocate(unsigned int i);
struct endpoint peer_of(unsigned int i);
void get_nonce(unsigned int i);
unsigned int bind_channel(unsigned int i);
// Completes an allocation that begin_allocate started; the client has a nonce.
void finish_allocate(unsigned int i);
// Allocates, and binds a channel to the client's peer.
void allocate(unsigned int i);
// Allocates for client i with EVEN-PORT and for i + 1 with its token, so both are on one worker;
// without that feature for both.
void allocate_next(unsigned int i);
