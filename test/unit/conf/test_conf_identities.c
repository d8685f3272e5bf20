// SPDX-License-Identifier: BSD-3-Clause
// Certificates and ALPN: of all listeners, and of one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf_file.h"
#include "test.h"

#define CHECK(list) conf_file_mistakes(list, sizeof(list) / sizeof(list[0]))
#define FIRST "  - {transport: udp, address: 10.0.0.1, port: 3478}\n"
#define TLS "  - {transport: tls, address: 192.0.2.7, tls: {"

static void test_defaults(void **state)
{
	struct conf *c = conf_file_changed(FIRST, FIRST);

	assert_int_equal(c->tls.nb_alpn, 2);
	assert_string_equal(c->tls.alpn[0], "stun.turn");
	assert_string_equal(c->tls.alpn[1], "stun.nat-discovery");
	assert_null(c->turn.listeners[0].tls.certificate);
	assert_null(c->turn.listeners[0].tls.alpn);
	conf_free(c);
}

// An empty list differs from a missing one.
static void test_empty_lists(void **state)
{
	struct conf *c = conf_file_changed("listeners:\n" FIRST,
		"tls: {certificate: a, key: b, alpn: []}\nlisteners:\n" FIRST TLS "alpn: []}}\n");

	assert_int_equal(c->tls.nb_alpn, 0);
	assert_int_equal(c->turn.listeners[1].tls.nb_alpn, 0);
	assert_non_null(c->turn.listeners[1].tls.alpn);
	assert_null(c->turn.listeners[0].tls.alpn);
	conf_free(c);
}

static void test_own(void **state)
{
	struct conf *c = conf_file_changed(
		FIRST, FIRST TLS "certificate: /c.pem, key: /k.pem, alpn: [h2, my.turn]}}\n");
	const struct turn_listener_tls *tls = &c->turn.listeners[1].tls;

	assert_string_equal(tls->certificate, "/c.pem");
	assert_string_equal(tls->key, "/k.pem");
	assert_int_equal(tls->nb_alpn, 2);
	assert_string_equal(tls->alpn[1], "my.turn");
	assert_int_equal(c->turn.listeners[1].entry, 1);
	conf_free(c);
}

// Each listener that an entry expands to has the entry's settings in its own copy.
static void test_on_all_addresses(void **state)
{
	struct conf *c = conf_file_changed("listeners:\n" FIRST,
		"listeners:\n" FIRST "  - {transport: dtls, address: all, port: 5349, "
		"tls: {certificate: /c.pem, key: /k.pem, alpn: [h2, my.turn]}}\n");
	unsigned int nb = 0;

	for (uint32_t i = 0; i < c->turn.nb_listeners; i++) {
		const struct turn_listener *l = &c->turn.listeners[i];

		if (l->transport != TURN_OVER_DTLS)
			continue;
		assert_int_equal(l->entry, 1);
		assert_string_equal(l->tls.certificate, "/c.pem");
		assert_string_equal(l->tls.key, "/k.pem");
		assert_string_equal(l->tls.alpn[0], "h2");
		assert_string_equal(l->tls.alpn[1], "my.turn");
		nb++;
	}
	assert_true(nb > 5);
	assert_int_equal(c->turn.listeners[c->turn.nb_listeners - 1].entry, 2);
	conf_free(c);
}

static void test_errors(void **state)
{
	char name[300], replacement[512], want[128];
	static const struct conf_file_mistake list[] = {
		{FIRST, FIRST TLS "certificate: ^a}}\n",
			"listeners[1].tls.certificate: the certificate has no key here: add "
			"key, too"},
		{FIRST, FIRST TLS "key: ^a}}\n",
			"listeners[1].tls.key: the key has no certificate here: add "
			"certificate, too"},
		{FIRST, FIRST TLS "alpn: [h2]}}\n",
			"listeners[1].transport: tls.certificate is missing: name the PEM file",
			"tls"},
		{"listeners:\n" FIRST,
			"tls: {certificate: a, key: b, alpn: [h2, h3, ^h2]}\nlisteners:\n" FIRST,
			"tls.alpn[2]: is given twice: remove one"},
		{FIRST, FIRST TLS "certificate: a, key: b, alpn: [h2, ^h2]}}\n",
			"listeners[1].tls.alpn[1]: is given twice: remove one"},
		{FIRST, FIRST TLS "certificate: a, key: b, alpn: [^'']}}\n",
			"listeners[1].tls.alpn[0]: must not be empty"},
		{FIRST, FIRST TLS "certificate: a, key: b, alpn: ^h2}}\n",
			"listeners[1].tls.alpn: must be a list of texts"},
		{FIRST, FIRST TLS "certificate: a, key: b, ^chain: c}}\n",
			"listeners[1].tls.chain: unknown key"},
		{FIRST, "  - {transport: udp, address: 10.0.0.1, tls: ^{alpn: [h2]}}\n",
			"listeners[0].tls: needs transport: tls, auto or dtls: remove it"},
		{FIRST,
			FIRST
			"  - {transport: tcp, address: ^all, tls: {certificate: a, key: b}}\n",
			"listeners[1].address: no port has 'exception'"},
		{FIRST,
			FIRST TLS "certificate: a, key: b, alpn: [a, b, c, d, e, f, g, h, i, j, "
				  "k, l, m, n, o, p, ^q]}}\n",
			"listeners[1].tls.alpn[16]: one too many: at most 16 are allowed"},
	};

	CHECK(list);
	memset(name, 'x', sizeof(name));
	name[256] = '\0';
	snprintf(replacement, sizeof(replacement),
		FIRST TLS "certificate: a, key: b, alpn: [^%s]}}\n", name);
	snprintf(want, sizeof(want),
		"listeners[1].tls.alpn[0]: has 256 bytes, at most 255 are allowed: shorten it");
	conf_file_mistakes(&(struct conf_file_mistake){FIRST, replacement, want}, 1);
	name[255] = '\0';
	snprintf(replacement, sizeof(replacement),
		FIRST TLS "certificate: a, key: b, alpn: [%s]}}\n", name);
	conf_free(conf_file_changed(FIRST, replacement));
}

// Without a certificate for all, each listener needs its own.
static void test_missing_certificate_for_all(void **state)
{
	static const struct conf_file_mistake list[] = {
		{FIRST,
			FIRST TLS "certificate: a, key: b}}\n"
				  "  - {transport: ^dtls, address: 10.0.0.1, port: 5349}\n",
			"listeners[2].transport: tls.certificate is missing: name the PEM file"},
	};

	CHECK(list);
	conf_free(conf_file_changed(FIRST,
		FIRST TLS "certificate: a, key: b}}\n  - {transport: dtls, address: 10.0.0.1, "
			  "port: 5349, tls: {certificate: c, key: d}}\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_empty_lists),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_on_all_addresses),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_missing_certificate_for_all),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
