// SPDX-License-Identifier: BSD-3-Clause
// The generator's TURN clients and the long-term credential mechanism (RFC 8489 9.2), and their
// reaction to answers that no sane server sends.
#include "support/loadgen_world.h"

#include <stdlib.h>

static struct loadgen_world w;

static int setup(void **state)
{
	const struct config c = world_config(MODE_CHANNEL);

	*state = &w;
	world_open(&w, &c, 2, 1);
	return 0;
}

static void open_sha256(void)
{
	static const uint8_t both[8] = {0, 2, 0, 0, 0, 1, 0, 0};
	struct config c = world_config(MODE_ALLOC);

	c.integrity = INTEGRITY_SHA256;
	world_open(&w, &c, 2, 1);
	w.alg = STUN_ALG_SHA256;
	memcpy(w.algorithms, both, sizeof(both));
	w.algorithms_len = sizeof(both);
}

// --- nonces and realms ---------------------------------------------------------------------------

static void a_stale_nonce_at_every_request(void **state)
{
	uint32_t n = 0;

	world_start(&w, 0);
	world_challenge(&w, 401);
	while (world_state(&w, 0) != CLIENT_READY) {
		const uint16_t method = w.request.method;

		w.nonce[0] = (uint8_t)('A' + n++);
		world_challenge(&w, 438);
		assert_int_equal(w.request.method, method);
		world_accept(&w);
	}
	assert_int_equal(n, 2); // Allocate, ChannelBind
	for (; n < 40; n++) { // refreshes of all kinds
		const struct stun_msg before = w.request;
		uint8_t tid[STUN_TID_LEN];

		assert_true(world_wait(&w, 600000, 1000));
		memcpy(tid, w.out + 8, sizeof(tid));
		w.nonce[0]++;
		world_challenge(&w, 438);
		assert_memory_not_equal(tid, w.out + 8, sizeof(tid)); // a new transaction
		assert_int_not_equal(before.method, 0);
		world_accept(&w);
		assert_int_equal(world_state(&w, 0), CLIENT_READY);
	}
	world_release(&w, 0);
	w.nonce[0]++;
	world_challenge(&w, 438);
	world_accept(&w);
	assert_int_equal(world_state(&w, 0), CLIENT_IDLE);
	assert_int_equal(world_stats(&w)->challenges, 1 + n + 1);
}

static void a_server_that_refuses_all_its_nonces(void **state)
{
	int n = 0;

	world_start(&w, 0);
	world_challenge(&w, 401);
	for (; w.len > 0; n++) {
		assert_true(n < 20);
		w.nonce[0]++;
		world_challenge(&w, 438);
	}
	assert_failed(&w, 0, CLIENT_FAULT_STALE_NONCE);
	world_start(&w, 0); // and no old state remains
	w.nonce[0]++;
	world_challenge(&w, 438);
	assert_true(world_signed(&w));
}

static void a_wrong_password_401(void **state)
{
	strcpy(w.config.password, "wrong");
	world_start(&w, 0);
	world_challenge(&w, 401);
	assert_true(stun_has(&w.request, STUN_MESSAGE_INTEGRITY));
	w.nonce[0]++;
	world_challenge(&w, 401);
	assert_int_equal(w.len, 0);
	assert_failed(&w, 0, CLIENT_FAULT_REFUSED);
	assert_int_equal(world_stats(&w)->error[401 - 300], 1);
	assert_int_equal(world_stats(&w)->challenges, 1);
}

static void nonces_and_realms_of_any_length(void **state)
{
	static char realm[STUN_TEXT_MAX + 1];
	struct config c = world_config(MODE_CHANNEL);
	struct test_rand r = test_rand_start("client nonces");
	uint8_t *kept;

	c.mtu = 9000;
	world_open(&w, &c, 200, 1);
	kept = calloc(200, STUN_TEXT_MAX);
	memset(realm, 'r', STUN_TEXT_MAX);
	w.realm = realm;
	for (uint32_t i = 0; i < 200; i++) {
		const uint32_t max = i < 100 ? 64 : STUN_TEXT_MAX;

		w.nonce_len = i == 150 ? STUN_TEXT_MAX : 1 + test_rand_below(&r, max);
		test_rand_fill(&r, w.nonce, w.nonce_len);
		memcpy(kept + i * STUN_TEXT_MAX, w.nonce, w.nonce_len);
		world_start(&w, i);
		world_challenge(&w, 401);
		world_refuse(&w, 486); // has verified realm and nonce
	}
	for (uint32_t i = 0; i < 200; i++) { // each client kept its own
		world_start(&w, i);
		w.nonce_len = w.request.alen[STUN_NONCE];
		memcpy(w.nonce, kept + i * STUN_TEXT_MAX, w.nonce_len);
		assert_true(world_signed(&w));
	}
	free(kept);
	world_close(&w);
}

