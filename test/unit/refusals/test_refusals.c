// SPDX-License-Identifier: BSD-3-Clause
// Every reason to refuse a request, caused once in the way that the RFCs describe: the code on the
// wire, the counter, and the event.
#include <netinet/in.h>

#include "addr_text.h"
#include "feature_names.h"
#include "stun.h"
#include "turn_blocks.h"
#include "turn_fixture.h"
#include "turn_listing.h"

static struct fixture f;
static struct turn_config c;
static struct fixture_client ivan, eve;
static bool hmac_fails;

bool __real_stun_hmac_sha256(struct stun_crypto *crypto, const void *key, size_t key_len,
	const void *data, size_t len, uint8_t out[32]);
bool __wrap_stun_hmac_sha256(struct stun_crypto *crypto, const void *key, size_t key_len,
	const void *data, size_t len, uint8_t out[32]);

bool __wrap_stun_hmac_sha256(struct stun_crypto *crypto, const void *key, size_t key_len,
	const void *data, size_t len, uint8_t out[32])
{
	return !hmac_fails && __real_stun_hmac_sha256(crypto, key, key_len, data, len, out);
}

// Opens a shard with the current configuration.
static void open(void)
{
	fixture_open(&f, &c, 1);
}

// Opens a shard with an allocation of Ivan's.
static void open_ivan(void)
{
	open();
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
}

static void begin_allocate(uint8_t protocol)
{
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, (uint32_t)protocol << 24);
}

// --- authentication ------------------------------------------------------------------------------

static void challenge(void)
{
	open();
	begin_allocate(IPPROTO_UDP);
	fixture_send(&f, &ivan);
}

static void nonce_stale(void)
{
	open_ivan();
	fixture_advance(&f, 601000);
	fixture_allocate(&f, &ivan, 4);
}

static void nonce_foreign(void)
{
	open();
	memset(ivan.nonce, 'A', sizeof(ivan.nonce));
	ivan.nonce_len = 32;
	fixture_allocate(&f, &ivan, 4);
}

// RFC 8489 9.2.4: integrity without REALM and NONCE.
static void incomplete(void)
{
	static const uint8_t mac[20];

	open();
	begin_allocate(IPPROTO_UDP);
	stun_put(&f.w, STUN_USERNAME, "ivan", 4);
	stun_put(&f.w, STUN_MESSAGE_INTEGRITY, mac, sizeof(mac));
	fixture_send(&f, &ivan);
}

// RFC 8489 9.2.4: PASSWORD-ALGORITHM without PASSWORD-ALGORITHMS.
static void algorithms(void)
{
	open();
	begin_allocate(IPPROTO_UDP);
	stun_put_u32(&f.w, STUN_PASSWORD_ALGORITHM, 1u << 16);
	fixture_ask(&f, &ivan);
}

static void name_long(void)
{
	static const uint8_t mac[20];
	static char name[764];

	open();
	fixture_allocate(&f, &eve, 4); // has a nonce
	memset(name, 'n', sizeof(name));
	begin_allocate(IPPROTO_UDP);
	stun_put(&f.w, STUN_USERNAME, name, sizeof(name));
	stun_put(&f.w, STUN_REALM, FIXTURE_REALM, strlen(FIXTURE_REALM));
	stun_put(&f.w, STUN_NONCE, eve.nonce, eve.nonce_len);
	stun_put(&f.w, STUN_MESSAGE_INTEGRITY, mac, sizeof(mac));
	fixture_send(&f, &eve);
}

static void realm(void)
{
	c.first.name = (char *)"another.test"; // clients of the fixture use turn.test
	open();
	fixture_allocate(&f, &ivan, 4);
}

#define AS(name, username)                      \
	static void name(void)                  \
	{                                       \
		open();                         \
		ivan.user = username;           \
		fixture_allocate(&f, &ivan, 4); \
	}
AS(user_unknown, "nobody")
AS(rest_name, "1795911616000:ivan") // milliseconds
AS(rest_expired, "1699999999:ivan") // a second before now
AS(rest_password, "1800000000:ivan")

static void password(void)
{
	open();
	ivan.password = "wrong";
	fixture_allocate(&f, &ivan, 4);
}

static void guesses(void)
{
	c.limits.guesses = (struct limit){.rate = 1, .burst = 1};
	open();
	ivan.password = "wrong";
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 401);
	begin_allocate(IPPROTO_UDP);
	fixture_sign(&f, &ivan);
	fixture_send(&f, &ivan);
}

