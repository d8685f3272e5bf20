// SPDX-License-Identifier: BSD-3-Clause
// Warns of doubtful settings of access tokens, and wipes their keys.
#include <string.h>

#include "checks/checks.h"
#include "conf.h"
#include "conf_features.h"

// Maximum length of the name in THIRD-PARTY-AUTHORIZATION with which a 401 is at most 3 times as
// long as the shortest Allocate, with a realm of 16 bytes.
#define SERVER_NAME_SHORT 32

static void warn_oauth(
	const struct conf *c, struct conf_report *r, const struct turn_oauth *o, const char *key)
{
	const size_t len = o->server_name != NULL ? strlen(o->server_name) : 0;

	if (len > SERVER_NAME_SHORT)
		conf_tell(r, CONF_WARNING, (struct conf_at){c, &o->server_name, 0, key},
			"has %zu bytes, and unauthenticated answers amplify: use at most %u, "
			"which keep them within 3 times their request",
			len, SERVER_NAME_SHORT);
	if (len > 0 && o->nb_keys == 0)
		conf_tell(r, CONF_WARNING, (struct conf_at){c, &o->server_name, 0, key},
			"has no effect without keys, because no token is accepted: add keys, or "
			"remove it");
}

void conf_tokens_warn(const struct conf *c, struct conf_report *r)
{
	for (uint32_t i = 0; i < turn_config_nb_realms(&c->turn) && !conf_warned(r); i++)
		warn_oauth(c, r, &turn_config_realm(&c->turn, i)->oauth,
			i == 0 ? "auth.oauth" : "realms");
}

static void forget_oauth(struct turn_oauth *o)
{
	for (uint32_t i = 0; i < o->nb_keys; i++)
		if (o->keys[i].secret != NULL)
			explicit_bzero(o->keys[i].secret, strlen(o->keys[i].secret));
}

void conf_tokens_forget(struct conf *c)
{
	for (uint32_t i = 0; i < turn_config_nb_realms(&c->turn); i++)
		forget_oauth(&turn_config_realm(&c->turn, i)->oauth);
}
