// SPDX-License-Identifier: BSD-3-Clause
// The keys that take effect without a restart, and the keys that are secrets.
#include "changes/hot_keys.h"

#include <stddef.h>
#include <string.h>

#include "conf_features.h"
#include "schema/schema.h"

// Each includes all keys below it. All other keys determine memory, devices, threads and sockets,
// which are made at the start.
static const char *const hot[] = {
#define X(key) key,
	CONF_HOT_KEYS(X)
#undef X
		"auth.nonce",
	"auth.rest-expiry",
	"auth.secret-files",
	"auth.secrets",
	"auth.users",
	"clients",
	"drain.below",
	"drain.deadline",
	"dtls.handshake",
	"dtls.idle",
	"dtls.per-network",
	"dtls.per-source",
	"icmp.errors-in",
	"icmp.errors-out",
	"icmp.errors-out-each",
	"icmp.rate",
	"icmp.tell",
	"icmp.unreachable",
	"include", // included files are compared themselves
	"include-holds",
	"limits.allocations",
	"limits.binding",
	"limits.channels",
	"limits.guesses",
	"limits.handshakes",
	"limits.icmp",
	"limits.lifetime",
	"limits.on-lower",
	"limits.per-source",
	"limits.per-user",
	"limits.permissions",
	"limits.requests",
	"limits.stale-nonce",
	"limits.unauthenticated",
	"listeners[].dscp",
	"listeners[].proxy",
	"listeners[].tls",
	"log",
	"peers",
	"ports[].addresses[].external",
	"ports[].gateway",
	"ports[].routes",
	"ports[].vlans[].addresses[].external",
	"ports[].vlans[].gateway",
	"ports[].vlans[].routes",
	"records",
	"relay.default-family",
	"streams.handshake",
	"streams.idle",
	"streams.per-network",
	"streams.per-source",
	"streams.trusted",
	"tls",
	"workers.idle",
	"workers.idle-sleep",
};

// Exceptions below the hot keys.
static const char *const cold[] = {
#define X(key) key,
	CONF_COLD_KEYS(X)
#undef X
		NULL,
};

static const char *const secrets[] = {"auth.users[].password", "auth.users[].password-file",
	"auth.users[].key", "auth.users[].key-sha256", "auth.secrets", "auth.secret-files",
	"auth.nonce.secret", "auth.nonce.secret-file",
#define X(key) key,
	CONF_SECRETS(X)
#undef X
};

// True if path is key, or lies below it.
static bool is_in(const char *path, const char *key)
{
	const size_t len = strlen(key);

	return strncmp(path, key, len) == 0 &&
		(path[len] == '\0' || path[len] == '.' || path[len] == '[');
}

bool hot_is_hot(const char *path)
{
	const size_t prefix = strlen(CONF_TEST_CONSTANTS ".");

	if (strncmp(path, CONF_TEST_CONSTANTS ".", prefix) == 0)
		path += prefix;
	for (size_t i = 0; cold[i] != NULL; i++)
		if (is_in(path, cold[i]))
			return false;
	for (size_t i = 0; i < sizeof(hot) / sizeof(hot[0]); i++)
		if (is_in(path, hot[i]))
			return true;
	return false;
}

bool hot_is_secret(const char *path)
{
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++)
		if (strcmp(path, secrets[i]) == 0)
			return true;
	return false;
}
