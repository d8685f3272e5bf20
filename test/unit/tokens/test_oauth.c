// SPDX-License-Identifier: BSD-3-Clause
// Requests with access tokens (RFC 7635): challenges, grants and their lifetimes, and refusals.

#include "oauth_world.h"

#include <netinet/in.h>
#include <stdlib.h>

#include "shard_rows.h"
#include "turn_listing.h"

#define CLIENT "198.51.100.7"

static struct turn_config config;
static struct fixture f;

static int setup(void **state)
{
	*state = &f;
	config = oauth_config();
	fixture_open(&f, &config, 1);
	return 0;
}

// Reopens the fixture after the test has changed the configuration.
static void again(void)
{
	fixture_close(&f);
	fixture_open(&f, &config, 2);
}

static struct fixture_client north(void)
{
	return oauth_client(&f, OAUTH_NORTH, 1, CLIENT);
}

static uint64_t refused(enum turn_refusal refusal)
{
	return fixture_stats(&f).refused[refusal];
}

static bool names_server(const char *name)
{
	const struct stun_msg *m = &f.answer;

	return m->alen[STUN_THIRD_PARTY_AUTHORIZATION] == strlen(name) &&
		memcmp(m->data + m->off[STUN_THIRD_PARTY_AUTHORIZATION], name, strlen(name)) == 0;
}

// Gives a client the next token.
static void renew(struct fixture_client *c, enum oauth_kid kid, uint32_t number)
{
	const struct fixture_client fresh = oauth_client(&f, kid, number, CLIENT);

	c->user = fresh.user;
	c->mac = fresh.mac;
	memcpy(c->access, fresh.access, sizeof(c->access));
	c->access_len = fresh.access_len;
}

// --- challenges ----------------------------------------------------------------------------------

static void ask(const struct fixture_client *c)
{
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	fixture_send(&f, c);
	assert_int_equal(fixture_code(&f), 401);
	fixture_assert_challenge(&f);
}

static void a_challenge_names_the_server(void **state)
{
	const struct fixture_client c = north();
	struct fixture_client ivan = fixture_client(CLIENT, 5000);

	ask(&c);
	assert_true(names_server(OAUTH_NAME));
	// 9.2: with username anonymity clients would not send USERNAME, which contains the kid
	assert_memory_equal(f.answer.data + f.answer.off[STUN_NONCE], "obMatJos2gAAA", 13);
	assert_true(f.burst.plan.front_len + 28 <= 3 * (28 + 28)); // in whole IP packets
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	fixture_advance(&f, 700000);
	fixture_begin(&f, STUN_REQUEST, STUN_REFRESH);
	fixture_sign(&f, &ivan);
	fixture_send(&f, &ivan);
	assert_int_equal(fixture_code(&f), 438);
	assert_true(names_server(OAUTH_NAME));
	config.first.oauth.server_name = NULL; // then the realm is its name
	again();
	ask(&c);
	assert_true(names_server(FIXTURE_REALM));
	config.first.oauth.nb_keys = 0;
	config.first.nb_secrets = 0;
	again();
	ask(&c);
	assert_false(stun_has(&f.answer, STUN_THIRD_PARTY_AUTHORIZATION));
	assert_memory_equal(f.answer.data + f.answer.off[STUN_NONCE], "obMatJos2wAAA", 13);
}

// RFC 7635: a client that sends a token without being asked gets 420, not an endless 401.
static void an_unrequested_token(void **state)
{
	struct fixture_client c = north(), ivan = fixture_client("198.51.100.8", 5000);

	config.first.oauth.nb_keys = 0;
	again();
	assert_int_equal(fixture_allocate(&f, &c, 4), 420);
	assert_int_equal(f.answer.alen[STUN_UNKNOWN_ATTRIBUTES], 2);
	assert_int_equal(load_be16(f.answer.data + f.answer.off[STUN_UNKNOWN_ATTRIBUTES]), 0x001b);
	assert_false(stun_has(&f.answer, STUN_MESSAGE_INTEGRITY));
	memcpy(ivan.access, c.access, c.access_len);
	ivan.access_len = c.access_len;
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 420);
	assert_true(fixture_signed(&f, &ivan));
	ivan.access_len = 0;
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
}

