// SPDX-License-Identifier: BSD-3-Clause
// Random operations on a shard, as data. An op is the action of a client or peer; an outcome is its
// result. world.c invents ops. wire.c turns ops into datagrams, and plans into outcomes. naive.c
// judges outcomes and never sees a byte of a message.
#pragma once

#include "feature_names.h"
#include "turn_fixture.h"

#define MODEL_CLIENTS 24
#define MODEL_PEERS 19
#define MODEL_BESIDE 18 // in a world with a common address: another host that has it
#define MODEL_USERS 9
#define MODEL_REALM "b.test" // in addition to the fixture's realm; its one user is also called ivan
#define MODEL_OTHER 5 // that user
#define MODEL_TOKENS 6 // the first user with access tokens
#define MODEL_NONCE_LEN 32
#define MODEL_OP_PEERS 4 // most peers in one CreatePermission
#define MODEL_DATAGRAM 512 // longest datagram, bytes
#define MODEL_POOL_AMPLE 8192 // more records than all allocations of a world can use
#define MODEL_PORTS 24 // most relay ports of one address

// True if clients may move, and if there may be no room for another one that does.
#ifdef FEATURE_MOBILITY
#define MODEL_MOBILITY true
static inline bool model_may_move(const struct turn_config *c)
{
	return c->mobility.enabled;
}

static inline bool model_may_lack_moves(const struct turn_config *c)
{
	return c->mobility.moves != MODEL_POOL_AMPLE;
}
#else
#define MODEL_MOBILITY false
static inline bool model_may_move(const struct turn_config *c)
{
	return false;
}

static inline bool model_may_lack_moves(const struct turn_config *c)
{
	return false;
}
#endif

// True if a port may be reserved.
#ifdef FEATURE_RESERVATIONS
#define MODEL_RESERVATIONS true
#else
#define MODEL_RESERVATIONS false
#endif

// Clients may be sent to other servers.
#ifdef FEATURE_ALTERNATES
#define MODEL_ALTERNATES true
#else
#define MODEL_ALTERNATES false
#endif

// The realm MODEL_REALM comes and goes.
#ifdef FEATURE_REALMS
#define MODEL_REALMS true
static inline void model_serve_other(struct turn_config *c, bool served)
{
	c->nb_realms = served;
}
#else
#define MODEL_REALMS false
static inline void model_serve_other(struct turn_config *c, bool served)
{
}
#endif

enum op_kind {
	OP_BINDING,
	OP_ALLOCATE,
	OP_REFRESH,
	OP_PERMIT,
	OP_BIND,
	OP_SEND,
	OP_CHANNEL_DATA,
	OP_PEER, // a datagram at a relayed transport address
	OP_GARBAGE,
	OP_KINDS
};

// How a request is signed, rightly or wrongly.
enum op_sign {
	SIGN_GOOD,
	SIGN_NONE, // no integrity at all
	SIGN_PASSWORD, // the wrong password
	SIGN_NO_USER, // with integrity, but one attribute is missing
	SIGN_NO_REALM,
	SIGN_NO_NONCE,
	SIGN_LIST_ONLY, // PASSWORD-ALGORITHMS without PASSWORD-ALGORITHM
	SIGN_CHOICE_ONLY,
	SIGN_LIST_OTHER, // another list than the server's, as in a bid-down attack
	SIGN_TAMPERED, // one bit changed after it was signed
	SIGN_KINDS
};

// The key and the integrity attribute of a signed request.
enum op_style {
	STYLE_PLAIN, // no algorithms, MD5 key, MESSAGE-INTEGRITY
	STYLE_SHA1, // PASSWORD-ALGORITHM MD5, MESSAGE-INTEGRITY
	STYLE_MD5, // PASSWORD-ALGORITHM MD5, MESSAGE-INTEGRITY-SHA256
	STYLE_SHA256, // PASSWORD-ALGORITHM SHA-256, MESSAGE-INTEGRITY-SHA256
	STYLE_USERHASH, // like STYLE_SHA256, with USERHASH instead of USERNAME
	STYLE_KINDS
};

