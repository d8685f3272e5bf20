// SPDX-License-Identifier: BSD-3-Clause
// The TURN state machine (RFC 8656) as pure code: datagrams and time go in, plans come out. It
// knows nothing of IP headers, mbufs, sockets or clocks; the data path executes the plans.
#pragma once

#include "addr.h"
#include "csprng.h"
#include "hash.h"
#include "stun.h"

#define TURN_BURST 32
#define TURN_WORKERS_MAX 64
#define TURN_SLICES 64 // of a relay address: port bits 1..6, so that EVEN-PORT pairs stay together
#define TURN_IDENT_LEN 16 // first bytes of the USERHASH: who an allocation belongs to
#define TURN_NAME_LEN 20 // of a user name, kept for display only

// Every reason for which a datagram can be refused here: X(enum, counter name, meaning).
#define TURN_DROPS(X)                                                                              \
	X(TURN_DROP_NOT_TURN, "not-turn", "first byte is neither STUN nor ChannelData (RFC 7983)") \
	X(TURN_DROP_MALFORMED, "stun-malformed", "not a well-formed STUN message")                 \
	X(TURN_DROP_FINGERPRINT, "stun-fingerprint", "FINGERPRINT does not match")                 \
	X(TURN_DROP_METHOD, "stun-method", "method unknown, or class not defined for it")          \
	X(TURN_DROP_UNKNOWN_ATTRIBUTE, "stun-unknown-attribute",                                   \
		"indication with an unknown "                                                      \
		"comprehension-required attribute")                                                \
	X(TURN_DROP_INDICATION, "indication-malformed", "Send without XOR-PEER-ADDRESS or DATA")   \
	X(TURN_DROP_NO_ALLOCATION, "no-allocation",                                                \
		"ChannelData or indication from a client "                                         \
		"without allocation")                                                              \
	X(TURN_DROP_CHANNEL_LENGTH, "channel-length", "ChannelData longer than its datagram")      \
	X(TURN_DROP_CHANNEL_UNBOUND, "channel-unbound", "ChannelData on a channel not bound")      \
	X(TURN_DROP_NO_PERMISSION, "no-permission", "client to a peer without live permission")    \
	X(TURN_DROP_PEER_DENIED, "peer-denied", "Send to a peer that the policy refuses")          \
	X(TURN_DROP_PEER_NO_ALLOCATION, "peer-no-allocation",                                      \
		"to a relay port without allocation")                                              \
	X(TURN_DROP_PEER_NO_PERMISSION, "peer-no-permission", "from a peer without permission")    \
	X(TURN_DROP_SHARED_UNKNOWN_PEER, "shared-unknown-peer",                                    \
		"to a shared relay port from a peer "                                              \
		"that no allocation there has registered")                                         \
	X(TURN_DROP_SHARED_COLLISION, "shared-collision",                                          \
		"Send to a peer that another allocation "                                          \
		"on the same shared relay port has registered")                                    \
	X(TURN_DROP_SHARED_FULL, "shared-full",                                                    \
		"Send to one peer more than relay.peers-per-allocation "                           \
		"or the memory allows")                                                            \
	X(TURN_DROP_SHARED_SHARE, "shared-share",                                                  \
		"Send to a peer that the user's other allocations have on as many shared "         \
		"relay ports as relay.peer-share allows")                                          \
	X(TURN_DROP_PEER_OVERSIZE, "peer-oversize",                                                \
		"peer datagram too long for a Data indication")                                    \
	X(TURN_DROP_HAIRPIN_NO_ALLOCATION, "hairpin-no-allocation",                                \
		"client to an own relay "                                                          \
		"address without live allocation")                                                 \
	X(TURN_DROP_UNAUTHENTICATED_RATE, "unauthenticated-rate",                                  \
		"request that would get an "                                                       \
		"unauthenticated answer, past limits.unauthenticated")                             \
	X(TURN_DROP_GUESS_RATE, "guess-rate",                                                      \
		"request of an address that has signed wrongly more often than limits.guesses")    \
	X(TURN_DROP_BINDING_RATE, "binding-rate", "Binding request past limits.binding")           \
	X(TURN_DROP_KEEPALIVE, "keepalive", "Binding indication: a keepalive asks for nothing")    \
	X(TURN_DROP_INTERNAL, "turn-internal", "answer did not fit or libcrypto failed")

