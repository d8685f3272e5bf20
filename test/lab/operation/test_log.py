#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The log of a running server: fields for the journal, JSON objects, levels of areas. If the
journal is missing or does not read, only lines are lost.
"""

import collections
import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import threading

import lab as labs
import server as servers
from lab import until
from turnlib import SUCCESS

AREAS = "start config ports addresses streams auth sessions workers dpdk control".split()
LEVELS = {"error": 3, "warning": 4, "notice": 5, "info": 6, "debug": 7}


class Journal:
    """Replaces journald: the socket of its native protocol."""

    def __init__(self, lab, name, reads=True):
        self.path = os.path.join(lab.dir, name)
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.setblocking(False)
        self.sock.bind(self.path)
        self.entries, self.ended = [], False
        self.thread = threading.Thread(target=self.loop, daemon=True) if reads else None
        if reads:
            self.thread.start()

    def loop(self):
        while not self.ended:
            select.select([self.sock], [], [], 0.1)
            self.take()

    def take(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                self.entries.append(self.sock.recv(65536))

    def read(self):
        """All entries received: mappings of names to bytes."""
        if not self.thread:
            self.take()
        return [self.parse(data) for data in self.entries]

    @staticmethod
    def parse(data):
        """Parses https://systemd.io/JOURNAL_NATIVE_PROTOCOL strictly."""
        entry = {}
        while data:
            line, feed, rest = data.partition(b"\n")
            assert feed, data
            name, equals, value = line.partition(b"=")
            if not equals:
                size = int.from_bytes(rest[:8], "little")
                value, rest = rest[8 : 8 + size], rest[8 + size :]
                assert rest[:1] == b"\n", data
                rest = rest[1:]
            assert re.fullmatch(rb"[A-Z][A-Z0-9_]{0,63}", name) and name.decode() not in entry, data
            entry[name.decode()] = value
            data = rest
        return entry

    def told(self, text):
        return [e for e in self.read() if text in e["MESSAGE"]]

    def close(self):
        self.ended = True
        if self.thread:
            self.thread.join()
        self.sock.close()
        os.unlink(self.path)


def journal(lab):
    """All lines of a run, at debug, have their level and area, and facts in fields."""
    stand_in = Journal(lab, "journal")
    config = {"log": {"to": "journal", "journal": stand_in.path, "level": "info",
        "areas": {"start": "debug", "control": "error"}}}  # fmt: skip
    server = lab.server(config)
    assert lab.client().allocate().cls == SUCCESS
    server.process.send_signal(signal.SIGHUP)
    until(lambda: stand_in.told(b"reload by SIGHUP"), 5, "SIGHUP is told")
    lab.sw.ip("link", "set", "d0", "down")
    down = until(lambda: stand_in.told(b"port wan: link down"), 5, "the link is told")
    lab.sw.ip("link", "set", "d0", "up")
    until(lambda: stand_in.told(b"port wan: link up"), 5, "the link is told")
    server.stop()
    entries = stand_in.read()
    for entry in entries:
        assert {"PRIORITY", "MESSAGE", "SYSLOG_IDENTIFIER", "SLIPRING_AREA"} <= set(entry), entry
        assert entry["SLIPRING_AREA"].decode() in AREAS, entry
        assert entry["PRIORITY"] in (b"3", b"4", b"5", b"6", b"7"), entry
        assert entry["SYSLOG_IDENTIFIER"] == b"slipring", entry
        assert not re.match(rb"\d\d\d\d-|<\d>", entry["MESSAGE"]), "a time or level of its own"
    by_text = {e["MESSAGE"]: e for e in entries}
    assert by_text[b"ready"]["SLIPRING_AREA"] == b"start", entries
    assert by_text[b"stopped"]["PRIORITY"] == b"6", entries
    assert any(e["PRIORITY"] == b"7" and b"EAL argument" in e["MESSAGE"] for e in entries)
    assert {e["PRIORITY"] for e in entries if e["SLIPRING_AREA"] == b"ports"} <= {b"4", b"5", b"6"}
    assert (down[0]["SLIPRING_PORT"], down[0]["SLIPRING_LINK"]) == (b"wan", b"down"), down
    assert (down[0]["SLIPRING_AREA"], down[0]["PRIORITY"]) == (b"ports", b"4"), down
    assert server.log() == "", "only the journal has the log"
    stand_in.close()
    count = collections.Counter(e["SLIPRING_AREA"].decode() for e in entries)
    print("journal:", ", ".join(f"{n} of {area}" for area, n in sorted(count.items())))


