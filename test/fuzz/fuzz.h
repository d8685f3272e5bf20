// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of the fuzzer of whole workers (fuzz_worker.c). There is one world at a time,
// in a random configuration, with clients that live in it and frames that are mostly well-formed.
#pragma once

#include "bytes.h"
#include "datapath.h"
#include "dp_world.h"
#include "exception/exception.h"
#include "feature_names.h"

#include <netinet/in.h>

#define FUZZ_FRAME 9600
#define FUZZ_CLIENTS 28
#define FUZZ_PEERS 4 // of each client
#define FUZZ_RECENT 32
#define FUZZ_TOKENS 4
#define FUZZ_KERNEL CONF_PORTS_MAX // as a port number: the kernel at port 0

// These bytes are in the buffer after the end of every frame. Nothing may ever send them.
#define FUZZ_CANARY 0x5c
#define FUZZ_CANARY_RUN 6

struct dtls_client;

enum fuzz_via { VIA_UDP, VIA_STREAM, VIA_DTLS };

// A client. The answers that it gets decide its next actions.
struct fuzz_client {
	struct world_client c;
	struct stun_key eve;
	enum fuzz_via via;
	enum stun_algorithm alg;
	const char *realm; // of its credentials
	uint8_t listener;
	bool allocated, handshake_done;
	bool by_token; // uses access tokens, with c.key as MAC key
	struct endpoint second; // of a dual allocation, besides c.relay; port 0 = none
	unsigned int shown; // ticket of its last Refresh; FUZZ_TOKENS = none
	struct endpoint peer[FUZZ_PEERS]; // channel 0x4000 + i belongs to peer i
	struct dtls_client *end; // VIA_DTLS
};

// A frame that was put into the world, stored to be printed after a failure.
struct fuzz_frame {
	const char *kind;
	uint64_t number, ms;
	uint8_t port;
	bool mutated;
	uint16_t len;
	uint8_t data[FUZZ_FRAME];
};

#define FUZZ_REALM "b.test"
#define FUZZ_ORIGIN "https://app.b.test"
#define FUZZ_KID "north"

// Counts of everything that the run has reached, summed over all configurations.
struct fuzz_seen {
	struct dp_stats stats;
	uint64_t to_classes[EXC_CLASSES], from_classes[EXC_CLASSES], to_supers, from_supers,
		from_answered;
	uint64_t answer[700]; // by error code; [0]: success
	uint64_t channel_data, data_indications, icmp_told, rfc3489; // to clients
	uint64_t to_peers, to_kernel, from_ports, nic_full;
	uint64_t via[3]; // messages to clients, by enum fuzz_via
	uint64_t echoes, neighbours, fragments, reloads;
	uint64_t orders[8]; // to stream threads, by enum stream_order_kind
	uint64_t relayed; // times that bytes of a TCP allocation were
	uint64_t tickets, shown; // given to Allocates, and to Refreshes with a ticket
	uint64_t duals; // dual allocations made, or answered again
};

struct fuzz {
	struct test_rand rand;
	struct dp_world world;
	struct world_setup setup;
	struct conf_exception exception;
	uint32_t mbufs;
	unsigned int mutate; // percent of frames to mutate
	unsigned int same_queue; // queue, plus 1, on which all frames arrive; 0 = any
	struct fuzz_client client[FUZZ_CLIENTS];
	unsigned int nb_clients;
	uint16_t next_port;
	uint8_t token[FUZZ_TOKENS][8]; // reservation tokens of any client
	struct fuzz_ticket {
		uint8_t text[32];
		struct endpoint relay, second;
	} ticket[FUZZ_TOKENS]; // tickets of allocations of any client
	uint64_t ns, nb_frames, nb_before, configuration; // nb_before: in earlier configurations
	bool is_open;
	bool rerouted; // routes have changed
	struct turn_user users[2]; // ivan, and eve, who has no right to ivan's allocations
	struct turn_user others[1]; // another ivan, in the realm below
	struct turn_realm realms[1]; // in some configurations
	struct fuzz_frame recent[FUZZ_RECENT]; // the last frames of this configuration
	struct fuzz_seen seen;
};

extern struct fuzz fuzz;

