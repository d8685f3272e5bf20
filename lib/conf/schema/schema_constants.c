// SPDX-License-Identifier: BSD-3-Clause
// Constants of the server: numbers that do not differ between sites, each with its reason. Builds
// with -Dtests=true accept other values in test-constants, which tests use for small pools, short
// times and low rates. Other builds refuse that section, and the manual leaves it out.
#include "conf_build.h"
#include "conf_features.h"
#include "schema/schema_rows.h"

#define TESTS CONF_TEST_CONSTANTS "."

const bool conf_test_constants = CONF_TESTS != 0;

// clang-format off
static const struct conf_key rows[] = {
{CONF_TEST_CONSTANTS, CONF_SECTION, .flags = CONF_HIDDEN},

// Microseconds of a worker's longest sleep. If unset, idle.h decides: 50, more where a sleep costs
// more CPU time.
{TESTS "workers.idle-sleep", CONF_NUMBER, ONE(conf, idle_sleep_us), RANGE(10, 1000)},

// Seconds that the start waits for DHCP or router advertisements; then systemd starts it again.
{TESTS "ports.addresses-wait", CONF_TIME, ONE(conf, learn_wait_s), RANGE(0, 86400), .def = "60"},

// UDP source ports of the kernel as a client: Linux's default of net.ipv4.ip_local_port_range.
{TESTS "exception.client-ports", CONF_PORT_RANGE,
	.offset = offsetof(struct conf, exception.client_lo),
	.count = offsetof(struct conf, exception.client_hi), .size = 2, RANGE(1, 65535),
	.def = "32768-60999"},
// Packets per second in each direction: more than any management traffic needs, less than a core
// relays.
{TESTS "exception.rate", CONF_NUMBER, ONE(conf, exception.rate), RANGE(1, 10000000),
	.def = "100000"},
// Packet buffers that may wait in each direction: 15 super-frames of 34 buffers.
{TESTS "exception.buffers", CONF_NUMBER, ONE(conf, exception.buffers), RANGE(64, 65536),
	.def = "512"},

// Bytes of the longest header of PROXY version 2. The specification keeps senders to 536.
{TESTS "proxy.size", CONF_NUMBER, ONE(conf, proxy_size), RANGE(52, 4096), .def = "536"},

// Connections of an IPv6 /48. If unset: twice the number of a /64.
{TESTS "streams.per-network", CONF_NUMBER, ONE(conf, streams.per_network), RANGE(0, 1048576)},
// Seconds for a TLS handshake and the first message: a slow phone needs three round trips.
{TESTS "streams.handshake", CONF_TIME, ONE(conf, streams.handshake_s), RANGE(1, 3600),
	.def = "10"},
// Connections of each thread that wait for a PROXY header: as many as a balancer opens in one round
// trip.
{TESTS "streams.headers", CONF_NUMBER, ONE(conf, streams.headers), RANGE(1, 65536),
	.def = "1024"},
// Seconds without a message after which a connection without an allocation is closed.
{TESTS "streams.idle", CONF_TIME, ONE(conf, streams.idle_s), RANGE(1, 86400), .def = "120"},
// Bytes that wait for a slow client: a quarter of a second at 2 Mbit/s.
{TESTS "streams.queue", CONF_NUMBER, ONE(conf, streams.queue), RANGE(8192, 16777216),
	.def = "65536"},
// Messages between a stream thread and a worker: as long as a NIC's ring.
{TESTS "streams.ring", CONF_NUMBER, ONE(conf, streams.ring), RANGE(64, 65536), .def = "1024"},

// Sessions of an IPv6 /48. If unset: twice the number of a /64.
{TESTS "dtls.per-network", CONF_NUMBER, ONE(conf, dtls.per_network), RANGE(0, 1048576)},
// Concurrent handshakes: at 56 KB each they take 14 MB.
{TESTS "dtls.half-open", CONF_NUMBER, ONE(conf, dtls.half_open), RANGE(1, 65536), .def = "256"},
// Seconds for a handshake: four transmissions of RFC 6347's timer, which begins at one second.
{TESTS "dtls.handshake", CONF_TIME, ONE(conf, dtls.handshake_s), RANGE(1, 3600), .def = "10"},
// Seconds without a message after which a session without an allocation is freed.
{TESTS "dtls.idle", CONF_TIME, ONE(conf, dtls.idle_s), RANGE(1, 86400), .def = "120"},

// Seconds that a freed relay port rests: late packets of a former peer reach no other client.
{TESTS "relay.quarantine", CONF_TIME, ONE(conf, turn.quarantine_s), RANGE(0, 86400),
	.def = "120"},

// Permissions that every allocation can have: one for each of a peer's two families.
{TESTS "limits.sure.permissions", CONF_NUMBER, ONE(conf, turn.pools.sure_permissions),
	RANGE(1, 16), .def = "2"},
// Channels that every allocation can have.
{TESTS "limits.sure.channels", CONF_NUMBER, ONE(conf, turn.pools.sure_channels), RANGE(1, 16),
	.def = "1"},
// Permissions beyond these. If unset: one for each allocation.
{TESTS "limits.pool.permissions", CONF_NUMBER, ONE(conf, turn.pools.permissions),
	RANGE(1, 268435456)},
// Channels beyond these. If unset: one for each allocation.
{TESTS "limits.pool.channels", CONF_NUMBER, ONE(conf, turn.pools.channels), RANGE(1, 268435456)},
#define X(...) __VA_ARGS__,
CONF_CONSTANT_ROWS(X)
#undef X
// Percent of each pool for one user. If unset: 25, or 100 for the only user.
{TESTS "limits.pool.per-user", CONF_NUMBER, ONE(conf, turn.pools.per_user), RANGE(1, 100)},
// RFC 8656 section 7.2. Less if limits.lifetime.max is less.
{TESTS "limits.lifetime.default", CONF_TIME, ONE(conf, turn.limits.lifetime_default_s),
	RANGE(1, 86400)},
// If unset: five seconds of limits.unauthenticated.rate, for an office that comes back at once.
{TESTS "limits.unauthenticated.burst", CONF_NUMBER, ONE(conf, turn.limits.unauthenticated.burst),
	RANGE(1, 1000000)},
// Answers 438 to one 5-tuple without an allocation, per second and in a burst.
{TESTS "limits.stale-nonce.rate", CONF_NUMBER, ONE(conf, turn.limits.stale_nonce.rate),
	RANGE(0, 1000000), .def = "10"},
{TESTS "limits.stale-nonce.burst", CONF_NUMBER, ONE(conf, turn.limits.stale_nonce.burst),
	RANGE(1, 1000000), .def = "20"},
// Wrong passwords from one source, per second and in a burst: enough for an office, too few for a
// dictionary attack.
{TESTS "limits.guesses.rate", CONF_NUMBER, ONE(conf, turn.limits.guesses.rate), RANGE(0, 1000000),
	.def = "20"},
{TESTS "limits.guesses.burst", CONF_NUMBER, ONE(conf, turn.limits.guesses.burst),
	RANGE(1, 1000000), .def = "100"},
// If unset: two seconds of limits.binding.rate.
{TESTS "limits.binding.burst", CONF_NUMBER, ONE(conf, turn.limits.binding.burst),
	RANGE(1, 1000000)},
// ICMP errors reported to a client, per second and in a burst: one for each flow is enough.
{TESTS "limits.icmp.rate", CONF_NUMBER, ONE(conf, turn.limits.icmp.rate), RANGE(0, 1000000),
	.def = "10"},
{TESTS "limits.icmp.burst", CONF_NUMBER, ONE(conf, turn.limits.icmp.burst), RANGE(1, 1000000),
	.def = "20"},
// Handshakes of one source, per second and in a burst: 5,000 clients of an office take 15 seconds.
{TESTS "limits.handshakes.rate", CONF_NUMBER, ONE(conf, handshakes.rate), RANGE(0, 1000000),
	.def = "200"},
{TESTS "limits.handshakes.burst", CONF_NUMBER, ONE(conf, handshakes.burst), RANGE(1, 1000000),
	.def = "2000"},
// Requests that a worker answers between two bursts: a few microseconds each.
{TESTS "limits.requests", CONF_NUMBER, ONE(conf, requests), RANGE(1, 32), .def = "8"},
// Permissions and channels of one allocation: this bounds the peers and the memory of a client.
{TESTS "limits.permissions", CONF_NUMBER, ONE(conf, turn.limits.permissions), RANGE(1, 4096),
	.def = "256"},
{TESTS "limits.channels", CONF_NUMBER, ONE(conf, turn.limits.channels), RANGE(1, 4096),
	.def = "256"},

// journald's socket; systemd fixes its path.
{TESTS "log.journal", CONF_TEXT, ONE(conf, log.journal), RANGE(1, 107),
	.def = "/run/systemd/journal/socket"},
// Lines per second of each area.
{TESTS "log.rate", CONF_NUMBER, ONE(conf, log.rate), RANGE(0, 100000), .def = "200"},
// Seconds between log lines on how full bursts are; telemetry always has it.
{TESTS "log.bursts", CONF_TIME, ONE(conf, log.bursts_s), RANGE(0, 86400), .def = "0"},

// Rotated files kept of each file of records.
{TESTS "records.keep", CONF_NUMBER, ONE(conf, records.keep), RANGE(1, 1000), .def = "5"},

// Concurrent clients of the control socket.
{TESTS "control.connections", CONF_NUMBER, ONE(conf, control.connections), RANGE(1, 1024),
	.def = "64"},

// Number of processes that die within a minute before the next one starts without their calls.
{TESTS "state.crashes", CONF_NUMBER, ONE(conf, state.crashes), RANGE(0, 200), .def = "3"},

// Milliseconds without progress until a worker's stack is logged: far above the time of a round.
{TESTS "watchdog.alarm-ms", CONF_NUMBER, ONE(conf, watch.alarm_ms), RANGE(0, 60000),
	.def = "200"},
// Milliseconds without progress until the process ends: calls survive two seconds of silence.
{TESTS "watchdog.abort-ms", CONF_NUMBER, ONE(conf, watch.abort_ms), RANGE(0, 600000),
	.def = "2000"},
// Milliseconds without progress of management until systemd restarts the unit.
{TESTS "watchdog.management-ms", CONF_NUMBER, ONE(conf, watch.management_ms), RANGE(1000, 3600000),
	.def = "90000"},

// Crash reports kept.
{TESTS "crash.keep", CONF_NUMBER, ONE(conf, crash.keep), RANGE(1, 1000), .def = "10"},

// Seconds until the program of drain.on-change is killed.
{TESTS "drain.on-change-timeout", CONF_TIME, ONE(conf, drain.on_change_s), RANGE(1, 3600),
	.def = "30"},

// True: the control socket takes orders to hang and to crash.
{TESTS "debug.faults", CONF_BOOL, ONE(conf, debug.faults), .def = "false"},

// Packet buffers of all ports and workers. If unset, conf_derive_mbufs() sets it.
{TESTS "buffers.mbufs", CONF_NUMBER, ONE(conf, mbufs_fixed), RANGE(1024, 4194304)},
// Receive descriptors of a queue where the driver profile says nothing: 1 ms at 1 Mpps.
{TESTS "buffers.rx-ring", CONF_NUMBER, ONE(conf, rx_ring), RANGE(64, 32768), .def = "1024"},
// Transmit descriptors of a queue where the driver profile says nothing.
{TESTS "buffers.tx-ring", CONF_NUMBER, ONE(conf, tx_ring), RANGE(64, 32768), .def = "1024"},
// Requests that wait at a worker: from known clients, and an equal number from unknown ones.
{TESTS "buffers.backlog", CONF_NUMBER, ONE(conf, backlog), RANGE(32, 8192), .def = "512"},
// Packets that wait between two workers: the length of a NIC's ring.
{TESTS "buffers.handover-ring", CONF_NUMBER, ONE(conf, handover_ring), RANGE(64, 65536),
	.def = "1024"},
// Events of each worker that wait for management.
{TESTS "buffers.events", CONF_NUMBER, ONE(conf, events), RANGE(64, 65536), .def = "1024"},

// Neighbours of each worker: a /20 full of hosts.
{TESTS "neighbours.entries", CONF_NUMBER, ONE(conf, neigh_entries), RANGE(16, 65535),
	.def = "4096"},
// Packets of each worker that wait for a neighbour's MAC address.
{TESTS "neighbours.held", CONF_NUMBER, ONE(conf, neigh_held), RANGE(1, 65535), .def = "1024"},
// Packets that wait for one neighbour.
{TESTS "neighbours.held-each", CONF_NUMBER, ONE(conf, neigh_held_each), RANGE(1, 1024),
	.def = "16"},
// ARP and ND requests per second for addresses that have never answered.
{TESTS "neighbours.ask-rate", CONF_NUMBER, ONE(conf, neigh_ask_rate), RANGE(0, 1000000),
	.def = "1000"},

// Concurrent datagrams of all workers: 64 of 9 KB take 600 KB.
{TESTS "fragments.flows", CONF_NUMBER, ONE(conf, fragments.flows), RANGE(0, 16384), .def = "64"},
// Concurrent datagrams of one source, on each worker.
{TESTS "fragments.per-source", CONF_NUMBER, ONE(conf, fragments.per_source), RANGE(1, 256),
	.def = "4"},
// Bytes of the longest datagram: that of a jumbo frame.
{TESTS "fragments.datagram", CONF_NUMBER, ONE(conf, fragments.longest), RANGE(1280, 65000),
	.def = "9000"},
// Buffers for reassembled datagrams that are too long for a packet buffer.
{TESTS "fragments.buffers", CONF_NUMBER, ONE(conf, fragments.buffers), RANGE(8, 65536),
	.def = "16"},
// Milliseconds until all fragments of a datagram must have come: media is useless later.
{TESTS "fragments.timeout", CONF_NUMBER, ONE(conf, fragments.timeout_ms), RANGE(10, 60000),
	.def = "1000"},
// Fragments per second of one source on a worker.
{TESTS "fragments.rate", CONF_NUMBER, ONE(conf, fragments.rate), RANGE(0, 10000000),
	.def = "10000"},

// Echo replies per second.
{TESTS "icmp.rate", CONF_NUMBER, ONE(conf, icmp_rate), RANGE(0, 1000000), .def = "1000"},
// ICMP errors per second, of all workers, that are reported to clients.
{TESTS "icmp.errors-in", CONF_NUMBER, ONE(conf, icmp_errors_in), RANGE(0, 1000000),
	.def = "1000"},
// ICMP errors sent per second, of all workers: Linux allows 1,000 for a host and 1 for a peer.
{TESTS "icmp.errors-out", CONF_NUMBER, ONE(conf, icmp_errors_out), RANGE(0, 1000000),
	.def = "100"},
// ICMP errors sent per second to one address.
{TESTS "icmp.errors-out-each", CONF_NUMBER, ONE(conf, icmp_errors_each), RANGE(0, 1000000),
	.def = "10"},
// Paths of each worker with a known MTU.
{TESTS "icmp.path-mtu", CONF_NUMBER, ONE(conf, path_mtus), RANGE(0, 65536), .def = "1024"},
};
// clang-format on

const struct conf_table conf_schema_constants = TABLE(rows, NULL);
