// SPDX-License-Identifier: BSD-3-Clause
// The keys of logs and records, the control socket, memory, neighbours, fragments and ICMP.
#include "reading/ctx.h"
#include "schema_rows.h"

#define AREA(id, name, subject)                                                                   \
	{"log.areas." name, CONF_CHOICE, ONE(conf, log.areas[id]), .choices = conf_level_choices, \
		.help = "Of " subject "."},

// clang-format off
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
{"log.level", CONF_CHOICE, ONE(conf, log.level), .choices = conf_level_choices, .def = "info",
	.help = "The least severe that is logged."},
{"log.areas", CONF_SECTION, .flags = CONF_ALIKE,
	.help = "The same for an area. Without it: `log.level`."},
CONF_AREAS(AREA)

{"records", CONF_SECTION, .help = "Records of sessions, one JSON object a line: allocations made "
	"and ended, and what was refused ([operations.md](operations.md) has the fields). A disk "
	"that is full or slow costs records, which are counted, and never a datagram."},
{"records.file", CONF_TEXT, ONE(conf, records.file), RANGE(1, 1023),
	.help = "Path of a regular file, from `/` on; made with mode 0640. Refusals go to one of "
	"their own: beside `records.json` it is `records-refusals.json`. Without it: no file."},
{"records.rotate", CONF_SIZE, ONE(conf, records.rotate), RANGE(0, UINT32_MAX), .def = "100M",
	.help = "Bytes after which either file becomes FILE.1, that FILE.2, and so on; 0 = never."},
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

{"crash", CONF_SECTION, .help = "A crash leaves a report: where, the stack, what each worker was "
	"doing, and the headers of its burst. It has no payload, no names and no keys."},
{"crash.directory", CONF_TEXT, ONE(conf, crash.directory), RANGE(0, 1023),
	.help = "Where reports are kept: a directory that is there. Empty: standard error has "
	"them. Without it: /var/log/slipring, if it is there, else standard error."},

{"alternate", CONF_SECTION, .help = "Other servers, to which clients are sent that ask for an "
	"allocation ([operations.md](operations.md)): they are told by a 300 (Try Alternate), "
	"after they have authenticated. Who has an allocation keeps it."},
{"alternate.servers", CONF_ITEMS, MANY(conf, alternate.servers, alternate.nb_servers),
	.flags = CONF_SHORT, RANGE(0, 64), .help = "The servers: a client is told one of the "
	"family by which it comes (and one of the other), dealt by a hash of the client. Where "
	"there is none of its family, it is served here. An entry may be its `address` alone. "
	"The users must be known there, too. Without the keys below all clients are sent there."},
{"alternate.servers[].address", CONF_ADDR, ONE(turn_alternate, addr), REQUIRED,
	.help = "Where clients reach it: an external address, if the network translates."},
{"alternate.servers[].port", CONF_NUMBER, ONE(turn_alternate, port), RANGE(1, 65535),
	.help = "Its port for UDP and TCP. Without it: that of the listener by which the client "
	"has come."},
{"alternate.servers[].tls-port", CONF_NUMBER, ONE(turn_alternate, tls_port), RANGE(1, 65535),
	.help = "Its port for TLS and DTLS. Without it: that of the listener. Clients of a "
	"listener with `transport: auto` are always told the listener's."},
{"alternate.servers[].name", CONF_TEXT, ONE(turn_alternate, name), RANGE(1, 253),
	.help = "The DNS name in its certificate, which clients of TLS and DTLS are told "
	"(ALTERNATE-DOMAIN). Without it: its certificate has a name of this server's."},
{"alternate.allocations", CONF_NUMBER, ONE(conf, alternate.allocations), RANGE(0, 16777216),
	.def = "0", .help = "Clients are sent there while the box has this number of allocations "
	"or more, as `limits.allocations` counts; 0 = any number. Where servers send to each "
	"other, a client that finds both full gives up: leave one server without."},
{"alternate.datagrams-per-second", CONF_NUMBER, ONE(conf, alternate.datagrams),
	RANGE(0, 1000000000), .def = "0", .help = "Clients are sent there once the box has relayed "
	"this number of datagrams or more in a second, both ways together, and until it relays an "
	"eighth less; 0 = any number. Dropped datagrams do not count, so strangers turn nobody "
	"away. Either of these two keys is enough."},

{"drain", CONF_SECTION, .help = "A drain empties the box (`slipringctl drain`, SIGUSR1): new "
	"allocations are refused, live ones go on, and at the end the process exits "
	"([operations.md](operations.md))."},
{"drain.alternates", CONF_ITEMS, .like = "alternate.servers",
	MANY(conf, drain.alternates, drain.nb_alternates), .flags = CONF_SHORT, RANGE(0, 64),
	.help = "Servers that take the clients, as `alternate.servers`. Where there is none of its "
	"family, a client gets 508. Without any: `alternate.servers`."},
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
{"debug.core-dumps", CONF_BOOL, ONE(conf, debug.core_dumps), .def = "false",
	.help = "A crash leaves a core dump, where the limits of the process allow one "
	"(`LimitCORE=infinity` in its unit), and debuggers of its own user may attach. Packets, "
	"allocations and the users' keys and secrets are left out of it, but private keys and "
	"sessions of TLS and DTLS are in it: keep it as you keep these."},

{"icmp", CONF_SECTION, .help = "ICMP and ICMPv6."},
{"icmp.tell", CONF_CHOICE, ONE(conf, turn.icmp_tell), .choices = conf_icmp_tell_choices,
	.def = "rfc8489", .help = "Which clients are told of ICMP errors about their datagrams. "
	"`rfc8489`: those whose Allocate answers as RFC 8489 says, by PASSWORD-ALGORITHMS. Older "
	"ones need not know the indication, and some (pion's) read nothing more after one. The "
	"MTU that an error tells is learnt for all. What is not told is dropped as "
	"`icmp-untold`."},
{"icmp.unreachable", CONF_BOOL, ONE(conf, icmp_unreachable), .def = "false",
	.help = "Whether datagrams to ports of this box that nobody has are answered by port "
	"unreachable, within the same limits. Silence tells a scanner less."},
};
// clang-format on

const struct conf_table conf_schema_box = TABLE(rows, &conf_schema_constants);
