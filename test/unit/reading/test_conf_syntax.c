// SPDX-License-Identifier: BSD-3-Clause
// Errors of YAML and their messages. All errors of a file are reported at once.
#include <stdlib.h>

#include "conf_file.h"
#include "test.h"

// libyaml's message, and the advice.
static void test_syntax(void **state)
{
	static const struct {
		struct conf_file_mistake m;
		const char *advice;
	} list[] = {
		{{"  realm: turn.test", "^\trealm: turn.test", "yaml: syntax: "},
			": indent with blanks, never with tabs"},
		{{"  ports: 49152-65535\n", "^\tports: 49152-65535\n", "yaml: syntax: "},
			": indent with blanks, never with tabs"},
		{{"  default-family", "  ^\tdefault-family", "yaml: syntax: "},
			": indent with blanks, never with tabs"},
		{{"realm: turn.test", "realm: ^@REALM@", "yaml: syntax: "}, " needs quotes"},
		{{"[hunter3]", "[$^{hunter3}]", "yaml: syntax: "},
			": variables are not filled in here: write the value itself"},
		{{"realm: turn.test", "realm: {^{ realm }}", "yaml: a key must be a plain "},
			"(fill in the {{...}} of a template first)"},
		{{"log: {", "log: {^[to]: 5, ", "yaml: a key must be a plain word, not a "},
			": remove the brackets"},
		{{"'fd00:1::/32'", "^::1", "yaml: syntax: "},
			": text that begins with ':', like \"::1\", needs quotes"},
		{{"'fd00:1::/32'", "^fd00:1::", "yaml: syntax: "},
			": text that ends with ':', like \"2001:db8::\", needs quotes, or a value "
			"is missing behind ':'"},
		{{"log: {to: stderr, level: info}", "log: {to: stderr, ^level:}", "yaml: syntax: "},
			", or a value is missing behind ':'"},
		{{"deny: ['fd00:1::/32']", "deny:\n    - ^fd00:1::", "peers.deny[0]: must be"},
			"(text with ':' at its end needs quotes)"},
		{{"  - {transport: udp, address: 10.0.0.1, port: 3478}\n"
		  "  - {transport: udp, address: 'fd00::1', port: 50000}\n",
			 "  ^address: 10.0.0.1\n", "listeners: must be a list of mappings"},
			": begin each entry with a '-' and a blank"},
		{{"[hunter3]", "^{a: hunter3}", "auth.secrets: must be a list of texts, not "},
			"(text with ': ' in it, or ':' at its end, needs quotes)"},
		{{"address: 10.0.0.1,", "address: ^[10.0.0.1],", "listeners[0].address: "},
			"must be an address, or all: remove the brackets"},
		{{"[10.0.0.254]", "^10.0.0.254", "ports[0].gateway: must be a list of "},
			": put it in brackets, [...]"},
		{{"address: 10.0.0.1,", "address: ^10.0.0.1:3478,", "listeners[0].address:"},
			" an IPv4 or IPv6 address (without port, prefix length and brackets), "
			"'all', 'all-ipv4' or 'all-ipv6'"},
		{{"{to: stderr, level: info", "{to: stderr level^: info", "yaml: syntax: "},
			": a ',' is missing, or the '}', or quotes around the text"},
		{{"[hunter3]", "['hunter3'", "yaml: syntax: ", "nonce:"},
			": a ',' is missing, or the ']', or quotes around the text"},
		{{"log: {", "^log\nstate: {}\nlog: {", "yaml: "},
			": a key takes a ':' and a blank behind it"},
		{{"realm: turn.test", "realm: turn^: test", "yaml: syntax: "},
			"text with ': ' in it needs quotes, and the keys of one section the same "
			"indentation"},
		{{"  default-family", " ^default-family", "yaml: syntax: "},
			": the keys of one section need the same indentation, and nothing may "
			"follow a closing quote"},
		{{"realm: turn.test", "realm: \"a^\\dx\"", "yaml: syntax: "},
			": '\\' begins an escape within double quotes: use single quotes"},
		{{"level: info}\n", "level: \"info}\n^", "yaml: syntax: found unexpected end"},
			": the quote is never closed"},
		{{"realm: turn.test", "realm:^ #turn.test", "auth.realm: has no value, give "},
			"(in quotes, if it begins with '#')"},
	};
	static const char utf16[] = "^\xff\xfe\x61\x00";

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		char *text = conf_text_mistake(conf_good, &list[i].m);
		const char *error;

		error = conf_file_refused(text, strlen(text), list[i].m.error);
		if (strlen(error) < strlen(list[i].advice) ||
			strcmp(error + strlen(error) - strlen(list[i].advice), list[i].advice) != 0)
			fail_msg("wanted: ...%s\n   got: %s", list[i].advice, error);
		free(text);
	}
	conf_file_refused(utf16, 5, "yaml: UTF-16: the file must be UTF-8 text");
}