static void a_challenge_that_makes_no_sense(void **state)
{
	static char text[STUN_TEXT_MAX + 1 + 4];

	memset(text, 'x', sizeof(text));
	for (int fault = 0; fault < 7; fault++) {
		const struct config c = world_config(MODE_CHANNEL);

		world_open(&w, &c, 1, 1);
		world_start(&w, 0);
		world_begin(&w, STUN_ERROR);
		stun_put_error(&w.w, fault == 6 ? 438 : 401, "");
		if (fault == 0)
			stun_put(&w.w, STUN_REALM, text, STUN_TEXT_MAX + 1);
		else if (fault == 1)
			stun_put(&w.w, STUN_REALM, "", 0);
		else if (fault == 2)
			stun_put(&w.w, STUN_REALM, "a\0b", 3);
		else if (fault < 6)
			stun_put(&w.w, STUN_REALM, "realm", 5);
		if (fault == 3)
			stun_put(&w.w, STUN_NONCE, text, STUN_TEXT_MAX + 1);
		else if (fault == 4)
			stun_put(&w.w, STUN_NONCE, "", 0);
		else if (fault != 5)
			stun_put(&w.w, STUN_NONCE, "n", 1);
		world_answer(&w);
		assert_failed(&w, 0, CLIENT_FAULT_BAD_ANSWER);
		world_close(&w);
	}
}

static void a_438_need_not_repeat_the_realm(void **state)
{
	world_ready(&w, 0);
	assert_true(world_wait(&w, 600000, 1000));
	strcpy((char *)w.nonce, "another");
	w.nonce_len = 7;
	world_begin(&w, STUN_ERROR);
	stun_put_error(&w.w, 438, "");
	stun_put(&w.w, STUN_NONCE, w.nonce, w.nonce_len);
	world_answer(&w);
	assert_true(world_signed(&w));
}

static void the_realm_is_one_for_all(void **state)
{
	world_ready(&w, 0);
	world_start(&w, 1);
	w.realm = "turn.tost";
	world_challenge(&w, 401);
	assert_failed(&w, 1, CLIENT_FAULT_REALM);
	w.realm = "turn.test.";
	world_start(&w, 1);
	world_challenge(&w, 401);
	assert_int_equal(world_stats(&w)->fault[CLIENT_FAULT_REALM], 2);
	w.realm = WORLD_REALM;
	world_start(&w, 1);
	world_challenge(&w, 401);
	assert_true(world_signed(&w));
}

static void a_request_that_does_not_fit_the_mtu(void **state)
{
	static char realm[STUN_TEXT_MAX + 1];

	memset(realm, 'r', STUN_TEXT_MAX);
	w.realm = realm;
	world_start(&w, 0);
	w.nonce_len = STUN_TEXT_MAX;
	world_challenge(&w, 401);
	assert_int_equal(w.len, 0);
	assert_failed(&w, 0, CLIENT_FAULT_REQUEST);
	assert_false(world_wait(&w, 60000, 100));
}

// --- integrity of answers ------------------------------------------------------------------------

