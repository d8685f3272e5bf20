// SPDX-License-Identifier: BSD-3-Clause
// The data path as the management side sees it: start, stop, read counters. What else is public has
// a name that begins with dp_. The functions are grouped by the file that has them.
#pragma once

#include "conf.h"
#include "dp_progress.h"
#include "net.h"
#include "port.h"
#include "stream.h"
#include "turn_config.h"
#include "turn_drop.h"
#include "turn_listing.h"
#include "turn_shard.h"

// Drop reasons of the data path itself: X(enum, counter name, meaning).
#define DP_DROPS(X)                                                                                \
	X(DP_DROP_NO_LISTENER, "no-listener", "to an own address and port nobody listens on")      \
	X(DP_DROP_TTL, "ttl-expired", "TTL or hop limit used up")                                  \
	X(DP_DROP_MTU, "mtu-exceeded", "larger than the MTU of its path, or the port it goes by")  \
	X(DP_DROP_RX_OVERSIZE, "rx-oversize", "larger than the MTU of the port it came in on")     \
	X(DP_DROP_NO_ROUTE, "no-route", "destination neither on-link nor behind a gateway")        \
	X(DP_DROP_NEIGH_HELD, "neighbour-hold-full",                                               \
		"no room to hold it until the neighbour "                                          \
		"answers")                                                                         \
	X(DP_DROP_NEIGH_FULL, "neighbour-table-full", "no free neighbour entry")                   \
	X(DP_DROP_NEIGH_RATE, "neighbour-rate",                                                    \
		"to who would have to be asked for, past neighbours.ask-rate")                     \
	X(DP_DROP_NEIGH_FAILED, "neighbour-failed", "the neighbour did not answer")                \
	X(DP_DROP_HANDOVER_FULL, "handover-full", "ring to the home worker full")                  \
	X(DP_DROP_TX_FULL, "tx-full", "the port did not take it")                                  \
	X(DP_DROP_ICMP, "icmp", "ICMP or ND message that asks for nothing we do")                  \
	X(DP_DROP_ICMP_RATE, "icmp-rate", "echo request past the rate limit")                      \
	X(DP_DROP_ICMP_QUOTE, "icmp-quote",                                                        \
		"ICMP error that quotes no datagram that we can have sent")                        \
	X(DP_DROP_ICMP_TOTAL, "icmp-error-total",                                                  \
		"ICMP error that a client could be told of, past icmp.errors-in")                  \
	X(DP_DROP_ARP, "arp", "ARP that asks for nothing we have (learned from, if valid)")        \
	X(DP_DROP_HEADROOM, "headroom", "no room in front of the payload for the new headers")     \
	X(DP_DROP_NO_MBUF, "no-mbuf", "packet pool empty, or that for long datagrams")             \
	X(DP_DROP_SEGMENTED, "segmented", "received in several buffers")                           \
	X(DP_DROP_BACKLOG, "request-backlog",                                                      \
		"more requests than may wait, of clients without allocation")                      \
	X(DP_DROP_BACKLOG_KNOWN, "request-known",                                                  \
		"more requests than may wait, of clients with an allocation or a connection")      \
	X(DP_DROP_BACKLOG_CLIENT, "request-client", "more requests of one client than may wait")   \
	X(DP_DROP_STREAM_FULL, "stream-full", "ring to a stream thread full")                      \
	X(DP_DROP_DTLS_PLAIN, "dtls-plain", "in the clear to a port where only DTLS is spoken")    \
	X(DP_DROP_DTLS_UNKNOWN, "dtls-unknown", "DTLS record of no session, and no ClientHello")   \
	X(DP_DROP_DTLS_HELLO, "dtls-hello", "ClientHello malformed, or not alone in its datagram") \
	X(DP_DROP_DTLS_FRAGMENT, "dtls-fragment",                                                  \
		"fragment of a ClientHello that follows none with a cookie")                       \
	X(DP_DROP_DTLS_FULL, "dtls-full",                                                          \
		"ClientHello with its cookie, past dtls.half-open or dtls.sessions")               \
	X(DP_DROP_DTLS_RATE, "dtls-rate", "ClientHello with its cookie, past limits.handshakes")   \
	X(DP_DROP_DTLS_RECORD, "dtls-record",                                                      \
		"DTLS record forged, replayed, or of no use to its session")                       \
	X(DP_DROP_DTLS_MANY, "dtls-many",                                                          \
		"rest of a datagram with more DTLS records than fit a turn")                       \
	X(DP_DROP_DTLS_ENDED, "dtls-ended", "from or to a client whose DTLS session has ended")    \
	X(DP_DROP_DTLS_CIPHER, "dtls-cipher", "to a DTLS client: it could not be encrypted")       \
	X(DP_DROP_SUPER, "super-frame",                                                            \
		"super-frame that is not what it says, or too many in one")                        \
	X(DP_DROP_EXC_DENIED, "exception-denied",                                                  \
		"for the kernel, but nothing that exception.allow names")                          \
	X(DP_DROP_EXC_FOREIGN, "exception-foreign",                                                \
		"from the kernel: not its address, or nothing that exception.allow names")         \
	X(DP_DROP_EXC_RATE, "exception-rate",                                                      \
		"for the kernel: past exception.rate, or faster than it takes it")                 \
	X(DP_DROP_FRAGMENT_RATE, "fragment-rate", "fragment of a source past fragments.rate")      \
	X(DP_DROP_STOPPING, "stopping", "in flight when the appliance stopped")

