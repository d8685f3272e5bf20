// SPDX-License-Identifier: BSD-3-Clause
// What a configuration may ask of DTLS.
#include "dtls_world.h"
#include "stream_int.h"

// Of the ciphers that are asked for, those with an AEAD are left; there has to be one.
static void test_ciphers(void **state)
{
	const struct stream_dtls c = {.message = 1200};
	struct stream_tls tls = dtls_files();
	char error[256];
	SSL_CTX *ctx;

	tls.ciphers = "ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-CCM";
	ctx = dtls_load(&tls, &c, error, sizeof(error));
	assert_non_null(ctx);
	for (int i = 0; i < sk_SSL_CIPHER_num(SSL_CTX_get_ciphers(ctx)); i++) {
		const SSL_CIPHER *one = sk_SSL_CIPHER_value(SSL_CTX_get_ciphers(ctx), i);

		if (strcmp(SSL_CIPHER_get_version(one), "TLSv1.3") != 0)
			assert_string_equal(
				SSL_CIPHER_get_name(one), "ECDHE-ECDSA-AES256-GCM-SHA384");
	}
	SSL_CTX_free(ctx);
	tls.ciphers = "ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES128-CCM";
	tls.for_dtls = true;
	assert_int_equal(stream_tls_check(&tls, error, sizeof(error)), -1);
	assert_string_equal(error,
		"tls.ciphers: ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES128-CCM: "
		"DTLS needs one of AES-GCM or CHACHA20-POLY1305 among them");
	tls.for_dtls = false;
	assert_int_equal(stream_tls_check(&tls, error, sizeof(error)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ciphers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
