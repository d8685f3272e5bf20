// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/conf for TCP to peers (lib/features/meson.build).
#pragma once

struct conf_ctx;

// Checks that the kernel can have the sockets of relay.tcp. Returns 0 or -EINVAL. Call it after
// listeners have been expanded.
int conf_tcp_check(struct conf_ctx *x);
// Sets the number of connections with peers, if it is not configured. Returns 0.
int conf_tcp_fill(struct conf_ctx *x);

#define TCP_CHECKS(X) X(conf_tcp_check)
#define TCP_FILLS(X) X(conf_tcp_fill)
// clang-format off
#define TCP_RELAY_ROWS(X) \
X({"relay.tcp", CONF_SECTION, .help = "TCP between relay addresses and peers (RFC 6062), for " \
	"clients over TCP and TLS that ask for it. The sockets are the kernel's: every relay " \
	"address is on a port with `exception` in the namespace `streams.netns`, or on a " \
	"`packet:` port. This box's addresses can be peers only if the box relays TCP from them. " \
	"TCP allocations end at a restart."}) \
X({"relay.tcp.enabled", CONF_BOOL, ONE(conf, turn.tcp.enabled), .def = "false", \
	.help = "Lets clients ask for TCP in REQUESTED-TRANSPORT."}) \
X({"relay.tcp.ports", CONF_PORT_RANGE, .offset = offsetof(struct conf, turn.tcp.ports_lo), \
	.count = offsetof(struct conf, turn.tcp.ports_hi), .size = 2, RANGE(1024, 65535), \
	.def = "61000-61999", .help = "TCP ports to relay from, one for each allocation. They " \
	"may overlap `relay.ports`. Keep the kernel's own sockets off them: choose ports outside " \
	"`net.ipv4.ip_local_port_range`, or add them to `net.ipv4.ip_local_reserved_ports`. " \
	"Exception ports carry them without an entry in `allow`."})
// In the order of the rows: concurrent connections with peers of all users (if unset: the number of
// relay.tcp.ports, but at least 1024), of one user (an eighth) and of one allocation; Connects of
// one user, per second and in a burst: too few for a port scan; seconds that RFC 6062 section 5.2
// gives a peer to answer and a client to bind; bytes that wait in each direction of a connection.
#define TCP_CONSTANT_ROWS(X) \
X({TESTS "relay.tcp.connections", CONF_NUMBER, ONE(conf, turn.tcp.connections), RANGE(1, 65536)}) \
X({TESTS "relay.tcp.per-user", CONF_NUMBER, ONE(conf, turn.tcp.per_user), RANGE(1, 65536), \
	.def = "128"}) \
X({TESTS "relay.tcp.per-allocation", CONF_NUMBER, ONE(conf, turn.tcp.per_allocation), \
	RANGE(1, 65536), .def = "32"}) \
X({TESTS "relay.tcp.connects.rate", CONF_NUMBER, ONE(conf, turn.tcp.connects.rate), \
	RANGE(0, 1000000), .def = "20"}) \
X({TESTS "relay.tcp.connects.burst", CONF_NUMBER, ONE(conf, turn.tcp.connects.burst), \
	RANGE(1, 1000000), .def = "100"}) \
X({TESTS "relay.tcp.timeout", CONF_TIME, ONE(conf, turn.tcp.timeout_s), RANGE(1, 3600), \
	.def = "30"}) \
X({TESTS "relay.tcp.buffer", CONF_NUMBER, ONE(conf, turn.tcp.buffer), RANGE(16384, 1048576), \
	.def = "32768"})
// clang-format on
