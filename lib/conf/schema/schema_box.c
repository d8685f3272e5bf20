// SPDX-License-Identifier: BSD-3-Clause
// The keys of logs and records, the control socket, memory, neighbours, fragments and ICMP.
#include "conf_features.h"
#include "reading/ctx.h"
#include "schema/schema_rows.h"

#define AREA(id, name, subject)                                                                   \
	{"log.areas." name, CONF_CHOICE, ONE(conf, log.areas[id]), .choices = conf_level_choices, \
		.help = "Level of lines about " subject "."},

// clang-format off
static const struct conf_key rows[] = {
{"log", CONF_SECTION, .help = "Each line has a level, and an area for its subject."},
{"log.to", CONF_CHOICE, ONE(conf, log.target), .choices = conf_log_to_choices, .def = "stderr",
	.help = "Destination. `journal`: journald, with fields (`SLIPRING_AREA` and more: "
	"`journalctl -o verbose`); without journald lines go to standard error. `stderr`: under "
	"systemd lines reach the journal as well, with levels and without fields."},
{"log.format", CONF_CHOICE, ONE(conf, log.format),
	.choices = conf_log_format_choices, .def = "text",
	.help = "`json`: each line is an object with `time`, `level`, `area`, `text`, and the "
	"facts of the text as members. The journal takes fields instead."},
{"log.level", CONF_CHOICE, ONE(conf, log.level), .choices = conf_level_choices, .def = "info",
	.help = "Least severe level that is logged."},
{"log.areas", CONF_SECTION, .flags = CONF_ALIKE,
	.help = "Levels of single areas. Default: `log.level`."},
CONF_AREAS(AREA)

{"records", CONF_SECTION, .help = "Records of sessions, one JSON object a line: allocations made "
	"and ended, and refusals ([operations.md](operations.md) has the fields). A full or slow "
	"disk costs records, which are counted, but no datagrams."},
{"records.file", CONF_TEXT, ONE(conf, records.file), RANGE(1, 1023),
	.help = "Absolute path of a regular file, made with mode 0640. Refusals go to a second "
	"file: `records-refusals.json` beside `records.json`. Default: no file."},
{"records.rotate", CONF_SIZE, ONE(conf, records.rotate), RANGE(0, UINT32_MAX), .def = "100M",
	.help = "Size in bytes at which either file becomes FILE.1, FILE.1 becomes FILE.2, and so "
	"on; 0 = never."},
{"records.max-age", CONF_TIME, ONE(conf, records.max_age_s), RANGE(0, UINT32_MAX), .def = "0",
	.help = "Time after which a record is removed, with its file. Files are then rotated by "
	"time, too: six times in it. 0 = never."},
{"records.journal", CONF_BOOL, ONE(conf, records.journal), .def = "false",
	.help = "Also writes to journald, with native fields (`journalctl SLIPRING_EVENT=ended`)."},
{"records.syslog", CONF_BOOL, ONE(conf, records.syslog), .def = "false",
	.help = "Also writes to syslog (`/dev/log`), facility daemon, level info."},
{"records.interim", CONF_TIME, ONE(conf, turn.interim_s), RANGE(0, 65535), .def = "300",
	.help = "Seconds after which the refresh of an allocation makes a record; 0 = no such "
	"records."},
{"records.refusals", CONF_BOOL, ONE(conf, records.refusals), .def = "true",
	.help = "Also records refusals. Repetitions from one source make one record."},
{"records.addresses", CONF_CHOICE, ONE(conf, records.clients),
	.choices = conf_addresses_choices, .def = "full",
	.help = "How much of clients' addresses records have. `network`: the /24 or /48."},
{"records.peers", CONF_CHOICE, ONE(conf, records.peers), .choices = conf_peers_choices,
	.def = "none",
	.help = "Also records each new peer of an allocation, in a third file: "
	"`records-peers.json` beside `records.json`. `network`: only its /24 or /48."},

{"control", CONF_SECTION, .help = "The control socket for `slipringctl`."},
{"control.socket", CONF_TEXT, ONE(conf, control.socket), RANGE(0, 107),
	.help = "Path of the Unix socket; empty = no socket. Default: "
	"`/run/slipring/control.sock`, or `/run/slipring/NAME.sock` if `eal.file-prefix` is "
	"another NAME; slipring makes the directory. If the default is impossible, the log says so "
	"and there is no socket; with this key the start fails. A dead process's socket is "
	"replaced, and the file is removed at the end. Users who can open it can see all users and "
	"allocations, and end them unless they are readers."},
{"control.group", CONF_TEXT, ONE(conf, control.group), RANGE(1, 32), .flags = CONF_WORD,
	.help = "Group of operators, by name or number: members see everything and give orders "
	"(mode 0660). Default: only root and the user of slipring (0600)."},
{"control.readers", CONF_TEXT, ONE(conf, control.readers), RANGE(1, 32), .flags = CONF_WORD,
	.help = "Group whose members see everything and give no orders (mode 0660). With both "
	"groups the mode is 0666, and slipring refuses users who are in neither "
	"([slipringctl.md](slipringctl.md#who-may-connect))."},

{"state", CONF_SECTION, .help = "Lets calls survive a restart: a file in memory holds allocations, "
	"permissions, channels and reservations of UDP clients for the next process "
	"([operations.md](operations.md))."},
{"state.file", CONF_TEXT, ONE(conf, state.file), RANGE(0, 1023),
	.help = "Absolute path of the file, on a file system in memory (tmpfs, hugetlbfs), because "
	"it holds keys. Only root or the user of slipring may own and write the directory. Beside "
	"the file (mode 0600) lie FILE.lock and, during a start, FILE.new. Default: "
	"`$RUNTIME_DIRECTORY/state` if that is set and on tmpfs, as in the unit. Otherwise, or if "
	"empty, calls end with the process."},
{"state.on-stop", CONF_CHOICE, ONE(conf, state.on_stop), .choices = conf_on_stop_choices,
	.def = "keep", .help = "Effect of an ordinary stop on calls. `keep`: the next process "
	"restores them, if it starts in time. `forget`: they end. `slipringctl stop` can override "
	"it. Calls end at the end of a drain."},

{"crash", CONF_SECTION, .help = "A crash leaves a report: the place, the stack, the activity of "
	"each worker, and the headers of its burst. It has no payload, names or keys."},
{"crash.directory", CONF_TEXT, ONE(conf, crash.directory), RANGE(0, 1023),
	.help = "Existing directory for reports. Empty: standard error. Default: /var/log/slipring "
	"if it exists, else standard error."},

{"drain", CONF_SECTION, .help = "A drain empties the box (`slipringctl drain`, SIGUSR1): new "
	"allocations are refused, live ones go on, and at the end the process exits "
	"([operations.md](operations.md))."},
#define X(...) __VA_ARGS__,
CONF_DRAIN_ROWS(X)
#undef X
{"drain.deadline", CONF_TIME, ONE(conf, drain.deadline_s), RANGE(0, 2592000), .def = "1h",
	.help = "Longest time of a drain, unless its order has another one; 0 = no limit. Then the "
	"process exits and remaining allocations end, even with a `state.file` (`slipringctl drain "
	"--keep` leaves them to the next process)."},
{"drain.below", CONF_NUMBER, ONE(conf, drain.below), RANGE(0, 16777216), .def = "0",
	.help = "A drain ends when at most this number of allocations remains."},
{"drain.on-change", CONF_COMMAND, MANY(conf, drain.on_change, drain.nb_on_change), RANGE(0, 32),
	.help = "Program that runs at each change, with a word as its last argument and in "
	"`SLIPRING_STATE`: `ready` once the box serves, `draining`, and `ready` again after "
	"`slipringctl undrain`. Text is split at blanks; a list takes words unchanged, as in "
	"`[/bin/sh, -c, 'logger $0']`. A separate process, made before the file is read, runs it "
	"as the same user, without capabilities."},

{"process", CONF_SECTION, .help = "Rights that slipring gives up once ports, sockets and files are "
	"open: all capabilities except those that its ports need later, and any way to new ones."},
{"process.user", CONF_TEXT, ONE(conf, process.user), .flags = CONF_WORD, RANGE(1, 32),
	.help = "User that slipring becomes, with the groups of that user. If root has not started "
	"slipring, it can only be the user that did, which is the default. Reloads and renewed "
	"certificates are read by this user: `--check` warns of files that it cannot read."},
{"process.seccomp", CONF_CHOICE, ONE(conf, process.seccomp), .choices = conf_seccomp_choices,
	.def = "log", .help = "Action on a system call that a thread should not make. Workers may "
	"make those of their ports, stream threads those of sockets and memory, other threads "
	"those of a server; none may start programs. `log`: the call fails, and the kernel's audit "
	"log has it. `kill`: the process ends. `off`: no filters."},

{"debug", CONF_SECTION, .help = "For finding faults of slipring itself."},
{"debug.core-dumps", CONF_BOOL, ONE(conf, debug.core_dumps), .def = "false",
	.help = "A crash leaves a core dump, if the limits of the process allow it "
	"(`LimitCORE=infinity` in the unit), and debuggers of the same user may attach. The dump "
	"has no packets, allocations, or users' keys and secrets. It has private keys and sessions "
	"of TLS and DTLS: protect it like these."},

{"icmp", CONF_SECTION, .help = "ICMP and ICMPv6."},
{"icmp.tell", CONF_CHOICE, ONE(conf, turn.icmp_tell), .choices = conf_icmp_tell_choices,
	.def = "rfc8489", .help = "Clients that are told of ICMP errors about their datagrams. "
	"`rfc8489`: those whose Allocate has PASSWORD-ALGORITHMS. Older clients need not know the "
	"indication, and some (pion's) read nothing more after one. Errors that are not told are "
	"dropped as `icmp-untold`, but all clients use the MTU that they report."},
{"icmp.unreachable", CONF_BOOL, ONE(conf, icmp_unreachable), .def = "false",
	.help = "Answers datagrams to unused ports of this box by port unreachable, within the "
	"same limits. Silence tells a scanner less."},
};
// clang-format on

const struct conf_table conf_schema_box = TABLE(rows, &conf_schema_constants);
