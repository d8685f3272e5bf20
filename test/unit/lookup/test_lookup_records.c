// SPDX-License-Identifier: BSD-3-Clause
// Records of the protocol with slipring-accounts, byte by byte as doc/accounts.md has them.
#include <string.h>

#include "addr_text.h"
#include "features/lookup/lookup_records.h"
#include "test.h"
#include "turn_config.h"

static uint8_t record[LOOKUP_ANSWER_LEN];
static struct turn_lookup_answer a;
static struct turn_lookup_secret s;

static int setup(void **state)
{
	memset(record, 0, sizeof(record));
	memcpy(record, "SLA1", 4);
	memcpy(record + 8, "\x01\x02\x03\x04\x05\x06\x07\x08", 8);
	memset(&a, 0xff, sizeof(a));
	memset(&s, 0xff, sizeof(s));
	return 0;
}

static void a_question(void **state)
{
	static const uint8_t head[36] = {'S', 'L', 'Q', '1', 1, 3, 0, 4, 0x11, 0x22, 0x33, 0x44,
		0x55, 0x66, 0x77, 0x88, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 7,
		0x13, 0x88, 0, 11};
	struct dp_lookup_question q = {.id = UINT64_C(0x1122334455667788),
		.client = {addr_text("192.0.2.7"), 5000},
		.transport = TURN_OVER_DTLS,
		.name_len = 4,
		.realm_len = 11};
	uint8_t out[LOOKUP_QUESTION_LEN], zero[LOOKUP_QUESTION_LEN] = {0};

	memcpy(q.name, "olga", 4);
	memcpy(q.realm, "example.org", 11);
	memset(out, 0xff, sizeof(out));
	lookup_records_put(&q, out);
	assert_memory_equal(out, head, sizeof(head));
	assert_memory_equal(out + 36, zero, 28);
	assert_memory_equal(out + 64, "olga", 4);
	assert_memory_equal(out + 68, zero, 508);
	assert_memory_equal(out + 576, "example.org", 11);
	assert_memory_equal(out + 587, zero, 1344 - 587);
}

static void keys(void **state)
{
	record[4] = 1;
	record[5] = 3;
	record[18] = 1; // 256 seconds
	record[23] = 9;
	memset(record + 32, 'm', 16);
	memset(record + 48, 's', 32);
	assert_int_equal(lookup_records_read(record, &a, &s), LOOKUP_RECORD_ANSWER);
	assert_int_equal(a.result, TURN_LOOKUP_KEYS);
	assert_true(a.id == UINT64_C(0x0102030405060708));
	assert_true(a.has_md5 && a.has_sha256);
	assert_int_equal(a.lifetime_s, 256);
	assert_int_equal(a.stale_s, 9);
	assert_memory_equal(a.md5, record + 32, 16);
	assert_memory_equal(a.sha256, record + 48, 32);
	record[5] = 2;
	assert_int_equal(lookup_records_read(record, &a, &s), LOOKUP_RECORD_ANSWER);
	assert_true(!a.has_md5 && a.has_sha256);
	record[5] = 0; // a user without a key
	assert_int_equal(lookup_records_read(record, &a, &s), LOOKUP_RECORD_BAD);
}

static void other_answers(void **state)
{
	record[4] = 2;
	assert_int_equal(lookup_records_read(record, &a, &s), LOOKUP_RECORD_ANSWER);
	assert_int_equal(a.result, TURN_LOOKUP_UNKNOWN);
	record[4] = 3;
	assert_int_equal(lookup_records_read(record, &a, &s), LOOKUP_RECORD_ANSWER);
	assert_int_equal(a.result, TURN_LOOKUP_NO_ANSWER);
	record[4] = 0;
	assert_int_equal(lookup_records_read(record, &a, &s), LOOKUP_RECORD_BAD);
	record[4] = 5;
	assert_int_equal(lookup_records_read(record, &a, &s), LOOKUP_RECORD_BAD);
	record[4] = 2;
	record[3] = '2';
	assert_int_equal(lookup_records_read(record, &a, &s), LOOKUP_RECORD_BAD);
}

// Makes the record of a secret in a list.
static void put_secret(uint8_t index, uint8_t nb, const char *secret, const char *realm)
{
	setup(NULL);
	record[4] = 4;
	record[6] = (uint8_t)(strlen(secret) >> 8);
	record[7] = (uint8_t)strlen(secret);
	record[24] = index;
	record[25] = nb;
	record[26] = (uint8_t)(strlen(realm) >> 8);
	record[27] = (uint8_t)strlen(realm);
	memcpy(record + 80, secret, strlen(secret));
	memcpy(record + 336, realm, strlen(realm));
}

static void secrets(void **state)
{
	char longest[257];

	memset(longest, 'x', 256);
	longest[256] = '\0';
	put_secret(1, 2, longest, "example.org");
	assert_int_equal(lookup_records_read(record, &a, &s), LOOKUP_RECORD_SECRET);
	assert_true(s.list == UINT64_C(0x0102030405060708));
	assert_int_equal(s.index, 1);
	assert_int_equal(s.nb, 2);
	assert_string_equal(s.secret, longest);
	assert_string_equal(s.realm, "example.org");
	put_secret(0, 0, "", "example.org");
	assert_int_equal(lookup_records_read(record, &a, &s), LOOKUP_RECORD_SECRET);
	assert_int_equal(s.nb, 0);
}

static void broken_secrets(void **state)
{
	put_secret(2, 2, "north", "example.org");
	assert_int_equal(lookup_records_read(record, &a, &s), LOOKUP_RECORD_BAD);
	put_secret(0, 17, "north", "example.org");
	assert_int_equal(lookup_records_read(record, &a, &s), LOOKUP_RECORD_BAD);
	put_secret(0, 1, "", "example.org");
	assert_int_equal(lookup_records_read(record, &a, &s), LOOKUP_RECORD_BAD);
	put_secret(0, 0, "north", "example.org");
	assert_int_equal(lookup_records_read(record, &a, &s), LOOKUP_RECORD_BAD);
	put_secret(1, 0, "", "example.org");
	assert_int_equal(lookup_records_read(record, &a, &s), LOOKUP_RECORD_BAD);
	put_secret(0, 1, "north", "");
	assert_int_equal(lookup_records_read(record, &a, &s), LOOKUP_RECORD_BAD);
	put_secret(0, 1, "north", "example.org");
	record[81] = '\0'; // a NUL inside
	assert_int_equal(lookup_records_read(record, &a, &s), LOOKUP_RECORD_BAD);
	put_secret(0, 1, "north", "example.org");
	record[6] = 0xff; // longer than its field
	assert_int_equal(lookup_records_read(record, &a, &s), LOOKUP_RECORD_BAD);
	put_secret(0, 1, "north", "example.org");
	record[26] = 0x03; // 779 bytes of realm
	assert_int_equal(lookup_records_read(record, &a, &s), LOOKUP_RECORD_BAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_question, setup),
		cmocka_unit_test_setup(keys, setup),
		cmocka_unit_test_setup(other_answers, setup),
		cmocka_unit_test_setup(secrets, setup),
		cmocka_unit_test_setup(broken_secrets, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