// In Binding it is unknown. In an indication it is ignored, like all unexpected attributes there
// (RFC 8489 6.3).
static void a_token_where_it_does_not_belong(void **state)
{
	struct fixture_client c = north();
	const struct endpoint peer = fixture_endpoint("10.99.0.9", 7000);

	fixture_begin(&f, STUN_REQUEST, STUN_BINDING);
	stun_put(&f.w, STUN_ACCESS_TOKEN, c.access, c.access_len);
	fixture_send(&f, &c);
	assert_int_equal(fixture_code(&f), 420);
	assert_int_equal(load_be16(f.answer.data + f.answer.off[STUN_UNKNOWN_ATTRIBUTES]), 0x001b);
	assert_int_equal(fixture_allocate(&f, &c, 4), 0);
	assert_int_equal(fixture_permit(&f, &c, "10.99.0.9"), 0);
	fixture_begin(&f, STUN_INDICATION, STUN_SEND);
	stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &peer);
	stun_put(&f.w, STUN_ACCESS_TOKEN, c.access, c.access_len);
	stun_put(&f.w, STUN_DATA_ATTR, "x", 1);
	assert_int_equal(fixture_drop(fixture_send(&f, &c)), TURN_OK);
}

// --- a session -----------------------------------------------------------------------------------

static void a_session(enum oauth_kid kid, enum stun_algorithm alg, uint16_t mac_len)
{
	struct token_seal t = oauth_seal(&f, kid, 1);
	struct fixture_client c = oauth_client(&f, kid, 1, CLIENT);

	t.mac_len = mac_len;
	oauth_bring(&c, &t);
	c.alg = alg;
	assert_int_equal(fixture_allocate(&f, &c, 4), 0);
	assert_true(fixture_signed(&f, &c));
	assert_int_equal(c.lifetime_s, 600);
	c.access_len = 0; // the key alone signs requests that prolong nothing
	assert_int_equal(fixture_permit(&f, &c, "10.99.0.9"), 0);
	assert_true(fixture_signed(&f, &c));
	assert_int_equal(fixture_bind(&f, &c, 0x4000, "10.99.0.9", 7000), 0);
	assert_int_equal(fixture_channel_data(&f, &c, 0x4000, "hello", 5)->verdict, TURN_RELAY);
	oauth_bring(&c, &t);
	c.alg = alg;
	assert_int_equal(fixture_refresh(&f, &c, 600), 0);
	assert_true(fixture_signed(&f, &c));
	c.access_len = 0;
	assert_int_equal(fixture_refresh(&f, &c, 0), 0);
	assert_true(fixture_signed(&f, &c));
	assert_int_equal(fixture_stats(&f).allocations, 0);
}

static void every_kind_of_key(void **state)
{
	for (int kid = 0; kid < OAUTH_KIDS; kid++) {
		a_session(kid, STUN_ALG_MD5, 20);
		a_session(kid, STUN_ALG_SHA256, 32);
		a_session(kid, STUN_ALG_MD5, 32);
		a_session(kid, STUN_ALG_SHA256, 20);
	}
	assert_int_equal(fixture_stats(&f).auth_failures, 0);
}

// coturn's server and client use 16 of the 20 bytes as the key of HMAC-SHA1, and so do clients made
// for it.
static void the_key_as_coturn_has_it(void **state)
{
	static char longer[] = "north-of-everything";

	for (int k = 0; k < 2; k++) {
		struct fixture_client c = north();

		config.first.oauth.keys[OAUTH_NORTH].kid = k == 0 ? (char *)"north" : longer;
		again();
		c.user = config.first.oauth.keys[OAUTH_NORTH].kid;
		c.mac.len = 16;
		assert_int_equal(fixture_allocate(&f, &c, 4), 0);
		assert_true(fixture_signed(&f, &c)); // like the request
		c.access_len = 0;
		assert_int_equal(fixture_permit(&f, &c, "10.99.0.9"), 0);
		assert_true(fixture_signed(&f, &c));
		c.mac.len = 20; // and the whole key, by clients that follow the RFC
		assert_int_equal(fixture_permit(&f, &c, "10.99.0.9"), 0);
		assert_true(fixture_signed(&f, &c));
		c.mac.len = 15;
		assert_int_equal(fixture_permit(&f, &c, "10.99.0.9"), 401);
		c.mac.len = 16;
		c.alg = STUN_ALG_SHA256; // for which coturn does not cut the key
		assert_int_equal(fixture_permit(&f, &c, "10.99.0.9"), 401);
	}
}

