// SPDX-License-Identifier: BSD-3-Clause
// The keys of what clients may have, and with whom: limits, nat-discovery and peers.
#include "schema_rows.h"
#include "turn.h"

#define RATE(owner, leg, field) ONE(conf, turn.limits.rates.flow[TURN_RATE_##owner][leg].field)

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
	"`realms`. On each worker a user may have the same part of the ports, and at least "
	"`limits.pool.per-user` of them."},
{"limits.per-source", CONF_NUMBER, ONE(conf, turn.limits.per_source), RANGE(0, 16777216),
	.def = "0", .help = "Allocations of one client address (IPv6: of its /64, and "
	"eight times as many of its /48); 0 = no limit."},
{"limits.on-lower", CONF_CHOICE, ONE(conf, lower_ends), .choices = conf_lower_choices,
	.def = "keep", .help = "What a reload that lowers one of these three does to who has more: "
	"`keep`: he keeps them, and gets no others; `end`: as many as are too many end, whichever "
	"they are, with `quota-lowered` in their record."},
{"limits.permissions", CONF_NUMBER, ONE(conf, turn.limits.permissions), RANGE(1, 4096),
	.def = "256", .help = "Permissions of one allocation."},
{"limits.channels", CONF_NUMBER, ONE(conf, turn.limits.channels), RANGE(1, 4096), .def = "256",
	.help = "Channels of one allocation."},
{"limits.sure", CONF_SECTION, .help = "What every allocation that can exist is sure of, whatever "
	"others take. `slipring --show-needs` tells the memory."},
{"limits.sure.permissions", CONF_NUMBER, ONE(conf, turn.pools.sure_permissions), RANGE(1, 16),
	.def = "2", .help = "Permissions, and peers on shared relay ports. 32 bytes each."},
{"limits.sure.channels", CONF_NUMBER, ONE(conf, turn.pools.sure_channels), RANGE(1, 16),
	.def = "1", .help = "Channels. 33 bytes each."},
{"limits.pool", CONF_SECTION, .help = "What there is for all allocations beyond that, divided by "
	"the number of workers. Past it, or past `per-user`, 508."},
{"limits.pool.permissions", CONF_NUMBER, ONE(conf, turn.pools.permissions), RANGE(1, 268435456),
	.help = "Permissions, 32 bytes each. Without it: one for each allocation that can exist."},
{"limits.pool.channels", CONF_NUMBER, ONE(conf, turn.pools.channels), RANGE(1, 268435456),
	.help = "Channels, 33 bytes each. Without it: one for each allocation that can "
	"exist."},
{"limits.pool.peers", CONF_NUMBER, ONE(conf, turn.pools.endpoints), RANGE(1, 268435456),
	.help = "Peers on shared relay ports, 78 bytes each. Without it: two for each allocation "
	"that can exist."},
{"limits.pool.moves", CONF_NUMBER, ONE(conf, turn.pools.moves), RANGE(1, 268435456),
	.help = "With `relay.mobility`: clients that have moved and whose new address is another "
	"worker's, and moves under way, 95 bytes each. Without it: one for each allocation that "
	"can exist."},
{"limits.pool.per-user", CONF_NUMBER, ONE(conf, turn.pools.per_user), RANGE(1, 100),
	.help = "Percent of each pool that one user's allocations may hold, on each worker, and of "
	"`relay.tcp.ports`. "
	"Users of one name in two realms are two. Without it: 25, but 100 where there is one "
	"configured user, no secret and no `realms`."},
{"limits.lifetime", CONF_SECTION, .help = "Lifetimes of allocations, permissions and channels, "
	"in seconds."},
{"limits.lifetime.default", CONF_TIME, ONE(conf, turn.limits.lifetime_default_s),
	RANGE(1, 86400), .def = "600", .help = "For clients that ask for none, or for less."},
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
{"limits.unauthenticated.burst", CONF_NUMBER, ONE(conf, turn.limits.unauthenticated.burst),
	RANGE(1, 1000000), .def = "2500", .help = "At once."},
{"limits.stale-nonce", CONF_SECTION, .help = "Answers that tell the next nonce (438) to requests "
	"with one that was ours but is stale, per 5-tuple without an allocation; beyond that "
	"`limits.unauthenticated` counts. The client of an allocation has 15 a second."},
{"limits.stale-nonce.rate", CONF_NUMBER, ONE(conf, turn.limits.stale_nonce.rate),
	RANGE(0, 1000000), .def = "10", .help = "Per second; 0 = no limit."},
{"limits.stale-nonce.burst", CONF_NUMBER, ONE(conf, turn.limits.stale_nonce.burst),
	RANGE(1, 1000000), .def = "20", .help = "At once."},
{"limits.guesses", CONF_SECTION, .help = "Requests with a good nonce and a wrong password or user, "
	"per source (IPv4 address, IPv6 /64), over all transports. A source that is past it has a "
	"tenth of it more for each user name, so that clients of other names are served whatever "
	"one gets wrong. An IPv4 address or IPv6 /48 has 20 times that for all names, and a name "
	"100 times from all sources. Past these requests are dropped unread, except those in the "
	"name of the user whose allocation they are for, and of a name past its limit those from "
	"where it has signed well of late. Rates are divided by the number of workers."},
{"limits.guesses.rate", CONF_NUMBER, ONE(conf, turn.limits.guesses.rate), RANGE(0, 1000000),
	.def = "20", .help = "Per second; 0 = no limit."},
{"limits.guesses.burst", CONF_NUMBER, ONE(conf, turn.limits.guesses.burst), RANGE(1, 1000000),
	.def = "100", .help = "At once."},
{"limits.binding", CONF_SECTION, .help = "Answers to STUN Binding requests over UDP, "
	"per source. Past it there is silence and a counter. TCP, TLS and DTLS begin with a "
	"handshake, which proves whose the source is, and are not counted."},
{"limits.binding.rate", CONF_NUMBER, ONE(conf, turn.limits.binding.rate), RANGE(0, 1000000),
	.def = "1000", .help = "Per second; 0 = no limit."},
{"limits.binding.burst", CONF_NUMBER, ONE(conf, turn.limits.binding.burst), RANGE(1, 1000000),
	.def = "2000", .help = "At once."},
{"limits.icmp", CONF_SECTION, .help = "ICMP errors about the datagrams of one allocation (port "
	"unreachable, packet too big and the like) that its client is told of, by a Data "
	"indication with an ICMP attribute. Whoever knows both ends of a flow can send such "
	"errors; past the limit they are dropped as `icmp-error-rate`."},
{"limits.icmp.rate", CONF_NUMBER, ONE(conf, turn.limits.icmp.rate), RANGE(0, 1000000),
	.def = "10", .help = "Per second; 0 = no limit."},
{"limits.icmp.burst", CONF_NUMBER, ONE(conf, turn.limits.icmp.burst), RANGE(1, 1000000),
	.def = "20", .help = "At once."},
{"limits.handshakes", CONF_SECTION, .help = "Handshakes of TLS, and as many of DTLS, that may be "
	"begun by a source (IPv4 address, IPv6 /64; an IPv6 /48 as many as five). It has shown by "
	"then that its address is its own: nobody can use up another's, but those behind one "
	"address share. With the defaults 5,000 clients of one address are back within 15 "
	"seconds, where `streams.per-source` and `dtls.per-source` allow them. Past it a "
	"connection of TLS is reset (`refused_rate`), and a client of DTLS not answered "
	"(`dtls-rate`): it asks again by itself. The rate of DTLS is divided by the number of "
	"workers."},
{"limits.handshakes.rate", CONF_NUMBER, ONE(conf, handshakes.rate), RANGE(0, 1000000),
	.def = "200", .help = "Per second; 0 = no limit."},
{"limits.handshakes.burst", CONF_NUMBER, ONE(conf, handshakes.burst), RANGE(1, 1000000),
	.def = "2000", .help = "At once."},

