// SPDX-License-Identifier: BSD-3-Clause
// Clients that act on every answer they get, and their peers.
#include "ask/hot.h"
#include "datapath.h"
#include "dtls_world.h"
#include "framing.h"
#include "fuzz.h"
#include "link/local_addrs.h"
#include "link/nexthop.h"

#include <stdlib.h>

static uint8_t frame[FUZZ_FRAME], message[FUZZ_FRAME];

// --- participants --------------------------------------------------------------------------------

// Picks a listener of that transport in this world.
static uint8_t pick_listener(enum fuzz_via via)
{
	const struct dp_world *w = &fuzz.world;

	if (via == VIA_STREAM)
		return (uint8_t)w->tcp;
	if (via == VIA_DTLS)
		return (uint8_t)(w->dtls + below(3));
	return (uint8_t)below(fuzz.setup.two_ports ? 3 : 2);
}

void fuzz_client_renew(struct fuzz_client *c)
{
	const enum fuzz_via via = c->via;
	struct dtls_client *end = c->end;
	const struct endpoint *server;
	const struct turn_realm *first = &fuzz.world.conf.turn.first;
	const bool second = turn_config_nb_realms(&fuzz.world.conf.turn) > 1 && chance(50);
	const char *secret = chance(2) ? "wrong" : second ? "of-b" : "pw";

	*c = (struct fuzz_client){.via = via, .end = end, .listener = pick_listener(via)};
	c->realm = second ? FUZZ_REALM : WORLD_REALM;
	c->alg = chance(30) ? STUN_ALG_SHA256 : STUN_ALG_MD5;
	server = &fuzz.world.listeners[c->listener].endpoint;
	c->c.server = *server;
	c->c.endpoint = (struct endpoint){fuzz_host(addr_is_v4(&server->addr)), fuzz.next_port};
	fuzz.next_port = (uint16_t)(fuzz.next_port < 60000 ? fuzz.next_port + 1 : 20000);
	assert_true(stun_key_make(fuzz.world.crypto, c->alg,
		&(struct stun_credential){"ivan", 4, c->realm, secret, strlen(secret)}, &c->c.key));
	assert_true(stun_key_make(fuzz.world.crypto, c->alg,
		&(struct stun_credential){"eve", 3, c->realm, "evil", 4}, &c->eve));
	if (turn_realm_credentials(first) >
			first->nb_users + first->nb_secrets + fuzz_lookups_on() &&
		!second && chance(30)) {
		c->by_token = true;
		c->c.key.len = chance(50) ? 20 : 32;
		test_rand_fill(&fuzz.rand, c->c.key.bytes, c->c.key.len);
	}
	if (via == VIA_STREAM) {
		static uint64_t generation = 1;

		c->c.conn = generation++ << 32 | (uint64_t)(c - fuzz.client);
	}
	if (via == VIA_DTLS)
		fuzz_dtls_renew(c);
}

void fuzz_clients_open(void)
{
	fuzz.nb_clients = 0;
	memset(fuzz.token, 0, sizeof(fuzz.token));
	memset(fuzz.ticket, 0, sizeof(fuzz.ticket));
	fuzz.next_port = 20000;
	for (unsigned int i = 0; i < FUZZ_CLIENTS; i++) {
		struct fuzz_client *c = &fuzz.client[fuzz.nb_clients];
		const enum fuzz_via via = i < 6 ? VIA_DTLS : i < 12 ? VIA_STREAM : VIA_UDP;

		if ((via == VIA_DTLS && !fuzz.setup.dtls) ||
			(via == VIA_STREAM && fuzz.setup.stream_ring == 0))
			continue;
		fuzz.nb_clients++;
		*c = (struct fuzz_client){.via = via};
		fuzz_client_renew(c);
	}
}

void fuzz_clients_close(void)
{
	for (unsigned int i = 0; i < fuzz.nb_clients; i++)
		fuzz_dtls_free(&fuzz.client[i]);
}

struct fuzz_client *fuzz_client_at(const struct endpoint *endpoint)
{
	for (unsigned int i = 0; i < fuzz.nb_clients; i++)
		if (endpoint_eq(&fuzz.client[i].c.endpoint, endpoint))
			return &fuzz.client[i];
	return NULL;
}

// --- received messages ---------------------------------------------------------------------------

static void keep(uint8_t *dst, size_t cap, size_t *len, const struct stun_msg *m, enum stun_attr a)
{
	if (!stun_has(m, a) || m->alen[a] > cap)
		return;
	memcpy(dst, m->data + m->off[a], m->alen[a]);
	if (len != NULL)
		*len = m->alen[a];
}

static void refused(struct fuzz_client *c, const struct stun_msg *m)
{
	const uint8_t *value = m->data + m->off[STUN_ERROR_CODE];
	unsigned int code;

	assert_true(stun_has(m, STUN_ERROR_CODE) && m->alen[STUN_ERROR_CODE] >= 4);
	code = value[2] * 100u + value[3];
	assert_in_range(code, 300, 699);
	fuzz.seen.answer[code]++;
	if (code == 401 || code == 438)
		keep(c->c.nonce, sizeof(c->c.nonce), &c->c.nonce_len, m, STUN_NONCE);
	if (code == 437)
		c->allocated = !c->allocated;
}