// coturn does not cut a key of 32 bytes, and 16 bytes of it are not accepted.
static void half_a_long_key_is_refused(void **state)
{
	struct token_seal t = oauth_seal(&f, OAUTH_NORTH, 1);
	struct fixture_client c = north();

	t.mac_len = 32;
	oauth_bring(&c, &t);
	for (uint8_t len = 16; len <= 20; len += 4) {
		c.mac.len = len;
		assert_int_equal(fixture_allocate(&f, &c, 4), 401);
	}
	c.mac.len = 32;
	assert_int_equal(fixture_allocate(&f, &c, 4), 0);
}

// A long kid leaves no room for the end of a long key: the name is shortened.
static void a_long_kid(void **state)
{
	static char kid[509];

	memset(kid, 'k', 508);
	config.first.oauth.keys[OAUTH_NORTH].kid = kid;
	again();
	for (uint16_t mac_len = 20; mac_len <= 32; mac_len += 12) {
		struct token_seal t = oauth_seal(&f, OAUTH_NORTH, 1);
		struct fixture_client c = north();
		struct turn_info info;

		c.user = kid;
		t.mac_len = mac_len;
		oauth_bring(&c, &t);
		assert_int_equal(fixture_allocate(&f, &c, 4), 0);
		c.access_len = 0;
		assert_int_equal(fixture_permit(&f, &c, "10.99.0.9"), 0);
		assert_int_equal(shard_rows(f.shard, &info, 1), 1);
		assert_int_equal(strlen(info.user), mac_len == 20 ? 20 : 8);
		assert_int_equal(fixture_refresh(&f, &c, 0), 0);
	}
}

// --- time ----------------------------------------------------------------------------------------

// No lifetime exceeds that of the token: neither by Allocate nor by Refresh.
static void a_token_bounds_lifetimes(void **state)
{
	struct token_seal t = oauth_seal(&f, OAUTH_NORTH, 1);
	struct fixture_client c = north();

	t.lifetime_s = 90;
	oauth_bring(&c, &t);
	assert_int_equal(fixture_allocate(&f, &c, 4), 0);
	assert_int_equal(c.lifetime_s, 90);
	fixture_advance(&f, 60000);
	assert_int_equal(fixture_refresh(&f, &c, 3600), 0);
	assert_int_equal(c.lifetime_s, 30);
	fixture_advance(&f, 29000);
	fixture_expire(&f);
	assert_int_equal(fixture_stats(&f).allocations, 1);
	renew(&c, OAUTH_NORTH, 2); // in time: it continues
	assert_int_equal(fixture_refresh(&f, &c, 3600), 0);
	assert_int_equal(c.lifetime_s, OAUTH_LIFETIME_S);
	fixture_advance(&f, OAUTH_LIFETIME_S * 1000 - 1000);
	fixture_expire(&f);
	assert_int_equal(fixture_stats(&f).allocations, 1);
	fixture_advance(&f, 1100);
	fixture_expire(&f);
	assert_int_equal(fixture_stats(&f).allocations, 0);
	assert_int_equal(f.told.ended[TURN_END_EXPIRED], 1);
}

