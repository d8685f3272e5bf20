#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: under ASan unit tests write to substitutes of journald (test_log_sinks, test_records)
"""The log and the records with a real journald: standard error as systemd provides it, records with
native fields and by syslog, and a journald that hangs, dies and restarts.

journald runs in its own mount namespace, with its own /run/systemd, /run/log/journal and /dev/log,
and the server joins it. The host's journald, if any, is not involved.
"""

import json
import os
import re
import signal
import subprocess
import sys

import lab as labs
from lab import until
from turnlib import SUCCESS

JOURNALD = "/lib/systemd/systemd-journald"
PREPARE = """
mount --make-rprivate / && mount -t tmpfs none /run/systemd && mkdir -p /run/systemd/journal /run/log/journal &&
mount -t tmpfs none /run/log/journal && mkdir /run/log/journal/$(cat /etc/machine-id) "$1/up" "$1/work" &&
mount -t overlay none -o lowerdir=/dev,upperdir="$1/up",workdir="$1/work" /dev &&
ln -sf /run/systemd/journal/dev-log /dev/log && echo ready && exec sleep infinity
"""
# The header that systemd writes for a unit (man systemd-journald.service, "stdout"; man
# systemd.exec, JOURNAL_STREAM): identifier, unit, default priority, level prefixes, three times no.
AS_SYSTEMD = r"""
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect("/run/systemd/journal/stdout")
s.sendall(b"slipring\n\n6\n1\n0\n0\n0\n")
os.dup2(s.fileno(), 2)
there = os.fstat(2)
os.environ["JOURNAL_STREAM"] = f"{there.st_dev}:{there.st_ino}"
os.execv(sys.argv[1], sys.argv[1:])
"""


class Journald:
    """A real journald, in a mount namespace that lives as long as the test."""

    def __init__(self, lab):
        if not os.path.exists(JOURNALD):
            raise labs.Skip(f"{JOURNALD} is not installed")
        self.lab, self.process = lab, None
        work = os.path.join(lab.dir, "journald")
        os.mkdir(work)
        os.chmod(lab.dir, 0o755)
        labs.command("mount", "-t", "tmpfs", "none", work)  # overlays need their own file system
        lab.cleanup.callback(labs.command, "umount", "-l", work, check=False)
        self.holder = subprocess.Popen(["unshare", "-m", "sh", "-ec", PREPARE, "sh", work],
            stdout=subprocess.PIPE, text=True)  # fmt: skip
        lab.cleanup.callback(labs.end_process, self.holder)
        assert self.holder.stdout.readline() == "ready\n"
        self.start()

    def within(self, *argv):
        return ["nsenter", "-m", "-t", str(self.holder.pid), *argv]

    def start(self):
        started = lambda: len(self.entries("MESSAGE=Journal started"))
        before = started()
        self.process = subprocess.Popen(self.within(JOURNALD), stderr=subprocess.DEVNULL)
        self.lab.cleanup.callback(labs.end_process, self.process)
        until(lambda: started() > before, 10, "journald has started")

    def signal(self, number):
        self.process.send_signal(number)
        if number == signal.SIGKILL:
            self.process.wait()

    def entries(self, *matches):
        """The output of journalctl, one object per entry."""
        argv = self.within("journalctl", "--no-pager", "-q", "-o", "json", *matches)
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        return [json.loads(line) for line in done.stdout.splitlines()]


def as_systemd(journald):
    """The command that starts a server whose standard error is the journal."""
    return journald.within(sys.executable, "-c", AS_SYSTEMD)


def link(lab, state):
    lab.sw.ip("link", "set", "d0", state)


def standard_error(lab, journald):
    """Lines have priorities, and no time or level in the text."""
    link(lab, "down")
    (down,) = until(lambda: journald.entries("MESSAGE=ports: port wan: link down"), 5, "link down")
    link(lab, "up")
    until(lambda: journald.entries("MESSAGE=ports: port wan: link up"), 5, "link up")
    assert (down["_TRANSPORT"], down["PRIORITY"]) == ("stdout", "4"), down
    lines = journald.entries("SYSLOG_IDENTIFIER=slipring", "_TRANSPORT=stdout")
    assert len(lines) > 5
    for line in lines:
        assert not re.match(r"<\d>|\d{4}-|\d\d:\d\d", line["MESSAGE"]), line
    (ready,) = [line for line in lines if line["MESSAGE"] == "start: ready"]
    assert ready["PRIORITY"] == "6", ready
    severe = journald.entries("-p", "warning", "_TRANSPORT=stdout")
    assert down["__CURSOR"] in {line["__CURSOR"] for line in severe}
    assert ready["__CURSOR"] not in {line["__CURSOR"] for line in severe}


def session(lab):
    """An allocation, made and ended."""
    with lab.client() as client:
        assert client.allocate().cls == SUCCESS and client.refresh(0).cls == SUCCESS
        return "%s:%d" % client.sock.getsockname()[:2]


def recorded(journald, client):
    """Both records of it, with fields, and as identical objects by syslog."""
    ended = until(lambda: journald.entries("SLIPRING_EVENT=ended", f"SLIPRING_CLIENT={client}"), 5,
        "a record in the journal")[0]  # fmt: skip
    assert (ended["_TRANSPORT"], ended["PRIORITY"]) == ("journal", "6"), ended
    assert (ended["SLIPRING_USER"], ended["SLIPRING_WHY"]) == ("ivan", "client"), ended
    of_syslog = lambda: [e for e in journald.entries("_TRANSPORT=syslog") if client in e["MESSAGE"]]
    rows = until(lambda: len(of_syslog()) >= 2 and of_syslog(), 5, "records by syslog")
    assert [json.loads(row["MESSAGE"])["event"] for row in rows] == ["made", "ended"], rows
    for row in rows:
        assert (row["SYSLOG_IDENTIFIER"], row["SYSLOG_FACILITY"], row["PRIORITY"]) == (
            "slipring", "3", "6"), row  # fmt: skip
    assert json.loads(rows[1]["MESSAGE"]) == json.loads(ended["MESSAGE"])


def away(lab, server, journald, signals):
    """While journald does not read, or does not run, sessions continue. Lost records are counted."""
    unsent = lambda: server.telemetry.ask("/slipring/records")["unsent"]
    before, missed = unsent(), []
    journald.signal(signals)
    for _ in range(1000):
        missed.append(session(lab))
        if unsent() > before:
            break
    assert unsent() > before, "lost records are counted"
    link(lab, "down")
    link(lab, "up")
    assert server.ready()
    return missed


def main(lab):
    labs.need_own_server()
    journald = Journald(lab)
    config = {"records": {"journal": True, "syslog": True}}
    server = lab.server(config, under=as_systemd(journald), allow={"tx-full"})
    standard_error(lab, journald)
    recorded(journald, session(lab))
    stuck = away(lab, server, journald, signal.SIGSTOP)
    journald.signal(signal.SIGCONT)
    recorded(journald, session(lab))
    told = {entry["SLIPRING_CLIENT"] for entry in journald.entries("SLIPRING_EVENT=ended")}
    assert told & set(stuck), "records that waited in its socket arrive"
    dead = away(lab, server, journald, signal.SIGKILL)
    journald.start()
    recorded(journald, session(lab))
    print(f"{len(stuck)} sessions while journald was stuck, {len(dead)} while it was dead")


if __name__ == "__main__":
    labs.run(main)
