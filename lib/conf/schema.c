// SPDX-License-Identifier: BSD-3-Clause
// The table of all keys: names, target fields, ranges, defaults, help. It drives parsing, checks,
// freeing and doc/configuration.md. Its rows are in four files: this one has the process and its
// ports; schema_turn.c, schema_limits.c and schema_box.c follow.
#include "reading/ctx.h"
#include "reading/port_addrs.h"
#include "schema_rows.h"

// Parents precede their keys. The keys of a section are adjacent, even across two files. The manual
// lists the keys in this order.
// clang-format off
static const struct conf_key rows[] = {
{"include", CONF_TEXT, ONE(conf, include), RANGE(1, 1023),
	.help = "A directory, of which all files `*.yaml` are read in the order of their names, "
	"but for those that begin with a dot; or one file. Their keys are joined with those of "
	"this file: lists are appended, behind those of this file, and what can be there only "
	"once is an error if it is given twice. A relative name is one beside this file. An "
	"included file includes none. At most 256 files, 1 MiB each and 16 MiB in all."},
{"include-holds", CONF_CHOICE, ONE(conf, include_holds), .choices = conf_include_choices,
	.def = "accounts", .help = "What included files may hold. `accounts`: `auth.users`, "
	"`auth.secrets`, and `realms` with name, users and secrets; a `password-file` without '/'. "
	"A program that makes accounts can write there and change nothing else. `all`: every key; "
	"whoever can write there has what slipring has at its start, which may be root."},

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
	"us, as in virtual machines, it sleeps for ten times as long at least, 250 us at most, and "
	"the 20 us shrink in proportion. `saving` sleeps for 50 us, or 1 ms where its ports can "
	"wake it, whenever there is nothing: the least CPU, for boxes that share it, as with TCP "
	"and TLS clients. Where all ports of a worker can wake it (a vtap, `net_af_packet`, what a "
	"driver profile says) it is woken by what comes in place of sleeping, except where so many "
	"datagrams come in one sleep that this is cheaper: 16 and more with `adaptive`, two with "
	"`saving`. Two messages of clients over TCP, TLS or DTLS are enough for `adaptive`, too; a "
	"stream thread ends such a sleep that has something for the worker."},

