// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/conf for the redirection of clients to other servers (lib/features/meson.build).
#pragma once

struct conf;
struct conf_ctx;
struct conf_report;

// Checks the servers. Returns 0, or -EINVAL after reporting the errors. Call it after our own
// addresses have been gathered.
int conf_alternates_check(struct conf_ctx *x);
// Warns of clients that no server can take, and of a load that is never reached.
void conf_alternates_warn(const struct conf *c, struct conf_report *r);

#define ALTERNATES_CHECKS(X) X(conf_alternates_check)
#define ALTERNATES_WARNINGS(X) X(conf_alternates_warn)
#define ALTERNATES_HOT_KEYS(X) X("alternate") X("drain.alternates")
#define ALTERNATES_HOT_FIELDS(X) X(alternate)
#define ALTERNATES_IDS(X) X("alternate.servers", "address") X("drain.alternates", "address")
// clang-format off
#define ALTERNATES_ROWS(X) \
X({"alternate", CONF_SECTION, .help = "Other servers for clients that ask for an allocation " \
	"([operations.md](operations.md)). After authentication such a client gets 300 (Try " \
	"Alternate). Clients with an allocation keep it."}) \
X({"alternate.servers", CONF_ITEMS, \
	MANY(conf, turn.alternate.servers, turn.alternate.nb_servers), \
	.flags = CONF_SHORT, RANGE(0, 64), .help = "A hash of the client chooses one server of " \
	"its family (and one of the other). If there is no server of its family, the client is " \
	"served here. An entry may be its `address` alone. The servers must know the users, too. " \
	"Without the keys below all clients are sent there."}) \
X({"alternate.servers[].address", CONF_ADDR, ONE(turn_alternate, addr), REQUIRED, \
	.help = "Address at which clients reach it: an external address, if the network " \
	"translates."}) \
X({"alternate.servers[].port", CONF_NUMBER, ONE(turn_alternate, port), RANGE(1, 65535), \
	.help = "Its port for UDP and TCP. Default: that of the client's listener."}) \
X({"alternate.servers[].tls-port", CONF_NUMBER, ONE(turn_alternate, tls_port), RANGE(1, 65535), \
	.help = "Its port for TLS and DTLS. Default: that of the client's listener. Clients of a " \
	"listener with `transport: auto` are always told the listener's port."}) \
X({"alternate.servers[].name", CONF_TEXT, ONE(turn_alternate, name), RANGE(1, 253), \
	.help = "DNS name in its certificate, which clients over TLS and DTLS are told " \
	"(ALTERNATE-DOMAIN). Not needed if its certificate has a name of this server."}) \
X({"alternate.allocations", CONF_NUMBER, ONE(conf, turn.alternate.allocations), \
	RANGE(0, 16777216), .def = "0", .help = "Clients are sent there from this number of " \
	"allocations on, as `limits.allocations` counts; 0 = any number. If two servers send " \
	"clients to each other, a client that finds both full gives up: leave one server " \
	"without."}) \
X({"alternate.datagrams-per-second", CONF_NUMBER, ONE(conf, turn.alternate.datagrams), \
	RANGE(0, 1000000000), .def = "0", .help = "Clients are sent there from this rate of " \
	"relayed datagrams on, both directions together, until it falls by an eighth; 0 = any " \
	"rate. Dropped datagrams do not count, so strangers turn no client away. One of these " \
	"two keys is enough."})
#define ALTERNATES_DRAIN_ROWS(X) \
X({"drain.alternates", CONF_ITEMS, .like = "alternate.servers", \
	MANY(conf, turn.alternate.drain, turn.alternate.nb_drain), .flags = CONF_SHORT, \
	RANGE(0, 64), .help = "Servers that take the clients, as `alternate.servers`, which is " \
	"the default. If there is no server of its family, a client gets 508."})
// clang-format on
