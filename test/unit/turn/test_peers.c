// SPDX-License-Identifier: BSD-3-Clause
// CreatePermission, ChannelBind and the data that they permit: RFC 8656 sections 9 to 12.
#include "turn_fixture.h"

#include <stdio.h>

static struct fixture f;
static struct fixture_client ivan;
static struct endpoint peer;

static int setup(void **state)
{
	const struct turn_config c = fixture_config();

	*state = &f;
	fixture_open(&f, &c, 1);
	ivan = fixture_client("198.51.100.7", 5000);
	peer = fixture_endpoint("10.99.0.9", 7000);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	return 0;
}

// Verdict for a datagram of the peer: TURN_OK if it is relayed.
static unsigned int from_peer(void)
{
	return fixture_drop(fixture_from_peer(&f, &ivan.relay, &peer, "hello", 5));
}

static unsigned int to_peer(uint16_t channel)
{
	return fixture_drop(fixture_channel_data(&f, &ivan, channel, "hello", 5));
}

static unsigned int send_to(const struct endpoint *target, const char *data)
{
	fixture_begin(&f, STUN_INDICATION, STUN_SEND);
	stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, target);
	stun_put(&f.w, STUN_DATA_ATTR, data, strlen(data));
	return fixture_drop(fixture_send(&f, &ivan));
}

// Renews the nonce in tests that last longer than it.
static void fresh(void)
{
	ivan.nonce_len = 0;
}

// --- permissions ---------------------------------------------------------------------------------

static void no_permission_no_data(void **state)
{
	assert_int_equal(from_peer(), TURN_DROP_PEER_NO_PERMISSION);
	assert_int_equal(send_to(&peer, "x"), TURN_DROP_NO_PERMISSION);
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
	assert_int_equal(from_peer(), TURN_OK);
	assert_int_equal(send_to(&peer, "x"), TURN_OK);
	peer.port++; // section 9: ports are not compared
	assert_int_equal(from_peer(), TURN_OK);
	peer = fixture_endpoint("10.99.0.10", 7000);
	assert_int_equal(from_peer(), TURN_DROP_PEER_NO_PERMISSION);
}

static void permission_lasts_300_seconds(void **state)
{
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
	fixture_advance(&f, 299999);
	assert_int_equal(from_peer(), TURN_OK); // traffic does not renew it
	assert_int_equal(send_to(&peer, "x"), TURN_OK);
	fixture_advance(&f, 1);
	assert_int_equal(from_peer(), TURN_DROP_PEER_NO_PERMISSION);
	assert_int_equal(send_to(&peer, "x"), TURN_DROP_NO_PERMISSION);
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
	assert_int_equal(from_peer(), TURN_OK);
}

static void create_permission_is_atomic(void **state)
{
	static const struct {
		const char *second;
		unsigned int code;
	} t[] = {{"127.0.0.1", 403}, {"10.1.2.3", 403}, {"fd99::5", 443}};
	const struct endpoint good = fixture_endpoint("10.99.0.9", 1);

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		const struct endpoint bad = fixture_endpoint(t[i].second, 1);

		fixture_begin(&f, STUN_REQUEST, STUN_CREATE_PERMISSION);
		stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &good);
		stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &bad);
		assert_int_equal(fixture_ask(&f, &ivan), t[i].code);
		assert_true(fixture_signed(&f, &ivan));
		assert_int_equal(fixture_stats(&f).permissions, 0);
	}
	fixture_begin(&f, STUN_REQUEST, STUN_CREATE_PERMISSION);
	assert_int_equal(fixture_ask(&f, &ivan), 400); // at least one peer
	fixture_begin(&f, STUN_REQUEST, STUN_CREATE_PERMISSION);
	stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &good);
	stun_put(&f.w, STUN_XOR_PEER_ADDRESS, "\0\1\0\0\0\0", 6); // cut short
	assert_int_equal(fixture_ask(&f, &ivan), 400);
	assert_int_equal(fixture_stats(&f).permissions, 0);
}

