// SPDX-License-Identifier: BSD-3-Clause
// The one table of all keys: names, where the values go, what they may be, defaults, purposes.
// Parsing, checks, freeing and doc/configuration.md all follow from this table.
#include "schema.h"

#include "conf.h"
#include "reading/ctx.h"
#include "reading/port_addrs.h"

#define CONF_ADDRESSES_MAX 4096 // in one list, with ranges and prefixes expanded

// ONE: a single field f of struct s. MANY: a list f of struct s with its count n.
#define ONE(s, f) .offset = offsetof(struct s, f), .size = sizeof(((struct s *)NULL)->f)
#define MANY(s, f, n)                                                            \
	.offset = offsetof(struct s, f), .size = sizeof(*((struct s *)NULL)->f), \
	.count = offsetof(struct s, n)
#define REQUIRED .flags = CONF_REQUIRED
#define RANGE(lo, hi) .min = lo, .max = hi
#define AREA(id, name, what)                                                                      \
	{"log.areas." name, CONF_CHOICE, ONE(conf, log.areas[id]), .choices = conf_level_choices, \
		.help = "Of " what "."},

// Parents come before their keys; the order is that of the manual.
// clang-format off
static const struct conf_key conf_schema[] = {
{"eal", CONF_SECTION, .help = "DPDK's environment. The whole section may be left out."},
{"eal.lcores", CONF_TEXT, ONE(conf, eal_lcores), RANGE(1, 1023),
	.help = "Lcores and the CPUs they run on, as for EAL's `--lcores`. The lowest lcore is "
	"for management, the others are for workers, so one more than `workers.count` is needed. "
	"Without it management floats over the allowed CPUs and each worker is put on one of "
	"them."},
{"eal.file-prefix", CONF_TEXT, ONE(conf, eal_file_prefix), RANGE(1, 64), .flags = CONF_WORD,
	.def = "slipring", .help = "Name of this instance among DPDK processes: two on one host "
	"need two names. `dpdk-telemetry.py -f` takes it."},
{"eal.args", CONF_TEXTS, MANY(conf, eal_args, nb_eal_args), RANGE(0, 64),
	.help = "More EAL arguments, passed on as they are, one word each."},

{"drivers", CONF_TEXT, ONE(conf, drivers_dir), RANGE(0, 1023),
	.help = "Directory of driver profiles, one YAML file per DPDK driver: what cannot be "
	"probed (`slipring --show-driver NAME` shows the outcome). Without it: "
	"`share/slipring/drivers` of the installation, if it is there. Empty: none, all ports run "
	"on what they report. The command line's `--drivers` wins."},

{"workers", CONF_SECTION, .help = "Worker threads: each polls its queues on an lcore of its own."},
{"workers.count", CONF_NUMBER, ONE(conf, workers), RANGE(1, TURN_WORKERS_MAX),
	.help = "How many. Without it: one per allowed CPU except one, at least one."},
{"workers.idle", CONF_CHOICE, ONE(conf, idle), .choices = conf_idle_choices, .def = "adaptive",
	.help = "`busy` polls without a pause: lowest latency, a CPU fully used at any load. "
	"`adaptive` polls on where datagrams come less than 20 us apart, and sleeps between them "
	"where they do not. It measures the CPU time of its sleeps: where one takes more than 5 "
	"us, as in virtual machines, it sleeps for ten times as long at least, within "
	"`idle-sleep`, and the 20 us shrink in proportion. `saving` sleeps for `idle-sleep` "
	"whenever there is nothing: the least CPU, for boxes that share it, as with TCP and TLS "
	"clients."},
{"workers.idle-sleep", CONF_NUMBER, ONE(conf, idle_sleep_us), RANGE(10, 1000),
	.help = "Microseconds of the longest sleep of an `adaptive` worker, and of each of a "
	"`saving` one and of busy stream threads beside it (200 there at least): what a datagram "
	"may have to wait more, and the receive ring has to hold. Without it: 50, and up to 250 "
	"for an `adaptive` worker where a sleep takes more than 5 us of the CPU."},

{"ports", CONF_ITEMS, MANY(conf, ports, nb_ports), REQUIRED, RANGE(1, CONF_PORTS_MAX),
	.help = "Network ports taken over from the kernel, with the addresses they answer for. The "
	"longest prefix among the subnets, routes and gateways of all says by which a packet "
	"leaves. What comes in on another port than its source is reached by is dropped."},
{"ports[].name", CONF_TEXT, ONE(conf_port, name), .flags = CONF_REQUIRED | CONF_WORD, RANGE(1, 32),
	.help = "What logs and telemetry call it; unique."},
{"ports[].device", CONF_TEXT, ONE(conf_port, device), RANGE(1, 255),
	.help = "Required where there is no `bond`. A PCI address (`0000:3b:00.0`), a DPDK vdev "
	"string (`net_af_packet0,iface=eth1,qpairs=2`), or `vtap:NAME`: a virtual NIC of which the "
	"kernel is the other end, as the interface NAME, there while slipring runs. More of a "
	"vtap, behind commas: `queues=N` at most (default: one per worker); `netns=NS`, the "
	"network namespace of the interface (default: that of the process); `role=lab` (default; "
	"the kernel is another host, with a MAC of its own) or `role=exception` (the kernel is "
	"this host: one MAC); `offload=uso`, `tso`, `csum` or `none`, the most that is asked of "
	"the kernel (default: all); `mac=MAC` of the port (default: random)."},
{"ports[].bond", CONF_SECTION, .help = "Several devices as one port, with one MAC, in place of "
	"`device`, by DPDK's bonding driver."},
{"ports[].bond.members", CONF_TEXTS, MANY(conf_port, bond.members, bond.nb_members),
	RANGE(1, CONF_BOND_MAX), .help = "The devices: PCI addresses or DPDK vdev strings, of NICs "
	"of one kind and speed. A vtap can be none. The MAC of the port is that of the first."},
{"ports[].bond.mode", CONF_CHOICE, ONE(conf_port, bond.mode), .choices = conf_bond_choices,
	.def = "lacp", .help = "`lacp` (802.3ad): the switch has the links as one group that "
	"speaks LACP; all links that it has accepted carry packets. `active-backup`: one link "
	"carries packets and another takes over when it goes down; the switches need to know "
	"nothing. `balance`: the switch has the links as a static group without LACP. With `lacp` "
	"and `balance` a flow leaves by the link that the hash of its addresses and ports says."},
{"ports[].bond.primary", CONF_TEXT, ONE(conf_port, bond.primary), RANGE(1, 255),
	.help = "With `active-backup`: the member that carries the packets while its link is up; "
	"its arguments may be left out where they tell no members apart. Without it the link that "
	"works stays in use."},
{"ports[].addresses", CONF_PORT_ADDRS, MANY(conf_port, addresses, nb_addresses),
	RANGE(1, CONF_ADDRESSES_MAX),
	.help = "Its own addresses with the prefix length of their subnet: `192.0.2.1/24`, or a "
	"run of them: `192.0.2.10-192.0.2.73/24`. No address may be on two ports. Where the "
	"network translates one 1:1, as clouds do, the entry is a mapping of the two keys below. "
	"**Required**, unless there are `vlans`."},
{"ports[].addresses[].address", CONF_PORT_RUN, ONE(conf_port_run, own), REQUIRED,
	.help = "The port's own address, or a run of them, with the prefix length. Or what the "
	"network gives to the kernel's interface of the port, which needs `exception`: `dhcp`, its "
	"IPv4 address, for which a DHCP client has to run on that interface; `slaac`, its IPv6 "
	"address, by router advertisements or from a DHCPv6 client. Each at most once a port. The "
	"default router that comes with it is taken where `gateway` names none of its family. "
	"Listeners and `relay.addresses` mean the address by `all`."},
{"ports[].addresses[].external", CONF_EXTERNAL, ONE(conf_port_run, external),
	.help = "What the network translates the address to: `203.0.113.5`, or a run of as many "
	"addresses. Clients are told it in place of a relay address. Listeners and "
	"`relay.addresses` go on to name the port's own addresses. It counts as an address of this "
	"box: clients reach each other by either, and nothing is sent to it."},
{"ports[].addresses-wait", CONF_NUMBER, ONE(conf_port, learn_wait_s), RANGE(0, 86400), .def = "60",
	.help = "Seconds that the start waits for the addresses `dhcp` and `slaac`, and then "
	"fails; 0 = it waits until they come."},
{"ports[].gateway", CONF_ADDRS, MANY(conf_port, gateways, nb_gateways), RANGE(0, 2),
	.help = "Routers for all that is neither on-link nor behind a route, at most one per "
	"family: on a subnet of the port, or an IPv6 link-local address. Where all addresses of "
	"the family are lone ones (`203.0.113.5/32`), as clouds and hosters give them out, it may "
	"be any address. A gateway serves the addresses of its own port."},
{"ports[].routes", CONF_ITEMS, MANY(conf_port, routes, nb_routes), RANGE(0, 64),
	.help = "Routers for some destinations, beside the gateway. The longest prefix of all "
	"subnets and routes of all ports says by which port a packet leaves, whatever port its "
	"source address is on. Among equal prefixes the source's own port wins."},
{"ports[].routes[].to", CONF_PREFIX, ONE(conf_route, to), REQUIRED,
	.help = "The destinations: `10.0.0.0/8`, `2001:db8:8::/48` or one address."},
{"ports[].routes[].via", CONF_ADDR, ONE(conf_route, via), REQUIRED,
	.help = "The router: as of a gateway, on a subnet of the port, or an IPv6 link-local "
	"address."},
{"ports[].vlan", CONF_NUMBER, ONE(conf_port, vlan), RANGE(0, 4094), .def = "0",
	.help = "802.1Q VLAN id of all its traffic; 0 is untagged. Several: `vlans`."},
{"ports[].vlans", CONF_ITEMS, MANY(conf_port, vlans, nb_vlans), RANGE(0, CONF_PORTS_MAX - 1),
	.help = "802.1Q VLANs that the device carries beside the port's own addresses, which are "
	"untagged, or without any. Each is a network like another port: listeners, relay "
	"addresses and routes name its addresses, logs and telemetry its name. Nothing of one "
	"comes in on another. Not together with `vlan`; at most 16 ports and VLANs in all. "
	"`addresses-wait`, `steering`, `uso` and the rings are those of the port."},
{"ports[].vlans[].id", CONF_NUMBER, ONE(conf_port, vlan), REQUIRED, RANGE(1, 4094),
	.help = "802.1Q VLAN id."},
{"ports[].vlans[].name", CONF_TEXT, ONE(conf_port, name), .flags = CONF_WORD, RANGE(1, 32),
	.help = "What logs and telemetry call it; unique. Without it: the port's name and the id, "
	"as in `wan.100`."},
{"ports[].vlans[].addresses", CONF_PORT_ADDRS, MANY(conf_port, addresses, nb_addresses), REQUIRED,
	RANGE(1, CONF_ADDRESSES_MAX), .help = "Own addresses, as `ports[].addresses`."},
{"ports[].vlans[].addresses[].address", CONF_PORT_RUN, ONE(conf_port_run, own), REQUIRED,
	.help = "As `ports[].addresses[].address`."},
{"ports[].vlans[].addresses[].external", CONF_EXTERNAL, ONE(conf_port_run, external),
	.help = "As `ports[].addresses[].external`."},
{"ports[].vlans[].gateway", CONF_ADDRS, MANY(conf_port, gateways, nb_gateways), RANGE(0, 2),
	.help = "Routers, as `ports[].gateway`."},
{"ports[].vlans[].routes", CONF_ITEMS, MANY(conf_port, routes, nb_routes), RANGE(0, 64),
	.help = "Routers for some destinations, as `ports[].routes`."},
{"ports[].vlans[].routes[].to", CONF_PREFIX, ONE(conf_route, to), REQUIRED,
	.help = "The destinations."},
{"ports[].vlans[].routes[].via", CONF_ADDR, ONE(conf_route, via), REQUIRED,
	.help = "The router."},
{"ports[].vlans[].mtu", CONF_NUMBER, ONE(conf_port, mtu), RANGE(576, 9216),
	.help = "Largest IP packet, in bytes, without the tag; not above the port's. Without it: "
	"the port's."},
{"ports[].vlans[].exception", CONF_SECTION, .help = "An exception port of the VLAN, as "
	"`ports[].exception`. The kernel's end is untagged."},
{"ports[].vlans[].exception.name", CONF_TEXT, ONE(conf_port, exception.name), .flags = CONF_WORD,
	RANGE(1, 15), .help = "Name of the interface."},
{"ports[].vlans[].exception.netns", CONF_TEXT, ONE(conf_port, exception.netns),
	.flags = CONF_WORD, RANGE(1, 127), .help = "Network namespace of the interface."},
{"ports[].vlans[].exception.allow", CONF_SERVICES,
	MANY(conf_port, exception.allow, exception.nb_allow), RANGE(0, 256),
	.help = "What is carried."},
{"ports[].vlans[].exception.client-ports", CONF_PORT_RANGE,
	.offset = offsetof(struct conf_port, exception.client_lo),
	.count = offsetof(struct conf_port, exception.client_hi), .size = 2, RANGE(1, 65535),
	.def = "32768-60999", .help = "UDP ports that the kernel asks from."},
{"ports[].vlans[].exception.rate", CONF_NUMBER, ONE(conf_port, exception.rate),
	RANGE(1, 10000000), .def = "100000", .help = "Packets per second each way."},
{"ports[].vlans[].exception.buffers", CONF_NUMBER, ONE(conf_port, exception.buffers),
	RANGE(64, 65536), .def = "512", .help = "Packet buffers that may wait."},
{"ports[].vlans[].exception.tso", CONF_CHOICE, ONE(conf_port, exception.tso),
	.choices = conf_uso_choices, .def = "auto",
	.help = "Whether super-frames of TCP leave whole."},
{"ports[].vlans[].exception.device", CONF_TEXT, ONE(conf_port, exception.device), RANGE(1, 255),
	.help = "A DPDK vdev string to use instead of a vtap."},
{"ports[].mtu", CONF_NUMBER, ONE(conf_port, mtu), RANGE(576, 9216), .def = "1500",
	.help = "Largest IP packet, in bytes; at least 1280 on a port with IPv6. All hosts of its "
	"network have to have the same one. 9000 is usual for jumbo frames: the packet buffers of "
	"all ports grow with the largest MTU, to 9.6 KB each."},
{"ports[].steering", CONF_CHOICE, ONE(conf_port, steering), .choices = conf_steering_choices,
	.def = "auto",
	.help = "How the NIC brings packets from peers to the worker that owns their relay port. "
	"`t1`: a rule for each relay address, when every worker has addresses of its own and none "
	"is also a listener's; `t2`: rules that look at bits of the relay port too; `t4`: no "
	"rules, what comes to the wrong worker is handed over by software. `auto` is what the "
	"profile of the driver says, else it tries them in this order; `t1` and `t2` try that one "
	"alone. What the NIC refuses is `t4`, and the log and `/slipring/steering` say why."},
{"ports[].uso", CONF_CHOICE, ONE(conf_port, uso), .choices = conf_uso_choices, .def = "auto",
	.help = "Whether runs of datagrams of one flow leave as one super-frame that the port cuts "
	"(UDP segmentation offload). `auto`: where it costs nothing, so not on a NIC; `on`: also "
	"on a NIC whose driver offers it, of which most then send without their vectorised "
	"function; `off`: nowhere."},
{"ports[].rx-ring", CONF_NUMBER, ONE(conf_port, rx_ring), RANGE(64, 32768),
	.help = "Receive descriptors of a queue of this port. Without it: what the profile of its "
	"driver says, else `buffers.rx-ring`."},
{"ports[].tx-ring", CONF_NUMBER, ONE(conf_port, tx_ring), RANGE(64, 32768),
	.help = "Transmit descriptors of a queue of this port. Without it: what the profile of its "
	"driver says, else `buffers.tx-ring`."},
{"ports[].exception", CONF_SECTION, .help = "The exception port: an interface of the kernel with "
	"the MAC, addresses and gateways of this port, there while slipring runs, for what the "
	"data path does not own. Without the section, or without `name`, there is none."},
{"ports[].exception.name", CONF_TEXT, ONE(conf_port, exception.name), .flags = CONF_WORD,
	RANGE(1, 15), .help = "Name of the interface."},
{"ports[].exception.netns", CONF_TEXT, ONE(conf_port, exception.netns), .flags = CONF_WORD,
	RANGE(1, 127), .help = "Network namespace of the interface, by its name (`ip netns add` "
	"makes it; what is to be reached is started in it, with `ip netns exec` or systemd's "
	"`NetworkNamespacePath=`). Without it: that of the process, where the default routes are "
	"of low priority (metric 1024 and more) and answers take the way that the host's own "
	"routes say. A port whose packets the kernel sees too (`net_af_packet`) wants a namespace: "
	"the kernel would answer clients for the addresses of the interface."},
{"ports[].exception.allow", CONF_SERVICES,
	MANY(conf_port, exception.allow, exception.nb_allow), RANGE(0, 256),
	.help = "What is carried. `tcp/22`: connections to port 22 of this box; `tcp-to/179`: "
	"connections of this box to port 179 of others (both lines for BGP); `udp/161` and "
	"`udp-to/53`: the same for UDP, on ports that are neither a listener's nor relayed from; "
	"`icmp`: pings both ways, which the kernel then answers; `icmp-to`: pings of this box "
	"alone. ARP and ND, and ICMP errors about what is carried, always are; all else is "
	"dropped and counted. No connections are tracked: with `tcp-to/179` whatever comes from "
	"port 179 and begins no connection reaches any port of the kernel, and with `udp-to/53` "
	"whatever comes from port 53, asked for or not, every port of `client-ports`. Let only "
	"what needs it listen there, or filter on the interface."},
{"ports[].exception.client-ports", CONF_PORT_RANGE,
	.offset = offsetof(struct conf_port, exception.client_lo),
	.count = offsetof(struct conf_port, exception.client_hi), .size = 2, RANGE(1, 65535),
	.def = "32768-60999",
	.help = "UDP ports that the kernel asks from where `udp-to` lets it, and so that answers "
	"reach: what `sysctl net.ipv4.ip_local_port_range` says in its namespace. "
	"Listeners' and relay ports are none of them. A client on another port (ntpd on 123) needs "
	"that port too: `udp/123`."},
{"ports[].exception.rate", CONF_NUMBER, ONE(conf_port, exception.rate), RANGE(1, 10000000),
	.def = "100000", .help = "Packets per second each way, as they are on the wire. What is "
	"for the kernel beyond it is dropped as `exception-rate`; what comes from the kernel "
	"waits in its interface."},
{"ports[].exception.buffers", CONF_NUMBER, ONE(conf_port, exception.buffers), RANGE(64, 65536),
	.def = "512", .help = "Packet buffers that may wait: for the kernel on each worker, out of "
	"`buffers.mbufs`; from the kernel in all, out of a pool of their own. A super-frame takes "
	"up to 34."},
{"ports[].exception.tso", CONF_CHOICE, ONE(conf_port, exception.tso), .choices = conf_uso_choices,
	.def = "auto", .help = "Whether super-frames of TCP leave the kernel and this port whole "
	"(TCP segmentation offload). `auto`: where it costs nothing, so not on a NIC; `on`: also "
	"on a NIC whose driver offers it, of which most then send without their vectorised "
	"function; `off`: nowhere. Where the port cannot, the kernel is not asked for them and "
	"cuts itself."},
{"ports[].exception.device", CONF_TEXT, ONE(conf_port, exception.device), RANGE(1, 255),
	.help = "A DPDK vdev string to use instead of a vtap, for boxes with `/dev/vhost-net`: "
	"`virtio_user0,path=/dev/vhost-net,queues=1,queue_size=1024`. The names of interface and "
	"MAC are added. Not together with `netns`, and without super-frames."},

{"listeners", CONF_ITEMS, MANY(conf, turn.listeners, turn.nb_listeners), REQUIRED, RANGE(1, 255),
	.help = "Where TURN clients are served."},
{"listeners[].transport", CONF_CHOICE, ONE(turn_listener, transport),
	.choices = conf_transport_choices, .def = "udp",
	.help = "Transport of the client leg: `udp`, `tcp`, `tls` (over TCP, with the certificate "
	"of `tls`), `auto`: TCP, where the first byte of each client tells whether it speaks TLS, "
	"or `dtls` (1.2, over UDP, with the same certificate). A `udp` and a `dtls` listener may "
	"have one address and port: the first byte of each datagram tells whose it is (RFC 7983)."},
{"listeners[].address", CONF_LISTEN_ADDR, ONE(turn_listener, at.addr), REQUIRED,
	.count = offsetof(struct turn_listener, on),
	.help = "A `udp` or `dtls` listener has an address of a port. TCP is the kernel's: a "
	"`tcp`, `tls` or `auto` listener has any address that the kernel has, or will have (DHCP "
	"may bring it later): one of a port with `exception`, where it needs no `allow`, or of "
	"another interface. `all`, `all-ipv4` and `all-ipv6` stand for all addresses of the ports, "
	"for TCP of those with `exception`."},
{"listeners[].port", CONF_NUMBER, ONE(turn_listener, at.port), RANGE(1, 65535), .def = "3478",
	.help = "Port number; customary for TLS and DTLS is 5349, for TLS also 443. It is taken "
	"out of the relay range of the same address."},
{"listeners[].dscp", CONF_DSCP, ONE(turn_listener, dscp), RANGE(0, 63), .def = "copy",
	.help = "DSCP of what leaves to the clients of this listener, and for them to their peers. "
	"`copy`: as it came, which each sender chooses; answers, and what no packet brings, have "
	"0. A number, 46 (EF) or 34 (AF41) for media: all has this one, answers and handshakes "
	"too. 0 trusts nobody's. ECN is always as it came. TCP and TLS: the kernel's packets to "
	"the client have it as well; with `copy` it is that of the client's SYN, both ways."},

{"tls", CONF_SECTION, .help = "For listeners with `transport: tls`, `auto` or `dtls`. SIGUSR2 "
	"and SIGHUP read the files again, for connections and sessions from then on; where they "
	"are of no use, the old ones stay and the log says why. `--check`, each start and each "
	"renewal tell of a certificate that has expired or will in 30 days. Session tickets have "
	"another key every hour, and from each renewal on; the one of the hour before is still "
	"taken. ALPN: `stun.turn` and "
	"`stun.nat-discovery` (RFC 7443)."},
{"tls.certificate", CONF_TEXT, ONE(conf, tls.certificate), RANGE(1, 4095),
	.help = "PEM file with the certificate of the server, and behind it those between it and "
	"the root. Required where there is TLS."},
{"tls.key", CONF_TEXT, ONE(conf, tls.key), RANGE(1, 4095),
	.help = "PEM file with its private key, without a pass phrase. Required where there is "
	"TLS."},
{"tls.chain", CONF_TEXT, ONE(conf, tls.chain), RANGE(1, 4095),
	.help = "PEM file with certificates between the server's and the root, where `certificate` "
	"does not have them."},
{"tls.ciphers", CONF_TEXT, ONE(conf, tls.ciphers), RANGE(1, 1023),
	.help = "Cipher list of TLS 1.2 and DTLS in OpenSSL's words. Without it: "
	"`ECDHE+AESGCM:ECDHE+CHACHA20`, the suites that RFC 9325 recommends; `DEFAULT` is what "
	"OpenSSL has, with static RSA and CBC. Those of TLS 1.3 are OpenSSL's. Groups are X25519, "
	"P-256 and P-384."},
{"tls.min-version", CONF_CHOICE, ONE(conf, tls.min_version),
	.choices = conf_tls_choices, .def = "1.2",
	.help = "Lowest version: `1.2` or `1.3`. With `1.3` there can be no `dtls` listener: there "
	"is no DTLS 1.3 here."},

{"streams", CONF_SECTION, .help = "TCP and TLS clients: threads of their own, on the CPUs of "
	"management, between the kernel's sockets and the workers."},
{"streams.threads", CONF_NUMBER, ONE(conf, streams.threads), RANGE(1, 16), .def = "1",
	.help = "How many. The kernel deals the connections over them."},
{"streams.connections", CONF_NUMBER, ONE(conf, streams.connections), RANGE(1, 1048576),
	.def = "10000", .help = "Connections at a time. Each takes an open file: `LimitNOFILE` of "
	"the unit must be higher. For one more the oldest gives way that has not sent a whole "
	"message yet; where there is none it is refused by a reset."},
{"streams.per-source", CONF_NUMBER, ONE(conf, streams.per_source), RANGE(0, 1048576),
	.def = "100", .help = "Connections at a time of one client address (IPv6: of its /64); "
	"0 = no limit."},
{"streams.per-network", CONF_NUMBER, ONE(conf, streams.per_network), RANGE(0, 1048576),
	.def = "1000", .help = "Connections at a time of one IPv6 /48, which is what one site may "
	"have, with 65,536 of /64; 0 = no limit."},
{"streams.handshake", CONF_NUMBER, ONE(conf, streams.handshake_s), RANGE(1, 3600), .def = "10",
	.help = "Seconds for a TLS handshake and the first whole message, and for the rest of any "
	"message that has begun."},
{"streams.idle", CONF_NUMBER, ONE(conf, streams.idle_s), RANGE(1, 86400), .def = "120",
	.help = "Seconds without a message after which a connection without an allocation is "
	"closed; one with an allocation stays until that has expired."},
{"streams.queue", CONF_NUMBER, ONE(conf, streams.queue), RANGE(8192, 16777216), .def = "65536",
	.help = "Bytes that may wait for a client that reads slower than it is sent to, here and "
	"again in the kernel. Past it the oldest media is dropped."},
{"streams.ring", CONF_NUMBER, ONE(conf, streams.ring), RANGE(64, 65536), .def = "1024",
	.help = "Messages that may wait between a stream thread and a worker, each way, rounded up "
	"to a power of two; each holds a packet buffer."},
{"streams.netns", CONF_TEXT, ONE(conf, streams.netns), RANGE(1, 63), .flags = CONF_WORD,
	.help = "Network namespace (`ip netns`) of the TCP listeners; that of the exception ports "
	"they are on. Without it: that of the process."},

{"dtls", CONF_SECTION, .help = "DTLS clients. Handshakes are made by the threads of "
	"`streams.threads`, over rings of `streams.ring`; the records of a session are the "
	"worker's. A session takes 3 KB of memory outside of EAL's, a handshake up to 56 and one "
	"whose client means harm up to 400. Those of `tls.ciphers` with AES-GCM or "
	"ChaCha20-Poly1305 are used."},
{"dtls.sessions", CONF_NUMBER, ONE(conf, dtls.sessions), RANGE(1, 1048576), .def = "10000",
	.help = "Sessions at a time, handshakes included. What is more is not answered."},
{"dtls.per-source", CONF_NUMBER, ONE(conf, dtls.per_source), RANGE(0, 1048576), .def = "100",
	.help = "Sessions at a time of one client address (IPv6: of its /64); 0 = no limit."},
{"dtls.per-network", CONF_NUMBER, ONE(conf, dtls.per_network), RANGE(0, 1048576),
	.def = "1000", .help = "Sessions at a time of one IPv6 /48; 0 = no limit."},
{"dtls.half-open", CONF_NUMBER, ONE(conf, dtls.half_open), RANGE(1, 65536), .def = "256",
	.help = "Handshakes at a time, of clients whose address has been verified by a cookie. "
	"Divided by the number of workers, at least 1 each. For one more the oldest gives way, "
	"once it is half a second old; before, what is more is dropped and comes again."},
{"dtls.handshake", CONF_NUMBER, ONE(conf, dtls.handshake_s), RANGE(1, 3600), .def = "10",
	.help = "Seconds for a handshake."},
{"dtls.idle", CONF_NUMBER, ONE(conf, dtls.idle_s), RANGE(1, 86400), .def = "120",
	.help = "Seconds without a message of the client after which a session without an "
	"allocation is closed; one with an allocation stays until that has expired."},

{"relay", CONF_SECTION, REQUIRED, .help = "Where relayed transport addresses come from."},
{"relay.addresses", CONF_RELAY_ADDRS, MANY(conf, turn.relay, turn.nb_relay), REQUIRED,
	RANGE(1, CONF_ADDRESSES_MAX),
	.help = "Addresses of the ports to relay from: single ones, `a-b` ranges and prefixes "
	"(the network and broadcast address of an IPv4 prefix are left out). `all`, `all-ipv4` and "
	"`all-ipv6` in place of the list stand for all addresses of the ports, except those of "
	"`relay.pools`."},
{"relay.pools", CONF_ITEMS, MANY(conf, turn.relay_pools, turn.nb_relay_pools), RANGE(0, 15),
	.help = "Addresses that stand in for `relay.addresses` towards some peers, as where public "
	"peers are behind one port and a private net of conference servers is behind another. An "
	"allocation has one relayed transport address, which its client is told. Peers of a pool "
	"see it by the pool's address with the same port, as behind a 1:1 translation."},
{"relay.pools[].name", CONF_TEXT, ONE(turn_relay_pool, name), .flags = CONF_REQUIRED | CONF_WORD,
	RANGE(1, 32), .help = "What the log calls it; unique."},
{"relay.pools[].addresses", CONF_ADDRS, MANY(turn_relay_pool, addresses, nb_addresses), REQUIRED,
	RANGE(1, CONF_ADDRESSES_MAX), .help = "Addresses of the ports, of a family as many as "
	"there are relay addresses of it: the first stands for the first, and so on."},
{"relay.pools[].for", CONF_PREFIXES, MANY(turn_relay_pool, peers, nb_peers), REQUIRED,
	RANGE(1, 256), .help = "The peers of the pool; the longest prefix of all pools decides. "
	"It does not allow them: `peers.allow` does."},
{"relay.mode", CONF_CHOICE, ONE(conf, turn.shared), .choices = conf_relay_choices, .def = "unique",
	.help = "`unique`: every allocation has a relayed transport address of its own, as RFC "
	"8656 wants it. `shared`: all of them share the few ports of `relay.ports`, for firewalls "
	"that open no more, and are told apart by the peer's address and port. Peers then have to "
	"send from the very port that the client has bound a channel or sent to, EVEN-PORT and "
	"RESERVATION-TOKEN get 508, and of all clients on one shared address one alone can have a "
	"given peer address and port: another's ChannelBind for it gets 508, and its Sends are "
	"dropped. New allocations go where there are fewest such peers, so N shared addresses of a "
	"worker carry N clients of one conference server."},
{"relay.ports", CONF_PORT_RANGE, .offset = offsetof(struct conf, turn.port_lo),
	.count = offsetof(struct conf, turn.port_hi), .size = 2, RANGE(1024, 65535),
	.def = "49152-65535", .help = "Port numbers to relay from, on every relay address. "
	"Shared ones are 3480-3487 by default, and at most 4096 with all addresses; each belongs "
	"to one worker, and there must be one of each family for every worker."},
{"relay.peers-per-allocation", CONF_NUMBER, ONE(conf, turn.limits.endpoints), RANGE(1, 65535),
	.def = "256",
	.help = "On shared ports: addresses and ports of peers that an allocation can have "
	"registered, by a channel or by sending to them. They stay as long as its permission for "
	"the address, or a channel, lives."},
{"relay.peer-share", CONF_NUMBER, ONE(conf, turn.limits.peer_share), RANGE(1, 100),
	.help = "Shared ports: percent of a worker's shared addresses of a family on which the "
	"allocations of one user may have one and the same peer, so that nobody can take a "
	"conference server for himself. Without it: 50, but 100 where there is one configured user "
	"and no secret."},
{"relay.quarantine", CONF_NUMBER, ONE(conf, turn.quarantine_s), RANGE(0, 86400), .def = "120",
	.help = "Seconds a freed relay port rests before it is given out again, so that late "
	"packets of a former peer reach nobody. When no rested port is left, the one that has "
	"rested longest (1 s at least) is taken and counted. Shared ports never rest."},

{"auth", CONF_SECTION, REQUIRED,
	.help = "Long-term credentials (RFC 8489 section 9.2). At least one user or one secret."},
{"auth.realm", CONF_TEXT, ONE(conf, turn.realm), REQUIRED, RANGE(1, 763),
	.help = "The realm. Up to 16 bytes keep unauthenticated answers within 3 times their "
	"request (amplification)."},
{"auth.users", CONF_ITEMS, MANY(conf, turn.users, turn.nb_users), RANGE(0, 65536),
	.help = "Configured users: each has a password, or keys made of it for this realm."},
{"auth.users[].name", CONF_TEXT, ONE(turn_user, name), REQUIRED, RANGE(1, 508),
	.help = "User name, taken byte by byte; unique."},
{"auth.users[].password", CONF_TEXT, ONE(turn_user, password), RANGE(1, 1023),
	.help = "Password, taken byte by byte."},
{"auth.users[].key", CONF_HEX, ONE(turn_user, md5), RANGE(16, 16),
	.help = "Instead of a password: MD5 of `name:realm:password`. Serves MESSAGE-INTEGRITY."},
{"auth.users[].key-sha256", CONF_HEX, ONE(turn_user, sha256), RANGE(32, 32),
	.help = "Instead of a password, alone or beside `key`: SHA-256 of `name:realm:password`."},
{"auth.secrets", CONF_TEXTS, MANY(conf, turn.secrets, turn.nb_secrets), RANGE(0, 16),
	.help = "Secrets shared with a web service that hands out time-limited users "
	"(`expiry:id`, as coturn's `static-auth-secret`). Several, so that they can be rotated."},
{"auth.nonce", CONF_SECTION, .help = "Nonces hold no state: any server that has the secret takes "
	"them."},
{"auth.nonce.lifetime", CONF_NUMBER, ONE(conf, turn.nonce_lifetime_s), RANGE(1, 86400),
	.def = "600", .help = "Seconds until a nonce is stale and the client is told a new one."},
{"auth.nonce.secret", CONF_TEXT, ONE(conf, turn.nonce_secret), RANGE(0, 1023), .def = "\"\"",
	.help = "The same on all servers of a fleet, or to keep nonces good over a restart. "
	"Empty: a random one for the life of the process."},

{"limits", CONF_SECTION, .help = "Quotas answer 486, caps of one allocation 508."},
{"limits.allocations", CONF_NUMBER, ONE(conf, turn.limits.allocations), RANGE(0, 16777216),
	.def = "100000", .help = "Allocations in all; 0 = no limit but the memory, which shared "
	"relay ports do not allow."},
{"limits.per-user", CONF_NUMBER, ONE(conf, turn.limits.per_user), RANGE(0, 16777216), .def = "0",
	.help = "Allocations of one user; 0 = no limit."},
{"limits.per-source", CONF_NUMBER, ONE(conf, turn.limits.per_source), RANGE(0, 16777216),
	.def = "0", .help = "Allocations of one client address (IPv6: of its /64); 0 = no limit."},
{"limits.permissions", CONF_NUMBER, ONE(conf, turn.limits.permissions), RANGE(1, 4096),
	.def = "256", .help = "Permissions of one allocation."},
{"limits.channels", CONF_NUMBER, ONE(conf, turn.limits.channels), RANGE(1, 4096), .def = "256",
	.help = "Channels of one allocation."},
{"limits.sure", CONF_SECTION, .help = "What every allocation that can exist is sure of, whatever "
	"others take. `slipring --show-needs` tells the memory."},
{"limits.sure.permissions", CONF_NUMBER, ONE(conf, turn.pools.sure_permissions), RANGE(1, 16),
	.def = "2", .help = "Permissions, and peers on shared relay ports. 32 bytes each."},
{"limits.sure.channels", CONF_NUMBER, ONE(conf, turn.pools.sure_channels), RANGE(1, 16),
	.def = "1", .help = "Channels. 32 bytes each, 33 where there are external addresses or "
	"pools."},
{"limits.pool", CONF_SECTION, .help = "What there is for all allocations beyond that, divided by "
	"the number of workers. Past it, or past `per-user`, 508."},
{"limits.pool.permissions", CONF_NUMBER, ONE(conf, turn.pools.permissions), RANGE(1, 268435456),
	.help = "Permissions, 32 bytes each. Without it: one for each allocation that can exist."},
{"limits.pool.channels", CONF_NUMBER, ONE(conf, turn.pools.channels), RANGE(1, 268435456),
	.help = "Channels, 32 or 33 bytes each. Without it: one for each allocation that can "
	"exist."},
{"limits.pool.peers", CONF_NUMBER, ONE(conf, turn.pools.endpoints), RANGE(1, 268435456),
	.help = "Peers on shared relay ports, 78 bytes each. Without it: two for each allocation "
	"that can exist."},
{"limits.pool.per-user", CONF_NUMBER, ONE(conf, turn.pools.per_user), RANGE(1, 100),
	.help = "Percent of each pool that one user's allocations may hold, on each worker. "
	"Without it: 25, but 100 where there is one configured user and no secret."},
{"limits.lifetime", CONF_SECTION, .help = "Lifetime of allocations, in seconds."},
{"limits.lifetime.default", CONF_NUMBER, ONE(conf, turn.limits.lifetime_default_s),
	RANGE(1, 86400), .def = "600", .help = "For clients that ask for none, or for less."},
{"limits.lifetime.max", CONF_NUMBER, ONE(conf, turn.limits.lifetime_max_s), RANGE(1, 86400),
	.def = "3600", .help = "The longest a client is granted."},
{"limits.unauthenticated", CONF_SECTION, .help = "Answers over UDP to requests that prove "
	"nothing, not even that their source address is their own, per source (IPv4 address, IPv6 "
	"/64): what is reflected to an address that somebody spoofs. Past it there is silence and "
	"a counter. Requests with a nonce of ours, and all over TCP, TLS and DTLS, do without. "
	"With the defaults 5,000 clients of one address are back within 15 seconds, and a spoofed "
	"address is sent 60 KB a second (doc/security.md). Rates are divided by the number of "
	"workers."},
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
	"per source (IPv4 address, IPv6 /64), over all transports. Past it all requests of the "
	"source are dropped unread, except those in the name of the user whose allocation they "
	"are for. Rates are divided by the number of workers."},
{"limits.guesses.rate", CONF_NUMBER, ONE(conf, turn.limits.guesses.rate), RANGE(0, 1000000),
	.def = "20", .help = "Per second; 0 = no limit."},
{"limits.guesses.burst", CONF_NUMBER, ONE(conf, turn.limits.guesses.burst), RANGE(1, 1000000),
	.def = "100", .help = "At once."},
{"limits.binding", CONF_SECTION, .help = "Answers to STUN Binding requests, per source, "
	"over all transports. Past it there is silence and a counter."},
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
	"begun by a source (IPv4 address, IPv6 /64). It has shown by then that its address is its "
	"own: nobody can use up another's, but those behind one address share. With the defaults "
	"5,000 clients of one address are back within 15 seconds, where `streams.per-source` and "
	"`dtls.per-source` allow them. Past it a connection of TLS is reset (`refused_rate`), and "
	"a client of DTLS not answered (`dtls-rate`): it asks again by itself. The rate of DTLS "
	"is divided by the number of workers."},
{"limits.handshakes.rate", CONF_NUMBER, ONE(conf, handshakes.rate), RANGE(0, 1000000),
	.def = "200", .help = "Per second; 0 = no limit."},
{"limits.handshakes.burst", CONF_NUMBER, ONE(conf, handshakes.burst), RANGE(1, 1000000),
	.def = "2000", .help = "At once."},

