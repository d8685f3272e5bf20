// SPDX-License-Identifier: BSD-3-Clause
// auth.oauth and realms[].oauth of the file: their keys, and errors with their positions.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf_changes.h"
#include "conf_dir.h"
#include "conf_file.h"
#include "feature_names.h"
#include "test.h"
#include "features/tokens/token.h"

#define CHECK(list) conf_file_mistakes(list, sizeof(list) / sizeof(list[0]))
// 32 and 16 bytes; no error may quote any of them
#define K256 "'0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'"
#define K256_BASE64 "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
#define K128 "'0123456789abcdef0123456789abcdef'"
#define AUTH(text) "  secrets: [hunter3]\n", "  secrets: [hunter3]\n  oauth:\n" text
#ifdef FEATURE_REALMS
#define REALM(text) \
	"limits:\n", "realms:\n  - name: a\n    secrets: [hunter6]\n    oauth:\n" text "limits:\n"
#endif

static void a_file_without_keys_takes_no_tokens(void **state)
{
	struct conf *c = conf_file_changed("port: 3478}", "port: 3478}");

	assert_int_equal(c->turn.first.oauth.nb_keys, 0);
	assert_null(c->turn.first.oauth.server_name);
	conf_free(c);
}

static void keys_are_read(void **state)
{
	struct conf *c = conf_file_changed(AUTH("    server-name: relay.test\n"
						"    keys:\n"
						"      - {kid: north, secret: " K256 "}\n"
						"      - {kid: south, secret: " K256_BASE64 "}\n"
						"      - {kid: west, secret: " K128 "}\n"));
	const struct turn_oauth *o = &c->turn.first.oauth;

	assert_string_equal(o->server_name, "relay.test");
	assert_int_equal(o->nb_keys, 3);
	assert_string_equal(o->keys[0].kid, "north");
	assert_int_equal(o->keys[0].algorithm, STUN_TOKEN_A256GCM);
	assert_string_equal(o->keys[1].secret, K256_BASE64);
	assert_int_equal(o->keys[2].algorithm, STUN_TOKEN_A128GCM);
	conf_forget(c);
	assert_string_equal(o->keys[0].secret, "");
	conf_free(c);
}

#ifdef FEATURE_REALMS
static void a_realm_has_its_own(void **state)
{
	struct conf *c = conf_file_changed(
		REALM("      keys: [{kid: north, secret: " K256 "}]\n"
		      "  - {name: b, oauth: {keys: [{kid: north, secret: " K256 "}]}}\n"));

	assert_int_equal(c->turn.nb_realms, 2);
	assert_int_equal(c->turn.first.oauth.nb_keys, 0);
	assert_int_equal(c->turn.realms[0].oauth.nb_keys, 1);
	assert_null(c->turn.realms[0].oauth.server_name);
	assert_string_equal(c->turn.realms[1].oauth.keys[0].kid, "north");
	conf_forget(c);
	assert_string_equal(c->turn.realms[1].oauth.keys[0].secret, "");
	conf_free(c);
}
#endif

// Tokens may be the only credentials: no user needs to be configured.
static void keys_alone_are_enough(void **state)
{
	struct conf *c =
		conf_file_changed("  users:\n"
				  "    - {name: ivan, password: hunter2}\n"
				  "    - {name: olga, key: 0123456789abcdef0123456789abcdef}\n"
				  "  secrets: [hunter3]\n",
			"  oauth: {keys: [{kid: north, secret: " K256 "}]}\n");

	assert_int_equal(c->turn.first.oauth.nb_keys, 1);
	conf_free(c);
}

static void a_secret_may_stand_in_a_file(void **state)
{
	char replacement[512];
	struct conf *c;

	conf_dir_put("north", K256_BASE64 "\n");
	snprintf(replacement, sizeof(replacement),
		"  secrets: [hunter3]\n  oauth: {keys: [{kid: north, secret-file: %s}]}\n",
		conf_dir_path("north"));
	c = conf_file_changed("  secrets: [hunter3]\n", replacement);
	assert_string_equal(c->turn.first.oauth.keys[0].secret, K256_BASE64);
	conf_free(c);
}

static void mistakes_are_told_at_their_places(void **state)
{
	static const struct conf_file_mistake list[] = {
		{AUTH("    keys: [^{kid: north}]\n"),
			"auth.oauth.keys[0]: this key has no secret: give it secret or "
			"secret-file"},
		{AUTH("    keys: [^{secret: " K256 "}]\n"),
			"auth.oauth.keys[0].kid: missing, give it text"},
		{AUTH("    keys: [{kid: north, secret: ^hunter2hunter2!}]\n"),
			"auth.oauth.keys[0].secret: must be 64 or 32 hexadecimal digits, or 32 "
			"or 16 bytes in base64 (openssl rand -base64 32)"},
		{AUTH("    keys: [{kid: north, secret: "
		      // as in coturn's uclient
		      "^MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEK}]\n"),
			"auth.oauth.keys[0].secret: is 33 bytes in base64, a key has 32 or 16 "
			"(coturn takes the first 32 of more)"},
		{AUTH("    keys:\n      - {kid: north, secret: " K256 "}\n"
		      "      - {kid: ^north, secret: " K256 "}\n"),
			"auth.oauth.keys[1].kid: keys[0] has this kid already: remove one"},
		{AUTH("    keys: [{kid: ^olga, secret: " K256 "}]\n"),
			"auth.oauth.keys[0].kid: users[1] has this name, and both are a "
			"USERNAME: rename one of them"},
		{AUTH("    keys: [{kid: north, secret: " K256 ", secret-file: ^x}]\n"),
			"auth.oauth.keys[0].secret-file: "},
		{AUTH("    server-name: ^''\n"), "auth.oauth.server-name: must not be empty"},
		{AUTH("    ^name: x\n"), "auth.oauth.?: unknown key"},
#ifdef REALM
		{REALM("      keys: [{kid: north, secret: ^x}]\n"),
			"realms[0].oauth.keys[0].secret: must be 64 or 32 hexadecimal"},
#endif
	};

	CHECK(list);
}

