// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/conf for NAT behaviour discovery (lib/features/meson.build).
#pragma once

struct conf_ctx;

// Checks the section nat-discovery. Returns 0 or -EINVAL. Call it after listeners have been
// expanded.
int conf_discovery_check(struct conf_ctx *x);

#define DISCOVERY_CHECKS(X) X(conf_discovery_check)
#define DISCOVERY_HOT_KEYS(X) X("nat-discovery")
#define DISCOVERY_HOT_FIELDS(X) X(discovery)
// clang-format off
#define DISCOVERY_ROWS(X) \
X({"nat-discovery", CONF_SECTION, .help = "NAT behaviour discovery (RFC 5780): a Binding request " \
	"over UDP may ask for the answer to come from the other address or port, or to go to " \
	"another port of the client. Each answer counts in `limits.binding`. Without addresses " \
	"such requests get 420."}) \
X({"nat-discovery.addresses", CONF_ADDRS, \
	MANY(conf, turn.discovery.addresses, turn.discovery.nb), RANGE(0, 4), \
	.help = "Two addresses of the ports, of one family or of each. Each needs a UDP listener " \
	"on both ports. Clients are told external addresses, if there are any."}) \
X({"nat-discovery.port", CONF_NUMBER, ONE(conf, turn.discovery.ports[0]), \
	RANGE(1, 65535), .def = "3478", .help = "Port that clients begin with."}) \
X({"nat-discovery.other-port", CONF_NUMBER, ONE(conf, turn.discovery.ports[1]), \
	RANGE(1, 65535), .def = "3479", .help = "The second port."})
// clang-format on
