// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/conf for mobility (lib/features/meson.build).
#pragma once

#define MOBILITY_HOT_KEYS(X) X("relay.mobility.grace")
#define MOBILITY_HOT_FIELDS(X) X(mobility.grace_s)
// clang-format off
#define MOBILITY_RELAY_ROWS(X) \
X({"relay.mobility", CONF_SECTION, .help = "Clients that change their address, port or " \
	"connection keep their allocation (RFC 8016)."}) \
X({"relay.mobility.enabled", CONF_BOOL, ONE(conf, turn.mobility.enabled), .def = "false", \
	.help = "Gives a ticket to clients that send MOBILITY-TICKET. If false, they get 405. " \
	"Takes 56 bytes of memory for each relay port, and 95 for each possible allocation."})
// `grace`: seconds that an allocation with a ticket outlives its client's connection: a change of
// network takes ten. `moves`: number of clients that may have moved to another worker. If unset:
// one for each allocation.
#define MOBILITY_CONSTANT_ROWS(X) \
X({TESTS "relay.mobility.grace", CONF_TIME, ONE(conf, turn.mobility.grace_s), RANGE(0, 3600), \
	.def = "60"}) \
X({TESTS "limits.pool.moves", CONF_NUMBER, ONE(conf, turn.mobility.moves), RANGE(1, 268435456)})
// clang-format on
