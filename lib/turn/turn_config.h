// SPDX-License-Identifier: BSD-3-Clause
// What lib/turn is configured with, as data. lib/conf fills it and the configuration owns it. It is
// read at start and on reload.
#pragma once

#include "addr.h"
#include "stun.h"

#define TURN_WORKERS_MAX 64
#define TURN_IDENT_LEN 16 // first bytes of the USERHASH: who an allocation belongs to
#define TURN_NAME_LEN 20 // of a user name, kept for display only

struct turn_user {
	char *name;
	char *password; // NULL when only keys are given
	struct stun_key md5, sha256; // len 0 = derive from the password (or not to be had)
};

// Of the client leg. All but UDP and DTLS are byte streams, and the kernel's: no packets of a port.
enum turn_transport {
	TURN_OVER_UDP,
	TURN_OVER_TCP,
	TURN_OVER_TLS,
	TURN_OVER_AUTO, // TCP, of which the first byte tells whether there is TLS
	TURN_OVER_DTLS, // may have the port of a UDP listener, of which the first byte tells it
};

struct turn_listener {
	struct endpoint at;
	uint8_t transport; // enum turn_transport
};

static inline bool turn_listener_is_stream(const struct turn_listener *l)
{
	return l->transport != TURN_OVER_UDP && l->transport != TURN_OVER_DTLS;
}

// An address of ours with its on-link prefix.
struct turn_local {
	struct addr addr;
	struct prefix subnet;
};

struct turn_rate {
	uint32_t rate, burst; // answers per second and source; rate 0 = no limit
};

struct turn_limits {
	uint32_t allocations, per_user, per_source; // 0 = no limit but the memory
	uint32_t permissions, channels; // per allocation, hard caps
	uint32_t endpoints; // of peers on a shared relay port, per allocation; at most UINT16_MAX
	uint32_t peer_share; // percent of the shared addresses on which a user may have one peer
	uint32_t lifetime_default_s, lifetime_max_s;
	struct turn_rate unauthenticated, binding;
	struct turn_rate stale_nonce; // per 5-tuple
	struct turn_rate guesses; // wrong passwords
};

// How many permissions, channels and peers on shared addresses there is memory for: so many an
// allocation, of all that can exist, and so many beyond these in all. 0 = see conf/slipring.yaml.
struct turn_pools {
	uint32_t sure_permissions, sure_channels; // at most 16; of peers as of permissions
	uint32_t permissions, channels, endpoints;
	uint32_t per_user; // percent of these that one user may hold
};

struct turn_config {
	char *realm;
	struct turn_user *users;
	char **secrets; // REST secrets
	uint32_t nb_users, nb_secrets;
	uint32_t nonce_lifetime_s;
	char *nonce_secret; // "" = random for the life of the process
	struct turn_listener *listeners;
	struct addr *relay; // relay addresses, v4 and v6
	struct turn_local *local; // every own address
	struct addr *gateways;
	struct prefix *allow, *deny;
	struct prefix *nat64; // of the operator's translators, as addr_nat64_prefix says
	uint32_t nb_listeners, nb_relay, nb_local, nb_gateways, nb_allow, nb_deny, nb_nat64;
	uint16_t port_lo, port_hi; // relay ports
	bool shared; // by all allocations; else each has a relayed transport address of its own
	uint32_t quarantine_s;
	bool hairpin;
	bool rfc5766_channels; // clients of RFC 5766 may bind numbers up to its 0x7FFF
	uint32_t workers;
	struct turn_limits limits;
	struct turn_pools pools;
};
