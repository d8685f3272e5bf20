// SPDX-License-Identifier: BSD-3-Clause
// Errors in a file are refused with their position and key, without showing a secret, and no file
// harms the reader. Errors of ports and addresses are in test_conf_port_errors.c.
#include <stdlib.h>

#include "conf_file.h"
#include "emulated.h"
#include "test.h"
#include "test_rand.h"

#define CHECK(list) conf_file_mistakes(list, sizeof(list) / sizeof(list[0]))

static void test_keys(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"  default-family", "  ^default-famil",
			"relay.default-famil: unknown key, did you mean 'default-family'?"},
		{"limits:", "^limit:", "limit: unknown key, did you mean 'limits'?"},
		{"  allocations", "  ^per_user: 1\n  allocations",
			"limits.per_user: unknown key, did you mean 'per-user'?"},
		{"log: {", "log: {^realm: x, ",
			"log.realm: unknown key, 'auth.realm' is known: it belongs there"},
		{"log: {", "log: {^colours: x, ",
			"log.colours: unknown key, known here: to format level areas"},
		{"vlan: 0", "vlan: 0\n    vlan: ^0",
			"ports[0].vlan: given twice, first at line 10"},
		{"log: {", "log: {}\nlog: ^{", "log: given twice, first at line 37"},
		// a key with a dot or an index is unknown to the schema
		{"log: {", "^log.to: stderr\nlog: {", "log: unknown key"},
		{"log: {", "^'ports[0].mtu': 9\nlog: {", "ports: unknown key"},
		{"log: {", "^'': 9\nlog: {", "?: unknown key"},
		{"log: {", "^<<: {}\nlog: {", "<<: merge keys are not supported: write out"},
		{"log: {", "^l\xc2\xa0og: 9\nlog: {",
			"?: its name has a non-ASCII character, perhaps a no-break space: type "
			"the name again"},
		// the ':' is missing; the next word may be a secret
		{"log: {to: stderr", "log: {^to stderr",
			"log.to: there is no ':' behind the key: write 'to: VALUE'"},
		{"password: hunter2", "^password hunter2",
			"auth.users[0].password: there is no ':' behind the key: write"},
		{"password: hunter2", "^password = hunter2",
			"auth.users[0].password: there is no ':' behind the key: write"},
		{"realm: turn.test", "^realm turn.test",
			"yaml: there is no ':' behind the key: write 'realm: VALUE'"},
	};

	CHECK(list);
}

static void test_missing(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"  realm: turn.test\n", "", "auth.realm: missing, give it text", "users:"},
		{"    device: net_b\n", "", "ports[1].device: missing, give it text", "name: lan"},
		{"name: ivan, ", "", "auth.users[0].name: missing, give it text", "{password:"},
		{"  addresses: [10.0.0.1, 'fd00::1', 10.1.0.2-10.1.0.4]\n", "",
			"relay.addresses: missing, give it a list of addresses",
			"ports: 49152-65535"},
		{"  ports: 49152-65535\n", "  ports:^\n", "relay.ports: has no value"},
		{", address: 10.0.0.1", "", "listeners[0].address: missing, give it an address",
			"{transport:"},
		{"    - {name: ivan, password: hunter2}\n", "    - ^{name: ivan}\n",
			"auth.users[0]: this user has neither password nor key"},
		{"args: []", "args: ^~", "eal.args: has no value"},
		{"vlan: 0", "vlan: ^null", "ports[0].vlan: has no value"},
		{"secrets: [hunter3]", "secrets: [^~]", "auth.secrets[0]: has no value"},
	};
	static const char no_ports[] = "^eal: {}\nauth: {realm: r, secrets: [s]}\n";

	CHECK(list);
	conf_file_refused(no_ports, strlen(no_ports), "ports: missing, give it a list of mappings");
}