static void unanswered(void)
{
	c.limits.unauthenticated = (struct limit){.rate = 1, .burst = 1};
	challenge();
	assert_int_equal(fixture_code(&f), 401);
	begin_allocate(IPPROTO_UDP);
	fixture_send(&f, &ivan);
}

static void binding(void)
{
	c.limits.binding = (struct limit){.rate = 1, .burst = 1};
	open();
	for (int i = 0; i < 2; i++) {
		fixture_begin(&f, STUN_REQUEST, STUN_BINDING);
		fixture_send(&f, &ivan);
	}
}

static void attribute(void)
{
	open();
	begin_allocate(IPPROTO_UDP);
	f.message[f.w.len] = 0x7f; // comprehension-required and unassigned
	f.message[f.w.len + 1] = 1;
	f.message[f.w.len + 2] = f.message[f.w.len + 3] = 0;
	f.w.len += 4;
	fixture_ask(&f, &ivan);
}

static void internal(void)
{
	open();
	begin_allocate(IPPROTO_UDP);
	hmac_fails = true;
	fixture_send(&f, &ivan);
	hmac_fails = false;
}

// --- Allocate, Refresh (RFC 8656 7.2, 8.2) -------------------------------------------------------

static void malformed(void)
{
	open();
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE); // no REQUESTED-TRANSPORT
	fixture_ask(&f, &ivan);
}

static void no_allocation(void)
{
	open();
	fixture_refresh(&f, &ivan, 600);
}

static void allocated(void)
{
	open_ivan();
	fixture_allocate(&f, &ivan, 4);
}

static void other_user(void)
{
	open_ivan();
	ivan.user = "eve";
	ivan.password = "evil";
	fixture_refresh(&f, &ivan, 600);
}

#include "provoke_mobility.inc"
#include "provoke_tcp.inc"

static void family(void)
{
	open();
	begin_allocate(IPPROTO_UDP);
	stun_put_u32(&f.w, STUN_REQUESTED_ADDRESS_FAMILY, 3u << 24);
	fixture_ask(&f, &ivan);
}

static void transport(void)
{
	open();
	begin_allocate(IPPROTO_TCP);
	fixture_ask(&f, &ivan);
}

#include "provoke_alternates.inc"

static void draining(void)
{
	open();
	turn_shard_set_intake(f.shard, &(struct turn_intake){.drains = true});
	fixture_allocate(&f, &ivan, 4);
}

// Without an allocation: the order would have ended it.
static void user_blocked(void)
{
	const struct turn_listing_name name = {FIXTURE_REALM, "ivan", 0};
	struct turn_filter user = {0};
	struct turn_blocks *blocks;

	open();
	assert_true(turn_listing_user(&user, f.quota, f.crypto, &name));
	blocks = turn_blocks_make(NULL, 0, &user, 1);
	turn_shard_set_blocks(f.shard, blocks);
	fixture_allocate(&f, &ivan, 4);
	turn_shard_set_blocks(f.shard, NULL);
	turn_blocks_free(blocks);
}

static void second(struct fixture_client *requester)
{
	open_ivan();
	fixture_allocate(&f, requester, 4);
}

static void quota_user(void)
{
	eve.user = "ivan"; // from another address
	eve.password = "pw";
	c.limits.per_user = 1;
	second(&eve);
}

static void quota_source(void)
{
	c.limits.per_source = 1;
	eve.endpoint = fixture_endpoint("198.51.100.7", 5001);
	second(&eve);
}

#ifdef FEATURE_REALMS
static void quota_realm(void)
{
	static struct turn_user users[] = {{.name = (char *)"ivan", .password = (char *)"pw"},
		{.name = (char *)"eve", .password = (char *)"evil"}};
	static struct turn_realm realms[1];

	realms[0] = (struct turn_realm){
		.name = (char *)"a.test", .users = users, .nb_users = 2, .allocations = 1};
	c.realms = realms;
	c.nb_realms = 1;
	ivan.realm = eve.realm = "a.test";
	second(&eve);
}
#endif

static void quota_total(void)
{
	c.limits.allocations = 1;
	second(&eve);
}

#if defined(FEATURE_RESERVATIONS) || defined(FEATURE_SHARED)
static void even_port(uint8_t value, struct fixture_client *client)
{
	begin_allocate(IPPROTO_UDP);
	stun_put(&f.w, STUN_EVEN_PORT, &value, 1);
	fixture_ask(&f, client);
}
#endif

#ifdef FEATURE_RESERVATIONS
static void quota_pair(void)
{
	c.limits.per_user = 1;
	open();
	even_port(0x80, &ivan);
}

