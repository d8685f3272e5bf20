#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Records of refusals, with a real server: connections of real clients, each reason with its record
and its log line. The file when it is moved, its disk is full or its directory is removed. A flood
of refusals rotates no session away. No secret is in any record. test_sessions has the records of
sessions.
"""

import contextlib
import os
import stat

import dtls
import lab as labs
import rereads
import streams
from control import Control
from lab import CLIENT4, SERVER4, until
from turnlib import BINDING, REQUEST, SUCCESS, Auth, Silence, build

PASSWORD, REST, NONCE = "planted-password-0a1b", "planted-rest-secret-2c3d", "planted-nonce-4e5f"
PER_SOURCE = 4
ROTATE = 4096


def wanted(path, **fields):
    """Waits for records with these fields, and returns them."""

    def found():
        return [r for r in labs.records(path) if all(r.get(k) == v for k, v in fields.items())]

    return until(found, 15, f"a record with {fields}")


addresses = (f"10.99.0.{host}" for host in range(10, 250))


def address(lab):
    """One more socket of the client host."""
    ip = next(addresses)
    lab.add_address(lab.cli, "c0", ip)
    return ip


def garbage(lab, ip=None):
    """A refused connection from a new address. Returns the client's address and port."""
    sock = streams.connect(lab, ip=ip or address(lab))
    sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
    assert streams.is_closed(sock)
    return sock.getsockname()


def records_of(path, ip):
    """Records of a client's address."""
    return [row for row in labs.records(path) if row["client"].startswith(ip + ":")]


def refusal(lab, path, reason, provoke):
    """Returns the result of provoke(ip) and the record of the refusal. Two refusals may be folded
    into one if they share a slot (lib/stream/refused.h): then it repeats from another source.
    """
    for _ in range(5):
        ip = address(lab)
        got = provoke(ip)
        found = lambda: [row for row in records_of(path, ip) if row["why"] == reason]  # noqa: B023
        with contextlib.suppress(AssertionError):
            return got, until(found, 3, reason)[0]
    raise AssertionError(f"no record of {reason}")


def connections(lab, server, path):
    """Each failed connection has a record with client, listener and reason."""
    (ip, port), row = refusal(lab, path, "garbage", lambda ip: garbage(lab, ip))
    assert row["event"] == "connection-refused" and row["transport"] == "tcp", row
    assert row["client"] == f"{ip}:{port}", row
    assert row["time"].endswith("Z") and len(row["time"]) == len("2026-01-02T03:04:05.678Z"), row
    assert "times" not in row and "user" not in row, row
    until(lambda: f"auth: {ip}:{port} (tcp): connection refused: garbage" in server.log(), 5,
        "the line in the log")  # fmt: skip

    def half(ip):
        sock = streams.connect(lab, "tls", ip=ip)
        sock.sendall(b"\x16\x03\x01\0\x05hello")
        assert streams.is_closed(sock)

    _, row = refusal(lab, path, "handshake-failed", half)
    assert row["transport"] == "tls", row

    def too_many(ip):
        before = streams.counters(server)["refused_source"]
        held = [streams.client(lab, ip=ip) for _ in range(PER_SOURCE)]
        assert all(client.binding().cls == SUCCESS for client in held)
        for _ in range(8):
            assert streams.refused(lab, ip)
        return ip, held, before

    (ip, held, before), first = refusal(lab, path, "connections-source", too_many)
    assert first["transport"] == "tcp", first
    # one at once, and the others as a count 10 s later
    rows = until(lambda: len(found := records_of(path, ip)) >= 2 and found, 15, "the others")
    told = sum(row.get("times", 1) for row in rows)
    counted = streams.counters(server)["refused_source"] - before
    assert told == counted, (told, counted, rows)
    for client in held:
        client.close()


def datagrams(lab, path, control):
    """DTLS refusals of workers, also in explain: only a client with a valid cookie is marked as
    proved."""
    sock = lab.cli.udp(CLIENT4)
    hello = b"\x01\0\0\x20" + bytes(5) + b"\0\0\x20" + bytes(32)  # too short for a ClientHello
    for reason, message in (
        ("dtls-plain", build(REQUEST, BINDING)),
        ("dtls-unknown", b"\x17\xfe\xfd" + bytes(9) + b"\x10" + bytes(16)),
        ("dtls-hello", b"\x16\xfe\xff" + bytes(9) + bytes([len(hello)]) + hello),
    ):
        sock.sendto(message, (SERVER4, dtls.PORT))
        (row,) = wanted(path, **{"why": reason})
        assert row["event"] == "connection-refused" and row["transport"] == "dtls", row
        assert row["client"] == f"{CLIENT4}:{sock.getsockname()[1]}", row
        assert row["proved"] is False, row

    def refused():
        with contextlib.suppress(Silence):  # a refused client retransmits for some seconds
            dtls.client(lab, CLIENT4, dtls.PORT).close()
        return [row for row in labs.records(path) if row.get("why") == "dtls-rate"]

    row = until(refused, 20, "handshakes are refused")[0]
    assert row["transport"] == "dtls" and row["proved"] is True, row
    with Control(control) as ask:
        rows = ask.ask("explain", source=CLIENT4, rows=64)["rows"]
    found = {row["why"]: row for row in rows if row["event"] == "connection-refused"}
    for reason in ("dtls-plain", "dtls-unknown", "dtls-hello", "dtls-rate"):
        row = found[reason]
        assert row["proved"] is (reason == "dtls-rate") and row["text"] and row["advice"], row


