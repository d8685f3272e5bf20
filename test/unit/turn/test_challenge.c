// SPDX-License-Identifier: BSD-3-Clause
// Answers to strangers: RFC 8489 9.2.4, and the budget of bytes and answers for clients that have
// not been authenticated.
#include "turn_fixture.h"

#define IP_UDP_V4 28
#define IP_UDP_V6 48

static struct fixture f;
static struct fixture_client ivan;

static int setup(void **state)
{
	*state = &f;
	ivan = fixture_open_ivan(&f);
	return 0;
}

static const enum stun_method authenticated[] = {
	STUN_ALLOCATE, STUN_REFRESH, STUN_CREATE_PERMISSION, STUN_CHANNEL_BIND};

static void without_integrity_401(void **state)
{
	for (size_t i = 0; i < 4; i++) {
		fixture_begin(&f, STUN_REQUEST, authenticated[i]);
		fixture_send(&f, &ivan);
		assert_int_equal(fixture_code(&f), 401);
		fixture_assert_challenge(&f);
	}
	assert_int_equal(fixture_stats(&f).auth_failures, 0); // a challenge is no failure
}

static void nonce_differs_for_every_source(void **state)
{
	const char *const addr[] = {"198.51.100.7", "198.51.100.7", "198.51.100.8"};
	const uint16_t port[] = {1, 2, 1};
	uint8_t nonce[3][32];

	for (int i = 0; i < 3; i++) {
		const struct fixture_client c = fixture_client(addr[i], port[i]);

		fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
		fixture_send(&f, &c);
		assert_int_equal(fixture_code(&f), 401);
		memcpy(nonce[i], f.answer.data + f.answer.off[STUN_NONCE], 32);
	}
	assert_memory_not_equal(nonce[0], nonce[1], 32);
	assert_memory_not_equal(nonce[0], nonce[2], 32);
}

// Integrity without one of USERNAME, REALM, NONCE: 400 without a challenge.
static void incomplete_credentials_400(void **state)
{
	for (int left_out = 0; left_out < 3; left_out++) {
		const uint8_t mac[20] = {0};

		fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
		if (left_out != 0)
			stun_put(&f.w, STUN_USERNAME, "ivan", 4);
		if (left_out != 1)
			stun_put(&f.w, STUN_REALM, FIXTURE_REALM, strlen(FIXTURE_REALM));
		if (left_out != 2)
			stun_put(&f.w, STUN_NONCE, "n", 1);
		stun_put(&f.w, STUN_MESSAGE_INTEGRITY, mac, 20);
		fixture_send(&f, &ivan);
		assert_int_equal(fixture_code(&f), 400);
		assert_false(stun_has(&f.answer, STUN_NONCE) || stun_has(&f.answer, STUN_REALM));
	}
}

static void wrong_password_or_user_401(void **state)
{
	ivan.password = "wrong";
	assert_int_equal(fixture_allocate(&f, &ivan, 0), 401);
	fixture_assert_challenge(&f);
	ivan.user = "nobody";
	assert_int_equal(fixture_allocate(&f, &ivan, 0), 401);
	fixture_assert_challenge(&f);
	assert_int_equal(fixture_stats(&f).auth_failures, 2);
	assert_int_equal(fixture_stats(&f).allocations, 0);
}

static void stale_nonce_438_and_the_new_one_is_good(void **state)
{
	assert_int_equal(fixture_allocate(&f, &ivan, 0), 0);
	fixture_advance(&f, 300000);
	assert_int_equal(fixture_refresh(&f, &ivan, 3600), 0);
	fixture_advance(&f, 301000);
	assert_int_equal(fixture_refresh(&f, &ivan, 3600), 438);
	fixture_assert_challenge(&f);
	assert_int_equal(fixture_refresh(&f, &ivan, 3600), 0);
	// A clock set back makes nonces stale, never longer-lived.
	f.wall_s -= 30;
	fixture_advance(&f, 0);
	assert_int_equal(fixture_refresh(&f, &ivan, 3600), 438);
}

static void nonce_of_another_source_438(void **state)
{
	struct fixture_client thief = ivan;

	assert_int_equal(fixture_allocate(&f, &ivan, 0), 0);
	thief = ivan; // with the nonce
	thief.endpoint.port++;
	assert_int_equal(fixture_allocate(&f, &thief, 0), 438);
}