static void test_types(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"{count: 2, idle: adaptive}", "^2", "workers: must be a mapping of keys"},
		{"[10.0.0.254]", "^10.0.0.254", "ports[0].gateway: must be a list of addresses"},
		{"[10.0.0.254]", "[^[10.0.0.254]]", "ports[0].gateway[0]: must be a single value"},
		{"realm: turn.test", "realm: ^[turn.test]", "auth.realm: must be text"},
		{"vlan: 0", "vlan: ^[0]", "ports[0].vlan: must be a number"},
		{"vlan: 0", "vlan: ^'0'", "ports[0].vlan: must be a number: write it without"},
		{"vlan: 0", "vlan: ^0x10",
			"ports[0].vlan: must be a decimal number from 0 to 4094, not '0x10'"},
		{"vlan: 0", "vlan: ^010", "ports[0].vlan: must be a decimal number"},
		{"vlan: 0", "vlan: ^-1", "ports[0].vlan: must be a decimal number"},
		{"vlan: 0", "vlan: ^+1", "ports[0].vlan: must be a decimal number"},
		{"vlan: 0", "vlan: ^1.0", "ports[0].vlan: must be a decimal number"},
		{"vlan: 0", "vlan: ^1_0", "ports[0].vlan: must be a decimal number"},
		{"hairpin: true", "hairpin: ^yes", "peers.hairpin: must be true or false"},
		{"hairpin: true", "hairpin: ^True", "peers.hairpin: must be true or false"},
		{"hairpin: true", "hairpin: ^'true'", "peers.hairpin: must be true or false"},
		{"to: stderr", "to: ^file",
			"log.to: 'file' is not one of: stderr, syslog, journal"},
		{"level: info", "format: ^yaml", "log.format: 'yaml' is not one of: text, json"},
		{"level: info", "level: ^debag",
			"log.level: 'debag' is not one of: error, warning, notice, info,"},
		{"level: info", "areas: {^aut: debug}",
			"log.areas.aut: unknown key, did you mean 'auth'?"},
		{"level: info", "areas: {^everything: debug}",
			"log.areas.everything: unknown key, known here: start config ports "
			"addresses streams auth sessions workers dpdk control"},
		{"level: info", "areas: {auth: ^all}",
			"log.areas.auth: 'all' is not one of: error, warning, notice,"},
		{"level: info", "areas: {auth: ^}", "log.areas.auth: has no value"},
		{"level: info", "areas: ^[auth]", "log.areas: must be a mapping of keys"},
		{"level: info", "areas: ^debug", "log.areas: must be a mapping of keys"},
		{"log:", "test-constants: {log.rate: ^-1}\nlog:",
			"test-constants.log.rate: must be a decimal number from 0 to"},
		{"level: info", "^syslog: true", "log.syslog: is coturn's: write log: {to: "},
		{"log: {", "^verbose: 1\nlog: {",
			"verbose: is coturn's: write log: {level: debug}"},
		{"idle: adaptive", "idle: ^lazy",
			"workers.idle: 'lazy' is not one of: adaptive, busy, saving"},
		{"family: ipv4", "family: ^ipv5",
			"relay.default-family: 'ipv5' is not one of: ipv4, ipv6, client"},
		{"log:", "icmp: {tell: ^some}\nlog:",
			"icmp.tell: 'some' is not one of: rfc8489, all, none"},
		{"log:", "control: {socket: ^control.sock}\nlog:",
			"control.socket: must be an absolute path"},
		{"log:", "control: {group: ^'a b'}\nlog:", "control.group: "},
		{"log:", "control: {readers: ^''}\nlog:", "control.readers: "},
		{"log:", "control: {group: adm, readers: ^adm}\nlog:",
			"control.readers: is control.group, too, whose members give orders"},
		{"vlan: 0", "uso: ^yes", "ports[0].uso: 'yes' is not one of: auto, on, off"},
		{"transport: udp", "transport: ^sctp", "listeners[0].transport: 'sctp' is not"},
		{"  - {transport: udp, address: 10.0.0.1, port: 3478}", "  - ^udp",
			"listeners[0]: must be a mapping"},
		{"49152-65535", "^all", "relay.ports: must be a range of port numbers"},
		{"49152-65535", "^49152-", "relay.ports: must be a range of port numbers"},
	};

	CHECK(list);
}

