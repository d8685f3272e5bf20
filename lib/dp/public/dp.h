// SPDX-License-Identifier: BSD-3-Clause
// The data path as the management side sees it: start, stop, read counters. Other public headers of
// lib/dp have names that begin with dp_. The functions are grouped by the file that defines them.
#pragma once

#include "conf.h"
#include "dp_counters.h"
#include "dp_drop.h"
#include "dp_progress.h"
#include "net.h"
#include "port.h"
#include "stream.h"
#include "turn_config.h"
#include "turn_listing.h"
#include "turn_shard.h"

struct capture_filter;
struct dp_state_watch;
struct dp; // the running data path
struct hot;
struct stun_crypto;

// --- dp.c ----------------------------------------------------------------------------------------

// Opens and starts the ports, makes shards and rings, launches the workers. conf->workers and
// conf->turn.workers are resolved; lcores[] holds one lcore id per worker. conf still belongs to
// the caller and must outlive the data path. learning is NULL if conf has all its addresses. On
// failure it undoes everything and returns NULL, with the reason in error.
struct dp_learning;
struct dp *dp_start(const struct conf *c, const unsigned int *lcores,
	const struct dp_learning *learning, char *error, size_t len);
// Stops the workers, frees every packet, closes the ports.
void dp_stop(struct dp *d);

unsigned int dp_workers(const struct dp *d);
// Number of workers that their ports can wake when there is nothing to do (workers/waiter.h).
unsigned int dp_waiters(const struct dp *d);
unsigned int dp_worker_lcore(const struct dp *d, unsigned int worker);
unsigned int dp_ports(const struct dp *d);
struct port *dp_port(const struct dp *d, unsigned int index);
// Profile of a port's driver, or NULL.
const struct conf_driver *dp_profile(const struct dp *d, unsigned int index);
// Call it about every 100 ms on the management lcore. It checks link states (worker 0 then sends
// gratuitous ARP and NA when a link comes up), and that steering works.
void dp_tick(struct dp *d);

// --- exception/learn.c ---------------------------------------------------------------------------

// For dp_start where the network assigns addresses. It calls all functions on the management lcore.
struct dp_learning {
	struct conf *conf; // the conf of dp_start: addresses are written into it (conf_resolve)
	struct conf_report *report; // for conf_resolve
	// reports, every few seconds, which addresses are missing
	void (*tell)(void *ctx, const char *line);
	bool (*stop)(void *ctx); // called often: true stops the waiting, and dp_start fails
	void *ctx;
	const struct dp_state_watch *state; // dp_state.h; NULL = no reports
};

#define DP_LEARNED_MAX (2 * CONF_PORTS_MAX)

// State of an address that the network has assigned, or that is on an interface which the kernel
// keeps.
struct dp_learned {
	const char *port, *interface; // names; from the configuration
	bool is_v4;
	bool taken; // taken from the interface; else the file names it, and a packet port has it
	// if the interface gets another address in its place, we use the new address (dp_moves)
	bool follows;
	bool lost; // the interface no longer has it: no new allocations get it
	struct addr addr; // in use
	struct addr gateway; // in use; :: = none, or it is in the file
	struct addr replacement; // the interface's new address in place of a lost one; :: = none
	struct addr router; // the interface's default router now; :: = none
};

// Writes at most DP_LEARNED_MAX addresses to out, those that the network has assigned first.
// Returns their number. Any thread.
unsigned int dp_learned(const struct dp *d, struct dp_learned *out);

struct conf_learned;

// Addresses and routers that packet ports have received in place of those in use, and that have
// settled (addr_settled.h). The caller adopts them by conf_move and dp_move_begin. Returns their
// number; 0 also for a short time after the last move. Management lcore, like dp_move_done.
unsigned int dp_moves(struct dp *d, struct conf_learned list[DP_LEARNED_MAX]);
// Reports the end of a move. well: the addresses are in use now (conf_moved_adopt); else dp_moves
// returns them again some time later.
void dp_move_done(struct dp *d, bool well);

// --- see/stats.c -----------------------------------------------------------------------------

// Burst sizes are counted in classes: 1, 2, 3-4, 5-8, 9-16, 17-32.
#define DP_BURST_CLASSES 6

// Times are counted in classes: up to 250 ns, 500 ns, 1 us ... 131 ms, and more.
#define DP_TIME_CLASSES 21

