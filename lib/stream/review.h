// SPDX-License-Identifier: BSD-3-Clause
// Tells what is wrong with the TLS files, before they are needed.
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
	// Gets each reason, which begins with the file's path; tls is the one whose it is. fatal:
	// TLS does not start.
	void (*say)(void *ctx, const struct stream_tls *tls, enum stream_tls_key key, bool fatal,
		const char *reason);
	void *ctx;
};

#define STREAM_REVIEW_NAME_LEN 40 // bytes of the name of a key, with its NUL

// Tells all that is wrong with the files in tls, which must have certificate and key. Reasons for
// which stream_tls_check fails are fatal. Reasons that clients or strangers will find (dates,
// modes) are not.
void stream_review_tls(const struct stream_tls *tls, const struct stream_review *sink);
// The same for all identities, once for files that several have.
void stream_review_all(const struct stream_identities *all, const struct stream_review *sink);
// Writes the name of a key of tls in the configuration to buf, which it returns: "tls.certificate",
// "listeners[1].tls.key".
const char *stream_review_key_name(
	const struct stream_tls *tls, enum stream_tls_key key, char buf[STREAM_REVIEW_NAME_LEN]);