// Success without integrity, or with a wrong one, counts as not received (RFC 8489 9.2.5).
static void answers_of_others_are_ignored(void **state)
{
	struct stun_key wrong = {.len = 16};

	world_start(&w, 0);
	world_challenge(&w, 401);
	for (int fault = 0; fault < 4; fault++) {
		world_begin(&w, fault < 3 ? STUN_SUCCESS : STUN_ERROR);
		if (fault < 3)
			world_put_success(&w);
		else
			stun_put_error(&w.w, 486, "");
		if (fault == 1 || fault == 3)
			stun_put_integrity(&w.w, w.crypto, STUN_ALG_MD5, &wrong);
		if (fault == 2) {
			world_sign(&w);
			w.answer[w.w.len - 1] ^= 1;
		}
		world_feed(&w, 0, w.answer, w.w.len);
		assert_int_equal(world_state(&w, 0), CLIENT_ALLOCATING);
		assert_int_equal(world_stats(&w)->ignored, fault + 1);
		assert_int_equal(world_stats(&w)->answers, 1);
		assert_true(world_wait(&w, 20000, 1)); // transmitted again
		assert_int_equal(world_stats(&w)->retransmissions, fault + 1);
	}
	world_accept(&w);
	assert_int_equal(world_state(&w, 0), CLIENT_BINDING);
}

static void when_no_answer_can_be_believed(void **state)
{
	world_start(&w, 0);
	world_challenge(&w, 401);
	world_begin(&w, STUN_SUCCESS);
	world_put_success(&w);
	world_answer(&w);
	while (world_wait(&w, 60000, 1))
		;
	assert_failed(&w, 0, CLIENT_FAULT_INTEGRITY);
	world_start(&w, 0); // forgotten: now it is a timeout
	while (world_wait(&w, 60000, 1))
		;
	assert_int_equal(world_stats(&w)->fault[CLIENT_FAULT_TIMEOUT], 1);
}

static void errors_need_no_integrity(void **state)
{
	world_start(&w, 0);
	world_challenge(&w, 401);
	world_begin(&w, STUN_ERROR);
	stun_put_error(&w.w, 400, "");
	world_answer(&w);
	assert_failed(&w, 0, CLIENT_FAULT_REFUSED);
	assert_int_equal(world_stats(&w)->error[400 - 300], 1);
}

// --- SHA-256 -------------------------------------------------------------------------------------

static void sha256_when_it_is_asked_for(void **state)
{
	// first an unknown algorithm, with parameters and their padding
	static const uint8_t list[20] = {0x7f, 1, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0, 0, 1, 0, 0, 0, 2};

	for (int known = 0; known < 2; known++) {
		open_sha256();
		if (known == 0) {
			memcpy(w.algorithms, list, sizeof(list));
			w.algorithms_len = sizeof(list);
		}
		world_ready(&w, 0); // verifies that the list is returned, and the algorithm
		world_release(&w, 0);
		world_begin(&w, STUN_ERROR); // as in RFC 5389
		stun_put_error(&w.w, 438, "");
		stun_put(&w.w, STUN_NONCE, w.nonce, w.nonce_len);
		world_answer(&w);
		assert_true(world_signed(&w));
		world_accept(&w);
		assert_int_equal(world_state(&w, 0), CLIENT_IDLE);
		world_close(&w);
	}
}

static void sha256_when_it_is_not_offered(void **state)
{
	static const struct {
		uint8_t list[100]; // longer than any real list
		size_t len;
		enum client_fault fault;
	} cases[] = {{{0}, 0, CLIENT_FAULT_NO_SHA256}, {{0, 1, 0, 0}, 4, CLIENT_FAULT_NO_SHA256},
		{{0, 2}, 2, CLIENT_FAULT_NO_SHA256},
		{{0, 2, 0, 4, 0, 2, 0, 0}, 8, CLIENT_FAULT_NO_SHA256},
		{{0, 1, 0xff, 0xff, 0, 2, 0, 0}, 8, CLIENT_FAULT_NO_SHA256},
		{{0, 2, 0, 0}, 100, CLIENT_FAULT_BAD_ANSWER}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		open_sha256();
		memcpy(w.algorithms, cases[i].list, sizeof(cases[i].list));
		w.algorithms_len = cases[i].len;
		world_start(&w, 0);
		world_challenge(&w, 401);
		assert_failed(&w, 0, cases[i].fault);
		world_close(&w);
	}
}

static void another_list_than_before(void **state)
{
	open_sha256();
	world_ready(&w, 0);
	w.algorithms_len = 4;
	world_start(&w, 1);
	world_challenge(&w, 401);
	assert_failed(&w, 1, CLIENT_FAULT_REALM);
	world_close(&w);
}

