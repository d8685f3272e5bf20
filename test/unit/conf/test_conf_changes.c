// SPDX-License-Identifier: BSD-3-Clause
// The reported differences between two files.
#include <stdlib.h>

#include "conf_changes.h"
#include "conf_file.h"
#include "test.h"

#define MAX 16

static const char base[] =
	"workers: {count: 1}\n"
	"ports:\n"
	"  - name: wan\n"
	"    device: net_a\n"
	"    addresses: [10.0.0.1/24, {address: 10.0.0.2/24, external: 203.0.113.2}]\n"
	"    gateway: [10.0.0.254]\n"
	"    routes: [{to: 10.8.0.0/16, via: 10.0.0.253}]\n"
	"listeners: [{address: 10.0.0.1}]\n"
	"relay: {addresses: [10.0.0.1]}\n"
	"auth:\n"
	"  realm: turn.test\n"
	"  users: [{name: ivan, password: Kestrel7Quartz}, {name: olga, password: Walnut3Cobalt}]\n"
	"  secrets: [JuniperGranite0001]\n"
	"peers: {allow: [10.1.0.0/16, 10.2.0.0/16], deny: [192.0.2.0/24]}\n"
	"records: {rotate: 64M}\n";

struct told {
	char key[128], before[64], after[64]; // "-" = NULL
	bool entry, secret, hot;
};

static struct told told[MAX];
static unsigned int nb_told;

static void hear(void *ctx, const struct conf_change *c)
{
	struct told *t = &told[nb_told++];

	assert_true(nb_told <= MAX);
	snprintf(t->key, sizeof(t->key), "%s", c->key);
	snprintf(t->before, sizeof(t->before), "%s", c->before != NULL ? c->before : "-");
	snprintf(t->after, sizeof(t->after), "%s", c->after != NULL ? c->after : "-");
	t->entry = c->entry;
	t->secret = c->secret;
	t->hot = c->hot;
}

// Replaces a piece of base, and compares.
static void change(const char *piece, const char *replacement)
{
	char *text = conf_text_edit(base, piece, replacement);
	struct conf *before = conf_file_said(base), *after = conf_file_said(text);
	unsigned int nb;

	nb_told = 0;
	nb = conf_changes(before, after, hear, NULL);
	assert_int_equal(nb, nb_told);
	conf_free(before);
	conf_free(after);
	free(text);
}

static void assert_told(
	unsigned int i, const char *key, const char *before, const char *after, bool hot)
{
	assert_true(i < nb_told);
	assert_string_equal(told[i].key, key);
	assert_string_equal(told[i].before, before);
	assert_string_equal(told[i].after, after);
	assert_int_equal(told[i].hot, hot);
}

static void assert_one(const char *key, const char *before, const char *after, bool hot)
{
	assert_int_equal(nb_told, 1);
	assert_told(0, key, before, after, hot);
}

// A default that is written out, and a value in another spelling.
static void equal_values_in_other_spellings_are_no_change(void **state)
{
	static const char *const same[][2] = {{"rotate: 64M", "rotate: 65536K"},
		{"rotate: 64M", "rotate: 67108864"},
		{"{address: 10.0.0.1}", "{transport: udp, address: 10.0.0.1, port: 3478}"},
		{"    device: net_a\n", "    mtu: 1500\n    device: 'net_a'\n"},
		{"peers: {", "peers: {hairpin: true, "},
		{"password: Kestrel7Quartz", "password: \"Kestrel7Quartz\""}};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		change(same[i][0], same[i][1]);
		assert_int_equal(nb_told, 0);
	}
}

static void values_are_told_as_the_files_have_them(void **state)
{
	change("deny: [192.0.2.0/24]", "deny: []");
	assert_one("peers.deny", "192.0.2.0/24", "-", true);
	change("workers: {count: 1}", "workers: {count: 2}");
	assert_one("workers.count", "1", "2", false);
	change("    device: net_a\n", "    device: net_b\n");
	assert_one("ports[wan].device", "net_a", "net_b", false);
	change("realm: turn.test", "realm: turn.test\n  rest-expiry: ends-session");
	assert_one("auth.rest-expiry", "ignored", "ends-session", true);
	change("rotate: 64M", "rotate: 1M, journal: true");
	assert_int_equal(nb_told, 2);
	assert_told(0, "records.journal", "false", "true", true);
	assert_told(1, "records.rotate", "67108864", "1048576", true);
}

