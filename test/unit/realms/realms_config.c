// SPDX-License-Identifier: BSD-3-Clause
// Three realms whose users have equal names.
#include "realms_config.h"

#include <string.h>

struct turn_config realms_config(void)
{
	static struct turn_user a_users[1], b_users[2];
	static char *a_secrets[] = {(char *)"a-secret"};
	static char *a_origins[] = {(char *)ORIGIN_A}, *b_origins[] = {(char *)ORIGIN_B};
	static struct turn_realm realms[3];
	struct turn_config c = fixture_config();

	a_users[0] = (struct turn_user){.name = (char *)"ivan", .password = (char *)"pw-a"};
	b_users[0] = (struct turn_user){.name = (char *)"ivan", .password = (char *)"pw-b"};
	b_users[1] = (struct turn_user){.name = (char *)"olga", .password = (char *)"pw-o"};
	realms[0] = (struct turn_realm){.name = (char *)REALM_A,
		.origins = a_origins,
		.nb_origins = 1,
		.users = a_users,
		.nb_users = 1,
		.secrets = a_secrets,
		.nb_secrets = 1,
		.number = 1};
	realms[1] = (struct turn_realm){.name = (char *)REALM_B,
		.origins = b_origins,
		.nb_origins = 1,
		.users = b_users,
		.nb_users = 2,
		.number = 2};
	c.realms = realms;
	c.nb_realms = 2;
	return c;
}

struct turn_realm *realms_config_of(struct turn_config *c, const char *name)
{
	for (uint32_t i = 0; i < c->nb_realms; i++)
		if (strcmp(c->realms[i].name, name) == 0)
			return &c->realms[i];
	fail_msg("no realm %s", name);
	return NULL;
}

struct fixture_client realms_ivan(const char *realm, const char *addr)
{
	struct fixture_client c = fixture_client(addr, 5000);

	c.realm = realm;
	if (strcmp(realm, FIXTURE_REALM) != 0)
		c.password = strcmp(realm, REALM_A) == 0 ? "pw-a" : "pw-b";
	return c;
}
