// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/conf for users who are looked up (lib/features/meson.build).
#pragma once

struct conf_ctx;

// Checks auth.lookup, and notes in the realms that their users are looked up. Returns 0 or -EINVAL.
int conf_lookup_check(struct conf_ctx *x);

#define LOOKUP_FILLS(X) X(conf_lookup_check)
#define LOOKUP_BUFFERS(X) X(lookup.enabled, lookup.waiting)
// The memory for it is made at the start.
#define LOOKUP_COLD_KEYS(X) X("auth.lookup")
// clang-format off
#define LOOKUP_AUTH_ROWS(X) \
X({"auth.lookup", CONF_SECTION, .help = "Users who are not in this file: `slipring-accounts` " \
	"knows them from a database, a web service or a program ([accounts.md](accounts.md)). " \
	"Users and secrets of this file are tried first."}) \
X({"auth.lookup.enabled", CONF_BOOL, ONE(conf, turn.lookup.enabled), .def = "false", \
	.help = "Looks up users. Takes 16 MiB of memory for each worker."}) \
X({"auth.lookup.socket", CONF_TEXT, ONE(conf, turn.lookup.socket), RANGE(1, 107), \
	.def = "/run/slipring-accounts/socket", .help = "Path of the Unix socket at which " \
	"`slipring-accounts`, or a program with its protocol, takes questions."}) \
X({"auth.lookup.sha256", CONF_BOOL, ONE(conf, turn.lookup.sha256), .def = "false", \
	.help = "It has SHA-256 keys of all users. False: only MD5 keys, as in coturn's " \
	"databases. The realms then offer no SHA-256 (RFC 8489 PASSWORD-ALGORITHMS)."}) \
X({"auth.lookup.realms", CONF_TEXTS, MANY(conf, turn.lookup.realms, turn.lookup.nb_realms), \
	RANGE(0, 1024), .absent = "all", \
	.help = "Names of the realms whose users are looked up. Default: all."})
// In the order of the rows: looked-up users that each worker remembers; questions of a worker
// without an answer, and requests that wait for one; milliseconds until an answer is too late:
// clients send again after 500; questions because of one address, per second and in a burst: a
// large office after an outage.
#define LOOKUP_CONSTANT_ROWS(X) \
X({TESTS "auth.lookup.users", CONF_NUMBER, ONE(conf, turn.lookup.users), RANGE(64, 1048576), \
	.def = "131072"}) \
X({TESTS "auth.lookup.questions", CONF_NUMBER, ONE(conf, turn.lookup.questions), \
	RANGE(16, 32768), .def = "16384"}) \
X({TESTS "auth.lookup.waiting", CONF_NUMBER, ONE(conf, turn.lookup.waiting), RANGE(1, 16384), \
	.def = "2048"}) \
X({TESTS "auth.lookup.deadline", CONF_NUMBER, ONE(conf, turn.lookup.deadline_ms), \
	RANGE(10, 60000), .def = "2000"}) \
X({TESTS "auth.lookup.each.rate", CONF_NUMBER, ONE(conf, turn.lookup.each.rate), \
	RANGE(0, 1000000), .def = "500"}) \
X({TESTS "auth.lookup.each.burst", CONF_NUMBER, ONE(conf, turn.lookup.each.burst), \
	RANGE(1, 1000000), .def = "5000"})
// clang-format on