enum turn_drop {
	TURN_OK,
#define X(id, name, text) id,
	TURN_DROPS(X)
#undef X
		TURN_DROP_END
};

const char *turn_drop_name(enum turn_drop reason);
const char *turn_drop_text(enum turn_drop reason);

// --- configuration as data -----------------------------------------------------------------------
// Filled by lib/conf, owned by the configuration, read at start and on reload.

struct turn_user {
	char *name;
	char *password; // NULL when only keys are given
	struct stun_key md5, sha256; // len 0 = derive from the password (or not to be had)
};

// Of the client leg. All but UDP and DTLS are byte streams, and the kernel's: no packets of a port.
enum turn_transport {
	TURN_OVER_UDP,
	TURN_OVER_TCP,
	TURN_OVER_TLS,
	TURN_OVER_AUTO, // TCP, of which the first byte tells whether there is TLS
	TURN_OVER_DTLS, // may have the port of a UDP listener, of which the first byte tells it
};

struct turn_listener {
	struct endpoint at;
	uint8_t transport; // enum turn_transport
};

static inline bool turn_listener_is_stream(const struct turn_listener *l)
{
	return l->transport != TURN_OVER_UDP && l->transport != TURN_OVER_DTLS;
}

// An address of ours with its on-link prefix.
struct turn_local {
	struct addr addr;
	struct prefix subnet;
};

struct turn_rate {
	uint32_t rate, burst; // answers per second and source; rate 0 = no limit
};

struct turn_limits {
	uint32_t allocations, per_user, per_source; // 0 = no limit but the memory
	uint32_t permissions, channels; // per allocation, hard caps
	uint32_t endpoints; // of peers on a shared relay port, per allocation; at most UINT16_MAX
	uint32_t peer_share; // percent of the shared addresses on which a user may have one peer
	uint32_t lifetime_default_s, lifetime_max_s;
	struct turn_rate unauthenticated, binding;
	struct turn_rate stale_nonce; // per 5-tuple
	struct turn_rate guesses; // wrong passwords
};

// How many permissions, channels and peers on shared addresses there is memory for: so many an
// allocation, of all that can exist, and so many beyond these in all. 0 = see conf/slipring.yaml.
struct turn_pools {
	uint32_t sure_permissions, sure_channels; // at most 16; of peers as of permissions
	uint32_t permissions, channels, endpoints;
	uint32_t per_user; // percent of these that one user may hold
};

struct turn_config {
	char *realm;
	struct turn_user *users;
	char **secrets; // REST secrets
	uint32_t nb_users, nb_secrets;
	uint32_t nonce_lifetime_s;
	char *nonce_secret; // "" = random for the life of the process
	struct turn_listener *listeners;
	struct addr *relay; // relay addresses, v4 and v6
	struct turn_local *local; // every own address
	struct addr *gateways;
	struct prefix *allow, *deny;
	struct prefix *nat64; // of the operator's translators, as addr_nat64_prefix says
	uint32_t nb_listeners, nb_relay, nb_local, nb_gateways, nb_allow, nb_deny, nb_nat64;
	uint16_t port_lo, port_hi; // relay ports
	bool shared; // by all allocations; else each has a relayed transport address of its own
	uint32_t quarantine_s;
	bool hairpin;
	bool rfc5766_channels; // clients of RFC 5766 may bind numbers up to its 0x7FFF
	uint32_t workers;
	struct turn_limits limits;
	struct turn_pools pools;
};

// --- the relay map: which worker owns which relayed transport address ----------------------------
// Immutable for the life of the process; shared by all workers.

struct turn_relay_map;

