// SPDX-License-Identifier: BSD-3-Clause
// The keys of the box: its log and records, the control socket, memory, neighbours, fragments,
// ICMP.
#include "reading/ctx.h"
#include "schema_rows.h"

#define AREA(id, name, subject)                                                                   \
	{"log.areas." name, CONF_CHOICE, ONE(conf, log.areas[id]), .choices = conf_level_choices, \
		.help = "Of " subject "."},

// clang-format off
// What is said of a server that clients are sent to.
#define SERVER(list)                                                                               \
	{list "[].address", CONF_ADDR, ONE(turn_alternate, addr), REQUIRED,                        \
		.help = "Where clients reach it: an external address, if the network translates."},\
	{list "[].port", CONF_NUMBER, ONE(turn_alternate, port), RANGE(1, 65535),                  \
		.help = "Its port for UDP and TCP. Without it: that of the listener by which the " \
		"client has come."},                                                               \
	{list "[].tls-port", CONF_NUMBER, ONE(turn_alternate, tls_port), RANGE(1, 65535),          \
		.help = "Its port for TLS and DTLS. Without it: that of the listener. Clients of " \
		"a listener with `transport: auto` are always told the listener's."},              \
	{list "[].name", CONF_TEXT, ONE(turn_alternate, name), RANGE(1, 253),                      \
		.help = "The DNS name in its certificate, which clients of TLS and DTLS are told " \
		"(ALTERNATE-DOMAIN). Without it: its certificate has a name of this server's."},

