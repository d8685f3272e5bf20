// SPDX-License-Identifier: BSD-3-Clause
// Allocate and Refresh against RFC 8656 sections 7.2 and 8.2: every attribute and every refusal. A
// refusal leaves no state.
#include "feature_names.h"
#include "turn_fixture.h"

#include <stdio.h>

static struct fixture f;
static struct fixture_client ivan, eve;

#ifdef FEATURE_RESERVATIONS
#define MAY_RESERVE true
static bool has_token(void)
{
	return stun_has(&f.answer, STUN_RESERVATION_TOKEN);
}
#else
#define MAY_RESERVE false
static bool has_token(void)
{
	return false;
}
#endif

static int setup(void **state)
{
	const struct turn_config c = fixture_config();

	*state = &f;
	fixture_open(&f, &c, 1);
	ivan = fixture_client("198.51.100.7", 5000);
	eve = fixture_eve("198.51.100.8", 6000);
	return 0;
}

static void put_transport(uint8_t protocol)
{
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, (uint32_t)protocol << 24);
}

static void put_family(uint8_t family)
{
	stun_put_u32(&f.w, STUN_REQUESTED_ADDRESS_FAMILY, (uint32_t)family << 24);
}

static void begin_allocate(void)
{
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	put_transport(17);
}

static void put_send(const struct endpoint *peer)
{
	fixture_begin(&f, STUN_INDICATION, STUN_SEND);
	stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, peer);
	stun_put(&f.w, STUN_DATA_ATTR, "x", 1);
}

static uint32_t answer_lifetime(void)
{
	uint32_t v;

	assert_true(stun_get_u32(&f.answer, STUN_LIFETIME, &v));
	return v;
}

// Counted by family: one may have no free port while the other has many.
static void free_ports_are_told_by_family(void **state)
{
	const struct turn_stats before = fixture_stats(&f);

	assert_true(before.ports[0] > 0 && before.ports[1] > 0);
	for (unsigned int is_v4 = 0; is_v4 < 2; is_v4++)
		assert_int_equal(before.ports_free[is_v4], before.ports[is_v4]);
	begin_allocate();
	put_family(2);
	assert_int_equal(fixture_ask(&f, &ivan), 0);
	assert_int_equal(fixture_stats(&f).ports_free[0], before.ports[0] - 1);
	assert_int_equal(fixture_stats(&f).ports_free[1], before.ports[1]);
	assert_int_equal(fixture_stats(&f).ports[0], before.ports[0]);
}

static void success_has_what_section_7_2_lists(void **state)
{
	struct endpoint relay, mapped;

	begin_allocate();
	assert_int_equal(fixture_ask(&f, &ivan), 0);
	relay = fixture_answer_addr(&f, STUN_XOR_RELAYED_ADDRESS);
	mapped = fixture_answer_addr(&f, STUN_XOR_MAPPED_ADDRESS);
	assert_true(endpoint_eq(&mapped, &ivan.endpoint));
	// without REQUESTED-ADDRESS-FAMILY the client gets an IPv4 address
	assert_true(addr_eq(&relay.addr, &f.config.relay[0]));
	assert_in_range(relay.port, f.config.port_lo, f.config.port_hi);
	assert_int_equal(answer_lifetime(), 600);
	assert_false(has_token());
	assert_true(fixture_signed(&f, &ivan));
	// RFC 8489 9.2.4: SHOULD NOT be in the answer to an authenticated request
	assert_false(stun_has(&f.answer, STUN_NONCE) || stun_has(&f.answer, STUN_REALM) ||
		stun_has(&f.answer, STUN_USERNAME));
	assert_int_equal(fixture_stats(&f).allocations, 1);
}

static void families(void **state)
{
	assert_int_equal(fixture_allocate(&f, &ivan, 6), 0);
	assert_true(addr_eq(&ivan.relay.addr, &f.config.relay[1]));
	assert_int_equal(fixture_allocate(&f, &eve, 4), 0);
	assert_true(addr_eq(&eve.relay.addr, &f.config.relay[0]));
}

static bool gets_v4(const char *addr)
{
	struct fixture_client c = fixture_client(addr, 1);

	assert_int_equal(fixture_allocate(&f, &c, 0), 0);
	return addr_is_v4(&c.relay.addr);
}

static void reopen(const struct turn_config *c)
{
	fixture_close(&f);
	fixture_open(&f, c, 1);
}

