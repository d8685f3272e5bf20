// SPDX-License-Identifier: BSD-3-Clause
// The section nat-discovery: its values, each error with its position, and a reload.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "addr_text.h"
#include "conf_section.h"
#include "test.h"

#define FIRST "  - {transport: udp, address: 10.0.0.1, port: 3478}\n"
#define UDP(addr, port) "  - {transport: udp, address: " addr ", port: " port "}\n"
#define ALL4                    \
	UDP("10.0.0.1", "3478") \
	UDP("10.0.0.1", "3479") UDP("10.1.0.1", "3478") UDP("10.1.0.1", "3479")

// conf_good with other listeners and a section.
static char *text_of(const char *listeners, const char *section)
{
	char *all = conf_file_edit(FIRST, listeners), *edited;
	char peers[512];

	snprintf(peers, sizeof(peers), "nat-discovery: {%s}\npeers:\n", section);
	edited = conf_text_edit(all, "peers:\n", peers);
	free(all);
	return edited;
}

static void values_are_read(void **state)
{
	char *text = text_of(ALL4, "addresses: [10.1.0.1, 10.0.0.1]");
	char error[CONF_ERROR_LEN] = "";
	struct conf *c = conf_file_load(text, strlen(text), error);
	const struct addr first = addr_text("10.1.0.1");

	assert_string_equal(error, "");
	assert_non_null(c);
	assert_int_equal(c->turn.discovery.nb, 2);
	assert_true(addr_eq(&c->turn.discovery.addresses[0], &first));
	assert_int_equal(c->turn.discovery.ports[0], 3478);
	assert_int_equal(c->turn.discovery.ports[1], 3479);
	conf_free(c);
	free(text);
	c = conf_file_changed("peers:\n", "peers:\n");
	assert_int_equal(c->turn.discovery.nb, 0);
	conf_free(c);
}

static void mistakes(void **state)
{
	static const struct {
		const char *listeners, *section, *want;
	} t[] = {
		{ALL4, "addresses: [10.0.0.1]",
			"nat-discovery.addresses[0]: 1 of IPv4: name two addresses of a "
			"family, or none"},
		{ALL4, "addresses: [10.0.0.1, 'fd00::1']", "nat-discovery.addresses[0]: 1 of IPv4"},
		{ALL4, "addresses: [10.0.0.1, 10.0.0.1]",
			"nat-discovery.addresses[1]: 10.0.0.1 is given twice: name two addresses"},
		{ALL4, "addresses: [10.0.0.1, 10.1.0.2]",
			"nat-discovery.addresses[1]: 10.1.0.2 has no UDP listener on port 3478: "
			"add it to listeners"},
		{UDP("10.0.0.1", "3478") UDP("10.1.0.1", "3478") UDP("10.1.0.1", "3479"),
			"addresses: [10.0.0.1, 10.1.0.1]",
			"nat-discovery.addresses[0]: 10.0.0.1 has no UDP listener on port 3479: "
			"add it to listeners"},
		{ALL4, "addresses: [10.0.0.1, 10.1.0.1], other-port: 3478",
			"nat-discovery.other-port: 3478 is nat-discovery.port, too: choose "
			"another port"},
		{ALL4, "addresses: [10.0.0.1, 10.1.0.1], port: 0",
			"nat-discovery.port: 0 is out of range"},
		{ALL4, "addresses: [turn.example.org]", "nat-discovery.addresses"},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char *text = text_of(t[i].listeners, t[i].section);
		char error[CONF_ERROR_LEN] = "";

		assert_null(conf_file_load(text, strlen(text), error));
		if (strstr(error, t[i].want) == NULL)
			print_error("%s\n", error);
		assert_non_null(strstr(error, t[i].want));
		free(text);
	}
}

static struct conf *said(const char *section)
{
	char *text = text_of(ALL4, section);
	struct conf *c = conf_file_said(text);

	free(text);
	return c;
}

static void a_reload_takes_it(void **state)
{
	struct conf *running = said(""), *fresh = said("addresses: [10.0.0.1, 10.1.0.1]");
	unsigned int nb[2] = {0, 0};

	conf_changes(running, fresh, conf_section_count, nb);
	assert_int_equal(nb[true], 1);
	assert_int_equal(nb[false], 0);
	conf_section_adopt(running, fresh);
	assert_int_equal(running->turn.discovery.nb, 2);
	conf_free(running);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_read),
		cmocka_unit_test(mistakes),
		cmocka_unit_test(a_reload_takes_it),
	};

	return cmocka_run_group_tests_name(
		"conf_discovery", tests, conf_file_open, conf_file_close);
}