// RFC 8489 9.2.4: the answer to a request with PASSWORD-ALGORITHM has SHA-256.
static void an_answer_with_sha1_to_sha256_is_ignored(void **state)
{
	struct stun_key key;

	open_sha256();
	world_start(&w, 0);
	world_challenge(&w, 401);
	world_begin(&w, STUN_SUCCESS);
	world_put_success(&w);
	assert_true(stun_key_make(w.crypto, STUN_ALG_SHA256,
		&(struct stun_credential){"ivan", 4, WORLD_REALM, "pw", 2}, &key));
	stun_put_integrity(&w.w, w.crypto, STUN_ALG_MD5, &key);
	world_answer(&w);
	assert_int_equal(world_stats(&w)->ignored, 1);
	assert_int_equal(world_state(&w, 0), CLIENT_ALLOCATING);
	world_close(&w);
}

// --- names ---------------------------------------------------------------------------------------

static void assert_name(const char *user, const char *secret, bool per_client, const char *expected)
{
	struct config c = world_config(MODE_ALLOC);
	char password[29];

	strcpy(c.user, user);
	strcpy(c.secret, secret);
	c.user_per_client = per_client;
	world_open(&w, &c, 12, 1);
	if (secret[0] != '\0') {
		assert_true(
			stun_rest_password(w.crypto, secret, expected, strlen(expected), password));
		w.password = password;
	}
	world_start(&w, 11);
	world_challenge(&w, 401);
	assert_int_equal(w.request.alen[STUN_USERNAME], strlen(expected));
	assert_memory_equal(
		w.request.data + w.request.off[STUN_USERNAME], expected, strlen(expected));
	assert_true(world_signed(&w));
	world_accept(&w);
	assert_int_equal(world_state(&w, 11), CLIENT_READY);
	world_close(&w);
}

static void names_and_numbers(void **state)
{
	assert_name("ivan", "", false, "ivan");
	assert_name("load-", "", true, "load-11");
	// a day and the lifetime after the wall-clock time at the start
	assert_name("", "s3cret", false, "1700087000");
	assert_name("ivan", "s3cret", false, "1700087000:ivan");
	assert_name("ivan", "s3cret", true, "1700087000:ivan11");
	assert_name("", "s3cret", true, "1700087000:11");
}

// --- random input --------------------------------------------------------------------------------

// Changes a datagram as networks and attackers do; returns its new length.
static size_t mutate(struct test_rand *r, uint8_t *d, size_t len)
{
	for (uint32_t n = test_rand_below(r, 4); n > 0 && len > 0; n--)
		switch (test_rand_below(r, 6)) {
		case 0:
			d[test_rand_below(r, (uint32_t)len)] ^= 1u << test_rand_below(r, 8);
			break;
		case 1:
			d[test_rand_below(r, (uint32_t)len)] = (uint8_t)test_rand(r);
			break;
		case 2: // a length, of the message or of an attribute
			store_be16(d + test_rand_below(r, (uint32_t)len / 4) * 4 + 2,
				(uint16_t)(test_rand(r) & (test_rand(r) & 1 ? 0xff : 0xffff)));
			break;
		case 3:
			len = test_rand_below(r, (uint32_t)len + 1);
			break;
		case 4: // cut at an attribute, or anywhere, but with a length that fits
			len = test_rand_below(r, (uint32_t)len + 1) & ~3u;
			if (len >= STUN_HEADER_LEN)
				store_be16(d + 2, (uint16_t)(len - STUN_HEADER_LEN));
			break;
		case 5: // a class or a method
			d[test_rand_below(r, 2) % len] ^= (uint8_t)(1 + (test_rand(r) & 0x11));
			break;
		}
	return len;
}

// A server that answers at random, mostly with a valid transaction id.
static void fuzz_answer(struct test_rand *r)
{
	static const unsigned int codes[] = {300, 400, 401, 401, 401, 437, 437, 438, 438, 486, 699};
	const bool success = test_rand_below(r, 3) > 0;

	world_begin(&w, success ? STUN_SUCCESS : STUN_ERROR);
	if (success)
		world_put_success(&w);
	else
		stun_put_error(&w.w, codes[test_rand_below(r, 11)], "");
	if (test_rand_below(r, 8) > 0) {
		w.nonce_len = test_rand_below(r, 20) == 0 ? test_rand_below(r, 900) : 20;
		stun_put(&w.w, STUN_REALM, w.realm, strlen(w.realm));
		stun_put(&w.w, STUN_NONCE, w.nonce, w.nonce_len);
		stun_put(&w.w, STUN_PASSWORD_ALGORITHMS, w.algorithms, w.algorithms_len);
	}
	if (stun_has(&w.request, STUN_USERNAME) && test_rand_below(r, 8) > 0)
		world_sign(&w);
}

