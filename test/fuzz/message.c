// SPDX-License-Identifier: BSD-3-Clause
// The messages of clients: requests of every method with every attribute, correctly signed, but
// sometimes changed before they are signed; indications and ChannelData.
#include "feature_names.h"
#include "fuzz.h"
#include "token_seal.h"

#include <time.h>

static const uint8_t algorithms[8] = {0, 2, 0, 0, 0, 1, 0, 0}; // RFC 8489 14.11: SHA-256, MD5

// An address of the box as it is inside, or as clients see it.
static struct endpoint either_form(struct endpoint e)
{
	static const struct addr none;

	for (unsigned int i = 0; i < fuzz.world.conf.turn.nb_local; i++) {
		const struct turn_local *l = &fuzz.world.locals[i];

		if (addr_eq(&l->addr, &e.addr) && !addr_eq(&l->external, &none) && chance(50))
			e.addr = l->external;
	}
	return e;
}

struct endpoint fuzz_peer(void)
{
	const struct fuzz_client *sibling = &fuzz.client[below(fuzz.nb_clients)];

	if (chance(15) && sibling->allocated)
		// relayed inside the process, without a wire
		return either_form(*fuzz_relay_of(sibling));
	if (chance(4)) {
		struct endpoint box = either_form(sibling->c.server);

		if (chance(50)) // other hosts, if they have the external address, too
			box.port = (uint16_t)(7000 + below(4));
		return box;
	}
	return (struct endpoint){fuzz_host(chance(60)), (uint16_t)(7000 + below(4))};
}

// Picks a peer, mostly of the family of the client's relayed transport address.
static struct endpoint peer_for(const struct fuzz_client *c)
{
	const bool is_v4 = addr_is_v4(&fuzz_relay_of(c)->addr);
	struct endpoint p = fuzz_peer();

	for (unsigned int i = 0; i < 6 && addr_is_v4(&p.addr) != is_v4; i++)
		p = fuzz_peer();
	return p;
}

// --- attributes ----------------------------------------------------------------------------------

// Adds an attribute of any type, value and length.
static void put_any(struct stun_writer *w)
{
	static const uint16_t types[] = {0x0003, 0x0026, 0x7f01, 0x8000, 0x8030, 0xffff};
	uint8_t value[80];
	const uint16_t start = w->len;

	test_rand_fill(&fuzz.rand, value, sizeof(value));
	stun_put(w, (enum stun_attr)below(STUN_NB_ATTRS), value,
		chance(50) ? 4 : below(sizeof(value)));
	if (chance(30) && w->len > start)
		store_be16(w->buf + start, types[below(RTE_DIM(types))]);
}

static void put_peers(struct fuzz_client *c, struct stun_writer *w, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		const unsigned int k = below(FUZZ_PEERS);

		if (chance(30) || c->peer[k].port == 0)
			c->peer[k] = peer_for(c);
		stun_put_xor_addr(w, STUN_XOR_PEER_ADDRESS, &c->peer[k]);
	}
}

static void put_allocate(struct fuzz_client *c, struct stun_writer *w)
{
	const uint8_t even = chance(70) ? 0x80 : 0;

	if (fuzz_has_tcp() && c->via == VIA_STREAM && chance(40)) {
		stun_put_u32(w, STUN_REQUESTED_TRANSPORT, 6u << 24);
		return;
	}
	stun_put_u32(w, STUN_REQUESTED_TRANSPORT, (chance(95) ? 17u : 6u) << 24);
	if (chance(30))
		stun_put_u32(w, STUN_ADDITIONAL_ADDRESS_FAMILY, (chance(95) ? 2u : 1u) << 24);
	else if (chance(60))
		stun_put_u32(w, STUN_REQUESTED_ADDRESS_FAMILY,
			(chance(50)                  ? 1u
					: chance(95) ? 2u
						     : 3u)
				<< 24);
	if (chance(25))
		stun_put(w, STUN_EVEN_PORT, &even, 1);
#ifdef FEATURE_RESERVATIONS
	if (chance(20) && !c->allocated && c->c.nonce_len > 0) // may belong to another worker
		stun_put(w, STUN_RESERVATION_TOKEN, fuzz.token[below(FUZZ_TOKENS)], 8);
#endif
	if (chance(10))
		stun_put(w, STUN_DONT_FRAGMENT, NULL, 0);
	if (chance(fuzz_may_move() ? 40 : 2))
		stun_put(w, STUN_MOBILITY_TICKET, NULL, 0);
	if (chance(30))
		stun_put_u32(w, STUN_LIFETIME, chance(80) ? 600 : fuzz_edge());
}