static void test_coturn_keys(void **state)
{
	static const struct conf_file_mistake list[] = {
		// a user's key in coturn's form
		{"key: 0123456789abcdef", "key: ^0x0123456789abcdef",
			"auth.users[1].key: must be 32 hexadecimal digits, without 0x"},
		{"key: 0123456789abcdef", "key: ^'0Xg'} # ",
			"auth.users[1].key: must be 32 hexadecimal digits, without 0x"},
		// even if the name of a key may be a secret
		{"secrets: [hunter3]", "^static-auth-secret: hunter3",
			"auth.static-auth-secret: is coturn's: write auth: {secrets: [...]} "
			"(doc/coturn.md)"},
		{"secrets: [hunter3]", "^static-auth-secret=hunter3: 1", "auth.?: unknown key"},
		{"log: {", "^use-auth-secret: true\nlog: {", "use-auth-secret: is coturn's: "},
		{"log: {", "^lt-cred-mech:\nlog: {", "lt-cred-mech: is coturn's: credentials"},
		{"log: {", "^user: 'a:hunter'\nlog: {", "user: is coturn's: write auth: {us"},
		{"log: {", "^realm: x\nlog: {", "realm: is coturn's: write auth: {realm: .."},
		{"log: {", "^keep-address-family:\nlog: {",
			"keep-address-family: is coturn's: write relay: {"},
		{"log: {", "^cert: x\nlog: {", "cert: is coturn's: write tls: {certificate"},
		{"log: {", "^listening-port: 1\nlog: {", "listening-port: is coturn's: writ"},
		{"  ports: 49152", "  ^min-port: 49152\n  ports: 49152",
			"relay.min-port: is coturn's: write relay: {ports: MIN-MAX}"},
		{"limits:", "limits:\n  ^user-quota: 1", "limits.user-quota: is coturn's: wr"},
	};

	conf_file_mistakes(list, sizeof(list) / sizeof(list[0]));
}

// An unchanged configuration file of coturn.
static void test_turnserver(void **state)
{
	static const char *const list[] = {
		"# coturn\n\n^  listening-ip=2001:db8::1\nrealm=x\n",
		"\n\n^lt-cred-mech\nstatic-auth-secret=hunter\n",
		"\r\n#\r\n^use-auth-secret\r\nrealm=x\r\n",
		"\n\n^user = ivan:hunter",
	};
	// these are not coturn files
	static const char *const others[] = {"ports: a=b", "ports", "", "#a=b", "ports: [=]", "=",
		"\"a\"=b", "lt-cred-mech: true"};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		conf_file_refused(list[i], strlen(list[i]),
			"yaml: a ':' and a blank must follow a key, not '='. slipring-import "
			"converts a turnserver.conf (doc/coturn.md)");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char error[CONF_ERROR_LEN];

		assert_null(conf_file_load(others[i], strlen(others[i]), error));
		assert_null(strstr(error, "turnserver"));
	}
}

// Traces of editors do not matter: a byte order mark, line ends of other systems.
static void test_editors(void **state)
{
	char *text = malloc(2 * sizeof(conf_good)), error[CONF_ERROR_LEN];
	const char *const ends[] = {"\r\n", "\r"};
	struct conf *c;

	assert_non_null(text);
	snprintf(text, 2 * sizeof(conf_good), "\xef\xbb\xbf%s", conf_good);
	c = conf_file_load(text, strlen(text), error);
	if (c == NULL)
		fail_msg("%s", error);
	conf_free(c);
	for (size_t i = 0; i < 2; i++) {
		char *out = text;

		for (const char *p = conf_good; *p != '\0'; p++)
			out += *p == '\n' ? sprintf(out, "%s", ends[i]) : sprintf(out, "%c", *p);
		c = conf_file_load(text, strlen(text), error);
		if (c == NULL)
			fail_msg("%s", error);
		conf_free(c);
	}
	free(text);
	// positions do not count the mark
	assert_null(conf_file_load("\xef\xbb\xbfports: @", 11, error));
	assert_non_null(strstr(error, ":1:8: yaml: syntax: "));
}

// --- all errors ----------------------------------------------------------------------------------

struct heard {
	unsigned int nb;
	char text[16384];
};

static void hear(void *ctx, enum conf_weight weight, const char *line)
{
	struct heard *h = ctx;

	assert_int_equal(weight, CONF_ERROR);
	assert_int_equal(strncmp(line, conf_path, strlen(conf_path)), 0);
	assert_null(strstr(line, "hunter"));
	snprintf(h->text + strlen(h->text), sizeof(h->text) - strlen(h->text), "%s\n", line);
	h->nb++;
}

struct told {
	const char *where, *reason;
};

