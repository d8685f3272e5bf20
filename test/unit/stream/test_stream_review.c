// SPDX-License-Identifier: BSD-3-Clause
// Faults in the files of TLS are reported before the start: the file, the fault, and a remedy.
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rsa.h>

#include "stream_review.h"
#include "test.h"

#define NOW 1900000000 // 2030-03-17 17:46:40 UTC
#define DAY 86400

static char dir[] = "/tmp/review.XXXXXX";
static char cert[64], key[64], chain_file[64];

struct heard {
	unsigned int nb, fatal;
	char text[4096];
};

static void hear(void *ctx, const struct stream_tls *tls, enum stream_tls_key which, bool fatal,
	const char *reason)
{
	struct heard *h = ctx;
	char name[STREAM_REVIEW_NAME_LEN];

	h->nb++;
	h->fatal += fatal;
	snprintf(h->text + strlen(h->text), sizeof(h->text) - strlen(h->text), "%s: %s\n",
		stream_review_key_name(tls, which, name), reason);
}

static struct heard review(const struct stream_tls *tls)
{
	struct heard h = {0};
	const struct stream_review context = {.now = NOW, .say = hear, .ctx = &h};
	char error[512];

	stream_review_tls(tls, &context);
	// a fatal fault here stops the start, and the reverse
	assert_int_equal(h.fatal > 0, stream_tls_check(tls, error, sizeof(error)) != 0);
	assert_int_equal(ERR_peek_error(), 0);
	return h;
}

static struct heard reviewed(void)
{
	const struct stream_tls tls = {.certificate = cert, .key = key};

	return review(&tls);
}

static void assert_one(const struct heard h, bool fatal, const char *text)
{
	char want[1024];

	snprintf(want, sizeof(want), "%s\n", text);
	if (h.nb != 1 || h.fatal != fatal || strcmp(h.text, want) != 0)
		fail_msg("wanted: %s   got: %s", want, h.text);
}

// fmt takes the path of the faulty file, once or twice.
#define ASSERT_ONE(fatal, ...)                               \
	do {                                                 \
		char text_[512];                             \
		snprintf(text_, sizeof(text_), __VA_ARGS__); \
		assert_one(reviewed(), fatal, text_);        \
	} while (0)

// --- files ---------------------------------------------------------------------------------------

static FILE *fresh(const char *path)
{
	FILE *f;

	unlink(path);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(chmod(path, 0600), 0);
	return f;
}

static void put_text(const char *path, const char *text)
{
	FILE *f = fresh(path);

	fputs(text, f);
	fclose(f);
}

static X509 *make(EVP_PKEY *k, long begin_s, long end_s)
{
	X509 *x = X509_new();
	X509_NAME *name = X509_get_subject_name(x);

	assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(x), 7), 1);
	assert_int_equal(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
				 (const unsigned char *)"turn.test", -1, -1, 0),
		1);
	assert_int_equal(X509_set_issuer_name(x, name), 1);
	assert_non_null(ASN1_TIME_set(X509_getm_notBefore(x), NOW + begin_s));
	assert_non_null(ASN1_TIME_set(X509_getm_notAfter(x), NOW + end_s));
	assert_int_equal(X509_set_pubkey(x, k), 1);
	assert_true(X509_sign(x, k, EVP_sha256()) > 0);
	return x;
}

// Writes both files of a certificate that is valid from begin_s to end_s seconds after now.
static void write_pair(EVP_PKEY *k, long begin_s, long end_s)
{
	X509 *x = make(k, begin_s, end_s);
	FILE *f = fresh(cert);

	assert_int_equal(PEM_write_X509(f, x), 1);
	fclose(f);
	X509_free(x);
	f = fresh(key);
	assert_int_equal(PEM_write_PrivateKey(f, k, NULL, NULL, 0, NULL, NULL), 1);
	fclose(f);
}

static EVP_PKEY *new_key(void)
{
	return EVP_EC_gen("P-256");
}

static void write_good(void)
{
	EVP_PKEY *k = new_key();

	write_pair(k, -DAY, 90 * DAY);
	EVP_PKEY_free(k);
}