// Returns a random number below bound.
static inline uint32_t below(uint32_t bound)
{
	return test_rand_below(&fuzz.rand, bound);
}

// Returns true with a probability of `percent`.
static inline bool chance(unsigned int percent)
{
	return below(100) < percent;
}

// True if clients may have TCP allocations.
static inline bool fuzz_has_tcp(void)
{
#ifdef FEATURE_TCP
	return fuzz.world.conf.turn.tcp.enabled;
#else
	return false;
#endif
}

// True if clients may move.
#ifdef FEATURE_MOBILITY
#define FUZZ_MOBILITY true
static inline bool fuzz_may_move(void)
{
	return fuzz.world.conf.turn.mobility.enabled;
}
#else
#define FUZZ_MOBILITY false
static inline bool fuzz_may_move(void)
{
	return false;
}
#endif

static inline struct exception *fuzz_exception(void)
{
	return fuzz.world.dp->exception[0];
}

static inline struct port *fuzz_port(unsigned int port)
{
	return fuzz.world.dp->port[port].port;
}

// --- clock.c: the fuzzer's time and random numbers -----------------------------------------------

// Replaces the clocks and the random numbers of the libraries.
void fuzz_clock_start(void);
// Seeds all random numbers that do not come from fuzz.rand.
void fuzz_clock_seed(uint64_t seed);
// Returns the real seconds since the program began.
double fuzz_clock_real(void);

// --- setup.c: configurations ---------------------------------------------------------------------

// Opens a world in a configuration that fuzz.rand chooses.
void fuzz_open(void);
// Checks the shards of the world.
void fuzz_check(void);
// Closes the world, asserts that no packet buffer is missing, and adds up the counts.
void fuzz_close(void);
// Prints the configuration.
void fuzz_describe(void);

// --- world.c: input and output -------------------------------------------------------------------

#define FUZZ_MUTATED 1 // the frame is not as its host made it
#define FUZZ_GOOD 2 // the port reports its checksums as right

// Puts a frame on a receive queue of a port, or has the kernel send it.
void fuzz_put(
	const char *kind, unsigned int port, const uint8_t *frame, size_t len, unsigned int marks);
// Like fuzz_put for a frame in several buffers, which then belongs to the port.
void fuzz_put_mbuf(const char *kind, struct port *port, struct rte_mbuf *m);
// Returns a buffer of a pool that holds the bytes with canaries around them; NULL = pool empty.
struct rte_mbuf *fuzz_mbuf(struct rte_mempool *pool, const uint8_t *data, size_t len);
// Stores a copy of a frame in fuzz.recent.
void fuzz_remember(const char *kind, unsigned int port, const uint8_t *frame, size_t len, bool mut);
const struct fuzz_frame *fuzz_recent(void); // a random one of them; NULL if there is no frame yet
// Runs all workers, the threads and the kernel once, and judges their output.
void fuzz_round(void);
// Judges the next frame that left a port; it is world_setup.receive.
bool fuzz_receive(struct dp_world *w, unsigned int port);

// --- captures.c: captures ------------------------------------------------------------------------

// Begins a capture in some configurations. It ends with the world.
void fuzz_captures_open(void);
// Reads captured frames, and changes the captured clients as allocations come and go.
// Users who are looked up: some worlds have them. 1 if this one does.
void fuzz_lookups_pick(struct dp_world *w);
uint32_t fuzz_lookups_on(void);
void fuzz_lookups_round(void);
void fuzz_captures_round(void);

// --- reloads.c: the configuration changes --------------------------------------------------------

// Changes it, in some configurations, while the world runs.
void fuzz_reloads_open(void);
void fuzz_reloads_round(void);

// --- alone.c: parsers in blocks of the exact length ----------------------------------------------

// The pure parsers read the frame or message in a block of exactly its length.
void fuzz_frame_alone(const uint8_t *frame, size_t len, unsigned int port);
void fuzz_message_alone(const uint8_t *data, size_t len);

// --- proxies.c: headers of balancers -------------------------------------------------------------

// Reads headers of the PROXY protocol, good and mutated, piece by piece.
void fuzz_proxies(void);

// --- frames.c: frames of hosts that are not clients ----------------------------------------------

