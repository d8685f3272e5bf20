// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/conf for more than one realm (lib/features/meson.build).
#pragma once

struct conf;
struct conf_ctx;
struct conf_report;

// Checks the names and origins of realms, the realms of listeners and the relay pools of realms,
// and gives realms their numbers. Returns 0, or -EINVAL after reporting the errors.
int conf_realms_check(struct conf_ctx *x);
// Warns of realms that no listener serves.
void conf_realms_warn(const struct conf *c, struct conf_report *r);

#define REALMS_CHECKS(X) X(conf_realms_check)
#define REALMS_WARNINGS(X) X(conf_realms_warn)
#define REALMS_HOT_KEYS(X) X("auth.origins") X("listeners[].realms") X("realms")
#define REALMS_HOT_FIELDS(X) X(first.origins) X(first.nb_origins) X(realms) X(nb_realms)
// Peers know allocations by the addresses that this key has chosen.
#define REALMS_COLD_KEYS(X) X("realms[].relay-pools")
#define REALMS_LISTENER_TEXTS(X) X(realms, nb_realms)
#define REALMS_ACCOUNTS(X) X("realms")
#define REALMS_IDS(X) X("realms", "name") X("realms[].users", "name")
// clang-format off
#define REALMS_SECRETS(X) \
	X("realms[].users[].password") X("realms[].users[].password-file") \
	X("realms[].users[].key") X("realms[].users[].key-sha256") \
	X("realms[].secrets") X("realms[].secret-files")
#define REALMS_LISTENER_ROWS(X) \
X({"listeners[].realms", CONF_TEXTS, MANY(turn_listener, realms, nb_realms), \
	OPAQUE, RANGE(1, TURN_REALMS_MAX + 1), .absent = "all", \
	.help = "Names of the realms that this listener serves: `auth.realm` and names from " \
	"`realms`. A request without a realm, or an ORIGIN of one, is asked for credentials of " \
	"the first. Default: all, `auth.realm` first."})
#define REALMS_AUTH_ROWS(X) \
X({"auth.origins", CONF_TEXTS, MANY(conf, turn.first.origins, turn.first.nb_origins), \
	RANGE(0, 16), \
	.help = "As `realms[].origins`, for `auth.realm`."}) \
X({"auth.relay-pools", CONF_TEXTS, \
	MANY(conf, turn.first.relay_pool_names, turn.first.nb_relay_pool_names), RANGE(0, 15), \
	.absent = "all", .help = "As `realms[].relay-pools`, for `auth.realm`."})
#define REALMS_ROWS(X) \
X({"realms", CONF_ITEMS, MANY(conf, turn.realms, turn.nb_realms), RANGE(0, TURN_REALMS_MAX), \
	.help = "Realms in addition to `auth.realm`, for example of tenants. Each has its own " \
	"users, secrets and quotas, so users of the same name in two realms are different users. " \
	"`limits` and `peers` apply to all realms. An allocation stays in its realm. A reload " \
	"adds and removes realms; allocations of a removed realm end with `user-gone`."}) \
X({"realms[].name", CONF_TEXT, ONE(turn_realm, name), OPAQUE_REQUIRED, RANGE(1, 763), \
	.help = "Unique name of the realm. Up to 16 bytes do not amplify, as for `auth.realm`."}) \
X({"realms[].origins", CONF_TEXTS, MANY(turn_realm, origins, nb_origins), RANGE(0, 16), \
	.help = "Web origins, such as `https://app.example.org`. A request without credentials " \
	"whose ORIGIN is in this list is asked for credentials of this realm, if its listener " \
	"serves it. Letter case and the default port of http and https do not matter."}) \
X({"realms[].users", CONF_ITEMS, .like = "auth.users", MANY(turn_realm, users, nb_users), \
	RANGE(0, 65536), \
	.help = "Users, as `auth.users`. A realm needs at least one user, secret or other key."}) \
X({"realms[].secrets", CONF_TEXTS, MANY(turn_realm, secrets, nb_secrets), RANGE(0, 16), \
	.help = "Secrets of the realm's web service, as `auth.secrets`."}) \
X({"realms[].secret-files", CONF_SECRET_FILES, MANY(turn_realm, secrets, nb_secrets), \
	RANGE(0, 16), \
	.help = "Files with one more such secret each, as `auth.secret-files`."}) \
CONF_REALMS_ROWS(X) \
X({"realms[].limits", CONF_SECTION, .help = "Quotas of the realm, in addition to those of " \
	"`limits`."}) \
X({"realms[].limits.allocations", CONF_NUMBER, ONE(turn_realm, allocations), \
	RANGE(1, 16777216), \
	.help = "Allocations of the realm. Default: as many as `limits.allocations` leaves."}) \
X({"realms[].limits.per-user", CONF_NUMBER, ONE(turn_realm, per_user), RANGE(1, 16777216), \
	.absent = "`limits.per-user`", .help = "Allocations of one user of the realm."}) \
X({"realms[].peers", CONF_SECTION, .help = "Rules of the realm, in addition to `peers`. The " \
	"longest prefix of both decides; at equal length deny wins."}) \
X({"realms[].peers.allow", CONF_PREFIXES, MANY(turn_realm, allow, nb_allow), RANGE(0, 65536), \
	.help = "Allowed peers, as `peers.allow`."}) \
X({"realms[].peers.deny", CONF_PREFIXES, MANY(turn_realm, deny, nb_deny), RANGE(0, 65536), \
	.help = "Denied peers, as `peers.deny`."}) \
X({"realms[].relay-pools", CONF_TEXTS, MANY(turn_realm, relay_pool_names, nb_relay_pool_names), \
	RANGE(0, 15), .absent = "all", \
	.help = "Names of the `relay.pools` that the realm's peers can be in. Default: all. " \
	"`[]`: no pools. Two pools may have the same peers if no realm has both. A port with " \
	"addresses of pools named here and no address of `relay.addresses` is separate: its " \
	"subnets, routes and gateway serve only its own addresses, and these use no other " \
	"port. A change needs a restart, because peers know allocations by these addresses."})
// clang-format on