static void with_token(struct fixture_client *client, uint8_t home)
{
	const uint8_t token[8] = {home, 1, 2, 3, 4, 5, 6, 7};

	begin_allocate(IPPROTO_UDP);
	stun_put(&f.w, STUN_RESERVATION_TOKEN, token, sizeof(token));
	fixture_sign(&f, client);
	fixture_send(&f, client);
}

static void token(void)
{
	open();
	with_token(&ivan, 0);
}

#define OF_RESERVATIONS(refusal) false
#else
#define OF_RESERVATIONS(refusal)                                                    \
	((refusal) == TURN_REFUSED_QUOTA_PAIR || (refusal) == TURN_REFUSED_TOKEN || \
		(refusal) == TURN_REFUSED_REDIRECTS)
#endif

static void no_port(void)
{
	c.port_hi = c.port_lo;
	second(&eve);
}

static void relay_lost(void)
{
	open();
	turn_relay_map_lose(f.map, 0, true);
	turn_relay_map_lose(f.map, 1, true);
	fixture_allocate(&f, &ivan, 4);
}

#include "provoke_places.inc"

// --- CreatePermission, ChannelBind (10.2, 12.2) --------------------------------------------------

static void peer_family(void)
{
	open_ivan();
	fixture_permit(&f, &ivan, "fd99::9");
}

#include "provoke_peers.inc"

static void permissions(void)
{
	c.limits.permissions = 1;
	open_ivan();
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.8"), 0);
	fixture_permit(&f, &ivan, "10.99.0.9");
}

static void bind_two(uint16_t channel, const char *peer)
{
	open_ivan();
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.9", 7000), 0);
	fixture_bind(&f, &ivan, channel, peer, 7000);
}

static void channels(void)
{
	c.limits.channels = 1;
	bind_two(0x4001, "10.99.0.8");
}

static void channel_number(void)
{
	open_ivan();
	fixture_bind(&f, &ivan, 0x5000, "10.99.0.9", 7000);
}

static void channel_clash(void)
{
	bind_two(0x4000, "10.99.0.8");
}

// The peer is a relay address of the server, first named in its own form and then in the external
// one.
static void channel_form(void)
{
	static struct turn_local local[2];

	memcpy(local, c.local, sizeof(local));
	local[0].external = addr_text("203.0.113.1");
	c.local = local;
	open_ivan();
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.1", 50001), 0);
	fixture_bind(&f, &ivan, 0x4001, "203.0.113.1", 50001);
}

#include "provoke_shared.inc"

// --- all of them ---------------------------------------------------------------------------------

#define QUIET "(no event)"
#define IVAN "ivan"