// Relay addresses of a family are dealt whole when there are at least as many as workers, else
// every one is cut into 64 slices dealt over the workers. Ports that listeners use on a relay
// address belong to no slot. Shared ports (c->shared) are dealt over the workers one by one, family
// by family: slots are then no addresses, but every worker has as many as it may need for
// limits.allocations, which must not be 0. NULL with errno ENOMEM/EINVAL; EINVAL also when there
// are fewer shared addresses of a family than workers, or more than TURN_SHARED_MAX.
#define TURN_SHARED_MAX 4096
struct turn_relay_map *turn_relay_map_create(const struct turn_config *c);
void turn_relay_map_free(struct turn_relay_map *m);
// Index of a relay address, or -1. Control path (linear or binary search).
int turn_relay_map_find(const struct turn_relay_map *m, const struct addr *a);
// Worker that owns a relayed transport address and its slot in that worker's shard. False when no
// slot belongs to it (port out of range, or a listener's). Per packet: no division, no search. A
// shared address has a number among those of its worker in place of a slot: a view wants just that.
bool turn_relay_map_home(const struct turn_relay_map *m, unsigned int addr_index, uint16_t port,
	unsigned int *worker, uint32_t *slot);
// Worker that owns slice 0..TURN_SLICES-1 (bits 1 to 6 of the port) of a relay address. Of one that
// was dealt whole it is the same for all slices. Control path. Not of shared ports.
unsigned int turn_relay_map_slice_worker(
	const struct turn_relay_map *m, unsigned int addr_index, unsigned int slice);
// A relay address by its index.
struct addr turn_relay_map_addr(const struct turn_relay_map *m, uint32_t index);
// Index of the relay address of a slot, and its port. Control path. Not of shared ports.
uint32_t turn_relay_map_locate(
	const struct turn_relay_map *m, unsigned int worker, uint32_t slot, uint16_t *port);
// The ports [lo, lo + nb) of a relay address when all of them are slots of one worker, slot = base
// + port (in 32 bits, which may wrap); else false.
struct turn_relay_map_run {
	uint32_t base, nb;
	uint16_t lo;
	uint8_t worker;
};
bool turn_relay_map_run(
	const struct turn_relay_map *m, unsigned int addr_index, struct turn_relay_map_run *out);
// Number of slots of a worker (some may belong to no usable port: turn_relay_map_usable; of shared
// ports none does).
uint32_t turn_relay_map_slots(const struct turn_relay_map *m, unsigned int worker);
bool turn_relay_map_usable(const struct turn_relay_map *m, unsigned int worker, uint32_t slot);

// --- policy: everything a request is judged by ---------------------------------------------------
// Immutable; made by the management lcore, read by workers, swapped whole.

struct turn_policy;

enum turn_peer_class {
	TURN_PEER_NEVER, // no key opens it: 403
	TURN_PEER_OWN, // own relay address: delivered in process
	TURN_PEER_DENY, // by deny list or default: 403
	TURN_PEER_ALLOW,
};

// Copies what it needs of c. boot_key seeds the nonce key when no nonce secret is configured (so
// that it can outlive a reload). NULL with errno set.
struct turn_policy *turn_policy_create(
	const struct turn_config *c, struct stun_crypto *crypto, const uint8_t boot_key[32]);
void turn_policy_free(struct turn_policy *p);
// Judges a canonical peer address and port (the port matters for 0 only).
enum turn_peer_class turn_policy_peer(
	const struct turn_policy *p, const struct addr *a, uint16_t port);

// --- quota: one table for all workers ------------------------------------------------------------

struct turn_quota;

// For up to capacity allocations; counters are exact over all workers.
struct turn_quota *turn_quota_create(uint32_t capacity, const struct hash_key *key);
void turn_quota_free(struct turn_quota *q);
// Bytes of memory that turn_quota_create takes.
size_t turn_quota_size(uint32_t capacity);
// Allocations now counted.
uint32_t turn_quota_total(const struct turn_quota *q);

// --- the shard -----------------------------------------------------------------------------------

enum turn_leg { TURN_FROM_CLIENT, TURN_FROM_PEER };

#define TURN_NO_WORKER 0xff