struct fuzz_path {
	struct endpoint src, dst;
};

// Writes a whole UDP datagram: from a host to a port or, with FUZZ_KERNEL, from our kernel to a
// host. Returns the frame's length.
size_t fuzz_udp(uint8_t *frame, unsigned int port, const struct fuzz_path *path, const void *data,
	size_t len);
// Return one of our addresses, mostly of that port, and an address of a host.
struct addr fuzz_own(unsigned int port);
struct addr fuzz_host(bool is_v4);
// Return one of our ports that may be in use, and a port of a host.
uint16_t fuzz_our_port(void);
uint16_t fuzz_their_port(void);
// Sends a frame of any kind into the world, through a port or from the kernel.
void fuzz_any_frame(void);
// Sends a frame as it is or mutated, sometimes more than once.
void fuzz_send(const char *kind, unsigned int port, uint8_t *frame, size_t len);

// --- pieces.c: fragments that belong together ----------------------------------------------------

// Sends a UDP frame in fragments. False if it is not a UDP frame.
bool fuzz_in_pieces(const char *kind, unsigned int port, const uint8_t *frame, size_t len);

// --- supers.c: frames in several buffers ---------------------------------------------------------

// Sends a UDP or TCP super-frame, or a chain that only looks like one.
void fuzz_any_super(void);

// --- mutate.c ------------------------------------------------------------------------------------

// Mutates a frame in place. Returns its new length.
size_t fuzz_mutate(uint8_t *frame, size_t len, unsigned int port);
// Mutates a message without headers, like fuzz_mutate.
size_t fuzz_mutate_message(uint8_t *m, size_t len, size_t cap);
// Corrects the checksums of a frame as far as it has any; with lengths, corrects its lengths first.
void fuzz_repair(uint8_t *frame, size_t len, bool lengths);
// Returns a number at the edge of some range.
uint16_t fuzz_edge(void);

// --- clients.c -----------------------------------------------------------------------------------

void fuzz_clients_open(void);
void fuzz_clients_close(void);
// A client, or one of its peers, does something.
void fuzz_client_acts(void);
void fuzz_peer_acts(void);
// A relayed transport address that a client has or had: one of the two of a dual allocation.
const struct endpoint *fuzz_relay_of(const struct fuzz_client *c);
struct endpoint fuzz_peer(void);
// Processes and judges a datagram that a host has received.
void fuzz_datagram(
	const struct endpoint *src, const struct endpoint *dst, const uint8_t *data, size_t len);
// Processes and judges a message that a client has received, after decryption.
void fuzz_message(struct fuzz_client *c, const uint8_t *data, size_t len);
struct fuzz_client *fuzz_client_at(const struct endpoint *endpoint);
// Gives a client another 5-tuple; it forgets everything.
void fuzz_client_renew(struct fuzz_client *c);

// --- message.c: messages of clients --------------------------------------------------------------

// Writes a message of the client, mostly a well-formed one. Returns the length.
size_t fuzz_client_message(struct fuzz_client *c, uint8_t *buf, size_t cap);

// --- threads.c: the stream thread, for DTLS and for connections ----------------------------------

void fuzz_threads_open(void);
void fuzz_threads_close(void); // before the world closes
void fuzz_threads_round(void);

// --- orders.c: the thread's part of TCP allocations ----------------------------------------------

void fuzz_orders_open(void);
// Takes a message of a worker, if it is an order.
bool fuzz_orders_take(const struct stream_message *m);
// Peers connect, and bytes are relayed.
void fuzz_orders_act(void);
void fuzz_dtls_renew(struct fuzz_client *c);
// Begins another DTLS session on the same 5-tuple, even if the old one was not closed.
void fuzz_dtls_again(struct fuzz_client *c);
void fuzz_dtls_free(struct fuzz_client *c);
// Continues the client's handshake, reads, and sends waiting messages.
void fuzz_dtls_acts(struct fuzz_client *c);
void fuzz_dtls_write(struct fuzz_client *c, const uint8_t *data, size_t len);
void fuzz_stream_send(struct fuzz_client *c, uint8_t *data, size_t len);
void fuzz_stream_end(struct fuzz_client *c);