static const struct refusal {
	enum turn_refusal refusal;
	void (*provoke)(void);
	uint16_t method, code;
	const char *name; // name in the event
	bool proved;
	const char *peer; // peer in the event
	uint16_t port;
} refusals[] = {
	{TURN_REFUSED_CHALLENGE, challenge, STUN_ALLOCATE, 401, QUIET},
	{TURN_REFUSED_NONCE_STALE, nonce_stale, STUN_ALLOCATE, 438, QUIET},
	{TURN_REFUSED_NONCE_FOREIGN, nonce_foreign, STUN_ALLOCATE, 438, IVAN, false},
	{TURN_REFUSED_INCOMPLETE, incomplete, STUN_ALLOCATE, 400, IVAN, false},
	{TURN_REFUSED_ALGORITHMS, algorithms, STUN_ALLOCATE, 400, IVAN, true},
	{TURN_REFUSED_NAME_LONG, name_long, STUN_ALLOCATE, 400,
		"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn", true},
	{TURN_REFUSED_REALM, realm, STUN_ALLOCATE, 401, IVAN, true},
	{TURN_REFUSED_USER_UNKNOWN, user_unknown, STUN_ALLOCATE, 401, "nobody", true},
	{TURN_REFUSED_PASSWORD, password, STUN_ALLOCATE, 401, IVAN, true},
	{TURN_REFUSED_REST_NAME, rest_name, STUN_ALLOCATE, 401, "1795911616000:ivan", true},
	{TURN_REFUSED_REST_EXPIRED, rest_expired, STUN_ALLOCATE, 401, "1699999999:ivan", true},
	{TURN_REFUSED_REST_PASSWORD, rest_password, STUN_ALLOCATE, 401, "1800000000:ivan", true},
	{TURN_REFUSED_GUESSES, guesses, STUN_ALLOCATE, 0, IVAN, true},
	{TURN_REFUSED_UNANSWERED, unanswered, STUN_ALLOCATE, 0, "", false},
	{TURN_REFUSED_BINDING_RATE, binding, STUN_BINDING, 0, "", false},
	{TURN_REFUSED_ATTRIBUTE, attribute, STUN_ALLOCATE, 420, IVAN, true},
	{TURN_REFUSED_MALFORMED, malformed, STUN_ALLOCATE, 400, IVAN, true},
	{TURN_REFUSED_NO_ALLOCATION, no_allocation, STUN_REFRESH, 437, IVAN, true},
	{TURN_REFUSED_ALLOCATED, allocated, STUN_ALLOCATE, 437, IVAN, true},
	{TURN_REFUSED_OTHER_USER, other_user, STUN_REFRESH, 441, "eve", true},
#ifdef FEATURE_MOBILITY
	PROVOKE_MOBILITY,
#endif
	{TURN_REFUSED_FAMILY, family, STUN_ALLOCATE, 440, IVAN, true},
	{TURN_REFUSED_TRANSPORT, transport, STUN_ALLOCATE, 442, IVAN, true},
#ifdef FEATURE_TCP
	PROVOKE_TCP,
#endif
	{TURN_REFUSED_PEER_FAMILY, peer_family, STUN_CREATE_PERMISSION, 443, IVAN, true, "fd99::9"},
#ifdef FEATURE_ALTERNATES
	PROVOKE_ALTERNATES,
#endif
	{TURN_REFUSED_DRAINING, draining, STUN_ALLOCATE, 508, IVAN, true},
	{TURN_REFUSED_QUOTA_USER, quota_user, STUN_ALLOCATE, 486, IVAN, true},
	{TURN_REFUSED_QUOTA_SOURCE, quota_source, STUN_ALLOCATE, 486, "eve", true},
#ifdef FEATURE_REALMS
	{TURN_REFUSED_QUOTA_REALM, quota_realm, STUN_ALLOCATE, 486, "eve", true},
#endif
	{TURN_REFUSED_QUOTA_TOTAL, quota_total, STUN_ALLOCATE, 486, "eve", true},
#ifdef FEATURE_RESERVATIONS
	{TURN_REFUSED_QUOTA_PAIR, quota_pair, STUN_ALLOCATE, 508, IVAN, true},
	{TURN_REFUSED_TOKEN, token, STUN_ALLOCATE, 508, IVAN, true},
	{TURN_REFUSED_REDIRECTS, redirects, STUN_ALLOCATE, 508, IVAN, true},
#endif
	{TURN_REFUSED_NO_PORT, no_port, STUN_ALLOCATE, 508, "eve", true},
	{TURN_REFUSED_RELAY_LOST, relay_lost, STUN_ALLOCATE, 508, IVAN, true},
	PROVOKE_PLACES,
#ifdef FEATURE_SHARED
	PROVOKE_SHARED,
#endif
	{TURN_REFUSED_USER_BLOCKED, user_blocked, STUN_ALLOCATE, 403, IVAN, true},
	{TURN_REFUSED_PEER_DENIED, peer_denied, STUN_CREATE_PERMISSION, 403, IVAN, true,
		"192.168.1.1"},
	{TURN_REFUSED_PEER_OWN, peer_own, STUN_CHANNEL_BIND, 403, IVAN, true, "10.99.0.1", 7000},
	{TURN_REFUSED_PEER_NEVER, peer_never, STUN_CREATE_PERMISSION, 403, IVAN, true, "0.0.0.0"},
	{TURN_REFUSED_PEER_UNREACHABLE, peer_unreachable, STUN_CHANNEL_BIND, 403, IVAN, true,
		"10.98.0.1", 7000},
	{TURN_REFUSED_PERMISSIONS, permissions, STUN_CREATE_PERMISSION, 508, IVAN, true,
		"10.99.0.9"},
	{TURN_REFUSED_CHANNELS, channels, STUN_CHANNEL_BIND, 508, IVAN, true, "10.99.0.8", 7000},
	{TURN_REFUSED_CHANNEL_NUMBER, channel_number, STUN_CHANNEL_BIND, 400, IVAN, true},
	{TURN_REFUSED_CHANNEL_CLASH, channel_clash, STUN_CHANNEL_BIND, 400, IVAN, true, "10.99.0.8",
		7000},
	{TURN_REFUSED_CHANNEL_FORM, channel_form, STUN_CHANNEL_BIND, 508, IVAN, true, "203.0.113.1",
		50001},
	{TURN_REFUSED_INTERNAL, internal, STUN_ALLOCATE, 0, "", false},
};
#define NB (sizeof(refusals) / sizeof(refusals[0]))
#ifdef FEATURE_REALMS
#define OF_REALMS(refusal) false
#else
#define OF_REALMS(refusal) ((refusal) == TURN_REFUSED_QUOTA_REALM)
#endif
// test_lookup tests these
#define OF_LOOKUP(refusal) \
	((refusal) == TURN_REFUSED_LOOKUP || (refusal) == TURN_REFUSED_LOOKUP_FULL)