// All reasons in one numbering: net's, then turn's, then the data path's.
enum dp_drop {
	DP_DROP_NET = 0, // enum net_drop n is DP_DROP_NET + n - 1
	DP_DROP_TURN = DP_DROP_NET + NET_DROP_END - 1, // enum turn_drop n is DP_DROP_TURN + n - 1
	DP_DROP_FIRST_ = DP_DROP_TURN + TURN_DROP_END - 2,
#define X(id, name, text) id,
	DP_DROPS(X)
#undef X
		DP_DROP_END
};

struct capture_filter;
struct dp_state_watch;
struct dp; // the running data path
struct hot;
struct stun_crypto;

// --- dp.c ----------------------------------------------------------------------------------------

// Opens and starts the ports, makes shards and rings, launches the workers. conf->workers and
// conf->turn.workers are resolved; lcores[] holds one lcore id per worker. The conf stays with the
// caller and outlives the data path. NULL with a reason in error, everything undone.
// learning: NULL when no address of conf is pending.
struct dp_learning;
struct dp *dp_start(const struct conf *c, const unsigned int *lcores,
	const struct dp_learning *learning, char *error, size_t len);
// Stops the workers, frees every packet, closes the ports.
void dp_stop(struct dp *d);

unsigned int dp_workers(const struct dp *d);
// How many workers are woken by their ports when there is nothing to do (workers/waiter.h).
unsigned int dp_waiters(const struct dp *d);
unsigned int dp_worker_lcore(const struct dp *d, unsigned int worker);
unsigned int dp_ports(const struct dp *d);
struct port *dp_port(const struct dp *d, unsigned int index);
// Profile of a port's driver, NULL when it has none.
const struct conf_driver *dp_profile(const struct dp *d, unsigned int index);
// To be called about once in 100 ms on the management lcore: link state (gratuitous ARP and NA when
// a link comes up is asked of worker 0), and whether steering does what it should.
void dp_tick(struct dp *d);

// --- exception/learn.c ---------------------------------------------------------------------------

// What dp_start does where the network gives addresses. All of it is called on the management
// lcore.
struct dp_learning {
	struct conf *conf; // dp_start's: the addresses are put into it (conf_resolve)
	struct conf_report *report; // conf_resolve's
	void (*tell)(void *ctx, const char *line); // says, every few seconds, what is waited for
	bool (*stop)(void *ctx); // asked often: true ends the waiting, and dp_start fails
	void *ctx;
	const struct dp_state_watch *state; // dp_state.h; NULL = nobody is told
};

