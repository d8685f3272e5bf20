// SPDX-License-Identifier: BSD-3-Clause
// Parses the PROXY protocol header of version 1, a line of text (2.1 of HAProxy's
// doc/proxy-protocol.txt). PURE: nothing here allocates, logs, or reads a clock.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proxy/proxy_header.h"

#define PROXY_TEXT_FIRST 'P' // its first byte, which differs from that of version 2

// Like proxy_header_read, for such a line of at most PROXY_TEXT_LONGEST bytes. out->len is the
// least length of the line, so it is never beyond the end.
enum proxy_header_answer proxy_text_read(const uint8_t *p, size_t n, struct proxy_header *out);