{"limits.requests", CONF_NUMBER, ONE(conf, requests), RANGE(1, 32), .def = "8",
	.help = "STUN and TURN requests that a worker which relays answers before it turns to its "
	"queues again, a few microseconds each; the others wait. While a queue gives full bursts "
	"nearly all of them wait."},

{"peers", CONF_SECTION, .help = "Peers that clients may reach. The longest prefix that holds the "
	"peer decides; at equal length deny wins. Private, shared, documentation and benchmark "
	"addresses are denied unless allowed here; loopback, link-local, multicast, reserved and "
	"own addresses are never reached."},
{"peers.allow", CONF_PREFIXES, MANY(conf, turn.allow, turn.nb_allow), RANGE(0, 65536),
	.help = "Single addresses, `a-b` ranges and prefixes."},
{"peers.deny", CONF_PREFIXES, MANY(conf, turn.deny, turn.nb_deny), RANGE(0, 65536),
	.help = "Single addresses, `a-b` ranges and prefixes."},
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

{"log", CONF_SECTION, .help = "Logging. Each line has a level and an area: what it is about."},
{"log.to", CONF_CHOICE, ONE(conf, log.to), .choices = conf_log_to_choices, .def = "stderr",
	.help = "Where to. `journal`: to journald, with fields of its own (`SLIPRING_AREA` and "
	"more: `journalctl -o verbose`); where journald is not there, lines go to standard error. "
	"`stderr` under systemd reaches the journal as well, with levels and without fields."},
{"log.format", CONF_CHOICE, ONE(conf, log.format),
	.choices = conf_log_format_choices, .def = "text",
	.help = "`json`: each line is an object with `time`, `level`, `area`, `text`, and the "
	"facts of the text as members of their own. The journal takes fields instead."},
{"log.journal", CONF_TEXT, ONE(conf, log.journal), RANGE(1, 107),
	.def = "/run/systemd/journal/socket", .help = "With `to: journal`: journald's socket."},
{"log.level", CONF_CHOICE, ONE(conf, log.level), .choices = conf_level_choices, .def = "info",
	.help = "The least severe that is logged."},
{"log.areas", CONF_SECTION, .help = "The same for an area. Without it: `log.level`."},
CONF_AREAS(AREA)
{"log.rate", CONF_NUMBER, ONE(conf, log.rate), RANGE(0, 100000), .def = "200",
	.help = "Lines a second of each area; 0 = no limit. More are left out, and a line tells "
	"how many."},
{"log.bursts", CONF_NUMBER, ONE(conf, log.bursts_s), RANGE(0, 86400), .def = "0",
	.help = "Seconds between two lines of each worker, at level `info`, on how full its bursts "
	"were in between; 0 = none. Telemetry counts them always (`/slipring/bursts`)."},

