// SPDX-License-Identifier: BSD-3-Clause
// Turns ops into datagrams, and plans into outcomes. It also checks the form of every answer
// (class, attributes, and the key that signs it).
#include "model.h"

#include <netinet/in.h>

#define TYPE_UNKNOWN 0x7f01 // comprehension-required, not assigned

static const uint8_t algorithms[8] = {0, 2, 0, 0, 0, 1, 0, 0}; // RFC 8489 14.11: SHA-256, MD5
static const uint8_t only_md5[4] = {0, 1, 0, 0};

// --- to the wire

// Writes an attribute that lib/stun has no name for, under another type, and then renames it.
static void put_raw(struct stun_writer *w, uint16_t type, const void *value, size_t len)
{
	const uint16_t start = w->len;

	stun_put(w, STUN_SOFTWARE, value, len);
	store_be16(w->buf + start, type);
}

// The external address of a local address, or NULL.
static const struct addr *external_of(const struct model_world *m, const struct addr *local)
{
	static const struct addr none;

	for (int i = 0; i < 2; i++)
		if (addr_eq(&m->local[i].addr, local) && !addr_eq(&m->local[i].external, &none))
			return &m->local[i].external;
	return NULL;
}

// Replaces an external address by its local address. False if the client was told a local address
// instead of its external address.
static bool to_local(const struct model_world *m, struct endpoint *e)
{
	struct addr *const a = &e->addr;

	if (m->common && endpoint_eq(e, &m->peer[MODEL_BESIDE].wire))
		return true;
	if (external_of(m, a) != NULL)
		return false;
	for (int i = 0; i < 2; i++)
		if (external_of(m, &m->local[i].addr) != NULL && addr_eq(&m->local[i].external, a))
			*a = m->local[i].addr;
	return true;
}

bool model_peer_public(const struct model_world *w, const struct op *op, unsigned int i)
{
	// a channel to a peer on a common address makes two permissions, so the model always names
	// the peer by that address
	return ((op->tid & 1) != 0 || (w->common && op->kind == OP_BIND)) &&
		external_of(w, &w->peer[op->peer[i]].wire.addr) != NULL;
}

// public: writes the external address of the peer, which is an address of the server.
static void put_peer(
	const struct model_world *m, struct stun_writer *w, const struct model_peer *p, bool public)
{
	uint8_t value[20] = {0, 2};

	if (public) {
		const struct endpoint told = {*external_of(m, &p->wire.addr), p->wire.port};

		stun_put_xor_addr(w, STUN_XOR_PEER_ADDRESS, &told);
		return;
	}
	if (!p->encoded) {
		stun_put_xor_addr(w, STUN_XOR_PEER_ADDRESS, &p->wire);
		return;
	}
	// All 16 bytes are XORed with cookie and tid (RFC 8489 14.2), even those of a mapped IPv4
	// address.
	store_be16(value + 2, p->wire.port ^ load_be16(w->buf + 4));
	for (int i = 0; i < 16; i++)
		value[4 + i] = p->wire.addr.b[i] ^ w->buf[4 + i];
	stun_put(w, STUN_XOR_PEER_ADDRESS, value, sizeof(value));
}

static void put_family(struct stun_writer *w, const struct op *op)
{
	const uint8_t family[4] = {(uint8_t)op->family};

	if (op->malformed == BAD_FAMILY)
		stun_put(w, STUN_REQUESTED_ADDRESS_FAMILY, family, 3);
	else if (op->family != 0)
		stun_put(w, STUN_REQUESTED_ADDRESS_FAMILY, family, 4);
}

static void put_allocate(struct stun_writer *w, const struct op *op)
{
	const uint8_t transport[4] = {(uint8_t)op->transport, 0xee, 0xee, 0xee}; // RFFU: ignored
	const uint8_t additional[4] = {(uint8_t)op->additional, 0xee, 0xee, 0xee};
	const uint8_t even = op->even == 1 ? 0x80 : 0;

	if (op->malformed == BAD_TRANSPORT)
		stun_put(w, STUN_REQUESTED_TRANSPORT, transport, 1);
	else if (op->transport >= 0)
		stun_put(w, STUN_REQUESTED_TRANSPORT, transport, 4);
	if (op->malformed == BAD_EVEN_PORT)
		stun_put(w, STUN_EVEN_PORT, transport, 0);
	else if (op->even >= 0)
		stun_put(w, STUN_EVEN_PORT, &even, 1);
#ifdef FEATURE_RESERVATIONS
	if (op->malformed == BAD_TOKEN)
		stun_put(w, STUN_RESERVATION_TOKEN, op->token, 7);
	else if (op->has_token)
		stun_put(w, STUN_RESERVATION_TOKEN, op->token, 8);
#endif
	if (op->malformed == BAD_ADDITIONAL)
		stun_put(w, STUN_ADDITIONAL_ADDRESS_FAMILY, additional, 3);
	else if (op->additional != 0)
		stun_put(w, STUN_ADDITIONAL_ADDRESS_FAMILY, additional, 4);
	if (op->df_attribute)
		stun_put(w, STUN_DONT_FRAGMENT, NULL, 0);
}