// Our addresses as they are inside; clients see the external address, if there is one.
static struct addr inside_of(const struct addr *told)
{
	static const struct addr none;
	const struct local_addr *l = local_addrs_find(fuzz.world.dp->hot->local, told);
	bool external;

	assert_non_null(l);
	external = l->kind == LOCAL_EXTERNAL || l->kind == LOCAL_COMMON;
	for (unsigned int i = 0; i < fuzz.world.conf.turn.nb_local; i++) {
		const struct turn_local *local = &fuzz.world.locals[i];

		if (external ? addr_eq(&local->external, told) : addr_eq(&local->addr, told)) {
			assert_true(external || addr_eq(&local->external, &none));
			return local->addr;
		}
	}
	fail_msg("a client was told an address that is not ours");
	return *told;
}

// A client has shown the ticket of any client, and takes over its allocation.
static void has_moved(struct fuzz_client *c, const struct stun_msg *m)
{
	struct fuzz_ticket *t = &fuzz.ticket[c->shown];

	if (!stun_has(m, STUN_MOBILITY_TICKET) || c->shown == FUZZ_TOKENS)
		return;
	keep(t->text, sizeof(t->text), NULL, m, STUN_MOBILITY_TICKET);
	c->c.relay = t->relay;
	c->second = t->second;
	c->allocated = true;
	memset(c->peer, 0, sizeof(c->peer));
	fuzz.seen.shown++;
}

static void has_ticket(const struct fuzz_client *c, const struct stun_msg *m)
{
	struct fuzz_ticket *t = &fuzz.ticket[below(FUZZ_TOKENS)];

	if (!stun_has(m, STUN_MOBILITY_TICKET))
		return;
	keep(t->text, sizeof(t->text), NULL, m, STUN_MOBILITY_TICKET);
	t->relay = c->c.relay;
	t->second = c->second;
	fuzz.seen.tickets++;
}

static void succeeded(struct fuzz_client *c, const struct stun_msg *m)
{
	struct endpoint relay[2] = {0};
	uint16_t pos = 0, off, alen;
	unsigned int nb = 0;
	int family;

	fuzz.seen.answer[0]++;
	if (m->method == STUN_REFRESH)
		has_moved(c, m);
	if (m->method != STUN_ALLOCATE || !stun_has(m, STUN_XOR_RELAYED_ADDRESS))
		return;
	for (; stun_next(m, STUN_XOR_RELAYED_ADDRESS, &pos, &off, &alen); nb++) {
		assert_in_range(nb, 0, 1);
		assert_true(stun_decode_xor_addr(m, off, alen, &relay[nb], &family));
		relay[nb].addr = inside_of(&relay[nb].addr);
	}
	c->c.relay = relay[0];
	c->second = relay[1];
	fuzz.seen.duals += nb == 2;
	c->allocated = true;
	memset(c->peer, 0, sizeof(c->peer));
#ifdef FEATURE_RESERVATIONS
	keep(fuzz.token[below(FUZZ_TOKENS)], 8, NULL, m, STUN_RESERVATION_TOKEN);
#endif
	has_ticket(c, m);
}

// Asserts that the padding of every attribute is zero.
static void padding_is_zero(const uint8_t *data, size_t len)
{
	for (size_t pos = STUN_HEADER_LEN; pos + 4 <= len;) {
		const size_t end = pos + 4 + load_be16(data + pos + 2);

		pos = (end + 3) & ~(size_t)3;
		for (size_t i = end; i < pos; i++)
			assert_int_equal(data[i], 0);
	}
}

// Asserts that a client knows every attribute that it must know. The parser does not know PADDING
// (RFC 5780 7.6), which is in answers to clients that discover NATs.
static void nothing_is_unknown(const struct stun_msg *m)
{
	uint16_t pos = 0, type;

	while (stun_next_unknown(m, &pos, &type)) {
		assert_int_equal(type, 0x0026);
		assert_int_equal(m->method, STUN_BINDING);
	}
}

// An answer to a client of RFC 3489: like any answer, except that the id replaces the cookie.
static void without_cookie(const uint8_t *data, size_t len)
{
	uint8_t copy[TURN_SIDE_LEN];
	struct stun_msg m;

	assert_in_range(len, STUN_HEADER_LEN, sizeof(copy));
	memcpy(copy, data, len);
	store_be32(copy + 4, STUN_COOKIE);
	assert_int_equal(stun_parse(copy, len, &m), 0);
	assert_int_equal(m.method, STUN_BINDING);
	assert_true(m.cls == STUN_SUCCESS || m.cls == STUN_ERROR);
	assert_true(stun_has(&m, STUN_MAPPED_ADDRESS) == (m.cls == STUN_SUCCESS));
	assert_false(stun_has(&m, STUN_XOR_MAPPED_ADDRESS));
	nothing_is_unknown(&m);
	padding_is_zero(data, len);
	fuzz.seen.rfc3489++;
}

