// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of lib/turn only.
#pragma once

#include "bitset.h"
#include "holdings.h"
#include "limit.h"
#include "pool.h"
#include "share.h"
#include "table.h"
#include "trie.h"
#include "turn.h"
#include "wheel.h"

// --- policy.c ------------------------------------------------------------------------------------

// A configured user, keys ready.
struct policy_user {
	uint8_t userhash[32]; // its first TURN_IDENT_LEN bytes are the user's ident
	struct stun_key md5, sha256; // len 0 = not to be had
	char *name;
};

// Who made a rule: of two on the same prefix the one named first here wins.
enum policy_origin { POLICY_DENY, POLICY_ALLOW, POLICY_BUILTIN_DENY };

struct policy_rule {
	struct prefix prefix;
	uint8_t origin; // enum policy_origin
};

struct turn_policy {
	char *realm;
	struct policy_user *users; // nb_users
	uint32_t nb_users;
	// Two hash indices into users, by name and by userhash (hash of its first 16 bytes).
	struct table by_name, by_hash;
	void *table_mem;
	struct hash_key key; // of both tables
	char **secrets;
	uint32_t nb_secrets;
	uint8_t nonce_key[32];
	uint32_t nonce_lifetime_s;
	struct turn_limits limits;
	bool hairpin, rfc5766_channels;
	uint32_t quarantine_s;
	// One rule a prefix, by length and then address; those of length len are at
	// [rule_from[len], rule_from[len + 1]).
	struct policy_rule *rules;
	uint32_t nb_rules, rule_from[130];
	struct addr *relay, *local; // sorted by addr_cmp
	struct addr *broadcasts; // of our IPv4 subnets, in both forms (RFC 1122 3.3.6), sorted
	struct prefix *nat64; // of translators: who is behind one is judged by his IPv4 address
	uint32_t nb_relay, nb_local, nb_broadcasts, nb_nat64;
};

// User of a USERNAME or a USERHASH; NULL when there is none.
const struct policy_user *policy_user_by_name(
	const struct turn_policy *p, const void *name, size_t len);
const struct policy_user *policy_user_by_hash(const struct turn_policy *p, const uint8_t hash[32]);

// How much one user may have of what users share, in percent: as given, else all for the only user
// that there can be, and so much where there are several.
uint32_t policy_percent(const struct turn_config *c, uint32_t given, uint32_t several);

// --- nonce.c -------------------------------------------------------------------------------------
// "obMatJos2" + 4 base64 characters of security feature bits (RFC 8489 9.2, 18.1: password
// algorithms; username anonymity too unless there are REST secrets, since it forbids clients to
// send the USERNAME that REST needs) + 19 base64 characters of a 32-bit wall-clock stamp and an
// 80-bit MAC over stamp, client address and port: stateless, bound to the client, shareable by a
// fleet.

#define NONCE_LEN 32

// out gets NONCE_LEN characters (no NUL). False when libcrypto fails.
bool nonce_make(const struct turn_policy *p, struct stun_crypto *c, const struct endpoint *client,
	uint64_t wall_s, uint8_t out[NONCE_LEN]);
enum nonce_state {
	NONCE_FOREIGN, // we did not make it, or not for this client
	// Ours (or the fleet's) for this client, but older than the lifetime, or from the future.
	NONCE_STALE,
	NONCE_VALID,
};
// Constant-time MAC compare; one HMAC for any that looks like a nonce.
enum nonce_state nonce_check(const struct turn_policy *p, struct stun_crypto *c,
	const struct endpoint *client, uint64_t wall_s, const uint8_t nonce[NONCE_LEN]);

// --- cred.c --------------------------------------------------------------------------------------

// Who has signed a request, and with what.
struct turn_cred {
	struct stun_key key;
	uint8_t alg; // enum stun_algorithm of the key
	bool rest; // a REST name, not a configured user
	bool guess; // a password was tried, right or wrong, or there is nobody of that name
	uint8_t ident[TURN_IDENT_LEN];
	uint8_t name_len;
	char name[TURN_NAME_LEN]; // for display, truncated; the configured name behind a USERHASH
	uint8_t mac[STUN_REST_MAC_LEN]; // rest: of which the password is the text
};