#define DP_LEARNED_MAX (2 * CONF_PORTS_MAX)

// What has become of an address that the network has given, or that is on an interface which stays
// the kernel's.
struct dp_learned {
	const char *port, *interface; // names; of the configuration
	bool is_v4;
	bool taken; // from the interface; else the file names it, and a packet port has it
	bool follows; // what the interface has in its place is taken in its place (dp_moves)
	bool lost; // the interface has it no longer: it gets no new allocations
	struct addr addr; // in use
	struct addr gateway; // in use; :: = none, or the file names it
	struct addr replacement; // what the interface has in place of a lost address; :: = nothing
	struct addr router; // the default router that the interface has now; :: = none
};

// Writes them to out, those that the network has given first, and no more than DP_LEARNED_MAX.
// Returns how many. Any thread.
unsigned int dp_learned(const struct dp *d, struct dp_learned *out);

struct conf_learned;

// Addresses and routers that packet ports have been given in place of those in use, and that are
// there to stay (addr_settled.h): those to be taken by conf_move and dp_move_begin. Returns how
// many; 0 also while it is soon after the last one. Management lcore, as dp_move_done.
unsigned int dp_moves(struct dp *d, struct conf_learned list[DP_LEARNED_MAX]);
// They are in use by now (conf_moved_adopt), or could not be; then they are tried again some time
// later.
void dp_move_done(struct dp *d, bool well);

// --- control/stats.c -----------------------------------------------------------------------------

const char *dp_drop_name(unsigned int reason); // NULL from DP_DROP_END on
const char *dp_drop_text(unsigned int reason);

// Burst sizes are counted in classes: 1, 2, 3-4, 5-8, 9-16, 17-32.
#define DP_BURST_CLASSES 6

// Times are counted in classes: up to 250 ns, 500 ns, 1 us ... 131 ms, and more.
#define DP_TIME_CLASSES 21

// Counters of a worker's DTLS sessions: X(field, meaning). The first two are levels.
#define DP_DTLS_COUNTERS(X)                                                   \
	X(open, "sessions whose handshake is complete")                       \
	X(half_open, "handshakes under way")                                  \
	X(verify, "ClientHellos answered with a request for their cookie")    \
	X(gave_way, "handshakes given up, the oldest: dtls.half-open")        \
	X(opened, "sessions, in all")                                         \
	X(replaced, "ended: their client has made a new one")                 \
	X(closed, "ended by their client")                                    \
	X(failed, "ended: fatal alert, or no numbers left for records")       \
	X(idle, "ended: dtls.idle")                                           \
	X(rx, "messages of clients")                                          \
	X(tx, "messages to clients")                                          \
	X(again, "datagrams of a handshake sent again after it was complete") \
	X(unsealed, "records that could not be encrypted, and were not sent")

struct dp_dtls {
#define X(field, text) uint64_t field;
	DP_DTLS_COUNTERS(X)
#undef X
};

