#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""slipringctl without a real server: no byte of an answer controls a terminal, exit codes and
--json work, and completion and the manual page know each subcommand and option."""

import glob
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import unittest

import ctl_world as world

from ctl import complete, wire

ctl = world.program()
EVIL = "\x1b]0;owned\x07\x9b2J\u202e\udcff\r\x00"


def run(path, *args, env=None):
    return subprocess.run(
        [sys.executable, world.PROGRAM, "--socket", path, *args], capture_output=True, timeout=60,
        check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
    )  # fmt: skip


def evil(answer):
    """An answer with hostile bytes after each text."""
    if isinstance(answer, str):
        return answer + EVIL
    if isinstance(answer, list):
        return [evil(one) for one in answer]
    if isinstance(answer, dict):
        return {name: evil(value) for name, value in answer.items()}
    return answer


def steers(data):
    """The control sequences in an output that a terminal would execute."""
    return re.findall(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]", data)


ANSWERS = {
    "status": world.status(links=[{"port": "wan", "up": True}], warnings=["port wan: its link is down"]),
    "workers": {"rows": [{**world.worker(), "lcore": 1, "handed_out": 0, "held": 0}]},
    "log": {"rows": [{"area": "auth", "level": "info", "lines": 1, "suppressed": 0}], "lost": 1},
    "records": {"file": "/var/log/x", "refusals": "/var/log/x-refusals", "written": 1, "lost": 0, "unsent": 0, "waiting": 0},
    "ports": {"rows": [{
        "port": "wan", "link": "up", "driver": "net_vtap", "mac": "02:00:00:00:00:01", "mtu": 1500,
        "rx_queues": 1, "tx_queues": 1, "rx_missed": 0, "rx_nombuf": 0, "rx_errors": 0,
        "tx_errors": 0, "members": "a b", "xstats": {"rx_" + EVIL: 1}}]},
    "steering": {"rows": [{
        "port": "wan", "family": "ipv4", "step": "off", "rules": 0, "hits": 0, "handed_over": 0,
        "degraded": False, "why": "none", "why_address": ""}]},
    "neighbours": {"rows": [{
        "address": "192.0.2.1", "port": "wan", "mac": "02:00:00:00:00:01", "state": "reachable",
        "held": 0, "gateway": True}]},
    "kill": {"killed": 1},
    "drain": {"drain": {"draining": True, "since": 1, "deadline": 5, "below": 1, "allocations": 2,
        "refused": 3}},
    "undrain": {"drain": {"draining": False}},
    "block": {"new": True, "block": {"address": "192.0.2.1", "until": 5, "left": 1, "why": ""}},
    "unblock": {"unblocked": True},
    "blocked": {"blocked": 1, "rows": [{
        "user": "ivan", "realm": "turn.test", "until": None, "left": None, "why": "abuse"}]},
    "show": {"allocation": {
        **world.allocation(1), "way": {"port": "wan", "via": "192.0.2.1"}, "relay": "192.0.2.9:1",
        "told": "192.0.2.9:1", "worker": 0, "lost": {"way" + EVIL: 1}, "algorithm": "md5",
        "rfc8489": True, "rest": True, "cipher": "AES", "line": "192.0.2.8:5",
        "permissions": [{"peer": "192.0.2.8", "left": 5, "port": "wan", "via": "192.0.2.8"}],
        "bound": [{"channel": "0x4000", "peer": "192.0.2.8:5", "left": 5}]}},
    "explain": {"cause": "the password is wrong", "advice": "tell them", "row": 0, "rows": [{
        "event": "refused", "why": "wrong-password", "times": 2, "user": "ivan", "proved": False,
        "client": "192.0.2.1:5", "transport": "udp", "method": "Allocate", "code": 401, "ago": 3,
        "time": "2026-11-23T20:31:12.000Z", "text": "the password is wrong", "advice": "tell them"}]},
}  # fmt: skip
ARGUMENTS = {"show": ["1"], "kill": ["1"], "explain": ["ivan"], "block": ["192.0.2.1", "--for", "1h"],
    "unblock": ["--user", "ivan"], "top": ["--once", "--sort", "bytes"]}


class Answers(unittest.TestCase):
    def test_no_answer_controls_a_terminal(self):
        with world.Box() as box:
            box.answers = {name: evil(answer) for name, answer in {**box.answers, **ANSWERS}.items()}
            for name in (*box.answers, "top"):
                done = run(box.path, name, *ARGUMENTS.get(name, []))
                self.assertEqual((name, done.returncode, done.stderr), (name, 0, b""))
                self.assertTrue(name in ("workers", "kill", "drain", "undrain", "unblock") or b"%1B" in done.stdout, done)
                self.assertEqual(steers(done.stdout), [], name)
                done = run(box.path, name, *ARGUMENTS.get(name, []), "--json")
                self.assertEqual((done.returncode, steers(done.stdout)), (0, []), name)
                json.loads(done.stdout)

    def test_no_error_controls_a_terminal(self):
        refusal = json.dumps({"v": 1, "ok": False, "error": "no: " + EVIL}).encode()
        with world.Box(status=lambda request: refusal) as box:
            done = run(box.path, "status")
            self.assertEqual((done.returncode, steers(done.stderr)), (1, []), done)
            self.assertIn(b"%1B", done.stderr)
            typed = "\x1b[2J\x9b2J"
            for args in ((box.path + typed, "status"), (box.path, typed), (box.path, "status", typed)):
                done = run(*args)
                self.assertIn(done.returncode, (2, 3))
                self.assertEqual(steers(done.stderr), [], done)

    def test_printable_keeps_what_is_printable(self):
        self.assertEqual(wire.printable("ivan äöü %1B"), "ivan äöü %1B")
        self.assertEqual(wire.printable("a\x1b\u202eb"), "a%1B%E2%80%AEb")
        self.assertEqual(wire.cleaned({"\n": ["\t", 1, None]}), {"%0A": ["%09", 1, None]})

    def test_a_terminal_without_utf8(self):
        rows = {"rows": [world.allocation(1, user="a" * 200)]}
        with world.Box(allocations=rows) as box:
            done = run(box.path, "allocations", env={"PYTHONIOENCODING": "ascii"})
        self.assertEqual((done.returncode, done.stderr), (0, b""))


class ExitCodes(unittest.TestCase):
    def test_of_each_kind(self):
        with world.Box(kill={"killed": 0}, show=lambda _: b'{"ok":false,"error":"gone"}') as box:
            for code, *args in (
                (0, "status"), (1, "kill", "1"), (1, "show", "1"), (2, "kill"), (2, "colour"), (2,),
                (2, "top", "-i", "0.5"), (2, "top", "-n", "-1"), (2, "top", "--rows", "x"),
                (2, "top", "--sort", "age"), (2, "explain"), (2, "log", "auth"),
                (2, "drain", "--deadline", "soon"), (2, "drain", "--deadline", "10 m"),
                (2, "drain", "--below", "-1"), (2, "undrain", "now"),
            ):  # fmt: skip
                done = run(box.path, *args, *(["--json"] if code < 2 else []))
                self.assertEqual(done.returncode, code, (args, done))
                self.assertNotIn(b"Traceback", done.stderr)
            for command in ("status", "top"):
                self.assertEqual(run(box.path + "x", command).returncode, 3)
        with world.Box(status=lambda _: b"no slipring") as box:
            for command in ("status", "top"):
                self.assertEqual(run(box.path, command).returncode, 3)

    def test_a_page_after_the_last_is_reported(self):
        empty = {"rows": [], "users": 7, "realms": 1}
        with world.Box(allocations=empty, users=empty, neighbours=empty) as box:
            for command in ("allocations", "users", "neighbours"):
                done = run(box.path, command, "--page", "9")
                self.assertEqual((done.returncode, done.stdout), (0, b"there is no page 9\n"))
                self.assertNotIn(b"page", run(box.path, command).stdout)

    def test_a_capture_has_begun_once_its_file_exists(self):
        with world.Box(capture={"allocations": [], "left_out": 0, "shared": False, "rows": []}) as box:
            done = run(box.path, "capture", "1", "-w", "/nowhere/x")
        self.assertEqual((done.returncode, done.stderr),
            (1, b"slipringctl: /nowhere/x: No such file or directory\n"))  # fmt: skip

    def test_kill_by_peer_asks_for_it(self):
        with world.Box(kill={"killed": 2}) as box:
            self.assertEqual(run(box.path, "kill", "--peer", "[2001:db8::1]:5000").returncode, 0)
            self.assertEqual(box.asked, [{"v": 1, "cmd": "kill", "peer": "[2001:db8::1]:5000"}])


class Drain(unittest.TestCase):
    def test_times_are_seconds(self):
        for text, seconds in (("600", 600), ("90s", 90), ("10m", 600), ("2h", 7200), ("1d", 86400)):
            with world.Box(drain=ANSWERS["drain"]) as box:
                done = run(box.path, "drain", "--deadline", text, "--below", "4", "--keep")
                self.assertEqual(done.returncode, 0, done)
                self.assertEqual(
                    box.asked, [{"v": 1, "cmd": "drain", "deadline": seconds, "below": 4, "keep": True}])
                self.assertIn(b"2 allocations left (ends at 1), 3 refused, ends in 5s", done.stdout)

    def test_omitted_options_are_not_sent(self):
        with world.Box(drain=ANSWERS["drain"], undrain=ANSWERS["undrain"]) as box:
            self.assertEqual(run(box.path, "drain").returncode, 0)
            done = run(box.path, "undrain")
            self.assertEqual(box.asked, [{"v": 1, "cmd": "drain"}, {"v": 1, "cmd": "undrain"}])
            self.assertEqual(done.stdout, b"new allocations are made\n")

    def test_status_shows_free_room(self):
        """By family; limits.allocations only if it sets a limit."""
        with world.Box() as box:
            said = run(box.path, "status").stdout
            self.assertIn(b"allocations  3, ", said)
            self.assertIn(b"relay ports  ipv4 97 of 100 free\n", said)
            box.answers["status"] = world.status(allocations_most=20, relay_ports=[])
            said = run(box.path, "status").stdout
            self.assertIn(b"allocations  3 of 20, ", said)
            self.assertNotIn(b"relay ports", said)

    def test_a_count_below_a_step_is_not_zero(self):
        """Live allocations count in steps of 64 datagrams and 64 KiB: either one may appear first."""
        answer = world.status()
        (realm,) = answer["realms"]
        realm["from_client"], realm["from_peers"] = {"datagrams": 128, "bytes": 0}, {"datagrams": 0, "bytes": 65536}
        with world.Box(status=answer) as box:
            said = run(box.path, "status").stdout
        self.assertIn(b"relayed      128 from clients (<64KiB), <64 from peers (65.5kB)", said)
        realm["from_client"] = realm["from_peers"] = {"datagrams": 999900, "bytes": 0}
        with world.Box(status=answer) as box:
            self.assertLessEqual(max(map(len, run(box.path, "status").stdout.splitlines())), 80)
        realm["from_client"] = realm["from_peers"] = {"datagrams": 0, "bytes": 0}
        with world.Box(status=answer) as box:
            self.assertIn(b"relayed      0 from clients (0B), 0 from peers (0B)", run(box.path, "status").stdout)

    def test_status_shows_a_drain(self):
        with world.Box(status=world.status(drain=ANSWERS["drain"]["drain"])) as box:
            self.assertIn(b"2 allocations left", run(box.path, "status").stdout)


def all_options():
    """(command or "", option) of everything that argparse accepts."""
    parser = ctl.arguments()
    for name, one in {"": parser, **complete.commands_of(parser)}.items():
        for option in complete.options_of(one):
            yield name, option


class Completion(unittest.TestCase):
    BREAKS = " \t\n\"'@><=;|&(:"  # the default of bash

    def offered(self, line, path="/nonexistent"):
        done = subprocess.run(
            [sys.executable, world.PROGRAM, complete.OPTION, line, self.BREAKS], capture_output=True,
            text=True, check=True, env={**os.environ, "SLIPRING_SOCKET": path}
        )  # fmt: skip
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def words(self, line):
        words, word, _ = complete.words_of(line, set(":="))
        return complete.candidates(complete.Line(ctl.arguments(), words[1:]), word, "/nonexistent")

    def test_every_option_of_every_command(self):
        for command, option in all_options():
            self.assertIn(option, self.words(f"slipringctl {command} -"), command)
        commands = set(complete.commands_of(ctl.arguments()))
        self.assertEqual(set(self.words("slipringctl ")), commands)
        self.assertEqual(set(self.words("slipringctl --socket /x ")), commands)
        self.assertGreater(len(commands), 13)

    def test_values(self):
        for line, words in (
            ("allocations --transport ", "udp tcp tls auto dtls"),
            ("allocations --user olga --sort ", "rate bitrate age datagrams bytes"),
            ("users --sort ", "allocations rate bitrate datagrams bytes"),
            ("top --sort ", "rate bitrate datagrams bytes"),
            ("status --color ", "auto always never"),
            ("log auth ", "error warning notice info debug"),
        ):
            self.assertEqual(self.words("slipringctl " + line), words.split(), line)
        self.assertIsNone(self.words("slipringctl --socket "), "files")
        self.assertEqual(self.words("slipringctl allocations --page "), [])
        self.assertEqual(self.offered("slipringctl top --sort=b"), ["bitrate", "bytes"])

    def test_areas_and_levels_are_those_of_the_log(self):
        with open(os.path.join(world.TOP, "lib/conf/public/conf_log.h")) as file:
            areas = re.findall(r'X\(CONF_AREA_\w+, "(\w+)"', file.read())
        with open(os.path.join(world.TOP, "lib/conf/conf_log.c")) as file:
            levels = re.findall(r'\{"(\w+)", LOG_', file.read())
        self.assertEqual(self.words("slipringctl log "), [*areas, "reopen"])
        self.assertEqual(self.words("slipringctl log auth "), levels)

    def test_what_the_server_has(self):
        rows = {"rows": [world.allocation(1), world.allocation(2, "a b$(x)'\x1b")]}
        rows["rows"][1]["client"] = "[2001:db8::7]:5000"
        ids = [row["id"] for row in rows["rows"]]
        users = {"rows": [world.user(row["user"]) for row in rows["rows"]]}
        with world.Box(allocations=rows, users=users) as box:
            for line, words in (
                ("show ", ids),
                (f"kill {ids[0]} {ids[1][:-1]}", ids),
                ("users --user ", [r"a\ b\$\(x\)\'%1B", "ivan"]),
                (r"users --user a\ ", [r"a\ b\$\(x\)\'%1B"]),
                ("kill --source 2001:d", ["db8::7"]),
                ("users --user 'iv", []),
            ):
                self.assertEqual(self.offered("slipringctl " + line, box.path), words, line)
            self.assertEqual(self.offered(f"slipringctl --socket {box.path} show "), ids)
            box.answers["status"] = world.status(allocations=10**6)
            del box.asked[:]
            self.assertEqual(len(self.offered("slipringctl explain ", box.path)), 4)
            self.assertNotIn("users", [r["cmd"] for r in box.asked], "that reads a million allocations")

    def test_each_kind_of_value_has_a_source(self):
        with world.Box(drops={"rows": [world.drop("no-route"), world.drop("martian-source")]}) as box:
            for metavar, words in (
                ("REASON", ["martian-source", "no-route"]),
                ("ADDRESS", ["192.0.2.1"]),
                ("USER|ADDRESS", ["192.0.2.1", "ivan"]),
            ):
                self.assertEqual(complete.live(complete.BY_METAVAR[metavar], box.path), words)

    def test_a_server_that_does_not_answer_is_not_waited_for(self):
        with socket.socket(socket.AF_UNIX) as sock, world.Box() as box:
            path = os.path.join(box.folder.name, "deaf")
            sock.bind(path)
            sock.listen(1)
            self.assertEqual(self.offered("slipringctl show ", path), [])


class Manual(unittest.TestCase):
    def page(self, path):
        with open(os.path.join(world.TOP, path)) as file:
            text = file.read()
        return re.sub(r"\\f[A-Z]|\\", "", text.replace("\\-", "-"))

    def test_every_command_and_option(self):
        text = self.page("app/slipringctl/slipringctl.1")
        parts = {part.split()[0]: part for part in re.split(r"^\.SS ", text, flags=re.M)[1:]}
        for command in complete.commands_of(ctl.arguments()):
            self.assertIn(command, parts, "has no .SS in the manual page")
        for command, option in all_options():
            shared = option in ("-h", "--help", "--json", "--color")
            where = text if shared or not command else parts[command]
            self.assertRegex(where, rf"(?m)^\.B.*(?<![\w-]){option}(?![\w-])", command)

    def test_the_exporter(self):
        text = self.page("app/slipring-exporter/slipring-exporter.1")
        with open(os.path.join(world.TOP, "app/slipring-exporter/__main__.py")) as file:
            options = re.findall(r'add_argument\("(--[\w-]+)"', file.read())
        self.assertGreater(len(options), 6)
        for option in options:
            self.assertRegex(text, rf"(?m)^\.B.*{option}(?![\w-])")

    @unittest.skipUnless(shutil.which("man"), "man is not installed")
    def test_man_has_no_warnings(self):
        for name in glob.glob("*/*.[158]", root_dir=os.path.join(world.TOP, "app")):
            done = subprocess.run(
                ["man", "--warnings", "-l", "-Tutf8", "-Z", os.path.join(world.TOP, "app", name)],
                capture_output=True, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"}
            )  # fmt: skip
            self.assertEqual(done.stderr, b"")


if __name__ == "__main__":
    unittest.main()
