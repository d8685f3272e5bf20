// SPDX-License-Identifier: BSD-3-Clause
// The OpaqueString profile of PRECIS (RFC 8265 section 4.2): the canonical form of a user name, a
// password or a realm (RFC 8489 sections 9.2.2, 14.3, 14.4 and 14.9). PURE, with libunistring; it
// allocates its results.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct conf_ctx;
struct conf_key;
struct conf_node;

enum opaque_fault_kind {
	OPAQUE_FINE,
	OPAQUE_EMPTY,
	OPAQUE_UTF8, // not UTF-8
	OPAQUE_CHARACTER, // a character that is never valid (RFC 8264 section 4.3.2)
	// A character that is valid only next to certain others (RFC 5892 appendix A).
	OPAQUE_CONTEXT,
	OPAQUE_MEMORY,
};

struct opaque_fault {
	enum opaque_fault_kind kind;
	uint32_t character; // for OPAQUE_CHARACTER and OPAQUE_CONTEXT
	size_t pos; // position in the original text, from 1; 0 if composition made it
};

// Returns the prepared text: every kind of space becomes U+0020, and characters are composed (NFC).
// Letter case, width and compatibility characters are kept. NULL on failure, with the reason in f.
// The caller frees the result, and wipes it if it is a secret.
char *opaque_string(const char *text, struct opaque_fault *f);

// Replaces the text of a node by its prepared form. 0, or -EINVAL after reporting the reason.
int conf_opaque_read(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n);
