// SPDX-License-Identifier: BSD-3-Clause
// The section realms of the file: its keys, and errors with their positions.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf_changes.h"
#include "addr_text.h"
#include "conf_file.h"
#include "test.h"

#define CHECK(list) conf_file_mistakes(list, sizeof(list) / sizeof(list[0]))
#define NFD "Zoe\u0308"
#define NFC "Zo\u00eb"
#define WRONG(text, error)                                       \
	{                                                        \
		"limits:\n", "realms:\n" text "limits:\n", error \
	}

static struct conf *load_realms(const char *realms)
{
	char replacement[2048];

	snprintf(replacement, sizeof(replacement), "realms:\n%slimits:\n", realms);
	return conf_file_changed("limits:\n", replacement);
}

static void a_file_without_realms_has_one(void **state)
{
	char error[CONF_ERROR_LEN] = "";
	struct conf *c = conf_file_load(conf_good, strlen(conf_good), error);

	assert_non_null(c);
	assert_int_equal(c->turn.nb_realms, 0);
	assert_int_equal(c->turn.listeners[0].nb_realms, 0);
	assert_null(c->turn.first.relay_pool_names);
	conf_free(c);
}

static void realms_are_read(void **state)
{
	struct conf *c =
		load_realms("  - name: a.example\n"
			    "    origins: ['https://app.a.example', 'https://b.a.example:8443']\n"
			    "    users: [{name: ivan, password: hunter5}]\n"
			    "    secrets: [hunter6hunter6hunter6]\n"
			    "    limits: {allocations: 7, per-user: 2}\n"
			    "    peers: {allow: [10.9.0.0/16], deny: [10.9.1.0/24, 9.9.9.9]}\n"
			    "    relay-pools: []\n"
			    "  - {name: b.example, secrets: [hunter7]}\n");
	const struct turn_realm *a = &c->turn.realms[0], *b = &c->turn.realms[1];

	assert_int_equal(c->turn.nb_realms, 2);
	assert_string_equal(a->name, "a.example");
	assert_int_equal(a->nb_origins, 2);
	assert_int_equal(a->nb_users, 1);
	assert_string_equal(a->users[0].password, "hunter5");
	assert_int_equal(a->nb_secrets, 1);
	assert_int_equal(a->allocations, 7);
	assert_int_equal(a->per_user, 2);
	assert_int_equal(a->nb_allow, 1);
	assert_int_equal(a->nb_deny, 2);
	assert_non_null(a->relay_pool_names); // no pools, which differs from all
	assert_int_equal(a->nb_relay_pool_names, 0);
	assert_null(b->relay_pool_names);
	assert_int_equal(b->allocations, 0);
	assert_int_equal(a->number, 1);
	assert_int_equal(b->number, 2);
	conf_forget(c);
	assert_string_equal(a->users[0].password, "");
	assert_string_equal(b->secrets[0], "");
	conf_free(c);
}

// With further realms, auth.realm may have no users.
static void the_first_realm_may_be_empty(void **state)
{
	char *text =
		conf_file_edit("limits:\n", "realms: [{name: a, secrets: [hunter6]}]\nlimits:\n");
	char *empty = conf_text_edit(text,
		"  users:\n"
		"    - {name: ivan, password: hunter2}\n"
		"    - {name: olga, key: 0123456789abcdef0123456789abcdef}\n"
		"  secrets: [hunter3]\n",
		"");
	char error[CONF_ERROR_LEN] = "";
	struct conf *c = conf_file_load(empty, strlen(empty), error);

	free(text);
	free(empty);
	if (c == NULL)
		fail_msg("%s", error);
	conf_free(c);
}

static void listeners_name_realms(void **state)
{
	char *text =
		conf_file_edit("limits:\n", "realms: [{name: a, secrets: [hunter6]}]\nlimits:\n");
	char *named = conf_text_edit(text, "{transport: udp, address: 10.0.0.1, port: 3478}",
		"{transport: udp, address: all, port: 3478, realms: [a, turn.test]}");
	char error[CONF_ERROR_LEN] = "";
	struct conf *c = conf_file_load(named, strlen(named), error);

	free(text);
	free(named);
	if (c == NULL)
		fail_msg("%s", error);
	assert_true(c->turn.nb_listeners > 2);
	for (uint32_t i = 0; i + 1 < c->turn.nb_listeners; i++) { // each has its own texts
		assert_int_equal(c->turn.listeners[i].nb_realms, 2);
		assert_string_equal(c->turn.listeners[i].realms[0], "a");
	}
	conf_free(c);
}

