// SPDX-License-Identifier: BSD-3-Clause
// The stateless nonce: its form (RFC 8489 9.2, 18.1), the clients it is valid for, and its
// lifetime.
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "test_rand.h"
#include "auth/nonce.h"
#include "auth/policy.h"

#define WALL 1700000000u
#define LIFETIME 600u

static struct stun_crypto *crypto;
static struct turn_policy policy; // has only the fields that a nonce depends on
static struct endpoint ivan;

static int setup(void **state)
{
	crypto = stun_crypto_create();
	for (uint8_t i = 0; i < 32; i++)
		policy.nonce_key[i] = i;
	policy.nonce_lifetime_s = LIFETIME;
	if (addr_parse("192.0.2.1", &ivan.addr) != 0)
		return 1;
	ivan.port = 32853;
	return crypto == NULL;
}

static int teardown(void **state)
{
	stun_crypto_free(crypto);
	return 0;
}

static void make(const struct endpoint *client, uint64_t wall_s, uint8_t nonce[NONCE_LEN])
{
	memset(nonce, 0xA5, NONCE_LEN);
	assert_true(nonce_make(
		&policy, crypto, &(struct nonce_client){.endpoint = *client}, wall_s, nonce));
}

static enum nonce_state check(
	const struct endpoint *client, uint64_t wall_s, const uint8_t nonce[NONCE_LEN])
{
	// over UDP the port always matters
	const struct nonce_client c = {.endpoint = *client, .any_port = wall_s % 2};

	return nonce_check(&policy, crypto, &c, wall_s, nonce);
}

static bool valid(const struct endpoint *client, uint64_t wall_s, const uint8_t nonce[NONCE_LEN])
{
	return check(client, wall_s, nonce) == NONCE_VALID;
}

// The expected nonce, computed with libcrypto's one-shot calls.
static void expect(const struct endpoint *client, uint32_t stamp, char out[NONCE_LEN + 2])
{
	const uint8_t text[22] = {(uint8_t)(stamp >> 24), (uint8_t)(stamp >> 16),
		(uint8_t)(stamp >> 8), (uint8_t)stamp};
	uint8_t all[22], mac[32];

	memcpy(all, text, 22);
	memcpy(all + 4, client->addr.b, 16);
	all[20] = (uint8_t)(client->port >> 8);
	all[21] = (uint8_t)client->port;
	HMAC(EVP_sha256(), policy.nonce_key, 32, all, 22, mac, NULL);
	memcpy(all + 4, mac, 10);
	memcpy(out, "obMatJos2wAAA", 13);
	assert_int_equal(EVP_EncodeBlock((unsigned char *)out + 13, all, 14), 20);
	assert_int_equal(out[32], '=');
}

static void test_form(void **state)
{
	uint8_t nonce[NONCE_LEN];
	struct endpoint six = {.port = 32853};

	// Computed with Python's hmac and base64 for the key 00 01 ... 1f.
	make(&ivan, WALL, nonce);
	assert_memory_equal(nonce, "obMatJos2wAAAZVPxAKu40fgZOfZ6nfA", 32);
	assert_int_equal(addr_parse("2001:db8:1234:5678:11:2233:4455:6677", &six.addr), 0);
	make(&six, WALL, nonce);
	assert_memory_equal(nonce, "obMatJos2wAAAZVPxACEj3WHtrW34eQI", 32);
}

static void test_random_clients(void **state)
{
	struct test_rand rnd = test_rand_start("nonce");
	uint8_t nonce[NONCE_LEN];
	char expected[NONCE_LEN + 2];

	for (int i = 0; i < 20000; i++) {
		struct endpoint e = {.port = (uint16_t)test_rand(&rnd)};
		const uint32_t wall = (uint32_t)test_rand(&rnd);

		test_rand_fill(&rnd, &e.addr, sizeof(e.addr));
		make(&e, wall, nonce);
		expect(&e, wall, expected);
		assert_memory_equal(nonce, expected, NONCE_LEN);
		assert_true(valid(&e, wall, nonce));
		assert_false(valid(&ivan, wall, nonce));
	}
}

// RFC 8489 9.2.5: with the username anonymity bit a client must not send USERNAME, the only
// identity in REST credentials. The password algorithms bit (bit 0, the most significant) is always
// set.
static void test_features(void **state)
{
	uint8_t nonce[NONCE_LEN], rest[NONCE_LEN];

	make(&ivan, WALL, nonce);
	policy.needs_names = true;
	make(&ivan, WALL, rest);
	assert_memory_equal(rest, "obMatJos2gAAA", 13);
	assert_memory_equal(rest + 13, nonce + 13, NONCE_LEN - 13);
	assert_true(valid(&ivan, WALL, rest));
	// Features that we did not send: an attacker changed them in transit.
	assert_false(valid(&ivan, WALL, nonce));
	policy.needs_names = false;
	assert_true(valid(&ivan, WALL, nonce));
	assert_false(valid(&ivan, WALL, rest));
}