{"records", CONF_SECTION, .help = "Records of sessions, one JSON object a line: allocations made "
	"and ended, and what was refused ([operations.md](operations.md) has the fields). A disk "
	"that is full or slow costs records, which are counted, and never a datagram."},
{"records.file", CONF_TEXT, ONE(conf, records.file), RANGE(1, 1023),
	.help = "Path of a regular file, from `/` on; made with mode 0640. Without it: no file."},
{"records.rotate", CONF_SIZE, ONE(conf, records.rotate), RANGE(0, UINT32_MAX), .def = "100M",
	.help = "Bytes after which the file becomes FILE.1, that FILE.2, and so on; 0 = never."},
{"records.keep", CONF_NUMBER, ONE(conf, records.keep), RANGE(1, 1000), .def = "5",
	.help = "How many files beside the present one are kept."},
{"records.journal", CONF_BOOL, ONE(conf, records.journal), .def = "false",
	.help = "Also to journald, with native fields (`journalctl SLIPRING_EVENT=ended`)."},
{"records.syslog", CONF_BOOL, ONE(conf, records.syslog), .def = "false",
	.help = "Also to syslog (`/dev/log`), facility daemon, level info."},
{"records.interim", CONF_NUMBER, ONE(conf, turn.interim_s), RANGE(0, 65535), .def = "300",
	.help = "Seconds after which the refresh of an allocation makes a record; 0 = none does."},
{"records.refusals", CONF_BOOL, ONE(conf, records.refusals), .def = "true",
	.help = "Whether what was refused makes records too; a source's repetitions make one."},