static void mistakes_are_told_at_their_places(void **state)
{
	static const struct conf_file_mistake list[] = {
		WRONG("  - ^{secrets: [hunter6]}\n", "realms[0].name: missing, give it text"),
		WRONG("  - {name: ^'', secrets: [hunter6]}\n", "realms[0].name: must not be empty"),
		WRONG("  - ^{name: a}\n",
			"realms[0]: no client can log in: give realms[0].users or "
			"realms[0].secrets at least one entry"),
		WRONG("  - {name: ^turn.test, secrets: [hunter6]}\n",
			"realms[0].name: is auth.realm"),
		WRONG("  - {name: a, secrets: [hunter6]}\n  - {name: ^a, secrets: [hunter7]}\n",
			"realms[1].name: realms[0] has this name already"),
		WRONG("  - name: a\n    users: [^{name: u}]\n",
			"realms[0].users[0]: this user has neither password nor key"),
		WRONG("  - name: a\n    users: [{name: u, password: hunter5}, "
		      "{name: ^u, password: hunter6}]\n",
			"realms[0].users[1].name: realms[0].users[0] has this name already"),
		WRONG("  - {name: a, secrets: [hunter6], origins: [^a.example]}\n",
			"realms[0].origins[0]: must be an origin like https://"),
		WRONG("  - {name: a, secrets: [hunter6], origins: ['https://x']}\n"
		      "  - {name: b, secrets: [hunter6], origins: [^'HTTPS://X:443']}\n",
			"realms[1].origins[0]: is given twice, first at line 30: an origin has "
			"one realm, remove one"),
		WRONG("  - {name: a, secrets: [hunter6], relay-pools: [^lan]}\n",
			"realms[0].relay-pools[0]: there is no such pool"),
		WRONG("  - {name: a, secrets: [hunter6], limits: {allocations: ^0}}\n",
			"realms[0].limits.allocations: 0 is out of range"),
		WRONG("  - {name: a, secrets: [hunter6], ^pears: {}}\n",
			"realms[0].pears: unknown key, did you mean 'peers'?"),
		WRONG("  - {name: a, secrets: [hunter6], ^hunter2: {}}\n",
			"realms[0].?: unknown key"),
		{"port: 3478}", "port: 3478, realms: [^a]}",
			"listeners[0].realms[0]: there is no such realm"},
		{"port: 3478}", "port: 3478, realms: ^[]}",
			"listeners[0].realms: must not be empty"},
		{"port: 3478}", "port: 3478, realms: [turn.test, ^turn.test]}",
			"listeners[0].realms[1]: is in the list already"},
		{"log: {", "realms: [{name: ^\"a\u0640b\", secrets: [xxxxxxxxxxxxxxxx]}]\nlog: {",
			"realms[0].name: U+0640, character 2, is forbidden in names, passwords "
			"and realms (RFC 8265: it is invisible, unassigned, or obsolete): "
			"remove it"},
		{"port: 3478}", "port: 3478, realms: [^\"a\u0378\"]}",
			"listeners[0].realms[0]: U+0378, character 2, is forbidden in names, "
			"passwords and realms (RFC 8265: it is invisible, unassigned, or "
			"obsolete): remove it"},
		{"  realm: turn.test\n", "  realm: turn.test\n  origins: [^'x']\n",
			"auth.origins[0]: must be an origin"},
		{"  realm: turn.test\n", "  realm: turn.test\n  relay-pools: [^x]\n",
			"auth.relay-pools[0]: there is no such pool"},
	};

	CHECK(list);
}

static void realms_are_found_by_their_prepared_form(void **state)
{
	char error[CONF_ERROR_LEN] = "";
	char *text = conf_file_edit("log: {",
		"realms:\n"
		"  - name: " NFD "\n"
		"    users: [{name: " NFD ", password: " NFD "}]\n"
		"    secrets: [" NFD NFD NFD NFD "]\n"
		"log: {");
	char *served = conf_text_edit(text, "port: 3478}", "port: 3478, realms: [" NFC "]}");
	struct conf *c = conf_file_load(served, strlen(served), error);

	if (c == NULL)
		fail_msg("%s", error);
	assert_string_equal(c->turn.realms[0].name, NFC);
	assert_string_equal(c->turn.listeners[0].realms[0], NFC);
	assert_string_equal(c->turn.realms[0].users[0].name, NFC);
	assert_string_equal(c->turn.realms[0].users[0].password, NFC);
	assert_string_equal(c->turn.realms[0].secrets[0], NFD NFD NFD NFD);
	conf_free(c);
	free(served);
	free(text);
}