// A nonce that is a byte longer or shorter than our nonces is stale, whatever it begins with.
static void nonce_of_another_length_438(void **state)
{
	assert_int_equal(fixture_allocate(&f, &ivan, 0), 0);
	for (unsigned int i = 0; i < 2; i++) {
		struct fixture_client c = ivan;

		c.nonce[c.nonce_len] = 'A';
		c.nonce_len += i == 0 ? 1 : -1;
		assert_int_equal(fixture_refresh(&f, &c, 600), 438);
	}
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 0);
}

static void sha256_and_userhash(void **state)
{
	struct fixture_client eve = fixture_client("198.51.100.8", 1);

	ivan.alg = STUN_ALG_SHA256;
	assert_int_equal(fixture_allocate(&f, &ivan, 0), 0);
	assert_true(fixture_signed(&f, &ivan));
	assert_false(stun_has(&f.answer, STUN_MESSAGE_INTEGRITY));
	eve.user = "eve";
	eve.password = "evil";
	eve.userhash = true;
	assert_int_equal(fixture_allocate(&f, &eve, 0), 0);
	// The user is the same with either algorithm: a change of it is not 441.
	ivan.alg = STUN_ALG_MD5;
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 0);
}

// An answer has the integrity attribute that its request had, whichever algorithm made the key:
// clients look for the one that they sent.
static void answers_are_signed_as_requests_are(void **state)
{
	static const uint8_t algorithms[] = {0, 2, 0, 0, 0, 1, 0, 0};
	static const struct {
		enum stun_algorithm key, integrity;
		bool chosen;
	} kinds[] = {
		{STUN_ALG_MD5, STUN_ALG_MD5, false},
		{STUN_ALG_MD5, STUN_ALG_MD5, true},
		{STUN_ALG_MD5, STUN_ALG_SHA256, true},
		{STUN_ALG_SHA256, STUN_ALG_MD5, true},
		{STUN_ALG_SHA256, STUN_ALG_SHA256, true},
	};
	struct stun_key key;

	assert_int_equal(fixture_allocate(&f, &ivan, 0), 0); // has the nonce now
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const bool sha256 = kinds[i].integrity == STUN_ALG_SHA256;

		assert_true(stun_key_make(f.crypto, kinds[i].key,
			&(struct stun_credential){"ivan", 4, FIXTURE_REALM, "pw", 2}, &key));
		fixture_begin(&f, STUN_REQUEST, STUN_REFRESH);
		stun_put(&f.w, STUN_USERNAME, "ivan", 4);
		stun_put(&f.w, STUN_REALM, FIXTURE_REALM, strlen(FIXTURE_REALM));
		stun_put(&f.w, STUN_NONCE, ivan.nonce, ivan.nonce_len);
		if (kinds[i].chosen) {
			stun_put(&f.w, STUN_PASSWORD_ALGORITHMS, algorithms, 8);
			stun_put_u32(&f.w, STUN_PASSWORD_ALGORITHM, (uint32_t)kinds[i].key << 16);
		}
		stun_put_integrity(&f.w, f.crypto, kinds[i].integrity, &key);
		fixture_send(&f, &ivan);
		assert_int_equal(fixture_code(&f), 0);
		assert_int_equal(stun_has(&f.answer, STUN_MESSAGE_INTEGRITY_SHA256), sha256);
		assert_int_equal(stun_has(&f.answer, STUN_MESSAGE_INTEGRITY), !sha256);
		assert_true(stun_integrity_ok(f.crypto, &f.answer, &key));
	}
}