static void create_permission_takes_several_and_ignores_the_port(void **state)
{
	fixture_begin(&f, STUN_REQUEST, STUN_CREATE_PERMISSION);
	for (uint16_t i = 0; i < 6; i++) {
		char text[ADDR_TEXT_LEN];
		struct endpoint e;

		snprintf(text, sizeof(text), "10.99.0.%d", 10 + i / 2); // each one twice
		e = fixture_endpoint(text, i); // port 0 included
		stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &e);
	}
	assert_int_equal(fixture_ask(&f, &ivan), 0);
	assert_int_equal(fixture_stats(&f).permissions, 3);
	assert_int_equal(f.answer.len, 20 + 24); // only the integrity attribute
}

static void caps_are_508_and_hurt_nobody(void **state)
{
	char text[ADDR_TEXT_LEN];

	for (int i = 0; i < 16; i++) {
		snprintf(text, sizeof(text), "10.99.0.%d", 9 + i);
		assert_int_equal(fixture_permit(&f, &ivan, text), 0);
	}
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.100"), 508);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.100", 1), 508);
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0); // a renewal needs no room
	assert_int_equal(from_peer(), TURN_OK);
	for (uint16_t i = 0; i < 8; i++)
		assert_int_equal(fixture_bind(&f, &ivan, (uint16_t)(0x4000 + i), "10.99.0.9",
					 (uint16_t)(1 + i)),
			0);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4008, "10.99.0.9", 100), 508);
	fixture_advance(&f, 300000); // the room comes back with time
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.100"), 0);
}

// Begins a CreatePermission for nb peers, of which `different` are different.
static void begin_permit(unsigned int nb, unsigned int different)
{
	fixture_begin(&f, STUN_REQUEST, STUN_CREATE_PERMISSION);
	for (unsigned int i = 0; i < nb; i++) {
		struct endpoint e = fixture_endpoint("10.98.0.0", 7);

		e.addr.b[14] = (uint8_t)(i % different >> 8);
		e.addr.b[15] = (uint8_t)(i % different);
		stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &e);
	}
}

static unsigned int permit_many(unsigned int nb, unsigned int different)
{
	begin_permit(nb, different);
	return fixture_ask(&f, &ivan);
}

static void open_with_permissions(uint32_t limit)
{
	struct turn_config c = fixture_config();

	fixture_close(&f);
	c.limits.permissions = limit;
	c.pools = (struct turn_pools){.permissions = 4096, .channels = 100, .per_user = 100};
	fixture_open(&f, &c, 1);
	ivan = fixture_client("198.51.100.7", 5000);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
}

// Some clients renew all their permissions in one request.
static void one_request_may_name_as_many_peers_as_are_allowed(void **state)
{
	const struct endpoint bad = fixture_endpoint("127.0.0.1", 1);

	open_with_permissions(256);
	assert_int_equal(permit_many(257, 257), 508);
	assert_int_equal(fixture_stats(&f).permissions, 0); // all or nothing
	begin_permit(256, 256);
	stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &bad);
	assert_int_equal(fixture_ask(&f, &ivan), 403);
	assert_int_equal(fixture_stats(&f).permissions, 0);
	assert_int_equal(permit_many(800, 256), 0); // each peer counts once
	assert_int_equal(fixture_stats(&f).permissions, 256);
	fixture_advance(&f, 200000);
	assert_int_equal(permit_many(256, 256), 0);
	assert_int_equal(permit_many(257, 257), 508);
	fixture_advance(&f, 299999);
	fixture_expire(&f);
	assert_int_equal(fixture_stats(&f).permissions, 256); // a renewal of all
	fixture_advance(&f, 1);
	fixture_expire(&f);
	assert_int_equal(fixture_stats(&f).permissions, 0);
}

// A failed request renews nothing. A request with known and new peers counts only the new ones.
static void a_refused_request_renews_nothing(void **state)
{
	open_with_permissions(256);
	assert_int_equal(permit_many(200, 200), 0);
	fixture_advance(&f, 200000);
	assert_int_equal(permit_many(257, 257), 508);
	fixture_advance(&f, 100000);
	fixture_expire(&f);
	assert_int_equal(fixture_stats(&f).permissions, 0);
	assert_int_equal(permit_many(200, 200), 0);
	assert_int_equal(permit_many(256, 256), 0);
	assert_int_equal(fixture_stats(&f).permissions, 256);
}

