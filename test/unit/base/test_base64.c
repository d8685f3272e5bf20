// SPDX-License-Identifier: BSD-3-Clause
// Base64 against libcrypto's, for every kind of ending.
#include <openssl/evp.h>
#include <string.h>

#include "text/base64.h"
#include "test.h"
#include "test_rand.h"

#define LONGEST 64

static void test_encode(void **state)
{
	struct test_rand r = test_rand_start("base64");
	uint8_t in[LONGEST], out[BASE64_CHARS(LONGEST) + 1], want[BASE64_CHARS(LONGEST) + 4];

	for (size_t len = 0; len <= LONGEST; len++) {
		const size_t chars = BASE64_CHARS(len);

		for (unsigned int i = 0; i < 100; i++) {
			test_rand_fill(&r, in, len);
			memset(out, '!', sizeof(out));
			base64_encode(in, len, out);
			EVP_EncodeBlock(want, in, (int)len);
			assert_memory_equal(out, want, chars);
			assert_int_equal(out[chars], '!');
		}
	}
}

static void test_value(void **state)
{
	uint8_t three[3], four[5];
	unsigned int known = 0;

	for (unsigned int c = 0; c < 256; c++)
		known += base64_value((uint8_t)c) >= 0;
	assert_int_equal(known, 64);
	for (uint8_t v = 0; v < 64; v++) {
		memset(three, 0, sizeof(three));
		three[2] = v;
		EVP_EncodeBlock(four, three, 3);
		assert_int_equal(base64_value(four[3]), v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_encode),
		cmocka_unit_test(test_value),
	};

	return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