{"control", CONF_SECTION, .help = "The control socket: what `slipringctl` asks and orders by."},
{"control.socket", CONF_TEXT, ONE(conf, control.socket), RANGE(0, 107),
	.help = "Path of the Unix socket; empty = none. Without it: `/run/slipring/control.sock`, "
	"or `/run/slipring/NAME.sock` where `eal.file-prefix` is another NAME, in a folder that is "
	"made if need be; where that cannot be, the log says so and there is none. With this key "
	"the start fails then. What a dead process has left there is replaced, and the file is "
	"removed at the end. Who may open it may see all users and allocations, and end them."},
{"control.group", CONF_TEXT, ONE(conf, control.group), RANGE(1, 32), .flags = CONF_WORD,
	.help = "Group whose members may use the socket (mode 0660). Without it: the user that "
	"slipring runs as alone (0600)."},
{"control.connections", CONF_NUMBER, ONE(conf, control.connections), RANGE(1, 1024), .def = "64",
	.help = "Root has 4 more. Past it who is idle for a minute is closed, or who comes."},

{"debug", CONF_SECTION, .help = "To find faults of slipring itself."},
{"debug.core-dumps", CONF_BOOL, ONE(conf, core_dumps), .def = "false",
	.help = "A crash leaves a core dump, where the limits of the process allow one "
	"(`LimitCORE=infinity` in its unit), and debuggers of its own user may attach. Packets, "
	"allocations and the users' keys and secrets are left out of it, but private keys and "
	"sessions of TLS and DTLS are in it: keep it as you keep these."},

