// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of the fuzzer of whole workers (fuzz_worker.c): one world at a time, in a
// random configuration, with clients that live in it, and frames that are mostly as they should be.
#pragma once

#include "bytes.h"
#include "datapath.h"
#include "dp_world.h"
#include "exception/exception.h"

#include <netinet/in.h>

#define FUZZ_FRAME 9600
#define FUZZ_CLIENTS 28
#define FUZZ_PEERS 4 // of a client
#define FUZZ_RECENT 32
#define FUZZ_TOKENS 4
#define FUZZ_KERNEL CONF_PORTS_MAX // in the place of a port: of the kernel behind port 0

// What behind the end of every frame is in its buffer: nothing may ever send it.
#define FUZZ_CANARY 0x5c
#define FUZZ_CANARY_RUN 6

struct dtls_client;

enum fuzz_via { VIA_UDP, VIA_STREAM, VIA_DTLS };

// How it goes on is up to the answers that it gets.
struct fuzz_client {
	struct world_client c;
	struct stun_key eve;
	enum fuzz_via via;
	enum stun_algorithm alg;
	uint8_t listener;
	bool allocated, shaken;
	struct endpoint peer[FUZZ_PEERS]; // channel 0x4000 + i is peer i's
	struct dtls_client *end; // VIA_DTLS
};

// One that has been put into the world, for who wants to see what it was that failed.
struct fuzz_frame {
	const char *kind;
	uint64_t number, ms;
	uint8_t port;
	bool mutated;
	uint16_t len;
	uint8_t data[FUZZ_FRAME];
};

// What has been reached, of all configurations.
struct fuzz_seen {
	struct dp_stats stats;
	uint64_t to[EXC_CLASSES], from[EXC_CLASSES], to_supers, from_supers, from_answered;
	uint64_t answer[700]; // by error code; 0: success
	uint64_t channel_data, data_indications; // to clients
	uint64_t to_peers, to_kernel, from_ports, nic_full;
	uint64_t via[3]; // messages to clients
	uint64_t echoes, neighbours;
};

struct fuzz {
	struct test_rand rand;
	struct dp_world world;
	struct world_setup setup;
	struct conf_exception exception;
	uint32_t mbufs;
	unsigned int mutate; // percent of frames
	struct fuzz_client client[FUZZ_CLIENTS];
	unsigned int nb_clients;
	uint16_t next_port;
	uint8_t token[FUZZ_TOKENS][8]; // of reservations, anybody's
	uint64_t ns, nb_frames, nb_before, configuration; // before: in earlier configurations
	bool is_open;
	struct turn_user users[2]; // ivan, and eve, who has nothing to say about his allocations
	struct fuzz_frame recent[FUZZ_RECENT]; // of this configuration
	struct fuzz_seen seen;
};

extern struct fuzz fuzz;

static inline uint32_t below(uint32_t bound)
{
	return test_rand_below(&fuzz.rand, bound);
}

static inline bool chance(unsigned int percent)
{
	return below(100) < percent;
}

static inline struct exception *fuzz_exception(void)
{
	return fuzz.world.dp->exception[0];
}

static inline struct port *fuzz_port(unsigned int port)
{
	return fuzz.world.dp->port[port].port;
}

// --- clock.c: time, and what is random, are the fuzzer's -------------------------------------

void fuzz_clock_start(void);
// Everything random that is not of fuzz.rand begins anew.
void fuzz_clock_seed(uint64_t seed);
// Seconds since the program began.
double fuzz_clock_real(void);

// --- setup.c: configurations ---------------------------------------------------------------------

// fuzz.rand decides what it is like.
void fuzz_open(void);
// Asserts that no packet buffer is missing, and adds up what has been reached.
void fuzz_close(void);
void fuzz_describe(void);

// --- world.c: in and out -------------------------------------------------------------------------

// Puts a frame on a receive queue of a port, or lets the kernel send it. good: the port says of its
// checksums that they are right.
void fuzz_put(const char *kind, unsigned int port, const uint8_t *frame, size_t len, bool mutated,
	bool good);
