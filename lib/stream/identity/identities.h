// SPDX-License-Identifier: BSD-3-Clause
// The identities of the listeners, read from their files and ready for use: contexts of libssl, and
// the listeners that use them. Private to lib/stream.
//
// Each context has its own ticket keys and session ID context. So a session that began with one
// identity is not resumed with another, which its client has never verified.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct identities;
struct stream_certificate;
struct ssl_ctx_st; // libssl's SSL_CTX
struct stream_dtls;
struct stream_identities;

// Reads the files. conf may be NULL, and is copied. dtls has the limits of DTLS handshakes. Returns
// NULL with a reason in error (len bytes) on failure. Any thread.
struct identities *identities_load(const struct stream_identities *conf,
	const struct stream_dtls *dtls, char *error, size_t len);
// Pending handshakes continue. NULL is fine.
void identities_free(struct identities *i);
// Returns the configuration of the identities, to load them again.
const struct stream_identities *identities_from(const struct identities *i);
// Return the context of a listener, by the workers' number for it, or NULL if it has no context.
struct ssl_ctx_st *identities_tls(const struct identities *i, uint8_t listener);
struct ssl_ctx_st *identities_dtls(const struct identities *i, uint8_t listener);
// Describes the certificate with this index, from 0 up; a certificate that several listeners share
// counts once. False if there are no more.
bool identities_certificate(
	const struct identities *i, unsigned int index, struct stream_certificate *out);