// The tolerance of 5 seconds at both ends of a token's time.
static void clocks_may_be_apart(void **state)
{
	static const struct {
		int64_t ahead_s; // time stamp of the token, relative to now
		uint32_t lifetime_s;
		unsigned int code;
		enum turn_refusal refusal;
		uint32_t granted_s;
	} cases[] = {
		{5, 600, 0, TURN_GRANTED, 605},
		{6, 600, 401, TURN_REFUSED_ACCESS_FUTURE, 0},
		{1000000, 600, 401, TURN_REFUSED_ACCESS_FUTURE, 0},
		{-599, 600, 0, TURN_GRANTED, 1},
		{-600, 600, 0, TURN_GRANTED, 1},
		{-604, 600, 0, TURN_GRANTED, 1},
		{-605, 600, 401, TURN_REFUSED_ACCESS_EXPIRED, 0},
		{-FIXTURE_WALL_S, 600, 401, TURN_REFUSED_ACCESS_EXPIRED, 0},
		{0, 0, 0, TURN_GRANTED, 1}, // coturn would accept it forever
		{-5, 0, 401, TURN_REFUSED_ACCESS_EXPIRED, 0},
		{-1000000, UINT32_MAX, 0, TURN_GRANTED, 3600},
		{(INT64_C(1) << 48) - 1 - FIXTURE_WALL_S, UINT32_MAX, 401,
			TURN_REFUSED_ACCESS_FUTURE, 0},
	};

	config.limits.lifetime_default_s = 3600;
	again();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct token_seal t = oauth_seal(&f, OAUTH_NORTH, 1);
		struct fixture_client c = north();
		const uint64_t before = refused(cases[i].refusal);

		t.made_s = (uint64_t)(FIXTURE_WALL_S + cases[i].ahead_s);
		t.lifetime_s = cases[i].lifetime_s;
		oauth_bring(&c, &t);
		assert_int_equal(fixture_allocate(&f, &c, 4), cases[i].code);
		if (cases[i].code != 0) {
			assert_int_equal(refused(cases[i].refusal), before + 1);
			fixture_assert_challenge(&f);
			assert_true(names_server(OAUTH_NAME));
			continue;
		}
		assert_int_equal(c.lifetime_s, cases[i].granted_s);
		c.access_len = 0;
		assert_int_equal(fixture_refresh(&f, &c, 0), 0);
	}
}

// --- refreshes -----------------------------------------------------------------------------------

// Without a token nothing is prolonged. With one, that token's key signs from then on, whichever
// key has sealed it.
static void a_refresh_brings_a_token(void **state)
{
	struct fixture_client c = north(), old;

	assert_int_equal(fixture_allocate(&f, &c, 4), 0);
	old = c;
	old.access_len = 0;
	assert_int_equal(fixture_refresh(&f, &old, 600), 401);
	assert_int_equal(refused(TURN_REFUSED_ACCESS_MISSING), 1);
	fixture_assert_challenge(&f);
	fixture_begin(&f, STUN_REQUEST, STUN_REFRESH); // without LIFETIME, too
	assert_int_equal(fixture_ask(&f, &old), 401);
	renew(&c, OAUTH_WEST, 2);
	assert_int_equal(fixture_refresh(&f, &c, 600), 0);
	assert_true(fixture_signed(&f, &c));
	assert_int_equal(fixture_permit(&f, &old, "10.99.0.9"), 401); // even another kid
	c.access_len = 0;
	assert_int_equal(fixture_permit(&f, &c, "10.99.0.9"), 0);
	renew(&c, OAUTH_WEST, 3); // same kid, another key
	assert_int_equal(fixture_refresh(&f, &c, 600), 0);
	old = oauth_client(&f, OAUTH_WEST, 2, CLIENT);
	old.access_len = 0;
	memcpy(old.nonce, c.nonce, c.nonce_len);
	old.nonce_len = c.nonce_len;
	assert_int_equal(fixture_permit(&f, &old, "10.99.0.9"), 401);
	assert_int_equal(refused(TURN_REFUSED_ACCESS_SIGNATURE), 1);
}

// An answer is lost: the client retransmits the request, and gets an equal answer.
static void a_repeated_request_gets_its_answer(void **state)
{
	struct fixture_client c = north();

	assert_int_equal(fixture_allocate(&f, &c, 4), 0);
	fixture_resend(&f, &c);
	assert_int_equal(fixture_code(&f), 0);
	assert_true(fixture_signed(&f, &c));
	renew(&c, OAUTH_SOUTH, 2);
	assert_int_equal(fixture_refresh(&f, &c, 600), 0);
	fixture_resend(&f, &c);
	assert_int_equal(fixture_code(&f), 0);
	assert_true(fixture_signed(&f, &c));
	assert_int_equal(fixture_allocate(&f, &c, 4), 437); // another Allocate
	assert_true(fixture_signed(&f, &c));
}

