// SPDX-License-Identifier: BSD-3-Clause
// Everything a request is judged by. A policy is immutable: the management lcore makes it, workers
// read it, and it is replaced as a whole.
#pragma once

#include "addr.h"

struct stun_crypto;
struct turn_config;
struct turn_policy;

enum turn_peer_class {
	TURN_PEER_NEVER, // no key opens it: 403
	TURN_PEER_OWN, // own relay address: delivered in process
	TURN_PEER_DENY, // by deny list or default: 403
	TURN_PEER_ALLOW,
};

// Copies what it needs of c. boot_key seeds the nonce key when no nonce secret is configured (so
// that it can outlive a reload). NULL with errno set.
struct turn_policy *turn_policy_create(
	const struct turn_config *c, struct stun_crypto *crypto, const uint8_t boot_key[32]);
void turn_policy_free(struct turn_policy *p);
// Judges a canonical peer address and port (the port matters for 0 only).
enum turn_peer_class turn_policy_peer(
	const struct turn_policy *p, const struct addr *a, uint16_t port);
