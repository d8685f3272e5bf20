// SPDX-License-Identifier: BSD-3-Clause
// From step and error to words.
#include <stdio.h>

#include "addr_text.h"
#include "test.h"
#include "report/words.h"

#define NOW_S 1800000000

static struct result r;
static char words[WORDS_SIZE];

static int setup(void **state)
{
	result_init(&r, TRANSPORT_TLS);
	r.server = addr_text_endpoint("192.0.2.1", 5349);
	snprintf(r.user, sizeof(r.user), "ivan");
	snprintf(r.realm, sizeof(r.realm), "turn.test");
	snprintf(r.name, sizeof(r.name), "turn.example.org");
	return 0;
}

static enum fault fault_of(enum step step, unsigned int code, const char *user, bool from_secret)
{
	const struct words_facts facts = {user, from_secret, NOW_S};

	return words_fault(step, code, &facts);
}

static void codes(void **state)
{
	static const struct {
		unsigned int code;
		enum fault fault;
	} row[] = {{300, FAULT_ALTERNATE}, {400, FAULT_CODE}, {401, FAULT_PASSWORD},
		{403, FAULT_FORBIDDEN}, {437, FAULT_CODE}, {438, FAULT_STALE}, {486, FAULT_QUOTA},
		{508, FAULT_CAPACITY}, {699, FAULT_CODE}};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		assert_int_equal(fault_of(STEP_ALLOCATE, row[i].code, "ivan", false), row[i].fault);
	assert_int_equal(fault_of(STEP_PERMISSION, 403, "ivan", false), FAULT_PEER);
	assert_int_equal(fault_of(STEP_BINDING, 401, "ivan", false), FAULT_CODE);
}

// Only a name with a time in the past has expired.
static void expired(void **state)
{
	assert_int_equal(fault_of(STEP_ALLOCATE, 401, "1799999999:ivan", false), FAULT_EXPIRED);
	assert_int_equal(fault_of(STEP_ALLOCATE, 401, "ivan:1799999999", false), FAULT_EXPIRED);
	assert_int_equal(fault_of(STEP_ALLOCATE, 401, "1799999999", true), FAULT_EXPIRED);
	assert_int_equal(fault_of(STEP_ALLOCATE, 401, "1800000000:ivan", false), FAULT_PASSWORD);
	assert_int_equal(fault_of(STEP_ALLOCATE, 401, "1800003600:ivan", true), FAULT_SECRET);
	assert_int_equal(fault_of(STEP_ALLOCATE, 401, "1000", false), FAULT_PASSWORD);
}

static const char *wrong_by(enum fault fault)
{
	r.fault = fault;
	return words_what(&r, "turn.example.org", words);
}

static void names_in_braces(void **state)
{
	assert_string_equal(wrong_by(FAULT_NAME), "the name turn.example.org has no address");
	assert_string_equal(wrong_by(FAULT_NO_ANSWER), "no answer over TCP from port 5349");
	r.transport = TRANSPORT_DTLS;
	assert_string_equal(wrong_by(FAULT_NO_ANSWER), "no answer over UDP from port 5349");
	assert_string_equal(wrong_by(FAULT_UNREACHABLE), "no route leads to 192.0.2.1:5349");
	assert_string_equal(wrong_by(FAULT_PASSWORD),
		"401: ivan is unknown in realm turn.test, or its password is wrong");
	assert_string_equal(wrong_by(FAULT_TO_RELAY),
		"relayed, but nothing comes back: an unknown address gets no datagrams");
	r.relayed = addr_text_endpoint("fd00::1", 49152);
	assert_string_equal(
		wrong_by(FAULT_FROM_RELAY), "nothing comes from [fd00::1]:49152 to the peer");
	r.code = 420;
	snprintf(r.detail, sizeof(r.detail), "Unknown\x1b[2J\nAttribute");
	assert_string_equal(
		wrong_by(FAULT_CODE), "the server refuses with 420 (Unknown?[2J?Attribute)");
	r.peer = addr_text_endpoint("10.0.0.7", 4000);
	r.fault = FAULT_PEER;
	assert_string_equal(words_advice(&r, "h", words),
		"allow 10.0.0.7 as a peer, or probe from a host that may be one");
}

// Every fault has words and advice, in one line, and no name in braces is left.
static void every_fault(void **state)
{
	for (unsigned int i = FAULT_NONE + 1; i < NB_FAULTS; i++) {
		r.fault = i;
		for (unsigned int k = 0; k < 2; k++) {
			if (k == 0)
				words_what(&r, "h", words);
			else
				words_advice(&r, "h", words);
			assert_true(strlen(words) > 10);
			assert_null(strpbrk(words, "{}\n"));
			assert_int_not_equal(words[strlen(words) - 1], '.');
		}
	}
}

// Values of the greatest length are cut, not written beyond the end.
static void long_values(void **state)
{
	memset(r.user, 'u', sizeof(r.user) - 1);
	memset(r.realm, 'r', sizeof(r.realm) - 1);
	memset(r.detail, 'd', sizeof(r.detail) - 1);
	for (unsigned int i = FAULT_NONE + 1; i < NB_FAULTS; i++) {
		assert_true(strlen(wrong_by(i)) < WORDS_SIZE);
		assert_true(strlen(words_advice(&r, r.realm, words)) < WORDS_SIZE);
	}
	assert_int_equal(strlen(wrong_by(FAULT_PASSWORD)), WORDS_SIZE - 1);
}

static void days(void **state)
{
	r.not_after_s = NOW_S + 86400;
	assert_int_equal(result_days(&r, NOW_S), 1);
	assert_int_equal(result_days(&r, NOW_S + 1), 0);
	assert_int_equal(result_days(&r, NOW_S + 86400), 0);
	assert_int_equal(result_days(&r, NOW_S + 86401), -1);
	assert_int_equal(result_days(&r, NOW_S + 3 * 86400), -2);
}

static void texts_of_others(void **state)
{
	char out[8];

	result_text(out, sizeof(out), "a\n\x1b\xff~ b");
	assert_string_equal(out, "a???~ b");
	result_text(out, sizeof(out), "12345678");
	assert_string_equal(out, "1234567");
	result_text(out, sizeof(out), "");
	assert_string_equal(out, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(codes, setup),
		cmocka_unit_test_setup(expired, setup),
		cmocka_unit_test_setup(names_in_braces, setup),
		cmocka_unit_test_setup(every_fault, setup),
		cmocka_unit_test_setup(long_values, setup),
		cmocka_unit_test_setup(days, setup),
		cmocka_unit_test(texts_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
