// SPDX-License-Identifier: BSD-3-Clause
// Reports, before the start, faults of the TLS files and how to fix them. libssl's own messages are
// obscure, and it accepts some bad files silently.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "stream_expiry.h"
#include "stream_review.h"

#define FILE_MAX 1000000 // bytes
#define BITS_WEAK 112 // bits of security, those of RSA with 2048 bits

struct review {
	const struct stream_tls *tls;
	const struct stream_review *sink;
	bool usable; // libssl accepts all files
	bool fatal; // a reported fault keeps TLS from starting
};

__attribute__((format(printf, 4, 5))) static void tell_reason(
	struct review *r, enum stream_tls_key key, bool fatal, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->fatal = r->fatal || fatal;
	r->sink->say(r->sink->ctx, r->tls, key, fatal, text);
}

// --- files ---------------------------------------------------------------------------------------

// Opens a file for reading, or reports why it cannot and returns NULL.
static BIO *open_file(struct review *r, enum stream_tls_key key, const char *path)
{
	struct stat st;
	BIO *file;

	if (stat(path, &st) != 0) {
		tell_reason(r, key, true, "%s: %s", path, strerror(errno));
		return NULL;
	}
	if (!S_ISREG(st.st_mode) || st.st_size == 0 || st.st_size > FILE_MAX) {
		tell_reason(r, key, true, "%s: %s: name a PEM file", path,
			S_ISDIR(st.st_mode)            ? "is a directory"
				: !S_ISREG(st.st_mode) ? "is not a regular file"
				: st.st_size == 0      ? "is empty"
						       : "is larger than 1 MB");
		return NULL;
	}
	file = BIO_new_file(path, "r");
	if (file == NULL)
		tell_reason(r, key, true, "%s: cannot be read: %s", path, strerror(errno));
	return file;
}

static bool is_text(BIO *file)
{
	char begin[64] = "";

	BIO_seek(file, 0);
	if (BIO_read(file, begin, sizeof(begin) - 1) <= 0)
		return false;
	BIO_seek(file, 0);
	return begin[0] != 0x30; // DER: a sequence
}

static bool is_pkcs12(BIO *file)
{
	PKCS12 *p;

	BIO_seek(file, 0);
	p = d2i_PKCS12_bio(file, NULL);
	PKCS12_free(p);
	return p != NULL;
}

// Reports the contents of a file that has nothing of the expected kind.
static void tell_format(struct review *r, enum stream_tls_key key, const char *path, BIO *file)
{
	const bool private = key == STREAM_TLS_KEY;
	char *name = NULL, *header = NULL;
	unsigned char *data = NULL;
	long len;

	if (!is_text(file)) {
		if (is_pkcs12(file))
			tell_reason(r, key, true,
				"%s: is PKCS #12, not PEM: openssl pkcs12 -in %s %s -out FILE.pem",
				path, path, private ? "-nocerts -nodes" : "-nokeys");
		else
			tell_reason(r, key, true,
				"%s: is DER, not PEM: openssl %s -inform der -in %s -out "
				"FILE.pem",
				path, private ? "pkey" : "x509", path);
		return;
	}
	BIO_seek(file, 0);
	if (PEM_read_bio(file, &name, &header, &data, &len) == 1)
		tell_reason(r, key, true, "%s: has no usable %s, but: %s", path,
			private ? "private key" : "certificate", name);
	else
		tell_reason(r, key, true,
			"%s: is not a PEM file: -----BEGIN ...----- and its data are missing or "
			"damaged",
			path);
	OPENSSL_free(name);
	OPENSSL_free(header);
	OPENSSL_free(data);
}

// --- certificates --------------------------------------------------------------------------------