{"buffers", CONF_SECTION, .help = "Memory of the data path."},
{"buffers.mbufs", CONF_NUMBER, ONE(conf, mbufs), RANGE(1024, 4194304), .def = "16384",
	.help = "Packet buffers in the pool that all ports and workers share."},
{"buffers.rx-ring", CONF_NUMBER, ONE(conf, rx_ring), RANGE(64, 32768), .def = "1024",
	.help = "Receive descriptors of a queue, adjusted to what the driver takes; for ports "
	"whose own entry and driver profile say nothing."},
{"buffers.tx-ring", CONF_NUMBER, ONE(conf, tx_ring), RANGE(64, 32768), .def = "1024",
	.help = "Transmit descriptors of a queue, adjusted to what the driver takes; for ports "
	"whose own entry and driver profile say nothing."},
{"buffers.backlog", CONF_NUMBER, ONE(conf, backlog), RANGE(32, 8192), .def = "512",
	.help = "Requests that may wait on a worker of clients it knows (with an allocation, or "
	"over DTLS), as many of strangers, and as many datagrams behind either; each holds a "
	"packet buffer. Past it they are dropped and counted as `request-known` and "
	"`request-backlog`; past a quarter of the room that is left for one client, as "
	"`request-client`. Clients over TCP and TLS have as much room of their own, and what "
	"finds none there is not read yet."},
{"buffers.handover-ring", CONF_NUMBER, ONE(conf, handover_ring), RANGE(64, 65536), .def = "1024",
	.help = "Packets that may wait between two workers, rounded up to a power of two."},
{"buffers.events", CONF_NUMBER, ONE(conf, events), RANGE(64, 65536), .def = "1024",
	.help = "Events (for `records` and the log) of each worker that may wait for management, "
	"rounded up to a power of two. Refusals may fill half, those of unproved addresses a "
	"quarter. Past it they are lost and counted (`events_lost`)."},