// relay.default-family
static void without_a_family_the_default_is_given(void **state)
{
	struct turn_config c = fixture_config();

	assert_true(gets_v4("198.51.100.1") && gets_v4("2001:db8::1"));
	c.default_family = TURN_FAMILY_IPV6;
	reopen(&c);
	assert_false(gets_v4("198.51.100.1") || gets_v4("2001:db8::1"));
	c.default_family = TURN_FAMILY_CLIENT;
	reopen(&c);
	assert_true(gets_v4("198.51.100.1"));
	assert_false(gets_v4("2001:db8::1"));
	ivan = fixture_client("2001:db8::2", 1);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0); // the family that it asks for
	assert_true(addr_is_v4(&ivan.relay.addr));
	c.nb_relay = 1; // only IPv4
	reopen(&c);
	assert_true(gets_v4("198.51.100.1") && gets_v4("2001:db8::1"));
}

static void retransmission_gets_the_same_answer(void **state)
{
	uint8_t first[TURN_SIDE_LEN];
	uint16_t len;

	begin_allocate();
	stun_put(&f.w, STUN_EVEN_PORT, (const uint8_t[]){MAY_RESERVE ? 0x80 : 0}, 1);
	assert_int_equal(fixture_ask(&f, &ivan), 0);
	assert_int_equal(has_token(), MAY_RESERVE);
	len = f.burst.plan.front_len;
	memcpy(first, f.burst.side.front, len);

	fixture_resend(&f, &ivan);
	assert_int_equal(f.burst.plan.front_len, len);
	assert_memory_equal(f.burst.side.front, first, len);
	assert_int_equal(fixture_stats(&f).allocations, 1);

	// later only LIFETIME differs: it has the remaining time
	fixture_advance(&f, 10000);
	fixture_resend(&f, &ivan);
	assert_int_equal(fixture_code(&f), 0);
	assert_int_equal(answer_lifetime(), 590);
	assert_int_equal(fixture_stats(&f).allocations, 1);
}

// RFC 8656 7.2 (4): DF can be set, so DONT-FRAGMENT is a known attribute.
static void dont_fragment_is_understood(void **state)
{
	begin_allocate();
	stun_put(&f.w, STUN_DONT_FRAGMENT, NULL, 0);
	assert_int_equal(fixture_ask(&f, &ivan), 0);
}

static void tuple_in_use_is_437(void **state)
{
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 437); // another transaction id
	eve.endpoint = ivan.endpoint;
	eve.nonce_len = 0;
	assert_int_equal(fixture_allocate(&f, &eve, 4), 437);
	assert_int_equal(fixture_stats(&f).allocations, 1);
}

// The checks of section 7.2 that end in an error.
static void refusals(void **state)
{
	static const struct {
		const char *label;
		uint8_t transport; // 0 = left out
		enum stun_attr attr; // STUN_NB_ATTRS = none
		uint8_t value[12];
		uint8_t len;
		enum stun_attr attr2;
		uint8_t value2[12];
		uint8_t len2;
		unsigned int code;
	} t[] = {
		{"no transport", 0, STUN_NB_ATTRS, {0}, 0, STUN_NB_ATTRS, {0}, 0, 400},
		{"TCP", 6, STUN_NB_ATTRS, {0}, 0, STUN_NB_ATTRS, {0}, 0, 442},
		{"protocol 132", 132, STUN_NB_ATTRS, {0}, 0, STUN_NB_ATTRS, {0}, 0, 442},
		{"transport of 1 byte", 0, STUN_REQUESTED_TRANSPORT, {17}, 1, STUN_NB_ATTRS, {0}, 0,
			400},
		{"family 3", 17, STUN_REQUESTED_ADDRESS_FAMILY, {3}, 4, STUN_NB_ATTRS, {0}, 0, 440},
		{"family 0", 17, STUN_REQUESTED_ADDRESS_FAMILY, {0}, 4, STUN_NB_ATTRS, {0}, 0, 440},
		{"family of 1 byte", 17, STUN_REQUESTED_ADDRESS_FAMILY, {1}, 1, STUN_NB_ATTRS, {0},
			0, 400},
#ifdef FEATURE_RESERVATIONS
		{"unknown token", 17, STUN_RESERVATION_TOKEN, {0, 1, 2, 3, 4, 5, 6, 7}, 8,
			STUN_NB_ATTRS, {0}, 0, 508},
		{"token of no worker", 17, STUN_RESERVATION_TOKEN, {9, 1, 2, 3, 4, 5, 6, 7}, 8,
			STUN_NB_ATTRS, {0}, 0, 508},
		{"short token", 17, STUN_RESERVATION_TOKEN, {0}, 4, STUN_NB_ATTRS, {0}, 0, 400},
		{"token and even port", 17, STUN_RESERVATION_TOKEN, {0}, 8, STUN_EVEN_PORT, {0x80},
			1, 400},
		{"token and family", 17, STUN_RESERVATION_TOKEN, {0}, 8,
			STUN_REQUESTED_ADDRESS_FAMILY, {1}, 4, 400},
#else
		{"port above it reserved", 17, STUN_EVEN_PORT, {0x80}, 1, STUN_NB_ATTRS, {0}, 0,
			508},
#endif
		{"even port of 4 bytes", 17, STUN_EVEN_PORT, {0x80}, 4, STUN_NB_ATTRS, {0}, 0, 400},
		{"lifetime of 2 bytes", 17, STUN_LIFETIME, {0}, 2, STUN_NB_ATTRS, {0}, 0, 400},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		unsigned int code;

		fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
		if (t[i].transport != 0)
			put_transport(t[i].transport);
		if (t[i].attr != STUN_NB_ATTRS)
			stun_put(&f.w, t[i].attr, t[i].value, t[i].len);
		if (t[i].attr2 != STUN_NB_ATTRS)
			stun_put(&f.w, t[i].attr2, t[i].value2, t[i].len2);
		code = fixture_ask(&f, &ivan);
		if (code != t[i].code)
			fail_msg("%s: %u, not %u", t[i].label, code, t[i].code);
		assert_true(fixture_signed(&f, &ivan));
		assert_int_equal(fixture_stats(&f).allocations, 0);
		assert_int_equal(turn_quota_total(f.quota), 0);
	}
}

