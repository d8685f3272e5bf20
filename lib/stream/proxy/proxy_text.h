// SPDX-License-Identifier: BSD-3-Clause
// The PROXY protocol's header of version 1, which is a line of text (2.1 of HAProxy's
// doc/proxy-protocol.txt). PURE: nothing here allocates, logs, or reads a clock.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proxy/proxy_header.h"

#define PROXY_TEXT_FIRST 'P' // its first byte, and that of no header of version 2

// The same as proxy_header_read for such a line, of PROXY_TEXT_LONGEST bytes at most. out->len is
// never beyond its end: so many bytes the line has at the least.
enum proxy_header_answer proxy_text_read(const uint8_t *p, size_t n, struct proxy_header *out);