// ACCESS-TOKEN of a request.
enum op_access {
	ACCESS_NONE,
	ACCESS_GOOD,
	ACCESS_CUT,
	ACCESS_FORGED, // one bit is changed
	ACCESS_NAME, // made for another server
	ACCESS_FUTURE,
	ACCESS_EXPIRED,
	ACCESS_KINDS
};

// An otherwise correct request may have one attribute of an impossible length.
enum op_malformed {
	WELL_FORMED,
	BAD_TRANSPORT,
	BAD_FAMILY,
	BAD_EVEN_PORT,
	BAD_TOKEN,
	BAD_ADDITIONAL,
	BAD_KINDS
};

// Datagrams that no TURN server can use.
enum op_garbage {
	GARBAGE_NOT_TURN, // first byte 4..63 or 80..255
	GARBAGE_STUN, // first byte of STUN, random bytes after it
	GARBAGE_LENGTH, // the length field does not fit the datagram
	GARBAGE_COOKIE,
	GARBAGE_METHOD, // a method that does not exist
	GARBAGE_CLASS, // a response, or a class that the method does not have
	GARBAGE_FINGERPRINT, // a wrong FINGERPRINT
	GARBAGE_KEEPALIVE, // a Binding indication
	GARBAGE_EMPTY, // no bytes
	GARBAGE_KINDS
};

#define MODEL_TICKET 32 // characters of a ticket
#define MODEL_TICKETS 64 // number that the world remembers

// The MOBILITY-TICKET of an Allocate or Refresh.
enum op_ticket {
	TICKET_NONE,
	TICKET_EMPTY, // as Allocate asks for one
	TICKET_WRONG, // of a length that no ticket has
	TICKET_TEXT // op.ticket_text
};

struct op_nonce {
	uint8_t text[MODEL_NONCE_LEN];
	struct endpoint client; // the client that got it
	uint64_t wall_s; // when the client got it
	bool junk; // invented, not the server's
};

struct op {
	enum op_kind kind;
	enum op_garbage garbage;
	unsigned int client, user;
	uint32_t tid;
	enum op_sign sign;
	enum op_style style;
	enum op_access access;
	struct op_nonce nonce;
	bool unknown; // has an unknown comprehension-required attribute
	bool optional; // has an attribute of other methods: MOBILITY-TICKET
	enum op_ticket ticket;
	char ticket_text[MODEL_TICKET + 1];
	bool fingerprint;
	bool padding_dirty; // its padding is not zero
	enum op_malformed malformed;

	int transport; // Allocate: protocol number, or -1 = not sent
	int family; // Allocate, Refresh: 0 = not sent, 1, 2, or a family that does not exist
	int additional; // ADDITIONAL-ADDRESS-FAMILY: like family
	int even; // EVEN-PORT: -1 = not sent, 0, or 1 = reserve the next port too
	bool has_lifetime, has_token;
	uint32_t lifetime_s;
	uint8_t token[8];

	unsigned int nb_peers, peer[MODEL_OP_PEERS]; // indices into peer of struct model_world
	bool peer_malformed[MODEL_OP_PEERS];
	bool has_channel, has_data, df_attribute;
	uint16_t channel;

	uint16_t len; // bytes of the data
	int slack; // ChannelData: bytes after the data (padding); negative = bytes are missing
	bool hairpin; // OP_PEER: comes from one of the server's relay addresses
	struct endpoint relay; // OP_PEER: where the datagram goes
};

// PEER_FAR: no route leads to it, if there are routes; PEER_OPEN if everything is reachable.
enum peer_class { PEER_OPEN, PEER_FAR, PEER_FORBIDDEN, PEER_OWN, PEER_BESIDE };

struct model_peer {
	struct endpoint wire; // as on the wire
	struct addr canonical;
	enum peer_class class;
	bool encoded; // an IPv4 address written as an IPv6 address
	bool denied; // by a reload; the class is then PEER_FORBIDDEN
};

struct model_user {
	char name[48], password[32];
	const char *realm;
	bool known;
	uint64_t expires_s; // 0 = never
	bool token; // uses access tokens; name is the kid
	struct stun_key mac;
	uint64_t token_end_s;
};

