// SPDX-License-Identifier: BSD-3-Clause
// A configuration with keys of access tokens, and clients with tokens.
#pragma once

#include "token_seal.h"
#include "turn_fixture.h"

#define OAUTH_NAME "relay.test" // auth.oauth.server-name
#define OAUTH_LIFETIME_S 1800 // of the tokens of oauth_client

// Keys of the realm: north and south with A256GCM, west with A128GCM. The users and the secret of
// fixture_config exist, too.
enum oauth_kid { OAUTH_NORTH, OAUTH_SOUTH, OAUTH_WEST, OAUTH_KIDS };
struct turn_config oauth_config(void);

// A token like oauth_client's, with a key, for the fixture's time; the mac differs for each number.
struct token_seal oauth_seal(const struct fixture *f, enum oauth_kid kid, uint32_t number);
// Gives a client that token, or one that a test has changed.
void oauth_bring(struct fixture_client *c, const struct token_seal *t);
// A client with such a token.
struct fixture_client oauth_client(
	const struct fixture *f, enum oauth_kid kid, uint32_t number, const char *addr);