static void unknown_attributes_420_after_authentication(void **state)
{
	static const uint8_t two[] = {0x7f, 0x01, 0, 0, 0x7f, 0x02, 0, 4, 1, 2, 3, 4};
	static const uint8_t list[] = {0x7f, 0x01, 0x7f, 0x02};

	assert_int_equal(fixture_allocate(&f, &ivan, 0), 0); // has the nonce now
	fixture_begin(&f, STUN_REQUEST, STUN_REFRESH);
	memcpy(f.w.buf + f.w.len, two, sizeof(two));
	f.w.len += sizeof(two);
	assert_int_equal(fixture_ask(&f, &ivan), 420);
	assert_true(fixture_signed(&f, &ivan));
	assert_int_equal(f.answer.alen[STUN_UNKNOWN_ATTRIBUTES], 4);
	assert_memory_equal(
		f.answer.data + f.answer.off[STUN_UNKNOWN_ATTRIBUTES], list, sizeof(list));
	// from an unauthenticated client: 401 comes first
	fixture_begin(&f, STUN_REQUEST, STUN_REFRESH);
	memcpy(f.w.buf + f.w.len, two, sizeof(two));
	f.w.len += sizeof(two);
	store_be16(f.w.buf + 2, (uint16_t)(f.w.len - STUN_HEADER_LEN));
	fixture_send(&f, &ivan);
	assert_int_equal(fixture_code(&f), 401);
	// optional ones are ignored: an unassigned one, ADDITIONAL-ADDRESS-FAMILY in a Refresh
	fixture_begin(&f, STUN_REQUEST, STUN_REFRESH);
	stun_put_u32(&f.w, STUN_ADDITIONAL_ADDRESS_FAMILY, 2u << 24);
	memcpy(f.w.buf + f.w.len, (const uint8_t[]){0x80, 0xff, 0, 4, 2, 0, 0, 0}, 8);
	f.w.len += 8;
	assert_int_equal(fixture_ask(&f, &ivan), 0);
}

static void binding_needs_no_credentials(void **state)
{
	struct fixture_client v6 = fixture_client("2001:db8::7", 99);
	struct endpoint mapped;

	fixture_begin(&f, STUN_REQUEST, STUN_BINDING);
	fixture_send(&f, &ivan);
	assert_int_equal(fixture_code(&f), 0);
	mapped = fixture_answer_addr(&f, STUN_XOR_MAPPED_ADDRESS);
	assert_true(endpoint_eq(&mapped, &ivan.endpoint));
	assert_false(stun_has(&f.answer, STUN_FINGERPRINT));
	fixture_begin(&f, STUN_REQUEST, STUN_BINDING);
	stun_put_fingerprint(&f.w);
	fixture_send(&f, &v6);
	assert_int_equal(fixture_code(&f), 0);
	mapped = fixture_answer_addr(&f, STUN_XOR_MAPPED_ADDRESS);
	assert_true(endpoint_eq(&mapped, &v6.endpoint));
	assert_true(stun_has(&f.answer, STUN_FINGERPRINT)); // as the client did
}

static void silence_past_the_limit(void **state)
{
	struct turn_config c = fixture_config();
	struct fixture_client bystander = fixture_client("198.51.101.8", 1);
	unsigned int answers = 0;

	fixture_close(&f);
	c.limits.unauthenticated = (struct limit){.rate = 10, .burst = 20};
	c.limits.binding = (struct limit){.rate = 5, .burst = 5};
	fixture_open(&f, &c, 7);
	for (uint16_t i = 0; i < 1000; i++) {
		ivan.endpoint.port = (uint16_t)(1 + i); // per address, whatever the port
		fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
		if (fixture_send(&f, &ivan)->verdict == TURN_REPLY)
			answers++;
		else
			assert_int_equal(f.burst.plan.reason, TURN_DROP_UNAUTHENTICATED_RATE);
	}
	assert_int_equal(answers, 20);
	assert_int_equal(fixture_allocate(&f, &bystander, 0), 0); // no other client is harmed
	fixture_advance(&f, 1000);
	for (answers = 0; answers < 100; answers++) {
		fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
		if (fixture_send(&f, &ivan)->verdict != TURN_REPLY)
			break;
	}
	assert_int_equal(answers, 10);
	for (answers = 0; answers < 100; answers++) { // Binding has a budget of its own
		fixture_begin(&f, STUN_REQUEST, STUN_BINDING);
		if (fixture_send(&f, &ivan)->verdict != TURN_REPLY)
			break;
	}
	assert_int_equal(answers, 5);
	assert_int_equal(f.burst.plan.reason, TURN_DROP_BINDING_RATE);
}

