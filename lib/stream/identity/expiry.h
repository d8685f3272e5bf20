// SPDX-License-Identifier: BSD-3-Clause
// From when until when a certificate is valid, and when it has to be renewed.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct x509_st; // libcrypto's X509

// Seconds of Unix time.
struct stream_validity {
	time_t not_before, until; // clients accept it
	time_t renew; // it should have been renewed by then
};

enum stream_expiry {
	STREAM_VALID,
	STREAM_EXPIRES_SOON,
	STREAM_EXPIRED,
	STREAM_NOT_VALID_YET,
};

#define STREAM_EXPIRES_S (30 * 86400)

// When a certificate that is valid until then should have been renewed: when a third of what first,
// the one of the server, is valid for is left. ACME clients renew just then, of 90 days, of 6 and
// of all between. Never earlier than STREAM_EXPIRES_S before the end.
time_t stream_expiry_renew(const struct stream_validity *first, time_t until);
enum stream_expiry stream_expiry(const struct stream_validity *v, time_t now);
// Writes what is to be told, "expires on 2030-04-16 16:46 UTC, ...: renew it", to text (len bytes).
// False: nothing is.
bool stream_expiry_text(const struct stream_validity *v, time_t now, char *text, size_t len);
// Reads the dates of a certificate; of one that stands behind it in its chain if first is not NULL.
// False: it has none that can be read.
bool stream_expiry_read(
	const struct x509_st *x, const struct stream_validity *first, struct stream_validity *out);