static const struct conf_key rows[] = {
{"log", CONF_SECTION, .help = "Logging. Each line has a level and an area: what it is about."},
{"log.to", CONF_CHOICE, ONE(conf, log.target), .choices = conf_log_to_choices, .def = "stderr",
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
{"log.bursts", CONF_TIME, ONE(conf, log.bursts_s), RANGE(0, 86400), .def = "0",
	.help = "Seconds between two lines of each worker, at level `info`, on how full its bursts "
	"were in between; 0 = none. Telemetry counts them always (`/slipring/bursts`)."},

{"records", CONF_SECTION, .help = "Records of sessions, one JSON object a line: allocations made "
	"and ended, and what was refused ([operations.md](operations.md) has the fields). A disk "
	"that is full or slow costs records, which are counted, and never a datagram."},
{"records.file", CONF_TEXT, ONE(conf, records.file), RANGE(1, 1023),
	.help = "Path of a regular file, from `/` on; made with mode 0640. Refusals go to one of "
	"their own: beside `records.json` it is `records-refusals.json`. Without it: no file."},
{"records.rotate", CONF_SIZE, ONE(conf, records.rotate), RANGE(0, UINT32_MAX), .def = "100M",
	.help = "Bytes after which either file becomes FILE.1, that FILE.2, and so on; 0 = never."},
{"records.keep", CONF_NUMBER, ONE(conf, records.keep), RANGE(1, 1000), .def = "5",
	.help = "How many are kept beside either file."},
{"records.journal", CONF_BOOL, ONE(conf, records.journal), .def = "false",
	.help = "Also to journald, with native fields (`journalctl SLIPRING_EVENT=ended`)."},
{"records.syslog", CONF_BOOL, ONE(conf, records.syslog), .def = "false",
	.help = "Also to syslog (`/dev/log`), facility daemon, level info."},
{"records.interim", CONF_TIME, ONE(conf, turn.interim_s), RANGE(0, 65535), .def = "300",
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

{"state", CONF_SECTION, .help = "What lets a restart keep calls: allocations, permissions, "
	"channels and reservations of UDP clients lie in a file in memory, which the next process "
	"takes up ([operations.md](operations.md))."},
{"state.file", CONF_TEXT, ONE(conf, state.file), RANGE(0, 1023),
	.help = "Path of the file, from `/` on, in a directory of root or of the user that "
	"slipring runs as, where nobody else may write, on a file system in memory (tmpfs, "
	"hugetlbfs): it holds keys, which do not belong on a disk. Made with mode 0600. Beside it "
	"lie FILE.lock and, while a process starts, FILE.new. Without this key: "
	"`$RUNTIME_DIRECTORY/state` where that is set and on tmpfs, as in the unit; else, and "
	"where it is empty, calls end with the process."},
{"state.on-stop", CONF_CHOICE, ONE(conf, state.on_stop), .choices = conf_on_stop_choices,
	.def = "keep", .help = "What an ordinary stop does to calls. `keep`: the next process "
	"takes them up, if it starts in time. `forget`: they end. `slipringctl stop` can say "
	"otherwise. At the end of a drain they end."},
{"state.crashes", CONF_NUMBER, ONE(conf, state.crashes), RANGE(0, 200), .def = "3",
	.help = "So many processes in a row that have died within a minute of their start, without "
	"an ordinary stop, have the next one start without their calls: one of these may be what "
	"they died of. The file is then FILE.crashed. 0 = calls are always taken up."},

{"watchdog", CONF_SECTION, .help = "Looks after workers and management from a thread of its "
	"own. It counts the time in which both it and they could run, so a machine that stands "
	"still, or is full, harms nobody."},
{"watchdog.alarm-ms", CONF_NUMBER, ONE(conf, watch.alarm_ms), RANGE(0, 60000), .def = "200",
	.help = "Milliseconds without progress after which the log tells of a worker and shows its "
	"stack; five times as long for management and the other threads. 0 = never."},
{"watchdog.abort-ms", CONF_NUMBER, ONE(conf, watch.abort_ms), RANGE(0, 600000), .def = "2000",
	.help = "Milliseconds after which a worker that makes no progress ends the process with a "
	"crash report, so that whoever supervises it starts it again. 0 = never. Management ends "
	"nothing: workers relay without it."},
{"watchdog.management-ms", CONF_NUMBER, ONE(conf, watch.management_ms), RANGE(1000, 3600000),
	.def = "90000", .help = "Under systemd with `WatchdogSec=`: milliseconds that management "
	"may make no progress until systemd is told no more that all is well, and restarts the "
	"unit."},

{"crash", CONF_SECTION, .help = "A crash leaves a report: where, the stack, what each worker was "
	"doing, and the headers of its burst. It has no payload, no names and no keys."},
{"crash.directory", CONF_TEXT, ONE(conf, crash.directory), RANGE(0, 1023),
	.help = "Where reports are kept: a directory that is there. Empty: standard error has "
	"them. Without it: /var/log/slipring, if it is there, else standard error."},
{"crash.keep", CONF_NUMBER, ONE(conf, crash.keep), RANGE(1, 1000), .def = "10",
	.help = "How many are kept; the oldest goes."},

{"alternate", CONF_SECTION, .help = "Other servers, to which clients are sent that ask for an "
	"allocation ([operations.md](operations.md)): they are told by a 300 (Try Alternate), "
	"after they have authenticated. Who has an allocation keeps it."},
{"alternate.servers", CONF_ITEMS, MANY(conf, alternate.servers, alternate.nb_servers),
	.flags = CONF_SHORT, RANGE(0, 64), .help = "The servers: a client is told one of the "
	"family by which it comes (and one of the other), dealt by a hash of the client. Where "
	"there is none of its family, it is served here. An entry may be its `address` alone. "
	"The users must be known there, too. Without `alternate.when` all clients are sent there."},
SERVER("alternate.servers")
{"alternate.when", CONF_SECTION, .help = "From which load on clients are sent there. Either is "
	"enough. Where servers send to each other, a client that finds both full gives up: leave "
	"one server without."},
{"alternate.when.allocations", CONF_NUMBER, ONE(conf, alternate.allocations), RANGE(0, 16777216),
	.def = "0", .help = "While the box has so many allocations or more, as "
	"`limits.allocations` counts; 0 = however many."},
{"alternate.when.datagrams-per-second", CONF_NUMBER, ONE(conf, alternate.datagrams),
	RANGE(0, 1000000000), .def = "0", .help = "Once the box has relayed so many datagrams or "
	"more in a second, both ways together, and until it relays an eighth less; 0 = however "
	"many. What is dropped does not count, so strangers turn nobody away."},

{"drain", CONF_SECTION, .help = "A drain empties the box (`slipringctl drain`, SIGUSR1): new "
	"allocations are refused, live ones go on, and at the end the process exits "
	"([operations.md](operations.md))."},
{"drain.alternates", CONF_ITEMS, MANY(conf, drain.alternates, drain.nb_alternates),
	.flags = CONF_SHORT, RANGE(0, 64), .help = "Servers that take the clients: they are told "
	"one in a 300, of the family by which they come (and one of the other), dealt by a hash of "
	"the client. Where there is none of its family, a client gets 508. An entry may be its "
	"`address` alone. The users must be known there, too. Without any: `alternate.servers`."},
SERVER("drain.alternates")
{"drain.deadline", CONF_TIME, ONE(conf, drain.deadline_s), RANGE(0, 2592000), .def = "1h",
	.help = "How long a drain lasts at most, unless it is ordered with another one. Then the "
	"process exits, and what allocations are left end, also where there is a `state.file` "
	"(`slipringctl drain --keep` leaves them to the next process). 0 = no limit."},
{"drain.below", CONF_NUMBER, ONE(conf, drain.below), RANGE(0, 16777216), .def = "0",
	.help = "A drain ends when there are no more allocations than this."},
{"drain.on-change", CONF_COMMAND, MANY(conf, drain.on_change, drain.nb_on_change), RANGE(0, 32),
	.help = "A program that is told of each change: `ready` once the box serves, `draining`, "
	"and `ready` again after `slipringctl undrain`. The word is its last argument and "
	"`SLIPRING_STATE`. As text it is parted at blanks; a list takes words as they are, as in "
	"`[/bin/sh, -c, 'logger $0']`. A process of its own, that is made before the file is "
	"read, runs it as the same user, without capabilities."},
{"drain.on-change-timeout", CONF_TIME, ONE(conf, drain.on_change_s), RANGE(1, 3600),
	.def = "30", .help = "After it the program is killed, and the log says so."},

{"process", CONF_SECTION, .help = "What slipring gives up once ports, sockets and files are open: "
	"all capabilities but those that its ports need while it runs, and any way to new ones."},
{"process.user", CONF_TEXT, ONE(conf, process.user), .flags = CONF_WORD, RANGE(1, 32),
	.help = "Whom it becomes, with the groups of that user. Started by another than root it "
	"can only be that user itself. A reload, and a certificate that is renewed, are read by "
	"that user: `--check` warns of what it cannot read. Without it: whoever has started it."},
{"process.seccomp", CONF_CHOICE, ONE(conf, process.seccomp), .choices = conf_seccomp_choices,
	.def = "log", .help = "What becomes of a system call that is not one of its thread. "
	"Workers may make those of their ports, stream threads those of sockets and memory, all "
	"others what a server does, but start no programs. `log`: it fails, and is in the "
	"kernel's audit log; `kill`: it ends the process; `off`: there are no filters."},

{"debug", CONF_SECTION, .help = "To find faults of slipring itself."},
{"debug.faults", CONF_BOOL, ONE(conf, debug.faults), .def = "false",
	.help = "The control socket takes orders to hang and to crash (`fault`), to try watchdog, "
	"reports and supervision. For tests alone."},
{"debug.core-dumps", CONF_BOOL, ONE(conf, debug.core_dumps), .def = "false",
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
	.help = "Packets held in all until a neighbour answers. A share of `ask-rate` may hold a "
	"quarter of the room that is left."},
{"neighbours.held-each", CONF_NUMBER, ONE(conf, neigh_held_each), RANGE(1, 1024), .def = "16",
	.help = "Packets held for one neighbour."},
{"neighbours.ask-rate", CONF_NUMBER, ONE(conf, neigh_ask_rate), RANGE(0, 1000000), .def = "1000",
	.help = "Questions (ARP and ND) a second, of all workers, for addresses that nobody has "
	"answered for yet; 0 = no limit. Half is for clients on the link that are to be answered, "
	"half for peers on the link. Either half is cut into eight shares, the one by the client's "
	"address (IPv6: /64), the other by user, each of which has a second's worth at once: a "
	"user who asks for many spends one share. Past it packets are dropped and counted as "
	"`neighbour-rate`. Known neighbours and gateways are asked again without it. Neighbours "
	"whose address another host claims are asked once a second each, and out of a share of "
	"their own, a sixteenth of the rate more."},

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
	"worker; of an IPv6 /48 half of the worker's, and 64 at most. Past it the oldest of the "
	"same source gives way (`fragment-source`). NATs of many users need more."},
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
	"at least one of each; 0 = no limit. An IPv6 /48 gets half of "
	"`icmp.errors-out`, where that is more."},
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

const struct conf_table conf_schema_box = TABLE(rows, NULL);