// A token in CreatePermission or ChannelBind is verified, and has no effect.
static void other_requests_may_bring_a_token(void **state)
{
	struct fixture_client c = north(), renewed;

	assert_int_equal(fixture_allocate(&f, &c, 4), 0);
	renewed = c;
	renew(&renewed, OAUTH_SOUTH, 2);
	assert_int_equal(fixture_permit(&f, &renewed, "10.99.0.9"), 0);
	assert_true(fixture_signed(&f, &renewed));
	c.access_len = 0;
	assert_int_equal(fixture_permit(&f, &c, "10.99.0.9"), 0);
	renewed.access[20] ^= 1;
	assert_int_equal(fixture_permit(&f, &renewed, "10.99.0.9"), 401);
}

static void a_dual_session(void **state)
{
	struct fixture_client c = north();

	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, (uint32_t)IPPROTO_UDP << 24);
	stun_put_u32(&f.w, STUN_ADDITIONAL_ADDRESS_FAMILY, 2u << 24);
	assert_int_equal(fixture_ask(&f, &c), 0);
	renew(&c, OAUTH_SOUTH, 2);
	assert_int_equal(fixture_refresh(&f, &c, 600), 0);
	c.access_len = 0;
	assert_int_equal(fixture_bind(&f, &c, 0x4000, "10.99.0.9", 7000), 0);
	assert_int_equal(fixture_bind(&f, &c, 0x4001, "fd99::9", 7000), 0);
	// data of the other family makes that half the first: it has the key, too
	assert_int_equal(fixture_channel_data(&f, &c, 0x4001, "hello", 5)->verdict, TURN_RELAY);
	assert_int_equal(fixture_permit(&f, &c, "10.99.0.10"), 0);
	fixture_begin(&f, STUN_REQUEST, STUN_REFRESH); // deletes one half
	stun_put_u32(&f.w, STUN_LIFETIME, 0);
	stun_put_u32(&f.w, STUN_REQUESTED_ADDRESS_FAMILY, 1u << 24);
	assert_int_equal(fixture_ask(&f, &c), 0);
	assert_int_equal(fixture_permit(&f, &c, "fd99::10"), 0);
	assert_int_equal(fixture_stats(&f).allocations, 1);
}

// --- other clients -------------------------------------------------------------------------------

// RFC 8656 5: an allocation belongs to its creator: 441, which is signed with the requester's key.
static void sessions_of_others(void **state)
{
	struct fixture_client c = north(), ivan = fixture_client(CLIENT, 5000);

	assert_int_equal(fixture_allocate(&f, &c, 4), 0);
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 441);
	assert_true(fixture_signed(&f, &ivan));
	assert_int_equal(fixture_refresh(&f, &c, 600), 0);
	assert_int_equal(fixture_refresh(&f, &c, 0), 0);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_refresh(&f, &c, 600), 441);
	assert_true(fixture_signed(&f, &c));
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 0);
}

static void users_go_on_beside_tokens(void **state)
{
	struct fixture_client c = north(), ivan = fixture_client("198.51.100.8", 5000),
			      rest = fixture_client("198.51.100.9", 5000);
	char password[STUN_REST_PASSWORD_SIZE];

	assert_true(stun_rest_password(f.crypto, "s3cret", "1900000000:olaf", 15, password));
	rest.user = "1900000000:olaf";
	rest.password = password;
	assert_int_equal(fixture_allocate(&f, &c, 4), 0);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_allocate(&f, &rest, 4), 0);
	assert_int_equal(fixture_refresh(&f, &c, 600), 0);
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 0);
	assert_int_equal(fixture_refresh(&f, &rest, 600), 0);
}

// --- errors --------------------------------------------------------------------------------------

static void is_refused(struct fixture_client *c, enum turn_refusal refusal)
{
	const uint64_t before = refused(refusal);

	assert_int_equal(fixture_allocate(&f, c, 4), 401);
	fixture_assert_challenge(&f);
	assert_int_equal(refused(refusal), before + 1);
	assert_int_equal(fixture_stats(&f).allocations, 0);
}

