// SPDX-License-Identifier: BSD-3-Clause
// Configurations as text: a good one, edits of it, a file in memory, and checks that bad ones are
// refused.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conf_file.h"
#include "test.h"

#include "conf_changes.h"
#include "hash.h"

const char conf_good[] = "eal:\n"
			 "  lcores: 0@(0-1),1@0,2@1\n"
			 "  args: []\n"
			 "workers: {count: 2, idle: adaptive}\n"
			 "ports:\n"
			 "  - name: wan\n"
			 "    device: net_a\n"
			 "    addresses: [10.0.0.1/24, 'fd00::1/64']\n"
			 "    gateway: [10.0.0.254]\n"
			 "    vlan: 0\n"
			 "    mtu: 1500\n"
			 "  - name: lan\n"
			 "    device: net_b\n"
			 "    addresses: [10.1.0.1-10.1.0.9/16]\n"
			 "listeners:\n"
			 "  - {transport: udp, address: 10.0.0.1, port: 3478}\n"
			 "  - {transport: udp, address: 'fd00::1', port: 50000}\n"
			 "relay:\n"
			 "  addresses: [10.0.0.1, 'fd00::1', 10.1.0.2-10.1.0.4]\n"
			 "  ports: 49152-65535\n"
			 "  default-family: ipv4\n"
			 "auth:\n"
			 "  realm: turn.test\n"
			 "  users:\n"
			 "    - {name: ivan, password: hunter2}\n"
			 "    - {name: olga, key: 0123456789abcdef0123456789abcdef}\n"
			 "  secrets: [hunter3]\n"
			 "  nonce: {lifetime: 600, secret: hunter4hunter4hunter4}\n"
			 "limits:\n"
			 "  allocations: 1000\n"
			 "  lifetime: {max: 3600}\n"
			 "  binding: {rate: 1000}\n"
			 "peers:\n"
			 "  allow: [10.0.0.0/24, 10.1.0.1-10.1.0.6]\n"
			 "  deny: ['fd00:1::/32']\n"
			 "  hairpin: true\n"
			 "log: {to: stderr, level: info}\n";

int conf_fd;
char conf_path[32];

int conf_file_open(void **state)
{
	conf_fd = memfd_create("conf", MFD_CLOEXEC);
	snprintf(conf_path, sizeof(conf_path), "/proc/self/fd/%d", conf_fd);
	return conf_fd >= 0 ? 0 : -1;
}

int conf_file_close(void **state)
{
	return close(conf_fd);
}

void conf_file_write(const char *text, size_t len)
{
	if (memchr(text, CONF_MARK, len) != NULL)
		fail_msg("no message is expected, but there is a %c in: %s", CONF_MARK, text);
	if (ftruncate(conf_fd, 0) != 0 || pwrite(conf_fd, text, len, 0) != (ssize_t)len)
		abort();
}

struct conf *conf_file_load(const char *text, size_t len, char *error)
{
	conf_file_write(text, len);
	return conf_load(conf_path, error);
}

struct conf *conf_file_said(const char *text)
{
	static const struct hash_key key = {{1, 2, 3, 4}};
	struct conf *c;

	conf_file_write(text, strlen(text));
	c = conf_load_and_report(conf_path, NULL, &key);
	assert_non_null(c);
	return c;
}

char *conf_text_edit(const char *text, const char *piece, const char *replacement)
{
	const char *found = strstr(text, piece);
	char *out = malloc(strlen(text) + strlen(replacement) + 1);

	if (found == NULL || out == NULL)
		abort();
	sprintf(out, "%.*s%s%s", (int)(found - text), text, replacement, found + strlen(piece));
	return out;
}

char *conf_file_edit(const char *piece, const char *replacement)
{
	return conf_text_edit(conf_good, piece, replacement);
}

struct conf *conf_file_changed(const char *piece, const char *replacement)
{
	char error[CONF_ERROR_LEN] = "";
	char *text = conf_file_edit(piece, replacement);
	struct conf *c = conf_file_load(text, strlen(text), error);

	free(text);
	if (c == NULL)
		fail_msg("%s", error);
	return c;
}

static void place_of(const char *text, const char *end, char place[CONF_PLACE_LEN])
{
	unsigned int line = 1, col = 1;

	for (; text < end; text++)
		if (*text == '\n')
			line++, col = 1;
		else // UTF-8: a character is one column
			col += (*text & 0xc0) != 0x80;
	snprintf(place, CONF_PLACE_LEN, "%u:%u: ", line, col);
}

size_t conf_text_unmark(char *text, size_t len, char place[CONF_PLACE_LEN])
{
	char *mark = memchr(text, CONF_MARK, len);

	if (mark == NULL || memchr(mark + 1, CONF_MARK, len - (size_t)(mark - text) - 1) != NULL)
		fail_msg("one %c must mark the place of the message in: %s", CONF_MARK, text);
	memmove(mark, mark + 1, len - (size_t)(mark - text) - 1);
	text[len - 1] = '\0';
	place_of(text, mark, place);
	return len - 1;
}

const char *conf_file_at(const char *piece, const char *reason)
{
	static char out[2 * CONF_ERROR_LEN];
	char text[8192] = "", place[CONF_PLACE_LEN];
	const char *found =
		pread(conf_fd, text, sizeof(text) - 1, 0) > 0 ? strstr(text, piece) : NULL;

	if (found == NULL)
		fail_msg("the file has no: %s", piece);
	place_of(text, found, place);
	snprintf(out, sizeof(out), "%s:%s%s", conf_path, place, reason);
	return out;
}

const char *conf_file_refused(const char *text, size_t len, const char *want)
{
	static char error[CONF_ERROR_LEN];
	char place[CONF_PLACE_LEN], all[2 * CONF_ERROR_LEN], *plain = calloc(1, len + 1);
	struct conf *c;

	memcpy(plain, text, len);
	len = conf_text_unmark(plain, len, place);
	c = conf_file_load(plain, len, error);
	free(plain);
	conf_free(c);
	snprintf(all, sizeof(all), "%s:%s%s", conf_path, place, want);
	if (c != NULL)
		fail_msg("accepted, wanted: %s", all);
	if (strncmp(error, all, strlen(all)) != 0)
		fail_msg("wanted: %s\n   got: %s", all, error);
	assert_null(strstr(error, "hunter"));
	assert_null(strstr(error, "0123456789abc"));
	assert_null(strchr(error, '\n'));
	return error;
}

char *conf_text_mistake(const char *text, const struct conf_file_mistake *m)
{
	char *out = conf_text_edit(text, m->piece, m->replacement), *marked;
	char where[128];

	if (m->where == NULL)
		return out;
	snprintf(where, sizeof(where), "%c%s", CONF_MARK, m->where);
	marked = conf_text_edit(out, m->where, where);
	free(out);
	return marked;
}

void conf_file_mistakes(const struct conf_file_mistake *m, size_t nb)
{
	for (size_t i = 0; i < nb; i++) {
		char *text = conf_text_mistake(conf_good, &m[i]);

		conf_file_refused(text, strlen(text), m[i].error);
		free(text);
	}
}