def reloads(server):
    return server.telemetry.ask("/slipring/reloads")["ended"]


def journal_away(lab):
    """Without a journal the lines go to standard error. If the journal does not read they are lost,
    and the server continues to relay.
    """
    path = os.path.join(lab.dir, "away")
    server = lab.server({"log": {"to": "journal", "journal": path, "bursts": 1, "rate": 0}})
    lines = server.log().splitlines()
    assert sum("no journal at " + path in line for line in lines) == 1, lines
    assert any(line.endswith("info  start: ready") for line in lines), lines
    until(lambda: "workers: worker 0" in server.log(), 5, "bursts are told")
    lab.dut.run("sysctl", "-qw", "net.unix.max_dgram_qlen=10")
    with lab.dut.enter():
        stand_in = Journal(lab, "away", reads=False)  # it appears and reads nothing
    before = len(server.log())
    for i in range(30):  # one reload at a time: several signals during one cause only one more
        server.process.send_signal(signal.SIGHUP)
        until(lambda i=i: reloads(server) == i + 1, 5, "the file is read again")
        assert server.ready()
    client = lab.client()
    assert client.allocate().cls == SUCCESS, "it serves while the journal does not read"
    until(lambda: len(stand_in.read()) > 10 and stand_in.told(b"lost: the journal did not accept"),
        8, "the loss is reported")  # fmt: skip
    lost = stand_in.told(b"lost: the journal did not accept")[0]
    assert int(lost["SLIPRING_LOST"]) > 0 and lost["PRIORITY"] == b"4", lost
    assert len(server.log()) == before, "nothing more on standard error"
    counts = server.telemetry.ask("/slipring/log")
    assert counts["lost"] == int(lost["SLIPRING_LOST"]), counts
    assert counts["config_level"] == "info" and counts["config_suppressed"] == 0, counts
    stand_in.close()
    until(lambda: server.log().count("no journal at ") == 2, 5, "it is gone again")
    client.close()
    server.finish()
    print("journal away: told;", int(lost["SLIPRING_LOST"]), "lines lost while it did not read")


def objects(lab):
    """Each line on standard error is an object, from every source."""
    server = lab.server({"log": {"format": "json", "level": "debug", "areas": {"auth": "error"}}})
    lab.sw.ip("link", "set", "d0", "down")
    until(lambda: "link down" in server.log(), 5, "the link is told")
    lab.sw.ip("link", "set", "d0", "up")
    server.stop()
    rows = [json.loads(line) for line in server.log().splitlines()]
    for row in rows:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", row["time"]), row
        assert row["level"] in LEVELS and row["area"] in AREAS and row["text"], row
    assert [r["time"] for r in rows] == sorted(r["time"] for r in rows)
    (down,) = [r for r in rows if r["text"] == "port wan: link down"]
    assert (down["port"], down["link"], down["level"]) == ("wan", "down", "warning"), down
    assert any(r["area"] == "dpdk" for r in rows), "DPDK's own messages at debug"
    assert rows[-1]["text"] == "stopped", rows[-1]
    print(f"json: {len(rows)} objects of {len({r['area'] for r in rows})} areas")


def mistakes(lab):
    """--check lists the areas and levels."""
    path = os.path.join(lab.dir, "mistakes.yaml")
    for log, want in (({"areas": {"aut": "info"}}, "log.areas.aut: unknown key, did you mean 'auth'?"),
            ({"areas": {"all": "info"}}, "log.areas.all: unknown key, known here: start config"),
            ({"areas": {"auth": "loud"}}, "log.areas.auth: 'loud' is not one of: error, warning"),
            ({"to": "file"}, "log.to: 'file' is not one of: stderr, syslog, journal")):  # fmt: skip
        with open(path, "w") as file:
            json.dump({**servers.CONFIG, "eal": {}, "log": log}, file)
        done = subprocess.run([servers.BINARY, "--check", "-c", path], capture_output=True,
            text=True, timeout=30, check=False)  # fmt: skip
        assert done.returncode == 1 and want in done.stderr, (want, done)


def main(lab):
    labs.need_own_server()
    mistakes(lab)
    journal(lab)
    journal_away(lab)
    objects(lab)


if __name__ == "__main__":
    labs.run(main)
