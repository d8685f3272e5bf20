// SPDX-License-Identifier: BSD-3-Clause
// Fixture of the tests of peer rules: policies from a configuration, and their class of a peer.
#pragma once

#include "turn_config.h"
#include "turn_policy.h"

// A peer's port where the port does not matter: a relay port of our addresses.
#define POLICY_FIXTURE_PORT 50000

// A box's addresses, and its configuration, which points at them. There is room for a test's own.
struct policy_fixture_box {
	struct turn_config c;
	struct turn_listener listeners[2];
	struct addr relay[2], gateways[3];
	struct turn_local local[6];
	struct prefix allow[2];
};

extern const uint8_t policy_fixture_boot_key[32];
extern struct stun_crypto *policy_fixture_crypto;

// Group set-up and teardown: make the crypto and free it.
int policy_fixture_open(void **state);
int policy_fixture_close(void **state);
// Makes a box with two relay addresses, one more address and a gateway of each family, and an allow
// rule for its links. It has no listener.
void policy_fixture_box(struct policy_fixture_box *b);
// The policy of a configuration, which the caller frees. Fails the test if it is not created.
struct turn_policy *policy_fixture_create(const struct turn_config *c);
// The class that p gives a peer with this address, after the address has been made canonical.
enum turn_peer_class policy_fixture_judge(const struct turn_policy *p, struct addr a);