// Asserts that the message is well-formed, and acts on it.
void fuzz_message(struct fuzz_client *c, const uint8_t *data, size_t len)
{
	struct stun_msg m;

	fuzz.seen.via[c->via]++;
	assert_true(len >= 4);
	if (data[0] >= 0x40) {
		const size_t said = 4u + load_be16(data + 2);

		assert_in_range(data[0], 0x40, 0x7f);
		assert_true(len >= said && len - said < 4);
		for (size_t i = said; i < len; i++)
			assert_int_equal(data[i], 0);
		fuzz.seen.channel_data++;
		return;
	}
	if (c->via == VIA_UDP && load_be32(data + 4) != STUN_COOKIE)
		return without_cookie(data, len);
	assert_int_equal(stun_parse(data, len, &m), 0);
	nothing_is_unknown(&m);
	padding_is_zero(data, len);
	if (m.cls == STUN_ERROR)
		refused(c, &m);
	else if (m.cls == STUN_SUCCESS)
		succeeded(c, &m);
	else if (stun_has(&m, STUN_ICMP))
		fuzz.seen.icmp_told++;
	else
		fuzz.seen.data_indications++;
}

void fuzz_datagram(
	const struct endpoint *src, const struct endpoint *dst, const uint8_t *data, size_t len)
{
	struct fuzz_client *c = fuzz_client_at(dst);
	bool listener = false;

	for (uint32_t i = 0; i < fuzz.world.conf.turn.nb_listeners; i++)
		listener |= endpoint_eq(&fuzz.world.listeners[i].endpoint, src);
	if (!listener) {
		fuzz.seen.to_peers++;
		return;
	}
	assert_true(len > 0);
	if (c != NULL && c->via == VIA_DTLS && data[0] >= 20 && data[0] < 64) {
		if (c->end->in.n < WIRE_MAX && len <= DATAGRAM_MAX)
			wire_put(&c->end->in, data, len);
		return;
	}
	if (c != NULL && (data[0] < 20 || data[0] >= 64))
		fuzz_message(c, data, len);
}

// --- actions -------------------------------------------------------------------------------------

void fuzz_client_acts(void)
{
	struct fuzz_client *c = &fuzz.client[below(fuzz.nb_clients)];
	size_t len;

	if (chance(1) && chance(c->via == VIA_DTLS ? 40 : 10)) {
		if (c->via == VIA_DTLS && c->handshake_done && chance(80)) {
			fuzz_dtls_again(c);
			return;
		}
		if (c->via == VIA_STREAM)
			fuzz_stream_end(c);
		fuzz_client_renew(c);
		return;
	}
	if (c->via == VIA_DTLS && !c->handshake_done) {
		fuzz_dtls_acts(c);
		return;
	}
	len = fuzz_client_message(c, message, sizeof(message) - 200);
	if (c->via == VIA_STREAM) {
		fuzz_stream_send(c, message, len);
	} else if (c->via == VIA_DTLS) {
		fuzz_dtls_write(c, message, len);
	} else {
		const unsigned int port = world_port_of(&fuzz.world, &c->c.server.addr) |
			(c->listener == 2 && fuzz.setup.two_ports);

		len = fuzz_udp(
			frame, port, &(struct fuzz_path){c->c.endpoint, c->c.server}, message, len);
		fuzz_send("client", port, frame, len);
	}
}

const struct endpoint *fuzz_relay_of(const struct fuzz_client *c)
{
	return c->second.port != 0 && chance(50) ? &c->second : &c->c.relay;
}

void fuzz_peer_acts(void)
{
	const struct fuzz_client *c = &fuzz.client[below(fuzz.nb_clients)];
	const uint32_t mtu = fuzz.world.ports[0].mtu;
	const size_t len = chance(3) ? below(9000)
		: chance(80)         ? below(64)
		: chance(50)         ? below(mtu)
				     : mtu - below(100);
	struct endpoint src = c->peer[below(FUZZ_PEERS)];
	struct endpoint relayed = *fuzz_relay_of(c), *dst = &relayed;
	struct addr via;
	uint8_t port = 0;

	if (!c->allocated)
		return;
	if (src.port == 0 || addr_is_v4(&src.addr) != addr_is_v4(&dst->addr) || chance(5))
		src = (struct endpoint){
			fuzz_host(addr_is_v4(&dst->addr)), (uint16_t)(7000 + below(8))};
	test_rand_fill(&fuzz.rand, message, len);
	if (fuzz.world.conf.turn.nb_relay_pools > 0 && addr_is_v4(&dst->addr) && chance(50))
		dst->addr = fuzz.world.conf.turn.relay_pools[0].addresses[0];
	if (!nexthop_find(fuzz.world.dp->hot, &dst->addr, &src.addr, &port, &via) || chance(5))
		port = (uint8_t)below(fuzz.world.dp->nb_ports);
	fuzz_send("peer", port, frame,
		fuzz_udp(frame, port, &(struct fuzz_path){src, *dst}, message, len));
}
