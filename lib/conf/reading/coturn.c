// SPDX-License-Identifier: BSD-3-Clause
// Recognises files and keys of coturn, because many operators migrate from it.
#include "reading/coturn.h"

#include <stdio.h>
#include <string.h>

// --- keys ----------------------------------------------------------------------------------------

#define CREDENTIALS "credentials are always required: remove it"
#define NO_FILE "the log goes to standard error, syslog or the journal: write log: {to: ...}"
#define VERBOSE "write log: {level: debug}, or log: {areas: {auth: debug}}"
#define PEM "write tls: {certificate: FILE, key: FILE}"

static const struct {
	const char *name, *advice;
} keys[] = {
	{"static-auth-secret", "write auth: {secrets: [...]}"},
	{"use-auth-secret", "secrets need no switch: write auth: {secrets: [...]}"},
	{"lt-cred-mech", CREDENTIALS},
	{"no-auth", CREDENTIALS},
	{"user", "write auth: {users: [{name: ..., password: ...}]}"},
	{"realm", "write auth: {realm: ...}"},
	{"check-origin-consistency",
		"an ORIGIN never moves an allocation to another realm: "
		"remove it"},
	{"listening-ip", "write one entry of listeners per address"},
	{"listening-port", "write the port of each entry of listeners"},
	{"tls-listening-port", "write an entry of listeners with transport: tls"},
	{"relay-ip", "write relay: {addresses: [...]}"},
	{"external-ip", "write ports[].addresses: [{address: PRIVATE/LEN, external: PUBLIC}]"},
	{"min-port", "write relay: {ports: MIN-MAX}"},
	{"max-port", "write relay: {ports: MIN-MAX}"},
	{"allocation-default-address-family",
		"write relay: {default-family: ipv4, ipv6 or client}"},
	{"keep-address-family", "write relay: {default-family: client}"},
	{"user-quota", "write limits: {per-user: N}"},
	{"total-quota", "write limits: {allocations: N}"},
	{"max-allocate-lifetime", "write limits: {lifetime: {max: SECONDS}}"},
	{"allowed-peer-ip", "write peers: {allow: [...]}"},
	{"denied-peer-ip", "write peers: {deny: [...]}"},
	{"stale-nonce", "write auth: {nonce: {lifetime: SECONDS}}"},
	{"cert", PEM},
	{"pkey", PEM},
	{"relay-threads", "write workers: {count: N}"},
	{"syslog", "write log: {to: syslog}, or to: journal"},
	{"log-file", NO_FILE},
	{"no-stdout-log", NO_FILE},
	{"simple-log", "slipring writes no log file: remove it"},
	{"new-log-timestamp", "lines have the time of day in UTC: remove it"},
	{"verbose", VERBOSE},
	{"Verbose", VERBOSE},
};

bool conf_coturn_key(const char *name, char *buf, size_t len)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(keys[i].name, name) != 0)
			continue;
		snprintf(buf, len, "is coturn's: %s (doc/coturn.md)", keys[i].advice);
		return true;
	}
	return false;
}

// --- files ---------------------------------------------------------------------------------------

// True if a line, given without its leading blanks, is "key=value" or a known key without a value.
static bool is_setting(const char *line, size_t len)
{
	size_t word = 0, end;

	while (word < len &&
		((line[word] >= 'a' && line[word] <= 'z') ||
			(line[word] >= '0' && line[word] <= '9') || line[word] == '-'))
		word++;
	for (end = word; end < len && (line[end] == ' ' || line[end] == '\t' || line[end] == '\r');)
		end++;
	if (word > 0 && end < len && line[end] == '=')
		return true;
	for (size_t i = 0; end == len && i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strlen(keys[i].name) == word && memcmp(keys[i].name, line, word) == 0)
			return true;
	return false;
}

size_t conf_coturn_line(const char *text, size_t len)
{
	size_t number = 1;

	for (size_t pos = 0; pos < len; number++) {
		const char *line = text + pos;
		const char *feed = memchr(line, '\n', len - pos);
		size_t n = feed != NULL ? (size_t)(feed - line) : len - pos;

		pos += n + 1;
		while (n > 0 && (*line == ' ' || *line == '\t' || *line == '\r')) {
			line++;
			n--;
		}
		if (n > 0 && *line != '#')
			return is_setting(line, n) ? number : 0;
	}
	return 0;
}
