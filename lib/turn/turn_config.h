// SPDX-License-Identifier: BSD-3-Clause
// What lib/turn is configured with, as data. lib/conf fills it, and the configuration owns it.
// lib/turn reads it at start and on reload.
#pragma once

#include "addr.h"
#include "bucket.h"
#include "routes.h"
#include "stun.h"

#define TURN_WORKERS_MAX 64
#define TURN_IDENT_LEN 16 // first bytes of a USERHASH: says who an allocation belongs to
#define TURN_NAME_LEN 20 // bytes of a user name that are kept, for display only

struct turn_user {
	char *name;
	char *password; // NULL when only keys are given
	struct stun_key md5, sha256; // len 0 = derived from the password, if there is one
};

// A key by which an authorization server seals access tokens for this one (RFC 7635).
struct turn_oauth_key {
	char *kid; // its name, and the USERNAME of requests
	char *secret; // in hexadecimal or base64
	uint8_t algorithm; // enum stun_token_alg
	uint32_t timestamp_s, lifetime_s; // it is good for so long from then on; lifetime 0 = ever
};

#define TURN_OAUTH_KEYS_MAX 64
struct turn_oauth {
	char *server_name; // that tokens are made for; NULL = the realm
	struct turn_oauth_key *keys;
	uint32_t nb_keys; // 0 = no tokens are taken
};

// Transports of the client leg. All but UDP and DTLS are byte streams, and the kernel handles
// those: they are not packets of a port.
enum turn_transport {
	TURN_OVER_UDP,
	TURN_OVER_TCP,
	TURN_OVER_TLS,
	TURN_OVER_AUTO, // TCP; the first byte tells whether it carries TLS
	TURN_OVER_DTLS, // may share the port of a UDP listener; the first byte tells them apart
};

// Which addresses an entry of the file stands for. Once it is loaded, each listener has one.
enum turn_listen_on {
	TURN_LISTEN_ONE,
	TURN_LISTEN_ALL,
	TURN_LISTEN_ALL_IPV4,
	TURN_LISTEN_ALL_IPV6
};

// What clients of TLS or DTLS meet on one listener, in the place of what all others have. It is in
// the file beside what lib/turn reads, and lib/turn does not look at it.
struct turn_listener_tls {
	char *certificate, *key; // paths; both, or both NULL
	char **alpn; // NULL = the file has no list
	uint32_t nb_alpn;
};

// Balancers of a listener, which name the client in front of each connection. lib/turn does not
// look at it either.
struct turn_listener_proxy {
	struct prefix *sources; // where they connect from
	uint32_t nb_from; // 0 = none: clients connect themselves
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
	uint8_t dscp; // of its clients' traffic: TURN_DSCP_COPY, or the value and 1
	uint8_t entry; // number of the entry in the file
	uint8_t binding; // enum turn_binding
	char **realms; // names of those that are served, the first of them by default
	uint32_t nb_realms; // 0 = all, the first of the file by default
	struct turn_listener_tls tls;
	struct turn_listener_proxy proxy;
};

#define TURN_DSCP_COPY 0 // as it came

// The DSCP of a listener that has one, as it stands in TOS and traffic class; else 0.
static inline uint8_t turn_listener_tos(const struct turn_listener *l)
{
	return l->dscp != TURN_DSCP_COPY ? (uint8_t)((l->dscp - 1) << 2) : 0;
}

static inline bool turn_listener_is_stream(const struct turn_listener *l)
{
	return l->transport != TURN_OVER_UDP && l->transport != TURN_OVER_DTLS;
}

// An own address with its on-link prefix.
struct turn_local {
	struct addr addr;
	struct prefix subnet;
	uint8_t port; // index of the port it is on
	struct addr external; // what the network translates addr to, of its family; :: = nothing
	bool beside; // this machine's programs can be reached there, beside us, by the loopback
};

// Which clients are told of ICMP errors about what they have sent (RFC 8656 11.5).
enum turn_icmp_tell {
	TURN_ICMP_TELL_RFC8489, // those that send PASSWORD-ALGORITHMS back, as RFC 8489 wants it
	TURN_ICMP_TELL_ALL,
	TURN_ICMP_TELL_NONE
};

// The family of the relayed transport address where an Allocate names none.
enum turn_family {
	TURN_FAMILY_IPV4, // RFC 8656 7.2 (7)
	TURN_FAMILY_IPV6,
	TURN_FAMILY_CLIENT // that by which the client came
};

// Whose datagrams a rate is of.
enum turn_rate_of { TURN_RATE_ALLOCATION, TURN_RATE_USER, TURN_RATE_REALM, TURN_RATE_OF_END };

// What may be relayed in a second; 0 = no limit. Bits are those of the data, as usage counts it.
struct turn_flow_rate {
	uint32_t kbits, datagrams;
};

struct turn_rates {
	struct turn_flow_rate flow[TURN_RATE_OF_END][2]; // by enum turn_leg
	uint32_t burst_ms; // so much of a rate may come at once; at most 10 s, 0 = TURN_BURST_MS
};
#define TURN_BURST_MS 100

// What becomes of an allocation when the time in the REST name that made it has passed.
enum turn_rest_expiry {
	TURN_REST_REFRESH_REFUSED, // it is refreshed no more
	TURN_REST_IGNORED, // nothing: the name only has to be good for the Allocate
	TURN_REST_ENDS // it ends
};