static void wrong_tokens(void **state)
{
	struct token_seal t = oauth_seal(&f, OAUTH_NORTH, 1);
	const struct fixture_client good = north();
	struct fixture_client c = good;

	c.user = "east";
	is_refused(&c, TURN_REFUSED_ACCESS_KEY);
	c.user = "";
	is_refused(&c, TURN_REFUSED_ACCESS_KEY);
	c.user = "ivan"; // a user is no kid, whatever key signs
	is_refused(&c, TURN_REFUSED_ACCESS_KEY);
	c = good;
	c.userhash = true; // RFC 7635 allows only USERNAME
	is_refused(&c, TURN_REFUSED_ACCESS_KEY);
	c = good;
	c.user = "south";
	is_refused(&c, TURN_REFUSED_ACCESS_FORGED);
	c.user = "west";
	is_refused(&c, TURN_REFUSED_ACCESS_FORGED);
	c = good;
	c.access[c.access_len - 1] ^= 1;
	is_refused(&c, TURN_REFUSED_ACCESS_FORGED);
	t.name = FIXTURE_REALM;
	oauth_bring(&c, &t);
	is_refused(&c, TURN_REFUSED_ACCESS_FORGED);
	for (size_t len = 1; len < good.access_len; len++) {
		c = good;
		c.access_len = len;
		is_refused(&c, TURN_REFUSED_ACCESS_MALFORMED);
	}
	c = good;
	c.access_len = sizeof(c.access);
	is_refused(&c, TURN_REFUSED_ACCESS_MALFORMED);
	c = good;
	c.mac.bytes[3] ^= 1;
	is_refused(&c, TURN_REFUSED_ACCESS_SIGNATURE);
	c = good;
	c.realm = "another.test";
	is_refused(&c, TURN_REFUSED_REALM);
	c = good;
	assert_int_equal(fixture_allocate(&f, &c, 4), 0);
}

// ACCESS-TOKEN without a value, and one after the integrity.
static void odd_places(void **state)
{
	struct fixture_client c = north();
	const size_t len = c.access_len;
	const uint64_t before = refused(TURN_REFUSED_USER_UNKNOWN);

	c.access_len = 0;
	is_refused(&c, TURN_REFUSED_USER_UNKNOWN); // the kid is no user
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, (uint32_t)IPPROTO_UDP << 24);
	stun_put(&f.w, STUN_ACCESS_TOKEN, "", 0);
	assert_int_equal(fixture_ask(&f, &c), 401);
	assert_int_equal(refused(TURN_REFUSED_ACCESS_MALFORMED), 1);
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, (uint32_t)IPPROTO_UDP << 24);
	fixture_sign(&f, &c);
	stun_put(&f.w, STUN_ACCESS_TOKEN, c.access, len);
	fixture_send(&f, &c);
	assert_int_equal(fixture_code(&f), 401);
	assert_int_equal(refused(TURN_REFUSED_USER_UNKNOWN), before + 2);
}

// A forged token costs its sender a guess, like a wrong password: after a few none is opened. An
// expired token is no guess.
static void forged_tokens_are_guesses(void **state)
{
	struct token_seal t = oauth_seal(&f, OAUTH_NORTH, 1);
	struct fixture_client c, old;

	config.limits.guesses = (struct limit){.rate = 10, .burst = 20};
	again();
	old = north();
	t.made_s = FIXTURE_WALL_S - 7200;
	oauth_bring(&old, &t);
	for (int i = 0; i < 50; i++)
		is_refused(&old, TURN_REFUSED_ACCESS_EXPIRED);
	c = north();
	c.access[30] ^= 1;
	for (int i = 0; i < 20; i++)
		is_refused(&c, TURN_REFUSED_ACCESS_FORGED);
	c = north(); // now even a valid one is not opened
	memcpy(c.nonce, old.nonce, old.nonce_len);
	c.nonce_len = old.nonce_len;
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	fixture_sign(&f, &c);
	assert_int_equal(fixture_drop(fixture_send(&f, &c)), TURN_DROP_GUESS_RATE);
	fixture_advance(&f, 3000);
	assert_int_equal(fixture_allocate(&f, &c, 4), 0);
	assert_int_equal(fixture_stats(&f).allocations, 1);
}

// Without a nonce of this server a stranger's token is not opened.
static void no_token_is_opened_without_a_nonce(void **state)
{
	struct fixture_client c = north();

	memset(c.nonce, 'A', 32);
	c.nonce_len = 32;
	assert_int_equal(fixture_allocate(&f, &c, 4), 438);
	assert_int_equal(refused(TURN_REFUSED_NONCE_FOREIGN), 1);
	assert_int_equal(fixture_stats(&f).auth_failures, 0);
}