static void fill(uint8_t *out, const struct op *op, size_t len)
{
	for (size_t i = 0; i < len; i++)
		out[i] = model_data(op, i);
}

// Writes the attributes that the method defines.
static void put_body(struct model_world *m, struct stun_writer *w, const struct op *op)
{
	static const uint8_t malformed[7] = {0, 2};
	uint8_t data[MODEL_DATAGRAM];

	if (op->kind == OP_ALLOCATE)
		put_allocate(w, op);
	put_family(w, op);
	if (op->has_lifetime)
		stun_put_u32(w, STUN_LIFETIME, op->lifetime_s);
	if (op->has_channel && op->kind == OP_BIND)
		stun_put_u32(w, STUN_CHANNEL_NUMBER, (uint32_t)op->channel << 16);
	for (unsigned int i = 0; i < op->nb_peers; i++) {
		if (op->peer_malformed[i])
			stun_put(w, STUN_XOR_PEER_ADDRESS, malformed, sizeof(malformed));
		else
			put_peer(m, w, &m->peer[op->peer[i]], model_peer_public(m, op, i));
	}
	if (op->df_attribute && op->kind == OP_SEND)
		stun_put(w, STUN_DONT_FRAGMENT, NULL, 0);
	if (op->kind == OP_SEND && op->has_data) {
		fill(data, op, op->len);
		stun_put(w, STUN_DATA_ATTR, data, op->len);
	}
	if (op->optional || op->ticket == TICKET_EMPTY)
		stun_put(w, STUN_MOBILITY_TICKET, NULL, 0);
	else if (op->ticket != TICKET_NONE)
		stun_put(w, STUN_MOBILITY_TICKET, op->ticket_text,
			MODEL_TICKET - (op->ticket == TICKET_WRONG));
	if (op->padding_dirty) {
		stun_put(w, STUN_SOFTWARE, "x", 1);
		w->buf[w->len - 1] = 0xee; // RFC 8489 14: ignored
	}
	if (op->unknown)
		put_raw(w, TYPE_UNKNOWN, "\1\2\3", 3);
}

static enum stun_algorithm style_algorithm(const struct op *op)
{
	return op->style >= STYLE_SHA256 ? STUN_ALG_SHA256 : STUN_ALG_MD5;
}

static bool style_sha1(const struct op *op)
{
	return op->style == STYLE_PLAIN || op->style == STYLE_SHA1;
}

static void op_key(
	struct model_world *m, struct fixture *f, const struct op *op, struct stun_key *key)
{
	const struct model_user *u = &m->user[op->user];
	const char *password = op->sign == SIGN_PASSWORD ? "wrong" : u->password;
	const struct stun_credential cred = {
		u->name, strlen(u->name), u->realm, password, strlen(password)};

	assert_true(stun_key_make(f->crypto, style_algorithm(op), &cred, key));
	if (u->token && op->sign != SIGN_PASSWORD)
		*key = u->mac;
}

static void put_user(
	struct model_world *m, struct fixture *f, struct stun_writer *w, const struct op *op)
{
	const struct model_user *u = &m->user[op->user];
	uint8_t hash[32];

	if (op->sign == SIGN_NO_USER)
		return;
	if (op->style != STYLE_USERHASH) {
		stun_put(w, STUN_USERNAME, u->name, strlen(u->name));
		return;
	}
	assert_true(stun_userhash(f->crypto, u->name, strlen(u->name), u->realm, hash));
	stun_put(w, STUN_USERHASH, hash, sizeof(hash));
}