static void test_records(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"log: {", "records: {file: ^records.json}\nlog: {",
			"records.file: must be an absolute path, such as "
			"/var/log/slipring/records.json"},
		{"log: {", "crash: {directory: ^crashes}\nlog: {",
			"crash.directory: must be an absolute path, such as /var/log/slipring, "
			"or empty"},
		{"log: {", "test-constants: {crash.keep: ^0}\nlog: {",
			"test-constants.crash.keep: 0 is out of range"},
		{"log: {", "^watchdog: {}\nlog: {", "watchdog: unknown key"},
		{"log: {", "test-constants: {^watchdog: 1}\nlog: {",
			"test-constants.watchdog: unknown key"},
		{"log: {", "records: {file: ^''}\nlog: {", "records.file: must not be empty"},
		{"log: {", "records: {rotate: ^100MB}\nlog: {",
			"records.rotate: must be a number of bytes like 65536, 64K, 100M or "
			"2G, not '100MB'"},
		{"log: {", "records: {rotate: ^M}\nlog: {",
			"records.rotate: must be a number of bytes"},
		{"log: {", "records: {rotate: ^1.5G}\nlog: {",
			"records.rotate: must be a number of bytes"},
		{"log: {", "records: {rotate: ^'1G'}\nlog: {",
			"records.rotate: must be a number of bytes"},
		{"log: {", "records: {rotate: ^-1}\nlog: {",
			"records.rotate: must be a number of bytes"},
		{"log: {", "records: {rotate: ^4G}\nlog: {",
			"records.rotate: 4G is out of range, it must be from 0 to 4294967295"},
		{"log: {", "records: {rotate: ^9999999999G}\nlog: {",
			"records.rotate: 9999999999G is out of range"},
		{"log: {", "records: {journal: ^no}\nlog: {",
			"records.journal: must be true or false"},
		{"log: {", "^buffers: {events: 10}\nlog: {", "buffers: unknown key"},
	};

	CHECK(list);
}

static void test_state(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"log: {", "state: {file: ^state}\nlog: {",
			"state.file: must be the absolute path of a file, such as "
			"/run/slipring/state"},
		{"log: {", "state: {file: ^/run/slipring/}\nlog: {",
			"state.file: must be the absolute path of a file, such as "
			"/run/slipring/state"},
		{"log: {", "state: {file: ^/run/..}\nlog: {",
			"state.file: must be the absolute path of a file, such as "
			"/run/slipring/state"},
		{"log: {", "state: {file: ^x}\nlog: {",
			"state.file: must be the absolute path of a file, such as "
			"/run/slipring/state"},
		{"log: {", "state: {on-stop: ^drop}\nlog: {",
			"state.on-stop: 'drop' is not one of: keep, forget"},
		{"log: {", "state: {^files: /run/state}\nlog: {", "state.files: unknown key"},
	};

	CHECK(list);
}

static void test_relay(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"  addresses: [10.0.0.1, 'fd00::1', 10.1.0.2-10.1.0.4]\n  ports: 49152-65535\n"
		 "  default-family: ipv4\n",
			"  addresses: [10.0.0.1]\n  default-family: ^ipv6\n",
			"relay.default-family: no relay address is IPv6: add one"},
		{"count: 2", "count: 9", "eal.lcores: names 3 lcores, ", "0@(0-1)"},
	};

	CHECK(list);
}

static void test_ranges(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"count: 2", "count: ^0",
			"workers.count: 0 is out of range, it must be from 1 to 64"},
		{"count: 2", "count: ^65", "workers.count: 65 is out of range"},
		{"vlan: 0", "vlan: ^4095", "ports[0].vlan: 4095 is out of range"},
		{"vlan: 0", "vlan: ^4294967296", "ports[0].vlan: 4294967296 is out of range"},
		{"vlan: 0", "vlan: ^65536", "ports[0].vlan: 65536 is out of range"},
		{"log: {", "drivers:^\nlog: {", "drivers: has no value"},
		{"log: {", "drivers: ^[a]\nlog: {", "drivers: must be text"},
		{"mtu: 1500", "mtu: ^575", "ports[0].mtu: 575 is out of range"},
		{"mtu: 1500", "steering: ^t3",
			"ports[0].steering: 't3' is not one of: auto, address, port-bits, off"},
		{"mtu: 1500", "mtu: ^9217", "ports[0].mtu: 9217 is out of range"},
		{"mtu: 1500", "mtu: ^1279", "ports[0].mtu: 1279 is too small: a port with IPv6"},
		{"port: 3478", "port: ^0", "listeners[0].port: 0 is out of range"},
		{"port: 3478", "port: ^65536", "listeners[0].port: 65536 is out of range"},
		{"49152-65535", "^1023-65535",
			"relay.ports: 1023-65535 is out of range, it must be within 1024-65535"},
		{"49152-65535", "^49152-65536", "relay.ports: 49152-65536 is out of range"},
		{"49152-65535", "^65535-49152",
			"relay.ports: the range ends before it begins: write 49152-65535"},
		{"49152-65535", "^50000",
			"relay.ports: listeners take every port of the range on fd00::1"},
		{"lifetime: 600", "lifetime: ^0", "auth.nonce.lifetime: 0 is out of range"},
		{"rate: 1000", "rate: ^-1", "limits.binding.rate: must be a decimal"},
	};

	CHECK(list);
}

