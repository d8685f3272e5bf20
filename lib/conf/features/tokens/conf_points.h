// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/conf for access tokens (RFC 7635) (lib/features/meson.build).
#pragma once

struct conf;
struct conf_ctx;
struct conf_report;

// Checks the keys of access tokens (auth.oauth, realms[].oauth). Returns 0, or -EINVAL after
// reporting the errors.
int conf_tokens_check(struct conf_ctx *x);
// Warns of doubtful values.
void conf_tokens_warn(const struct conf *c, struct conf_report *r);
// Wipes the keys.
void conf_tokens_forget(struct conf *c);

#define TOKENS_CHECKS(X) X(conf_tokens_check)
#define TOKENS_WARNINGS(X) X(conf_tokens_warn)
#define TOKENS_FORGET(X) X(conf_tokens_forget)
#define TOKENS_HOT_KEYS(X) X("auth.oauth")
#define TOKENS_HOT_FIELDS(X) X(first.oauth)
#define TOKENS_IDS(X) X("auth.oauth.keys", "kid") X("realms[].oauth.keys", "kid")
// clang-format off
#define TOKENS_SECRETS(X) \
	X("auth.oauth.keys[].secret") X("auth.oauth.keys[].secret-file") \
	X("realms[].oauth.keys[].secret") X("realms[].oauth.keys[].secret-file")
#define TOKENS_AUTH_ROWS(X) \
X({"auth.oauth", CONF_SECTION, .help = "Third-party authorization (RFC 7635), in addition to " \
	"users and secrets or instead of them. Clients bring access tokens that an authorization " \
	"server has sealed with a key that this box has, too."}) \
X({"auth.oauth.server-name", CONF_TEXT, ONE(conf, turn.first.oauth.server_name), RANGE(1, 255), \
	.help = "Name of this server. Clients are told it (THIRD-PARTY-AUTHORIZATION), and " \
	"tokens are valid only for it. All servers of a fleet may have the same name. Default: " \
	"the realm."}) \
X({"auth.oauth.keys", CONF_ITEMS, MANY(conf, turn.first.oauth.keys, turn.first.oauth.nb_keys), \
	RANGE(0, TURN_OAUTH_KEYS_MAX), \
	.help = "Keys of access tokens. Several allow rotation. Without keys no token is " \
	"accepted. A reload adds and removes keys. Sessions whose last token used a removed key " \
	"end with `user-gone`."}) \
X({"auth.oauth.keys[].kid", CONF_TEXT, ONE(turn_oauth_key, kid), REQUIRED, RANGE(1, 508), \
	.help = "Unique name of the key, which clients send as USERNAME. No user may have this " \
	"name."}) \
X({"auth.oauth.keys[].secret", CONF_TEXT, ONE(turn_oauth_key, secret), RANGE(1, 127), \
	.help = "The key, in base64 or hexadecimal: 32 bytes for A256GCM, 16 for A128GCM."}) \
X({"auth.oauth.keys[].secret-file", CONF_SECRET_FILE, ONE(turn_oauth_key, secret), \
	RANGE(1, 127), \
	.help = "Instead of `secret`: a file with the key, as `auth.secret-files`."})
#define TOKENS_REALMS_ROWS(X) \
X({"realms[].oauth", CONF_SECTION, .like = "auth.oauth", \
	.offset = offsetof(struct turn_realm, oauth), \
	.count = offsetof(struct conf, turn.first.oauth), \
	.help = "Access tokens of the realm, as `auth.oauth`."})
// clang-format on
