// SPDX-License-Identifier: BSD-3-Clause
// The configuration of lib/turn, as data. lib/conf fills it, and the configuration owns it.
// lib/turn reads it at start and on reload.
#pragma once

#include "addr.h"
#include "feature_names.h"
#include "rates/bucket.h"
#include "tables/routes.h"
#include "stun.h"
#include "turn_config_features.h"

#define TURN_WORKERS_MAX 64
#define TURN_IDENT_LEN 16 // first bytes of a USERHASH: identifies the owner of an allocation
#define TURN_NAME_LEN 20 // bytes of a user name that are kept, for display only

struct turn_user {
	char *name;
	char *password; // NULL if only keys are given
	struct stun_key md5, sha256; // len 0 = derived from the password, if there is one
};

// Transports of the client leg. All except UDP and DTLS are byte streams, which the kernel handles:
// their packets do not pass a port.
enum turn_transport {
	TURN_OVER_UDP,
	TURN_OVER_TCP,
	TURN_OVER_TLS,
	TURN_OVER_AUTO, // TCP; the first byte shows if it carries TLS
	TURN_OVER_DTLS, // may share the port of a UDP listener; the first byte tells the two apart
};

// The addresses that a listener entry of the file covers. Once loaded, each listener has one
// address.
enum turn_listen_on {
	TURN_LISTEN_ONE,
	TURN_LISTEN_ALL,
	TURN_LISTEN_ALL_IPV4,
	TURN_LISTEN_ALL_IPV6
};

// TLS and DTLS settings of one listener, in place of the common ones. The file has them in the
// listener's entry; lib/turn does not use them.
struct turn_listener_tls {
	char *certificate, *key; // paths; both, or both NULL
	char **alpn; // NULL = the file has no list
	uint32_t nb_alpn;
};

// Load balancers of a listener, which announce the client at the start of each connection. lib/turn
// does not use this either.
struct turn_listener_proxy {
	struct prefix *sources; // addresses from which they connect
	uint32_t nb_from; // 0 = no balancers: clients connect directly
	uint32_t size; // bytes of the longest header
};

// Which Binding requests a listener answers.
enum turn_binding {
	TURN_BINDING_ALL, // over UDP also those of RFC 3489, which have no magic cookie
	TURN_BINDING_RFC8489,
	TURN_BINDING_NONE
};

struct turn_listener {
	struct endpoint endpoint;
	uint8_t transport; // enum turn_transport
	uint8_t on; // enum turn_listen_on
	uint8_t dscp; // for its clients' traffic: TURN_DSCP_COPY, or the value + 1
	uint8_t entry; // number of the entry in the file
	uint8_t binding; // enum turn_binding
	struct turn_listener_tls tls;
	struct turn_listener_proxy proxy;
#define X(type, field) type field;
	TURN_CONFIG_LISTENER_FIELDS(X)
#undef X
};

#define TURN_DSCP_COPY 0 // as received

// The DSCP of a listener that sets one, shifted as in TOS and traffic class; else 0.
static inline uint8_t turn_listener_tos(const struct turn_listener *l)
{
	return l->dscp != TURN_DSCP_COPY ? (uint8_t)((l->dscp - 1) << 2) : 0;
}

static inline bool turn_listener_is_stream(const struct turn_listener *l)
{
	return l->transport != TURN_OVER_UDP && l->transport != TURN_OVER_DTLS;
}

// One of our addresses, with its on-link prefix.
struct turn_local {
	struct addr addr;
	struct prefix subnet;
	uint8_t port; // index of its port
	// The external address to which the network translates addr; :: = no translation.
	struct addr external;
	// Local programs also use this address, and are reached over loopback.
	bool beside;
};

// Which clients are notified of ICMP errors about their datagrams (RFC 8656 11.5).
enum turn_icmp_tell {
	TURN_ICMP_TELL_RFC8489, // those that echo PASSWORD-ALGORITHMS, as RFC 8489 requires
	TURN_ICMP_TELL_ALL,
	TURN_ICMP_TELL_NONE
};

// The family of the relayed transport address if an Allocate names no family.
enum turn_family {
	TURN_FAMILY_IPV4, // RFC 8656 7.2 (7)
	TURN_FAMILY_IPV6,
	TURN_FAMILY_CLIENT // that of the client's address
};

// What happens to an allocation when the expiry time in the REST name that made it has passed?
enum turn_rest_expiry {
	TURN_REST_REFRESH_REFUSED, // the allocation can no longer be refreshed
	TURN_REST_IGNORED, // nothing: the name must only be valid for the Allocate
	TURN_REST_ENDS // the allocation ends
};

struct turn_limits {
	uint32_t allocations, per_user, per_source; // 0 = limited by memory only
	uint32_t of_realm; // allocations of one realm; 0 = no limit, as in the first realm
	uint8_t realm; // number of the realm to which per_user and of_realm apply
	uint32_t permissions, channels; // per allocation, hard caps
	uint32_t lifetime_default_s, lifetime_max_s;
	uint32_t permission_s, channel_s; // lifetimes; 0 = those of RFC 8656
	struct limit unauthenticated, binding; // answers, per source
	struct limit stale_nonce; // per 5-tuple
	struct limit guesses; // wrong passwords, per source
	struct limit icmp; // ICMP errors reported to a client, per allocation
#define X(type, field) type field;
	TURN_CONFIG_LIMITS(X)
#undef X
};