struct model_client {
	struct endpoint endpoint;
	uint8_t listener;
	unsigned int user; // the user whose name it usually sends
	struct op_nonce nonce, old_nonce;
	bool has_nonce, has_relay;
	struct endpoint relay[2]; // from its last Allocate; both equal if that gave one
	struct op last; // its last request
	bool has_last;
};

// Knowledge of clients and peers: enough to invent ops that mostly make sense.
struct model_world {
	struct test_rand rand;
	struct turn_config config;
	struct model_client client[MODEL_CLIENTS];
	struct model_peer peer[MODEL_PEERS];
	struct model_user user[MODEL_USERS];
	struct model_ticket {
		char text[MODEL_TICKET + 1];
		unsigned int user;
	} ticket[MODEL_TICKETS]; // the last ones seen; ticket i is at i % MODEL_TICKETS
	uint32_t nb_tickets;
	uint8_t token[8]; // last reservation token seen
	bool has_token;
	uint32_t tids;
	struct turn_listener listener[3]; // config points to them
	// config points to them, too; both or neither have an external address
	struct turn_local local[2];
	struct route route[2]; // config points to them, if there are routes
	bool common; // peers.allow names the external address of IPv4
	struct prefix allow[4]; // config points to them then
};

// The result of an op.
struct outcome {
	enum turn_verdict verdict;
	enum turn_drop reason;
	unsigned int code; // of a reply: error code, 0 = success
	// relayed2 is the second of two, an IPv6 address, and relayed is then an IPv4 address. It
	// has port 0 if there is only one.
	struct endpoint relayed, relayed2;
	unsigned int address_error, error_family; // in ADDRESS-ERROR-CODE; 0 = no such attribute
	uint8_t token[8];
	bool has_token;
	char ticket[MODEL_TICKET + 1]; // "" = none
	uint32_t lifetime_s;
	struct endpoint src, dst; // of a relayed datagram
	uint16_t channel; // 0: sent to a peer, or in a Data indication
	bool data_indication, df;
	struct endpoint peer; // named in the Data indication
	struct endpoint alternate[2]; // named in a 300
	unsigned int nb_alternates;
	const uint8_t *payload;
	uint16_t len;
};

// Returns byte i of the data of an op.
static inline uint8_t model_data(const struct op *op, size_t i)
{
	return (uint8_t)(op->tid + 7 * i);
}

// --- tokens.c
// Makes the keys of tokens, and the users of these tokens.
void model_tokens_init(struct model_world *w);
// Appends the token of an op, if it has a token.
void model_tokens_put(const struct model_world *w, struct stun_writer *writer, const struct op *op);
// Picks the token of an op; for a user with tokens often another such user, too.
void model_tokens_pick(struct model_world *w, struct op *op);
// Adds or removes a key.
void model_tokens_toggle(struct model_world *w);
// True if a challenge has THIRD-PARTY-AUTHORIZATION only if told.
bool model_tokens_told(const struct stun_msg *m, bool told);

// --- world.c
// Makes the world of a seed: configuration, clients, peers and users.
void model_world_init(struct model_world *w, uint64_t seed);
// Invents the next op.
struct op model_op(struct model_world *w);
// Stores the knowledge that a client gains from the outcome of its op.
void model_learn(struct model_world *w, const struct op *op, const struct outcome *o);
// Stores the nonce that a client received.
void model_learn_nonce(
	struct model_world *w, const struct op *op, const uint8_t *nonce, uint64_t wall_s);
// Prints an op for the reader of a failure.
void model_print(const struct model_world *w, const struct op *op);

// --- wire.c
// True if an op names its peer i, an address of the server, by the address that clients see.
bool model_peer_public(const struct model_world *w, const struct op *op, unsigned int i);
// Builds the datagram of an op in buf; returns its length.
uint16_t model_encode(
	struct model_world *w, struct fixture *f, const struct op *op, uint8_t buf[MODEL_DATAGRAM]);
// Builds the view of an op, without view->data, which is the caller's buf.
void model_view(const struct model_world *w, const struct fixture *f, const struct op *op,
	struct turn_view *v);
// Turns view, plan and side i of the fixture's burst into an outcome. Returns NULL, or a text that
// says what is wrong with them.
const char *model_decode(struct model_world *w, struct fixture *f, unsigned int i,
	const struct op *op, struct outcome *o);