#ifndef FEATURE_RESERVATIONS
static void a_token_is_an_unknown_attribute(void **state)
{
	uint16_t start;

	begin_allocate();
	start = f.w.len;
	stun_put(&f.w, STUN_EVEN_PORT, "12345678", 8);
	store_be16(f.w.buf + start, 0x0022); // RESERVATION-TOKEN
	assert_int_equal(fixture_ask(&f, &ivan), 420);
	assert_int_equal(load_be16(f.answer.data + f.answer.off[STUN_UNKNOWN_ATTRIBUTES]), 0x0022);
}
#endif

static void family_without_addresses_is_440(void **state)
{
	struct turn_config c = fixture_config();

	fixture_close(&f);
	c.nb_relay = 1; // IPv4 only
	fixture_open(&f, &c, 2);
	assert_int_equal(fixture_allocate(&f, &ivan, 6), 440);
	fixture_close(&f);
	c.relay++; // IPv6 only: without the attribute IPv4 is meant, which the box does not have
	fixture_open(&f, &c, 2);
	ivan.nonce_len = 0;
	assert_int_equal(fixture_allocate(&f, &ivan, 0), 440);
	assert_int_equal(fixture_allocate(&f, &ivan, 6), 0);
}

static void lifetimes(void **state)
{
	static const struct {
		uint32_t asked, given;
	} t[] = {{0, 600}, {1, 600}, {599, 600}, {600, 600}, {601, 601}, {3600, 3600}, {3601, 3600},
		{UINT32_MAX, 3600}};

	for (uint16_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct fixture_client c = fixture_client("198.51.100.7", (uint16_t)(7000 + i));

		begin_allocate();
		stun_put_u32(&f.w, STUN_LIFETIME, t[i].asked);
		assert_int_equal(fixture_ask(&f, &c), 0);
		assert_int_equal(answer_lifetime(), t[i].given);
		if (t[i].asked == 0)
			continue;
		assert_int_equal(fixture_refresh(&f, &c, t[i].asked), 0);
		assert_int_equal(c.lifetime_s, t[i].given);
	}
}

static void expiry_is_exact(void **state)
{
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	fixture_advance(&f, 599999);
	fixture_expire(&f);
	assert_int_equal(fixture_stats(&f).allocations, 1);
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 0);
	fixture_advance(&f, 600000);
	ivan.nonce_len = 0;
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 437); // expired, swept or not
	assert_int_equal(fixture_stats(&f).allocations, 0);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
}