static void changes_of_lists_name_the_difference(void **state)
{
	change("[10.1.0.0/16, 10.2.0.0/16]", "[10.2.0.0/16, 10.3.0.0/16]");
	assert_one("peers.allow", "10.1.0.0/16", "10.3.0.0/16", true);
	change("[10.1.0.0/16, 10.2.0.0/16]", "[10.1.0.0/16, 10.2.0.0/16, 10.3.0.0/16]");
	assert_one("peers.allow", "-", "10.3.0.0/16", true);
}

static void entries_come_and_go_as_a_whole(void **state)
{
	change(", {name: olga, password: Walnut3Cobalt}", "");
	assert_one("auth.users[olga]", "", "-", true);
	assert_true(told[0].entry);
	change("name: olga", "name: petr");
	assert_int_equal(nb_told, 2);
	assert_told(0, "auth.users[olga]", "", "-", true);
	assert_told(1, "auth.users[petr]", "-", "", true);
	change("[10.0.0.1/24, ", "[10.0.0.1/24, 10.0.0.3/24, ");
	assert_one("ports[wan].addresses[10.0.0.3/24]", "-", "", false);
	change("routes: [", "routes: [{to: 10.9.0.0/16, via: 10.0.0.253}, ");
	assert_one("ports[wan].routes[10.9.0.0/16]", "-", "", true);
}

static void inside_an_entry_the_key_is_told(void **state)
{
	change("external: 203.0.113.2", "external: 203.0.113.9");
	assert_one(
		"ports[wan].addresses[10.0.0.2/24].external", "203.0.113.2", "203.0.113.9", true);
	change("via: 10.0.0.253", "via: 10.0.0.252");
	assert_one("ports[wan].routes[10.8.0.0/16].via", "10.0.0.253", "10.0.0.252", true);
}

static void secrets_are_not_told(void **state)
{
	change("Kestrel7Quartz", "Kestrel7Quarts");
	assert_one("auth.users[ivan].password", "-", "-", true);
	assert_true(told[0].secret);
	change("[JuniperGranite0001]", "[JuniperGranite0001, JuniperGranite0002]");
	assert_one("auth.secrets", "-", "-", true);
	assert_true(told[0].secret);
	change("password: Kestrel7Quartz", "key: 0123456789abcdef0123456789abcdef");
	assert_int_equal(nb_told, 2);
	assert_told(0, "auth.users[ivan].key", "-", "-", true);
	assert_told(1, "auth.users[ivan].password", "-", "-", true);
}

#define LISTENER "listeners: [{address: 10.0.0.1}]"
#define SECURE "listeners: [{address: 10.0.0.1}, {transport: tls, address: 192.0.2.7, tls: {"
#define FILES "certificate: /c, key: /k"

// Certificates and ALPN of one listener, and of all. Writing out a default is no change.
static void identities_are_hot(void **state)
{
	char *one = conf_text_edit(base, LISTENER, SECURE FILES "}}]");
	char *two = conf_text_edit(base, LISTENER, SECURE "certificate: /c2, key: /k, alpn: []}}]");
	struct conf *before = conf_file_said(one), *after = conf_file_said(two);

	nb_told = 0;
	assert_int_equal(conf_changes(before, after, hear, NULL), 2);
	assert_told(0, "listeners[tls 192.0.2.7 3478].tls.alpn", "-", "[]", true);
	assert_told(1, "listeners[tls 192.0.2.7 3478].tls.certificate", "/c", "/c2", true);
	nb_told = 0;
	assert_int_equal(conf_changes(after, before, hear, NULL), 2);
	assert_told(0, "listeners[tls 192.0.2.7 3478].tls.alpn", "[]", "-", true);
	conf_free(before);
	conf_free(after);
	free(one);
	free(two);
	change(LISTENER, "tls: {alpn: [stun.turn, stun.nat-discovery]}\n" LISTENER);
	assert_int_equal(nb_told, 0);
	change(LISTENER, "tls: {alpn: [stun.turn, h2]}\n" LISTENER);
	assert_one("tls.alpn", "stun.nat-discovery", "h2", true);
	change(LISTENER, "tls: {alpn: []}\n" LISTENER);
	assert_one("tls.alpn", "stun.turn, stun.nat-discovery", "-", true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_values_in_other_spellings_are_no_change),
		cmocka_unit_test(values_are_told_as_the_files_have_them),
		cmocka_unit_test(changes_of_lists_name_the_difference),
		cmocka_unit_test(entries_come_and_go_as_a_whole),
		cmocka_unit_test(inside_an_entry_the_key_is_told),
		cmocka_unit_test(secrets_are_not_told),
		cmocka_unit_test(identities_are_hot),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