#define FUZZ_CLIENTS 7
#define FUZZ_STEPS 150000

// Up to ten answers, half of them mutated, to a request and to the requests that answers cause.
static void fuzz_answers(struct test_rand *r, uint32_t other_client)
{
	size_t asked = w.len;

	for (uint32_t n = test_rand_below(r, 10); asked > 0 && n > 0; n--) {
		size_t len;

		w.len = asked;
		fuzz_answer(r);
		len = test_rand_below(r, 2) == 0 ? mutate(r, w.answer, w.w.len) : w.w.len;
		world_feed(&w, test_rand_below(r, 50) == 0 ? other_client : w.i, w.answer, len);
		if (w.len > 0)
			asked = w.len;
	}
}

// mute: the server does not answer for a while.
static void fuzz_step(struct test_rand *r, bool mute)
{
	const uint32_t i = test_rand_below(r, FUZZ_CLIENTS);

	w.now_ms += test_rand_below(r, mute ? 1000 : 100);
	w.lifetime_s = test_rand_below(r, 50) == 0 ? (uint32_t)test_rand(r) : test_rand_below(r, 9);
	switch (test_rand_below(r, 8)) {
	case 0:
		world_start(&w, i);
		break;
	case 1:
		if (test_rand_below(r, 4) == 0)
			world_release(&w, i);
		else if (test_rand_below(r, 200) == 0)
			w.now_ms += test_rand_below(r, 600000);
		break;
	default:
		world_tick(&w);
	}
	if (!mute)
		fuzz_answers(r, i);
}

static void any_bytes_of_the_server(void **state)
{
	struct test_rand r = test_rand_start("client fuzz");
	uint64_t failed = 0;

	for (int kind = 0; kind < 4; kind++) {
		struct config c = world_config(kind & 1 ? MODE_CHANNEL : MODE_SEND);

		c.integrity = kind & 2 ? INTEGRITY_SHA256 : INTEGRITY_SHA1;
		c.user_per_client = kind == 3;
		world_open(&w, &c, FUZZ_CLIENTS, test_rand(&r));
		w.alg = kind & 2 ? STUN_ALG_SHA256 : STUN_ALG_MD5;
		memcpy(w.algorithms, "\0\2\0\0\0\1\0\0", 8);
		w.algorithms_len = 8;
		for (int step = 0; step < FUZZ_STEPS; step++)
			fuzz_step(&r, step / 500 % 4 == 3);
		// the clients made progress
		assert_true(world_stats(&w)->allocations > 500);
		assert_true(world_stats(&w)->releases > 200);
		assert_true(world_stats(&w)->refreshes > 200);
		for (int f = 0; f < CLIENT_NB_FAULTS; f++)
			failed += world_stats(&w)->fault[f];
		world_close(&w);
	}
	assert_true(failed > 2000);
}

#define ONE(test) cmocka_unit_test_setup_teardown(test, setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ONE(a_stale_nonce_at_every_request),
		ONE(a_server_that_refuses_all_its_nonces),
		ONE(a_wrong_password_401),
		cmocka_unit_test(nonces_and_realms_of_any_length),
		cmocka_unit_test(a_challenge_that_makes_no_sense),
		ONE(a_438_need_not_repeat_the_realm),
		ONE(the_realm_is_one_for_all),
		ONE(a_request_that_does_not_fit_the_mtu),
		ONE(answers_of_others_are_ignored),
		ONE(when_no_answer_can_be_believed),
		ONE(errors_need_no_integrity),
		cmocka_unit_test(sha256_when_it_is_asked_for),
		cmocka_unit_test(sha256_when_it_is_not_offered),
		cmocka_unit_test(another_list_than_before),
		cmocka_unit_test(an_answer_with_sha1_to_sha256_is_ignored),
		cmocka_unit_test(names_and_numbers),
		cmocka_unit_test(any_bytes_of_the_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