// RFC 8656 3.2, 8: neither data nor any request except Refresh prolongs it. Data that arrives after
// the expiry is dropped.
static void nothing_but_refresh_prolongs(void **state)
{
	const struct endpoint peer = fixture_endpoint("10.99.0.9", 7000);

	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	for (unsigned int left = 600; left > 0; left -= 100) {
		fixture_expire(&f);
		ivan.nonce_len = 0;
		assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
		assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.9", 7000), 0);
		assert_int_equal(fixture_bind(&f, &ivan, 0x4001, "10.99.0.9", 7001), 0);
		assert_int_equal(
			fixture_channel_data(&f, &ivan, 0x4001, "x", 1)->verdict, TURN_RELAY);
		assert_int_equal(
			fixture_channel_data(&f, &ivan, 0x4000, "x", 1)->verdict, TURN_RELAY);
		assert_int_equal(
			fixture_from_peer(&f, &ivan.relay, &peer, "x", 1)->verdict, TURN_RELAY);
		put_send(&peer);
		assert_int_equal(fixture_send(&f, &ivan)->verdict, TURN_RELAY);
		fixture_begin(&f, STUN_REQUEST, STUN_BINDING);
		fixture_send(&f, &ivan);
		assert_int_equal(fixture_code(&f), 0);
		ivan.nonce_len = 0;
		assert_int_equal(fixture_allocate(&f, &ivan, 4), 437);
		assert_int_equal(fixture_stats(&f).allocations, 1);
		fixture_advance(&f, 100000);
	}
	assert_int_equal(fixture_drop(fixture_channel_data(&f, &ivan, 0x4000, "x", 1)),
		TURN_DROP_NO_ALLOCATION);
	put_send(&peer);
	assert_int_equal(fixture_drop(fixture_send(&f, &ivan)), TURN_DROP_NO_ALLOCATION);
	fixture_expire(&f);
	assert_int_equal(fixture_stats(&f).allocations, 0);
	put_send(&peer);
	assert_int_equal(fixture_drop(fixture_send(&f, &ivan)), TURN_DROP_NO_ALLOCATION);
}

// A call frees about 64 objects, or one allocation with all its objects, however many expire at
// once.
static void expiry_is_bounded(void **state)
{
	struct turn_config c = fixture_config();
	uint64_t left, before;
	bool more = true;

	fixture_close(&f);
	c.pools.per_user = 100; // one user has all of these
	fixture_open(&f, &c, 1);
	for (uint16_t i = 0; i < 40; i++) {
		struct fixture_client one = fixture_client("198.51.100.7", (uint16_t)(7000 + i));

		assert_int_equal(fixture_allocate(&f, &one, 4), 0);
		for (uint16_t k = 0; k < 8; k++) {
			char peer[16];

			snprintf(peer, sizeof(peer), "10.99.0.%u", 20u + k);
			assert_int_equal(
				fixture_bind(&f, &one, (uint16_t)(CHANNEL_MIN + k), peer, 7000), 0);
		}
	}
	left = fixture_stats(&f).allocations + fixture_stats(&f).permissions +
		fixture_stats(&f).channels;
	assert_int_equal(left, 40 * 17);
	fixture_advance(&f, 600000 + 100);
	while (more) {
		before = left;
		more = turn_shard_expire(f.shard);
		left = fixture_stats(&f).allocations + fixture_stats(&f).permissions +
			fixture_stats(&f).channels;
		assert_in_range(before - left, 0, 64 + 16);
	}
	assert_int_equal(left, 0);
}

static void refresh_zero_frees_everything(void **state)
{
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.9", 7000), 0);
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.10"), 0);
	assert_int_equal(fixture_stats(&f).permissions, 2);
	assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
	assert_int_equal(answer_lifetime(), 0);
	assert_int_equal(fixture_stats(&f).allocations + fixture_stats(&f).permissions +
			fixture_stats(&f).channels,
		0);
	assert_int_equal(turn_quota_total(f.quota), 0);
	assert_int_equal(fixture_refresh(&f, &ivan, 0), 437);
}

static void refresh_refusals(void **state)
{
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 437);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);

	fixture_begin(&f, STUN_REQUEST, STUN_REFRESH);
	put_family(2);
	assert_int_equal(fixture_ask(&f, &ivan), 443);
	fixture_begin(&f, STUN_REQUEST, STUN_REFRESH);
	put_family(1);
	assert_int_equal(fixture_ask(&f, &ivan), 0);
	assert_int_equal(answer_lifetime(), 600); // no LIFETIME: the default

	eve.endpoint = ivan.endpoint;
	assert_int_equal(fixture_refresh(&f, &eve, 0), 441);
	assert_int_equal(fixture_stats(&f).allocations, 1);
}

static void even_ports(void **state)
{
	for (uint16_t i = 0; i < 40; i++) {
		struct fixture_client c = fixture_client("198.51.100.7", (uint16_t)(7000 + i));

		begin_allocate();
		stun_put(&f.w, STUN_EVEN_PORT, (const uint8_t[]){0}, 1);
		assert_int_equal(fixture_ask(&f, &c), 0);
		assert_int_equal(fixture_answer_addr(&f, STUN_XOR_RELAYED_ADDRESS).port % 2, 0);
		assert_false(has_token());
	}
}