// Authenticates a request whose nonce is valid and which has MESSAGE-INTEGRITY or -SHA256, USERNAME
// or USERHASH, REALM and NONCE (RFC 8489 9.2.4, from "password algorithms" on). known is the cred
// of the allocation on the 5-tuple, or NULL: it spares a REST user the derivation of the key, never
// the expiry. Returns 0, 400 (bid-down: PASSWORD-ALGORITHMS differs from what we sent, only one of
// the pair, or an algorithm not in the list; USERNAME too long) or 401. REST: name is "expiry" or
// "expiry:id" (decimal seconds); at most nb_secrets derivations, none when expired. A configured
// user of that name is tried first.
unsigned int cred_verify(const struct turn_policy *p, struct stun_crypto *c,
	const struct stun_msg *m, uint64_t wall_s, const struct turn_cred *known,
	struct turn_cred *out);

// Who an allocation counts for: the ident, but for a REST name that of the id behind the expiry, so
// that new credentials are no new person. False when libcrypto fails.
bool cred_quota_ident(const struct turn_policy *p, struct stun_crypto *c, const struct stun_msg *m,
	const struct turn_cred *cred, uint8_t out[TURN_IDENT_LEN]);

// The PASSWORD-ALGORITHMS value we send: SHA-256, MD5 (8 bytes).
extern const uint8_t cred_algorithms[8];

// --- relay_map.c ---------------------------------------------------------------------------------

// The slots of a worker below this number are IPv4, the others IPv6. The parity of a slot is that
// of its port, and slot ^ 1 is the other port of its pair.
uint32_t relay_map_slots_v4(const struct turn_relay_map *m, unsigned int worker);
// NULL when every allocation has an address of its own.
const struct shared_map *relay_map_shared(const struct turn_relay_map *m);

// --- shared_map.c: which worker owns which shared address ----------------------------------------

// Immutable, part of the relay map.
struct shared_map;

struct shared_place {
	uint32_t addr; // index of the relay address
	uint16_t port;
	bool is_v4;
};

// NULL with errno as turn_relay_map_create.
struct shared_map *shared_map_create(const struct turn_config *c);
void shared_map_free(struct shared_map *m);
// As turn_relay_map_home.
bool shared_map_home(const struct shared_map *m, unsigned int addr, uint16_t port,
	unsigned int *worker, uint32_t *number);
// Shared addresses of a worker.
uint32_t shared_map_count(const struct shared_map *m, unsigned int worker);
// The address of a number below that.
struct shared_place shared_map_place(
	const struct shared_map *m, unsigned int worker, uint32_t number);
// Allocations that a worker has room for: its share and half as much again, for clients are not
// dealt evenly.
uint32_t shared_map_slots(const struct turn_config *c);

// --- relay_ports.c -------------------------------------------------------------------------------
// Free relay ports of one shard, per family: a uniform CSPRNG choice among the rested ones (also
// among even ports and among whole pairs), FIFOs of those that rest. O(1) but for the bounded
// search of a resting pair.

enum relay_ports_kind { RELAY_PORTS_ANY, RELAY_PORTS_EVEN, RELAY_PORTS_PAIR };

struct relay_ports;

// A resting port on its FIFO.
struct relay_ports_rest {
	uint64_t freed_ms;
	uint32_t next, prev;
};

struct relay_ports_memory {
	void *own; // relay_ports_size() bytes, 8-byte aligned, zeroed
	// A struct relay_ports_rest for each slot, rest_stride bytes apart. Theirs from
	// relay_ports_give to relay_ports_take; whoever has the port may write to it.
	void *rest;
	size_t rest_stride;
};

// For slots [0, turn_relay_map_slots(map, worker)).
size_t relay_ports_size(const struct turn_relay_map *map, unsigned int worker);
struct relay_ports *relay_ports_create(const struct relay_ports_memory *mem,
	const struct turn_relay_map *map, unsigned int worker, struct csprng *rng);
// True when the shard owns at least one port of the family.
bool relay_ports_has_family(const struct relay_ports *p, bool is_v4);
// Takes a slot (for PAIR the even one; slot + 1 is taken too). A port freed at t is rested when
// now_ms >= t + quarantine and now_ms > t. With none rested the longest-rested one is taken, if it
// has rested 1 s; *early counts such ports. False when there is none.
bool relay_ports_take(struct relay_ports *p, bool is_v4, enum relay_ports_kind kind,
	uint64_t now_ms, uint32_t quarantine_s, uint32_t *slot, uint64_t *early);
void relay_ports_give(struct relay_ports *p, uint32_t slot, uint64_t now_ms);
// Number of ports that are neither taken nor outside the map (resting ones included).
uint32_t relay_ports_free(const struct relay_ports *p, bool is_v4);