static void test_auth(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"realm: turn.test", "realm: ^''", "auth.realm: must not be empty"},
		{"name: olga", "name: ^ivan", "auth.users[1].name: auth.users[0] has this name"},
		{"key: 0123456789abcdef0123456789abcdef", "key: ^0123456789abcdef",
			"auth.users[1].key: has 16 characters: write 32 hexadecimal digits"},
		{"0123456789abcdef0123456789abcdef", "^0123456789abcdef0123456789abcdeg",
			"auth.users[1].key: character 32 is not a hexadecimal digit"},
		{"key: 0123456789abcdef0123456789abcdef", "key-sha256: ^0123456789abcdef",
			"auth.users[1].key-sha256: has 16 characters: write 64 hexadecimal digits"},
		{"key: 0123456789abcdef0123456789abcdef",
			"password: hunter, key: 0123456789abcdef0123456789abcdef",
			"auth.users[1]: this user has both a password and a key", "{name: olga"},
		{"password: hunter2", "password: ^[hunter2]", "auth.users[0].password: must be"},
		{"password: hunter2", "password: ^''", "auth.users[0].password: must not be"},
		// a possible password is not shown
		{"password: hunter2", "^password:hunter2",
			"auth.users[0].password: unknown key, a blank must follow the ':'"},
		{"password: hunter2", "^hunter2",
			"auth.users[0].?: unknown key, known here: name password password-file "
			"key key-sha256"},
		{"password: hunter2", "^hunter2:hunter5: x",
			"auth.users[0].?: unknown key, a blank must follow the ':'"},
		{"secrets: [hunter3]", "secrets: ^hunter3", "auth.secrets: must be a list of"},
		{"secrets: [hunter3]", "secrets: ^{hunter3}", "auth.secrets: must be a list of"},
		{"secrets: [hunter3]", "secrets: [^'']", "auth.secrets[0]: must not be empty"},
		{"secrets: [hunter3]", "secrets: [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,^q]",
			"auth.secrets[16]: one too many: at most 16 are allowed"},
		{"  users:\n"
		 "    - {name: ivan, password: hunter2}\n"
		 "    - {name: olga, key: 0123456789abcdef0123456789abcdef}\n"
		 "  secrets: [hunter3]\n",
			"", "auth: no client can log in: give ", "realm:"},
	};
	char realm[800] = "realm: ^";
	struct conf_file_mistake long_realm = {"realm: turn.test", realm,
		"auth.realm: has 764 bytes, at most 763 are allowed: shorten it"};

	CHECK(list);
	memset(realm + 8, 'r', 764);
	conf_file_mistakes(&long_realm, 1);
}

static void test_yaml(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"realm: turn.test", "realm: ^&r turn.test", "yaml: anchors (&name)"},
		{"realm: turn.test", "realm: ^*r", "yaml: aliases (*name)"},
		{"realm: turn.test", "realm: ^!!str turn.test", "yaml: tags (!name)"},
		{"users:\n", "users: ^&u\n", "yaml: anchors (&name)"},
		{"relay:\n", "relay: ^!r\n", "yaml: tags (!name)"},
		{"log: {", "^---\nlog: {", "yaml: a second document begins here"},
		{"realm: turn.test", "realm: ^\"turn\\ttest\"", "yaml: control character"},
		{"realm: turn.test", "realm: ^\"turn\\0test\"", "yaml: control character"},
		{"realm: turn.test", "realm: ^|\n    turn.test", "yaml: control character"},
		{"realm: turn.test", "? ^[a, b]\n  : c\n  realm: turn.test", "yaml: a key must be"},
		// without the check the password would become part of the name
		{"{name: ivan, password: hunter2}", "name: ^ivan\n        password:hunter2",
			"yaml: a value without quotes has several lines: check its closing "
			"bracket, and in the lines below it the indentation and the blank "
			"after ':'"},
		{"realm: turn.test", "realm: turn^: test",
			"yaml: syntax: mapping values are not allowed in this context"},
		{"{to: stderr, level:", "{to: stderr level^:", ""},
		{"realm: turn.test", "realm: turn.^\xff", "yaml: invalid"},
		{"allow: [10.0", "allow: [[[[[[[[[[[[[[^[[[[10.0", "yaml: nested too deep"},
	};

	CHECK(list);
	conf_file_refused("^", 1, "yaml: the file is empty");
	conf_file_refused("^# nothing\n", 11, "yaml: the file is empty");
	conf_file_refused("^- a\n", 5, "yaml: the file must be a mapping of keys");
	conf_file_refused("^a\n", 3, "yaml: the file must be a mapping of keys");
	conf_file_refused("eal: {}^\0", 9, "yaml: control characters are not allowed");
}