// One datagram as the shard sees it. The data path fills the first part.
struct turn_view {
	struct addr src;
	union {
		struct {
			uint16_t src_port;
			uint8_t listener; // client leg: index of the listener
			uint8_t state; // left zero; turn_route_begin's
		};
		uint32_t mark; // all three, to be compared with a line's
	};
	uint16_t len;
	uint8_t leg; // enum turn_leg
	uint8_t flags; // the data path's
	const uint8_t *data;
	// Peer leg: what turn_relay_map_home says of the destination; of a shared address
	// turn_route_begin makes it the allocation's, or TURN_NONE. Client leg: written by
	// turn_route_begin and turn_route_finish, the allocation or redirect, or TURN_NONE.
	uint32_t slot;
	union {
		struct {
			uint8_t via; // client leg: worker of the redirect to here, TURN_NO_WORKER
			bool hairpin; // peer leg: in process from an own allocation
			uint8_t port; // the data path's
		};
		uint32_t origin; // all three
	};
	uint64_t hash; // of what is looked up: written by turn_route_begin
	uint32_t shared; // number of the shared address: likewise
	uint32_t spare; // a power of two in all
	uint64_t stream; // the data path's: connection of a client over a stream
};
_Static_assert(sizeof(struct turn_view) == 64, "one cache line");

#define TURN_NONE UINT32_MAX

enum turn_verdict {
	TURN_DROP, // reason says why
	TURN_REPLY, // send side->front[0..front_len) back, from the address the request came to
	TURN_RELAY, // send front + payload[off..off+len) on `flow`
	TURN_SEND, // send payload[off..off+len) from side->src to side->dst
	TURN_HANDOVER, // give the datagram to worker `flow` (a redirect)
};

#define TURN_PLAN_DF 1 // set DF where the outgoing packet is IPv4, whatever it was before

// What to do with one datagram: 16 bytes.
struct turn_plan {
	uint8_t verdict, flags;
	uint16_t reason; // enum turn_drop
	uint16_t channel; // RELAY with front_len 4: ChannelData header (channel, len) goes in front
	uint16_t front_len; // 0, 4, or the length of side->front
	uint16_t off, len; // payload kept
	uint32_t flow; // names the two ends: turn_flow_path
};
_Static_assert(sizeof(struct turn_plan) == 16, "the plan is 16 bytes");

#define TURN_SIDE_LEN 1280

// What does not fit a plan: an answer, the front of a Data indication, addresses of a single send.
struct turn_side {
	struct endpoint src, dst;
	uint8_t front[TURN_SIDE_LEN];
};

struct turn_burst {
	unsigned int n;
	uint32_t epoch; // turn_route_begin's, as are the next two: views by leg
	uint8_t of[2][TURN_BURST + 1];
	unsigned int nb[2];
	struct turn_view view[TURN_BURST];
	struct turn_plan plan; // the last one made
	struct turn_side side; // of the last plan made
	// Shards that clients are dealt over by turn_client_home; 0 = all are ours. Those of others
	// are then in elsewhere and not in of.
	unsigned int homes;
	unsigned int nb_elsewhere;
	uint8_t elsewhere[TURN_BURST + 1];
};

// Both ends of a flow: what the data path builds a header from. hop is its note on the way there,
// in the line of the allocation; NULL when there is no place for one.
struct turn_path {
	struct endpoint src, dst;
	uint32_t *hop;
};

// All that a relayed datagram of the usual kind touches, one cache line, indexed by slot. The
// usual kind is ChannelData of the one channel of which the line holds a copy, either way.
// Written by the shard, but for what is the data path's: of that it only zeroes hop, when that end
// changes.
struct turn_line {
	// By leg, the ends from where datagrams come: the client, and the peer of the copy.
	struct addr end[2];
	// Their ports in the low half; above it the client's listener and state, and for the peer
	// the index of the relay address.
	uint32_t mark[2];
	uint32_t until; // in TURN_LINE_MS: the copy is good before this, rounded down; 0 = no copy
	// As they lie in a packet: the channel number, 0 = no copy (of a redirect the worker where
	// it leads, as it is), and the port of the relayed transport address.
	uint16_t channel, relay_port;
	uint16_t count[2]; // datagrams relayed, by leg; moved elsewhere before they can wrap
	uint32_t sums; // the data path's, made when it is told of the line
	uint32_t hop[2]; // the data path's note on the way to each end, 0 = none
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct turn_line) == 64, "one cache line");

#define TURN_LINE_MS 64
// Upper half of a live line's mark of the client, by listener.
#define TURN_LINE_LISTENER(index) (0x100u + (index))