// Counters of a worker's DTLS sessions: X(field, meaning). The first two are gauges.
#define DP_DTLS_COUNTERS(X)                                                  \
	X(open, "sessions whose handshake is complete")                      \
	X(half_open, "handshakes in progress")                               \
	X(verify, "ClientHellos answered with a request for their cookie")   \
	X(gave_way, "oldest handshakes, dropped when all places were taken") \
	X(opened, "sessions opened")                                         \
	X(replaced, "closed: their client opened a new one")                 \
	X(closed, "closed by their client")                                  \
	X(failed, "closed: fatal alert, or record numbers used up")          \
	X(idle, "closed: idle, without an allocation")                       \
	X(rx, "messages from clients")                                       \
	X(tx, "messages to clients")                                         \
	X(again, "handshake datagrams sent again after its end")             \
	X(unsealed, "messages not sent because encryption failed")

struct dp_dtls {
#define X(field, text) uint64_t field;
	DP_DTLS_COUNTERS(X)
#undef X
};

// Counters of one worker, a consistent snapshot. Unit: datagrams on the wire. In every snapshot rx
// + made + handed_in = tx + drops (sum) + handed_out + consumed + held.
struct dp_stats {
	DP_DATAGRAM_COUNTERS(COUNTER_FIELD, COUNTER_NO_FIELD)
	DP_POLL_COUNTERS(COUNTER_FIELD)
	// Bursts by their number of frames. A super-frame counts as one.
	uint64_t rx_hist[DP_BURST_CLASSES]; // received; the sum is rx_bursts
	uint64_t tx_hist[DP_BURST_CLASSES]; // passed to a port
	uint64_t hand_hist[DP_BURST_CLASSES]; // taken from rings, messages included
	DP_SHORT_COUNTERS(COUNTER_FIELD)
	DP_SUPER_COUNTERS(COUNTER_FIELD)
	DP_WORKER_COUNTERS(COUNTER_FIELD)
	DP_ICMP_COUNTERS(COUNTER_FIELD)
	DP_EVENT_COUNTERS(COUNTER_FIELD)
	// Latency of one datagram in 1,024: from when a port received it until a port accepted the
	// result in the same burst. time_ns is the sum.
	uint64_t time_hist[DP_TIME_CLASSES], time_ns;
	uint64_t drop[DP_DROP_END];
	struct dp_dtls dtls;
	struct turn_stats turn;
};

// Reads the counters of a worker. Any thread. False if there is no such worker.
bool dp_worker_stats(const struct dp *d, unsigned int worker, struct dp_stats *out);
// Packet buffers (buffers.mbufs) that are free. Any thread.
uint32_t dp_buffers_free(const struct dp *d);
// Sum over the workers.
void dp_total_stats(const struct dp *d, struct dp_stats *out);
// Number of packets dropped for any reason.
uint64_t dp_stats_drops(const struct dp_stats *s);
// Growth of each counter from before to now. Meaningless for gauges (held, live allocations).
void dp_stats_since(
	const struct dp_stats *now, const struct dp_stats *before, struct dp_stats *out);

// --- see/timing.c ----------------------------------------------------------------------------

// Upper bound of a class (dp_stats.time_hist), in nanoseconds; UINT64_MAX for the last one.
uint64_t dp_time_bound(unsigned int class);

// --- ask/mailbox.c ---------------------------------------------------------------------------

// Questions and orders to a worker about data that only the worker may touch. The worker handles
// them between its rounds, a little in each, so that no round takes long.
enum dp_ask {
	DP_ASK_ROWS, // rows of allocations
	DP_ASK_KEYS, // keys to sort allocations by
	DP_ASK_DETAIL, // everything about the allocation that filter.id names
	DP_ASK_KILL, // ends the allocations that match, as many as the ring of events has room for
	DP_ASK_NEIGHBOURS, // walk.slot counts entries; no filter
	DP_ASK_CAPTURE, // starts, changes or stops the worker's part in a capture
	DP_ASK_POLICY, // replaces the worker's policy and hot by those of the question
	DP_ASK_INTAKE, // tells the worker which new allocations to refuse
	DP_ASK_BLOCKS, // replaces the blocks, and then works like JUDGE
	DP_ASK_JUDGE, // ends the allocations that the question's judge denies, limited like KILL
	// ends the allocations on addresses that the question's leave names, limited like KILL
	DP_ASK_LEAVE,
	DP_ASK_FAULT, // triggers a fault, if debug.faults allows it
};

