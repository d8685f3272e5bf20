// SPDX-License-Identifier: BSD-3-Clause
// Addresses as text, where a wrong one is a mistake of the test.
#pragma once

#include "addr.h"

// What the text says. Fails the test when it says nothing.
struct addr addr_text(const char *text);
struct prefix addr_text_prefix(const char *text);
struct endpoint addr_text_endpoint(const char *text, uint16_t port);
// Asserts what a is as text.
void assert_addr(const struct addr *a, const char *text);