// RFC 8489 9.2.4: differs for two source addresses or ports, and is valid for its own only.
static void test_bound_to_client(void **state)
{
	uint8_t nonce[NONCE_LEN], second[NONCE_LEN];

	make(&ivan, WALL, nonce);
	for (int bit = 0; bit < 128 + 16; bit++) {
		struct endpoint e = ivan;

		if (bit < 128)
			e.addr.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		else
			e.port ^= (uint16_t)(1 << (bit - 128));
		make(&e, WALL, second);
		assert_memory_not_equal(nonce, second, NONCE_LEN);
		assert_false(valid(&e, WALL, nonce));
		assert_false(valid(&ivan, WALL, second));
		assert_true(valid(&e, WALL, second));
	}
}

// Over TCP and TLS, nonces of two ports differ as well, and each is valid for its own port only.
// For a ConnectionBind (RFC 6062 4.3: with the credentials of the control connection) the nonce of
// any connection from that address is valid.
static void test_streams(void **state)
{
	uint8_t nonce[NONCE_LEN], udp[NONCE_LEN], second[NONCE_LEN];
	struct nonce_client c = {.endpoint = ivan, .stream = true}, e, any;

	assert_true(nonce_make(&policy, crypto, &c, WALL, nonce));
	make(&ivan, WALL, udp);
	assert_false(valid(&ivan, WALL, nonce));
	assert_int_equal(nonce_check(&policy, crypto, &c, WALL, udp), NONCE_FOREIGN);
	for (int bit = 0; bit < 128 + 16; bit++) {
		e = c;
		if (bit < 128)
			e.endpoint.addr.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		else
			e.endpoint.port ^= (uint16_t)(1 << (bit - 128));
		any = e;
		any.any_port = true;
		assert_true(nonce_make(&policy, crypto, &e, WALL, second));
		assert_memory_not_equal(nonce, second, NONCE_LEN);
		assert_int_equal(nonce_check(&policy, crypto, &e, WALL, second), NONCE_VALID);
		assert_int_equal(nonce_check(&policy, crypto, &e, WALL, nonce), NONCE_FOREIGN);
		assert_int_equal(nonce_check(&policy, crypto, &any, WALL, nonce),
			bit < 128 ? NONCE_FOREIGN : NONCE_VALID);
		assert_int_equal(nonce_check(&policy, crypto, &any, WALL + LIFETIME + 1, nonce),
			bit < 128 ? NONCE_FOREIGN : NONCE_STALE);
	}
	any = c;
	any.any_port = true;
	assert_int_equal(nonce_check(&policy, crypto, &any, WALL, udp), NONCE_FOREIGN);
	for (size_t i = 0; i < NONCE_LEN - 3; i++) {
		nonce[i] ^= 1;
		assert_int_equal(nonce_check(&policy, crypto, &any, WALL, nonce), NONCE_FOREIGN);
		nonce[i] ^= 1;
	}
}

static bool stale(const struct endpoint *client, uint64_t wall_s, const uint8_t nonce[NONCE_LEN])
{
	return check(client, wall_s, nonce) == NONCE_STALE;
}

static void test_lifetime(void **state)
{
	uint8_t nonce[NONCE_LEN];

	make(&ivan, WALL, nonce);
	for (uint32_t age = 0; age <= LIFETIME; age++)
		assert_true(valid(&ivan, WALL + age, nonce));
	assert_true(stale(&ivan, WALL + LIFETIME + 1, nonce));
	assert_true(stale(&ivan, WALL + 86400, nonce));
	// Another server of the fleet may be 5 seconds behind the one that made the nonce.
	for (uint32_t behind = 1; behind <= 5; behind++)
		assert_true(valid(&ivan, WALL - behind, nonce));
	// The clock was set back further: stale at once.
	assert_true(stale(&ivan, WALL - 6, nonce));
	assert_true(stale(&ivan, WALL - LIFETIME, nonce));
	assert_true(stale(&ivan, 0, nonce));
	// Its lifetime is that of the current policy, not of the policy that it was made under.
	policy.nonce_lifetime_s = 60;
	assert_true(valid(&ivan, WALL + 60, nonce));
	assert_true(stale(&ivan, WALL + 61, nonce));
	policy.nonce_lifetime_s = LIFETIME;

	// The 32-bit time stamp overflows in 2106.
	make(&ivan, UINT32_MAX, nonce);
	assert_true(valid(&ivan, UINT64_C(0x100000000) + 100, nonce));
	assert_true(stale(&ivan, UINT64_C(0x100000000) + LIFETIME, nonce));
	assert_true(valid(&ivan, UINT32_MAX - 5, nonce));
	assert_true(stale(&ivan, UINT32_MAX - 6, nonce));
	make(&ivan, UINT64_C(0x100000000) + 2, nonce);
	assert_true(valid(&ivan, UINT32_MAX - 2, nonce));
	assert_true(stale(&ivan, UINT32_MAX - 3, nonce));
}

