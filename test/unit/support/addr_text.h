// SPDX-License-Identifier: BSD-3-Clause
// Addresses made from text. Invalid text is a mistake in the test, and fails it.
#pragma once

#include "addr.h"

// Each parses the text, and fails the test if it is invalid. port: in host byte order.
struct addr addr_text(const char *text);
struct prefix addr_text_prefix(const char *text);
struct endpoint addr_text_endpoint(const char *text, uint16_t port);
// Asserts that a, written as text, is `text`.
void assert_addr(const struct addr *a, const char *text);