static void test_files(void **state)
{
	char error[CONF_ERROR_LEN];
	char *big = calloc(1, (1 << 20) + 2);

	assert_null(conf_load("/nonexistent/x.yaml", error));
	assert_string_equal(error,
		"/nonexistent/x.yaml:1:1: file: cannot be opened: No such file or "
		"directory");
	assert_null(conf_load("/tmp", error));
	assert_string_equal(error, "/tmp:1:1: file: cannot be read: Is a directory");
	assert_non_null(big);
	memset(big, '#', (1 << 20) + 2);
	big[0] = CONF_MARK;
	conf_file_refused(
		big, (1 << 20) + 2, "file: has more than 1048576 bytes: name a configuration file");
	conf_file_refused(big, (1 << 20) + 1, "yaml: the file is empty");
	free(big);
}

// A file of the largest size made of one odd construct must not take long or much memory.
static void test_large_files(void **state)
{
	static const char *const units[] = {
		"[", "{", "- ", "a: ", "? ", "[a,", "\"", "a\n", "&a ", "k: [", "- - ", "{a: "};
	char *text = malloc(1 << 20), error[CONF_ERROR_LEN];

	assert_non_null(text);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		const size_t len = strlen(units[i]);

		for (size_t pos = 0; pos < 1 << 20; pos++)
			text[pos] = units[i][pos % len];
		assert_null(conf_file_load(text, 1 << 20, error));
	}
	free(text);
}

// FILE:LINE:COL: key: reason, in one line, with LINE and COL from 1.
static void assert_form(const char *error)
{
	const char *place = error + strlen(conf_path);
	unsigned int line = 0, col = 0;
	int used = 0;

	if (strncmp(error, conf_path, strlen(conf_path)) != 0 ||
		sscanf(place, ":%u:%u: %n", &line, &col, &used) != 2 || used == 0 || line == 0 ||
		col == 0 || strstr(place + used, ": ") == NULL || strchr(place, '\n') != NULL)
		fail_msg("not FILE:LINE:COL: key: reason: %s", error);
}

// Returns the new length.
static size_t mutate(struct test_rand *r, char *text, size_t len)
{
	static const char odd[] = "{}[]:,-#&*!|>'\"%@`? \n\t\\0129az/.\xff\xc3";
	unsigned int times = 1 + test_rand_below(r, 4);

	while (times-- > 0 && len > 8) {
		const uint32_t pos = test_rand_below(r, (uint32_t)len - 4);
		const uint32_t run = 1 + test_rand_below(r, 3);

		switch (test_rand_below(r, 5)) {
		case 0:
			do
				text[pos] = (char)test_rand(r);
			while (text[pos] == CONF_MARK);
			break;
		case 1:
			text[pos] = odd[test_rand_below(r, sizeof(odd))];
			break;
		case 2: // cut out
			memmove(text + pos, text + pos + run, len - pos - run);
			len -= run;
			break;
		case 3: // copy bytes from elsewhere
			memmove(text + pos, text + test_rand_below(r, (uint32_t)len - 4), run);
			break;
		default: // truncate
			if (test_rand_below(r, 16) == 0)
				len = pos;
		}
	}
	return len;
}

static void test_mutations(void **state)
{
	struct test_rand r = test_rand_start("test_mutations");
	const unsigned int texts = slowed() ? 2000 : 20000;
	unsigned int good = 0;

	for (unsigned int i = 0; i < texts; i++) {
		char error[CONF_ERROR_LEN], text[sizeof(conf_good)];
		struct conf *c;
		size_t len;

		memcpy(text, conf_good, sizeof(text));
		len = mutate(&r, text, sizeof(text) - 1);
		c = conf_file_load(text, len, error);
		if (c == NULL)
			assert_form(error);
		good += c != NULL;
		conf_free(c);
	}
	// some changes do not matter, most do
	assert_in_range(good, texts / 40, texts * 3 / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_state),
		cmocka_unit_test(test_relay),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_auth),
		cmocka_unit_test(test_yaml),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_large_files),
		cmocka_unit_test(test_mutations),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
