#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""slipringctl top with a terminal and without one: keys, sizes, a server that restarts, and a
terminal whose settings are restored; and shell completion from a running slipring."""

import contextlib
import json
import os
import re
import signal
import subprocess
import termios
import threading
import time

import lab as labs
import turnlib
from control import PROGRAM, ctl
from lab import PEER4
from screen import Screen
from turnlib import SUCCESS

HOSTILE = "e\x1b[2J;$(a)"  # a name that clears screens, and is dangerous in a shell
SHOWN = "e%1B[2J;$(a"  # the server keeps 20 bytes, with the expiry


def rest(name):
    user, password = turnlib.rest_credentials("s3cret", int(time.time()) + 3600, name)
    return turnlib.Auth(user, password)


class Traffic(threading.Thread):
    """A client that relays all the time."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self.client, self.ended = client, threading.Event()
        self.start()

    def run(self):
        while not self.ended.wait(0.01):
            self.client.send_channel(0x4001, b"x" * 100)

    def close(self):
        self.ended.set()
        self.join()


def people(lab):
    echo = lab.echo(PEER4)
    others = (turnlib.Auth("olga", "geheim"), rest(HOSTILE))
    busy, *idle = lab.client(), *(lab.client(auth=auth) for auth in others)
    for client in (busy, *idle):
        assert client.allocate().cls == SUCCESS
    assert busy.bind(0x4001, echo.address).cls == SUCCESS
    return busy


def started(path):
    """Without a terminal: slow commands run during the rest of the test."""
    argv = {
        "two": ("-n", "2", "--json"),
        "bits": ("--once", "--json", "--sort", "bitrate", "--rows", "1"),
    }
    begin = lambda *args: subprocess.Popen(
        [PROGRAM, "--socket", path, "top", *args], stdout=subprocess.PIPE, text=True
    )
    return {name: begin(*args) for name, args in argv.items()}


def plain(path):
    """Without a terminal: lines of 80 columns."""
    text = ctl(path, "top", "--once", "--sort", "bytes")
    assert all(len(line) <= 80 and line.isprintable() for line in text.splitlines()), text
    for word in ("WORKER", "allocations", "USER", "olga", SHOWN):
        assert word in text, (word, text)
    assert "users" not in json.loads(ctl(path, "top", "--once", "--json", "--rows", "0"))


def rates(running):
    """JSON, one line per frame: the relaying client is first, with its rate."""
    output = {name: process.communicate(timeout=30)[0] for name, process in running.items()}
    assert all(process.returncode == 0 for process in running.values()), output
    first, second = map(json.loads, output["two"].splitlines())
    assert first["status"]["allocations"] == 3 and len(first["workers"]) == 2, first
    row, user = first["allocations"]["rows"][0], first["users"]["rows"][0]
    assert row["user"] == user["user"] == "ivan", first
    for rate in (row["rate"], user["rate"]):
        assert 20 < rate < 1000, first  # about 100 a second in each direction
    assert first["time"] < second["time"], (first, second)
    bits = json.loads(output["bits"])
    for name in ("allocations", "users"):
        (only,) = bits[name]["rows"]
        assert 800 * 20 < only["bitrate"] < 800 * 1000, bits


def keys(path):
    """Each key works as the line at the bottom says. Output fits each terminal size."""
    with Screen([PROGRAM, "--socket", path, "top"]) as screen:
        text = screen.until(r"WORKER")
        assert screen.modes == {1049: True, 25: False, 7: False}, screen.modes
        assert len(text.splitlines()) == 24 and "q quit" in text.splitlines()[-1], text
        text = screen.until(r"(?s)^USER.*ivan.*^ID +USER.*ivan")
        assert re.search(r"^in +\d+/s +\d+kbit/s +[▁-█]+$", text, re.M), text
        screen.key("s")
        screen.until("sort: bitrate")
        screen.until(r"^ID .* BIT/S$")
        screen.key("S")
        screen.until("sort: rate")
        screen.key("p")
        screen.until("paused")
        screen.key("p")
        screen.until("every 1s")
        screen.key("v")
        text = screen.until("view: workers")
        assert "WORKER" in text and "USER" not in text, text
        screen.key("v" * 4 + "+")
        screen.until("view: all")
        screen.until("every 2s")
        screen.key("h")
        screen.until("^Keys")
        screen.key("h-")
        screen.until("every 1s")
        for columns, lines in ((120, 40), (40, 12), (20, 4), (80, 24)):
            screen.rows = {}
            screen.resize(columns, lines)
            screen.until(r"^slipring")
            while len(screen.text().splitlines()) < lines:
                screen.read()
        screen.until(r"^" + re.escape(SHOWN))
        screen.key("q")
        screen.end(0)