{"neighbours", CONF_SECTION, .help = "ARP and ND, per worker."},
{"neighbours.entries", CONF_NUMBER, ONE(conf, neigh_entries), RANGE(16, 65535), .def = "4096",
	.help = "Neighbours known at a time."},
{"neighbours.held", CONF_NUMBER, ONE(conf, neigh_held), RANGE(1, 65535), .def = "1024",
	.help = "Packets held in all until a neighbour answers."},
{"neighbours.held-each", CONF_NUMBER, ONE(conf, neigh_held_each), RANGE(1, 1024), .def = "16",
	.help = "Packets held for one neighbour."},
{"neighbours.ask-rate", CONF_NUMBER, ONE(conf, neigh_ask_rate), RANGE(0, 1000000), .def = "1000",
	.help = "Questions (ARP and ND) a second, of all workers, for addresses that nobody has "
	"answered for yet; 0 = no limit. Half is for clients on the link that are to be answered, "
	"half for peers on the link. Either half is cut into eight shares, by the client's address "
	"(IPv6: /64), each of which has a second's worth at once: a client that asks for many "
	"spends one share. Past it packets are dropped and counted as `neighbour-rate`. Known "
	"neighbours and gateways are asked again without it."},

{"fragments", CONF_SECTION, .help = "Datagrams of clients and peers that come in fragments of IP. "
	"They are put together and relayed whole, or in fragments again where they are longer than "
	"the MTU of the port they leave by and that is allowed (no DF; over IPv6, if they came in "
	"fragments). Drops of fragments are counted as `fragment` and `fragment-...`."},
{"fragments.flows", CONF_NUMBER, ONE(conf, fragments.flows), RANGE(0, 16384), .def = "64",
	.help = "Datagrams that may be under way at a time, of all workers together, who have "
	"equal parts of it; 8 for each worker at least. Each takes memory for "
	"`fragments.datagram` bytes. Past it the oldest gives way (`fragment-full`). 0: fragments "
	"are dropped (`fragment`)."},
{"fragments.per-source", CONF_NUMBER, ONE(conf, fragments.per_source), RANGE(1, 256), .def = "4",
	.help = "How many of them may be of one source (an IPv4 address, an IPv6 /64), per "
	"worker. Past it the oldest of the same source gives way (`fragment-source`). NATs of "
	"many users need more."},
{"fragments.datagram", CONF_NUMBER, ONE(conf, fragments.longest), RANGE(1280, 65000),
	.def = "9000", .help = "Bytes of the longest datagram, UDP header included. Past it, and "
	"past 64 fragments, a datagram is dropped (`fragment-long`)."},
{"fragments.buffers", CONF_NUMBER, ONE(conf, fragments.buffers), RANGE(8, 65536), .def = "16",
	.help = "Buffers for datagrams that are whole and too long for those of `buffers.mbufs`, "
	"on their way to another worker or to a client over TCP or TLS. Without one such a "
	"datagram is dropped (`no-mbuf`); those that are not so long need none."},
{"fragments.timeout", CONF_NUMBER, ONE(conf, fragments.timeout_ms), RANGE(10, 60000),
	.def = "1000", .help = "Milliseconds from the first fragment of a datagram that comes to "
	"the last. Past it those that came are dropped (`fragment-timeout`)."},
{"fragments.rate", CONF_NUMBER, ONE(conf, fragments.rate), RANGE(0, 10000000), .def = "10000",
	.help = "Fragments a second of one source, per worker, of which a tenth may come at once; "
	"0 = no limit. Past it they are dropped before anything is done for them "
	"(`fragment-rate`)."},