static void ports_run_out_with_508(void **state)
{
	struct turn_config c = fixture_config();
	struct fixture_client last = fixture_client("198.51.100.7", 9999);

	fixture_close(&f);
	c.port_hi = c.port_lo + 3;
	fixture_open(&f, &c, 3);
	for (uint16_t i = 0; i < 4; i++) {
		struct fixture_client n = fixture_client("198.51.100.7", (uint16_t)(7000 + i));

		assert_int_equal(fixture_allocate(&f, &n, 4), 0);
		if (i == 0)
			ivan = n;
	}
	assert_int_equal(fixture_allocate(&f, &last, 4), 508);
	assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
	// freed in this round: it may be reused from the next one on
	assert_int_equal(fixture_allocate(&f, &last, 4), 508);
	fixture_advance(&f, 1);
	assert_int_equal(fixture_allocate(&f, &last, 4), 0);
	assert_true(endpoint_eq(&last.relay, &ivan.relay));
}

static void quotas_are_486(void **state)
{
	struct turn_config c = fixture_config();
	struct fixture_client two = fixture_client("198.51.100.20", 1), three = two;

	fixture_close(&f);
	c.limits.per_user = 2;
	fixture_open(&f, &c, 4);
	three.endpoint.port = 2;
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_allocate(&f, &two, 4), 0);
	assert_int_equal(fixture_allocate(&f, &three, 4), 486);
	assert_int_equal(fixture_allocate(&f, &eve, 4), 0); // the user's quota, not the total
	assert_int_equal(fixture_refresh(&f, &two, 0), 0);
	assert_int_equal(fixture_allocate(&f, &three, 4), 0);
}

// The quota of REST users counts the id after the expiry: new credentials do not make a new user.
static void rest_quota_is_by_id(void **state)
{
	struct turn_config c = fixture_config();
	static const char *const names[] = {"1700003600:ivan7", "1700003601:ivan7"};
	unsigned int codes[2];

	fixture_close(&f);
	c.limits.per_user = 1;
	fixture_open(&f, &c, 5);
	for (uint16_t i = 0; i < 2; i++) {
		struct fixture_client n = fixture_client("198.51.100.30", (uint16_t)(1 + i));
		char password[29];

		assert_true(stun_rest_password(
			f.crypto, "s3cret", names[i], strlen(names[i]), password));
		n.user = names[i];
		n.password = password;
		codes[i] = fixture_allocate(&f, &n, 4);
	}
	assert_int_equal(codes[0], 0);
	assert_int_equal(codes[1], 486);
}

// An allocation accepts its own credentials until it ends, even when their secret comes last in the
// list. Another name signed with their password is refused.
static void rest_credentials_do_not_prolong_themselves(void **state)
{
	static const char name[] = "1700003600:ivan7", later[] = "1800003600:ivan7";
	struct fixture_client n = fixture_client("198.51.100.30", 1);
	char password[STUN_REST_PASSWORD_SIZE];

	assert_true(stun_rest_password(f.crypto, "s3cret", name, strlen(name), password));
	n.user = name;
	n.password = password;
	assert_int_equal(fixture_allocate(&f, &n, 4), 0);
	assert_int_equal(fixture_refresh(&f, &n, 600), 0);
	n.user = later;
	assert_int_equal(fixture_refresh(&f, &n, 3600), 401);
	assert_true(stun_rest_password(f.crypto, "s3cret", later, strlen(later), password));
	assert_int_equal(fixture_refresh(&f, &n, 3600), 441); // a valid name of another user
	n.user = name;
	assert_int_equal(fixture_refresh(&f, &n, 600), 401);
	assert_true(stun_rest_password(f.crypto, "s3cret", name, strlen(name), password));
	assert_int_equal(fixture_refresh(&f, &n, 600), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(free_ports_are_told_by_family),
		T(success_has_what_section_7_2_lists),
		T(families),
		T(without_a_family_the_default_is_given),
		T(retransmission_gets_the_same_answer),
		T(dont_fragment_is_understood),
		T(tuple_in_use_is_437),
		T(refusals),
#ifndef FEATURE_RESERVATIONS
		T(a_token_is_an_unknown_attribute),
#endif
		T(family_without_addresses_is_440),
		T(lifetimes),
		T(expiry_is_exact),
		T(nothing_but_refresh_prolongs),
		T(expiry_is_bounded),
		T(refresh_zero_frees_everything),
		T(refresh_refusals),
		T(even_ports),
		T(ports_run_out_with_508),
		T(quotas_are_486),
		T(rest_quota_is_by_id),
		T(rest_credentials_do_not_prolong_themselves),
	};

	return cmocka_run_group_tests_name("allocate", tests, NULL, NULL);
}