// Counters of one worker, a consistent snapshot. Unit: datagrams on the wire. At every snapshot
// rx + made + handed_in = tx + drops (sum) + handed_out + consumed + held.
struct dp_stats {
	uint64_t rx, tx, made, consumed, held, handed_in, handed_out;
	uint64_t rx_bytes, tx_bytes;
	uint64_t rx_bursts, rx_empty; // polls of a port queue that found something, and nothing
	// Bursts by their number of frames: a super-frame is one.
	uint64_t rx_hist[DP_BURST_CLASSES]; // received; the sum is rx_bursts
	uint64_t tx_hist[DP_BURST_CLASSES]; // given to a port
	uint64_t hand_hist[DP_BURST_CLASSES]; // taken from rings, messages included
	uint64_t tx_short; // bursts of which a port did not take all at once
	uint64_t tx_retried; // times the rest of such a burst was offered again
	// Fragments that were kept, datagrams they have made, fragments made for sending.
	uint64_t fragments_in, reassembled, fragments_out;
	uint64_t uso_frames, uso_segments; // super-frames sent, and how much of tx was in them
	uint64_t whole_frames; // of these, received whole too
	uint64_t busy_cycles, total_cycles;
	uint64_t errors_sent, errors_held_back; // ICMP errors of ours, and those past their limits
	uint64_t path_mtus; // paths whose MTU was found to be less than what was known
	uint64_t path_mtus_refused; // and those not learnt, as their user has had too many new ones
	// Events that found no room for them on the way to management, and those among them that
	// were of allocations.
	uint64_t events_lost, session_events_lost;
	// Times of one datagram in 1,024, from when a port has received it until a port had taken
	// what became of it in the same burst, and their sum.
	uint64_t time_hist[DP_TIME_CLASSES], time_ns;
	// Times that the worker has blocked, and what has ended that: a frame at a port, somebody
	// else, or the time of what was due. A signal has ended the others.
	uint64_t waits, woken_by_port, woken_by_kick, woken_by_time;
	uint64_t sleep_cost_ns; // CPU time of one sleep of late, no counter; 0 = none measured
	uint64_t drop[DP_DROP_END];
	struct dp_dtls dtls;
	struct turn_stats turn;
};

// Counters of a worker (any thread). False when the worker id is out of range.
bool dp_worker_stats(const struct dp *d, unsigned int worker, struct dp_stats *out);
// Packet buffers (buffers.mbufs) that nobody has now. Any thread.
uint32_t dp_buffers_free(const struct dp *d);
// Sum over the workers.
void dp_total_stats(const struct dp *d, struct dp_stats *out);
// How much each counter has grown. For those that can fall (held, live allocations) the difference
// means nothing.
void dp_stats_since(
	const struct dp_stats *now, const struct dp_stats *before, struct dp_stats *out);

// --- control/timing.c ----------------------------------------------------------------------------

// The longest time of a class (dp_stats.time_hist), in nanoseconds; UINT64_MAX for the last one.
uint64_t dp_time_bound(unsigned int class);

// --- control/mailbox.c ---------------------------------------------------------------------------

// What a worker can be asked about what only it may look at. It answers between its rounds, a
// little in each, so that none of them gets long.
enum dp_ask {
	DP_ASK_ROWS, // rows of allocations
	DP_ASK_KEYS, // what to sort them by
	DP_ASK_DETAIL, // all about the one that filter.id names
	DP_ASK_KILL, // ends them, as many as the ring of events has room for
	DP_ASK_NEIGHBOURS, // walk.slot counts entries; no filter
	DP_ASK_CAPTURE, // to begin, change or end its part in a capture
	DP_ASK_POLICY, // takes the question's policy and hot in the place of its own
	DP_ASK_ALTERNATES, // takes the question's alternates in the place of its own
	DP_ASK_JUDGE, // ends what the question's judge says, as far as KILL
	DP_ASK_LEAVE, // ends what is on addresses that the question's leave says, as far as KILL
	DP_ASK_FAULT, // has a fault, under debug.faults
};

#define DP_ANSWER_ROWS 128
#define DP_ANSWER_KEYS 1024

struct dp_question {
	uint8_t kind; // enum dp_ask
	uint8_t sort; // enum turn_sort: of KEYS
	unsigned int max; // rows; at most what an answer has room for
	struct turn_filter filter;
	struct turn_walk walk; // where to begin: zero, or what the answer before has left
	const struct capture_filter *capture; // of CAPTURE: dp_capture_filter, or NULL to end it
	const struct turn_policy *policy; // of POLICY, as hot
	const struct hot *hot;
	const struct turn_config
		*moved; // of POLICY: addresses of listeners are its; NULL = as before
	const struct turn_judge *judge; // of JUDGE
	const struct turn_leave *leave; // of LEAVE
	struct dp_fault_order fault; // of FAULT
	const struct turn_alternates *alternates; // of ALTERNATES
};