// first: the server's certificate, if x follows it in the chain; else NULL.
static void check_dates(struct review *r, enum stream_tls_key key, const char *path, const X509 *x,
	const X509 *first)
{
	struct stream_validity v, of_first;
	char text[160];
	const bool behind = first != NULL && stream_expiry_read(first, NULL, &of_first);

	if (stream_expiry_read(x, behind ? &of_first : NULL, &v) &&
		stream_expiry_text(&v, r->sink->now, text, sizeof(text)))
		tell_reason(r, key, false, "%s: %s", path, text);
}

// Refuses to ask for a key's pass phrase: there is no terminal to type it on.
static int no_phrase(char *buf, int size, int writing, void *ctx)
{
	*(int *)ctx = 1;
	return -1;
}

// Checks all certificates of a file. Returns the first, which the caller frees, or NULL after
// reporting why.
static X509 *check_certificates(
	struct review *r, enum stream_tls_key key, const char *path, const X509 *below)
{
	BIO *file = open_file(r, key, path);
	X509 *first = NULL, *x;

	if (file == NULL)
		return NULL;
	while ((x = PEM_read_bio_X509(file, NULL, NULL, NULL)) != NULL) {
		const X509 *issued = first == NULL ? below : NULL;

		check_dates(r, key, path, x, below != NULL ? below : first);
		if (issued != NULL && X509_check_issued(x, (X509 *)issued) != X509_V_OK)
			tell_reason(r, key, false,
				"%s: its first certificate is not that of the issuer of "
				"tls.certificate: clients may not find the way to the root",
				path);
		if (first == NULL)
			first = x;
		else
			X509_free(x);
	}
	if (first == NULL)
		tell_format(r, key, path, file);
	BIO_free(file);
	ERR_clear_error();
	return first;
}

// --- the key -------------------------------------------------------------------------------------

static void check_mode(struct review *r, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && (st.st_mode & S_IROTH) != 0)
		tell_reason(r, STREAM_TLS_KEY, false,
			"%s: everyone on this host can read it: chmod o-r", path);
}

static EVP_PKEY *check_key(struct review *r, const char *path)
{
	BIO *file = open_file(r, STREAM_TLS_KEY, path);
	int asked = 0;
	EVP_PKEY *key;

	if (file == NULL)
		return NULL;
	key = PEM_read_bio_PrivateKey(file, NULL, no_phrase, &asked);
	if (key == NULL && asked != 0)
		tell_reason(r, STREAM_TLS_KEY, true,
			"%s: has a pass phrase, which cannot be typed here: openssl pkey -in %s "
			"-out FILE.pem, and chmod 600",
			path, path);
	else if (key == NULL)
		tell_format(r, STREAM_TLS_KEY, path, file);
	BIO_free(file);
	check_mode(r, path);
	ERR_clear_error();
	return key;
}

static void check_pair(struct review *r, X509 *x, EVP_PKEY *key)
{
	EVP_PKEY *public = X509_get0_pubkey(x);

	if (public != NULL && EVP_PKEY_get_security_bits(public) < BITS_WEAK)
		// libssl may accept it, depending on its security level
		tell_reason(r, STREAM_TLS_CERTIFICATE, !r->usable,
			"%s: its key of %d bits is too weak: make one of P-256, or of RSA with "
			"2048 bits or more, and have it certified",
			r->tls->certificate, EVP_PKEY_get_bits(public));
	if (key != NULL && X509_check_private_key(x, key) != 1)
		tell_reason(r, STREAM_TLS_KEY, true,
			"%s: is not the key of %s: name two files that belong together",
			r->tls->key, r->tls->certificate);
	ERR_clear_error();
}

// --- everything ----------------------------------------------------------------------------------

static void check_ciphers(struct review *r)
{
	SSL_CTX *c = SSL_CTX_new(TLS_server_method());

	if (c != NULL && SSL_CTX_set_cipher_list(c, r->tls->ciphers) != 1)
		tell_reason(r, STREAM_TLS_CIPHERS, true,
			"%s: no cipher match: write it as for `openssl ciphers`, like ECDHE+AESGCM",
			r->tls->ciphers);
	SSL_CTX_free(c);
	ERR_clear_error();
}

