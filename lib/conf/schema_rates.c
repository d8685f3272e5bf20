// SPDX-License-Identifier: BSD-3-Clause
// The keys of limits.rates: what may be relayed in a second.
#include "schema_rows.h"
#include "turn.h"

#define RATE(owner, leg, field) ONE(conf, turn.limits.rates.flow[TURN_RATE_##owner][leg].field)

// clang-format off
static const struct conf_key rows[] = {
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
};
// clang-format on

const struct conf_table conf_schema_rates = TABLE(rows, &conf_schema_box);
