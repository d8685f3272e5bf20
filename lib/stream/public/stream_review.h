// SPDX-License-Identifier: BSD-3-Clause
// Checks the TLS files before they are needed.
#pragma once

#include <time.h>

#include "stream.h"

enum stream_tls_key {
	STREAM_TLS_CERTIFICATE,
	STREAM_TLS_KEY,
	STREAM_TLS_CHAIN,
	STREAM_TLS_CIPHERS,
};

struct stream_review {
	time_t now;
	// Receives each reason, which begins with the file's path; tls is the identity that it
	// concerns. fatal: TLS does not start.
	void (*say)(void *ctx, const struct stream_tls *tls, enum stream_tls_key key, bool fatal,
		const char *reason);
	void *ctx;
};

#define STREAM_REVIEW_NAME_LEN 40 // bytes of the name of a key, with its NUL

// Reports every fault of the files in tls, which must have certificate and key. Faults that make
// stream_tls_check fail are fatal. Faults of dates and file modes are not.
void stream_review_tls(const struct stream_tls *tls, const struct stream_review *sink);
// Checks all identities; files that several of them share are checked once.
void stream_review_all(const struct stream_identities *all, const struct stream_review *sink);
// Writes the name of a key of tls in the configuration to buf, which it returns: "tls.certificate",
// "listeners[1].tls.key".
const char *stream_review_key_name(
	const struct stream_tls *tls, enum stream_tls_key key, char buf[STREAM_REVIEW_NAME_LEN]);
