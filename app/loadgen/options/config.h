// SPDX-License-Identifier: BSD-3-Clause
// The configuration that the command line asks for. opts.c writes it once; everything else reads
// it. config.c has the defaults and the names of values.
#pragma once

#include "addr.h"

#define CONFIG_SIZES_MAX 16
#define CONFIG_LANES_MAX 32
#define CONFIG_CLIENTS_MAX (1u << 20)
#define CONFIG_NAME_MAX 128
#define CONFIG_RATE_MAX 1e9 // datagrams per second

enum role { ROLE_CLIENT = 1, ROLE_PEER = 2, ROLE_BOTH = 3 };

// Work of the clients after set-up.
enum mode {
	MODE_CHANNEL, // media as ChannelData
	MODE_SEND, // media as Send and Data indications
	MODE_DIRECT, // media straight to the peer, without a server: tests the generator itself
	MODE_BINDING, // Binding requests
	MODE_ALLOC, // allocate and release, over and over
	MODE_ALLOC_HOLD, // allocate and keep
	MODE_INVALID, // malformed datagrams
	MODE_UNAUTH, // Allocate requests without credentials
	MODE_HANDSHAKE, // connect, shake hands, send one Binding request, close; over and over
	MODE_NB
};

// The transport between clients and server. All transports other than UDP use this host's kernel
// and libssl.
enum transport { TRANSPORT_UDP, TRANSPORT_TCP, TRANSPORT_TLS, TRANSPORT_DTLS };

// The direction media flows in. Stamps carry it, and results are kept for each direction.
enum direction {
	DIRECTION_UP, // client to peer
	DIRECTION_DOWN, // peer to client
	DIRECTION_ECHO, // client to peer and back: the client stamps it and measures it
	DIRECTION_NB
};

// Use of super-frames for bursts.
enum uso {
	USO_AUTO, // if a port does it at no cost
	USO_ON, // if a port can do it
	USO_OFF,
};

enum integrity { INTEGRITY_SHA1, INTEGRITY_SHA256 };

enum search_wanted { WANT_NO_SEARCH, WANT_NDR, WANT_PDR, WANT_ALLOC_RATE };

// The hosts of one side: every address of the range with every port of the range. Host i has
// address i % addresses and port i / addresses, both counted from the first.
struct side {
	const char *device; // ethdev number, or a device string as in the server's configuration
	struct addr_range addrs;
	uint8_t prefix_len; // of the on-link prefix, in the 128-bit form
	uint16_t port_lo, port_hi;
	struct addr gateway; // unspecified (all zero) = none
};

// How often the reflector makes faults on purpose: shares 0..1, spread evenly and counted.
struct impair {
	double loss, duplicate, reorder, corrupt;
	uint32_t delay_us; // delay of every reflected datagram
};

struct config {
	enum role role;
	struct side client, peer;
	bool shared_port; // both sides use the same port
	unsigned int senders, receivers;
	uint16_t mtu, ring;
	uint32_t mbufs;

	struct endpoint server;
	enum transport transport;
	bool tls_12; // no TLS version above 1.2
	const char *ca; // certificates to verify the server with; NULL = do not verify it
	uint32_t clients;
	char user[CONFIG_NAME_MAX], password[CONFIG_NAME_MAX], secret[CONFIG_NAME_MAX];
	bool user_per_client; // the client's number is appended to the user name
	enum integrity integrity;
	bool dont_fragment;
	uint32_t lifetime_s;
	double setup_rate; // clients started per second; 0 = as fast as answers come
	uint32_t window; // most clients in set-up at a time

	enum mode mode;
	bool direction[DIRECTION_NB];
	bool peer_echo; // the reflector sends datagrams back; otherwise it is a sink
	struct impair impair;
	double rate; // datagrams per second, all clients and directions together; 0 = flood
	bool rate_given; // --pps, --mbps, --pps-per-client, --voip or flood was on the command line
	uint32_t burst; // datagrams of one flow sent back to back
	enum uso uso;
	unsigned int nb_sizes;
	uint16_t size[CONFIG_SIZES_MAX]; // payload bytes, used in turn
	double duration_s, warmup_s, drain_s;