{"limits.requests", CONF_NUMBER, ONE(conf, requests), RANGE(1, 32), .def = "8",
	.help = "STUN and TURN requests that a worker which relays answers before it turns to its "
	"queues again, a few microseconds each; the others wait. Each 256 bytes that one has count "
	"as another one. While a queue gives full bursts nearly all of them wait."},
{"limits.rates", CONF_SECTION, .help = "What may be relayed in a second, for each way, by an "
	"allocation, a user and a realm; 0 = no limit. Bits are those of the data that clients "
	"and peers send each other, without the headers of TURN, UDP and IP. What is more is "
	"dropped at once and counted by whose limit it was: as drop, in the usage of its "
	"allocation (`slipringctl show`) and in its records. Over TCP (`relay.tcp`) it waits: the "
	"box reads no more until it may go on. Limits in datagrams are none for it. A reload "
	"changes the rates of live allocations. The first reload that limits one takes 140 bytes "
	"of memory for each relay port; `slipring --show-needs` counts them where the file has a "
	"limit. Buckets begin anew with a restart."},
{"limits.rates.burst", CONF_NUMBER, ONE(conf, turn.limits.rates.burst_ms), RANGE(10, 10000),
	.def = "100", .help = "Milliseconds of a rate that may come at once, after a pause; up "
	"to half as much again where what came before the pause has left it. A key frame of "
	"video is several times as large as what the average allows for its time. One datagram "
	"passes a bucket that is full, however large it is."},
{"limits.rates.allocation", CONF_SECTION, .help = "Of one allocation, each. Past it: "
	"`allocation-rate`."},
{"limits.rates.allocation.to-peers", CONF_SECTION, .help = "What clients send to peers."},
{"limits.rates.allocation.to-peers.bits", CONF_BITS,
	RATE(ALLOCATION, TURN_FROM_CLIENT, kbits), RANGE(0, UINT32_MAX), .def = "0",
	.help = "Bits a second."},
{"limits.rates.allocation.to-peers.datagrams", CONF_NUMBER,
	RATE(ALLOCATION, TURN_FROM_CLIENT, datagrams), RANGE(0, 1000000000), .def = "0",
	.help = "Datagrams a second."},
{"limits.rates.allocation.from-peers", CONF_SECTION, .help = "What peers send to clients."},
{"limits.rates.allocation.from-peers.bits", CONF_BITS,
	RATE(ALLOCATION, TURN_FROM_PEER, kbits), RANGE(0, UINT32_MAX), .def = "0",
	.help = "Bits a second."},
{"limits.rates.allocation.from-peers.datagrams", CONF_NUMBER,
	RATE(ALLOCATION, TURN_FROM_PEER, datagrams), RANGE(0, 1000000000), .def = "0",
	.help = "Datagrams a second."},
{"limits.rates.user", CONF_SECTION, .help = "Of one user: of all his allocations together, on "
	"all workers. A REST user is the id behind the expiry, as for `limits.per-user`. Past "
	"it: `user-rate`."},
{"limits.rates.user.to-peers", CONF_SECTION, .help = "What clients send to peers."},
{"limits.rates.user.to-peers.bits", CONF_BITS,
	RATE(USER, TURN_FROM_CLIENT, kbits), RANGE(0, UINT32_MAX), .def = "0",
	.help = "Bits a second."},
{"limits.rates.user.to-peers.datagrams", CONF_NUMBER,
	RATE(USER, TURN_FROM_CLIENT, datagrams), RANGE(0, 1000000000), .def = "0",
	.help = "Datagrams a second."},
{"limits.rates.user.from-peers", CONF_SECTION, .help = "What peers send to clients."},
{"limits.rates.user.from-peers.bits", CONF_BITS,
	RATE(USER, TURN_FROM_PEER, kbits), RANGE(0, UINT32_MAX), .def = "0",
	.help = "Bits a second."},
{"limits.rates.user.from-peers.datagrams", CONF_NUMBER,
	RATE(USER, TURN_FROM_PEER, datagrams), RANGE(0, 1000000000), .def = "0",
	.help = "Datagrams a second."},
{"limits.rates.realm", CONF_SECTION, .help = "Of all users of one realm together; where there "
	"are several (`realms`), each has as much for itself. One user alone may use it up where "
	"`user` limits none. Past it: `realm-rate`."},
{"limits.rates.realm.to-peers", CONF_SECTION, .help = "What clients send to peers."},
{"limits.rates.realm.to-peers.bits", CONF_BITS,
	RATE(REALM, TURN_FROM_CLIENT, kbits), RANGE(0, UINT32_MAX), .def = "0",
	.help = "Bits a second."},
{"limits.rates.realm.to-peers.datagrams", CONF_NUMBER,
	RATE(REALM, TURN_FROM_CLIENT, datagrams), RANGE(0, 1000000000), .def = "0",
	.help = "Datagrams a second."},
{"limits.rates.realm.from-peers", CONF_SECTION, .help = "What peers send to clients."},
{"limits.rates.realm.from-peers.bits", CONF_BITS,
	RATE(REALM, TURN_FROM_PEER, kbits), RANGE(0, UINT32_MAX), .def = "0",
	.help = "Bits a second."},
{"limits.rates.realm.from-peers.datagrams", CONF_NUMBER,
	RATE(REALM, TURN_FROM_PEER, datagrams), RANGE(0, 1000000000), .def = "0",
	.help = "Datagrams a second."},

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