static void realms_are_limited(void **state)
{
	char *replacement = malloc(64 * (TURN_REALMS_MAX + 2)), *text;
	size_t used = (size_t)sprintf(replacement, "realms:\n");

	for (int i = 0; i <= TURN_REALMS_MAX; i++)
		used += (size_t)sprintf(replacement + used,
			"  %s- {name: r%d, secrets: [hunter6]}\n", i == 0 ? "^" : "", i);
	sprintf(replacement + used, "limits:\n");
	text = conf_file_edit("limits:\n", replacement);
	conf_file_refused(text, strlen(text), "realms: has 129 entries: write from 0 to 128");
	free(text);
	free(replacement);
}

// --- pools ---------------------------------------------------------------------------------------

// Two pools may serve equal peers if no realm has both.
static void pools_of_two_realms_may_overlap(void **state)
{
	static const char relay[] = "  addresses: [10.0.0.1, 'fd00::1', 10.1.0.2-10.1.0.4]\n";
	static const char pools[] =
		"  addresses: [10.0.0.1, 'fd00::1']\n"
		"  pools: [{name: x, addresses: [10.1.0.5], for: [10.5.0.0/16]},\n"
		"          {name: y, addresses: [10.1.0.6], for: [^10.5.0.0/16]}]\n";
	static const char realms[] = "realms: [{name: a, secrets: [hunter6], relay-pools: [x]}, "
				     "{name: b, secrets: [hunter6], relay-pools: [y]}]\nlimits:\n";
	char *one = conf_file_edit(relay, pools), *two = conf_text_edit(one, "limits:\n", realms);
	char *three = conf_text_edit(
		two, "  realm: turn.test\n", "  realm: turn.test\n  relay-pools: []\n");
	char error[CONF_ERROR_LEN] = "", place[CONF_PLACE_LEN];
	struct conf *c;

	conf_file_refused(one, strlen(one), "relay.pools[1].for[0]: 10.5.0.0/16 is in pool '");
	conf_file_refused(two, strlen(two), "relay.pools[1].for[0]: 10.5.0.0/16 is in pool '");
	c = conf_file_load(three, conf_text_unmark(three, strlen(three), place), error);
	if (c == NULL)
		fail_msg("%s", error);
	conf_free(c);
	free(one);
	free(two);
	free(three);
}

// Two tenants on ports lan and dmz, whose networks have equal addresses. Both have pools for one
// relay address, or for two.
static struct conf *tenants(const char *relay, const char *x, const char *y)
{
	static const char old[] = "  addresses: [10.0.0.1, 'fd00::1', 10.1.0.2-10.1.0.4]\n";
	static const char dmz[] = "  - name: dmz\n    device: net_c\n"
				  "    addresses: [10.2.0.2/16, 10.2.0.3/16]\n"
				  "    routes: [{to: 10.5.0.0/24, via: 10.2.0.9}]\nlisteners:\n";
	static const char realms[] = "realms: [{name: a, secrets: [hunter6], relay-pools: [x]}, "
				     "{name: b, secrets: [hunter6], relay-pools: [y]}]\nlimits:\n";
	static const char none[] = "  realm: turn.test\n  relay-pools: []\n";
	char pools[512], error[CONF_ERROR_LEN] = "";
	char *text[4];
	struct conf *c;

	snprintf(pools, sizeof(pools),
		"  addresses: [10.0.0.1, %s]\n"
		"  pools: [{name: x, addresses: [%s], for: [10.5.0.0/16]},\n"
		"          {name: y, addresses: [%s], for: [10.5.0.0/16]}]\n",
		relay, x, y);
	text[0] = conf_file_edit("listeners:\n", dmz);
	text[1] = conf_text_edit(text[0], old, pools);
	text[2] = conf_text_edit(text[1], "limits:\n", realms);
	text[3] = conf_text_edit(text[2], "  realm: turn.test\n", none);
	c = conf_file_load(text[3], strlen(text[3]), error);
	if (c == NULL)
		fail_msg("%s", error);
	for (int i = 0; i < 4; i++)
		free(text[i]);
	return c;
}

static int port_to(const struct conf *c, uint8_t src_port, const char *dst)
{
	const struct addr a = addr_text(dst);
	const struct route *r = routes_find(c->turn.routes, c->turn.nb_routes, src_port, &a);

	return r != NULL ? r->port : -1;
}