// Reports a fault that only libssl has found: "tls.KEY: reason".
static void tell_rest(struct review *r, const char *error)
{
	for (unsigned int i = 0; i <= STREAM_TLS_CIPHERS; i++) {
		char name[STREAM_REVIEW_NAME_LEN];
		const size_t len = strlen(stream_review_key_name(r->tls, i, name));

		if (strncmp(error, name, len) == 0 && strncmp(error + len, ": ", 2) == 0) {
			tell_reason(r, i, true, "%s", error + len + 2);
			return;
		}
	}
	tell_reason(r, STREAM_TLS_CERTIFICATE, true, "%s", error);
}

// Ciphers and chain apply to all listeners, and are in section tls only.
const char *stream_review_key_name(
	const struct stream_tls *tls, enum stream_tls_key key, char buf[STREAM_REVIEW_NAME_LEN])
{
	static const char *const names[] = {[STREAM_TLS_CERTIFICATE] = "certificate",
		[STREAM_TLS_KEY] = "key",
		[STREAM_TLS_CHAIN] = "chain",
		[STREAM_TLS_CIPHERS] = "ciphers"};
	const bool per_listener = key == STREAM_TLS_CERTIFICATE || key == STREAM_TLS_KEY;

	snprintf(buf, STREAM_REVIEW_NAME_LEN, "%s.%s",
		per_listener && tls->section[0] != '\0' ? tls->section : "tls", names[key]);
	return buf;
}

void stream_review_tls(const struct stream_tls *tls, const struct stream_review *sink)
{
	struct review r = {.tls = tls, .sink = sink};
	X509 *x = check_certificates(&r, STREAM_TLS_CERTIFICATE, tls->certificate, NULL);
	EVP_PKEY *key = check_key(&r, tls->key);
	char error[512];

	if (tls->chain != NULL)
		X509_free(check_certificates(&r, STREAM_TLS_CHAIN, tls->chain, x));
	if (tls->ciphers != NULL)
		check_ciphers(&r);
	// libssl reads the files itself, so check first that they are files
	r.usable = !r.fatal && stream_tls_check(tls, error, sizeof(error)) == 0;
	if (x != NULL)
		check_pair(&r, x, key);
	if (!r.usable && !r.fatal)
		tell_rest(&r, error);
	X509_free(x);
	EVP_PKEY_free(key);
}

static bool same_files(const struct stream_tls *a, const struct stream_tls *b)
{
	return strcmp(a->certificate, b->certificate) == 0 && strcmp(a->key, b->key) == 0;
}

// The caller's sink, and if a reason was about the ciphers.
struct hearing {
	const struct stream_review *sink;
	bool ciphers;
};

static void forward_reason(void *ctx, const struct stream_tls *tls, enum stream_tls_key key,
	bool fatal, const char *reason)
{
	struct hearing *h = ctx;

	h->ciphers |= key == STREAM_TLS_CIPHERS;
	h->sink->say(h->sink->ctx, tls, key, fatal, reason);
}

void stream_review_all(const struct stream_identities *all, const struct stream_review *sink)
{
	struct hearing h = {.sink = sink};
	const struct stream_review filter = {.now = sink->now, .say = forward_reason, .ctx = &h};

	for (unsigned int i = 0; i < all->nb; i++) {
		struct stream_tls tls = all->list[i];
		bool told = false;

		for (unsigned int k = 0; k < i; k++)
			told = told || same_files(&all->list[k], &tls);
		for (unsigned int k = i + 1; k < all->nb; k++)
			tls.for_dtls |= same_files(&all->list[k], &tls) && all->list[k].for_dtls;
		if (h.ciphers)
			tls.ciphers = NULL; // all identities have the same ciphers
		if (!told)
			stream_review_tls(&tls, &filter);
	}
}