// 1,300 peers are 15,600 bytes; a stream carries 16,384.
static void the_longest_message_of_a_stream_is_no_limit(void **state)
{
	open_with_permissions(1300);
	assert_int_equal(permit_many(1301, 1301), 508);
	assert_int_equal(fixture_stats(&f).permissions, 0);
	assert_int_equal(permit_many(1301, 1300), 0);
	assert_int_equal(fixture_stats(&f).permissions, 1300);
}

static void permissions_do_not_pass_to_the_next_owner(void **state)
{
	struct fixture_client next = fixture_client("198.51.100.9", 1);

	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
	assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
	assert_int_equal(from_peer(), TURN_DROP_PEER_NO_ALLOCATION);
	for (uint16_t i = 1; !endpoint_eq(&next.relay, &ivan.relay); i++) {
		next.endpoint.port = i;
		next.nonce_len = 0;
		fixture_advance(&f, 1);
		assert_int_equal(fixture_allocate(&f, &next, 4), 0);
	}
	assert_int_equal(from_peer(), TURN_DROP_PEER_NO_PERMISSION);
}

// --- channels ------------------------------------------------------------------------------------

static void channel_bind_refusals(void **state)
{
	static const struct {
		uint16_t number;
		const char *peer;
		uint16_t port;
		unsigned int code;
	} t[] = {
		{0x3fff, "10.99.0.9", 7000, 400},
		{0x5000, "10.99.0.9", 7000, 400}, // reserved by RFC 8656 12
		{0xffff, "10.99.0.9", 7000, 400},
		{0, "10.99.0.9", 7000, 400},
		{0x4001, "10.99.0.9", 7000, 400}, // the peer has another number
		{0x4000, "10.99.0.9", 7001, 400}, // the number has another peer
		{0x4000, "10.99.0.8", 7000, 400},
		{0x4002, "fd99::5", 7000, 443},
		{0x4002, "127.0.0.1", 7000, 403},
		{0x4002, "10.99.0.9", 0, 403},
		{0x4000, "10.99.0.9", 7000, 0}, // the same pair: a renewal
		{0x4fff, "10.99.0.9", 7001, 0},
	};

	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.9", 7000), 0);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_int_equal(
			fixture_bind(&f, &ivan, t[i].number, t[i].peer, t[i].port), t[i].code);
	fixture_begin(&f, STUN_REQUEST, STUN_CHANNEL_BIND);
	stun_put_u32(&f.w, STUN_CHANNEL_NUMBER, 0x40030000);
	assert_int_equal(fixture_ask(&f, &ivan), 400);
	fixture_begin(&f, STUN_REQUEST, STUN_CHANNEL_BIND);
	stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &peer);
	assert_int_equal(fixture_ask(&f, &ivan), 400);
}

// A client that authenticates by RFC 5389 may use the channel numbers of RFC 5766, if the
// configuration allows it.
static void channel_numbers_of_rfc_5766(void **state)
{
	struct turn_config c = fixture_config();

	fixture_close(&f);
	c.rfc5766_channels = true;
	fixture_open(&f, &c, 7);
	fresh();
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_bind(&f, &ivan, 0x7fff, "10.99.0.9", 7000), 0);
	assert_int_equal(to_peer(0x7fff), TURN_OK);
	assert_int_equal(fixture_bind(&f, &ivan, 0x8000, "10.99.0.9", 7001), 400);
	ivan.alg = STUN_ALG_SHA256; // this client uses RFC 8489
	assert_int_equal(fixture_bind(&f, &ivan, 0x5000, "10.99.0.9", 7001), 400);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4fff, "10.99.0.9", 7001), 0);
}

// A deviation: the permission of RFC 8656 9 would expire after 300 s.
static void channel_keeps_its_permission(void **state)
{
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.9", 7000), 0);
	assert_int_equal(fixture_refresh(&f, &ivan, 3600), 0);
	for (unsigned int i = 0; i < 2; i++) {
		fixture_advance(&f, 299999 + i);
		fixture_expire(&f);
		assert_int_equal(to_peer(0x4000), TURN_OK);
		assert_int_equal(from_peer(), TURN_OK);
		assert_int_equal(f.burst.plan.front_len, 4); // on the channel
	}
	fixture_advance(&f, 1); // 600 s: channel and permission end
	assert_int_equal(to_peer(0x4000), TURN_DROP_CHANNEL_UNBOUND);
	assert_int_equal(from_peer(), TURN_DROP_PEER_NO_PERMISSION);
}