// --- changes -------------------------------------------------------------------------------------

struct told {
	unsigned int nb;
	char key[128];
	bool hot, secret;
};

static void tell(void *ctx, const struct conf_change *c)
{
	struct told *t = ctx;

	t->nb++;
	snprintf(t->key, sizeof(t->key), "%s", c->key);
	t->hot = c->hot;
	t->secret = c->secret;
	assert_true(!c->secret || (c->before == NULL && c->after == NULL));
}

static struct conf *load(const char *piece, const char *replacement)
{
	char *text = conf_file_edit(piece, replacement);
	struct conf *c = conf_file_said(text);

	free(text);
	return c;
}

static struct told changes(struct conf *before, struct conf *after)
{
	struct told t = {0};

	conf_changes(before, after, tell, &t);
	conf_free(before);
	conf_free(after);
	return t;
}

#define ONE_KEY "    keys: [{kid: north, secret: " K256 "}]\n"
#define OTHER "'f123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'"

static void keys_take_no_restart(void **state)
{
	struct told t = changes(load(AUTH(ONE_KEY)),
		load(AUTH("    keys: [{kid: west, secret: " K128 "}, {kid: north, secret: " K256
			  "}]\n")));

	assert_int_equal(t.nb, 1);
	assert_string_equal(t.key, "auth.oauth.keys[west]");
	assert_true(t.hot);
	t = changes(
		load(AUTH(ONE_KEY)), load(AUTH("    keys: [{kid: north, secret: " OTHER "}]\n")));
	assert_int_equal(t.nb, 1);
	assert_string_equal(t.key, "auth.oauth.keys[north].secret");
	assert_true(t.hot && t.secret);
	t = changes(load(AUTH(ONE_KEY)), load(AUTH("    server-name: x\n" ONE_KEY)));
	assert_string_equal(t.key, "auth.oauth.server-name");
	assert_true(t.hot);
#ifdef REALM
	t = changes(load(REALM("      keys: [{kid: north, secret: " K256 "}]\n")),
		load(REALM("      keys: [{kid: north, secret: " OTHER "}]\n")));
	assert_string_equal(t.key, "realms[a].oauth.keys[north].secret");
	assert_true(t.hot && t.secret);
#endif
}

// A reload adopts new keys, and the old ones are freed once.
static void a_reload_takes_keys_over(void **state)
{
	struct conf *running = load(AUTH(ONE_KEY));
	struct conf *fresh = load(AUTH("    server-name: x\n    keys: [{kid: west, secret: " K256
				       "}, {kid: south, secret: " K256 "}]\n"));
	struct conf *merged = conf_merge(running, fresh);

	assert_non_null(merged);
	assert_int_equal(merged->turn.first.oauth.nb_keys, 2);
	conf_adopt(running, fresh, merged);
	conf_merge_free(merged);
	assert_string_equal(running->turn.first.oauth.server_name, "x");
	assert_string_equal(running->turn.first.oauth.keys[1].kid, "south");
	assert_string_equal(fresh->turn.first.oauth.keys[0].kid, "north");
	conf_free(fresh);
	conf_free(running);
}

// --- warnings ------------------------------------------------------------------------------------

static void keep(void *ctx, enum conf_weight weight, const char *line)
{
	char *all = ctx;

	snprintf(all + strlen(all), 8192 - strlen(all), "%s\n", line);
}

static void doubtful_names_are_warnings(void **state)
{
	static char all[8192];
	struct conf_report report = {.say = keep, .ctx = all};
	struct conf *c = conf_file_changed(
		AUTH("    server-name: a-name-of-more-than-thirty-two-bytes.example\n" ONE_KEY));

	conf_warnings(c, &report);
	assert_non_null(strstr(all,
		conf_file_at("a-name-of",
			"auth.oauth.server-name: has 44 bytes, and unauthenticated answers "
			"amplify: use at most 32, which keep them within 3 times their request")));
	conf_free(c);
	all[0] = '\0';
	c = conf_file_changed(AUTH("    server-name: relay.test\n"));
	conf_warnings(c, &report);
	assert_non_null(strstr(all,
		conf_file_at("relay.test",
			"auth.oauth.server-name: has no effect without keys, because no token "
			"is accepted: add keys, or remove it")));
	conf_free(c);
}

static int make(void **state)
{
	return conf_dir_open(state) == 0 ? conf_file_open(state) : -1;
}

static int unmake(void **state)
{
	return conf_file_close(state) == 0 ? conf_dir_close(state) : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_without_keys_takes_no_tokens),
		cmocka_unit_test(keys_are_read),
#ifdef REALM
		cmocka_unit_test(a_realm_has_its_own),
#endif
		cmocka_unit_test(keys_alone_are_enough),
		cmocka_unit_test(a_secret_may_stand_in_a_file),
		cmocka_unit_test(mistakes_are_told_at_their_places),
		cmocka_unit_test(keys_take_no_restart),
		cmocka_unit_test(a_reload_takes_keys_over),
		cmocka_unit_test(doubtful_names_are_warnings),
	};

	return cmocka_run_group_tests(tests, make, unmake);
}
