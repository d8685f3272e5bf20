// SPDX-License-Identifier: BSD-3-Clause
// The keys of relay.tcp.
#include <stdlib.h>

#include "conf_file.h"
#include "test.h"

// Replaces pieces of the good text, each by the next string; the last is NULL.
static char *edited(const char *const *pieces)
{
	char *text = strdup(conf_good);

	for (; *pieces != NULL; pieces += 2) {
		char *next = conf_text_edit(text, pieces[0], pieces[1]);

		free(text);
		text = next;
	}
	return text;
}

// The kernel handles TCP with peers, as that of clients.
static void sockets_need_the_kernel(void **state)
{
#define ON                        \
	"  ports: 49152-65535\n", \
		"  ports: 49152-65535\n  tcp: {enabled: true, ports: 61000-61001}\n"
#define OVER(port)                                       \
	"transport: udp, address: 10.0.0.1, port: 3478", \
		"transport: tcp, address: 10.0.0.1, port: " #port
#define BY_KERNEL "    vlan: 0\n", "    exception: {name: sr0}\n"
#define ONE_PORT "[10.0.0.1, 'fd00::1', 10.1.0.2-10.1.0.4]", "[10.0.0.1, 'fd00::1']"
	static const struct {
		const char *pieces[9], *error, *where;
	} list[] = {
		{{ON},
			"relay.tcp.enabled: clients need TCP or TLS to ask for it: add a "
			"listener with transport: tcp, tls or auto",
			"true, ports"},
		{{ON, OVER(3478), BY_KERNEL},
			"relay.tcp.enabled: TCP needs this address in the kernel, and port "
			"'lan' has no exception port for it: add exception: {name: sr0} to the "
			"port",
			"true, ports"},
		{{ON, OVER(61001), BY_KERNEL, ONE_PORT},
			"relay.tcp.ports: the range holds port 61001, at which a relay address "
			"has a listener: choose other ports",
			"61000"},
	};
	const char *const good[] = {ON, OVER(3478), BY_KERNEL, ONE_PORT, NULL};
	char *text, error[CONF_ERROR_LEN];
	struct conf *c;

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		text = edited(list[i].pieces);
		c = conf_file_load(text, strlen(text), error);
		assert_null(c);
		assert_non_null(strstr(error, conf_file_at(list[i].where, list[i].error)));
		free(text);
	}
	text = edited(good);
	c = conf_file_load(text, strlen(text), error);
	if (c == NULL)
		fail_msg("%s", error);
	assert_true(c->turn.tcp.enabled);
	assert_int_equal(c->turn.tcp.ports_lo, 61000);
	assert_int_equal(c->turn.tcp.ports_hi, 61001);
	assert_int_equal(c->turn.tcp.timeout_s, 30); // RFC 6062 5.2
	conf_free(c);
	free(text);
}

static void values_are_read_and_derived(void **state)
{
	struct conf *c =
		conf_file_changed("log:", "test-constants: {relay.tcp.timeout: 45s}\nlog:");

	assert_false(c->turn.tcp.enabled);
	assert_int_equal(c->turn.tcp.timeout_s, 45);
	assert_int_equal(c->turn.tcp.connections, 1024);
	conf_free(c);
	c = conf_file_changed("  default-family: ipv4\n", "  tcp: {ports: 50000-59999}\n");
	assert_int_equal(c->turn.tcp.connections, 10000);
	conf_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sockets_need_the_kernel),
		cmocka_unit_test(values_are_read_and_derived),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
