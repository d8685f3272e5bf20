// SPDX-License-Identifier: BSD-3-Clause
// Every key that can hold a secret has one, and the file is damaged in every way at every place: no
// message, error or warning, contains a piece of a secret.
#include <stdlib.h>

#include "conf_file.h"
#include "emulated.h"
#include "feature_names.h"
#include "test.h"

#define PIECE 6 // characters of a secret that must not appear in a line

static const char *const secrets[] = {"Kestrel7Quartz", "9f8e7d6c5b4a39281706f5e4d3c2b1a0",
	"0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9", "Walnut3Cobalt:Zephyr",
	"Juniper Granite", "Falcon5Marble#Indigo", "Osprey8Basalt9Lantern2Willow6Heron4PewterZA="};

// As block and as flow mappings: the two break in different ways.
static const char *const files[] = {
	"ports:\n"
	"  - name: wan\n"
	"    device: net_a\n"
	"    addresses: [10.0.0.1/24]\n"
	"listeners: [{address: 10.0.0.1}]\n"
	"relay: {addresses: [10.0.0.1]}\n"
	"auth:\n"
	"  realm: turn.test\n"
	"  users:\n"
	"    - name: ivan\n"
	"      password: Kestrel7Quartz\n"
	"    - name: olga\n"
	"      key: 9f8e7d6c5b4a39281706f5e4d3c2b1a0\n"
	"      key-sha256: "
	"'0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9'\n"
	"  secrets:\n"
	"    - Walnut3Cobalt:Zephyr\n"
	"    - Juniper Granite\n"
#ifdef FEATURE_TOKENS
	"  oauth:\n"
	"    keys:\n"
	"      - kid: north\n"
	"        secret: Osprey8Basalt9Lantern2Willow6Heron4PewterZA=\n"
#endif
	"  nonce:\n"
	"    lifetime: 600\n"
	"    secret: Falcon5Marble#Indigo\n"
	"log: {level: info}\n",
	"ports: [{name: wan, device: net_a, addresses: [10.0.0.1/24]}]\n"
	"listeners: [{address: 10.0.0.1}]\n"
	"relay: {addresses: [10.0.0.1]}\n"
	"auth: {realm: turn.test, users: [{name: ivan, password: \"Kestrel7Quartz\"},\n"
	"  {name: olga,\n"
	"  key: 9f8e7d6c5b4a39281706f5e4d3c2b1a0, key-sha256: "
	"'0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9'}],\n"
	"  secrets: [Walnut3Cobalt:Zephyr, 'Juniper Granite'], nonce: {secret: "
	"Falcon5Marble#Indigo}}\n"
	"log: {level: info}\n",
};

struct heard {
	const char *text; // of the file
	unsigned int nb;
};

static void hear(void *ctx, enum conf_weight weight, const char *line)
{
	struct heard *h = ctx;

	h->nb++;
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++)
		for (size_t offset = 0; offset + PIECE <= strlen(secrets[i]); offset++) {
			char piece[PIECE + 1];

			snprintf(piece, sizeof(piece), "%s", secrets[i] + offset);
			if (strstr(line, piece) != NULL)
				fail_msg("'%s' is in: %s\nof the file:\n%s", piece, line, h->text);
		}
}

// Loads a text and checks it for warnings, as --check does. True if there was no error.
static bool check(const char *text)
{
	struct heard h = {.text = text};
	struct conf_report r = {.say = hear, .ctx = &h};
	struct conf *c;

	conf_file_write(text, strlen(text));
	c = conf_load_and_report(conf_path, &r, NULL);
	if (c != NULL)
		conf_warnings(c, &r);
	else
		assert_true(h.nb > 0);
	conf_free(c);
	return c != NULL;
}

static void test_whole(void **state)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		assert_true(check(files[i]));
}

// Each byte removed, and each of some bytes inserted before it or replacing it.
static void test_damaged(void **state)
{
	static const char *const pieces[] = {"", ":", ": ", "'", "\"", "{", "}", "[", "]", ",", "#",
		" #", "\n", "\n  ", "\n    ", "- ", "\t", "&", "*", "!", "|", "\\", "? ", "<<: "};
	const size_t nb = emulated() ? 1 : sizeof(pieces) / sizeof(pieces[0]);
	const size_t step = slowed() ? 5 : 1;
	unsigned int good = 0, all = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		for (size_t offset = 0; offset < strlen(files[i]); offset += step)
			for (size_t k = 0; k < 2 * nb; k++, all++) {
				char *text = NULL;

				assert_true(asprintf(&text, "%.*s%s%s", (int)offset, files[i],
						    pieces[k / 2], files[i] + offset + k % 2) > 0);
				good += check(text);
				free(text);
			}
	assert_in_range(good, all / 100, all * 9 / 10);
}

// Each line removed, doubled, and moved one level in or out.
static void test_lines(void **state)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		for (const char *line = files[i]; *line != '\0'; line = strchr(line, '\n') + 1) {
			const int before = (int)(line - files[i]);
			const int len = (int)(strchr(line, '\n') + 1 - line);
			const int inner = (int)strspn(line, " ");
			char *text[5];

			assert_true(asprintf(&text[0], "%.*s%s", before, files[i], line + len) > 0);
			assert_true(asprintf(&text[1], "%.*s%.*s%s", before, files[i], len, line,
					    line) > 0);
			assert_true(asprintf(&text[2], "%.*s  %s", before, files[i], line) > 0);
			assert_true(
				asprintf(&text[3], "%.*s%s", before, files[i], line + inner) > 0);
			assert_true(asprintf(&text[4], "%.*s%s", before, files[i],
					    line + (inner >= 2 ? 2 : 0)) > 0);
			for (unsigned int k = 0; k < 5; k++) {
				check(text[k]);
				free(text[k]);
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