static void put_bind(struct fuzz_client *c, struct stun_writer *w)
{
	const unsigned int k = below(FUZZ_PEERS);
	const uint32_t channel = chance(95) ? 0x4000 + k : fuzz_edge();

	if (c->peer[k].port == 0 || chance(5))
		c->peer[k] = peer_for(c);
	stun_put_u32(w, STUN_CHANNEL_NUMBER, channel << 16);
	stun_put_xor_addr(w, STUN_XOR_PEER_ADDRESS, &c->peer[k]);
}

static void put_body(struct fuzz_client *c, struct stun_writer *w, enum stun_method method)
{
	switch (method) {
	case STUN_ALLOCATE:
		put_allocate(c, w);
		break;
	case STUN_REFRESH:
		if (chance(70))
			stun_put_u32(w, STUN_LIFETIME,
				chance(85)           ? 300
					: chance(60) ? 0
						     : fuzz_edge());
		c->shown = FUZZ_TOKENS;
		if (chance(fuzz_may_move() ? 40 : 2)) {
			c->shown = below(FUZZ_TOKENS);
			stun_put(w, STUN_MOBILITY_TICKET, fuzz.ticket[c->shown].text, 32);
		}
		if (chance(c->second.port != 0 ? 50 : 10))
			stun_put_u32(w, STUN_REQUESTED_ADDRESS_FAMILY, (1u + below(2)) << 24);
		break;
	case STUN_CREATE_PERMISSION:
		put_peers(c, w, chance(90) ? 1 + below(2) : below(20));
		break;
	case STUN_CHANNEL_BIND:
		put_bind(c, w);
		break;
	case STUN_CONNECT:
		put_peers(c, w, chance(95) ? 1 : 0);
		break;
#ifdef FEATURE_TCP
	case STUN_CONNECTION_BIND:
		stun_put_u32(w, STUN_CONNECTION_ID, fuzz_edge());
		break;
#endif
	default:
		break;
	}
	if (chance(10))
		put_any(w);
	if (chance(3))
		put_body(c, w, STUN_CHANNEL_BIND);
}

// --- credentials ---------------------------------------------------------------------------------

// A token that is nearly always good, with a method that needs none in some cases.
static void put_token(struct fuzz_client *c, struct stun_writer *w, enum stun_method method)
{
	const struct token_seal t = {.key = (const uint8_t *)"kkkkkkkkkkkkkkkk",
		.key_len = 16,
		.name = chance(98) ? WORLD_REALM : FUZZ_REALM,
		.mac = c->c.key.bytes,
		.mac_len = c->c.key.len,
		.says_mac_len = chance(1) ? (uint16_t)below(65536) : 0,
		.nonce_len = chance(1) ? (uint16_t)below(129) : 0,
		.says_nonce_len = chance(1) ? (uint16_t)below(65536) : 0,
		.made_s = (uint64_t)time(NULL) + (chance(2) ? below(20) : 0),
		.lifetime_s = chance(95) ? below(1000) : fuzz_edge(),
		.seed = below(UINT32_MAX)};
	uint8_t data[TOKEN_SEAL_MAX];
	size_t len = token_seal(&t, data);

	if ((method != STUN_ALLOCATE && method != STUN_REFRESH && chance(70)) || chance(1))
		return;
	if (chance(1))
		len = below(sizeof(data));
	if (chance(2))
		data[below((uint32_t)len + 1)] ^= (uint8_t)below(256);
#ifdef FEATURE_TOKENS
	stun_put(w, STUN_ACCESS_TOKEN, data, len);
#endif
}

static void sign(struct fuzz_client *c, struct stun_writer *w, enum stun_method method)
{
	const bool sha256 = c->alg == STUN_ALG_SHA256;
	const bool eve = chance(2);
	uint8_t hash[32];

	if (c->by_token && method == STUN_REFRESH && chance(10)) // another token
		test_rand_fill(&fuzz.rand, c->c.key.bytes, c->c.key.len);
	if (c->by_token)
		put_token(c, w, method);
	if (c->by_token && !eve)
		stun_put(w, STUN_USERNAME, FUZZ_KID, strlen(FUZZ_KID));
	else if (!eve && sha256 && chance(30) &&
		stun_userhash(fuzz.world.crypto, "ivan", 4, c->realm, hash))
		stun_put(w, STUN_USERHASH, hash, sizeof(hash));
	else
		stun_put(w, STUN_USERNAME, eve ? "eve" : "ivan", eve ? 3 : 4);
	stun_put(w, STUN_REALM, c->realm, strlen(c->realm));
	stun_put(w, STUN_NONCE, c->c.nonce, c->c.nonce_len);
	if (sha256) {
		stun_put(w, STUN_PASSWORD_ALGORITHMS, algorithms, sizeof(algorithms));
		stun_put(w, STUN_PASSWORD_ALGORITHM, algorithms, 4);
	}
	if (chance(fuzz.mutate / 4)) // reaches code that only authenticated requests reach
		fuzz_mutate_message(w->buf + STUN_HEADER_LEN, w->len - STUN_HEADER_LEN,
			w->len - STUN_HEADER_LEN);
	stun_put_integrity(w, fuzz.world.crypto, c->alg, eve ? &c->eve : &c->c.key);
}

