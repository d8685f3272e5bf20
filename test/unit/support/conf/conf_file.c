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

const char conf_good[] = "eal:\n" // 1
			 "  lcores: 0@(0-1),1@0,2@1\n"
			 "  args: []\n"
			 "workers: {count: 2, idle: adaptive}\n"
			 "ports:\n" // 5
			 "  - name: wan\n"
			 "    device: net_a\n"
			 "    addresses: [10.0.0.1/24, 'fd00::1/64']\n"
			 "    gateway: [10.0.0.254]\n"
			 "    vlan: 0\n" // 10
			 "    mtu: 1500\n"
			 "  - name: lan\n"
			 "    device: net_b\n"
			 "    addresses: [10.1.0.1-10.1.0.9/16]\n"
			 "listeners:\n" // 15
			 "  - {transport: udp, address: 10.0.0.1, port: 3478}\n"
			 "  - {transport: udp, address: 'fd00::1', port: 50000}\n"
			 "relay:\n"
			 "  addresses: [10.0.0.1, 'fd00::1', 10.1.0.2-10.1.0.4]\n"
			 "  ports: 49152-65535\n" // 20
			 "  default-family: ipv4\n"
			 "auth:\n"
			 "  realm: turn.test\n"
			 "  users:\n"
			 "    - {name: ivan, password: hunter2}\n" // 25
			 "    - {name: olga, key: 0123456789abcdef0123456789abcdef}\n"
			 "  secrets: [hunter3]\n"
			 "  nonce: {lifetime: 600, secret: hunter4hunter4hunter4}\n"
			 "limits:\n"
			 "  allocations: 1000\n" // 30
			 "  lifetime: {max: 3600}\n"
			 "  binding: {rate: 1000}\n"
			 "peers:\n"
			 "  allow: [10.0.0.0/24, 10.1.0.1-10.1.0.6]\n"
			 "  deny: ['fd00:1::/32']\n" // 35
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

void conf_file_refused(const char *text, size_t len, const char *want)
{
	char error[CONF_ERROR_LEN];
	struct conf *c = conf_file_load(text, len, error);
	const size_t path = strlen(conf_path);

	conf_free(c);
	if (c != NULL)
		fail_msg("accepted, wanted: %s", want);
	if (strncmp(error, conf_path, path) != 0 || error[path] != ':' ||
		strncmp(error + path + 1, want, strlen(want)) != 0)
		fail_msg("wanted: %s\n   got: %s", want, error);
	assert_null(strstr(error, "hunter"));
	assert_null(strstr(error, "0123456789abc"));
	assert_null(strchr(error, '\n'));
}

void conf_file_mistakes(const struct conf_file_mistake *m, size_t nb)
{
	for (size_t i = 0; i < nb; i++) {
		char *text = conf_file_edit(m[i].piece, m[i].replacement);

		conf_file_refused(text, strlen(text), m[i].error);
		free(text);
	}
}