// Any other character in any position, including alternative encodings of the same bits.
static void test_forged(void **state)
{
	uint8_t nonce[NONCE_LEN];

	make(&ivan, WALL, nonce);
	for (size_t i = 0; i < NONCE_LEN; i++) {
		const uint8_t right = nonce[i];

		for (unsigned int c = 0; c < 256; c++) {
			nonce[i] = (uint8_t)c;
			assert_int_equal(check(&ivan, WALL, nonce),
				c == right ? NONCE_VALID : NONCE_FOREIGN);
			// nor is it a nonce that we once issued
			assert_int_equal(stale(&ivan, WALL + LIFETIME + 1, nonce), c == right);
		}
		nonce[i] = right;
	}
	// A later time stamp with the MAC of an earlier one.
	make(&ivan, WALL + 1, nonce);
	for (uint32_t later = 2; later < 1000; later++) {
		uint8_t fresh[NONCE_LEN];

		make(&ivan, WALL + later, fresh);
		memcpy(fresh + 19, nonce + 19, NONCE_LEN - 19);
		assert_false(valid(&ivan, WALL + later, fresh));
	}
}

static void test_garbage(void **state)
{
	struct test_rand rnd = test_rand_start("garbage");
	uint8_t right[NONCE_LEN], nonce[NONCE_LEN];

	make(&ivan, WALL, right);
	for (int i = 0; i < 100000; i++) {
		memcpy(nonce, right, NONCE_LEN);
		// From some position on, so that the cheap checks pass as well.
		for (size_t pos = test_rand_below(&rnd, NONCE_LEN - 2); pos < NONCE_LEN; pos++)
			nonce[pos] = (uint8_t)(32 + test_rand_below(&rnd, 96));
		assert_int_equal(valid(&ivan, WALL, nonce), memcmp(nonce, right, NONCE_LEN) == 0);
	}
}

static void test_other_key(void **state)
{
	uint8_t nonce[NONCE_LEN];

	make(&ivan, WALL, nonce);
	for (int bit = 0; bit < 256; bit++) {
		policy.nonce_key[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(valid(&ivan, WALL, nonce));
		policy.nonce_key[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

// Servers of a fleet accept each other's nonces if they share a secret. Without a secret, nonces
// are valid for this process, and survive a reload.
static void test_fleet(void **state)
{
	static const uint8_t boot[2][32] = {{1}, {2}};
	struct turn_config c = {
		.first.name = (char *)"turn.test", .nonce_lifetime_s = LIFETIME, .workers = 1};
	const struct {
		const char *secret_a, *secret_b;
		int boot_b;
		bool shared;
	} t[] = {
		{"fleet", "fleet", 0, true},
		{"fleet", "fleet", 1, true},
		{"fleet", "float", 0, false},
		{"fleet", "", 0, false},
		{"", "", 1, false},
		{"", "", 0, true},
	};
	const struct nonce_client client = {.endpoint = ivan};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct turn_policy *a, *b;
		uint8_t nonce[NONCE_LEN];

		c.nonce_secret = (char *)t[i].secret_a;
		a = turn_policy_create(&c, crypto, boot[0]);
		c.nonce_secret = (char *)t[i].secret_b;
		b = turn_policy_create(&c, crypto, boot[t[i].boot_b]);
		assert_non_null(a);
		assert_non_null(b);
		assert_true(nonce_make(a, crypto, &client, WALL, nonce));
		assert_int_equal(nonce_check(b, crypto, &client, WALL + 1, nonce),
			t[i].shared ? NONCE_VALID : NONCE_FOREIGN);
		turn_policy_free(a);
		turn_policy_free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_form),
		cmocka_unit_test(test_random_clients),
		cmocka_unit_test(test_features),
		cmocka_unit_test(test_bound_to_client),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_lifetime),
		cmocka_unit_test(test_forged),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_other_key),
		cmocka_unit_test(test_fleet),
	};

	return cmocka_run_group_tests_name("nonce", tests, setup, teardown);
}