// --- quota.c -------------------------------------------------------------------------------------

struct quota_ref {
	uint64_t user, source; // opaque
};

// Counts one allocation of a user from a source address (IPv6: its /64). False (nothing counted)
// when a limit of l is reached. Exact with any number of workers at once.
bool quota_take(struct turn_quota *q, const struct turn_limits *l,
	const uint8_t ident[TURN_IDENT_LEN], const struct addr *source, struct quota_ref *ref);
// Whether quota_take would count a user and a source as ref.
bool quota_is(const struct turn_quota *q, const uint8_t ident[TURN_IDENT_LEN],
	const struct addr *source, const struct quota_ref *ref);
void quota_give(struct turn_quota *q, const struct quota_ref *ref);
// The source half of a ref, which the address tells at any time.
uint64_t quota_source(const struct turn_quota *q, const struct addr *source);

// --- shard.c: the state of one worker ------------------------------------------------------------

#define TURN_LIMITER_BUCKETS 8192
#define TURN_PERMISSION_MS (300 * 1000) // RFC 8656 9: exactly 300 seconds
#define TURN_CHANNEL_MS (600 * 1000) // RFC 8656 12
#define TURN_RESERVATION_MS (60 * 1000) // RFC 8656 7.2: at least 30 seconds
#define TURN_REDIRECT_PENDING_MS (5 * 1000) // until the new home confirms
#define TURN_TOKEN_LEN 8
#define TURN_NOTES_MAX 128

enum alloc_state { ALLOC_FREE, ALLOC_LIVE, ALLOC_RESERVED, ALLOC_REDIRECT };
_Static_assert(TURN_LINE_LISTENER(7) == (7 | ALLOC_LIVE << 8), "as in a mark");

// A line's mark: port, listener, state (enum alloc_state).
#define CLIENT_MARK 0xffffff // but for the state

static inline uint32_t line_mark(uint16_t port, uint8_t listener, enum alloc_state state)
{
	return port | (uint32_t)listener << 16 | (uint32_t)state << 24;
}

static inline uint16_t line_port(const struct turn_line *l, enum turn_leg end)
{
	return (uint16_t)l->mark[end];
}

static inline uint8_t line_listener(const struct turn_line *l)
{
	return (uint8_t)(l->mark[TURN_FROM_CLIENT] >> 16);
}

static inline enum alloc_state line_state(const struct turn_line *l)
{
	return (enum alloc_state)(l->mark[TURN_FROM_CLIENT] >> 24);
}

static inline void line_set_state(struct turn_line *l, enum alloc_state state)
{
	l->mark[TURN_FROM_CLIENT] =
		(l->mark[TURN_FROM_CLIENT] & CLIENT_MARK) | (uint32_t)state << 24;
}

// When a redirect ends; it has no peer.
static inline uint64_t *redirect_until(struct turn_line *l)
{
	return &l->end[TURN_FROM_PEER].d[0];
}

// Flows: a kind in the top bits, an index below.
#define FLOW_KIND (UINT32_C(3) << 30)
#define FLOW_CLIENT (UINT32_C(0) << 30) // slot: to its client
#define FLOW_PEER (UINT32_C(1) << 30) // slot: to the peer of the copy in its line
#define FLOW_CHANNEL (UINT32_C(2) << 30) // channel: to its peer

// The rest of an allocation. made outlives it. Once the port rests, the union is the ports'.
// Times of 32 bits are the low half of the clock's milliseconds: see ms_left().
struct turn_cold {
	uint32_t made; // allocations that the slot has had
	uint8_t via; // worker that holds a redirect to it, or TURN_NO_WORKER
	uint8_t name_len;
	uint8_t stale_s; // second of the clock (its low 8 bits) in which these were counted:
	uint8_t stale_answers : 4; // 438s to a stale nonce, see stranger.c
	uint8_t alg : 2; // of the key, enum stun_algorithm
	bool rest : 1; // a REST name: mac is set
	bool has_token : 1; // one was given with it
	union {
		struct {
			uint64_t quota_user; // of its quota_ref; the source is the client's
			uint32_t expires;
			uint32_t tid, who; // keyed hashes of tid and ident: see alloc_tid()
			uint32_t permissions, channels; // roots of trees
			uint16_t nb_permissions, nb_channels;
			uint32_t rx_spills, tx_spills; // of the hot line's counters
			uint8_t mac[STUN_REST_MAC_LEN];
			char name[TURN_NAME_LEN];
		};
		struct { // ALLOC_RESERVED
			struct quota_ref quota;
			uint32_t until;
			uint32_t next; // in its chain of shard.reserved
			uint8_t token[TURN_TOKEN_LEN];
		} reserved;
		struct relay_ports_rest resting;
		struct trie_links unused; // of a slot that is no address, when nobody has it
	};
};
_Static_assert(sizeof(struct turn_cold) == 88, "what an allocation costs beside its line");