	enum search_wanted search;
	double search_loss, search_lo, search_hi, search_resolution;
	unsigned int search_repeats;

	double stats_period_s; // 0 = no table
	const char *json; // file name, "-" = stdout, NULL = none
	const char *telemetry; // EAL file prefix of the server, NULL = none
	const char *plot; // file to write, NULL = none
	bool interactive;
};

// Number of addresses of a side.
static inline uint32_t side_addrs(const struct side *s)
{
	return __builtin_bswap32(s->addrs.hi.w[3]) - __builtin_bswap32(s->addrs.lo.w[3]) + 1;
}

// Number of hosts of a side: addresses times ports.
static inline uint32_t side_hosts(const struct side *s)
{
	return side_addrs(s) * ((uint32_t)s->port_hi - s->port_lo + 1);
}

// Returns host i of a side, i < side_hosts().
static inline struct endpoint side_host(const struct side *s, uint32_t i)
{
	const uint32_t n = side_addrs(s);
	struct endpoint e = {.addr = s->addrs.lo, .port = (uint16_t)(s->port_lo + i / n)};

	e.addr.w[3] = __builtin_bswap32(__builtin_bswap32(e.addr.w[3]) + i % n);
	return e;
}

// True if an address is one of the side's own.
static inline bool side_has(const struct side *s, const struct addr *a)
{
	return ((a->d[0] ^ s->addrs.lo.d[0]) | (uint64_t)(a->w[2] ^ s->addrs.lo.w[2])) == 0 &&
		__builtin_bswap32(a->w[3]) - __builtin_bswap32(s->addrs.lo.w[3]) < side_addrs(s);
}

// Writes the number of the host at an endpoint to *index; false when the side has no such host.
static inline bool side_index(
	const struct side *s, const struct addr *a, uint16_t port, uint32_t *index)
{
	if (!side_has(s, a) || port < s->port_lo || port > s->port_hi)
		return false;
	*index = (uint32_t)(port - s->port_lo) * side_addrs(s) +
		(__builtin_bswap32(a->w[3]) - __builtin_bswap32(s->addrs.lo.w[3]));
	return true;
}

// True if clients are connections of this host's kernel, not addresses on a port.
static inline bool config_links(const struct config *c)
{
	return c->transport != TRANSPORT_UDP;
}

// True if the transport either delivers everything sent or closes the connection, so that requests
// are not retransmitted (RFC 8489 6.2.2).
static inline bool config_reliable(const struct config *c)
{
	return c->transport == TRANSPORT_TCP || c->transport == TRANSPORT_TLS;
}

// True if the mode sends media.
static inline bool config_media(const struct config *c)
{
	return c->mode == MODE_CHANNEL || c->mode == MODE_SEND || c->mode == MODE_DIRECT;
}

// True if there are clients that make allocations.
static inline bool config_allocates(const struct config *c)
{
	return (c->role & ROLE_CLIENT) != 0 &&
		(c->mode == MODE_CHANNEL || c->mode == MODE_SEND || c->mode == MODE_ALLOC ||
			c->mode == MODE_ALLOC_HOLD);
}

// Sets the defaults. They are not enough for a run: addresses are missing, and opts_parse adds the
// defaults that depend on other options.
void config_defaults(struct config *c);

// Names of values, as on the command line or in reports. The strings are static.
const char *config_mode_name(enum mode m);
const char *config_transport_name(enum transport t);
const char *config_way_name(enum direction d); // "up", "down", "echo"
// "up", "down", "both", "echo"; "none" where no datagrams are measured (allocations).
const char *config_direction_name(const struct config *c);
// Returns "ndr", "pdr" or "alloc-rate"; NULL without a search.
const char *config_search_name(enum search_wanted w);
