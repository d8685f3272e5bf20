#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Drain: live calls continue without loss while new ones are sent to another server (a coturn,
which an unmodified client follows). The program of drain.on-change and /readyz report it. The
process ends when it is empty or at its deadline, and a drain can be cancelled."""

import contextlib
import os
import shutil
import signal
import time

import alternate
import control
import dtls
import exporter as exporters
import keep
import lab as labs
import streams
import turnlib
import uclient
from control import Control
from exporter import Exporter
from lab import CLIENT6, PEER4, SERVER4, until
from turnlib import SUCCESS

HOOK = """#!/bin/sh
echo "$1 $SLIPRING_STATE $#" >>{}
"""


def relays(client, number):
    client.send_channel(0x4000, b"%d" % number)
    return client.wait("channel", timeout=2) == ("channel", 0x4000, b"%d" % number)


def told(path):
    """The states that the program was called with."""
    with contextlib.suppress(FileNotFoundError), open(path) as file:
        return file.read().splitlines()
    return []


def hook(lab, name):
    """A program that records its arguments in a file."""
    path, note = os.path.join(lab.dir, name), os.path.join(lab.dir, name + ".told")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o755), "w") as file:
        file.write(HOOK.format(note))
    return path, note


def drains(lab, server, path, note, exporter):
    """The order, and the programs and pages that report it."""
    out = control.ctl(path, "drain", "--deadline", "10m")
    assert "3 allocations left" in out and "0 refused" in out, out
    until(lambda: len(told(note)) == 2, 10, "the program runs")
    assert told(note)[1] == "draining draining 1", told(note)
    until(lambda: "draining: allocations left: 3" in server.log(), 5, "workers have it")
    assert server.telemetry.ask("/slipring/info")["ready"] == 0
    until(lambda: "draining: exit code 0 after" in server.log(), 5, "its exit is logged")
    if exporter:
        code, body = exporter.get("/readyz")
        assert code == 503 and body.startswith("slipring drains: 3 allocations left, ends in "), body
        assert exporter.get("/livez")[0] == 200
        assert exporter.scrape()["slipring_drain_active", ""] == 1


def refused(lab, server, path):
    """New allocations, by family. An unmodified client follows the answer and is running then."""
    client = lab.client()
    answer = client.allocate()
    assert answer.code == 300 and alternate.named(answer) == [(PEER4, 3478)], (answer, alternate.named(answer))
    assert client.binding().cls == SUCCESS
    assert lab.client(ip=CLIENT6).allocate().code == 508, "there is no alternate for IPv6"
    run = uclient.start(lab, "sent elsewhere", SERVER4, PEER4, "-c", messages=10)
    drain = until(lambda: control_of(path, 3), 5, "three were refused at least")
    assert drain["draining"] is True and drain["below"] == 1 and 0 < drain["deadline"] <= 600, drain
    assert drain["since"] <= time.time() and drain["allocations"] in (2, 3), drain
    until(lambda: explained(path), 5, "slipringctl explain has it")
    assert "drains" in control.ctl(path, "status")
    assert "this server is draining" in control.ctl(path, "top", "--once")
    assert server.refusals()["draining"] >= 1
    return run


def explained(path):
    out = control.ctl(path, "explain", "ivan")
    return "Allocate answered 300: alternate" in out and "this box is draining" in out


def control_of(path, refusals):
    with Control(path) as c:
        drain = c.ask("status")["drain"]
    return drain if drain["refused"] >= refusals else None


def wrong(path):
    """Invalid arguments change nothing."""
    for option, value in (("--deadline", "soon"), ("--deadline", "-1"), ("--below", "-1"), ("--below", "x")):
        assert option in control.ctl(path, "drain", f"{option}={value}", code=2)
    with Control(path) as c:
        assert "deadline" in c.refused("drain", deadline="10m")
        assert "deadline" in c.refused("drain", deadline=2592001)
        assert "below" in c.refused("drain", below=-1)
        assert "no such field" in c.refused("undrain", deadline=1)
        assert c.ask("status")["drain"] == {"draining": False}


def undrained(lab, server, path, note, exporter):
    out = control.ctl(path, "undrain")
    assert "new allocations are made" in out, out
    until(lambda: len(told(note)) == 3, 10, "the program runs")
    assert told(note)[2] == "ready ready 1", told(note)
    assert not exporter or exporter.get("/readyz") == (200, "ready\n")
    client = lab.client()
    until(lambda: client.allocate().cls == SUCCESS, 5, "new allocations are made")
    assert client.refresh(0).cls == SUCCESS


def empties(lab):
    """A complete drain, with media of two calls that existed before. uclient begins with an
    allocation that it never uses and leaves behind."""
    path = os.path.join(lab.dir, "control.sock")
    program, note = hook(lab, "hook")
    server = lab.server(
        {"control": {"socket": path}, "drain": {"alternates": [PEER4], "on-change": program}})
    exporter = metrics(lab, server)
    until(lambda: told(note) == ["ready ready 1"], 10, "it runs at the start")
    wrong(path)
    uclient.start_peer(lab)
    media = uclient.start(lab, "before the drain", SERVER4, PEER4, "-c", messages=150 * labs.SLOW,
        interval=20)  # fmt: skip
    client = lab.client()
    assert client.allocate().cls == SUCCESS
    echo = lab.echo()
    assert client.bind(0x4000, echo.address).cls == SUCCESS
    until(lambda: server.stats()["allocations"] == 3, 10, "all are there")
    drains(lab, server, path, note, exporter)
    undrained(lab, server, path, note, exporter)
    assert "(ends at 1)" in control.ctl(path, "drain", "--below", "1", "--deadline", "10m")
    until(lambda: server.log().count("draining: allocations left") == 2, 5, "workers have it")
    elsewhere = refused(lab, server, path)
    assert client.permit(PEER4).cls == SUCCESS and client.refresh().cls == SUCCESS
    for number in range(50):
        assert relays(client, number), number
    assert uclient.finish([media, elsewhere]) == [], "an existing call lost a message"
    server.check()
    server.telemetry.close()
    assert client.refresh(0).cls == SUCCESS
    assert server.process.wait(10 * labs.SLOW) == 0
    assert "drained: allocations left: 1" in server.log(), server.log()
    assert told(note)[-1] == "draining draining 1"


def metrics(lab, server):
    """An exporter of the server, if it can run here."""
    try:
        exporters.need()
    except labs.Skip as reason:
        print("no exporter:", reason)
        return None
    exporters.keep(lab)
    assert exporters.share(server.prefix).returncode == 0
    return Exporter(lab, "--file-prefix", server.prefix)


def children(process):
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
        return [int(pid) for pid in file.read().split()]


def ends_at_the_deadline(lab):
    """By SIGUSR1, with a program that hangs, and then without the process that runs it."""
    server = lab.server({"drain": {
        "deadline": "1s", "on-change": ["/bin/sh", "-c", "sleep 1000"], "on-change-timeout": 1}})
    until(lambda: "ready: killed after" in server.log(), 10, "a program that hangs is killed")
    assert len(children(server.process)) == 1, children(server.process)
    os.kill(children(server.process)[0], signal.SIGKILL)
    until(lambda: "has died: changes are not reported" in server.log(), 5, "the loss of its parent is logged")
    client = lab.client()
    assert client.allocate().cls == SUCCESS
    begin = time.monotonic()
    server.process.send_signal(signal.SIGUSR1)
    server.telemetry.close()
    assert server.process.wait(10 * labs.SLOW) == 0
    took = time.monotonic() - begin
    assert took >= 1 - labs.GRAIN, took
    assert "drain by SIGUSR1: the end is at 0 allocations, or after 1 s" in server.log(), server.log()
    assert "the deadline has passed, allocations left: 1" in server.log(), server.log()
    print(f"ended {took:.2f} s after the order, with a deadline of 1 s")


def ends_what_is_left(lab):
    """At the end the remaining allocations end, although there is a state file, unless --keep is
    given."""
    server = keep.start(lab)
    for option, left, reasons in ((), 0, ["stopped"]), (("--keep",), 1, ["stopped"]):
        client = lab.client()
        assert client.allocate().cls == SUCCESS
        out = control.ctl(server.control, "drain", "--deadline", "1s", *option)
        assert ("kept" in out) == bool(option), out
        server.telemetry.close()
        assert server.process.wait(10 * labs.SLOW) == 0
        assert "the deadline has passed, allocations left: 1" in server.log(), server.log()
        assert keep.ended(server) == reasons, keep.ended(server)
        server.start()
        assert server.stats()["allocations"] == left
    assert client.refresh(0).cls == SUCCESS, "it is there"
    server.finish()


def refused_over(client, port):
    """The answer to a client of TLS or DTLS has the certificate name of the other server."""
    answer = client.allocate()
    assert answer.code == 300 and alternate.named(answer) == [(PEER4, port)], (answer, alternate.named(answer))
    assert answer.get(turnlib.ALTERNATE_DOMAIN) == (None if port == 3478 else b"turn2.example.org")
    client.close()


def stops_at_once(lab):
    """Connections are accepted during a drain. SIGTERM ends a waiting drain. A server without a
    program has no process for it."""
    streams.join(lab)
    config = streams.config(lab, ("tcp", "tls"))
    config["listeners"].append({"transport": "dtls", "address": SERVER4, "port": dtls.PORT})
    alternate = {"address": PEER4, "tls-port": 443, "name": "turn2.example.org"}
    server = lab.server({**config, "drain": {"alternates": [alternate]}})
    assert children(server.process) == []
    client = lab.client()
    assert client.allocate().cls == SUCCESS
    server.process.send_signal(signal.SIGUSR1)
    until(lambda: "drain by SIGUSR1" in server.log(), 5, "it drains")
    until(lambda: lab.client().allocate().code == 300, 5, "workers refuse")
    refused_over(streams.client(lab, "tcp"), 3478)
    refused_over(streams.client(lab, "tls"), 443)
    refused_over(dtls.client(lab), 443)
    took = server.stop()
    assert took < 5 * labs.SLOW, took


def main(lab):
    labs.need_own_server()
    for program in ("turnserver", "turnutils_uclient", "turnutils_peer"):
        if not shutil.which(program):
            raise labs.Skip(f"{program} is not installed")
    alternate.coturn(lab)
    empties(lab)
    ends_at_the_deadline(lab)
    ends_what_is_left(lab)
    stops_at_once(lab)


if __name__ == "__main__":
    labs.run(main)
