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
		{{"  realm: turn.test", "\trealm: turn.test", "23:1: yaml: syntax: "},
			": indent with blanks, never with tabs"},
		{{"  ports: 49152-65535\n", "\tports: 49152-65535\n", "20:1: yaml: syntax: "},
			": indent with blanks, never with tabs"},
		{{"  default-family", "  \tdefault-family", "21:3: yaml: syntax: "},
			": indent with blanks, never with tabs"},
		{{"realm: turn.test", "realm: @REALM@", "23:10: yaml: syntax: "}, " needs quotes"},
		{{"[hunter3]", "[${hunter3}]", "27:14: yaml: syntax: "},
			": variables are not filled in here: write the value itself"},
		{{"realm: turn.test", "realm: {{ realm }}", "23:11: yaml: a key must be a plain "},
			"(fill in the {{...}} of a template first)"},
		{{"log: {", "log: {[to]: 5, ", "37:7: yaml: a key must be a plain word, not a "},
			": remove the brackets"},
		{{"'fd00:1::/32'", "::1", "35:10: yaml: syntax: "},
			": text that begins with ':', like \"::1\", needs quotes"},
		{{"'fd00:1::/32'", "fd00:1::", "35:10: yaml: syntax: "},
			": text that ends with ':', like \"2001:db8::\", needs quotes, or a value "
			"is missing behind ':'"},
		{{"log: {to: stderr, level: info}", "log: {to: stderr, level:}",
			 "37:19: yaml: syntax: "},
			", or a value is missing behind ':'"},
		{{"deny: ['fd00:1::/32']", "deny:\n    - fd00:1::", "36:7: peers.deny[0]: must be"},
			"(text with ':' at its end needs quotes)"},
		{{"  - {transport: udp, address: 10.0.0.1, port: 3478}\n"
		  "  - {transport: udp, address: 'fd00::1', port: 50000}\n",
			 "  address: 10.0.0.1\n", "16:3: listeners: must be a list of mappings"},
			": begin each entry with a '-' and a blank"},
		{{"[hunter3]", "{a: hunter3}",
			 "27:12: auth.secrets: must be a list of texts, not "},
			"(text with ': ' in it, or ':' at its end, needs quotes)"},
		{{"address: 10.0.0.1,", "address: [10.0.0.1],", "16:31: listeners[0].address: "},
			"must be an address, or all: remove the brackets"},
		{{"[10.0.0.254]", "10.0.0.254", "9:14: ports[0].gateway: must be a list of "},
			": put it in brackets, [...]"},
		{{"address: 10.0.0.1,", "address: 10.0.0.1:3478,", "16:31: listeners[0].address:"},
			" an IPv4 or IPv6 address (without port, prefix length and brackets), "
			"'all', 'all-ipv4' or 'all-ipv6'"},
		{{"{to: stderr, ", "{to: stderr ", "37:23: yaml: syntax: "},
			": a ',' is missing, or the '}', or quotes around the text"},
		{{"[hunter3]", "['hunter3'", "28:3: yaml: syntax: "},
			": a ',' is missing, or the ']', or quotes around the text"},
		{{"log: {", "log\nstate: {}\nlog: {", "37:1: yaml: "},
			": a key takes a ':' and a blank behind it"},
		{{"realm: turn.test", "realm: turn: test", "23:14: yaml: syntax: "},
			"text with ': ' in it needs quotes, and the keys of one section the same "
			"indentation"},
		{{"  default-family", " default-family", "21:2: yaml: syntax: "},
			": the keys of one section need the same indentation, and nothing may "
			"follow a closing quote"},
		{{"realm: turn.test", "realm: \"a\\dx\"", "23:12: yaml: syntax: "},
			": '\\' begins an escape within double quotes: use single quotes"},
		{{"realm: turn.test", "realm: \"turn.test", ""}, ": the quote is never closed"},
		{{"realm: turn.test", "realm: #turn.test", "23:9: auth.realm: has no value, give "},
			"(in quotes, if it begins with '#')"},
	};
	static const char utf16[] = "\xff\xfe\x61\x00";

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		char *text = conf_file_edit(list[i].m.piece, list[i].m.replacement);
		char error[CONF_ERROR_LEN];

		conf_file_refused(text, strlen(text), list[i].m.error);
		conf_file_load(text, strlen(text), error);
		if (strlen(error) < strlen(list[i].advice) ||
			strcmp(error + strlen(error) - strlen(list[i].advice), list[i].advice) != 0)
			fail_msg("wanted: ...%s\n   got: %s", list[i].advice, error);
		free(text);
	}
	conf_file_refused(utf16, 4, "1:1: yaml: UTF-16: the file must be UTF-8 text");
}