// A permission: an address, whatever the port (RFC 8656 9). Outlives its time while channels name
// it.
struct turn_permission {
	struct addr peer;
	uint32_t until;
	struct trie_links links; // in the allocation's tree, by address
	uint32_t channels; // root of the tree of those that name it, by port
};
_Static_assert(sizeof(struct turn_permission) == 32, "two a cache line");

struct turn_channel {
	uint32_t until;
	uint32_t permission; // of its peer: holds the address
	uint32_t slot;
	uint16_t port, number;
	struct trie_links by_number; // in the allocation's tree
	struct trie_links by_port; // in the permission's
};
_Static_assert(sizeof(struct turn_channel) == 32, "two a cache line");

// Milliseconds until a time of which the low half is kept; 0 when it has passed. Everything that
// has such a time is looked at within minutes of it, long before the 24 days after which it would
// seem to lie ahead again.
static inline uint32_t ms_left(uint32_t until, uint64_t now_ms)
{
	const int32_t left = (int32_t)(until - (uint32_t)now_ms);

	return left > 0 ? (uint32_t)left : 0;
}

// --- shared.c: relayed transport addresses that allocations share --------------------------------
// An allocation is found by the address that a peer sends to and the peer's own, which it has
// registered; on one shared address a peer's transport address belongs to one allocation. It stays
// registered as long as the record of the permission for it, which channels keep too.

struct shared_address {
	struct shared_place at;
	uint32_t endpoints, allocations; // live
};

// A transport address of a peer, registered.
struct shared_endpoint {
	struct addr addr;
	uint16_t port;
	uint16_t number; // of the shared address
	uint32_t slot;
	struct trie_links links; // child[0]: the next one of its permission
};
_Static_assert(sizeof(struct shared_endpoint) == 32, "two a cache line");

struct shared_slot {
	uint16_t number; // of its shared address
	uint16_t endpoints; // registered
};

struct shared {
	uint32_t nb; // addresses; 0: every allocation has one of its own, and nothing here is used
	struct shared_address *address;
	struct shared_endpoint *endpoint;
	struct shared_slot *slot;
	uint32_t *of_permission; // heads of lists of endpoints
	struct table table; // of endpoints
	struct turn_pool slots, endpoints;
	struct share share; // of endpoints
	struct holdings holdings;
	uint32_t nb_family[2]; // addresses by [is_v4]
};

struct turn_shard {
	uint64_t now_ms, wall_s;
	struct turn_line *alloc; // nb_slots + nb_redirects
	struct turn_cold *cold; // nb_slots
	struct turn_permission *permission;
	struct turn_channel *channel;
	uint32_t nb_slots, nb_redirects, nb_permissions, nb_channels;
	struct table clients; // (client, port, listener) -> slot or redirect
	struct trie by_address, by_number, by_port; // of permissions, channels, channels
	struct hash_key key; // of trees and limiters
	struct hash_key client_key; // of clients
	uint8_t token_key[32]; // of which reservation tokens are made
	struct hash_key tid_key; // of Data indications' transaction ids
	uint64_t tids; // made so far
	uint32_t epoch; // grows with every insert into clients
	uint32_t tick; // now_ms in TURN_LINE_MS, as the lines count
	uint32_t passed_over; // datagrams of channels that no line has a copy of
	const struct turn_policy *policy;
	const struct turn_relay_map *map;
	struct turn_quota *quota;
	struct stun_crypto *crypto;
	struct csprng *rng;
	struct relay_ports *ports;
	// Of stranger.c: answers by source, answers to stale nonces by 5-tuple, failed
	// verifications by source; and answers to Binding requests by source.
	struct limiter *unauthenticated, *stale, *guesses, *binding;
	struct wheel wheel; // node = slot or redirect
	struct turn_pool permissions, channels, redirects;
	struct share permission_share, channel_share;
	struct bitset live; // slots of live allocations
	uint32_t *reserved; // heads of chains of reserved slots, by token
	uint32_t nb_reserved; // chains
	struct turn_listener *listener;
	struct shared shared;
	struct turn_stats stats;
	void (*line_made)(void *ctx, uint32_t slot);
	void *ctx;
	uint8_t worker, workers, nb_listeners;
	unsigned int nb_notes;
	struct turn_redirect_note note[TURN_NOTES_MAX];
};