#define DP_ANSWER_ROWS 128
#define DP_ANSWER_KEYS 1024

struct dp_question {
	uint8_t kind; // enum dp_ask
	uint8_t sort; // enum turn_sort, for KEYS
	unsigned int max; // rows, at most the size of an answer
	struct turn_filter filter;
	struct turn_walk walk; // where to begin: zero, or the walk of the previous answer
	const struct capture_filter *capture; // for CAPTURE: dp_capture_filter, or NULL to stop
	const struct turn_policy *policy; // for POLICY, like hot
	const struct hot *hot;
	// for POLICY: configuration with new listener addresses; NULL = unchanged
	const struct turn_config *moved;
	const struct turn_judge *judge; // for JUDGE and BLOCKS
	const struct turn_leave *leave; // for LEAVE
	struct dp_fault_order fault; // for FAULT
	const struct turn_intake *intake; // for INTAKE
	const struct turn_blocks *blocks; // for BLOCKS
};

// Route to a destination: egress port and next hop.
struct dp_route {
	bool known; // a route exists
	uint8_t port;
	struct addr via; // the destination itself, or a gateway
};

struct dp_detail {
	bool found;
	// From the client's TLS connection, or from its DTLS session if this worker has that; else
	// NULL. Static text.
	const char *cipher;
	struct dp_route client;
	struct dp_route permission[TURN_DETAIL_ROWS]; // to the peer of each permission
	struct turn_detail turn;
};

struct dp_answer {
	struct turn_walk walk; // where the next question continues
	uint64_t at_ms; // the workers' clock
	unsigned int nb; // number of rows, or of allocations ended
	union { // by the question's kind: enum dp_ask
		struct turn_info rows[DP_ANSWER_ROWS];
		struct turn_key keys[DP_ANSWER_KEYS];
		struct neigh_info neighbours[DP_ANSWER_ROWS];
		struct dp_detail detail;
	};
};

// Asks a worker. Returns 0; -EBUSY if the question of another thread is in progress or waits (try
// again); -ERANGE if there is no such worker. Then the asking thread calls dp_answered with the
// question's kind until that returns an answer, which it may read until it calls dp_answer_done. A
// query never delays an order, and KILL, CAPTURE and FAULT do not delay other orders. Any thread.
int dp_ask(struct dp *d, unsigned int worker, const struct dp_question *q);
// NULL if there is no answer yet.
const struct dp_answer *dp_answered(struct dp *d, unsigned int worker, enum dp_ask kind);
void dp_answer_done(struct dp *d, unsigned int worker, enum dp_ask kind);

// One page (32 rows at most) of a worker's allocations; the worker takes this snapshot between
// rounds. Returns the number of rows, -EBUSY if the worker did not answer within 100 ms, or
// -ERANGE. Any thread.
int dp_list(struct dp *d, unsigned int worker, unsigned int page, struct turn_info out[32]);
// Restricts a filter to a user of the realm with the number f->realm (turn_listing_user). crypto
// belongs to the calling thread.
bool dp_filter_user(
	const struct dp *d, struct stun_crypto *crypto, const char *name, struct turn_filter *f);

// --- ask/policy_swap.c
// ----------------------------------------------------------------------------

// Makes everything that workers need for a configuration that differs from the running one only in
// what a reload can change (conf_merge). c may be freed afterwards, except the paths of tls. renew:
// also reads the certificates. Returns 0, or -1 with the reason in error, and then nothing has
// changed. It takes as long as hashing all passwords. One reload at a time, and no concurrent
// dp_reload_step. Any thread.
int dp_reload_begin(struct dp *d, const struct conf *c, bool renew, char *error, size_t len);
// Gives the kernel behind exception ports the routes of c, the configuration of dp_reload_begin.
// Returns 0, or -1 with the reason in error, and then the reload is cancelled. Call it before
// dp_reload_step. Management lcore.
int dp_reload_routes(struct dp *d, const struct conf *c, char *error, size_t len);
// Continues a reload: the workers adopt the configuration and end the allocations that the policy
// denies. Returns -EAGAIN until it is complete: call it again after some milliseconds. Then returns
// the number of allocations ended. Management lcore.
int dp_reload_step(struct dp *d);
// Like dp_reload_begin, for a configuration of conf_move: other addresses. dp_reload_step then
// first ends everything on addresses that are removed. If dp_move_begin returns 0 the data path
// owns moved until dp_reload_clear. The caller adopts moved when the reload is complete, and calls
// dp_move_done.
int dp_move_begin(struct dp *d, struct conf *moved, char *error, size_t len);
// Describes what the last move could not do; "" = nothing. Valid until dp_reload_clear.
const char *dp_move_trouble(const struct dp *d);
// Frees the leftovers of a complete reload. It takes longer the larger the configuration is. Call
// it before the next reload. Any thread.
void dp_reload_clear(struct dp *d);

