// SPDX-License-Identifier: BSD-3-Clause
// Fixture of the tests of peer rules: a box, policies with the test's own crypto and boot key, and
// their class of a peer's address.
#include "policy_fixture.h"
#include "test.h"

#include "addr_text.h"
#include "stun.h"

const uint8_t policy_fixture_boot_key[32] = {1, 2, 3};
struct stun_crypto *policy_fixture_crypto;

int policy_fixture_open(void **state)
{
	policy_fixture_crypto = stun_crypto_create();
	return policy_fixture_crypto == NULL;
}

int policy_fixture_close(void **state)
{
	stun_crypto_free(policy_fixture_crypto);
	return 0;
}

void policy_fixture_box(struct policy_fixture_box *b)
{
	*b = (struct policy_fixture_box){
		.relay = {addr_text("fd99::1"), addr_text("10.99.0.1")},
		.gateways = {addr_text("10.99.0.254"), addr_text("fd99::fe")},
		.local = {{addr_text("10.99.0.1"), addr_text_prefix("10.99.0.0/24")},
			{addr_text("10.99.0.2"), addr_text_prefix("10.99.0.0/24")},
			{addr_text("fd99::1"), addr_text_prefix("fd99::/64")},
			{addr_text("fd99::2"), addr_text_prefix("fd99::/64")}},
		.allow = {addr_text_prefix("10.99.0.0/24"), addr_text_prefix("fd99::/64")},
	};
	b->c = (struct turn_config){
		.first.name = (char *)"turn.test",
		.nonce_secret = (char *)"",
		.relay = b->relay,
		.nb_relay = 2,
		.local = b->local,
		.nb_local = 4,
		.gateways = b->gateways,
		.nb_gateways = 2,
		.allow = b->allow,
		.nb_allow = 2,
		.hairpin = true,
		.port_lo = 49152,
		.port_hi = 65535,
		.workers = 1,
	};
}

struct turn_policy *policy_fixture_create(const struct turn_config *c)
{
	struct turn_policy *p =
		turn_policy_create(c, policy_fixture_crypto, policy_fixture_boot_key);

	assert_non_null(p);
	return p;
}

enum turn_peer_class policy_fixture_judge(const struct turn_policy *p, struct addr a)
{
	a = addr_canonical(a);
	return turn_policy_peer(p, &a, POLICY_FIXTURE_PORT);
}