static inline struct turn_line *alloc_at(const struct turn_shard *s, uint32_t slot)
{
	return &s->alloc[slot];
}

static inline struct turn_cold *cold_at(const struct turn_shard *s, uint32_t slot)
{
	return &s->cold[slot];
}

// Whether an allocation that has some records of a share may have nb more. A refusal is counted.
static inline bool share_allows(
	struct turn_shard *s, const struct share *h, uint32_t slot, uint32_t has, uint32_t nb)
{
	const bool fits = share_fits(h, cold_at(s, slot)->quota_user, has, nb);

	s->stats.pool_refused += !fits;
	return fits;
}

// Family of the relayed transport address.
static inline bool line_is_v4(const struct turn_shard *s, uint32_t slot)
{
	const struct addr a =
		turn_relay_map_addr(s->map, alloc_at(s, slot)->mark[TURN_FROM_PEER] >> 16);

	return addr_is_v4(&a);
}

// The relayed transport address of an allocation, live or ended in this round.
static inline struct endpoint alloc_relay(const struct turn_shard *s, uint32_t slot)
{
	const struct turn_line *l = alloc_at(s, slot);

	return (struct endpoint){turn_relay_map_addr(s->map, l->mark[TURN_FROM_PEER] >> 16),
		__builtin_bswap16(l->relay_port)};
}

// Milliseconds until an allocation ends; 0 when its time has passed, swept or not.
static inline uint32_t alloc_left(const struct turn_shard *s, uint32_t slot)
{
	return ms_left(cold_at(s, slot)->expires, s->now_ms);
}

// Whether the clients of a listener have shown by a handshake that their address is theirs.
static inline bool shard_handshakes(const struct turn_shard *s, uint8_t listener)
{
	return listener < s->nb_listeners && s->listener[listener].transport != TURN_OVER_UDP;
}

// Hash of a client's 5-tuple (the listener stands for server address and protocol).
static inline uint64_t client_hash(
	const struct turn_shard *s, const struct addr *client, uint16_t port, uint8_t listener)
{
	return turn_client_hash(&s->client_key, client, line_mark(port, listener, 0));
}

// Longest datagram in a Data indication: its length field counts attributes and padding in 16 bits.
#define TURN_DATA_MAX (UINT16_MAX - 64)
// Front of the Data indication for a peer's datagram; returns its length.
uint16_t data_indication(struct turn_shard *s, const struct turn_view *v, uint8_t *front);

// Slot or redirect of a client, or TURN_NONE. Does not look at expiry.
uint32_t alloc_lookup(const struct turn_shard *s, const struct turn_view *v);

// What makes an allocation.
struct alloc_new {
	uint32_t slot; // taken by the caller
	uint32_t lifetime_s;
	const uint8_t *tid;
	const struct turn_cred *cred;
	struct quota_ref quota;
	bool has_token; // one was given with it
};

