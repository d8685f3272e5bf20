// SPDX-License-Identifier: BSD-3-Clause
// The table of all keys: names, target fields, ranges, defaults, help. It drives parsing, checks,
// freeing and doc/configuration.md. Its rows are in four files: this one has the process and its
// ports; schema_turn.c, schema_limits.c and schema_box.c follow.
#include "reading/ctx.h"
#include "values/port_addrs.h"
#include "schema/schema_rows.h"

// Parents precede their keys. The keys of a section are adjacent, even across two files. The manual
// lists the keys in this order.
// clang-format off
static const struct conf_key rows[] = {
{"include", CONF_TEXT, ONE(conf, include), RANGE(1, 1023),
	.help = "A file, or a directory whose `*.yaml` files are read in the order of their names, "
	"except those that begin with a dot. Lists are appended to those of this file; any other "
	"key may be given only once. A relative name starts at the directory of this file. An "
	"included file cannot include files. At most 256 files, 1 MiB each, 16 MiB in all."},
{"include-holds", CONF_CHOICE, ONE(conf, include_holds), .choices = conf_include_choices,
	.def = "accounts", .help = "Keys that included files may have. `accounts`: `auth.users`, "
	"`auth.secrets`, and `realms` with `name`, `users` and `secrets`; the name of a "
	"`password-file` has no '/'. A program that makes accounts can change nothing else there. "
	"`all`: every key. A writer of included files then has all rights of slipring at its "
	"start, perhaps root's."},

{"eal", CONF_SECTION, .help = "DPDK's environment. The section is optional."},
{"eal.lcores", CONF_TEXT, ONE(conf, eal_lcores), RANGE(1, 1023),
	.help = "Lcores and their CPUs, in the syntax of EAL's `--lcores`. The lowest lcore is for "
	"management, each worker takes one of the others: `workers.count` + 1 lcores in all. "
	"Default: management floats over the allowed CPUs, and each worker runs on one of them."},
{"eal.file-prefix", CONF_TEXT, ONE(conf, eal_file_prefix), RANGE(1, 64), .flags = CONF_WORD,
	.def = "slipring", .help = "Name of this instance among DPDK processes, also for "
	"`dpdk-telemetry.py -f`. Two instances on one host need two names."},
{"eal.args", CONF_TEXTS, MANY(conf, eal_args, nb_eal_args), RANGE(0, 64),
	.help = "More EAL arguments, one word each. EAL gets them unchanged."},

{"drivers", CONF_TEXT, ONE(conf, drivers_dir), RANGE(0, 1023),
	.help = "Directory of driver profiles: one YAML file per DPDK driver, with properties that "
	"cannot be probed (`slipring --show-driver NAME` prints the result). Default: "
	"`share/slipring/drivers` of the installation, if it exists. Empty: no profiles, only what "
	"drivers report. The option `--drivers` overrides this key."},

{"workers", CONF_SECTION, .help = "Worker threads. Each polls its queues on its own lcore."},
{"workers.count", CONF_NUMBER, ONE(conf, workers), RANGE(1, TURN_WORKERS_MAX),
	.help = "Number of workers. Default: the number of allowed CPUs minus one, at least one."},
{"workers.idle", CONF_CHOICE, ONE(conf, idle), .choices = conf_idle_choices, .def = "adaptive",
	.help = "How a worker waits for packets. `busy`: it polls without a pause. This has the "
	"lowest latency, and uses a whole CPU at any load. `adaptive`: it polls while datagrams "
	"come less than 20 us apart, and sleeps through longer gaps. If a sleep costs more than 5 "
	"us of CPU time, as in virtual machines, it sleeps for at least ten times that cost, at "
	"most 250 us, and the 20 us shrink in proportion. `saving`: it sleeps for 50 us, or 1 ms "
	"if its ports can wake it, whenever no packet waits. This uses the least CPU, for boxes "
	"that share it. If all ports of a worker can wake it (a vtap, `net_af_packet`, others by "
	"their driver profile), it waits for their interrupt, except where sleeping is cheaper: "
	"from 16 datagrams a sleep, or two stream messages, with `adaptive`, from two datagrams "
	"with `saving`."},

{"ports", CONF_ITEMS, MANY(conf, ports, nb_ports), REQUIRED, RANGE(1, CONF_PORTS_MAX),
	.help = "Network ports and their addresses. slipring takes a port over from the kernel, or "
	"shares it with the kernel. The longest matching prefix among the subnets, routes and "
	"gateways of all ports chooses the port by which a packet leaves. A packet is dropped if "
	"it comes in on another port than the one that reaches its source."},
{"ports[].name", CONF_TEXT, ONE(conf_port, name), .flags = CONF_REQUIRED | CONF_WORD, RANGE(1, 32),
	.help = "Unique name of the port in logs and telemetry."},
{"ports[].device", CONF_TEXT, ONE(conf_port, device), RANGE(1, 255),
	.help = "Required unless there is a `bond`. A PCI address (`0000:3b:00.0`), a DPDK vdev "
	"string (`net_af_packet0,iface=eth1,qpairs=2`), `packet:NAME` or `vtap:NAME`. "
	"`packet:eth0` shares eth0 with the kernel, which keeps its addresses, TCP, and all UDP "
	"datagrams except those to listeners and relay ports. `,queues=N` is the most queues "
	"(default: one per worker). `vtap:NAME` is a virtual NIC, whose other end is the kernel's "
	"interface NAME while slipring runs. Options of a vtap, after commas: `queues=N` as above; "
	"`netns=NS`, the network namespace of the interface (default: that of the process); "
	"`role=lab` (default): the kernel is another host with its own MAC address; "
	"`role=exception`: the kernel is this host, with the same MAC address; `offload=uso`, "
	"`tso`, `csum` or `none`, the most that slipring asks of the kernel (default: all); "
	"`mac=MAC` of the port (default: random)."},
{"ports[].bond", CONF_SECTION, .help = "Several devices as one port with one MAC address, by "
	"DPDK's bonding driver, instead of `device`."},
{"ports[].bond.members", CONF_TEXTS, MANY(conf_port, bond.members, bond.nb_members),
	RANGE(1, CONF_BOND_MAX), .help = "Devices of the bond: PCI addresses or DPDK vdev strings "
	"of NICs of one kind and speed. A vtap cannot be a member. The port has the MAC address of "
	"the first member."},
{"ports[].bond.mode", CONF_CHOICE, ONE(conf_port, bond.mode), .choices = conf_bond_choices,
	.def = "lacp", .help = "`lacp` (802.3ad): the switch groups the links by LACP; all links "
	"that it accepts carry packets. `active-backup`: one link carries packets, and another "
	"takes over when it goes down; the switches need no configuration. `balance`: the switch "
	"has a static group without LACP. With `lacp` and `balance` a hash of addresses and ports "
	"chooses the link of a flow."},
{"ports[].bond.primary", CONF_TEXT, ONE(conf_port, bond.primary), RANGE(1, 255),
	.help = "With `active-backup`: the member that carries packets while its link is up. Its "
	"arguments are needed only to tell members apart. Default: the link in use stays in use "
	"while it works."},
{"ports[].addresses", CONF_PORT_ADDRS, MANY(conf_port, addresses, nb_addresses),
	RANGE(1, CONF_ADDRESSES_MAX),
	.help = "Addresses of the port with the prefix length of their subnet: `192.0.2.1/24`, "
	"or a range: `192.0.2.10-192.0.2.73/24`. No address may be on two ports. If the network "
	"translates an address 1:1, as clouds do, its entry is a mapping of the two keys below. "
	"**Required**, unless there are `vlans`."},
{"ports[].addresses[].address", CONF_PORT_RUN, ONE(conf_port_run, local), REQUIRED,
	.help = "An address of the port, or a range, with the prefix length. `dhcp`: the IPv4 "
	"address of the kernel's interface of `exception` or `packet:`, on which a DHCP client "
	"must run. `slaac`: its IPv6 address, from router advertisements or a DHCPv6 client. Each "
	"word once a port. On `packet:` the interface may get its address in any way, and slipring "
	"follows changes. The default router that comes with it is used if `gateway` has no router "
	"of that family. Listeners and `relay.addresses` name the address by `all`."},
{"ports[].addresses[].external", CONF_EXTERNAL, ONE(conf_port_run, external),
	.help = "Address to which the network translates this one: `203.0.113.5`, or a range of "
	"equal size. Clients are told it as their relayed address. Listeners and `relay.addresses` "
	"still name the address of the port. It counts as an address of this box: clients reach "
	"each other by either, and the box sends nothing to it. If an entry of `peers.allow` is "
	"this single address, hosts that share it by port forwards can be peers, at ports that the "
	"box does not use."},
{"ports[].gateway", CONF_ADDRS, MANY(conf_port, gateways, nb_gateways), RANGE(0, 2),
	.help = "Routers for destinations that are neither on-link nor behind a route, one per "
	"family: on a subnet of the port, or with an IPv6 link-local address. If all addresses of "
	"the family are single (`203.0.113.5/32`), as clouds and hosting providers assign them, it "
	"may be any address. A gateway serves the addresses of its own port."},
{"ports[].routes", CONF_ITEMS, MANY(conf_port, routes, nb_routes), RANGE(0, 64),
	.help = "Routers for some destinations, in addition to the gateway. The longest prefix "
	"among the subnets and routes of all ports chooses the port of a packet, whatever port has "
	"its source address. Among equal prefixes the port of the source address wins."},
{"ports[].routes[].to", CONF_PREFIX, ONE(conf_route, dst), REQUIRED,
	.help = "Destinations: `10.0.0.0/8`, `2001:db8:8::/48` or one address."},
{"ports[].routes[].via", CONF_ADDR, ONE(conf_route, via), REQUIRED,
	.help = "The router: an address that could be a `ports[].gateway`."},
{"ports[].vlan", CONF_NUMBER, ONE(conf_port, vlan), RANGE(0, 4094), .def = "0",
	.help = "802.1Q VLAN id of all traffic of the port; 0 = untagged. For several VLANs use "
	"`vlans`."},
{"ports[].vlans", CONF_ITEMS, MANY(conf_port, vlans, nb_vlans), RANGE(0, CONF_PORTS_MAX - 1),
	.help = "802.1Q VLANs on the device, each like another port: listeners, relay addresses "
	"and routes name its addresses, logs and telemetry its name. The port may have untagged "
	"addresses, too. A VLAN takes no frames with another tag, but a datagram for its address "
	"may come in by another VLAN that reaches its source. `steering` and `uso` are the port's. "
	"Not together with `vlan`. At most 16 ports and VLANs in all."},
{"ports[].vlans[].id", CONF_NUMBER, ONE(conf_port, vlan), REQUIRED, RANGE(1, 4094),
	.help = "802.1Q VLAN id."},
{"ports[].vlans[].name", CONF_TEXT, ONE(conf_port, name), .flags = CONF_WORD, RANGE(1, 32),
	.help = "Unique name of the VLAN in logs and telemetry. Default: the port's name and the "
	"id, as in `wan.100`."},
{"ports[].vlans[].addresses", CONF_PORT_ADDRS, MANY(conf_port, addresses, nb_addresses), REQUIRED,
	RANGE(1, CONF_ADDRESSES_MAX), .like = "ports[].addresses",
	.help = "Addresses, as `ports[].addresses`."},
{"ports[].vlans[].gateway", CONF_ADDRS, MANY(conf_port, gateways, nb_gateways), RANGE(0, 2),
	.help = "Routers, as `ports[].gateway`."},
{"ports[].vlans[].routes", CONF_ITEMS, MANY(conf_port, routes, nb_routes), RANGE(0, 64),
	.like = "ports[].routes", .help = "Routers for some destinations, as `ports[].routes`."},
{"ports[].vlans[].mtu", CONF_NUMBER, ONE(conf_port, mtu), RANGE(576, 9216),
	.help = "Largest IP packet in bytes, without the tag; at most the port's, which is the "
	"default."},
{"ports[].vlans[].exception", CONF_SECTION, .like = "ports[].exception",
	.help = "An exception port of the VLAN, as `ports[].exception`. The kernel's interface is "
	"untagged."},
{"ports[].mtu", CONF_NUMBER, ONE(conf_port, mtu), RANGE(576, 9216), .def = "1500",
	.help = "Largest IP packet in bytes; at least 1280 on a port with IPv6. All hosts of the "
	"network need the same value. 9000 is usual for jumbo frames. The packet buffers of all "
	"ports grow with the largest MTU, to 9.6 KB each."},
{"ports[].steering", CONF_CHOICE, ONE(conf_port, steering), .choices = conf_steering_choices,
	.def = "auto",
	.help = "How the NIC brings packets from peers to the worker that owns their relay port. "
	"`address`: one rule per relay address, if every worker has its own relay addresses and "
	"no listener uses them. `port-bits`: rules that match bits of the relay port, too. `off`: "
	"no rules; workers hand packets over to each other. `auto`: the method of the driver "
	"profile, else these in order. `address` and `port-bits` try only that method. If the NIC "
	"refuses it, `off` is used: the log and `/slipring/steering` say why."},
{"ports[].uso", CONF_CHOICE, ONE(conf_port, uso), .choices = conf_uso_choices, .def = "auto",
	.help = "UDP segmentation offload: datagrams of one flow leave as one super-frame that the "
	"port cuts. `auto`: where it costs nothing, so not on a NIC. `on`: also on a NIC that "
	"offers it; most drivers then send without their vectorised function. `off`: never."},
{"ports[].exception", CONF_SECTION, .help = "Exception port: an interface of the kernel with the "
	"MAC address, addresses and gateways of this port, for traffic that the data path does not "
	"own. It exists while slipring runs. Without `name` there is no exception port."},
{"ports[].exception.name", CONF_TEXT, ONE(conf_port, exception.name), .flags = CONF_WORD,
	RANGE(1, 15), .help = "Name of the interface."},
{"ports[].exception.netns", CONF_TEXT, ONE(conf_port, exception.netns), .flags = CONF_WORD,
	RANGE(1, 127), .help = "Network namespace of the interface (`ip netns add` makes it). "
	"Start its programs there, with `ip netns exec` or systemd's `NetworkNamespacePath=`. "
	"Default: that of the process, where the default routes get low priority (metric 1024 and "
	"more), and answers follow the host's own routes. A port whose packets the kernel sees too "
	"(`net_af_packet`) needs a namespace, or the kernel answers clients for the interface's "
	"addresses."},
{"ports[].exception.allow", CONF_SERVICES,
	MANY(conf_port, exception.allow, exception.nb_allow), RANGE(0, 256),
	.help = "Traffic that the exception port carries. `tcp/22`: connections to port 22 of this "
	"box. `tcp-to/179`: connections from this box to port 179 of others (BGP needs both). "
	"`udp/161` and `udp-to/53`: the UDP counterparts, on ports that are neither listeners nor "
	"relay ports. `icmp`: pings both ways, which the kernel answers. `icmp-to`: only pings "
	"from this box. ARP, ND, and ICMP errors about allowed traffic always pass; other packets "
	"are dropped and counted. Connections are not tracked: `tcp-to/179` lets any segment from "
	"port 179 that begins no connection reach any port of the kernel, and `udp-to/53` any "
	"datagram from port 53 reach UDP ports 32768 to 60999. Let only programs that need it "
	"listen there, or filter on the interface."},
{"ports[].exception.device", CONF_TEXT, ONE(conf_port, exception.device), RANGE(1, 255),
	.help = "DPDK vdev string instead of a vtap, for boxes with `/dev/vhost-net`: "
	"`virtio_user0,path=/dev/vhost-net,queues=1,queue_size=1024`. slipring adds the interface "
	"name and the MAC address. Not together with `netns`, and without super-frames."},
};
// clang-format on

const struct conf_table conf_file_keys = TABLE(rows, &conf_schema_turn);