static void assert_told(const char *text, const struct told *want, unsigned int nb)
{
	struct heard h = {0};
	struct conf_report r = {.say = hear, .ctx = &h};
	char error[CONF_ERROR_LEN];
	const char *line = h.text;

	assert_null(conf_file_load(text, strlen(text), error));
	assert_null(conf_load_and_report(conf_path, &r, NULL));
	assert_int_equal(r.nb[CONF_ERROR], h.nb);
	assert_int_equal(r.nb[CONF_WARNING], 0);
	for (unsigned int i = 0; i < nb; i++) {
		const char *all = conf_file_at(want[i].where, want[i].reason);

		if (i == 0) // the one that conf_load reports
			assert_int_equal(strncmp(error, all, strlen(all)), 0);
		if (strncmp(line, all, strlen(all)) != 0)
			fail_msg("wanted: %s\n   got: %s", all, line);
		line = strchr(line, '\n') + 1;
	}
	assert_string_equal(line, "");
}

static void test_all_errors(void **state)
{
	static struct told read[] = {{"0}", "workers.count: 0 is out of range"},
		{"10.0.0.1, fd", "ports[0].addresses[0]: '10.0.0.1' is not"},
		{"fd00", "ports[0].addresses[1]: 'fd00::1' is not"},
		{"divice", "ports[1].divice: unknown key, did you mean 'device'?"},
		{"logs", "logs: unknown key, did you mean 'log'?"}};
	// checks of several keys run once each key is valid for itself
	static struct told checked[] = {{"0@(0-1)",
						"eal.lcores: names 3 lcores, 4 are needed: "
						"name one for management and one for each of "},
		{"10.1.0.254",
			"ports[0].gateway[0]: 10.1.0.254 is not on-link: write an address in a "
			"subnet of this port (any address is possible only if all addresses of the "
			"port's family are /"},
		{"eth1", "ports[1].device: 'eth1' is not a device"},
		{"10.0.0.7,",
			"listeners[0].address: 10.0.0.7 is not an address of any port: add it to "
			"ports[].addresses, or, if the network translates to it, as 'external' of "
			"the port's own address"},
		{"10.0.0.7 ,",
			"listeners[1].address: 10.0.0.7 is not an address of any port: add it to "
			"ports[].addresses, or, if the network translates to it, as 'external' of "
			"the port's own address"},
		{"{name: olga", "auth.users[1]: this user has neither password nor key"}};
	char text[2 * sizeof(conf_good)], *piece;

	static const char bad_keys[] =
		"eal: {lcores: '0-2'}\n\n\nworkers: {count: 0}\nports:\n  - name: wan\n"
		"    device: net_a\n    addresses: [10.0.0.1, fd00::1]\n\n\n\n"
		"  - name: lan\n    divice: net_b\n    addresses: [10.1.0.1/16]\n"
		"listeners:\n  - {address: 10.0.0.1}\n\n"
		"relay: {addresses: [10.0.0.1]}\n\n\n\nauth: {realm: r, secrets: [hunter]}\n"
		"\n\n\n\n\n\n\n\n\n\n\n\n\n\n\nlogs: {}\n";
	assert_told(bad_keys, read, sizeof(read) / sizeof(read[0]));
	strcpy(text, conf_good);
	memcpy(strstr(text, "count: 2"), "count: 3", 8);
	memcpy(strstr(text, "10.0.0.254"), "10.1.0.254", 10);
	piece = strstr(text, "net_b");
	memcpy(piece, "eth1 ", 5);
	memcpy(strstr(text, "address: 10.0.0.1,"), "address: 10.0.0.7,", 18);
	piece = strstr(text, "address: 'fd00::1', port: 50000");
	memcpy(piece, "address: 10.0.0.7 , port: 3478 ", 31);
	piece = strstr(text, ", key: 0123456789abcdef0123456789abcdef");
	memset(piece, ' ', strlen(", key: 0123456789abcdef0123456789abcdef"));
	assert_told(text, checked, sizeof(checked) / sizeof(checked[0]));
}

// A file of another program is not read to its end.
static void test_enough_errors(void **state)
{
	struct heard h = {0};
	struct conf_report r = {.say = hear, .ctx = &h};
	char text[4096] = "", error[CONF_ERROR_LEN];

	for (unsigned int i = 0; i < 200; i++)
		sprintf(text + strlen(text), "colour%u: red\n", i);
	assert_null(conf_file_load(text, strlen(text), error));
	assert_null(conf_load_and_report(conf_path, &r, NULL));
	assert_int_equal(h.nb, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_syntax),
		cmocka_unit_test(test_coturn_keys),
		cmocka_unit_test(test_turnserver),
		cmocka_unit_test(test_editors),
		cmocka_unit_test(test_all_errors),
		cmocka_unit_test(test_enough_errors),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