static void expired_channel_may_be_bound_again(void **state)
{
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.9", 7000), 0);
	assert_int_equal(fixture_refresh(&f, &ivan, 3600), 0);
	fixture_advance(&f, 600000);
	fresh();
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
	assert_int_equal(from_peer(), TURN_OK);
	assert_int_equal(f.burst.plan.front_len, 36); // no channel: a Data indication
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.10", 7000), 0);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4001, "10.99.0.9", 7000), 0);
}

static void every_channel_of_several_works(void **state)
{
	for (uint16_t i = 0; i < 8; i++)
		assert_int_equal(fixture_bind(&f, &ivan, (uint16_t)(0x4000 + i), "10.99.0.9",
					 (uint16_t)(7000 + i)),
			0);
	for (uint16_t i = 0; i < 8; i++) {
		const struct endpoint p = fixture_endpoint("10.99.0.9", (uint16_t)(7000 + i));
		struct turn_path path;

		assert_int_equal(to_peer((uint16_t)(0x4000 + i)), TURN_OK);
		turn_route_path(f.shard, f.burst.plan.flow, &path);
		assert_true(endpoint_eq(&path.src, &ivan.relay));
		assert_true(endpoint_eq(&path.dst, &p));
		fixture_from_peer(&f, &ivan.relay, &p, "hi", 2);
		assert_int_equal(f.burst.plan.channel, 0x4000 + i);
		assert_int_equal(f.burst.plan.front_len, 4);
		turn_route_path(f.shard, f.burst.plan.flow, &path);
		assert_true(endpoint_eq(&path.src, &f.config.listeners[0].endpoint));
		assert_true(endpoint_eq(&path.dst, &ivan.endpoint));
	}
}

// --- framing -------------------------------------------------------------------------------------

static void channel_data_lengths(void **state)
{
	static const struct {
		uint8_t datagram[12];
		size_t len;
		unsigned int drop;
		uint16_t off, kept;
	} t[] = {
		{{0x40, 0, 0, 5, 'h', 'e', 'l', 'l', 'o'}, 9, TURN_OK, 4, 5},
		{{0x40, 0, 0, 5, 'h', 'e', 'l', 'l', 'o', 0, 0, 0}, 12, TURN_OK, 4, 5}, // padded
		{{0x40, 0, 0, 0}, 4, TURN_OK, 4, 0}, // section 12.6: an empty datagram is sent
		{{0x40, 0, 0, 6, 'h', 'e', 'l', 'l', 'o'}, 9, TURN_DROP_CHANNEL_LENGTH, 0, 0},
		{{0x40, 0, 0xff, 0xff, 'h'}, 5, TURN_DROP_CHANNEL_LENGTH, 0, 0},
		{{0x40, 0, 0}, 3, TURN_DROP_CHANNEL_LENGTH, 0, 0},
		{{0x40}, 1, TURN_DROP_CHANNEL_LENGTH, 0, 0},
		{{0x40, 1, 0, 1, 'h'}, 5, TURN_DROP_CHANNEL_UNBOUND, 0, 0},
		{{0x50, 0, 0, 1, 'h'}, 5, TURN_DROP_CHANNEL_UNBOUND, 0, 0},
		{{0x80, 0, 0, 1, 'h'}, 5, TURN_DROP_NOT_TURN, 0, 0},
		{{0x16, 0xfe, 0xfd}, 3, TURN_DROP_NOT_TURN, 0, 0}, // DTLS
		{{0}, 0, TURN_DROP_NOT_TURN, 0, 0},
	};

	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.9", 7000), 0);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		const struct turn_plan *p = fixture_from_client(&f, &ivan, t[i].datagram, t[i].len);

		assert_int_equal(fixture_drop(p), t[i].drop);
		if (t[i].drop != TURN_OK)
			continue;
		assert_int_equal(p->verdict, TURN_RELAY);
		assert_int_equal(p->off, t[i].off);
		assert_int_equal(p->len, t[i].kept);
		assert_int_equal(p->front_len, 0);
	}
}

