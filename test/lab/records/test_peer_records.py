#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Records of peers: one for each new permission or channel of an allocation, none for a refresh,
with as much of the address as records.peers says, also after a reload. slipringctl finds them. A
flood of permissions leaves the records of sessions whole, and those of another user's peers. Old
records are removed.
"""

import json
import os
import time

import control
import lab as labs
import rereads
from lab import until
from turnlib import SUCCESS, Auth

USERS = [{"name": name, "password": "pw"} for name in ("ivan", "olga")]
FLOOD = [f"10.99.0.{host}" for host in range(20, 250)]


def config(path, peers):
    return {
        "auth": {"realm": "lab.example", "users": USERS},
        "records": {"file": path, "peers": peers},
    }


def peers_file(path):
    stem, dot = os.path.splitext(path)
    return f"{stem}-peers{dot}"


def allocation(lab, path, user):
    """A client with an allocation, and the record of that."""
    client = lab.client(Auth(user, "pw"))
    assert client.allocate().cls == SUCCESS
    address = "%s:%d" % client.sock.getsockname()[:2]
    found = lambda: [r for r in labs.lines_of(path) if r["event"] == "made" and r["client"] == address]
    return client, until(found, 15, f"the record of {user}")[0]


def peers_of(path, made):
    return [row["peer"] for row in labs.lines_of(peers_file(path)) if row["id"] == made["id"]]


def answered(relay, *args):
    """Answers of slipringctl to a report of abuse from a relayed address, now."""
    now = f"{time.time():.3f}"
    words = (relay, now, "--within", "2", "--json", *args)
    out = labs.command(control.PROGRAM, "who", *words, check=False)
    return [json.loads(line) for line in out.splitlines()]


def report(path, made):
    """The abuse desk asks for an allocation that lives."""
    file = ("--file", path)
    (row,) = answered(made["relay"], *file)
    for field in ("id", "user", "realm", "client", "relay"):
        assert row[field] == made[field], (row, made)
    assert "ended" not in row and row["peers"] == ["10.99.0.20", "10.99.0.21", "10.99.0.22"], row
    assert answered(made["relay"], "--peer", "10.99.0.22", *file) == [row]
    assert answered(made["relay"], "--peer", "10.99.0.23", *file) == []
    all_there = answered(made["relay"].rpartition(":")[0], *file)
    assert row["id"] in [one["id"] for one in all_there]


def few(lab, path):
    client, made = allocation(lab, path, "ivan")
    for _ in range(2):
        assert client.permit("10.99.0.20", "10.99.0.21").cls == SUCCESS
        assert client.bind(0x4000, ("10.99.0.20", 7000)).cls == SUCCESS
        assert client.bind(0x4001, ("10.99.0.22", 7000)).cls == SUCCESS
    until(lambda: len(peers_of(path, made)) == 3, 15, "three peers")
    report(path, made)
    assert client.refresh(0).cls == SUCCESS
    until(lambda: any(r["event"] == "ended" for r in labs.lines_of(path)), 15, "the end")
    assert peers_of(path, made) == ["10.99.0.20", "10.99.0.21", "10.99.0.22"], peers_of(path, made)
    row = labs.lines_of(peers_file(path))[0]
    assert row["event"] == "peer" and "lost" not in row and "lifetime" not in row, row
    for field in ("user", "realm", "client", "transport", "worker", "relay"):
        assert row[field] == made[field], (field, row, made)
    assert all(r["event"] != "peer" for r in labs.lines_of(path)), "a peer among the sessions"


def flood(lab, server, path):
    """Permissions made and dropped, as many as a request can have: a part of them is recorded."""
    ended = lambda: sum(r["event"] == "ended" for r in labs.lines_of(path))
    before = ended()
    for _ in range(8):
        client = lab.client(Auth("ivan", "pw"))
        assert client.allocate().cls == SUCCESS
        for i in range(0, len(FLOOD), 60):
            assert client.permit(*FLOOD[i : i + 60]).cls == SUCCESS
        assert client.refresh(0).cls == SUCCESS
    olga, made = allocation(lab, path, "olga")
    assert olga.permit("10.99.0.33").cls == SUCCESS
    until(lambda: peers_of(path, made) == ["10.99.0.33"], 15, "the other user's peer")
    until(lambda: ended() == before + 8, 15, "all sessions")
    stats = server.stats()
    assert stats["peers_untold"] > 0 and stats["session_events_lost"] == 0, stats


def reload(lab, server, path):
    """A reload changes what new peers leave."""
    for peers, wanted in (("network", ["10.99.0.0/24"]), ("none", []), ("address", ["10.99.0.20"])):
        rereads.reload(server, config(path, peers))
        client, made = allocation(lab, path, "olga")
        assert client.permit("10.99.0.20").cls == SUCCESS
        assert client.refresh(0).cls == SUCCESS
        until(lambda made=made: any(r["event"] == "ended" and r["id"] == made["id"]
            for r in labs.lines_of(path)), 15, "the end")  # fmt: skip
        until(lambda made=made, wanted=wanted: peers_of(path, made) == wanted, 15, f"{peers}: {wanted}")


def hidden(lab, server, path):
    """A reload hides the addresses of clients; records are numbered without a gap."""
    rereads.reload(server, {"records": {"addresses": "network"}})
    client = lab.client(Auth("olga", "pw"))
    assert client.allocate().cls == SUCCESS and client.refresh(0).cls == SUCCESS
    found = lambda: [r for r in labs.lines_of(path) if r["client"] == "10.99.0.0/24"]
    until(lambda: len(found()) == 2, 15, "networks in place of addresses")
    assert [row["event"] for row in found()] == ["made", "ended"], found()
    for file in (path, peers_file(path)):
        numbers = [row["seq"] for row in labs.lines_of(file)]
        assert numbers == list(range(1, len(numbers) + 1)), numbers


def aged(lab, server, path):
    """A reload limits the age of records: all of these are too old soon."""
    old = labs.lines_of(path)[0]["time"]
    rereads.reload(server, {"records": {"max-age": 6}})
    files = lambda: [f"{path}.{i}" for i in range(1, 6)] + [path]
    times = lambda: [row["time"] for file in files() for row in labs.lines_of(file)]
    until(lambda: os.path.exists(path + ".1"), 30, "it is rotated by time")
    until(lambda: old not in times(), 30, "it is removed")


def main(lab):
    labs.need_own_server()
    path = os.path.join(lab.dir, "records.json")
    server = lab.server(config(path, "address"))
    few(lab, path)
    flood(lab, server, path)
    reload(lab, server, path)
    hidden(lab, server, path)
    aged(lab, server, path)
    server.stop()


if __name__ == "__main__":
    labs.run(main)