#define OF_TOKENS(refusal) ((refusal)-TURN_REFUSED_ACCESS_KEY < 7) // test_oauth tests these

static void check_event(const struct refusal *r)
{
	const struct turn_event *e = fixture_event(&f, 0);
	const struct endpoint *requester =
		f.burst.view[0].src_port == eve.endpoint.port ? &eve.endpoint : &ivan.endpoint;
	struct endpoint peer = {0};

	if (r->peer != NULL)
		peer = fixture_endpoint(r->peer, r->port);
	assert_int_equal(e->kind, TURN_EVENT_REFUSED);
	assert_int_equal(e->reason, r->refusal);
	assert_int_equal(e->method, r->method);
	assert_int_equal(e->more, 0);
	assert_int_equal(e->at_ms, f.now_ms);
	assert_int_equal(e->wall_s, f.wall_s);
	assert_true(endpoint_eq(&e->client, requester));
	assert_true(endpoint_eq(&e->peer, &peer));
	assert_int_equal(e->proved, r->proved);
	assert_int_equal(e->name_len, strlen(r->name));
	assert_memory_equal(e->name, r->name, e->name_len);
	if (r->refusal != TURN_REFUSED_MOVES) // a ticket names an allocation, whatever the 5-tuple
		assert_int_equal(e->id != 0, f.burst.view[0].slot != TURN_NONE);
}

static void check(const struct refusal *r)
{
	const struct turn_stats s = fixture_stats(&f);
	const bool quiet = strcmp(r->name, QUIET) == 0;
	const bool failure =
		r->code == 401 && r->refusal != TURN_REFUSED_CHALLENGE; // RFC 8489 9.2.4

	if (r->code == 0)
		assert_int_equal(f.burst.plan.verdict, TURN_DROP);
	else
		assert_int_equal(fixture_code(&f), r->code);
	assert_true(s.refused[r->refusal] > 0);
	assert_int_equal(f.told.refused[r->refusal], quiet ? 0 : 1);
	if (!quiet) {
		assert_int_equal(s.refused[r->refusal], 1);
		check_event(r);
	}
	assert_int_equal(s.auth_failures, failure || r->refusal == TURN_REFUSED_GUESSES);
}

static void every_reason_is_counted_and_told(void **state)
{
	for (size_t i = 0; i < NB; i++) {
		c = fixture_config();
		ivan = fixture_client("198.51.100.7", 5000);
		eve = fixture_eve("198.51.100.8", 6000);
		print_message("%s\n", turn_refusal_info(refusals[i].refusal)->name);
		refusals[i].provoke();
		check(&refusals[i]);
		fixture_close(&f);
	}
}

// The list above is complete, and the table has the text for each reason.
static void every_reason_has_a_test_and_a_text(void **state)
{
	for (unsigned int refusal = TURN_GRANTED + 1; refusal < TURN_REFUSAL_END; refusal++) {
		const struct turn_refusal_info *info = turn_refusal_info(refusal);
		unsigned int n = 0, names = 0;

		for (size_t i = 0; i < NB; i++) {
			n += refusals[i].refusal == refusal;
			if (refusals[i].refusal == refusal)
				assert_int_equal(info->code, refusals[i].code);
			names += strcmp(turn_refusal_info(refusals[i].refusal)->name, info->name) ==
				0;
		}
		assert_int_equal(n,
			!OF_TOKENS(refusal) && !OF_MOBILITY(refusal) && !OF_REALMS(refusal) &&
				!OF_RESERVATIONS(refusal) && !OF_SHARED(refusal) &&
				!OF_TCP(refusal) && !OF_ALTERNATES(refusal) && !OF_LOOKUP(refusal));
		assert_int_equal(names, n);
		assert_true(strlen(info->text) > 0);
	}
	assert_null(turn_refusal_info(TURN_GRANTED));
	assert_null(turn_refusal_info(TURN_REFUSAL_END));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reason_is_counted_and_told),
		cmocka_unit_test(every_reason_has_a_test_and_a_text),
	};

	return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}