// Likewise one of several buffers, which is the port's from then on.
void fuzz_put_mbuf(const char *kind, struct port *to, struct rte_mbuf *m);
// Of the pool of a port: the bytes, and canaries around them. NULL: it is empty.
struct rte_mbuf *fuzz_mbuf(struct rte_mempool *pool, const uint8_t *data, size_t len);
void fuzz_remember(const char *kind, unsigned int port, const uint8_t *frame, size_t len, bool mut);
const struct fuzz_frame *fuzz_recent(void); // any; NULL: there is none yet
// All workers, the threads and the kernel once; what comes out is looked at.
void fuzz_round(void);
// world_setup.receive
bool fuzz_receive(struct dp_world *w, unsigned int port);

// --- alone.c: parsers in blocks of just the length ----------------------------------------------

void fuzz_frame_alone(const uint8_t *frame, size_t len, unsigned int port);
void fuzz_message_alone(const uint8_t *data, size_t len);

// --- frames.c: frames of hosts that are no clients -----------------------------------------------

// A whole UDP datagram of a host to the port, or (FUZZ_KERNEL) of ours to a host. Returns the
// frame's length.
size_t fuzz_udp(uint8_t *frame, unsigned int port, const struct endpoint *src,
	const struct endpoint *dst, const void *data, size_t len);
// An address of ours, mostly of that port; one of a host.
struct addr fuzz_own(unsigned int port);
struct addr fuzz_host(bool is_v4);
// A port of ours on which there may be something; one of others.
uint16_t fuzz_our_port(void);
uint16_t fuzz_their_port(void);
// One of any kind into the world, by its ports or from the kernel.
void fuzz_any_frame(void);
// As it is, or mutated; now and then more than once.
void fuzz_send(const char *kind, unsigned int port, uint8_t *frame, size_t len);

// --- supers.c: frames in several buffers ---------------------------------------------------------

// A super-frame of UDP or TCP, or what only looks like one.
void fuzz_any_super(void);

// --- mutate.c ------------------------------------------------------------------------------------

size_t fuzz_mutate(uint8_t *frame, size_t len, unsigned int port);
// Of a message without headers.
size_t fuzz_mutate_message(uint8_t *m, size_t len, size_t cap);
// Makes the checksums of a frame right, as far as there are any, and before that its lengths.
void fuzz_repair(uint8_t *frame, size_t len, bool lengths);
uint16_t fuzz_edge(void);

// --- clients.c -----------------------------------------------------------------------------------

void fuzz_clients_open(void);
void fuzz_clients_close(void);
// One of them does something, or one of its peers.
void fuzz_client_acts(void);
void fuzz_peer_acts(void);
struct endpoint fuzz_peer(void);
// What a host has received.
void fuzz_datagram(
	const struct endpoint *src, const struct endpoint *dst, const uint8_t *data, size_t len);
// What a client has received, once it is decrypted.
void fuzz_message(struct fuzz_client *c, const uint8_t *data, size_t len);
struct fuzz_client *fuzz_client_at(const struct endpoint *at);
// Another 5-tuple, nothing known.
void fuzz_client_renew(struct fuzz_client *c);

// --- message.c: what clients say -----------------------------------------------------------------

// A message of its, mostly as it should be. Returns the length.
size_t fuzz_client_message(struct fuzz_client *c, uint8_t *buf, size_t cap);

// --- threads.c: the stream thread, for DTLS and for connections ----------------------------------

void fuzz_threads_open(void);
void fuzz_threads_stop(void); // before the world closes
void fuzz_threads_close(void);
void fuzz_threads_round(void);
void fuzz_dtls_renew(struct fuzz_client *c);
// Another session of the same 5-tuple, when the old one has been closed, or not.
void fuzz_dtls_again(struct fuzz_client *c);
void fuzz_dtls_free(struct fuzz_client *c);
// Goes on with its handshake, reads, and sends what there is to send.
void fuzz_dtls_acts(struct fuzz_client *c);
void fuzz_dtls_write(struct fuzz_client *c, const uint8_t *data, size_t len);
void fuzz_stream_send(struct fuzz_client *c, uint8_t *data, size_t len);
void fuzz_stream_end(struct fuzz_client *c);