static void put_algorithms(struct stun_writer *w, const struct op *op)
{
	const bool list = op->sign == SIGN_LIST_ONLY ||
		(op->style != STYLE_PLAIN && op->sign != SIGN_CHOICE_ONLY);
	const bool choice = op->sign == SIGN_CHOICE_ONLY || op->sign == SIGN_LIST_OTHER ||
		(op->style != STYLE_PLAIN && op->sign != SIGN_LIST_ONLY);

	if (op->sign == SIGN_LIST_OTHER)
		stun_put(w, STUN_PASSWORD_ALGORITHMS, only_md5, sizeof(only_md5));
	else if (list)
		stun_put(w, STUN_PASSWORD_ALGORITHMS, algorithms, sizeof(algorithms));
	if (choice)
		stun_put(w, STUN_PASSWORD_ALGORITHM,
			style_algorithm(op) == STUN_ALG_SHA256 ? algorithms : only_md5, 4);
}

static void put_auth(
	struct model_world *m, struct fixture *f, struct stun_writer *w, const struct op *op)
{
	struct stun_key key;

	if (op->sign == SIGN_NONE)
		return;
	model_tokens_put(m, w, op);
	put_user(m, f, w, op);
	if (op->sign != SIGN_NO_REALM)
		stun_put(w, STUN_REALM, m->user[op->user].realm, strlen(m->user[op->user].realm));
	if (op->sign != SIGN_NO_NONCE)
		stun_put(w, STUN_NONCE, op->nonce.text, MODEL_NONCE_LEN);
	put_algorithms(w, op);
	op_key(m, f, op, &key);
	stun_put_integrity(w, f->crypto, style_sha1(op) ? STUN_ALG_MD5 : STUN_ALG_SHA256, &key);
	// changes the last byte of the HMAC, or of the header that the HMAC covers
	if (op->sign == SIGN_TAMPERED)
		w->buf[op->tid % 2 == 0 ? w->len - 1 : STUN_HEADER_LEN - 1] ^= 1;
}

static void begin(struct stun_writer *w, uint8_t *buf, const struct op *op, enum stun_class cls,
	uint16_t method)
{
	uint8_t tid[STUN_TID_LEN] = {0xda, 0x7a};

	store_be32(tid + 8, op->tid);
	stun_begin(w, buf, MODEL_DATAGRAM, cls, method, tid);
}

// Writes a message that differs from a correct one in one thing.
static uint16_t encode_garbage(struct model_world *m, const struct op *op, uint8_t *buf)
{
	// only Binding may come without the cookie (RFC 3489)
	const uint16_t method = op->garbage == GARBAGE_METHOD ? 0x00b
		: op->garbage == GARBAGE_COOKIE               ? STUN_ALLOCATE
							      : STUN_BINDING;
	struct stun_writer w;

	begin(&w, buf, op, op->garbage == GARBAGE_KEEPALIVE ? STUN_INDICATION : STUN_REQUEST,
		method);
	if (op->garbage == GARBAGE_CLASS)
		begin(&w, buf, op, op->tid % 3 == 0 ? STUN_SUCCESS : STUN_REQUEST,
			op->tid % 3 == 1 ? STUN_SEND : STUN_DATA);
	stun_put(&w, STUN_SOFTWARE, "model", 5);
	stun_put_fingerprint(&w);
	if (op->garbage == GARBAGE_NOT_TURN || op->garbage == GARBAGE_STUN) {
		test_rand_fill(&m->rand, buf, w.len);
		buf[0] = (uint8_t)(op->garbage == GARBAGE_STUN ? op->tid % 4
				: op->tid % 2 == 0             ? 4 + op->tid % 60
							       : 80 + op->tid % 176);
	} else if (op->garbage == GARBAGE_LENGTH) {
		store_be16(buf + 2, (uint16_t)(w.len - STUN_HEADER_LEN + 4 * (1 + op->tid % 3)));
	} else if (op->garbage == GARBAGE_COOKIE) {
		buf[4 + op->tid % 4] ^= 1;
	} else if (op->garbage == GARBAGE_FINGERPRINT) {
		buf[w.len - 1] ^= 1;
	}
	return op->garbage == GARBAGE_EMPTY ? 0 : w.len;
}

static uint16_t encode_channel_data(const struct op *op, uint8_t *buf)
{
	store_be16(buf, op->channel);
	store_be16(buf + 2, op->len);
	fill(buf + CHANNEL_HEADER_LEN, op, op->len + 4u);
	return (uint16_t)(CHANNEL_HEADER_LEN + op->len + op->slack);
}