static int begin(void **state)
{
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(cert, sizeof(cert), "%s/cert.pem", dir);
	snprintf(key, sizeof(key), "%s/key.pem", dir);
	snprintf(chain_file, sizeof(chain_file), "%s/other.pem", dir);
	return 0;
}

static int end(void **state)
{
	unlink(cert);
	unlink(key);
	unlink(chain_file);
	return rmdir(dir);
}

// --- tests ---------------------------------------------------------------------------------------

static void test_good(void **state)
{
	write_good();
	assert_int_equal(reviewed().nb, 0);
}

static void test_missing(void **state)
{
	struct heard h;

	unlink(cert);
	unlink(key);
	h = reviewed();
	assert_int_equal(h.nb, 2);
	assert_int_equal(h.fatal, 2);
	write_good();
	unlink(key);
	ASSERT_ONE(true, "tls.key: %s: No such file or directory", key);
	assert_int_equal(mkdir(key, 0700), 0);
	ASSERT_ONE(true, "tls.key: %s: is a directory: name a PEM file", key);
	assert_int_equal(rmdir(key), 0);
	put_text(key, "");
	ASSERT_ONE(true, "tls.key: %s: is empty: name a PEM file", key);
	put_text(key, "hello\n");
	ASSERT_ONE(true,
		"tls.key: %s: is not a PEM file: -----BEGIN ...----- and its data are missing or "
		"damaged",
		key);
	unlink(key);
	assert_int_equal(mkfifo(key, 0600), 0); // must not wait for a writer
	h = (struct heard){0};
	stream_review_tls(&(struct stream_tls){.certificate = cert, .key = key},
		&(struct stream_review){.now = NOW, .say = hear, .ctx = &h});
	assert_int_equal(h.fatal, 1);
	assert_non_null(strstr(h.text, "is not a regular file: name a PEM file"));
	unlink(key);
}

static void test_der(void **state)
{
	EVP_PKEY *k = new_key();
	X509 *x = make(k, -DAY, 90 * DAY);
	FILE *f;

	write_pair(k, -DAY, 90 * DAY);
	f = fresh(cert);
	assert_int_equal(i2d_X509_fp(f, x), 1);
	fclose(f);
	ASSERT_ONE(true,
		"tls.certificate: %s: is DER, not PEM: openssl x509 -inform der -in %s -out "
		"FILE.pem",
		cert, cert);
	write_pair(k, -DAY, 90 * DAY);
	f = fresh(key);
	assert_int_equal(i2d_PrivateKey_fp(f, k), 1);
	fclose(f);
	ASSERT_ONE(true,
		"tls.key: %s: is DER, not PEM: openssl pkey -inform der -in %s -out FILE.pem", key,
		key);
	write_pair(k, -DAY, 90 * DAY);
	X509_free(x);
	EVP_PKEY_free(k);
}

static void test_pkcs12(void **state)
{
	EVP_PKEY *k = new_key();
	X509 *x = make(k, -DAY, 90 * DAY);
	PKCS12 *p = PKCS12_create("pw", "turn", k, x, NULL, 0, 0, 0, 0, 0);
	FILE *f;

	write_pair(k, -DAY, 90 * DAY);
	f = fresh(key);
	assert_int_equal(i2d_PKCS12_fp(f, p), 1);
	fclose(f);
	ASSERT_ONE(true,
		"tls.key: %s: is PKCS #12, not PEM: openssl pkcs12 -in %s -nocerts -nodes -out "
		"FILE.pem",
		key, key);
	PKCS12_free(p);
	X509_free(x);
	EVP_PKEY_free(k);
}

