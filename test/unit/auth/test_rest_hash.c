// SPDX-License-Identifier: BSD-3-Clause
// REST passwords that site software makes with HMAC-SHA256 instead of HMAC-SHA1.
#include "turn_fixture.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#define NAME "1800000000:bob"

static struct turn_config config;
static struct fixture f;
static struct fixture_client bob;
static char password[96];

static int setup(void **state)
{
	*state = &f;
	config = fixture_config();
	fixture_open(&f, &config, 1);
	bob = fixture_client("198.51.100.7", 5000);
	bob.user = NAME;
	bob.password = password;
	return 0;
}

static void make_password(const EVP_MD *hash, const char *secret)
{
	uint8_t mac[EVP_MAX_MD_SIZE];
	unsigned int len;

	HMAC(hash, secret, (int)strlen(secret), (const uint8_t *)NAME, strlen(NAME), mac, &len);
	EVP_EncodeBlock((unsigned char *)password, mac, (int)len);
}

static void both_hashes_are_accepted(void **state)
{
	for (int i = 0; i < 4; i++) {
		make_password(i < 2 ? EVP_sha256() : EVP_sha1(), "s3cret");
		assert_int_equal(strlen(password), i < 2 ? 44 : 28);
		bob.alg = i % 2 == 0 ? STUN_ALG_MD5 : STUN_ALG_SHA256;
		bob.endpoint.port++;
		bob.nonce_len = 0;
		assert_int_equal(fixture_allocate(&f, &bob, 0), 0);
		assert_true(fixture_signed(&f, &bob));
		assert_int_equal(fixture_refresh(&f, &bob, 600), 0);
	}
	make_password(EVP_sha256(), "another");
	bob.endpoint.port++;
	bob.nonce_len = 0;
	assert_int_equal(fixture_allocate(&f, &bob, 0), 401);
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_REST_PASSWORD], 1);
	make_password(EVP_sha512(), "s3cret");
	assert_int_equal(fixture_allocate(&f, &bob, 0), 401);
}

// The secret is removed. A live allocation lives on where it has stored the MD5 key; a SHA-256 key
// does not fit there.
static void an_allocation_has_its_key(void **state)
{
	struct turn_policy *after, *before = f.policy;
	char *secrets[] = {(char *)"the next secret"};
	struct fixture_client modern = bob;

	make_password(EVP_sha256(), "s3cret");
	modern.alg = STUN_ALG_SHA256;
	modern.endpoint.port++;
	assert_int_equal(fixture_allocate(&f, &bob, 0), 0);
	assert_int_equal(fixture_allocate(&f, &modern, 0), 0);
	config.first.secrets = secrets;
	after = turn_policy_create(&config, f.crypto, f.boot_key);
	assert_non_null(after);
	turn_shard_set_policy(f.shard, after);
	assert_int_equal(fixture_refresh(&f, &bob, 600), 0);
	assert_int_equal(fixture_refresh(&f, &modern, 600), 401);
	bob.password = "wrong";
	assert_int_equal(fixture_refresh(&f, &bob, 600), 401);
	turn_shard_set_policy(f.shard, before);
	turn_policy_free(after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(both_hashes_are_accepted, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(an_allocation_has_its_key, setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