uint16_t model_encode(
	struct model_world *m, struct fixture *f, const struct op *op, uint8_t buf[MODEL_DATAGRAM])
{
	static const uint16_t method[OP_KINDS] = {[OP_BINDING] = STUN_BINDING,
		[OP_ALLOCATE] = STUN_ALLOCATE,
		[OP_REFRESH] = STUN_REFRESH,
		[OP_PERMIT] = STUN_CREATE_PERMISSION,
		[OP_BIND] = STUN_CHANNEL_BIND,
		[OP_SEND] = STUN_SEND};
	struct stun_writer w;

	switch (op->kind) {
	case OP_GARBAGE:
		return encode_garbage(m, op, buf);
	case OP_CHANNEL_DATA:
		return encode_channel_data(op, buf);
	case OP_PEER:
		fill(buf, op, op->len);
		return op->len;
	default:
		break;
	}
	begin(&w, buf, op, op->kind == OP_SEND ? STUN_INDICATION : STUN_REQUEST, method[op->kind]);
	put_body(m, &w, op);
	if (op->kind >= OP_ALLOCATE && op->kind <= OP_BIND)
		put_auth(m, f, &w, op);
	if (op->fingerprint)
		stun_put_fingerprint(&w);
	assert_false(w.overflow);
	return stun_end(&w);
}

void model_view(const struct model_world *m, const struct fixture *f, const struct op *op,
	struct turn_view *v)
{
	const struct model_client *c = &m->client[op->client];
	const struct model_peer *p = &m->peer[op->peer[0]];
	unsigned int worker;
	int index;

	*v = (struct turn_view){.via = TURN_NO_WORKER};
	if (op->kind != OP_PEER) {
		v->src = c->endpoint.addr;
		v->src_port = c->endpoint.port;
		v->listener = c->listener;
		v->leg = TURN_FROM_CLIENT;
		return;
	}
	index = turn_relay_map_find(f->map, &op->relay.addr);
	assert_true(index >= 0);
	assert_true(turn_relay_map_home(
		f->map, (unsigned int)index, op->relay.port, &worker, &v->slot));
	assert_int_equal(worker, 0);
	v->src = p->wire.addr;
	v->src_port = p->wire.port;
	v->leg = TURN_FROM_PEER;
	v->source = (uint16_t)index;
	v->inside = op->hairpin ? TURN_INSIDE_RELAYED : TURN_INSIDE_NO;
}

// --- from the wire

static bool is_realm(const struct stun_msg *m, const char *realm)
{
	return m->alen[STUN_REALM] == strlen(realm) &&
		memcmp(m->data + m->off[STUN_REALM], realm, strlen(realm)) == 0;
}

// Checks the required contents of a 401 or 438 (RFC 8489 9.2.4) and that it reveals nothing to
// strangers.
static const char *check_challenge(
	struct model_world *w, struct fixture *f, const struct stun_msg *m, const struct op *op)
{
	const uint8_t *nonce = m->data + m->off[STUN_NONCE];
	const bool foreign_realm = is_realm(m, MODEL_REALM);
	const bool named = op->sign != SIGN_NONE && op->user == MODEL_OTHER;

	if (!foreign_realm && !is_realm(m, FIXTURE_REALM))
		return "challenge without our REALM";
	if (foreign_realm && turn_config_nb_realms(&w->config) == 1)
		return "challenge with a removed REALM";
	// for a request without credentials, REALM may be that of the allocation
	if (op->sign != SIGN_NONE &&
		foreign_realm != (named && turn_config_nb_realms(&w->config) > 1))
		return "challenge with another REALM than the request's";
	if (!model_tokens_told(m, !foreign_realm)) // the other realm has no token keys
		return "THIRD-PARTY-AUTHORIZATION missing or out of place";
	if (!stun_has(m, STUN_NONCE) || m->alen[STUN_NONCE] != MODEL_NONCE_LEN ||
		memcmp(nonce, "obMatJos2", 9) != 0)
		return "challenge without NONCE, or one without the cookie";
	if (m->alen[STUN_PASSWORD_ALGORITHMS] != sizeof(algorithms) ||
		memcmp(m->data + m->off[STUN_PASSWORD_ALGORITHMS], algorithms,
			sizeof(algorithms)) != 0)
		return "challenge without PASSWORD-ALGORITHMS";
	model_learn_nonce(w, op, nonce, f->wall_s);
	return NULL;
}

