// SPDX-License-Identifier: BSD-3-Clause
// What the tests of who may be a peer share: policies from a configuration, and their judgement.
#pragma once

#include "turn_config.h"
#include "turn_policy.h"

#define POLICY_FIXTURE_PORT \
	50000 // of a peer, where it does not matter: a relay port of own addresses

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

// Make the crypto and free it: set-up and teardown of the group.
int policy_fixture_open(void **state);
int policy_fixture_close(void **state);
// Makes a box with two relay addresses, one more address and a gateway of each family, and what is
// on-link allowed. It has no listener.
void policy_fixture_box(struct policy_fixture_box *b);
// The policy of a configuration, to be freed by the caller; fails the test when there is none.
struct turn_policy *policy_fixture_create(const struct turn_config *c);
// What p says of a peer with this address, after it has been made canonical.
enum turn_peer_class policy_fixture_judge(const struct turn_policy *p, struct addr a);
