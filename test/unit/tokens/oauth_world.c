// SPDX-License-Identifier: BSD-3-Clause
// Clients with access tokens.
#include "oauth_world.h"

static const char *const kids[OAUTH_KIDS] = {"north", "south", "west"};
static const char *const secrets[OAUTH_KIDS] = {
	"0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20",
	"AgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fICE=", "030405060708090a0b0c0d0e0f101112"};
static uint8_t keys[OAUTH_KIDS][32];

struct turn_config oauth_config(void)
{
	static struct turn_oauth_key oauth_keys[OAUTH_KIDS];
	struct turn_config c = fixture_config();

	for (int i = 0; i < OAUTH_KIDS; i++)
		oauth_keys[i] = (struct turn_oauth_key){.kid = (char *)kids[i],
			.secret = (char *)secrets[i],
			.algorithm = i == OAUTH_WEST ? 1 : 0};
	c.first.oauth = (struct turn_oauth){(char *)OAUTH_NAME, oauth_keys, OAUTH_KIDS};
	return c;
}

struct token_seal oauth_seal(const struct fixture *f, enum oauth_kid kid, uint32_t number)
{
	static uint8_t mac[32];

	for (size_t i = 0; i < sizeof(mac); i++)
		mac[i] = (uint8_t)(17 * number + i * i);
	for (unsigned int i = 0; i < sizeof(keys[kid]); i++)
		keys[kid][i] = (uint8_t)(kid + 1 + i);
	return (struct token_seal){.key = keys[kid],
		.key_len = kid == OAUTH_WEST ? 16 : 32,
		.name = OAUTH_NAME,
		.mac = mac,
		.mac_len = 20,
		.made_s = f->wall_s,
		.lifetime_s = OAUTH_LIFETIME_S,
		.seed = number};
}

void oauth_bring(struct fixture_client *c, const struct token_seal *t)
{
	c->access_len = token_seal(t, c->access);
	c->mac = (struct stun_key){
		.len = (uint8_t)(t->mac_len < STUN_KEY_MAX ? t->mac_len : STUN_KEY_MAX)};
	memcpy(c->mac.bytes, t->mac, c->mac.len);
}

struct fixture_client oauth_client(
	const struct fixture *f, enum oauth_kid kid, uint32_t number, const char *addr)
{
	const struct token_seal t = oauth_seal(f, kid, number);
	struct fixture_client c = fixture_client(addr, 5000);

	c.user = kids[kid];
	oauth_bring(&c, &t);
	return c;
}