// Checks the signature of the answer, if any, and the attributes that go with it.
static const char *check_signature(
	struct model_world *w, struct fixture *f, const struct stun_msg *m, const struct op *op)
{
	const enum stun_attr have =
		style_sha1(op) ? STUN_MESSAGE_INTEGRITY : STUN_MESSAGE_INTEGRITY_SHA256;
	const enum stun_attr unexpected =
		style_sha1(op) ? STUN_MESSAGE_INTEGRITY_SHA256 : STUN_MESSAGE_INTEGRITY;
	struct stun_key key;

	if (stun_has(m, STUN_NONCE) || stun_has(m, STUN_REALM) || stun_has(m, STUN_USERNAME) ||
		stun_has(m, STUN_USERHASH))
		return "REALM, NONCE or USERNAME where they do not belong";
	if (op->sign != SIGN_GOOD || op->kind == OP_BINDING)
		return stun_has(m, have) || stun_has(m, unexpected)
			? "signed for an unauthenticated client"
			: NULL;
	op_key(w, f, op, &key);
	if (!stun_has(m, have) || stun_has(m, unexpected))
		return "not signed with the kind of integrity that the request had";
	if (!stun_integrity_ok(f->crypto, m, &key))
		return "wrong integrity";
	return NULL;
}

static const char *check_unknown(const struct stun_msg *m)
{
	if (m->alen[STUN_UNKNOWN_ATTRIBUTES] != 2 ||
		load_be16(m->data + m->off[STUN_UNKNOWN_ATTRIBUTES]) != TYPE_UNKNOWN)
		return "420 that does not name the unknown attribute";
	return NULL;
}

static bool get_addr(const struct stun_msg *m, enum stun_attr a, struct endpoint *e)
{
	int family;

	return stun_has(m, a) && stun_decode_xor_addr(m, m->off[a], m->alen[a], e, &family) &&
		family == (addr_is_v4(&e->addr) ? 4 : 6);
}

// Reads the relayed transport addresses of an Allocate response: one, or both families if the
// client has asked for both; then IPv4 is the first. If one is missing, the answer says why (RFC
// 8656 18.12).
static const char *read_relayed(
	struct model_world *w, const struct stun_msg *m, const struct op *op, struct outcome *o)
{
	const uint8_t *value = m->data + m->off[STUN_ADDRESS_ERROR_CODE];
	struct endpoint *relayed = &o->relayed;
	uint16_t pos = 0, off, alen;
	unsigned int nb = 0;
	int family;

	o->relayed2 = (struct endpoint){0};
	for (; stun_next(m, STUN_XOR_RELAYED_ADDRESS, &pos, &off, &alen); relayed = &o->relayed2) {
		if (++nb > 2 || !stun_decode_xor_addr(m, off, alen, relayed, &family) ||
			family != (addr_is_v4(&relayed->addr) ? 4 : 6))
			return "XOR-RELAYED-ADDRESS malformed, or more than two";
		if (!to_local(w, relayed))
			return "XOR-RELAYED-ADDRESS is not the external address";
	}
	if (nb == 2 &&
		(op->additional != 2 || !addr_is_v4(&o->relayed.addr) ||
			addr_is_v4(&o->relayed2.addr)))
		return "two relayed transport addresses, not requested or not of both families";
	if (stun_has(m, STUN_ADDRESS_ERROR_CODE) != (op->additional == 2 && nb == 1))
		return "ADDRESS-ERROR-CODE missing or out of place";
	if (!stun_has(m, STUN_ADDRESS_ERROR_CODE))
		return NULL;
	if (m->alen[STUN_ADDRESS_ERROR_CODE] < 4 || value[1] != 0)
		return "ADDRESS-ERROR-CODE malformed";
	o->error_family = value[0];
	o->address_error = value[2] * 100u + value[3];
	return NULL;
}

// Reads a success response: it has the attributes that the method demands and no others.
static const char *read_success(
	struct model_world *w, const struct stun_msg *m, const struct op *op, struct outcome *o)
{
	const bool allocate = op->kind == OP_ALLOCATE;
	struct endpoint mapped;

