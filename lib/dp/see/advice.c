// SPDX-License-Identifier: BSD-3-Clause
// Advice to an operator for each drop reason. The reasons' meanings are defined with the reasons
// themselves.
#include "dp.h"

#define NET(reason) [DP_DROP_NET + (reason)-1]
#define TURN(reason) [DP_DROP_TURN + (reason)-1]

// "" = none: such datagrams come in on every network.
static const char *const advice[DP_DROP_END] = {
	NET(NET_DROP_SHORT) = "a faulty sender or link on that segment, or an attack",
	NET(NET_DROP_ETHERTYPE) = "",
	NET(NET_DROP_VLAN) = "compare ports[].vlan with the switch",
	NET(NET_DROP_NOT_FOR_US) =
		"normal where a switch floods; else look for a stale MAC at the router",
	NET(NET_DROP_IP_VERSION) = "",
	NET(NET_DROP_IP_HEADER) = "",
	NET(NET_DROP_IP_OPTIONS) = "",
	NET(NET_DROP_IP_LENGTH) =
		"with net_af_packet and several queues, fragments that the kernel has put "
		"together: qpairs=1, or device packet:NAME; else a faulty sender, or an attack",
	NET(NET_DROP_IP_CHECKSUM) = "a faulty link, NIC or router; see rx_errors of the ports",
	NET(NET_DROP_FRAGMENT) = "",
	NET(NET_DROP_FRAGMENT_MALFORMED) = "an attack, if there are many",
	NET(NET_DROP_FRAGMENT_LONG) = "a client or peer sends longer datagrams than any MTU needs",
	NET(NET_DROP_FRAGMENT_OVERLAP) = "an attack, if there are many",
	NET(NET_DROP_FRAGMENT_DUPLICATE) = "",
	NET(NET_DROP_FRAGMENT_TIMEOUT) = "packet loss before this host",
	NET(NET_DROP_FRAGMENT_SOURCE) = "many clients that send fragments share an address",
	NET(NET_DROP_FRAGMENT_FULL) = "look for a flood of fragments",
	NET(NET_DROP_PROTOCOL) =
		"name the service under exception.allow if the kernel should get it",
	NET(NET_DROP_UDP_LENGTH) = "an attack, if there are many",
	NET(NET_DROP_UDP_CHECKSUM) = "a faulty link, NIC or sender; see rx_errors of the ports",
	NET(NET_DROP_MARTIAN_SOURCE) =
		"spoofed, or a missing route or subnet of a port: ports[].routes",
	NET(NET_DROP_MARTIAN_DESTINATION) = "",
	NET(NET_DROP_PORT_ZERO) = "",

	TURN(TURN_DROP_NOT_TURN) = "",
	TURN(TURN_DROP_MALFORMED) = "a broken client or a scan",
	TURN(TURN_DROP_FINGERPRINT) = "a broken client, or one that speaks another protocol",
	TURN(TURN_DROP_METHOD) = "",
	TURN(TURN_DROP_UNKNOWN_ATTRIBUTE) =
		"the client wants an extension that slipring does not know",
	TURN(TURN_DROP_INDICATION) = "a broken client",
	TURN(TURN_DROP_NO_ALLOCATION) =
		"normal just after an allocation has ended; else clients whose "
		"allocation has expired: see their refreshes",
	TURN(TURN_DROP_CHANNEL_LENGTH) = "a broken client",
	TURN(TURN_DROP_CHANNEL_UNBOUND) =
		"a client that has not refreshed its channel in 10 minutes",
	TURN(TURN_DROP_NO_PERMISSION) =
		"a client that has not refreshed its permission in 5 minutes",
	TURN(TURN_DROP_PEER_DENIED) =
		"a Send to port 0, or to the other family: normal while ICE tries its candidates",
	TURN(TURN_DROP_PEER_NO_ALLOCATION) =
		"normal just after an allocation has ended; else a scan",
	TURN(TURN_DROP_PEER_NO_PERMISSION) = "normal while ICE tries its candidates",
	TURN(TURN_DROP_PEER_OTHER_POOL) =
		"spoofed, or a peer in the wrong pool: relay.pools[].for, realms[].relay-pools",
	TURN(TURN_DROP_SHARED_UNKNOWN_PEER) = "normal while ICE tries its candidates",
	TURN(TURN_DROP_SHARED_COLLISION) = "add relay addresses, or widen relay.ports",
	TURN(TURN_DROP_SHARED_FULL) = "raise relay.peers-per-allocation",
	TURN(TURN_DROP_SHARED_SHARE) = "add relay addresses",
	TURN(TURN_DROP_PEER_OVERSIZE) = "the client should bind a channel to that peer",
	TURN(TURN_DROP_HAIRPIN_NO_ALLOCATION) = "normal just after the other allocation has ended",
	TURN(TURN_DROP_PEER_OWN) =
		"for programs of this machine use a packet: port, with its address under "
		"peers.allow; for other hosts behind the external address, list that address",
	TURN(TURN_DROP_UNAUTHENTICATED_RATE) =
		"a flood, or many clients behind one address: limits.unauthenticated",
	TURN(TURN_DROP_LOOKUP) = "see the log of slipring-accounts, and its source",
	TURN(TURN_DROP_GUESS_RATE) = "guessed passwords, or a client with a wrong password",
	TURN(TURN_DROP_BINDING_RATE) =
		"a flood, or many clients behind one address: limits.binding",
	TURN(TURN_DROP_BINDING_OFF) = "as configured: listeners[].binding",
	TURN(TURN_DROP_ICMP_NO_ALLOCATION) = "",
	TURN(TURN_DROP_ICMP_NO_PERMISSION) = "",
	TURN(TURN_DROP_ICMP_UNTOLD) = "",
	TURN(TURN_DROP_ICMP_RATE) = "",
	TURN(TURN_DROP_ALLOCATION_RATE) =
		"a client or its peer sends more than limits.rates of an allocation: slipringctl "
		"allocations shows which",
	TURN(TURN_DROP_USER_RATE) =
		"a user's clients or their peers send more than limits.rates: slipringctl "
		"allocations shows which user",
	TURN(TURN_DROP_REALM_RATE) =
		"all clients together send more than limits.rates, or one of them does: limit "
		"users, or raise it",
	TURN(TURN_DROP_KEEPALIVE) = "",
	TURN(TURN_DROP_CLIENT_DENIED) = "as configured: clients.allow, deny, deny-files",
	TURN(TURN_DROP_CLIENT_BLOCKED) = "as ordered: slipringctl blocked",
	TURN(TURN_DROP_INTERNAL) = "report it, with the log",

	[DP_DROP_NO_LISTENER] = "a client with a wrong port, or a scan; name the service under "
				"exception.allow if the kernel should get it",
	[DP_DROP_TTL] = "a routing loop, if there are many",
	[DP_DROP_MTU] = "clients or peers that ignore path MTU discovery; or ports[].mtu is wrong",
	[DP_DROP_RX_OVERSIZE] =
		"raise ports[].mtu to that of the network; with net_af_packet and several queues "
		"the kernel puts fragments together: qpairs=1, or device packet:NAME",
	[DP_DROP_NO_ROUTE] = "add ports[].gateway or ports[].routes",
	[DP_DROP_NEIGH_HELD] = "see which neighbours do not answer",
	[DP_DROP_NEIGH_FULL] = "look for a scan of the subnet",
	[DP_DROP_NEIGH_RATE] = "a scan of the subnet by clients",
	[DP_DROP_NEIGH_FAILED] = "see neighbours: that host or gateway is down",
	[DP_DROP_HANDOVER_FULL] = "a worker is overloaded: see workers",
	[DP_DROP_TX_FULL] = "the link is full, or the tx-ring of the driver profile too short",
	[DP_DROP_ICMP] = "",
	[DP_DROP_ICMP_RATE] = "a flood of pings",
	[DP_DROP_ICMP_QUOTE] = "forged, if there are many",
	[DP_DROP_ICMP_TOTAL] = "a flood of ICMP errors",
	[DP_DROP_ARP] = "",
	[DP_DROP_HEADROOM] = "report it, with the kind of port",
	[DP_DROP_NO_MBUF] = "overload: see workers; or packets are kept: see ports",
	[DP_DROP_SEGMENTED] = "set the MTU of the port below its buffers, or report it",
	[DP_DROP_BACKLOG] = "a flood of requests; else add workers",
	[DP_DROP_BACKLOG_KNOWN] = "overload: see workers; else add workers",
	[DP_DROP_LOOKUP_WAITS] = "",
	[DP_DROP_LOOKUP_ROOM] = "a flood of names, or slow answers: see slipring-accounts",
	[DP_DROP_BACKLOG_CLIENT] = "a client that sends too many requests",
	[DP_DROP_STREAM_FULL] = "overload of the stream threads: give management more CPUs",
	[DP_DROP_DTLS_PLAIN] = "a client configured for UDP on a port for DTLS only",
	[DP_DROP_DTLS_UNKNOWN] = "normal after a restart: the client makes a new session",
	[DP_DROP_DTLS_HELLO] = "a broken client",
	[DP_DROP_DTLS_FRAGMENT] = "normal where ClientHellos are longer than a datagram",
	[DP_DROP_DTLS_FULL] = "raise dtls.sessions, or look for a flood",
	[DP_DROP_DTLS_RATE] = "a flood, or many clients behind one address",
	[DP_DROP_DTLS_RECORD] = "",
	[DP_DROP_DTLS_MANY] = "a client that sends many small records in a datagram, or a flood",
	[DP_DROP_DTLS_ENDED] = "",
	[DP_DROP_DTLS_CIPHER] = "report it, with the log",
	[DP_DROP_SUPER] = "report it, with the kind of port; its offloads can be switched off",
	[DP_DROP_EXC_DENIED] = "name the service under exception.allow if the kernel should get it",
	[DP_DROP_EXC_FOREIGN] =
		"name the service under exception.allow, or check what the kernel sends",
	[DP_DROP_EXC_RATE] = "a flood towards the kernel",
	[DP_DROP_FRAGMENT_RATE] = "a flood of fragments",
	[DP_DROP_STOPPING] = "",
};

const char *dp_drop_advice(unsigned int reason)
{
	return reason < DP_DROP_END ? advice[reason] : NULL;
}