def ends(path):
    """After any exit the terminal is as before."""
    argv = [PROGRAM, "--socket", path, "top", "--rows", "0"]
    job = ["bash", "-c", 'set -m; "$@"; echo "$? has stopped"; read -r; fg >/dev/null', "bash", *argv]
    with contextlib.ExitStack() as stack:
        begin = lambda *args, **kwargs: stack.enter_context(Screen(*args, **kwargs))
        ctrl_c, term, hup, ctrl_z = (begin(command) for command in (argv, argv, argv, job))
        dumb = begin([*argv, "-n", "1"], env={"TERM": "dumb"})
        for screen in (ctrl_c, term, hup, ctrl_z):
            screen.until("WORKER")
        ctrl_c.key("\x03")
        ctrl_c.end(130)
        term.process.send_signal(signal.SIGTERM)
        term.end(143)
        hup.process.send_signal(signal.SIGHUP)
        hup.end(129)
        ctrl_z.key("\x1a")
        ctrl_z.until("148 has stopped")  # 128 + SIGTSTP
        assert ctrl_z.modes == {1049: False, 25: True, 7: True}, ctrl_z.modes
        assert termios.tcgetattr(ctrl_z.slave)[3] & termios.ECHO, "the terminal is restored"
        ctrl_z.key("\n")
        labs.until(lambda: ctrl_z.read(0) and ctrl_z.modes[1049], 5, "it goes on")
        ctrl_z.until("WORKER")
        ctrl_z.key("q")
        ctrl_z.end(0)
        dumb.end(0)
        assert b"\033" not in dumb.raw and "WORKER" in dumb.text(), dumb.raw


def restarted(lab, server, path, config):
    """A server that stops and restarts: top reports it and continues."""
    with Screen([PROGRAM, "--socket", path, "top"]) as screen:
        screen.until("WORKER")
        server.kill()
        screen.until(r"(?s)no server for .*slipring\s+does\s+not\s+run")
        again = lab.server(config)
        screen.until("was restarted", 20)
        assert "no server" not in screen.text()
        screen.key("q")
        screen.end(0)
    again.stop()


def completed(path, line):
    """The completions of bash at the Tab key."""
    text = (
        'source "$1"; COMP_LINE=$2; COMP_POINT=${#COMP_LINE}; _slipringctl "$3"'
        '; [ ${#COMPREPLY[@]} -eq 0 ] || printf "%s\\n" "${COMPREPLY[@]}"'
    )
    file = os.path.join(labs.TOP, "app/slipringctl/slipringctl.bash")
    done = subprocess.run(
        ["bash", "-c", text, "bash", file, line, PROGRAM], capture_output=True, text=True, check=True,
        env={**os.environ, "SLIPRING_SOCKET": path})  # fmt: skip
    return done.stdout.splitlines()


def completion(path):
    ids = {row["id"] for row in json.loads(ctl(path, "allocations", "--json"))["rows"]}
    for line, words in (
        ("kill 1 ", ids),
        ("kill --user ", {"ivan", "olga", r"e%1B\[2J\;\$\(a"}),
        ("allocations --worker=", {"0", "1"}),
    ):
        # completion does not wait for a slow server
        there = lambda line=line, words=words: set(completed(path, f"slipringctl {line}")) == words
        labs.until(there, 10, f"{line!r} is completed by {words}")


def main(lab):
    labs.need_own_server()
    path = os.path.join(lab.dir, "control.sock")
    config = {"control": {"socket": path}}
    server = lab.server(config)
    labs.until(lambda: os.path.exists(path), 5, "the control socket exists")
    with contextlib.closing(Traffic(people(lab))):
        running = started(path)
        plain(path)
        ends(path)
        keys(path)
        rates(running)
        completion(path)
    restarted(lab, server, path, config)


if __name__ == "__main__":
    labs.run(main)
