// SPDX-License-Identifier: BSD-3-Clause
// Parses addresses, prefixes and endpoints, and compares an address with text.
#include "addr_text.h"
#include "test.h"

struct addr addr_text(const char *text)
{
	struct addr a;

	if (addr_parse(text, &a) != 0)
		fail_msg("bad address %s", text);
	return a;
}

struct prefix addr_text_prefix(const char *text)
{
	struct prefix p;

	if (addr_prefix_parse(text, &p) != 0)
		fail_msg("bad prefix %s", text);
	return p;
}

struct endpoint addr_text_endpoint(const char *text, uint16_t port)
{
	return (struct endpoint){addr_text(text), port};
}

void assert_addr(const struct addr *a, const char *text)
{
	char buf[ADDR_TEXT_LEN];

	assert_string_equal(addr_format(a, buf, sizeof(buf)), text);
}