	if (stun_has(m, STUN_ERROR_CODE) || stun_has(m, STUN_UNKNOWN_ATTRIBUTES))
		return "success with an ERROR-CODE";
	if (stun_has(m, STUN_XOR_MAPPED_ADDRESS) != (allocate || op->kind == OP_BINDING))
		return "XOR-MAPPED-ADDRESS missing or out of place";
	if (stun_has(m, STUN_XOR_MAPPED_ADDRESS) &&
		(!get_addr(m, STUN_XOR_MAPPED_ADDRESS, &mapped) ||
			!endpoint_eq(&mapped, &w->client[op->client].endpoint)))
		return "XOR-MAPPED-ADDRESS is not the client's";
	if (stun_has(m, STUN_LIFETIME) != (allocate || op->kind == OP_REFRESH))
		return "LIFETIME missing or out of place";
	if (stun_has(m, STUN_LIFETIME) && !stun_get_u32(m, STUN_LIFETIME, &o->lifetime_s))
		return "LIFETIME malformed";
	if (stun_has(m, STUN_XOR_RELAYED_ADDRESS) != allocate)
		return "XOR-RELAYED-ADDRESS missing or out of place";
	if (allocate && read_relayed(w, m, op, o) != NULL)
		return read_relayed(w, m, op, o);
	if (stun_has(m, STUN_MOBILITY_TICKET)) {
		if (op->ticket == TICKET_NONE || m->alen[STUN_MOBILITY_TICKET] != MODEL_TICKET)
			return "MOBILITY-TICKET not requested or malformed";
		memcpy(o->ticket, m->data + m->off[STUN_MOBILITY_TICKET], MODEL_TICKET);
	}
#ifdef FEATURE_RESERVATIONS
	o->has_token = stun_has(m, STUN_RESERVATION_TOKEN);
	if (o->has_token && (!allocate || m->alen[STUN_RESERVATION_TOKEN] != 8))
		return "RESERVATION-TOKEN out of place or malformed";
	if (o->has_token)
		memcpy(o->token, m->data + m->off[STUN_RESERVATION_TOKEN], 8);
#endif
	return NULL;
}

// ALTERNATE-SERVER has the form of MAPPED-ADDRESS: a zero, the family, port and address (RFC 8489
// 14.1, 14.15). These worlds have no TLS, so there is no name.
static const char *read_alternates(const struct stun_msg *m, struct outcome *o)
{
	uint16_t pos = 0, off, alen;

	while (stun_next(m, STUN_ALTERNATE_SERVER, &pos, &off, &alen)) {
		const uint8_t *v = m->data + off;

		if (o->nb_alternates == 2)
			return "300 with more than two alternates";
		if (v[0] != 0 || alen != (v[1] == 1 ? 8 : 20) || v[1] < 1 || v[1] > 2)
			return "300 with an ALTERNATE-SERVER that is malformed";
		o->alternate[o->nb_alternates++] = (struct endpoint){
			v[1] == 1 ? addr_from_v4(v + 4) : addr_from_v6(v + 4), load_be16(v + 2)};
	}
	return stun_has(m, STUN_ALTERNATE_DOMAIN) ? "300 with a name for TLS" : NULL;
}

static const char *read_error(struct model_world *w, struct fixture *f, const struct stun_msg *m,
	const struct op *op, struct outcome *o)
{
	const uint8_t *value = m->data + m->off[STUN_ERROR_CODE];
	const bool is_signed =
		stun_has(m, STUN_MESSAGE_INTEGRITY) || stun_has(m, STUN_MESSAGE_INTEGRITY_SHA256);

	if (m->alen[STUN_ERROR_CODE] < 4 || value[2] < 3 || value[2] > 6 || value[3] > 99)
		return "ERROR-CODE missing or malformed";
	o->code = value[2] * 100u + value[3];
	if (!is_signed && (m->alen[STUN_ERROR_CODE] > 4 || stun_has(m, STUN_SOFTWARE)))
		return "reason phrase or SOFTWARE for an unauthenticated client";
	if (o->code == 401 || o->code == 438) {
		if (is_signed)
			return "signed 401 or 438";
		return check_challenge(w, f, m, op);
	}
	if (o->code == 420 && check_unknown(m) != NULL)
		return check_unknown(m);
	if (o->code == 300 && read_alternates(m, o) != NULL)
		return "300 with malformed alternates";
	// The request was malformed, so the server has not authenticated a user.
	if (o->code == 400 && op->sign != SIGN_GOOD)
		return stun_has(m, STUN_NONCE) || is_signed ? "400 with NONCE or integrity" : NULL;
	return check_signature(w, f, m, op);
}