{"ports", CONF_ITEMS, MANY(conf, ports, nb_ports), REQUIRED, RANGE(1, CONF_PORTS_MAX),
	.help = "Network ports taken over from the kernel or shared with it, with the addresses "
	"they answer for. The longest prefix among the subnets, routes and gateways of all says by "
	"which a packet leaves. What comes in on another port than its source is reached by is "
	"dropped."},
{"ports[].name", CONF_TEXT, ONE(conf_port, name), .flags = CONF_REQUIRED | CONF_WORD, RANGE(1, 32),
	.help = "What logs and telemetry call it; unique."},
{"ports[].device", CONF_TEXT, ONE(conf_port, device), RANGE(1, 255),
	.help = "Required where there is no `bond`. A PCI address (`0000:3b:00.0`), a DPDK vdev "
	"string (`net_af_packet0,iface=eth1,qpairs=2`), `packet:NAME` or `vtap:NAME`. "
	"`packet:eth0` shares the interface eth0 with the kernel, which keeps its addresses, TCP "
	"and all UDP but that to listeners and relay ports; `,queues=N` is at most so many "
	"(default: one per worker). `vtap:NAME` is a virtual NIC of which the "
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
{"ports[].addresses[].address", CONF_PORT_RUN, ONE(conf_port_run, local), REQUIRED,
	.help = "The port's own address, or a run of them, with the prefix length. Or what the "
	"kernel's interface of the port has, of `exception` or `packet:`: `dhcp`, its IPv4 "
	"address, for which a DHCP client has to run on that interface; `slaac`, its IPv6 "
	"address, by router advertisements or from a DHCPv6 client. On `packet:` it does not "
	"matter how the interface has got it, and another one that it gets later is followed. "
	"Each at most once a port. The "
	"default router that comes with it is taken where `gateway` names none of its family. "
	"Listeners and `relay.addresses` mean the address by `all`."},
{"ports[].addresses[].external", CONF_EXTERNAL, ONE(conf_port_run, external),
	.help = "What the network translates the address to: `203.0.113.5`, or a run of as many "
	"addresses. Clients are told it in place of a relay address. Listeners and "
	"`relay.addresses` go on to name the port's own addresses. It counts as an address of this "
	"box: clients reach each other by either, and nothing is sent to it. Where an entry of "
	"`peers.allow` is this one address, hosts that share it by port forwards are peers at its "
	"ports that are none of the box's."},
{"ports[].gateway", CONF_ADDRS, MANY(conf_port, gateways, nb_gateways), RANGE(0, 2),
	.help = "Routers for all that is neither on-link nor behind a route, at most one per "
	"family: on a subnet of the port, or an IPv6 link-local address. Where all addresses of "
	"the family are lone ones (`203.0.113.5/32`), as clouds and hosters give them out, it may "
	"be any address. A gateway serves the addresses of its own port."},
{"ports[].routes", CONF_ITEMS, MANY(conf_port, routes, nb_routes), RANGE(0, 64),
	.help = "Routers for some destinations, beside the gateway. The longest prefix of all "
	"subnets and routes of all ports says by which port a packet leaves, whatever port its "
	"source address is on. Among equal prefixes the source's own port wins."},
{"ports[].routes[].to", CONF_PREFIX, ONE(conf_route, dst), REQUIRED,
	.help = "The destinations: `10.0.0.0/8`, `2001:db8:8::/48` or one address."},
{"ports[].routes[].via", CONF_ADDR, ONE(conf_route, via), REQUIRED,
	.help = "The router: as of a gateway, on a subnet of the port, or an IPv6 link-local "
	"address."},
{"ports[].vlan", CONF_NUMBER, ONE(conf_port, vlan), RANGE(0, 4094), .def = "0",
	.help = "802.1Q VLAN id of all its traffic; 0 is untagged. Several: `vlans`."},
{"ports[].vlans", CONF_ITEMS, MANY(conf_port, vlans, nb_vlans), RANGE(0, CONF_PORTS_MAX - 1),
	.help = "802.1Q VLANs that the device carries beside the port's own addresses, which are "
	"untagged, or without any. Each is a network like another port: listeners, relay "
	"addresses and routes name its addresses, logs and telemetry its name. No frame "
	"with another's tag is one of its own; a datagram for an address of one may come in by "
	"another, by which its source is reached. Not together with `vlan`; at most 16 ports and "
	"VLANs in all. `steering` and `uso` are those of the port."},
{"ports[].vlans[].id", CONF_NUMBER, ONE(conf_port, vlan), REQUIRED, RANGE(1, 4094),
	.help = "802.1Q VLAN id."},
{"ports[].vlans[].name", CONF_TEXT, ONE(conf_port, name), .flags = CONF_WORD, RANGE(1, 32),
	.help = "What logs and telemetry call it; unique. Without it: the port's name and the id, "
	"as in `wan.100`."},
{"ports[].vlans[].addresses", CONF_PORT_ADDRS, MANY(conf_port, addresses, nb_addresses), REQUIRED,
	RANGE(1, CONF_ADDRESSES_MAX), .like = "ports[].addresses",
	.help = "Own addresses, as `ports[].addresses`."},
{"ports[].vlans[].gateway", CONF_ADDRS, MANY(conf_port, gateways, nb_gateways), RANGE(0, 2),
	.help = "Routers, as `ports[].gateway`."},
{"ports[].vlans[].routes", CONF_ITEMS, MANY(conf_port, routes, nb_routes), RANGE(0, 64),
	.like = "ports[].routes", .help = "Routers for some destinations, as `ports[].routes`."},
{"ports[].vlans[].mtu", CONF_NUMBER, ONE(conf_port, mtu), RANGE(576, 9216),
	.help = "Largest IP packet, in bytes, without the tag; not above the port's. Without it: "
	"the port's."},
{"ports[].vlans[].exception", CONF_SECTION, .like = "ports[].exception",
	.help = "An exception port of the VLAN, as `ports[].exception`. The kernel's end is "
	"untagged."},
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
	"whatever comes from port 53, asked for or not, UDP ports 32768 to 60999. Let only "
	"what needs it listen there, or filter on the interface."},
{"ports[].exception.device", CONF_TEXT, ONE(conf_port, exception.device), RANGE(1, 255),
	.help = "A DPDK vdev string to use instead of a vtap, for boxes with `/dev/vhost-net`: "
	"`virtio_user0,path=/dev/vhost-net,queues=1,queue_size=1024`. The names of interface and "
	"MAC are added. Not together with `netns`, and without super-frames."},
};
// clang-format on

const struct conf_table conf_file_keys = TABLE(rows, &conf_schema_turn);
