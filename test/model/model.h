// SPDX-License-Identifier: BSD-3-Clause
// Random operations on a shard as data: an op says what a client or peer does, an outcome what came
// of it. world.c makes ops up, wire.c turns them into datagrams and plans into outcomes, naive.c
// judges outcomes and never sees a byte of a message.
#pragma once

#include "turn_fixture.h"

#define MODEL_CLIENTS 24
#define MODEL_PEERS 18
#define MODEL_USERS 5
#define MODEL_NONCE_LEN 32
#define MODEL_OP_PEERS 4 // most in one CreatePermission
#define MODEL_DATAGRAM 512 // longest
#define MODEL_POOL_AMPLE 8192 // records that all allocations of a world cannot use up
#define MODEL_PORTS 24 // most relay ports of one address

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

// How a request proves who it is from.
enum op_sign {
	SIGN_GOOD,
	SIGN_NONE, // no integrity at all
	SIGN_PASSWORD, // the wrong password
	SIGN_NO_USER, // an attribute missing beside the integrity
	SIGN_NO_REALM,
	SIGN_NO_NONCE,
	SIGN_LIST_ONLY, // PASSWORD-ALGORITHMS without PASSWORD-ALGORITHM
	SIGN_CHOICE_ONLY,
	SIGN_LIST_OTHER, // another list than the server's: bid down
	SIGN_TAMPERED, // one bit changed behind the integrity's back
	SIGN_KINDS
};

// Key and integrity of a request that is signed.
enum op_style {
	STYLE_PLAIN, // no algorithms, MD5 key, MESSAGE-INTEGRITY
	STYLE_SHA1, // PASSWORD-ALGORITHM MD5, MESSAGE-INTEGRITY
	STYLE_MD5, // PASSWORD-ALGORITHM MD5, MESSAGE-INTEGRITY-SHA256
	STYLE_SHA256, // PASSWORD-ALGORITHM SHA-256, MESSAGE-INTEGRITY-SHA256
	STYLE_USERHASH, // likewise, USERHASH in place of USERNAME
	STYLE_KINDS
};

// One attribute of an otherwise proper request that has a length it cannot have.
enum op_malformed { WELL_FORMED, BAD_TRANSPORT, BAD_FAMILY, BAD_EVEN_PORT, BAD_TOKEN, BAD_KINDS };

// Something no TURN server can use.
enum op_garbage {
	GARBAGE_NOT_TURN, // first byte 4..63 or 80..255
	GARBAGE_STUN, // first byte of STUN, random behind it
	GARBAGE_LENGTH, // a length field that is not the datagram's
	GARBAGE_COOKIE,
	GARBAGE_METHOD, // a method that there is not
	GARBAGE_CLASS, // a response, or a class that the method does not have
	GARBAGE_FINGERPRINT, // a wrong FINGERPRINT
	GARBAGE_KEEPALIVE, // a Binding indication
	GARBAGE_EMPTY, // no byte at all
	GARBAGE_KINDS
};

struct op_nonce {
	uint8_t text[MODEL_NONCE_LEN];
	struct endpoint client; // who got it
	uint64_t wall_s; // when
	bool junk; // made up
};

struct op {
	enum op_kind kind;
	enum op_garbage garbage;
	unsigned int client, user;
	uint32_t tid;
	enum op_sign sign;
	enum op_style style;
	struct op_nonce nonce;
	bool unknown; // an unknown comprehension-required attribute
	bool optional; // unknown optional ones: ADDITIONAL-ADDRESS-FAMILY, MOBILITY-TICKET
	bool fingerprint;
	bool padding_dirty; // padding that is not zero
	enum op_malformed malformed;

	int transport; // Allocate: protocol number, or -1 = not said
	int family; // Allocate, Refresh: 0 = not said, 1, 2, or what there is not
	int even; // EVEN-PORT: -1 = not said, 0, or 1 = reserve the next one
	bool has_lifetime, has_token;
	uint32_t lifetime_s;
	uint8_t token[8];

	unsigned int nb_peers, peer[MODEL_OP_PEERS]; // indices into model_peers
	bool peer_malformed[MODEL_OP_PEERS];
	bool has_channel, has_data, df_attribute;
	uint16_t channel;

	uint16_t len; // of the data
	int slack; // ChannelData: bytes behind the data (padding), negative = some are missing
	bool hairpin; // OP_PEER: comes from an own relay address
	struct endpoint relay; // OP_PEER: where to
};

enum peer_class { PEER_OPEN, PEER_FORBIDDEN, PEER_OWN };

struct model_peer {
	struct endpoint at; // as it is on the wire
	struct addr canonical;
	enum peer_class class;
	bool encoded; // an IPv4 address in the clothes of an IPv6 one
};

struct model_user {
	char name[48], password[32];
	bool known;
	uint64_t expires_s; // 0 = never
};

struct model_client {
	struct endpoint at;
	uint8_t listener;
	unsigned int user; // whom it usually is
	struct op_nonce nonce, old_nonce;
	bool has_nonce, has_relay;
	struct endpoint relay; // of its last Allocate
	struct op last; // its last request
	bool has_last;
};

// What the other end knows: enough to make up ops that mostly make sense.
struct model_world {
	struct test_rand rand;
	struct turn_config config;
	struct model_client client[MODEL_CLIENTS];
	struct model_peer peer[MODEL_PEERS];
	struct model_user user[MODEL_USERS];
	uint8_t token[8]; // last reservation token seen
	bool has_token;
	uint32_t tids;
	struct turn_listener listener[3]; // behind config
};

struct outcome {
	enum turn_verdict verdict;
	enum turn_drop reason;
	unsigned int code; // of a reply: 0 = success
	struct endpoint relayed;
	uint8_t token[8];
	bool has_token;
	uint32_t lifetime_s;
	struct endpoint src, dst; // of a datagram that is passed on
	uint16_t channel; // 0: as it is, to a peer; or in a Data indication
	bool data_indication, df;
	struct endpoint peer; // that the Data indication names
	const uint8_t *payload;
	uint16_t len;
};

// Byte i of the data of an op.
static inline uint8_t model_data(const struct op *op, size_t i)
{
	return (uint8_t)(op->tid + 7 * i);
}

// --- world.c
void model_world_init(struct model_world *w, uint64_t seed);
struct op model_op(struct model_world *w);
// Takes over what a client learns from the outcome of its op.
void model_learn(struct model_world *w, const struct op *op, const struct outcome *o);
void model_learn_nonce(
	struct model_world *w, const struct op *op, const uint8_t *nonce, uint64_t wall_s);
void model_print(const struct model_world *w, const struct op *op);

// --- wire.c
// Builds the datagram and the view of an op (but view->data, which is buf); returns its length.
uint16_t model_encode(
	struct model_world *w, struct fixture *f, const struct op *op, uint8_t buf[MODEL_DATAGRAM]);
void model_view(const struct model_world *w, const struct fixture *f, const struct op *op,
	struct turn_view *v);
// Reads view, plan and side i of the fixture's burst. NULL, or what is wrong with them.
const char *model_decode(struct model_world *w, struct fixture *f, unsigned int i,
	const struct op *op, struct outcome *o);