struct turn_limits {
	uint32_t allocations, per_user, per_source; // 0 = only memory limits
	uint32_t of_realm; // allocations of one realm; 0 = no limit. The first realm has none
	uint8_t realm; // number of the realm that per_user and of_realm are of
	uint32_t permissions, channels; // per allocation, hard caps
	uint32_t endpoints; // peers on a shared relay port, per allocation; at most UINT16_MAX
	uint32_t peer_share; // on so many percent of the shared addresses a user may have one peer
	uint32_t lifetime_default_s, lifetime_max_s;
	uint32_t permission_s, channel_s; // how long each lives; 0 = as RFC 8656 has it
	struct limit unauthenticated, binding; // answers, per source
	struct limit stale_nonce; // per 5-tuple
	struct limit guesses; // wrong passwords, per source
	struct limit icmp; // ICMP errors that a client is told of, per allocation
	struct turn_rates rates;
};

// How many permissions, channels and peers on shared addresses there is memory for: so many for
// each allocation that can exist, and so many more for all together. 0 = the default that
// conf/slipring.yaml names.
struct turn_pools {
	uint32_t sure_permissions, sure_channels; // at most 16; peers get as many as permissions
	uint32_t permissions, channels, endpoints;
	uint32_t moves; // clients that have moved, or are about to; no memory without mobility
	uint32_t per_user; // percent of those four that one user may hold
};

// Addresses that stand in for the relay addresses towards some peers: as many of a family as there
// are relay addresses of it, each for one, in their order.
struct turn_relay_pool {
	char *name;
	struct addr *addresses;
	struct prefix *peers;
	uint32_t nb_addresses, nb_peers;
};

// A realm beside the first, and what it has of its own.
#define TURN_REALMS_MAX 128
#define TURN_REALM_NUMBERS 256 // 0 is the first realm's
struct turn_realm {
	char *name;
	char **origins; // ORIGINs whose clients are asked for credentials of this realm
	struct turn_user *users;
	char **secrets;
	struct prefix *allow, *deny; // beside those of turn_config
	char **relay_pool_names; // of those that its peers may be in; NULL = all
	uint32_t nb_origins, nb_users, nb_secrets, nb_allow, nb_deny, nb_relay_pool_names;
	struct turn_oauth oauth;
	uint32_t allocations; // in all; 0 = no limit but that of all realms together
	uint32_t per_user; // 0 = as in the first realm
	// 1 to 255. Allocations keep it, so a realm has the same one as long as the process lives.
	uint8_t number;
};

#define TURN_SOURCES_MAX 65536 // relay addresses, and as many again for each pool

// TCP allocations (RFC 6062).
struct turn_tcp {
	bool enabled;
	uint16_t ports_lo, ports_hi; // of relayed transport addresses
	uint32_t connections, per_user, per_allocation; // of peers, at a time
	struct limit connects; // Connects of a user
	uint32_t timeout_s; // for a Connect, and for a connection that nobody binds
	uint32_t buffer; // bytes that wait on the way, each way of each connection
};

struct turn_config {
	char *realm; // the first
	struct turn_user *users;
	char **secrets; // REST secrets
	char **origins, **relay_pool_names; // of the first realm, as in struct turn_realm
	struct turn_realm *realms; // the others
	uint32_t nb_users, nb_secrets, nb_origins, nb_relay_pool_names, nb_realms;
	uint8_t rest_expiry; // enum turn_rest_expiry
	struct turn_oauth oauth; // of the first realm
	uint32_t nonce_lifetime_s;
	char *nonce_secret; // "" = a random one for the life of the process
	struct turn_listener *listeners;
	struct addr *relay; // relay addresses, v4 and v6
	struct turn_relay_pool *relay_pools;
	struct turn_local *local; // all own addresses
	struct addr *gateways; // and the routers of routes
	struct route *routes; // sorted; NULL = nobody asks whether peers can be reached
	// Ports, by bit, whose networks have nothing to do with those of other ports: realms have
	// relay pools there. The routes know it too.
	uint32_t apart;
	struct addr *discovery; // own addresses that take part in NAT behaviour discovery
	struct prefix *allow, *deny;
	struct prefix *deny_listed; // as deny, out of files: there may be millions
	struct prefix *nat64; // prefixes of the operator's translators; see addr_nat64_prefix
	uint32_t nb_listeners, nb_relay, nb_relay_pools, nb_local, nb_gateways, nb_routes, nb_allow,
		nb_deny, nb_deny_listed, nb_nat64;
	uint32_t nb_discovery; // two of a family; 0 = the usage is off
	uint16_t discovery_ports[2];
	uint16_t port_lo, port_hi; // relay ports
	// Whether allocations share relay ports; else each has a relayed transport address of its
	// own.
	bool shared;
	uint32_t quarantine_s;
	uint8_t default_family; // enum turn_family
	struct turn_tcp tcp;
	bool mobility; // clients may move their allocations to another 5-tuple (RFC 8016)
	uint32_t grace_s; // one that may move outlives its client's connection so long
	bool hairpin;
	bool rfc5766_channels; // clients of RFC 5766 may bind channel numbers up to 0x7FFF
	uint8_t icmp_tell; // enum turn_icmp_tell
	uint32_t interim_s; // between two events of a live allocation (turn_event.h); 0 = no such
	uint32_t workers;
	struct turn_limits limits;
	struct turn_pools pools;
};

// Whether all clients are one user, whom nobody needs to be protected from.
static inline bool turn_config_one_user(const struct turn_config *c)
{
	return c->nb_users == 1 && c->nb_secrets + c->oauth.nb_keys + c->nb_realms == 0;
}