// Memory for permissions, channels and the records of features: a guaranteed number for each
// possible allocation, and a number for all together. 0 = the default in conf/slipring.yaml.
struct turn_pools {
	// At most 16; for records of features the number is that of permissions.
	uint32_t sure_permissions, sure_channels;
	uint32_t permissions, channels;
#define X(field, name, enabled, bytes, most) uint32_t field;
	TURN_CONFIG_POOLS(X)
#undef X
	uint32_t per_user; // percent of each that one user may hold
};

// Addresses that replace the relay addresses towards some peers. For each family there are as many
// as relay addresses, and each replaces one, in order.
struct turn_relay_pool {
	char *name;
	struct addr *addresses;
	struct prefix *peers;
	uint32_t nb_addresses, nb_peers;
};

// A realm, and the settings that it does not share with others.
struct turn_realm {
	char *name;
	struct turn_user *users;
	char **secrets; // REST secrets
	struct prefix *allow, *deny; // in addition to those of turn_config
	char **relay_pool_names; // pools for its peers; NULL = all
	uint32_t nb_users, nb_secrets, nb_allow, nb_deny, nb_relay_pool_names;
	uint32_t allocations; // 0 = only the limit for all realms together
	uint32_t per_user; // 0 = as for all realms
	// 0 is the first realm's. Allocations store it, so a realm keeps its number for the life of
	// the process.
	uint8_t number;
#define X(type, field) type field;
	TURN_CONFIG_REALM_FIELDS(X)
#undef X
};

#define X(list, nb, numbers) +numbers
enum { TURN_REALM_NUMBERS = 1 TURN_CONFIG_MORE_REALMS(X) };
#undef X

#define TURN_SOURCES_MAX 65536 // relay addresses, and their replacements in all pools

struct turn_config {
	struct turn_realm first; // there is always one realm
	uint8_t rest_expiry; // enum turn_rest_expiry
	uint32_t nonce_lifetime_s;
	char *nonce_secret; // "" = a random one for the life of the process
	struct turn_listener *listeners;
	struct addr *relay; // relay addresses, v4 and v6
	struct turn_relay_pool *relay_pools;
	struct turn_local *local; // all our addresses
	struct addr *gateways; // including the routers of routes
	struct route *routes; // sorted; NULL = reachability of peers is not checked
	// Bit mask of ports whose networks are unrelated to those of other ports: realms have relay
	// pools there. The routes have it, too.
	uint32_t apart;
	struct prefix *allow, *deny;
	struct prefix *deny_listed; // like deny, but read from files: there may be millions
	struct prefix *nat64; // prefixes of the operator's translators; see addr_nat64_prefix
	// Rules for the addresses of clients, in the same way.
	struct prefix *client_allow, *client_deny, *client_deny_listed;
	uint32_t nb_listeners, nb_relay, nb_relay_pools, nb_local, nb_gateways, nb_routes, nb_allow,
		nb_deny, nb_deny_listed, nb_nat64, nb_client_allow, nb_client_deny,
		nb_client_deny_listed;
	uint16_t port_lo, port_hi; // relay ports
	uint32_t quarantine_s;
	uint8_t default_family; // enum turn_family
	bool hairpin;
	bool rfc5766_channels; // clients of RFC 5766 may bind channel numbers up to 0x7FFF
	uint8_t icmp_tell; // enum turn_icmp_tell
	// Minimum between two events of a live allocation (turn_event.h); 0 = no such events.
	uint32_t interim_s;
	bool tells_peers; // the peers of allocations cause events
	uint32_t workers;
	struct turn_limits limits;
	struct turn_pools pools;
#define X(type, field) type field;
	TURN_CONFIG_FIELDS(X)
#undef X
};

// True if allocations share relay ports; else each has a relayed transport address of its own.
static inline bool turn_config_shares_ports(const struct turn_config *c)
{
#ifdef FEATURE_SHARED
	return c->shared.enabled;
#else
	return false;
#endif
}

// The number of realms, and the realm at an index below it: 0 is the first. The realm may be
// changed if *c may be.
static inline uint32_t turn_config_nb_realms(const struct turn_config *c)
{
#define X(list, nb, numbers) +c->nb
	return 1 TURN_CONFIG_MORE_REALMS(X);
#undef X
}

static inline struct turn_realm *turn_config_realm(const struct turn_config *c, uint32_t i)
{
#define X(list, nb, numbers) \
	if (i > 0)           \
		return &c->list[i - 1];
	TURN_CONFIG_MORE_REALMS(X)
#undef X
	return (struct turn_realm *)&c->first;
}

// Number of credentials that let clients log in to a realm.
static inline uint32_t turn_realm_credentials(const struct turn_realm *r)
{
#define X(number) +r->number
	return r->nb_users + r->nb_secrets TURN_CONFIG_CREDENTIALS(X);
#undef X
}

// True if all clients are one user, so that users need no protection from each other.
static inline bool turn_config_one_user(const struct turn_config *c)
{
	return turn_config_nb_realms(c) == 1 && c->first.nb_users == 1 &&
		turn_realm_credentials(&c->first) == 1;
}
