// SPDX-License-Identifier: BSD-3-Clause
// Everything that requests are judged by. A policy is immutable: the management lcore makes it,
// workers read it, and it is replaced as a whole.
#pragma once

#include "addr.h"

struct stun_crypto;
struct turn_config;
struct turn_policy;

enum turn_peer_class {
	TURN_PEER_NEVER, // no configuration key can allow it: 403
	// Our address, with a relay port or the port of a local program: the datagram stays in this
	// process, or goes over loopback.
	TURN_PEER_OWN,
	TURN_PEER_DENY, // by deny list or default: 403
	TURN_PEER_ALLOW,
};

// Makes a policy from *c; copies everything it needs. boot_key (32 random bytes that outlive
// reloads) seeds the nonce key if no nonce secret is configured. NULL with errno set: ENOMEM,
// EINVAL, EIO (libcrypto) or EEXIST (two users with the same name).
struct turn_policy *turn_policy_create(
	const struct turn_config *c, struct stun_crypto *crypto, const uint8_t boot_key[32]);
// Wipes the keys and frees the policy. Accepts NULL.
void turn_policy_free(struct turn_policy *p);
// Makes a policy like p with the addresses, routers and routes of *c, which otherwise is the
// configuration that p was made from. Both policies share the rest. Once no thread reads one of
// them, free that one with turn_policy_moved_free; the other then owns the rest alone. Until then
// neither may be moved or freed by turn_policy_free. NULL with errno set: ENOMEM or EINVAL.
struct turn_policy *turn_policy_move(const struct turn_policy *p, const struct turn_config *c);
void turn_policy_moved_free(struct turn_policy *p); // accepts NULL
// True if clients at this canonical address are served. Any thread.
bool turn_policy_serves(const struct turn_policy *p, const struct addr *client);
// Judges a peer by its canonical address and its port in host order, both in internal form: an
// external address is a peer only if other hosts share it, and only at the ports of those hosts.
// Port 0 is never allowed. At our addresses relay ports are allowed, and if an entry of peers.allow
// names the address, other ports without a listener. TURN_PORT_ANY: asks if some port is allowed.
#define TURN_PORT_ANY 1
enum turn_peer_class turn_policy_peer(
	const struct turn_policy *p, const struct addr *a, uint16_t port);
