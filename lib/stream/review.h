// SPDX-License-Identifier: BSD-3-Clause
// What is wrong with the files of TLS, before they are needed.
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
	// fatal: TLS does not start. The reason begins with the file's path.
	void (*say)(void *ctx, enum stream_tls_key key, bool fatal, const char *reason);
	void *ctx;
};

// Tells all that is wrong: with what stream_tls_check refuses something fatal, and what works but
// clients or strangers will find (dates, modes). tls has certificate and key.
void stream_tls_review(const struct stream_tls *tls, const struct stream_review *to);
// "tls.certificate" and so on.
const char *stream_tls_key_name(enum stream_tls_key key);