static void data_indication_is_well_formed(void **state)
{
	const char payload[] = "seven b";
	uint8_t whole[TURN_SIDE_LEN] = {0};
	struct endpoint sender;
	struct stun_msg m;
	int family;

	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
	fixture_from_peer(&f, &ivan.relay, &peer, payload, 7);
	assert_int_equal(f.burst.plan.verdict, TURN_RELAY);
	assert_int_equal(f.burst.plan.front_len, 36);
	memcpy(whole, f.burst.side.front, 36);
	memcpy(whole + 36, payload, 7);
	assert_int_equal(stun_parse(whole, 44, &m), 0); // with one byte of padding
	assert_int_equal(m.cls, STUN_INDICATION);
	assert_int_equal(m.method, STUN_DATA);
	assert_int_equal(m.alen[STUN_DATA_ATTR], 7);
	assert_memory_equal(m.data + m.off[STUN_DATA_ATTR], payload, 7);
	assert_true(stun_decode_xor_addr(
		&m, m.off[STUN_XOR_PEER_ADDRESS], m.alen[STUN_XOR_PEER_ADDRESS], &sender, &family));
	assert_true(endpoint_eq(&sender, &peer));
}

static void send_indication_rules(void **state)
{
	const struct endpoint no_port = fixture_endpoint("10.99.0.9", 0);
	const struct endpoint v6 = fixture_endpoint("fd99::9", 7000);
	const struct endpoint second = fixture_endpoint("10.99.0.9", 7001);
	struct turn_path path;

	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
	assert_int_equal(send_to(&peer, ""), TURN_OK); // section 11.2: may be empty
	assert_int_equal(f.burst.plan.verdict, TURN_RELAY);
	assert_int_equal(f.burst.plan.len, 0);
	turn_route_path(f.shard, f.burst.plan.flow, &path);
	assert_true(endpoint_eq(&path.src, &ivan.relay));
	assert_true(endpoint_eq(&path.dst, &peer));
	// to a second peer, whose path is not kept
	assert_int_equal(send_to(&second, ""), TURN_OK);
	assert_int_equal(f.burst.plan.verdict, TURN_SEND);
	assert_true(endpoint_eq(&f.burst.side.src, &ivan.relay));
	assert_true(endpoint_eq(&f.burst.side.dst, &second));
	assert_int_equal(send_to(&no_port, "x"), TURN_DROP_PEER_DENIED);
	assert_int_equal(send_to(&v6, "x"), TURN_DROP_PEER_DENIED);

	fixture_begin(&f, STUN_INDICATION, STUN_SEND);
	stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &peer);
	assert_int_equal(fixture_drop(fixture_send(&f, &ivan)), TURN_DROP_INDICATION);
	fixture_begin(&f, STUN_INDICATION, STUN_SEND);
	stun_put(&f.w, STUN_DATA_ATTR, "x", 1);
	assert_int_equal(fixture_drop(fixture_send(&f, &ivan)), TURN_DROP_INDICATION);

	fixture_begin(&f, STUN_INDICATION, STUN_SEND);
	stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &peer);
	stun_put(&f.w, STUN_DONT_FRAGMENT, NULL, 0);
	stun_put(&f.w, STUN_DATA_ATTR, "abc", 3);
	assert_int_equal(fixture_drop(fixture_send(&f, &ivan)), TURN_OK);
	assert_int_equal(f.burst.plan.flags, TURN_PLAN_DF);
	assert_memory_equal(f.datagram + f.burst.plan.off, "abc", f.burst.plan.len);

	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.9", 7000), 0);
	assert_int_equal(send_to(&peer, "x"), TURN_OK);
	assert_int_equal(f.burst.plan.verdict, TURN_RELAY);
	assert_int_equal(f.burst.plan.front_len, 0);
}

static void indications_are_never_answered(void **state)
{
	fixture_begin(&f, STUN_INDICATION, STUN_SEND);
	f.w.buf[f.w.len++] = 0x7f; // an unknown comprehension-required attribute
	f.w.buf[f.w.len++] = 0x01;
	f.w.buf[f.w.len++] = 0;
	f.w.buf[f.w.len++] = 0;
	store_be16(f.w.buf + 2, (uint16_t)(f.w.len - STUN_HEADER_LEN));
	assert_int_equal(fixture_drop(fixture_send(&f, &ivan)), TURN_DROP_UNKNOWN_ATTRIBUTE);
	fixture_begin(&f, STUN_INDICATION, STUN_BINDING);
	assert_int_equal(fixture_drop(fixture_send(&f, &ivan)), TURN_DROP_KEEPALIVE);
	fixture_begin(&f, STUN_INDICATION, STUN_ALLOCATE);
	assert_int_equal(fixture_drop(fixture_send(&f, &ivan)), TURN_DROP_METHOD);
	fixture_begin(&f, STUN_SUCCESS, STUN_BINDING); // a response without a request
	assert_int_equal(fixture_drop(fixture_send(&f, &ivan)), TURN_DROP_METHOD);
	fixture_begin(&f, STUN_REQUEST, (enum stun_method)0x0ff);
	assert_int_equal(fixture_drop(fixture_send(&f, &ivan)), TURN_DROP_METHOD);
}