// Makes the allocation of v's client. False when the client table has no room (nothing is changed).
bool alloc_make(struct turn_shard *s, const struct turn_view *v, const struct alloc_new *n);
// Sets a new expiry.
void alloc_refresh(struct turn_shard *s, uint32_t slot, uint32_t lifetime_s);
// Ends an allocation with all that hangs on it.
void alloc_end(struct turn_shard *s, uint32_t slot);
// Recomputes the copy of a channel in the line after any change to what it depends on: of the
// channel that is copied already, if it is still there, else of the newest.
void alloc_copy_channel(struct turn_shard *s, uint32_t slot);
// Makes it the copy of this channel (TURN_NONE: of none).
void alloc_copy(struct turn_shard *s, uint32_t slot, uint32_t channel);
// Makes it the copy of a peer that has a live permission and no channel.
void alloc_copy_peer(struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
// Whether the line has a copy of this peer, with or without a channel, that is good now.
bool line_has(const struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
// The timer of a slot fires no later than at_ms.
void alloc_timer(struct turn_shard *s, uint32_t slot, uint64_t at_ms);
// What is kept of a transaction id and of an ident: 32 bits of a keyed hash. Both are only compared
// with what the same 5-tuple sends, signed with valid credentials: a wrong match, one in 2^32,
// takes a user of this server who sits on that very 5-tuple for the one who made the allocation
// there, and nobody can work towards one without the hash's key.
uint32_t alloc_tid(const struct turn_shard *s, const uint8_t tid[STUN_TID_LEN]);
uint32_t alloc_who(const struct turn_shard *s, const uint8_t ident[TURN_IDENT_LEN]);
// The REST credentials that made the allocation, as far as cred_verify asks for them. False when it
// was not made with any, or not by the ident given.
bool alloc_cred(const struct turn_shard *s, uint32_t slot, const uint8_t ident[TURN_IDENT_LEN],
	struct turn_cred *out);
// Number of an allocation, unique in the life of the process.
uint64_t alloc_id(const struct turn_shard *s, uint32_t slot);

// Adds an index to the client table and makes its hot line anew; false when there is no room.
bool client_insert(struct turn_shard *s, const struct turn_view *v, uint32_t index);
// The client an allocation or redirect belongs to, as far as tables and notes need it.
struct turn_view client_view(const struct turn_shard *s, uint32_t index);

// Bytes of what shared_init cuts up, 64-byte aligned and zeroed. l tells how many of each.
struct shared_sizes {
	uint32_t addresses, slots, permissions, endpoints;
	struct share share; // of endpoints
};
size_t shared_size(const struct shared_sizes *l);
// The slots' records must be at s->cold.
void shared_init(struct turn_shard *s, void *mem, const struct shared_sizes *l);

// Whether the shard has relayed transport addresses of a family.
bool relay_has_family(const struct turn_shard *s, bool is_v4);
// Takes a slot for an allocation, and on shared ports the address that has the fewest endpoints:
// of several the fewest allocations, of several any. kind is for the others. False when there is
// none left.
bool relay_take(struct turn_shard *s, bool is_v4, enum relay_ports_kind kind, uint32_t *slot);
// Gives back what was taken, of the allocation only its slot being left.
void relay_give(struct turn_shard *s, uint32_t slot);
// Index of the relay address of a slot that is taken, and the port.
uint32_t relay_locate(const struct turn_shard *s, uint32_t slot, uint16_t *port);

// Looks up the datagrams of peers of a burst: each view's slot, a number till then, becomes the
// allocation's or TURN_NONE.
void shared_look_up(struct turn_shard *s, struct turn_burst *b);
// Allocation that has registered the sender of a view looked up; TURN_NONE.
uint32_t shared_slot_of(const struct turn_shard *s, const struct turn_view *v);
// What stands in the way of registering a peer for an allocation. What is past its time does not.
enum shared_answer {
	SHARED_OURS, // nothing: it is registered
	SHARED_FREE, // nothing
	SHARED_COLLISION, // another allocation has it
	SHARED_FULL, // too many already
	SHARED_SHARE, // the user has it on as many addresses as limits.peer_share allows
};
enum shared_answer shared_ask(struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
// Registers a peer of which shared_ask has said that it is free. To be followed by shared_keep,
// once the allocation has a permission for its address, or shared_withdraw. TURN_NONE when the
// table has no room.
uint32_t shared_register(struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
void shared_keep(struct turn_shard *s, uint32_t endpoint);
void shared_withdraw(struct turn_shard *s, uint32_t endpoint);
// Ends what is registered with a permission, which is about to be freed: work for each of these
// endpoints, whatever else there is.
void shared_forget(struct turn_shard *s, uint32_t permission);

// --- reservation.c -------------------------------------------------------------------------------

// Reserves an odd slot (taken by the caller) with the token of the allocation that will be made on
// the even one; it counts in the quota like an allocation. False when libcrypto fails.
bool reservation_make(struct turn_shard *s, uint32_t slot, const struct quota_ref *quota);
// The token that goes with the allocation on an even slot, of which made has this value: not kept
// but made again, so that a retransmission gets it. False when libcrypto fails.
bool reservation_token(
	const struct turn_shard *s, uint32_t slot, uint32_t made, uint8_t token[TURN_TOKEN_LEN]);
// Slot of a live reservation with this token, or TURN_NONE.
uint32_t reservation_find(const struct turn_shard *s, const uint8_t token[TURN_TOKEN_LEN]);
// The slot stops being reserved; it stays taken and counted.
void reservation_take(struct turn_shard *s, uint32_t slot);
// Likewise, and its quota is given back.
void reservation_end(struct turn_shard *s, uint32_t slot);
// Likewise, and the port is given back.
void reservation_lapse(struct turn_shard *s, uint32_t slot);

// Leads a client to another worker until the allocation made there ends. False when there is no
// room.
bool redirect_make(struct turn_shard *s, const struct turn_view *v, uint8_t worker);
void redirect_end(struct turn_shard *s, uint32_t index);
// Its timer has fired: it ends or, prolonged meanwhile, goes on.
void redirect_due(struct turn_shard *s, uint32_t index);
// Tells the worker that holds the redirect of this client (nothing when via is TURN_NO_WORKER).
void redirect_note(struct turn_shard *s, uint8_t via, const struct turn_view *v, uint64_t until_ms);

// --- peers.c: permissions and channels of an allocation ------------------------------------------

// Permission for an address, whether or not its time has passed; TURN_NONE.
uint32_t permission_find(const struct turn_shard *s, uint32_t slot, const struct addr *peer);
bool permission_live(const struct turn_shard *s, uint32_t slot, const struct addr *peer);
// Channel by number, or by peer; expired ones too; TURN_NONE.
uint32_t channel_by_number(const struct turn_shard *s, uint32_t slot, uint16_t number);
uint32_t channel_by_peer(const struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
// Milliseconds until the permission of an address has passed; 0 when there is none.
uint32_t permission_time(const struct turn_shard *s, uint32_t slot, const struct addr *peer);
// Milliseconds until a channel or its permission has passed.
uint32_t peers_left(const struct turn_shard *s, uint32_t channel);
// A channel whose own time has not passed.
bool channel_bound(const struct turn_shard *s, uint32_t channel);
// A channel whose own time and whose permission's time have not passed.
bool channel_live(const struct turn_shard *s, uint32_t channel);
// Whether nb more permissions fit the allocation and its user's share of the pool; a share that is
// used up is counted.
bool permissions_fit(struct turn_shard *s, uint32_t slot, uint32_t nb);
// Installs or refreshes; the caller has made sure that it fits. Returns the record.
uint32_t permission_set(struct turn_shard *s, uint32_t slot, const struct addr *peer);
// Binds or refreshes a channel and its permission: 0 or 508.
unsigned int channel_set(
	struct turn_shard *s, uint32_t slot, uint16_t number, const struct endpoint *peer);
// Frees what has expired; returns the milliseconds to the earliest expiry left (UINT32_MAX: none).
uint32_t peers_purge(struct turn_shard *s, uint32_t slot);
// Frees what has expired, if anything can have; for requests.
void peers_settle(struct turn_shard *s, uint32_t slot);
void peers_end(struct turn_shard *s, uint32_t slot);

// --- route.c -------------------------------------------------------------------------------------

void plan_drop(struct turn_plan *plan, enum turn_drop reason);

// --- request.c, methods.c ------------------------------------------------------------------------

// One request on its way through its handler.
struct turn_request {
	struct turn_shard *s;
	struct turn_view *v;
	struct stun_msg m;
	uint32_t slot; // live allocation of the 5-tuple, or TURN_NONE
	struct turn_cred cred; // who signed it; key.len 0 = nobody
	struct stun_writer w; // a handler that returns 0 finds a success response begun here
	uint8_t proof; // enum proof
	const char *reason; // in place of the phrase that goes with the code; NULL = that one
	bool handover; // a handler asks for: hand the datagram to worker `worker`
	uint8_t worker;
};

// Answers a STUN request whole: plan and side->front.
void turn_request(struct turn_shard *s, struct turn_view *v, const struct stun_msg *m,
	struct turn_plan *plan, struct turn_side *side);

// Each returns 0 (attributes of the success response appended) or a STUN error code.
unsigned int method_binding(struct turn_request *r);
unsigned int method_allocate(struct turn_request *r);
unsigned int method_refresh(struct turn_request *r);
unsigned int method_create_permission(struct turn_request *r);
unsigned int method_channel_bind(struct turn_request *r);

// Decodes the peer address attribute whose value is at off: canonical, of the family of the
// allocation's relayed transport address. 0, 400 or 443.
unsigned int peer_decode(const struct turn_shard *s, uint32_t slot, const struct stun_msg *m,
	uint16_t off, struct endpoint *peer);
