// SPDX-License-Identifier: BSD-3-Clause
// The validity period of a certificate, and its renewal time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct x509_st; // libcrypto's X509

// Seconds of Unix time.
struct stream_validity {
	time_t not_before, until; // clients accept it in this period
	time_t renew; // it should be renewed by then
};

#define STREAM_EXPIRES_S (30 * 86400)

// Returns the time by which a certificate that is valid until `until` should be renewed: when a
// third of the validity period of first, the server's certificate, is left. ACME clients renew at
// that time, for periods of 6 to 90 days. Never earlier than STREAM_EXPIRES_S before the end.
time_t stream_expiry_renew(const struct stream_validity *first, time_t until);
// Writes a warning, "expires on 2030-04-16 16:46 UTC, ...: renew it", to text (len bytes). False if
// no warning is due.
bool stream_expiry_text(const struct stream_validity *v, time_t now, char *text, size_t len);
// Reads the dates of a certificate. If first is not NULL, x is a later certificate of the chain
// that begins with first. False if the dates cannot be read.
bool stream_expiry_read(
	const struct x509_st *x, const struct stream_validity *first, struct stream_validity *out);