def recorded(lab, path):
    """Waits until refusals have records in a file. One of these suffices, as two of them may be
    folded into one."""
    used = []

    def again():
        used.append(garbage(lab)[0])
        return any(records_of(path, ip) for ip in used)

    until(again, 15, "records come", pause=0.3)
    return used


def the_file(lab, server, path):
    """The file is moved, and its directory is removed and restored."""
    file, moved = labs.refusals(path), labs.refusals(path) + ".moved"
    os.rename(file, moved)
    until(lambda: os.path.exists(file), 15, "a new file")
    used = recorded(lab, path)
    assert not any(row["client"].startswith(f"{ip}:") for row in labs.lines_of(moved) for ip in used)
    os.remove(moved)

    log = os.path.dirname(path)
    os.rename(log, log + "-away")
    until(lambda: "records are lost until that is fixed" in server.log(), 15, "it is logged")
    before = server.telemetry.ask("/slipring/records")["lost"]

    def lost():
        garbage(lab)
        return server.telemetry.ask("/slipring/records")["lost"] > before

    until(lost, 15, "it is counted", pause=0.3)
    os.rename(log + "-away", log)
    # The thread checks the path once a second. Earlier records are lost, and counted.
    recorded(lab, path)
    until(lambda: "is written again" in server.log(), 5, "that is told")


def full(lab, server, path):
    """A full disk: the server serves, and the file continues once there is space."""
    ballast = os.path.join(os.path.dirname(path), "ballast")
    free = os.statvfs(os.path.dirname(path))
    with open(ballast, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize)
    before = server.telemetry.ask("/slipring/records")["lost"]
    for _ in range(120):
        garbage(lab)
        with streams.client(lab) as client:
            assert client.binding().cls == SUCCESS
        if server.telemetry.ask("/slipring/records")["lost"] > before:
            break
    else:
        raise AssertionError("no record was lost")
    os.remove(ballast)
    recorded(lab, path)


def flood(lab, config):
    """Strangers are refused until the first refusal is rotated away. The records of an earlier
    session remain, in a file that refusals do not rotate. A reload has opened that file."""
    path = os.path.join(lab.dir, "flood.json")
    kept = {"file": path, "rotate": ROTATE, "keep": 1}
    server = lab.server({**config, "records": {**kept, "refusals": False}})
    assert not os.path.exists(labs.refusals(path))
    rereads.reload(server, {"records": {"refusals": True}})
    client = lab.client(Auth("ivan", PASSWORD))
    assert client.allocate().cls == SUCCESS and client.refresh(0).cls == SUCCESS
    wanted(path, event="ended")
    before, files = labs.lines_of(path), (labs.refusals(path), labs.refusals(path) + ".1")
    assert [row["event"] for row in before] == ["made", "ended"], before
    first, _ = garbage(lab)
    until(lambda: records_of(path, first), 5, "the first stranger")
    strangers = lambda: [row for file in files for row in labs.lines_of(file)]

    def rotated():
        garbage(lab)
        return not any(row["client"].startswith(f"{first}:") for row in strangers())

    until(rotated, 30, "the first stranger is rotated away", pause=0)
    # A file that is rotated away is absent until its next record is written.
    until(lambda: all(map(os.path.exists, files)), 5, "both files are there")
    assert all(os.path.getsize(file) <= ROTATE for file in files)
    assert labs.lines_of(path) == before and not os.path.exists(path + ".1")
    server.stop()


def main(lab):
    labs.need_own_server()
    streams.join(lab)
    disk = os.path.join(lab.dir, "disk")
    os.mkdir(disk)
    labs.command("mount", "-t", "tmpfs", "-o", "size=96k", "none", disk)
    lab.cleanup.callback(labs.command, "umount", "-l", disk, check=False)
    path = os.path.join(disk, "log", "records.json")
    os.mkdir(os.path.dirname(path))
    config = streams.config(lab, ("tcp", "tls"), **{"per-source": PER_SOURCE})
    config["auth"] = {
        "realm": "planted.realm",
        "users": [{"name": "ivan", "password": PASSWORD}],
        "secrets": [REST],
        "nonce": {"secret": NONCE},
    }
    config["records"] = {"file": path}
    control = os.path.join(lab.dir, "control.sock")
    config["control"] = {"socket": control}
    config["limits"] = {"handshakes": {"rate": 4, "burst": 4}}
    config["listeners"].append({"transport": "dtls", "address": SERVER4, "port": dtls.PORT})
    allow = {f"dtls-{name}" for name in ("plain", "unknown", "hello", "rate")}
    server = lab.server(config, allow=allow)
    assert stat.S_IMODE(os.stat(path).st_mode) & ~0o640 == 0, oct(os.stat(path).st_mode)
    connections(lab, server, path)
    datagrams(lab, path, control)
    the_file(lab, server, path)
    full(lab, server, path)
    with open(labs.refusals(path)) as file:
        written = file.read() + server.log()
    assert "planted.realm" not in written  # not secret, but never recorded
    for text in (PASSWORD, REST, NONCE):
        assert text not in written, text
    server.stop()
    flood(lab, config)


if __name__ == "__main__":
    labs.run(main)
