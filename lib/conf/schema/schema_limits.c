// SPDX-License-Identifier: BSD-3-Clause
// The keys of limits, of features, and of peers.
#include "conf_features.h"
#include "schema/schema_rows.h"

// clang-format off
static const struct conf_key rows[] = {
{"limits", CONF_SECTION, .help = "A request above a quota gets 486, above a cap of one allocation "
	"508."},
{"limits.allocations", CONF_NUMBER, ONE(conf, turn.limits.allocations), RANGE(0, 16777216),
	.absent = "relay ports", .help = "Allocations of all realms. Default: the number of relay "
	"ports of both families. 0 = limited by memory only."},
{"limits.per-user", CONF_NUMBER, ONE(conf, turn.limits.per_user), RANGE(0, 16777216),
	.absent = "a quarter", .help = "Allocations of one user; 0 = no limit. Default: a quarter "
	"of the relay ports of the smaller family; no limit with one configured user, no secret "
	"and no `realms`. On each worker a user may have the same part of the ports, and at least "
	"a quarter."},
{"limits.per-source", CONF_NUMBER, ONE(conf, turn.limits.per_source), RANGE(0, 16777216),
	.def = "0", .help = "Allocations of one client address (IPv6: of its /64, and eight times "
	"as many of its /48); 0 = no limit."},
{"limits.on-lower", CONF_CHOICE, ONE(conf, lower_ends), .choices = conf_lower_choices,
	.def = "keep", .help = "Action on clients above one of these three limits when a reload "
	"has lowered it. `keep`: they keep their allocations and get no more. `end`: any surplus "
	"allocations end, with `quota-lowered` in their record."},
{"limits.lifetime", CONF_SECTION, .help = "Lifetimes in seconds."},
{"limits.lifetime.max", CONF_TIME, ONE(conf, turn.limits.lifetime_max_s), RANGE(1, 86400),
	.def = "3600", .help = "Longest lifetime of an allocation that a client can ask for."},
{"limits.lifetime.permission", CONF_TIME, ONE(conf, turn.limits.permission_s), RANGE(1, 86400),
	.def = "300", .help = "Lifetime of a permission after its last CreatePermission. Clients "
	"assume the 300 of RFC 8656, section 9, and most refresh a minute earlier. With less, "
	"their media stops between two refreshes. With more, an unwanted peer can send for "
	"longer."},
{"limits.lifetime.channel", CONF_TIME, ONE(conf, turn.limits.channel_s), RANGE(1, 86400),
	.def = "600", .help = "Lifetime of a channel and its permission after its last "
	"ChannelBind. Clients assume the 600 of RFC 8656, section 12. After 5 minutes more they "
	"may bind the number or the peer differently, which a longer lifetime refuses (400)."},
{"limits.unauthenticated", CONF_SECTION, .help = "Limit of UDP answers to requests that do not "
	"prove their source address, per source (IPv4 address, IPv6 /64; a /48 gets 100 times as "
	"much). It bounds what attackers can reflect to a spoofed address. Requests above it are "
	"dropped and counted. Requests with our nonce, and all over TCP, TLS and DTLS, are exempt. "
	"By default 5,000 clients of one address are back within 15 seconds, and a spoofed address "
	"gets 60 KB a second (doc/security.md). Workers share the rates equally."},
{"limits.unauthenticated.rate", CONF_NUMBER, ONE(conf, turn.limits.unauthenticated.rate),
	RANGE(0, 1000000), .def = "500", .help = "Per second; 0 = no limit."},
{"limits.binding", CONF_SECTION, .help = "Limit of answers to Binding requests over UDP, per "
	"source. Requests above it are dropped and counted. TCP, TLS and DTLS are exempt, because "
	"their handshake proves the source."},
{"limits.binding.rate", CONF_NUMBER, ONE(conf, turn.limits.binding.rate), RANGE(0, 1000000),
	.def = "1000", .help = "Per second; 0 = no limit."},
#define X(...) __VA_ARGS__,
CONF_LIMITS_ROWS(X)
#undef X

{"clients", CONF_SECTION, .help = "Addresses of clients that are served. The longest prefix "
	"with the address decides; at equal length deny wins. Without `allow` every other address "
	"is served, with `allow` no other. Nothing from a denied address is answered, over any "
	"transport (`client-denied`). A reload ends its allocations and connections. Behind "
	"`listeners[].proxy` the address in the PROXY header counts; a balancer that checks health "
	"with LOCAL headers needs its own address allowed."},
{"clients.allow", CONF_PREFIXES, MANY(conf, turn.client_allow, turn.nb_client_allow),
	RANGE(0, 65536), .help = "Single addresses, `a-b` ranges and prefixes. If there is one, "
	"all other addresses are denied."},
{"clients.deny", CONF_PREFIXES, MANY(conf, turn.client_deny, turn.nb_client_deny),
	RANGE(0, 65536), .help = "Single addresses, `a-b` ranges and prefixes."},
{"clients.deny-files", CONF_PREFIX_FILES,
	MANY(conf, turn.client_deny_listed, turn.nb_client_deny_listed), RANGE(0, 4194304),
	.help = "Files with more denied addresses, as for `peers.deny-files`."},

{"peers", CONF_SECTION, .help = "Peers that clients may reach. The longest prefix that holds the "
	"peer decides; at equal length deny wins. Only an entry of `allow` with the same or a "
	"longer prefix opens private, shared, documentation and benchmark addresses, gateways, "
	"anycast addresses of our IPv6 subnets, and clouds' service addresses for their instances. "
	"Loopback, link-local, multicast and reserved addresses are always denied. At this box's "
	"addresses clients reach relay ports, by `peers.hairpin`, and programs of this machine, if "
	"an entry of `peers.allow` is one address of a `packet:` port. The first such entry needs "
	"a restart; its traffic uses the port `lo`. For external addresses see "
	"`ports[].addresses[].external`."},
{"peers.allow", CONF_PREFIXES, MANY(conf, turn.allow, turn.nb_allow), RANGE(0, 65536),
	.help = "Single addresses, `a-b` ranges and prefixes."},
{"peers.deny", CONF_PREFIXES, MANY(conf, turn.deny, turn.nb_deny), RANGE(0, 65536),
	.help = "Single addresses, `a-b` ranges and prefixes."},
{"peers.deny-files", CONF_PREFIX_FILES, MANY(conf, turn.deny_listed, turn.nb_deny_listed),
	RANGE(0, 4194304), .help = "Files with more denied peers, for lists that programs write: "
	"one address, range or prefix a line; `#` begins a comment. A relative name starts at the "
	"directory of the file that has the key. A reload reads them again."},
{"peers.nat64", CONF_NAT64, MANY(conf, turn.nat64, turn.nb_nat64), RANGE(0, 16),
	.help = "IPv6 prefixes of NAT64 translators that relayed datagrams can reach, of 32, 40, "
	"48, 56, 64 or 96 bits. Peers behind one are judged by the IPv4 address in theirs, as in "
	"`2001:db8:64::a00:1` (RFC 6052). If it is denied, no entry of `peers.allow` for the "
	"prefix opens it. The well-known `64:ff9b::/96` needs no entry."},
{"peers.hairpin", CONF_BOOL, ONE(conf, turn.hairpin), .def = "true",
	.help = "Lets clients of this server be peers of each other by their relayed addresses."},
{"peers.rfc5766-channels", CONF_BOOL, ONE(conf, turn.rfc5766_channels), .def = "true",
	.help = "Lets clients of RFC 5766 bind channel numbers up to 0x7FFF. Clients that answer "
	"as RFC 8489 says always end at the 0x4FFF of RFC 8656."},
};
// clang-format on

const struct conf_table conf_schema_limits = TABLE(rows, &conf_schema_box);