{"icmp", CONF_SECTION, .help = "ICMP and ICMPv6."},
{"icmp.rate", CONF_NUMBER, ONE(conf, icmp_rate), RANGE(0, 1000000), .def = "1000",
	.help = "Echo replies per second; 0 = none."},
{"icmp.tell", CONF_CHOICE, ONE(conf, turn.icmp_tell), .choices = conf_icmp_tell_choices,
	.def = "rfc8489", .help = "Which clients are told of ICMP errors about their datagrams. "
	"`rfc8489`: those whose Allocate answers as RFC 8489 says, by PASSWORD-ALGORITHMS. Older "
	"ones need not know the indication, and some (pion's) read nothing more after one. The "
	"MTU that an error tells is learnt for all. What is not told is dropped as "
	"`icmp-untold`."},
{"icmp.errors-in", CONF_NUMBER, ONE(conf, icmp_errors_in), RANGE(0, 1000000), .def = "1000",
	.help = "ICMP errors about relayed datagrams that clients are told of per second, of all "
	"workers; 0 = none. `limits.icmp` bounds those of one allocation."},
{"icmp.errors-out", CONF_NUMBER, ONE(conf, icmp_errors_out), RANGE(0, 1000000), .def = "100",
	.help = "ICMP errors sent per second, of all workers, to the senders of datagrams that "
	"cannot be relayed: time exceeded, and packet too big where IPv6 or DF forbids fragments; "
	"0 = none. What is more is only counted, as `icmp_errors_held_back`."},
{"icmp.errors-out-each", CONF_NUMBER, ONE(conf, icmp_errors_each), RANGE(0, 1000000),
	.def = "10", .help = "Of these, to one address (IPv6: /64) per second, of all workers but "
	"at least one of each; 0 = no limit."},
{"icmp.unreachable", CONF_BOOL, ONE(conf, icmp_unreachable), .def = "false",
	.help = "Whether datagrams to ports of this box that nobody has are answered by port "
	"unreachable, within the same limits. Silence tells a scanner less."},
{"icmp.path-mtu", CONF_NUMBER, ONE(conf, path_mtus), RANGE(0, 65536), .def = "1024",
	.help = "Paths, on each worker, of which it is known for ten minutes that longer packets "
	"do not get there than ICMP errors have told: from an allocation to a peer's address, or "
	"to its client; 0 = nothing is learnt. Values below 576 bytes, and 1280 with IPv6, are "
	"not believed."},
};
// clang-format on

const struct conf_table conf_file_keys = {
	conf_schema, sizeof(conf_schema) / sizeof(conf_schema[0])};