struct turn_shard_params {
	const struct turn_policy *policy;
	const struct turn_config *config; // sizes and listeners; read by create only
	const struct turn_relay_map *map;
	struct turn_quota *quota;
	struct stun_crypto *crypto; // of this worker
	struct csprng *rng; // of this worker
	uint8_t worker;
	// What clients are hashed with; the same for all shards that they are dealt over. NULL: a
	// random one.
	const struct hash_key *client_key;
	uint32_t redirects; // 0 = 1024
	// Tells of a line that is new or has another copy (or the same again) and will soon be
	// used. NULL = nobody wants to know.
	void (*line_made)(void *ctx, uint32_t slot);
	void *ctx;
};

struct turn_stats {
	uint64_t allocations, permissions, channels, redirects; // live
	uint64_t endpoints; // registered on shared addresses
	uint64_t allocations_total, auth_failures, port_reused_early;
	uint64_t pool_refused; // permissions, channels, peers: no room in pool or user's share
};

struct turn_shard;

// The pools of a worker as they will be, and what a record of them takes: a permission or channel;
// a peer on a shared address, with its places in tables.
#define TURN_RECORD_BYTES 32
#define TURN_PEER_BYTES 78
struct turn_pools turn_shard_pools(const struct turn_shard_params *p);
// Bytes of (64-byte aligned, zeroed) memory for a shard, and the shard made in them.
size_t turn_shard_size(const struct turn_shard_params *p);
struct turn_shard *turn_shard_create(void *mem, const struct turn_shard_params *p, uint64_t now_ms);
// The live allocation of a view's client, looked up anew, and the milliseconds it has left; else
// TURN_NONE.
uint32_t turn_shard_client(
	const struct turn_shard *s, const struct turn_view *v, uint32_t *left_ms);
// Ends the allocation of a slot: its client is gone. To be followed by turn_shard_notes.
void turn_shard_end(struct turn_shard *s, uint32_t slot);
// Ends every allocation (quota is given back). The memory is the caller's.
void turn_shard_close(struct turn_shard *s);
// The lines of all slots; the pointer is good as long as the shard. Its worker lcore only.
struct turn_line *turn_shard_lines(struct turn_shard *s);

// Opens a round: sets the clocks; what was freed in earlier rounds becomes reusable. now_ms is
// monotonic, wall_s the time of day for REST expiry and nonces.
void turn_shard_round(struct turn_shard *s, uint64_t now_ms, uint64_t wall_s);
// Ends what has expired; true when more is due. Bounded work a call: about 64 allocations,
// permissions and channels, or one allocation with all its own.
bool turn_shard_expire(struct turn_shard *s);
void turn_shard_set_policy(struct turn_shard *s, const struct turn_policy *p);

// A client's 5-tuple, hashed: mark is that of its views, state left zero.
static inline uint64_t turn_client_hash(
	const struct hash_key *key, const struct addr *client, uint32_t mark)
{
	return hash_addr(key, client, mark);
}

// Which of a number of shards a client is dealt to by its hash: by bits that neither its first
// bucket nor its tag in the table of clients comes from. No more than these can be seen from
// outside, by the relay port that a client gets.
static inline unsigned int turn_client_home(uint64_t hash, unsigned int homes)
{
	return (unsigned int)((hash >> 32 & 0xffff) * homes >> 16);
}

// 2^16 or more when turn_client_home(hash, homes) is not home, for a test of several at a time.
static inline uint32_t turn_client_away(uint64_t hash, unsigned int homes, unsigned int home)
{
	return (uint32_t)(hash >> 32 & 0xffff) * homes - (home << 16);
}

// Looks up b->view[0..b->n) and prefetches. Of a client that is dealt to another shard only the
// hash is made.
void turn_route_begin(struct turn_shard *s, struct turn_burst *b);
// Whether the client of a view that turn_route_begin has looked up has an allocation, here or, by a
// redirect, on another worker: by its 5-tuple, so whoever can send from that is taken for it.
bool turn_route_knows(const struct turn_shard *s, const struct turn_view *v);
// Makes b->plan, and what of b->side it needs, for view i. Views are taken in order, and each plan
// is executed before the next is made: any operations in one burst then have the same outcome as
// in bursts of one.
void turn_route_finish(struct turn_shard *s, struct turn_burst *b, unsigned int i);
// Both for one datagram: view in b->view[0].
void turn_route_one(struct turn_shard *s, struct turn_burst *b);