// --- see/advice.c ----------------------------------------------------------------------------

// Advice to an operator about drops for a reason; "" = none, such drops are normal. NULL for
// DP_DROP_END and above.
const char *dp_drop_advice(unsigned int reason);

// --- see/event_rings.c
// ----------------------------------------------------------------------------

struct turn_event;

// Moves up to max events of workers and stream threads to out, in order per source. Returns their
// number. Management lcore.
unsigned int dp_events(struct dp *d, struct turn_event *out, unsigned int max);

// A host that claims one of our addresses, by ARP or ND.
struct dp_conflict {
	struct addr addr;
	uint8_t mac[6], port;
};

// Takes the next conflict that a worker (its index, below dp_workers) has noted. At most eight
// wait, for eight addresses. False if no conflict waits. Management lcore only.
bool dp_conflict(struct dp *d, unsigned int worker, struct dp_conflict *out);
// The current time on the clock of turn_event.at_ms. Any thread.
uint64_t dp_clock_ms(const struct dp *d);
// Sets the receiver of the events that are left after workers have stopped, and of those of
// allocations that dp_stop ends. NULL, the default, discards them. Management lcore.
void dp_events_to(struct dp *d, void (*take)(void *ctx, const struct turn_event *e), void *ctx);

// --- steering/flow_ladder.c ----------------------------------------------------------------------

// How packets from peers to the relay addresses of one family reach their home, on one port.
struct dp_steering {
	const char *step; // "address", "port-bits", "off"; "none" if there is nothing to steer
	// why no better step is in use: the failure of the last one tried; "" at "address"
	const char *reason;
	const char *why_address; // if reason is about "port-bits": why "address" failed; else ""
	uint32_t rules; // number of rules in the NIC
	// Packets that came in on their worker's queue, and on another one. Not counted with a
	// single worker.
	uint64_t hits, handed_over;
	bool degraded; // rules are in use, but packets still come in on other queues
};

// Any thread. False if there is no such port. The texts live as long as the data path.
bool dp_steering(const struct dp *d, unsigned int port, bool is_v4, struct dp_steering *out);

// --- clients/identities.c ------------------------------------------------------------------------

// The certificates and ALPN of the listeners for lib/stream; empty if no listener needs any. Points
// into c.
void dp_identities(const struct conf *c, struct stream_identities *out);

// --- clients/streams.c ---------------------------------------------------------------------------

// Counters of the threads for TCP and TLS clients. Any thread. False if there are no such threads.
bool dp_streams(const struct dp *d, struct stream_stats *out);
// Reads the certificates again, for new connections. Returns 0, or -1 with the reason in error, and
// then nothing has changed.
int dp_streams_reload(struct dp *d, char *error, size_t len);
// Describes a certificate in use, by index from 0. Any thread. False if there are no more.
bool dp_certificate(const struct dp *d, unsigned int index, struct stream_certificate *out);

// --- exception/exception.c -----------------------------------------------------------------------

// Traffic through the exception port of a port, in datagrams on the wire.
#define DP_EXCEPTION_CLASSES 5
extern const char *const dp_exception_classes[DP_EXCEPTION_CLASSES];
struct dp_exception {
	const char *interface, *netns; // netns: "" = that of the process
	struct port *port; // the port whose kernel side this interface is
	uint64_t to_kernel[DP_EXCEPTION_CLASSES], from_kernel[DP_EXCEPTION_CLASSES]; // by class
	DP_EXCEPTION_COUNTERS(COUNTER_FIELD)
};

// Any thread. False if the port has no exception port. The texts live as long as the data path.
bool dp_exception(const struct dp *d, unsigned int port, struct dp_exception *out);
