// SPDX-License-Identifier: BSD-3-Clause
// Everything that requests are judged by. A policy is immutable: the management lcore makes it,
// workers read it, and it is replaced as a whole.
#pragma once

#include "addr.h"

struct stun_crypto;
struct turn_config;
struct turn_policy;

enum turn_peer_class {
	TURN_PEER_NEVER, // no configuration key opens it: 403
	// Own address, and a relay port or one of this machine's programs: the datagram goes there
	// in process, or by the loopback.
	TURN_PEER_OWN,
	TURN_PEER_DENY, // by deny list or default: 403
	TURN_PEER_ALLOW,
};

// Makes a policy from *c; copies what it needs. boot_key (32 random bytes that outlive reloads)
// seeds the nonce key when no nonce secret is configured. NULL with errno set: ENOMEM, EINVAL, EIO
// (libcrypto) or EEXIST (two users of one name).
struct turn_policy *turn_policy_create(
	const struct turn_config *c, struct stun_crypto *crypto, const uint8_t boot_key[32]);
// Wipes the keys and frees the policy. NULL is fine.
void turn_policy_free(struct turn_policy *p);
// Makes a policy like p for a box with the addresses, routers and routes of *c, which is else the
// configuration that p was made from. What is not of addresses is in both: once nobody reads one of
// them, that one is freed by turn_policy_moved_free, and the other one owns it alone. Neither is
// moved or freed by turn_policy_free before. NULL with errno set: ENOMEM or EINVAL.
struct turn_policy *turn_policy_move(const struct turn_policy *p, const struct turn_config *c);
void turn_policy_moved_free(struct turn_policy *p); // NULL is fine
// Judges a peer by its canonical address and its port in host order, in the form that they have
// inside: an external address is a peer only where others have it, too, and at their ports. Port 0
// is never allowed; at an own address relay ports are, and where an entry of peers.allow names the
// address, other ports that are no listener's. TURN_PORT_ANY: whether some port is.
#define TURN_PORT_ANY 1
enum turn_peer_class turn_policy_peer(
	const struct turn_policy *p, const struct addr *a, uint16_t port);
