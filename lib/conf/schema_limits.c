// SPDX-License-Identifier: BSD-3-Clause
// The keys of limits, nat-discovery and peers.
#include "schema_rows.h"
#include "turn.h"

#define RATE(name, owner, leg)                                                               \
	"limits.rates." name, CONF_BITS,                                                     \
		ONE(conf, turn.limits.rates.flow[TURN_RATE_##owner][TURN_FROM_##leg].kbits), \
		RANGE(0, UINT32_MAX), .def = "0"

// clang-format off
static const struct conf_key rows[] = {
{"limits", CONF_SECTION, .help = "Quotas answer 486, caps of one allocation 508."},
{"limits.allocations", CONF_NUMBER, ONE(conf, turn.limits.allocations), RANGE(0, 16777216),
	.absent = "relay ports", .help = "Allocations in all, of all realms. Without it: as many "
	"as there are relay ports, of both families, and 100000 where these are shared. 0 = no "
	"limit but the memory, which shared relay ports do not allow."},
{"limits.per-user", CONF_NUMBER, ONE(conf, turn.limits.per_user), RANGE(0, 16777216),
	.absent = "a quarter", .help = "Allocations of one user; 0 = no limit. Without it: a "
	"quarter of the relay ports of the family that has fewer, or, with shared ports, of "
	"`limits.allocations`; no limit where there is one configured user, no secret and no "
	"`realms`. On each worker a user may have the same part of the ports, and at least a "
	"quarter of them."},
{"limits.per-source", CONF_NUMBER, ONE(conf, turn.limits.per_source), RANGE(0, 16777216),
	.def = "0", .help = "Allocations of one client address (IPv6: of its /64, and "
	"eight times as many of its /48); 0 = no limit."},
{"limits.on-lower", CONF_CHOICE, ONE(conf, lower_ends), .choices = conf_lower_choices,
	.def = "keep", .help = "What a reload that lowers one of these three does to who has more: "
	"`keep`: he keeps them, and gets no others; `end`: as many as are too many end, whichever "
	"they are, with `quota-lowered` in their record."},
{"limits.lifetime", CONF_SECTION, .help = "Lifetimes of allocations, permissions and channels, "
	"in seconds."},
{"limits.lifetime.max", CONF_TIME, ONE(conf, turn.limits.lifetime_max_s), RANGE(1, 86400),
	.def = "3600", .help = "The longest a client is granted."},
{"limits.lifetime.permission", CONF_TIME, ONE(conf, turn.limits.permission_s), RANGE(1, 86400),
	.def = "300", .help = "Of a permission, from its last CreatePermission on. "
	"Clients are not told it: they know the 300 of RFC 8656, section 9, and most refresh a "
	"minute sooner. With less their media stops between two refreshes. With more a peer that "
	"a client has done with can send for longer."},
{"limits.lifetime.channel", CONF_TIME, ONE(conf, turn.limits.channel_s), RANGE(1, 86400),
	.def = "600", .help = "Of a channel and its permission, from its last ChannelBind on. "
	"Clients know the 600 of RFC 8656, section 12. A client that believes a channel to be "
	"gone may bind its number or its peer anew after 5 minutes more, and with a longer life "
	"is refused (400)."},
{"limits.unauthenticated", CONF_SECTION, .help = "Answers over UDP to requests that prove "
	"nothing, not even that their source address is their own, per source (IPv4 address, IPv6 "
	"/64; a /48 has 100 times that): what is reflected to an address that somebody spoofs. "
	"Past it there is silence and a counter. Requests with a nonce of ours, and all over TCP, "
	"TLS and DTLS, do without. With the defaults 5,000 clients of one address are back within "
	"15 seconds, and a spoofed address is sent 60 KB a second (doc/security.md). Rates are "
	"divided by the number of workers."},
{"limits.unauthenticated.rate", CONF_NUMBER, ONE(conf, turn.limits.unauthenticated.rate),
	RANGE(0, 1000000), .def = "500", .help = "Per second; 0 = no limit."},
{"limits.binding", CONF_SECTION, .help = "Answers to STUN Binding requests over UDP, "
	"per source. Past it there is silence and a counter. TCP, TLS and DTLS begin with a "
	"handshake, which proves whose the source is, and are not counted."},
{"limits.binding.rate", CONF_NUMBER, ONE(conf, turn.limits.binding.rate), RANGE(0, 1000000),
	.def = "1000", .help = "Per second; 0 = no limit."},
{"limits.rates", CONF_SECTION, .help = "Bits that may be relayed in a second, for each way: "
	"`to-peers` is what clients send, `from-peers` what peers send. 0 = no limit. Bits are "
	"those of the data that clients and peers send each other, without the headers of TURN, "
	"UDP and IP. A tenth of a second's worth may come at once. What is more is dropped at once "
	"and counted by whose limit it was: as drop, in the usage of its allocation (`slipringctl "
	"show`) and in its records. Over TCP (`relay.tcp`) it waits: the box reads no more until "
	"it may go on. A reload changes the rates of live allocations. The first reload that "
	"limits one takes 140 bytes of memory for each relay port; `slipring --show-needs` counts "
	"them where the file has a limit. Buckets are full after a restart."},
{RATE("allocation-to-peers", ALLOCATION, CLIENT),
	.help = "Of one allocation. Past it: `allocation-rate`."},
{RATE("allocation-from-peers", ALLOCATION, PEER),
	.help = "Of one allocation. Past it: `allocation-rate`."},
{RATE("user-to-peers", USER, CLIENT),
	.help = "Of all allocations of one user, on all workers. A REST user is the id behind the "
	"expiry, as for `limits.per-user`. Past it: `user-rate`."},
{RATE("user-from-peers", USER, PEER), .help = "What their peers send them."},
{RATE("realm-to-peers", REALM, CLIENT),
	.help = "Of all users of one realm together; where there are several (`realms`), each has "
	"as much for itself. One user alone may use it up where no `user-` rate limits them. Past "
	"it: `realm-rate`."},
{RATE("realm-from-peers", REALM, PEER), .help = "What their peers send them."},

{"nat-discovery", CONF_SECTION, .help = "NAT behaviour discovery (RFC 5780): Binding requests over "
	"UDP may ask to be answered from the other address, the other port, or to another port of "
	"theirs. Each answer counts in `limits.binding`. Without addresses such requests get 420."},
{"nat-discovery.addresses", CONF_ADDRS, MANY(conf, turn.discovery, turn.nb_discovery), RANGE(0, 4),
	.help = "Two own addresses of a family, or two of each. Each needs a listener of UDP on "
	"both ports. Clients are told external addresses, where there are any."},
{"nat-discovery.port", CONF_NUMBER, ONE(conf, turn.discovery_ports[0]), RANGE(1, 65535),
	.def = "3478", .help = "The port that clients begin with."},
{"nat-discovery.other-port", CONF_NUMBER, ONE(conf, turn.discovery_ports[1]), RANGE(1, 65535),
	.def = "3479", .help = "The other one."},

{"peers", CONF_SECTION, .help = "Peers that clients may reach. The longest prefix that holds the "
	"peer decides; at equal length deny wins. Private, shared, documentation and benchmark "
	"addresses, gateways, the anycast addresses of own IPv6 subnets and what clouds answer to "
	"their instances are denied unless allowed here by the same or a longer prefix; loopback, "
	"link-local, multicast and reserved addresses are never reached. Of own addresses relay "
	"ports are, by `peers.hairpin`, and programs of this machine where an entry of "
	"`peers.allow` is such an address of a `packet:` port, alone (the first such entry takes a "
	"restart). These go by the port `lo`. Of an external address see "
	"`ports[].addresses[].external`."},
{"peers.allow", CONF_PREFIXES, MANY(conf, turn.allow, turn.nb_allow), RANGE(0, 65536),
	.help = "Single addresses, `a-b` ranges and prefixes."},
{"peers.deny", CONF_PREFIXES, MANY(conf, turn.deny, turn.nb_deny), RANGE(0, 65536),
	.help = "Single addresses, `a-b` ranges and prefixes."},
{"peers.deny-files", CONF_PREFIX_FILES, MANY(conf, turn.deny_listed, turn.nb_deny_listed),
	RANGE(0, 4194304), .help = "Files with more of them, for lists that programs write: one "
	"address, range or prefix a line; `#` begins a comment. A relative name is one beside the "
	"file that has it. A reload reads them again."},
{"peers.nat64", CONF_NAT64, MANY(conf, turn.nat64, turn.nb_nat64), RANGE(0, 16),
	.help = "IPv6 prefixes of NAT64 translators that relayed datagrams can reach, of 32, 40, "
	"48, 56, 64 or 96 bits. Whoever is behind one is judged by the IPv4 address that "
	"`2001:db8:64::a00:1` carries, by RFC 6052: what is denied of IPv4 is denied there, and "
	"no entry of `peers.allow` for the prefix opens it. The well-known `64:ff9b::/96` needs "
	"no entry."},
{"peers.hairpin", CONF_BOOL, ONE(conf, turn.hairpin), .def = "true",
	.help = "Whether clients of this server may be each other's peers by their relayed "
	"addresses."},
{"peers.rfc5766-channels", CONF_BOOL, ONE(conf, turn.rfc5766_channels), .def = "true",
	.help = "Whether clients of the former standard may bind channel numbers up to its 0x7FFF. "
	"Clients that answer as RFC 8489 says always end at the 0x4FFF of RFC 8656."},
};
// clang-format on

const struct conf_table conf_schema_limits = TABLE(rows, &conf_schema_box);