// Bytes of data in a datagram of the usual kind. leg, here and below, is the view's: a constant
// where there are only such.
static inline uint16_t turn_view_data(const struct turn_view *v, unsigned int leg)
{
	return (uint16_t)(v->len - ((leg - 1) & 4));
}

// The ChannelData header that it has, or gets, as it lies in a packet.
static inline uint32_t turn_line_front(
	const struct turn_line *l, const struct turn_view *v, unsigned int leg)
{
	return l->channel | (uint32_t)__builtin_bswap16(turn_view_data(v, leg)) << 16;
}

// Datagrams of the usual kind need no plan. True when a view of a burst that turn_route_begin has
// looked up is one: ChannelData on the channel that the line has a copy of, whole, or a datagram of
// that channel's peer. The caller then takes the ChannelData header off or puts it on, sends it to
// the line's other end and counts it with turn_line_count. tick: now_ms / TURN_LINE_MS. The caller
// sees to it that a client's datagram has CHANNEL_HEADER_LEN bytes; that many can be read of any.
static inline bool turn_line_vouches(
	const struct turn_line *l, const struct turn_view *v, unsigned int leg, uint32_t tick)
{
	// no branch on the leg: it would be mispredicted every other time
	const uint32_t only_client = leg - 1;
	uint32_t header;
	uint64_t differs;

	memcpy(&header, v->data, sizeof(header));
	differs = (l->end[leg].d[0] ^ v->src.d[0]) | (l->end[leg].d[1] ^ v->src.d[1]);
	differs |= ((l->mark[leg] ^ v->mark) & (0xffff | only_client)) |
		((header ^ turn_line_front(l, v, leg)) & only_client);
	return differs == 0 && l->channel != 0 && tick < l->until;
}

// Likewise for a line with a copy of a peer without a channel. A Send indication to it, of the
// usual kind: 36 or 48, where its data of len bytes begins; the caller sends that to the peer.
// 0: it is none.
uint16_t turn_line_send(
	const struct turn_line *l, const struct turn_view *v, uint32_t tick, uint16_t *len);
// A datagram of that peer: the front of the Data indication for the client, of 36 or 48 bytes, is
// written; the caller puts it in front and pads the datagram to 4 bytes. 0: it is none.
uint16_t turn_line_data(
	struct turn_shard *s, const struct turn_view *v, uint32_t tick, uint8_t *front);

#define TURN_LINE_SPILL 0x8000

// Moves the counts of a line where there is more room.
void turn_line_spill(struct turn_shard *s, uint32_t slot);

static inline void turn_line_count(
	struct turn_shard *s, struct turn_line *l, const struct turn_view *v, unsigned int leg)
{
	if (__builtin_expect(++l->count[leg] >= TURN_LINE_SPILL, 0))
		turn_line_spill(s, v->slot);
}

// Ends of a flow that a plan of this round named.
void turn_flow_path(struct turn_shard *s, uint32_t flow, struct turn_path *out);

void turn_shard_stats(const struct turn_shard *s, struct turn_stats *out);

// One row of a listing.
struct turn_info {
	uint64_t id; // unique in the life of the process
	struct endpoint client, relay;
	char user[TURN_NAME_LEN + 1];
	uint32_t expires_s; // from now
	uint64_t rx, tx; // datagrams from the client relayed, to the client relayed
	uint32_t permissions, channels;
};

// Up to max allocations from position cursor of the live list; returns how many.
unsigned int turn_shard_list(
	const struct turn_shard *s, uint32_t cursor, struct turn_info *out, unsigned int max);

// A redirect lives with the allocation it leads to; its home tells the worker that holds it.
struct turn_redirect_note {
	struct endpoint client;
	uint8_t listener, to; // to: the worker that holds the redirect
	uint64_t until_ms; // 0 = gone
};

// Takes the notes to send (call after each burst and each expire); returns how many.
unsigned int turn_shard_notes(
	struct turn_shard *s, struct turn_redirect_note *out, unsigned int max);
// Applies a note that came from another worker.
void turn_shard_redirect(struct turn_shard *s, const struct turn_redirect_note *note);