// Where datagrams to somebody go: by which port, through whom.
struct dp_way {
	bool known; // there is a route
	uint8_t port;
	struct addr via; // himself, or a gateway
};

struct dp_detail {
	bool found;
	// A TLS client's connection has it, and a DTLS client's session if this worker has that;
	// else NULL. Static text.
	const char *cipher;
	struct dp_way client;
	struct dp_way permission[TURN_DETAIL_ROWS]; // to the peer of each
	struct turn_detail turn;
};

struct dp_answer {
	struct turn_walk walk; // where the next question goes on
	uint64_t at_ms; // the workers' clock
	unsigned int nb; // rows, or allocations ended
	union {
		struct turn_info rows[DP_ANSWER_ROWS];
		struct turn_key keys[DP_ANSWER_KEYS];
		struct neigh_info neighbours[DP_ANSWER_ROWS];
		struct dp_detail detail;
	};
};

// Asks a worker. 0; -EBUSY: somebody else's question is under way or waits, try again; -ERANGE:
// there is no such worker. Then dp_answered is called with the question's kind until it returns an
// answer, which may be read until dp_answer_done. The thread that has asked has to call both. What
// only asks holds off no order, and KILL, CAPTURE and FAULT not the other orders. Any thread.
int dp_ask(struct dp *d, unsigned int worker, const struct dp_question *q);
// NULL: not yet.
const struct dp_answer *dp_answered(struct dp *d, unsigned int worker, enum dp_ask kind);
void dp_answer_done(struct dp *d, unsigned int worker, enum dp_ask kind);

// One page (32 rows at most) of a worker's allocations, snapshot taken by the worker between
// rounds. Returns the number of rows, -EBUSY when the worker did not answer within 100 ms, -ERANGE.
// Any thread.
int dp_list(struct dp *d, unsigned int worker, unsigned int page, struct turn_info out[32]);
// Makes a filter look for a user of the realm with the number f->realm (turn_listing_user). crypto
// is the calling thread's.
bool dp_filter_user(
	const struct dp *d, struct stun_crypto *crypto, const char *name, struct turn_filter *f);

// --- control/reload.c ----------------------------------------------------------------------------

// Makes all that workers are to have by a configuration that is like the running one except for
// what is hot (conf_merge); c may go afterwards, except for the paths of tls. renew: reads the
// certificates, too. 0, or -1 with the reason in error, and then nothing has changed. It takes as
// long as hashing all passwords. One reload at a time, and no dp_reload_step beside it; any thread.
int dp_reload_begin(struct dp *d, const struct conf *c, bool renew, char *error, size_t len);
// Gives the kernel behind exception ports the routes of c, that of dp_reload_begin. 0, or -1 with
// the reason in error, and then there is no reload. Before dp_reload_step; management lcore.
int dp_reload_routes(struct dp *d, const struct conf *c, char *error, size_t len);
// Goes on with it: the workers take it over, and end what the policy denies. -EAGAIN: call it
// again, some milliseconds later. Else it has ended, and the result says how many allocations were.
// Management lcore.
int dp_reload_step(struct dp *d);
// As dp_reload_begin, for a configuration of conf_move: other addresses. dp_reload_step then first
// ends all that is on addresses that are to go. It takes moved where it returns 0, which then lives
// until dp_reload_clear. The caller adopts moved once it has ended, and calls dp_move_done.
int dp_move_begin(struct dp *d, struct conf *moved, char *error, size_t len);
// What could not be done of the last one, in words; "" = nothing. Until dp_reload_clear.
const char *dp_move_trouble(const struct dp *d);
// Frees what nobody needs any more once one has ended, which grows with the file. Before the next
// one; any thread.
void dp_reload_clear(struct dp *d);

// --- control/advice.c ----------------------------------------------------------------------------