// An encrypted key, in both formats in which openssl writes one.
static void test_encrypted(void **state)
{
	EVP_PKEY *k = new_key();

	for (int old = 0; old < 2; old++) {
		BIO *file;

		write_pair(k, -DAY, 90 * DAY);
		fclose(fresh(key));
		file = BIO_new_file(key, "w");
		assert_int_equal(old
				? PEM_write_bio_PrivateKey_traditional(file, k, EVP_aes_128_cbc(),
					  (const unsigned char *)"geheim", 6, NULL, NULL)
				: PEM_write_bio_PKCS8PrivateKey(
					  file, k, EVP_aes_128_cbc(), "geheim", 6, NULL, NULL),
			1);
		BIO_free(file);
		ASSERT_ONE(true,
			"tls.key: %s: has a pass phrase, which cannot be typed here: openssl "
			"pkey -in %s -out FILE.pem, and chmod 600",
			key, key);
	}
	EVP_PKEY_free(k);
}

static void test_swapped(void **state)
{
	const struct stream_tls tls = {.certificate = key, .key = cert};
	char want[512];
	struct heard h;

	write_good();
	h = review(&tls);
	assert_int_equal(h.fatal, 2);
	snprintf(want, sizeof(want),
		"tls.certificate: %s: has no usable certificate, but: PRIVATE KEY\n"
		"tls.key: %s: has no usable private key, but: CERTIFICATE\n",
		key, cert);
	assert_string_equal(h.text, want);
}

static void test_mismatch(void **state)
{
	EVP_PKEY *k = new_key();
	FILE *f;

	write_good();
	f = fresh(key);
	assert_int_equal(PEM_write_PrivateKey(f, k, NULL, NULL, 0, NULL, NULL), 1);
	fclose(f);
	ASSERT_ONE(true, "tls.key: %s: is not the key of %s: name two files that belong together",
		key, cert);
	EVP_PKEY_free(k);
}

static void test_weak(void **state)
{
	EVP_PKEY *k = EVP_RSA_gen(1024);
	const struct stream_tls lax = {
		.certificate = cert, .key = key, .ciphers = "DEFAULT:@SECLEVEL=0"};
	char want[512];

	write_pair(k, -DAY, 90 * DAY);
	snprintf(want, sizeof(want),
		"tls.certificate: %s: its key of 1024 bits is too weak: make one of P-256, or of "
		"RSA with 2048 bits or more, and have it certified",
		cert);
	assert_one(reviewed(), true, want);
	// an operator may insist
	assert_one(review(&lax), false, want);
	EVP_PKEY_free(k);
	k = EVP_RSA_gen(2048);
	write_pair(k, -DAY, 90 * DAY);
	assert_int_equal(reviewed().nb, 0);
	EVP_PKEY_free(k);
}

static void test_dates(void **state)
{
	EVP_PKEY *k = new_key();

	write_pair(k, -90 * DAY, -3600);
	ASSERT_ONE(false,
		"tls.certificate: %s: expired on 2030-03-17 16:46 UTC: clients refuse it, "
		"renew it",
		cert);
	write_pair(k, 3600, 90 * DAY);
	ASSERT_ONE(false,
		"tls.certificate: %s: is not valid before 2030-03-17 18:46 UTC: clients refuse it "
		"until then (or is the clock wrong?)",
		cert);
	EVP_PKEY_free(k);
}

// Warns from the last third of a certificate's validity on, for long ones at most 30 days before
// its end.
static void test_soon(void **state)
{
	static const struct {
		long days, left; // validity in days, time left at the warning in hours
		const char *told;
	} rows[] = {{6, 48, "2030-03-19 16:46 UTC, in less than 48 hours"},
		{20, 160, "2030-03-24 08:46 UTC, in less than 7 days"},
		{45, 360, "2030-04-01 16:46 UTC, in less than 15 days"},
		{90, 720, "2030-04-16 16:46 UTC, in less than 30 days"},
		{398, 720, "2030-04-16 16:46 UTC, in less than 30 days"}};
	EVP_PKEY *k = new_key();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const long until = rows[i].left * 3600, begin_s = until - rows[i].days * DAY;

		write_pair(k, begin_s + 3600, until + 3600);
		assert_int_equal(reviewed().nb, 0);
		write_pair(k, begin_s - 3600, until - 3600);
		ASSERT_ONE(
			false, "tls.certificate: %s: expires on %s: renew it", cert, rows[i].told);
	}
	EVP_PKEY_free(k);
}