static void networks_of_realms_are_apart(void **state)
{
	struct conf *c = tenants("'fd00::1'", "10.1.0.5", "10.2.0.2");

	assert_int_equal(c->turn.apart, 1 << 1 | 1 << 2);
	assert_int_equal(port_to(c, 0, "10.0.0.9"), 0);
	assert_int_equal(port_to(c, 0, "10.1.0.99"), 0); // by the gateway: lan has no route
	assert_int_equal(port_to(c, 0, "10.5.0.9"), 0);
	assert_int_equal(port_to(c, 1, "10.1.0.99"), 1);
	assert_int_equal(port_to(c, 1, "10.5.0.9"), -1); // dmz has a route
	assert_int_equal(port_to(c, 1, "10.0.0.9"), -1);
	assert_int_equal(port_to(c, 2, "10.5.0.9"), 2);
	assert_int_equal(port_to(c, 2, "10.1.0.99"), -1);
	conf_free(c);
}

// A pool on a port with relay addresses of all realms is not apart, nor is a pool of all realms.
static void other_networks_may_overlap(void **state)
{
	struct conf *c = tenants("10.1.0.2", "10.1.0.5-10.1.0.6", "10.2.0.2-10.2.0.3");
	struct conf *d =
		conf_file_changed("relay:\n  addresses: [10.0.0.1, 'fd00::1', 10.1.0.2-10.1.0.4]\n",
			"realms: [{name: a, secrets: [hunter6]}]\n"
			"relay:\n  addresses: [10.0.0.1, 'fd00::1']\n"
			"  pools: [{name: x, addresses: [10.1.0.5], for: [10.5.0.0/16]}]\n");

	assert_int_equal(c->turn.apart, 1 << 2);
	assert_int_equal(port_to(c, 0, "10.1.0.99"), 1);
	assert_int_equal(port_to(c, 1, "10.0.0.9"), 0);
	assert_int_equal(port_to(c, 2, "10.1.0.99"), -1);
	conf_free(c);
	assert_int_equal(d->turn.apart, 0);
	assert_int_equal(port_to(d, 0, "10.1.0.99"), 1);
	conf_free(d);
}

// --- warnings ------------------------------------------------------------------------------------

static void keep(void *ctx, enum conf_weight weight, const char *line)
{
	char *all = ctx;

	assert_int_equal(weight, CONF_WARNING);
	snprintf(all + strlen(all), 8192 - strlen(all), "%s\n", line);
}

static void doubtful_realms_are_warnings(void **state)
{
	static char all[8192];
	struct conf_report report = {.say = keep, .ctx = all};
	struct conf *c = load_realms("  - {name: a-realm-that-amplifies, secrets: [short]}\n"
				     "  - {name: '${REALM}', secrets: [changeme-changeme]}\n");

	conf_warnings(c, &report);
	assert_non_null(strstr(all,
		conf_file_at("a-realm",
			"realms[0].name: has 22 bytes, and unauthenticated answers amplify: "
			"use at most 16, ")));
	assert_non_null(strstr(all,
		conf_file_at("short",
			"realms[0].secrets[0]: has fewer than 16 characters and may be "
			"guessed: make it longer")));
	assert_non_null(strstr(all,
		conf_file_at("'${REALM}'",
			"realms[1].name: looks like a variable, which slipring does not fill "
			"in: write the value itself")));
	assert_non_null(strstr(all,
		conf_file_at("changeme",
			"realms[1].secrets[0]: is the published secret of the examples: write "
			"your own (openssl rand -hex 24)")));
	conf_free(c);
}

// Each pool is judged by its own addresses, and its peers by the rules of all its realms.
static void pools_of_realms_are_judged_apart(void **state)
{
	static char all[8192];
	struct conf_report report = {.say = keep, .ctx = all};
	struct conf *c = tenants("'fd00::1'", "10.1.0.5", "10.2.0.2");
	struct prefix allow;

	conf_warnings(c, &report);
	assert_non_null(strstr(
		all, "relay.pools[0].for[0]: peers.allow allows no peer of it: add them there"));
	assert_non_null(strstr(all, "relay.pools[0].for[0]: no route leads to these peers"));
	assert_non_null(strstr(
		all, "relay.pools[1].for[0]: peers.allow allows no peer of it: add them there"));
	assert_null(strstr(all, "relay.pools[1].for[0]: no route leads to these peers"));
	allow = c->turn.relay_pools[1].peers[0];
	c->turn.realms[1].allow = &allow;
	c->turn.realms[1].nb_allow = 1;
	all[0] = '\0';
	conf_warnings(c, &report);
	assert_null(strstr(all, "peers.allow allows no peer of it: add them there"));
	c->turn.realms[1].allow = NULL;
	c->turn.realms[1].nb_allow = 0;
	conf_free(c);
}

