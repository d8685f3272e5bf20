// SPDX-License-Identifier: BSD-3-Clause
// Sources and sinks of bytes for libssl, which the caller implements.
#pragma once

#include <openssl/bio.h>

// Makes a BIO method that lives as long as the process. NULL without memory.
BIO_METHOD *dtls_bio_method(const char *name, int (*in)(BIO *b, char *buf, int len),
	int (*out)(BIO *b, const char *buf, int len), long (*ctrl)(BIO *b, int, long, void *));
