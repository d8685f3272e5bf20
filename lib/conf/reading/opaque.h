// SPDX-License-Identifier: BSD-3-Clause
// The OpaqueString profile of PRECIS (RFC 8265 section 4.2): the one spelling of a user name, a
// password or a realm (RFC 8489 sections 9.2.2, 14.3, 14.4 and 14.9). PURE, by libunistring; it
// allocates what it returns.
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
	OPAQUE_CHARACTER, // one that is in no such text (RFC 8264 section 4.3.2)
	OPAQUE_CONTEXT, // one that may stand beside certain others only (RFC 5892 appendix A)
	OPAQUE_MEMORY,
};

struct opaque_fault {
	enum opaque_fault_kind kind;
	uint32_t character; // of OPAQUE_CHARACTER and OPAQUE_CONTEXT
	size_t pos; // its place in the text as it was, from 1; 0: it has come of others
};

// Returns what becomes of a text: spaces of any kind are U+0020, and characters are composed
// (NFC). Letter case, width and compatibility characters stay. NULL: f says why not. The result is
// to be freed, and wiped where it is a secret.
char *opaque_string(const char *text, struct opaque_fault *f);

// Puts that in the place of the text of a node. 0, or -EINVAL with the reason told.
int conf_opaque_read(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n);