static void own_relay_address_is_a_peer_unless_hairpin_is_off(void **state)
{
	struct turn_config c = fixture_config();

	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.1"), 0);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.1", 50001), 0);
	fixture_close(&f);
	c.hairpin = false;
	fixture_open(&f, &c, 6);
	fresh();
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.1"), 403);
}

static void assert_no_line_has(const struct addr *a)
{
	const struct turn_line *l = turn_shard_lines(f.shard);

	for (uint32_t i = 0; i < turn_relay_map_slots(f.map, f.params.worker); i++)
		assert_false(l[i].channel != 0 && addr_eq(&l[i].end[TURN_FROM_PEER], a));
}

// A line would accept datagrams with such a source port without a check, but no other host may have
// it.
static void no_line_has_an_own_address(void **state)
{
	static const uint8_t key[32];
	const struct endpoint local = fixture_endpoint("10.99.0.1", 50001);
	struct turn_config c = f.config;
	struct turn_policy *strict;

	c.hairpin = false;
	strict = turn_policy_create(&c, f.crypto, key);
	assert_non_null(strict);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.1", 50001), 0);
	fixture_channel_data(&f, &ivan, 0x4000, "x", 1);
	assert_no_line_has(&local.addr);
	turn_shard_set_policy(f.shard, strict); // the new policy does not treat it as a peer at all
	fixture_channel_data(&f, &ivan, 0x4000, "x", 1);
	assert_no_line_has(&local.addr);
	turn_shard_set_policy(f.shard, f.policy);
	turn_policy_free(strict);
}

// Each field that a line checks.
static void a_line_vouches_for_one_datagram(void **state)
{
	static const uint8_t data[] = {0x40, 0x02, 0, 4, 1, 2, 3, 4};
	const struct turn_line line = {.end = {fixture_endpoint("fd99::20", 0).addr, peer.addr},
		.mark = {5000 | TURN_LINE_LISTENER(3) << 16, 7000 | 9 << 16},
		.until = 100,
		.channel = __builtin_bswap16(0x4002)};
	struct turn_line none = line;

	none.channel = 0;
	for (uint8_t leg = 0; leg < 2; leg++) {
		const struct turn_view good = {.src = line.end[leg],
			.mark = line.mark[leg],
			.len = 8,
			.leg = leg,
			.data = data};
		struct turn_view v;
		uint8_t changed[8];

		assert_true(turn_line_vouches(&line, &good, leg, 99));
		assert_false(turn_line_vouches(&line, &good, leg, 100));
		assert_false(turn_line_vouches(&line, &good, leg, 101));
		for (unsigned int bit = 0; bit < 128; bit++) {
			v = good;
			v.src.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_false(turn_line_vouches(&line, &v, leg, 99));
		}
		for (unsigned int bit = 0; bit < 32; bit++) {
			v = good;
			v.mark ^= UINT32_C(1) << bit;
			assert_false(turn_line_vouches(&line, &v, leg, 99));
		}
		for (unsigned int bit = 0; bit < 64; bit++) { // of a client: the header, too
			v = good;
			memcpy(changed, data, sizeof(changed));
			changed[bit / 8] ^= (uint8_t)(1 << bit % 8);
			v.data = changed;
			assert_int_equal(
				turn_line_vouches(&line, &v, leg, 99), leg == 1 || bit >= 32);
		}
		for (uint16_t len = 4; len < 12; len++) {
			v = good;
			v.len = len;
			assert_int_equal(
				turn_line_vouches(&line, &v, leg, 99), leg == 1 || len == 8);
		}
		v = good;
		memcpy(changed, (const uint8_t[]){0, 0, 0, 4}, 4); // number 0
		v.data = changed;
		assert_false(turn_line_vouches(&none, &v, v.leg, 99));
	}
}