static size_t finish(struct stun_writer *w)
{
	if (chance(20))
		stun_put_fingerprint(w);
	if (chance(3))
		put_any(w);
	return stun_end(w);
}

static enum stun_method pick_method(const struct fuzz_client *c)
{
	static const enum stun_method methods[] = {STUN_REFRESH, STUN_CREATE_PERMISSION,
		STUN_CREATE_PERMISSION, STUN_CHANNEL_BIND, STUN_CHANNEL_BIND, STUN_CHANNEL_BIND};

	if (!c->allocated || chance(3))
		return STUN_ALLOCATE;
	if (fuzz_has_tcp() && c->via == VIA_STREAM && chance(15))
		return chance(70) ? STUN_CONNECT : STUN_CONNECTION_BIND;
	if (chance(2))
		return (enum stun_method)below(16);
	return methods[below(RTE_DIM(methods))];
}

static size_t request(struct fuzz_client *c, uint8_t *buf, size_t cap)
{
	const enum stun_method method = chance(6) ? STUN_BINDING : pick_method(c);
	const enum stun_class class = chance(98) ? STUN_REQUEST : (enum stun_class)below(4);
	uint8_t tid[STUN_TID_LEN];
	struct stun_writer w;

	test_rand_fill(&fuzz.rand, tid, sizeof(tid));
	stun_begin(&w, buf, cap, class, method, tid);
	put_body(c, &w, method);
	if (method == STUN_BINDING && chance(40)) // RFC 3489: the cookie is part of the id
		store_be32(buf + 4, below(UINT32_MAX));
#ifdef FEATURE_REALMS
	if (chance(5))
		stun_put(&w, STUN_ORIGIN, FUZZ_ORIGIN, strlen(FUZZ_ORIGIN));
#endif
	if (c->c.nonce_len > 0 && method != STUN_BINDING)
		sign(c, &w, method);
	return finish(&w);
}

// --- data ----------------------------------------------------------------------------------------

static size_t data_len(const struct fuzz_client *c)
{
	const uint32_t mtu = fuzz.world.ports[0].mtu;

	if (c->via == VIA_UDP && chance(3)) // it is sent in fragments
		return below(9000);
	if (chance(80))
		return below(64);
	return chance(50) ? below(mtu) : mtu - below(120); // near the most that fits
}

static size_t indication(struct fuzz_client *c, uint8_t *buf, size_t cap)
{
	uint8_t tid[STUN_TID_LEN], data[FUZZ_FRAME];
	const unsigned int k = below(FUZZ_PEERS);
	const size_t len = data_len(c);
	struct stun_writer w;

	if (c->peer[k].port == 0)
		c->peer[k] = peer_for(c);
	test_rand_fill(&fuzz.rand, tid, sizeof(tid));
	test_rand_fill(&fuzz.rand, data, len);
	stun_begin(&w, buf, cap, STUN_INDICATION, chance(97) ? STUN_SEND : STUN_BINDING, tid);
	if (chance(5))
		stun_put(&w, STUN_DONT_FRAGMENT, NULL, 0);
	if (chance(98))
		stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, &c->peer[k]);
	if (chance(5))
		put_any(&w);
	if (chance(98))
		stun_put(&w, STUN_DATA_ATTR, data, len);
	return stun_end(&w);
}

static size_t channel_data(const struct fuzz_client *c, uint8_t *buf, size_t cap)
{
	const size_t len = RTE_MIN(data_len(c), cap - 8);

	test_rand_fill(&fuzz.rand, buf, 4 + len);
	store_be16(
		buf, (uint16_t)(chance(97) ? 0x4000 + below(FUZZ_PEERS) : 0x4000 + below(0x4000)));
	store_be16(buf + 2, (uint16_t)(chance(96) ? len : len + below(9) - 4));
	return 4 + len;
}

size_t fuzz_client_message(struct fuzz_client *c, uint8_t *buf, size_t cap)
{
	size_t len;

	if (c->allocated && chance(40))
		len = channel_data(c, buf, cap);
	else if (c->allocated && chance(35))
		len = indication(c, buf, cap);
	else
		len = request(c, buf, cap);
	if (len > 0 && chance(fuzz.mutate / 4))
		len = fuzz_mutate_message(buf, len, cap);
	return len;
}