static const char *decode_reply(struct model_world *w, struct fixture *f, unsigned int i,
	const struct op *op, struct outcome *o)
{
	const uint8_t *data = f->burst.view[i].data;
	struct stun_msg m, asked;
	const char *wrong;

	if (stun_parse(f->burst.side.front, f->burst.plan.front_len, &m) != 0)
		return "reply is not STUN";
	if (stun_parse(data, f->burst.view[i].len, &asked) != 0 || asked.cls != STUN_REQUEST)
		return "reply to a message that is not a request";
	if (m.method != asked.method || memcmp(stun_tid(&m), stun_tid(&asked), STUN_TID_LEN) != 0)
		return "reply of another transaction";
	if (m.nb_unknown != 0 || m.fingerprint_bad)
		return "reply with an unknown attribute or a wrong FINGERPRINT";
	if (m.cls == STUN_ERROR)
		return read_error(w, f, &m, op, o);
	if (m.cls != STUN_SUCCESS)
		return "reply is neither success nor error";
	wrong = read_success(w, &m, op, o);
	return wrong != NULL ? wrong : check_signature(w, f, &m, op);
}

// Reads a Data indication as the client will see it: front, payload, and the padding that the data
// path adds.
static const char *decode_data(
	const struct model_world *w, const uint8_t *front, uint16_t front_len, struct outcome *o)
{
	uint8_t message[MODEL_DATAGRAM + 64] = {0};
	const size_t len = front_len + ((o->len + 3u) & ~3u);
	struct stun_msg m;

	assert_true(len <= sizeof(message));
	memcpy(message, front, front_len);
	memcpy(message + front_len, o->payload, o->len);
	if (stun_parse(message, len, &m) != 0 || m.cls != STUN_INDICATION || m.method != STUN_DATA)
		return "front is not that of a Data indication";
	if (!get_addr(&m, STUN_XOR_PEER_ADDRESS, &o->peer))
		return "Data indication without XOR-PEER-ADDRESS";
	if (!to_local(w, &o->peer))
		return "Data indication of a peer that has an external address";
	if (m.off[STUN_DATA_ATTR] != front_len || m.alen[STUN_DATA_ATTR] != o->len)
		return "Data indication whose DATA is not the payload";
	if (front_len != (addr_is_v4(&o->peer.addr) ? 36 : 48))
		return "Data indication with more than it needs";
	o->data_indication = true;
	return NULL;
}

static const char *decode_relay(const struct model_world *w, struct fixture *f, unsigned int i,
	const struct op *op, struct outcome *o)
{
	const struct turn_plan *p = &f->burst.plan;
	const struct turn_side *side = &f->burst.side;
	struct turn_path path = {side->src, side->dst};

	if (p->verdict == TURN_RELAY)
		turn_route_path(f->shard, p->flow, &path);
	o->src = path.src;
	o->dst = path.dst;
	if (p->off + p->len > f->burst.view[i].len)
		return "payload outside the datagram";
	o->payload = f->burst.view[i].data + p->off;
	o->len = p->len;
	o->df = (p->flags & TURN_PLAN_DF) != 0;
	o->channel = p->front_len == CHANNEL_HEADER_LEN ? p->channel : 0;
	if (op->kind != OP_PEER)
		return p->front_len == 0 ? NULL : "something in front of the data for a peer";
	if (p->front_len > CHANNEL_HEADER_LEN)
		return decode_data(w, side->front, p->front_len, o);
	return p->front_len == CHANNEL_HEADER_LEN ? NULL : "data for the client without a front";
}

const char *model_decode(struct model_world *w, struct fixture *f, unsigned int i,
	const struct op *op, struct outcome *o)
{
	const struct turn_plan *p = &f->burst.plan;

	*o = (struct outcome){.verdict = p->verdict, .reason = p->reason};
	switch (p->verdict) {
	case TURN_DROP:
		return p->reason > TURN_OK && p->reason < TURN_DROP_END ? NULL
									: "drop without a reason";
	case TURN_REPLY:
		return decode_reply(w, f, i, op, o);
	case TURN_RELAY:
	case TURN_SEND:
		return decode_relay(w, f, i, op, o);
	default:
		return "a verdict that a single worker cannot give";
	}
}