// A message that is answered by 4xx or not at all leaves no state in the shard.
static void strangers_leave_no_state(void **state)
{
	struct turn_stats s;

	for (uint32_t i = 0; i < 20000; i++) {
		struct fixture_client c = fixture_client("198.51.100.7", (uint16_t)i);

		fixture_begin(&f, STUN_REQUEST, authenticated[i % 4]);
		if (i % 2 == 0) {
			const uint8_t mac[20] = {(uint8_t)i};

			stun_put(&f.w, STUN_USERNAME, "ivan", 4);
			stun_put(&f.w, STUN_REALM, FIXTURE_REALM, strlen(FIXTURE_REALM));
			stun_put(&f.w, STUN_NONCE, "obMatJos2gAAAxxxxxxxxxxxxxxxxxxx", 32);
			stun_put(&f.w, STUN_MESSAGE_INTEGRITY, mac, 20);
		}
		fixture_send(&f, &c);
	}
	s = fixture_stats(&f);
	assert_int_equal(s.allocations + s.permissions + s.channels + s.redirects, 0);
	assert_int_equal(turn_quota_total(f.quota), 0);
}

// --- amplification -------------------------------------------------------------------------------

struct shape {
	const char *name;
	enum stun_method method;
	bool transport; // the usual attribute of an Allocate
	bool stale; // credentials with an expired nonce: 438
};

static unsigned int shape_lengths(const struct shape *s, size_t realm_len, unsigned int *in)
{
	struct turn_config c = fixture_config();
	char realm[128] = {0};
	const uint8_t mac[20] = {0};
	unsigned int out;

	memset(realm, 'r', realm_len);
	c.first.name = realm;
	fixture_close(&f);
	fixture_open(&f, &c, 8);
	fixture_begin(&f, STUN_REQUEST, s->method);
	if (s->transport)
		stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	if (s->stale) {
		stun_put(&f.w, STUN_USERNAME, "u", 1);
		stun_put(&f.w, STUN_REALM, realm, realm_len);
		stun_put(&f.w, STUN_NONCE, "n", 1);
		stun_put(&f.w, STUN_MESSAGE_INTEGRITY, mac, 20);
	}
	*in = f.w.len;
	fixture_send(&f, &ivan);
	out = f.burst.plan.front_len;
	assert_int_equal(fixture_code(&f), s->method == STUN_BINDING ? 0 : s->stale ? 438 : 401);
	return out;
}

// Counted in whole IP packets a 401 or 438 is at most three times the request that asked for it,
// with a realm of up to 16 bytes: a sender with spoofed sources gains next to nothing.
static void amplification_is_bounded(void **state)
{
	static const struct shape shapes[] = {
		{"Allocate, no attributes", STUN_ALLOCATE, false, false},
		{"Allocate, REQUESTED-TRANSPORT", STUN_ALLOCATE, true, false},
		{"Refresh, no attributes", STUN_REFRESH, false, false},
		{"Allocate, stale nonce", STUN_ALLOCATE, true, true},
		{"Binding", STUN_BINDING, false, false},
	};
	static const size_t realms[] = {1, 8, 12, 16, 32, 64};

	print_message(
		"%-30s %5s %4s %5s %6s %6s\n", "request", "realm", "in", "out", "IPv4", "IPv6");
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		for (size_t k = 0; k < sizeof(realms) / sizeof(realms[0]); k++) {
			unsigned int in, out = shape_lengths(&shapes[i], realms[k], &in);
			const double v4 = (double)(out + IP_UDP_V4) / (in + IP_UDP_V4);
			const double v6 = (double)(out + IP_UDP_V6) / (in + IP_UDP_V6);

			print_message("%-30s %5zu %4u %5u %5.2fx %5.2fx\n", shapes[i].name,
				realms[k], in, out, v4, v6);
			if (realms[k] <= 16)
				assert_true(v4 <= 3.0 && v6 <= 3.0);
		}
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(without_integrity_401),
		T(nonce_differs_for_every_source),
		T(incomplete_credentials_400),
		T(wrong_password_or_user_401),
		T(stale_nonce_438_and_the_new_one_is_good),
		T(nonce_of_another_source_438),
		T(nonce_of_another_length_438),
		T(sha256_and_userhash),
		T(answers_are_signed_as_requests_are),
		T(unknown_attributes_420_after_authentication),
		T(binding_needs_no_credentials),
		T(silence_past_the_limit),
		T(strangers_leave_no_state),
		T(amplification_is_bounded),
	};

	return cmocka_run_group_tests_name("challenge", tests, NULL, NULL);
}