// --- quotas and names ----------------------------------------------------------------------------

// Many people share a kid, so limits per user apply to each token.
static void a_token_is_a_user(void **state)
{
	struct fixture_client a, b, c;

	config.limits.per_user = 1;
	again();
	a = oauth_client(&f, OAUTH_NORTH, 1, "198.51.100.1");
	b = oauth_client(&f, OAUTH_NORTH, 2, "198.51.100.2");
	c = oauth_client(&f, OAUTH_NORTH, 1, "198.51.100.3"); // the first client's token
	assert_int_equal(fixture_allocate(&f, &a, 4), 0);
	assert_int_equal(fixture_allocate(&f, &b, 4), 0);
	assert_int_equal(fixture_allocate(&f, &c, 4), 486);
	renew(&a, OAUTH_SOUTH, 3);
	assert_int_equal(fixture_refresh(&f, &a, 600), 0);
	assert_int_equal(fixture_allocate(&f, &c, 4), 486); // it counts for the token that made it
	a.access_len = 0;
	assert_int_equal(fixture_refresh(&f, &a, 0), 0);
	assert_int_equal(fixture_allocate(&f, &c, 4), 0);
}

static unsigned int listed(const char *name)
{
	const struct turn_listing_name listed_name = {FIXTURE_REALM, name, 0};
	struct turn_filter filter = {0};
	struct turn_walk w = {0};
	struct turn_info info[8];

	assert_true(turn_listing_user(&filter, f.quota, f.crypto, &listed_name));
	return turn_listing_rows(f.shard, &filter, &w, info, 8);
}

// The name of a session is the kid of its current token.
static void a_kid_names_its_sessions(void **state)
{
	struct fixture_client a = oauth_client(&f, OAUTH_NORTH, 1, "198.51.100.1"),
			      b = oauth_client(&f, OAUTH_NORTH, 2, "198.51.100.2"),
			      ivan = fixture_client("198.51.100.3", 5000);
	const struct turn_listing_name kid_name = {FIXTURE_REALM, "north", 0};
	struct turn_filter filter = {0};
	struct turn_detail detail;
	struct turn_walk w = {0};
	struct turn_info info;

	assert_int_equal(fixture_allocate(&f, &a, 4), 0);
	assert_memory_equal(fixture_event(&f, 0)->name, "north", 5);
	assert_int_equal(shard_rows(f.shard, &info, 1), 1);
	assert_string_equal(info.user, "north");
	assert_true(turn_listing_show(f.shard, info.id, 0, &detail));
	assert_int_equal(detail.algorithm, TURN_ALGORITHM_TOKEN);
	assert_int_equal(fixture_allocate(&f, &b, 4), 0);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(listed("north"), 2);
	assert_int_equal(listed("ivan"), 1);
	renew(&b, OAUTH_SOUTH, 3);
	assert_int_equal(fixture_refresh(&f, &b, 600), 0);
	assert_int_equal(listed("north"), 1);
	assert_int_equal(listed("south"), 1);
	assert_true(turn_listing_user(&filter, f.quota, f.crypto, &kid_name));
	assert_int_equal(turn_listing_kill(f.shard, &filter, &w, 8), 1);
	assert_int_equal(fixture_stats(&f).allocations, 2);
	assert_memory_equal(fixture_event(&f, 0)->name, "north", 5);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_challenge_names_the_server),
		TEST(an_unrequested_token),
		TEST(a_token_where_it_does_not_belong),
		TEST(every_kind_of_key),
		TEST(the_key_as_coturn_has_it),
		TEST(half_a_long_key_is_refused),
		TEST(a_long_kid),
		TEST(a_token_bounds_lifetimes),
		TEST(clocks_may_be_apart),
		TEST(a_refresh_brings_a_token),
		TEST(a_repeated_request_gets_its_answer),
		TEST(other_requests_may_bring_a_token),
		TEST(a_dual_session),
		TEST(sessions_of_others),
		TEST(users_go_on_beside_tokens),
		TEST(wrong_tokens),
		TEST(odd_places),
		TEST(forged_tokens_are_guesses),
		TEST(no_token_is_opened_without_a_nonce),
		TEST(a_token_is_a_user),
		TEST(a_kid_names_its_sessions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