#define MANY 600

static struct endpoint one_of_many(unsigned int i)
{
	// three channels to each of 200 addresses
	const uint8_t ip[4] = {10, 99, 0, (uint8_t)(20 + i / 3)};

	return (struct endpoint){addr_from_v4(ip), (uint16_t)(7000 + i % 3)};
}

// Binds or renews the channels from first on, every step-th.
static void bind_many(unsigned int first, unsigned int step)
{
	for (unsigned int i = first; i < MANY; i += step) {
		const struct endpoint target = one_of_many(i);

		fixture_begin(&f, STUN_REQUEST, STUN_CHANNEL_BIND);
		stun_put_u32(&f.w, STUN_CHANNEL_NUMBER, (CHANNEL_MIN + i) << 16);
		stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &target);
		assert_int_equal(fixture_ask(&f, &ivan), 0);
	}
}

// Each is found only by its own number and peer. Expired ones are not found.
static void check_many(bool (*bound)(unsigned int i))
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < MANY; i++) {
		const struct endpoint target = one_of_many(i);
		struct turn_path path;

		left += bound(i);
		assert_int_equal(to_peer((uint16_t)(CHANNEL_MIN + i)),
			bound(i) ? TURN_OK : TURN_DROP_CHANNEL_UNBOUND);
		if (!bound(i))
			continue;
		turn_route_path(f.shard, f.burst.plan.flow, &path);
		assert_true(endpoint_eq(&path.dst, &target));
		fixture_from_peer(&f, &ivan.relay, &target, "x", 1);
		assert_int_equal(f.burst.plan.channel, CHANNEL_MIN + i);
	}
	assert_int_equal(fixture_stats(&f).channels, left);
}

static bool bound_all(unsigned int i)
{
	return true;
}

static bool bound_some(unsigned int i)
{
	return i % 4 == 0 || i % 7 == 0;
}

// The largest number of channels that a hostile client may have, some of which expire and return.
static void hundreds_of_channels_are_told_apart(void **state)
{
	struct turn_config c = fixture_config();

	fixture_close(&f);
	c.limits.permissions = c.limits.channels = MANY;
	c.pools = (struct turn_pools){.permissions = MANY, .channels = 2 * MANY, .per_user = 100};
	c.nonce_lifetime_s = 86400;
	fixture_open(&f, &c, 8);
	fresh();
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_refresh(&f, &ivan, 3600), 0);
	bind_many(0, 1);
	check_many(bound_all);
	assert_int_equal(fixture_stats(&f).permissions, MANY / 3);
	fixture_advance(&f, 400000);
	bind_many(0, 4);
	bind_many(0, 7);
	fixture_advance(&f, 200000); // 600 s after the first bind, 200 s after the second
	fixture_expire(&f);
	check_many(bound_some);
	bind_many(0, 1);
	check_many(bound_all);
	fixture_advance(&f, 600000);
	fixture_expire(&f);
	assert_int_equal(fixture_stats(&f).channels + fixture_stats(&f).permissions, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(no_permission_no_data),
		T(permission_lasts_300_seconds),
		T(create_permission_is_atomic),
		T(create_permission_takes_several_and_ignores_the_port),
		T(caps_are_508_and_hurt_nobody),
		T(one_request_may_name_as_many_peers_as_are_allowed),
		T(a_refused_request_renews_nothing),
		T(the_longest_message_of_a_stream_is_no_limit),
		T(permissions_do_not_pass_to_the_next_owner),
		T(channel_bind_refusals),
		T(channel_numbers_of_rfc_5766),
		T(channel_keeps_its_permission),
		T(expired_channel_may_be_bound_again),
		T(every_channel_of_several_works),
		T(hundreds_of_channels_are_told_apart),
		T(channel_data_lengths),
		T(data_indication_is_well_formed),
		T(send_indication_rules),
		T(indications_are_never_answered),
		T(own_relay_address_is_a_peer_unless_hairpin_is_off),
		T(no_line_has_an_own_address),
		T(a_line_vouches_for_one_datagram),
	};

	return cmocka_run_group_tests_name("peers", tests, NULL, NULL);
}
