#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Crashes: each kind ends the process with the usual signal and leaves a report with its stack, the
state of the workers and the headers of the burst. The next start keeps it and slipringctl shows it.
It has no payload and no secret.
"""

import os
import re
import shutil
import signal
import struct
import time

import control
import lab as labs
import watch
from lab import CLIENT4, SERVER4
from turnlib import SUCCESS, channel_data

MARKER = b"PLANTED-PAYLOAD"
PASSWORD = "planted-password-0a1b"
KINDS = {
    "segv": signal.SIGSEGV,
    "bus": signal.SIGBUS,
    "fpe": signal.SIGFPE,
    "ill": signal.SIGILL,
    "abort": signal.SIGABRT,
    "panic": signal.SIGABRT,
    "stack": signal.SIGSEGV,
}


def start(lab, directory, **more):
    users = {"users": [{"name": "ivan", "password": PASSWORD}]}
    return lab.server(watch.config(lab, directory, auth=users, workers={"count": 1}, **more))


def reports(server):
    path = server.config["crash"]["directory"]
    return sorted(os.path.join(path, name) for name in os.listdir(path) if name.endswith(".txt"))


def waiting(server):
    """The report that a crash has left for the next start."""
    path = os.path.join(server.config["crash"]["directory"], f"crash-{server.prefix}.waiting")
    assert os.stat(path).st_mode & 0o777 == 0o600
    with open(path) as file:
        return watch.Report(file.read())


def assert_no_secret(text):
    for secret in (MARKER, PASSWORD.encode(), b"ivan", b"s3cret"):
        assert secret.lower() not in text.encode().lower(), secret
        assert secret.hex() not in text.lower(), secret


def burst(lab, directory):
    """A worker that crashes while it handles a burst. Returns its report, the marker's headers in
    it, and the client's port, or None if another frame of the lab was first.
    """
    server = start(lab, directory)
    auth = labs.turnlib.Auth("ivan", PASSWORD)
    echo = lab.echo()
    client = lab.client(auth)
    assert client.allocate().cls == SUCCESS and client.bind(0x4000, echo.address).cls == SUCCESS
    client.send_channel(0x4000, MARKER)
    assert client.wait("channel") == ("channel", 0x4000, MARKER)  # neighbours are resolved by now
    watch.order(server, "segv", worker=0, burst=True)
    while server.process.poll() is None:
        client.send_channel(0x4000, MARKER)
        time.sleep(0.001)
    watch.ended(server, signal.SIGSEGV)
    port = client.sock.getsockname()[1]
    client.close()
    echo.close()
    assert "the report is in" in server.log(), server.log()
    report = waiting(server)
    assert report.whole and "dp_fault_now" in report.stack(), report.text
    assert report.rows["signal"].startswith("SIGSEGV at address 0x18"), report.text
    assert re.search(r"round \d+, stage port 0, packets [1-9]", report.rows["worker 0"])
    frames = [h for h in report.headers() if h[34:36] == struct.pack("!H", port)]
    if not frames:
        return None
    frame = frames[0]
    assert frame[26:34] == labs.socket.inet_aton(CLIENT4) + labs.socket.inet_aton(SERVER4)
    assert struct.unpack("!HH", frame[34:38]) == (port, 3478)
    assert frame[42:] == channel_data(0x4000, MARKER)[:4], "only the header of ChannelData"
    assert_no_secret(report.text)
    print(report.text)
    return server


def bursts(lab, directory):
    """Tries several times until the marker is first. Returns the server, which has crashed."""
    for _ in range(5):
        server = burst(lab, directory)
        if server is not None:
            return server
        os.unlink(os.path.join(directory, f"crash-{lab.servers[-1].prefix}.waiting"))
    raise AssertionError("another frame was first each time")


def kinds(lab):
    """Each kind of crash, with the report on standard error."""
    for kind, number in KINDS.items():
        if labs.SANITIZED and kind == "stack":
            continue  # it has no stack here
        server = start(lab, "")
        watch.order(server, kind, worker=0)
        watch.ended(server, number)
        log = server.log()
        report = watch.Report(log[log.index("slipring crash report") :])
        assert report.whole and report.rows["signal"].startswith(number.name), report.text
        assert "stage tick" in report.rows["worker 0"], report.text
        assert "mailbox_serve" in report.stack() or kind == "stack", report.text
        assert_no_secret(report.text)
        print(f"{kind}: {number.name}, {len(report.text)} bytes")


def by_signal(lab):
    """A signal from another process ends it as usual, and the report names the sender."""
    server = start(lab, "")
    os.kill(server.process.pid, signal.SIGSEGV)
    watch.ended(server, signal.SIGSEGV)
    log = server.log()
    report = watch.Report(log[log.index("slipring crash report") :])
    assert report.whole and report.rows["signal"] == f"SIGSEGV sent by pid {os.getpid()}", report.text
    assert not report.named("frame "), report.text
    assert_no_secret(report.text)


def again(lab, server, directory):
    """The next start: the log mentions the report, and slipringctl shows it."""
    name = server.prefix
    server.start()
    socket = server.config["control"]["socket"]
    assert f"crash-{name}-" in server.log() and "the last run has crashed" in server.log(), server.log()
    assert "! the last run has crashed" in control.ctl(socket, "status")
    listed = control.ctl(socket, "crash")
    assert f"crash-{name}-" in listed and "SIGSEGV" in listed, listed
    with control.Control(socket) as client:
        (row,) = client.ask("crash")["rows"]
        lines = client.ask("crash", name=row["name"])["lines"]
        assert watch.Report("\n".join(lines)).whole
        for bad in ("../../../etc/passwd", "", "crash-x.txt"):
            assert "no such report" in client.refused("crash", name=bad)
        assert "string" in client.refused("crash", name=1)
    assert server.telemetry.ask("/slipring/watchdog")["crash_reports"] == 1
    server.stop()
    left = os.listdir(directory)
    assert left == [row["name"]], left


def no_directory(lab):
    try:
        start(lab, "/nonexistent/crashes")
    except AssertionError as error:
        assert "exited with 1" in str(error), error
    else:
        raise AssertionError("started without its directory")
    assert "/nonexistent/crashes" in lab.servers[-1].log()


def main(lab):
    labs.need_own_server()
    directory = os.path.join(lab.dir, "crashes")
    os.mkdir(directory)
    server = bursts(lab, directory)
    again(lab, server, directory)
    shutil.rmtree(directory)
    kinds(lab)
    by_signal(lab)
    no_directory(lab)


if __name__ == "__main__":
    labs.run(main)