static void a_realm_that_nobody_serves_is_told(void **state)
{
	static char all[8192];
	struct conf_report report = {.say = keep, .ctx = all};
	char *text = conf_file_edit(
		"limits:\n", "realms: [{name: a, secrets: [hunter6hunter6hunter6]}]\nlimits:\n");
	char *first = conf_text_edit(text, "port: 3478}", "port: 3478, realms: [turn.test]}");
	char *named = conf_text_edit(first, "port: 50000}", "port: 50000, realms: [turn.test]}");
	char error[CONF_ERROR_LEN] = "";
	struct conf *c = conf_file_load(named, strlen(named), error);

	assert_non_null(c);
	conf_warnings(c, &report);
	assert_non_null(strstr(all,
		"realms[0].name: no listener serves this realm: name it in "
		"listeners[].realms"));
	conf_free(c);
	free(text);
	free(first);
	free(named);
}

// --- changes -------------------------------------------------------------------------------------

struct told {
	unsigned int nb, cold;
	char key[16][128];
	bool secret[16];
};

static void tell(void *ctx, const struct conf_change *c)
{
	struct told *t = ctx;

	assert_true(t->nb < 16);
	snprintf(t->key[t->nb], sizeof(t->key[0]), "%s", c->key);
	t->secret[t->nb++] = c->secret;
	t->cold += !c->hot;
	assert_true(!c->secret || (c->before == NULL && c->after == NULL));
}

static struct told changes(const char *before, const char *after)
{
	struct told t = {0};
	struct conf *c[2];

	for (int i = 0; i < 2; i++) {
		char replacement[1024], *text;

		snprintf(replacement, sizeof(replacement), "realms:\n%slimits:\n",
			i == 0 ? before : after);
		text = conf_file_edit("limits:\n", replacement);
		c[i] = conf_file_said(text);
		free(text);
	}
	conf_changes(c[0], c[1], tell, &t);
	conf_free(c[0]);
	conf_free(c[1]);
	return t;
}

#define A "  - {name: a, secrets: [hunter6], users: [{name: u, password: hunter5}]}\n"

static void realms_take_no_restart(void **state)
{
	struct told t = changes(A, A "  - {name: b, secrets: [hunter7], relay-pools: []}\n");

	assert_int_equal(t.nb, 1);
	assert_string_equal(t.key[0], "realms[b]");
	assert_int_equal(t.cold, 0);
	t = changes(
		A, "  - {name: a, secrets: [hunter7], users: [{name: u, password: hunter8}]}\n");
	assert_int_equal(t.nb, 2);
	assert_string_equal(t.key[0], "realms[a].secrets");
	assert_string_equal(t.key[1], "realms[a].users[u].password");
	assert_true(t.secret[0] && t.secret[1]);
	assert_int_equal(t.cold, 0);
	t = changes(A,
		"  - {name: a, secrets: [hunter6], users: [{name: u, password: hunter5}], "
		"limits: {per-user: 2}, peers: {deny: [9.9.9.9]}, origins: ['https://x']}\n");
	assert_int_equal(t.nb, 3);
	assert_int_equal(t.cold, 0);
}

// Peers know allocations by the addresses of their pool.
static void pools_of_a_realm_take_one(void **state)
{
	struct told t = changes(A,
		"  - {name: a, secrets: [hunter6], users: [{name: u, password: hunter5}], "
		"relay-pools: []}\n");

	assert_int_equal(t.nb, 1);
	assert_string_equal(t.key[0], "realms[a].relay-pools");
	assert_int_equal(t.cold, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_without_realms_has_one),
		cmocka_unit_test(realms_are_read),
		cmocka_unit_test(the_first_realm_may_be_empty),
		cmocka_unit_test(listeners_name_realms),
		cmocka_unit_test(mistakes_are_told_at_their_places),
		cmocka_unit_test(realms_are_found_by_their_prepared_form),
		cmocka_unit_test(realms_are_limited),
		cmocka_unit_test(pools_of_two_realms_may_overlap),
		cmocka_unit_test(networks_of_realms_are_apart),
		cmocka_unit_test(other_networks_may_overlap),
		cmocka_unit_test(doubtful_realms_are_warnings),
		cmocka_unit_test(pools_of_realms_are_judged_apart),
		cmocka_unit_test(a_realm_that_nobody_serves_is_told),
		cmocka_unit_test(realms_take_no_restart),
		cmocka_unit_test(pools_of_a_realm_take_one),
	};

	return cmocka_run_group_tests_name("conf realms", tests, conf_file_open, conf_file_close);
}
