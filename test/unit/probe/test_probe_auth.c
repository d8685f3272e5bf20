// SPDX-License-Identifier: BSD-3-Clause
// Credentials of the probe: REST names, challenges, signatures.
#include "client/auth.h"
#include "test.h"

static const uint8_t tid[STUN_TID_LEN] = "transaction";
static struct auth a;
static uint8_t buf[2048];
static struct stun_msg m;

static int teardown(void **state)
{
	auth_free(&a);
	return 0;
}

static struct stun_writer challenge(void)
{
	struct stun_writer w;

	stun_begin(&w, buf, sizeof(buf), STUN_ERROR, STUN_ALLOCATE, tid);
	stun_put_error(&w, 401, "");
	return w;
}

static void parse(struct stun_writer *w)
{
	assert_int_equal(stun_parse(buf, stun_end(w), &m), 0);
}

static void challenge_of(const char *realm, const void *algorithms, size_t len)
{
	struct stun_writer w = challenge();

	if (realm != NULL)
		stun_put(&w, STUN_REALM, realm, strlen(realm));
	stun_put(&w, STUN_NONCE, "nonce", 5);
	if (len > 0)
		stun_put(&w, STUN_PASSWORD_ALGORITHMS, algorithms, len);
	parse(&w);
}

static void sign(void)
{
	struct stun_writer w;

	stun_begin(&w, buf, sizeof(buf), STUN_REQUEST, STUN_ALLOCATE, tid);
	auth_sign(&a, &w);
	parse(&w);
}

static void rest(void **state)
{
	assert_true(auth_init(&a, "ivan", NULL, "s3cret", 1800000000));
	assert_string_equal(a.user, "1800003600:ivan");
	assert_int_equal(strlen(a.password), 28);
	auth_free(&a);
	assert_true(auth_init(&a, NULL, NULL, "s3cret", 1800000000));
	assert_string_equal(a.user, "1800003600");
}

static void signs(void **state)
{
	static const uint8_t both[8] = {0, 1, 0, 0, 0, 2, 0, 0}, sha256[4] = {0, 2, 0, 0};

	assert_true(auth_init(&a, "ivan", "pw", NULL, 0));
	sign();
	assert_false(stun_has(&m, STUN_USERNAME));
	challenge_of("turn.test", both, sizeof(both));
	assert_int_equal(auth_challenge(&a, &m), FAULT_NONE);
	sign();
	assert_true(stun_has(&m, STUN_MESSAGE_INTEGRITY));
	assert_false(stun_has(&m, STUN_PASSWORD_ALGORITHM));
	assert_true(auth_verify(&a, &m));
	buf[m.off[STUN_USERNAME]] ^= 1;
	assert_false(auth_verify(&a, &m));
	// a server that offers SHA-256 only
	challenge_of("turn.test", sha256, sizeof(sha256));
	assert_int_equal(auth_challenge(&a, &m), FAULT_NONE);
	sign();
	assert_true(stun_has(&m, STUN_MESSAGE_INTEGRITY_SHA256));
	assert_true(stun_has(&m, STUN_PASSWORD_ALGORITHMS));
	assert_true(auth_verify(&a, &m));
	// a 438 without REALM keeps the realm
	challenge_of(NULL, NULL, 0);
	assert_int_equal(auth_challenge(&a, &m), FAULT_NONE);
	assert_string_equal(a.realm, "turn.test");
}

static void odd_challenges(void **state)
{
	struct stun_writer w;

	assert_true(auth_init(&a, "ivan", "pw", NULL, 0));
	challenge_of(NULL, NULL, 0);
	assert_int_equal(auth_challenge(&a, &m), FAULT_BAD_ANSWER);
	challenge_of("", NULL, 0);
	assert_int_equal(auth_challenge(&a, &m), FAULT_BAD_ANSWER);
	w = challenge();
	stun_put(&w, STUN_REALM, "a\0b", 3);
	stun_put(&w, STUN_NONCE, "nonce", 5);
	parse(&w);
	assert_int_equal(auth_challenge(&a, &m), FAULT_BAD_ANSWER);
	w = challenge();
	stun_put(&w, STUN_REALM, "turn.test", 9);
	parse(&w);
	assert_int_equal(auth_challenge(&a, &m), FAULT_BAD_ANSWER);
	assert_false(a.challenged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(rest, teardown),
		cmocka_unit_test_teardown(signs, teardown),
		cmocka_unit_test_teardown(odd_challenges, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