// What an operator does about drops of a reason; "" = nothing, they are usual. NULL from
// DP_DROP_END on.
const char *dp_drop_advice(unsigned int reason);

// --- control/events.c ----------------------------------------------------------------------------

struct turn_event;

// Moves up to max events of workers and stream threads to out, those of each in their order.
// Returns how many. Management lcore.
unsigned int dp_events(struct dp *d, struct turn_event *out, unsigned int max);

// A host that claims an address of ours, by ARP or ND.
struct dp_conflict {
	struct addr addr;
	uint8_t mac[6], port;
};

// Takes one that a worker (its index, below dp_workers) has noted: at most eight wait at a time, of
// eight addresses. False: there is none. Management lcore only.
bool dp_conflict(struct dp *d, unsigned int worker, struct dp_conflict *out);
// The time of turn_event.at_ms now. Any thread.
uint64_t dp_clock_ms(const struct dp *d);
// Names who is to get, once workers have stopped, the events that are left then, and those of
// allocations that dp_stop ends. NULL, as at first: nobody. Management lcore.
void dp_events_to(struct dp *d, void (*take)(void *ctx, const struct turn_event *e), void *ctx);

// --- steering/flow_ladder.c ----------------------------------------------------------------------

// How packets from peers to the relay addresses of one family come home, on one port.
struct dp_steering {
	const char *step; // "t1", "t2", "t4"; "none" when there is nothing to steer
	const char *reason; // no better step is in use: what the last one tried failed by; "" at t1
	const char *why_t1; // where why is of T2: what T1 failed by, if it was tried; else ""
	uint32_t rules; // in the NIC
	// Packets that came in on their worker's queue, on another's; not counted for one worker.
	uint64_t hits, handed_over;
	bool degraded; // rules are in use and packets come in elsewhere all the same
};

// Any thread. False when there is no such port. The texts live as long as the data path.
bool dp_steering(const struct dp *d, unsigned int port, bool is_v4, struct dp_steering *out);

// --- clients/identities.c ------------------------------------------------------------------------

// The certificates and ALPN of the listeners, as lib/stream asks for them; none where nobody needs
// any. Points into c.
void dp_identities(const struct conf *c, struct stream_identities *out);

// --- clients/streams.c ---------------------------------------------------------------------------

// Counters of the threads for TCP and TLS clients. Any thread. False when there are none.
bool dp_streams(const struct dp *d, struct stream_stats *out);
// Reads the certificates again, for connections from now on. 0, or -1 with the reason in error, and
// then nothing has changed.
int dp_streams_reload(struct dp *d, char *error, size_t len);
// Tells a certificate in use, by 0 and up. Any thread. False: there are no more.
bool dp_certificate(const struct dp *d, unsigned int index, struct stream_certificate *out);

// --- exception/exception.c -----------------------------------------------------------------------

// What has gone through the exception port behind a port, in datagrams as they are on the wire.
#define DP_EXCEPTION_CLASSES 5
extern const char *const dp_exception_classes[DP_EXCEPTION_CLASSES];
struct dp_exception {
	const char *interface, *netns; // "" = that of the process
	struct port *port; // whose other end the interface is
	uint64_t to_kernel[DP_EXCEPTION_CLASSES], from_kernel[DP_EXCEPTION_CLASSES]; // the kernel
	uint64_t to_denied, to_full; // drops exception-denied, exception-rate
	uint64_t to_lost; // given to the kernel, which did not take it
	uint64_t from_foreign; // drops of what came from the kernel
	uint64_t from_answered; // ARP and ND answers of the kernel to what the data path answers
	uint64_t from_cut; // super-frames that had to be cut by us
	uint64_t from_missed; // that the kernel could not queue, since nobody read it in time
	// How many of these were super-frames of TCP, and the segments in them.
	uint64_t to_supers, to_super_frames, from_supers, from_super_frames;
};

// Any thread. False when the port has none. The texts live as long as the data path.
bool dp_exception(const struct dp *d, unsigned int port, struct dp_exception *out);
