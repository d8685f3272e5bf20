// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/conf for bit rate limits (lib/features/meson.build).
#pragma once

#include "turn.h"

struct conf;
struct conf_report;

// Warns of a rate of a realm that one user can exhaust for all others.
void conf_rates_warn(const struct conf *c, struct conf_report *r);

#define RATES_WARNINGS(X) X(conf_rates_warn)
#define RATES_HOT_KEYS(X) X("limits.rates")
// clang-format off
#define RATES_FLOW(owner, leg) turn.limits.rates.flow[TURN_RATE_##owner][TURN_FROM_##leg]
#define RATES_KEY(name, owner, leg) \
	"limits.rates." name, CONF_BITS, ONE(conf, RATES_FLOW(owner, leg).kbits), \
		RANGE(0, UINT32_MAX), .def = "0"
#define RATES_LIMITS_ROWS(X) \
X({"limits.rates", CONF_SECTION, .help = "Limits of relayed bits per second: `to-peers` is " \
	"data from clients, `from-peers` data from peers; 0 = no limit. Headers of TURN, UDP " \
	"and IP do not count. A burst may have a tenth of a second's worth. Datagrams above a " \
	"limit are dropped and counted: as a drop, in the usage of the allocation " \
	"(`slipringctl show`) and in its records. TCP data (`relay.tcp`) waits: the box reads " \
	"no more until it may send. A reload changes the rates of live allocations. The first " \
	"reload that sets a limit takes 140 bytes of memory per relay port; `slipring " \
	"--show-needs` counts them if the file has a limit. Buckets are full after a restart."}) \
X({RATES_KEY("allocation-to-peers", ALLOCATION, CLIENT), \
	.help = "From the client of one allocation. Drop reason: `allocation-rate`."}) \
X({RATES_KEY("allocation-from-peers", ALLOCATION, PEER), \
	.help = "From the peers of one allocation. Drop reason: `allocation-rate`."}) \
X({RATES_KEY("user-to-peers", USER, CLIENT), \
	.help = "From all allocations of one user, on all workers. A REST user is the id behind " \
	"the expiry, as for `limits.per-user`. Drop reason: `user-rate`."}) \
X({RATES_KEY("user-from-peers", USER, PEER), \
	.help = "From the peers of one user's allocations. Drop reason: `user-rate`."}) \
X({RATES_KEY("realm-to-peers", REALM, CLIENT), \
	.help = "From all users of one realm; each realm gets the whole rate. One user can use " \
	"it up unless a `user-` rate limits users. Drop reason: `realm-rate`."}) \
X({RATES_KEY("realm-from-peers", REALM, PEER), \
	.help = "From the peers of one realm's allocations. Drop reason: `realm-rate`."})
// `burst`: length of a burst in milliseconds at the rate. A key frame is several times as large as
// the average frame. `datagrams`: datagrams per second; the bit rate limits these, too.
#define RATES_CONSTANT_ROWS(X) \
X({TESTS "limits.rates.burst", CONF_NUMBER, ONE(conf, turn.limits.rates.burst_ms), \
	RANGE(10, 10000), .def = "100"}) \
X({TESTS "limits.rates.allocation-to-peers.datagrams", CONF_NUMBER, \
	ONE(conf, RATES_FLOW(ALLOCATION, CLIENT).datagrams), RANGE(0, 1000000000)}) \
X({TESTS "limits.rates.allocation-from-peers.datagrams", CONF_NUMBER, \
	ONE(conf, RATES_FLOW(ALLOCATION, PEER).datagrams), RANGE(0, 1000000000)}) \
X({TESTS "limits.rates.user-to-peers.datagrams", CONF_NUMBER, \
	ONE(conf, RATES_FLOW(USER, CLIENT).datagrams), RANGE(0, 1000000000)}) \
X({TESTS "limits.rates.user-from-peers.datagrams", CONF_NUMBER, \
	ONE(conf, RATES_FLOW(USER, PEER).datagrams), RANGE(0, 1000000000)}) \
X({TESTS "limits.rates.realm-to-peers.datagrams", CONF_NUMBER, \
	ONE(conf, RATES_FLOW(REALM, CLIENT).datagrams), RANGE(0, 1000000000)}) \
X({TESTS "limits.rates.realm-from-peers.datagrams", CONF_NUMBER, \
	ONE(conf, RATES_FLOW(REALM, PEER).datagrams), RANGE(0, 1000000000)})
// clang-format on
