// SPDX-License-Identifier: BSD-3-Clause
// The identities of the listeners, read from their files and ready for use: contexts of libssl, and
// which listener has which. Private to lib/stream.
//
// Each context has keys of tickets and a name of sessions of its own. So no session that began with
// one identity is resumed with another, which its client has never checked.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct identities;
struct stream_certificate;
struct ssl_ctx_st; // libssl's SSL_CTX
struct stream_dtls;
struct stream_identities;

// Reads the files; from may be NULL, and all of it is copied. dtls is what handshakes of DTLS are
// limited by. NULL with a reason in error (len bytes). Any thread.
struct identities *identities_load(const struct stream_identities *conf,
	const struct stream_dtls *dtls, char *error, size_t len);
// Handshakes that were begun go on. NULL is fine.
void identities_free(struct identities *i);
// What it was loaded from, for loading it again.
const struct stream_identities *identities_from(const struct identities *i);
// The context of a listener, by the workers' number for it; NULL: it has none.
struct ssl_ctx_st *identities_tls(const struct identities *i, uint8_t listener);
struct ssl_ctx_st *identities_dtls(const struct identities *i, uint8_t listener);
// Tells of a certificate by 0 and up; one that several listeners have is told once. False: there
// are no more.
bool identities_certificate(
	const struct identities *i, unsigned int index, struct stream_certificate *out);