static void test_coturn_keys(void **state)
{
	static const struct conf_file_mistake list[] = {
		// a user's key in coturn's form
		{"key: 0123456789abcdef", "key: 0x0123456789abcdef",
			"26:25: auth.users[1].key: must be 32 hexadecimal digits, without 0x"},
		{"key: 0123456789abcdef", "key: '0Xg'} # ",
			"26:25: auth.users[1].key: must be 32 hexadecimal digits, without 0x"},
		// even if the name of a key may be a secret
		{"secrets: [hunter3]", "static-auth-secret: hunter3",
			"27:3: auth.static-auth-secret: is coturn's: write auth: {secrets: [...]} "
			"(doc/coturn.md)"},
		{"secrets: [hunter3]", "static-auth-secret=hunter3: 1",
			"27:3: auth.?: unknown key"},
		{"log: {", "use-auth-secret: true\nlog: {", "37:1: use-auth-secret: is coturn's: "},
		{"log: {", "lt-cred-mech:\nlog: {", "37:1: lt-cred-mech: is coturn's: credentials"},
		{"log: {", "user: 'a:hunter'\nlog: {", "37:1: user: is coturn's: write auth: {us"},
		{"log: {", "realm: x\nlog: {", "37:1: realm: is coturn's: write auth: {realm: .."},
		{"log: {", "keep-address-family:\nlog: {",
			"37:1: keep-address-family: is coturn's: write relay: {"},
		{"log: {", "cert: x\nlog: {", "37:1: cert: is coturn's: write tls: {certificate"},
		{"log: {", "listening-port: 1\nlog: {", "37:1: listening-port: is coturn's: writ"},
		{"  ports: 49152", "  min-port: 49152\n  ports: 49152",
			"20:3: relay.min-port: is coturn's: write relay: {ports: MIN-MAX}"},
		{"limits:", "limits:\n  user-quota: 1", "30:3: limits.user-quota: is coturn's: wr"},
	};

	conf_file_mistakes(list, sizeof(list) / sizeof(list[0]));
}

// An unchanged configuration file of coturn.
static void test_turnserver(void **state)
{
	static const char *const list[] = {
		"# coturn\n\n  listening-ip=2001:db8::1\nrealm=x\n",
		"\n\nlt-cred-mech\nstatic-auth-secret=hunter\n",
		"\r\n#\r\nuse-auth-secret\r\nrealm=x\r\n",
		"\n\nuser = ivan:hunter",
	};
	// these are not coturn files
	static const char *const others[] = {"ports: a=b", "ports", "", "#a=b", "ports: [=]", "=",
		"\"a\"=b", "lt-cred-mech: true"};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		conf_file_refused(list[i], strlen(list[i]),
			"3:1: yaml: a ':' and a blank must follow a key, not '='. "
			"slipring-import converts a turnserver.conf "
			"(doc/coturn.md)");
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
	conf_file_refused("\xef\xbb\xbfports: @", 11, "1:8: yaml: syntax: ");
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
	snprintf(h->text + strlen(h->text), sizeof(h->text) - strlen(h->text), "%s\n",
		line + strlen(conf_path) + 1);
	h->nb++;
}

static void assert_told(const char *text, const char *const *want, unsigned int nb)
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
		if (strncmp(line, want[i], strlen(want[i])) != 0)
			fail_msg("wanted: %s\n   got: %s", want[i], line);
		line = strchr(line, '\n') + 1;
	}
	assert_string_equal(line, "");
	// the first is the one that conf_load reports
	assert_int_equal(strncmp(error + strlen(conf_path) + 1, want[0], strlen(want[0])), 0);
}

static void test_all_errors(void **state)
{
	static const char *const read[] = {"4:18: workers.count: 0 is out of range",
		"8:17: ports[0].addresses[0]: '10.0.0.1' is not",
		"8:27: ports[0].addresses[1]: 'fd00::1' is not",
		"13:5: ports[1].divice: unknown key, did you mean 'device'?",
		"38:1: logs: unknown key, did you mean 'log'?"};
	// checks of several keys run once each key is valid for itself
	static const char *const checked[] = {"2:11: eal.lcores: names 3 lcores, 4 are needed: "
					      "name one for management and one for each of ",
		"9:15: ports[0].gateway[0]: 10.1.0.254 is not on-link: write an address in a "
		"subnet of this port (any address is possible only if all addresses of the "
		"port's family are /",
		"13:13: ports[1].device: 'eth1' is not a device",
		"16:31: listeners[0].address: 10.0.0.7 is not an address of any port: add it to "
		"ports[].addresses, or, if the network translates to it, as 'external' of the "
		"port's own address",
		"17:31: listeners[1].address: 10.0.0.7 is not an address of any port: add it to "
		"ports[].addresses, or, if the network translates to it, as 'external' of the "
		"port's own address",
		"26:7: auth.users[1]: this user has neither password nor key"};
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
