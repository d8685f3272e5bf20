// SPDX-License-Identifier: BSD-3-Clause
// Configurations as text, for the tests of lib/conf.
#pragma once

#include <stddef.h>

#include "conf.h"

// Two ports, both families, and every section with a required key. Tests replace pieces of it.
static const char conf_good[] = "eal:\n" // 1
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
				"  quarantine: 120\n"
				"auth:\n"
				"  realm: turn.test\n"
				"  users:\n"
				"    - {name: ivan, password: hunter2}\n" // 25
				"    - {name: olga, key: 0123456789abcdef0123456789abcdef}\n"
				"  secrets: [hunter3]\n"
				"  nonce: {lifetime: 600, secret: hunter4hunter4hunter4}\n"
				"limits:\n"
				"  allocations: 1000\n" // 30
				"  lifetime: {default: 600, max: 3600}\n"
				"  binding: {rate: 1000, burst: 2000}\n"
				"peers:\n"
				"  allow: [10.0.0.0/24, 10.1.0.1-10.1.0.6]\n"
				"  deny: ['fd00:1::/32']\n" // 35
				"  hairpin: true\n"
				"log: {to: stderr, level: info}\n"
				"buffers: {mbufs: 16384, handover-ring: 1024}\n";

// The file that tests write: it is in memory, as some tests write it many thousand times.
extern int conf_fd;
extern char conf_path[32];

// Opens the file: set-up of a test or a group. Returns 0 or -1.
int conf_file_open(void **state);
// Closes the file: teardown. Returns 0 or -1.
int conf_file_close(void **state);
// Writes len bytes to the file and loads it. The caller frees the result with conf_free. NULL with
// the reason in error, which has CONF_ERROR_LEN bytes.
struct conf *conf_file_load(const char *text, size_t len, char *error);
// Returns a copy of text with the first occurrence of a piece replaced; the caller frees it. Aborts
// when the piece does not occur.
char *conf_text_edit(const char *text, const char *piece, const char *by);
// The same, with conf_good as the text.
char *conf_file_edit(const char *piece, const char *by);
// Asserts that a text is refused, that its error goes on with `want` after "FILE:", and that the
// error contains none of the passwords, secrets and keys of conf_good and of the tests.
void conf_file_refused(const char *text, size_t len, const char *want);

// One mistake: `piece` of conf_good replaced `by` another, and the error after "FILE:".
struct conf_file_mistake {
	const char *piece, *by, *error;
};

// Asserts that conf_good with each of nb mistakes is refused with its error.
void conf_file_mistakes(const struct conf_file_mistake *m, size_t nb);
