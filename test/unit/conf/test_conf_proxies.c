// SPDX-License-Identifier: BSD-3-Clause
// Balancers of listeners: their keys, where they are refused, and warnings.
#include <stdlib.h>
#include <string.h>

#include "addr_text.h"
#include "conf_file.h"
#include "test.h"

#define CHECK(list) conf_file_mistakes(list, sizeof(list) / sizeof(list[0]))
#define BEFORE "listeners:\n"
#define LINE(proxy) "listeners:\n  - {transport: tcp, address: 192.0.2.9, proxy: " proxy "}\n"

static void assert_prefix(const struct prefix *p, const char *addr, uint8_t len)
{
	const struct addr a = addr_text(addr);

	assert_true(addr_eq(&p->addr, &a));
	assert_int_equal(p->len, len);
}

static void keys_become_prefixes(void **state)
{
	struct conf *c =
		conf_file_changed(BEFORE, LINE("[192.0.2.1, 10.0.0.0-10.0.0.9, '2001:db8::/32']"));
	const struct turn_listener_proxy *p = &c->turn.listeners[0].proxy;

	assert_int_equal(p->nb_from, 4);
	assert_prefix(&p->sources[0], "192.0.2.1", 128);
	assert_prefix(&p->sources[1], "10.0.0.0", 125);
	assert_prefix(&p->sources[2], "10.0.0.8", 127);
	assert_prefix(&p->sources[3], "2001:db8::", 32);
	assert_int_equal(p->size, 536);
	assert_int_equal(c->turn.listeners[1].proxy.nb_from, 0);
	conf_free(c);
}

// Each listener of `all` has its own list.
static void all_listeners_have_proxies(void **state)
{
	char error[CONF_ERROR_LEN] = "";
	char *text = conf_file_edit("    mtu: 1500\n", "    exception: {name: sr0}\n");
	char *all = conf_text_edit(
		text, BEFORE, "listeners:\n  - {transport: tcp, address: all, proxy: ['::1']}\n");
	struct conf *c = conf_file_load(all, strlen(all), error);

	if (c == NULL)
		fail_msg("%s", error);
	assert_prefix(&c->turn.listeners[0].proxy.sources[0], "::1", 128);
	assert_prefix(&c->turn.listeners[1].proxy.sources[0], "::1", 128);
	assert_ptr_not_equal(
		c->turn.listeners[0].proxy.sources, c->turn.listeners[1].proxy.sources);
	conf_free(c);
	free(all);
	free(text);
}

static void wrong_proxies_are_refused(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"port: 3478}", "port: 3478, proxy: ^[192.0.2.1]}",
			"listeners[0].proxy: needs transport: tcp, tls or auto: remove it, and "
			"let the balancer keep the addresses of UDP clients"},
		{BEFORE, LINE("^[]"),
			"listeners[0].proxy: is empty: write the addresses of the balancers"},
		{BEFORE, LINE("[^lb.example]"), "listeners[0].proxy[0]: 'lb.example' is not"},
		{BEFORE, LINE("^[10.0.0.1-10.255.255.254, 11.0.0.1-11.255.255.254]"),
			"listeners[0].proxy: takes 92 prefixes, at most 64 are possible: write "
			"larger ones"},
	};

	CHECK(list);
}

static void hear(void *ctx, enum conf_weight weight, const char *line)
{
	if (strstr(line, ".proxy[") != NULL)
		strcpy(ctx, line + strlen(conf_path));
}

static void trusting_all_addresses_is_a_warning(void **state)
{
	static const char *const all[] = {"[192.0.2.1, 0.0.0.0/0]", "[192.0.2.1, '::/0']"};

	for (unsigned int i = 0; i < 3; i++) {
		char heard[CONF_ERROR_LEN] = "", replacement[128];
		struct conf_report r = {.say = hear, .ctx = heard};
		struct conf *c;
		char *text;

		snprintf(replacement, sizeof(replacement), LINE("%s"),
			i < 2 ? all[i] : "[0.0.0.0/1]");
		text = conf_file_edit(BEFORE, replacement);
		conf_file_write(text, strlen(text));
		c = conf_load_and_report(conf_path, &r, NULL);
		assert_non_null(c);
		conf_warnings(c, &r);
		if (i < 2)
			assert_non_null(strstr(heard,
				"listeners[0].proxy[1]: lets every host "
				"claim any client address, so limits by source do not work: "
				"write the addresses of the balancers"));
		else
			assert_string_equal(heard, "");
		conf_free(c);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(keys_become_prefixes),
		cmocka_unit_test(all_listeners_have_proxies),
		cmocka_unit_test(wrong_proxies_are_refused),
		cmocka_unit_test(trusting_all_addresses_is_a_warning)};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