// Intermediate certificates are valid for years: the warning comes at the time at which it would
// come for the certificate itself.
static void test_soon_behind(void **state)
{
	EVP_PKEY *k = new_key();
	X509 *x = make(k, -900 * DAY, 31 * DAY);
	char want[512];
	FILE *f;

	for (unsigned int i = 0; i < 2; i++) {
		write_pair(k, -DAY, 89 * DAY);
		f = fopen(cert, "a");
		assert_int_equal(PEM_write_X509(f, x), 1);
		fclose(f);
		if (i == 0)
			assert_int_equal(reviewed().nb, 0);
		X509_free(x);
		x = make(k, -900 * DAY, 30 * DAY - 3600);
	}
	X509_free(x);
	snprintf(want, sizeof(want),
		"tls.certificate: %s: expires on 2030-04-16 16:46 UTC, in less than 30 days: renew "
		"it",
		cert);
	assert_one(reviewed(), false, want);
	EVP_PKEY_free(k);
}

static void test_mode(void **state)
{
	write_good();
	assert_int_equal(chmod(key, 0644), 0);
	ASSERT_ONE(false, "tls.key: %s: everyone on this host can read it: chmod o-r", key);
	assert_int_equal(chmod(key, 0640), 0);
	assert_int_equal(reviewed().nb, 0);
	assert_int_equal(chmod(cert, 0644), 0);
	assert_int_equal(reviewed().nb, 0);
}

static void test_chain(void **state)
{
	const struct stream_tls tls = {.certificate = cert, .key = key, .chain = chain_file};
	EVP_PKEY *k = new_key(), *strange = new_key();
	X509_NAME *nobody = X509_NAME_new();
	X509 *x = make(strange, -DAY, 90 * DAY);
	char want[512];
	FILE *f;

	write_pair(k, -DAY, 90 * DAY);
	assert_int_equal(X509_set_subject_name(x, nobody), 1);
	X509_NAME_free(nobody);
	assert_true(X509_sign(x, strange, EVP_sha256()) > 0);
	f = fresh(chain_file);
	assert_int_equal(PEM_write_X509(f, x), 1);
	fclose(f);
	snprintf(want, sizeof(want),
		"tls.chain: %s: its first certificate is not that of the issuer of "
		"tls.certificate: clients may not find the way to the root",
		chain_file);
	assert_one(review(&tls), false, want);
	put_text(chain_file, "nothing\n");
	snprintf(want, sizeof(want),
		"tls.chain: %s: is not a PEM file: -----BEGIN ...----- and its data are missing or "
		"damaged",
		chain_file);
	assert_one(review(&tls), true, want);
	X509_free(x);
	EVP_PKEY_free(k);
	EVP_PKEY_free(strange);
}

static void test_ciphers(void **state)
{
	struct stream_tls tls = {.certificate = cert, .key = key, .ciphers = "NONSENSE"};

	write_good();
	assert_one(review(&tls), true,
		"tls.ciphers: NONSENSE: no cipher match: write it as for `openssl ciphers`, like "
		"ECDHE+AESGCM");
	tls.ciphers = "ECDHE+AESGCM";
	assert_int_equal(review(&tls).nb, 0);
}

// Faults that only libssl finds are reported in its words, with the right key.
static void test_rest(void **state)
{
	struct stream_tls tls = {
		.certificate = cert, .key = key, .ciphers = "AES128-SHA", .for_dtls = true};
	struct heard h;

	write_good();
	h = review(&tls);
	assert_int_equal(h.nb, 1);
	assert_int_equal(h.fatal, 1);
	assert_int_equal(strncmp(h.text, "tls.ciphers: ", 13), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_der),
		cmocka_unit_test(test_pkcs12),
		cmocka_unit_test(test_encrypted),
		cmocka_unit_test(test_swapped),
		cmocka_unit_test(test_mismatch),
		cmocka_unit_test(test_weak),
		cmocka_unit_test(test_dates),
		cmocka_unit_test(test_soon),
		cmocka_unit_test(test_soon_behind),
		cmocka_unit_test(test_mode),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_ciphers),
		cmocka_unit_test(test_rest),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
