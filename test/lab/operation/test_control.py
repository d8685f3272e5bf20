#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: allocations must be gone within 100 ms of an order
# long: unit tests ask the same commands under ASan
"""The control socket and slipringctl: each answer is correct, orders are carried out, and
misbehaving clients of the socket do not affect others."""

import contextlib
import json
import os
import re
import resource
import socket
import stat
import statistics
import subprocess
import time

import control
import lab as labs
import streams
import turnlib
from control import Control, ctl
from lab import CLIENT4, CLIENT6, PEER4
from server import BINARY
from turnlib import SUCCESS

CONNECTIONS = 64
WORDS = "status allocations users ports workers steering neighbours drops log records".split()


def rest_user(name):
    user, password = turnlib.rest_credentials("s3cret", int(time.time()) + 3600, name)
    return turnlib.Auth(user, password)


def people(lab):
    """Clients of two users, one of them by REST, too, over UDP and TCP, with peers and traffic."""
    echo = lab.echo(PEER4)
    all_of = {
        "ivan4": lab.client(),
        "ivan6": lab.client(ip=CLIENT6),
        "olga": lab.client(auth=turnlib.Auth("olga", "geheim")),
        "rest": lab.client(auth=rest_user("ivan")),
        "tcp": streams.client(lab),
    }
    for client in all_of.values():
        assert client.allocate().cls == SUCCESS
    assert all_of["ivan4"].bind(0x4001, echo.address).cls == SUCCESS
    assert all_of["olga"].permit("10.99.0.77").cls == SUCCESS
    for i in range(20):
        all_of["ivan4"].send_channel(0x4001, b"%d" % i)
        assert all_of["ivan4"].wait("channel")
    return all_of, echo


def relays(rows):
    return {row["relay"] for row in rows}


def relay_of(client):
    ip, port = client.relayed[:2]
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def listed(ask, people_by_name, echo):
    """allocations and users: every filter, page and order."""
    rows = ask.all("allocations")
    assert relays(rows) == {relay_of(c) for c in people_by_name.values()}, rows
    by_relay = {row["relay"]: row for row in rows}
    row = by_relay[relay_of(people_by_name["ivan4"])]
    assert (row["user"], row["transport"], row["peers"], row["channels"]) == ("ivan", "udp", 1, 1)
    assert (row["rx"], row["tx"]) == (20, 20), row
    assert 0 < row["expires"] <= 600 and row["age"] <= 60, row
    for size in (1, 2, 3, 512):
        assert relays(ask.all("allocations", rows=size)) == relays(rows), size

    def those(*names, **fields):
        wanted = {relay_of(people_by_name[name]) for name in names}
        found = ask.all("allocations", **fields)
        assert relays(found) == wanted and len(found) == len(wanted), (fields, found)

    those("ivan4", "ivan6", "rest", "tcp", user="ivan")
    those("olga", user="olga")
    those("rest", "ivan4", "ivan6", "tcp", user=people_by_name["rest"].auth.user)
    those(user="nobody")
    those("tcp", transport="tcp")
    those("ivan4", "ivan6", "olga", "rest", transport="udp")
    those("ivan6", client="fd99::/64")
    those("olga", peer="10.99.0.77")
    those("ivan4", peer=echo.address[0])
    those("ivan4", peer="%s:%d" % echo.address)
    those(peer="10.99.0.77:5000")
    those("ivan4", user="ivan", peer=echo.address[0], client=CLIENT4)
    workers = [ask.all("allocations", worker=w) for w in (0, 1)]
    assert relays(workers[0]) | relays(workers[1]) == relays(rows)
    assert all(row["worker"] == w for w in (0, 1) for row in workers[w])

    for sort in ("datagrams", "bytes"):
        assert ask.ask("allocations", sort=sort, rows=1)["rows"][0]["relay"] == row["relay"], sort
    ages = [r["age"] for r in ask.all("allocations", sort="age", rows=2)]
    assert len(ages) == len(rows) and ages == sorted(ages, reverse=True), ages
    users = {row["user"]: row["allocations"] for row in ask.all("users")}
    assert users == {"ivan": 4, "olga": 1}, users
    assert ask.ask("users")["users"] == 2
    return by_relay


def rated(ask, client, second):
    """Sorted by a rate: the client that relays now is first, with about its rate."""
    end = time.monotonic() + 2.5
    sent = []  # times of the datagrams
    with contextlib.closing(client), contextlib.closing(second):
        client.sock.sendall(b'{"v":1,"cmd":"allocations","sort":"rate","rows":1}\n')
        second.sock.sendall(b'{"v":1,"cmd":"users","sort":"bitrate","rows":1}\n')
        while time.monotonic() < end:
            ask.send_channel(0x4001, b"rate")
            assert ask.wait("channel")
            sent.append(time.monotonic())
        (row,) = client.line()["rows"]
        (user,) = second.line()["rows"]
    assert row["relay"] == relay_of(ask), row
    # The server measured over a second or more of these; no other client is as fast in any second.
    starts = [sent[0] + 0.1 * n for n in range(int(10 * (sent[-1] - sent[0] - 1)) + 1)]
    each = [2 * sum(t <= u < t + 1 for u in sent) for t in starts]
    seen = lambda rate: min(each) / 2 <= rate <= 2 * max(each) and rate > 0
    assert seen(row["rate"]), (row["rate"], min(each), max(each))
    assert (user["user"], user["allocations"]) == ("ivan", 4), user
    assert seen(user["bitrate"] / (8 * len("rate"))), (user, min(each), max(each))


def shown(ask, row, echo):
    """show: permissions and channels with the lifetimes of RFC 8656 9 and 12."""
    answer = ask.ask("show", id=row["id"])["allocation"]
    assert answer["relay"] == row["relay"] and answer["id"] == row["id"]
    (permission,), (channel,) = answer["permissions"], answer["bound"]
    assert permission["peer"] == echo.address[0] and 300 < permission["left"] <= 600, permission
    assert permission["port"] == "wan" and permission["via"] == echo.address[0], permission
    assert channel["peer"] == "%s:%d" % echo.address and channel["channel"] == "0x4001", channel
    assert 300 < channel["left"] <= 600, channel
    assert answer["way"] == {"port": "wan", "via": CLIENT4}, answer["way"]
    for wrong in ("1", str(2**64 - 1), int(row["id"]) % 2**32):
        assert "no such allocation" in ask.refused("show", id=wrong), wrong


def boxed(lab, ask, server, echo):
    """Status commands, compared with telemetry and the wire."""
    status = ask.ask("status")
    stats = server.stats()
    assert status["allocations"] == stats["allocations"] == 5, (status, stats)
    assert status["links"] == [{"port": "wan", "up": True}], status
    assert status["pid"] == server.process.pid and status["realm"] == "turn.test", status
    assert len(status["load"]) == 2 and status["control"]["connections"] == 1, status
    (port,) = ask.ask("ports")["rows"]
    assert (port["port"], port["link"], port["mac"]) == ("wan", "up", labs.DUT_MAC), port
    workers = ask.ask("workers")["rows"]
    assert [w["worker"] for w in workers] == [0, 1]
    assert sum(w["allocations"] for w in workers) == 5, workers
    steering = ask.ask("steering")["rows"]
    assert {(s["port"], s["family"]) for s in steering} == {("wan", "ipv4"), ("wan", "ipv6")}
    peer = [n for w in (0, 1) for n in ask.all("neighbours", worker=w, rows=2)]
    found = {n["mac"] for n in peer if n["address"] == echo.address[0]}
    assert found == {labs.MAC.format(3)}, peer
    assert set(row["cmd"] for row in ask.ask("help")["rows"]) >= {*WORDS, "show", "kill", "help"}


def dropped(lab, ask, relayed):
    """A provoked drop is counted under its name, with its meaning."""
    before = {r["drop"]: r["count"] for r in ask.ask("drops", all=True)["rows"]}
    with contextlib.closing(lab.cli.udp(CLIENT4)) as stranger:
        for _ in range(7):
            stranger.sendto(b"no permission", relayed)
    now = lambda: {r["drop"]: r for r in ask.ask("drops")["rows"]}.get("peer-no-permission")
    row = labs.until(lambda: (r := now()) and r["count"] >= 7 and r, 3, "the drops are counted")
    assert row["count"] - before["peer-no-permission"] == 7, row
    assert "permission" in row["meaning"] and row["advice"], row


def killed(ask, people_by_name, rows):
    """An order takes effect at once: the client's next request gets 437 (RFC 8656 5)."""
    took = []

    def gone(client, answer, begin):
        assert client.refresh(600).code == 437
        took.append(time.monotonic() - begin)
        return answer["killed"]

    begin = time.monotonic()
    row = rows[relay_of(people_by_name["ivan6"])]
    assert gone(people_by_name["ivan6"], ask.ask("kill", id=row["id"]), begin) == 1
    assert ask.ask("kill", id=row["id"])["killed"] == 0
    assert people_by_name["ivan4"].refresh(600).cls == SUCCESS
    begin = time.monotonic()
    assert gone(people_by_name["olga"], ask.ask("kill", user="olga"), begin) == 1
    begin = time.monotonic()
    assert gone(people_by_name["tcp"], ask.ask("kill", user="ivan"), begin) == 3
    assert people_by_name["rest"].refresh(600).code == 437
    assert people_by_name["tcp"].allocate().cls == SUCCESS, "the connection still exists"
    assert people_by_name["ivan4"].allocate().cls == SUCCESS
    begin = time.monotonic()
    assert gone(people_by_name["ivan4"], ask.ask("kill", source=CLIENT4 + "/32"), begin) == 2
    assert people_by_name["ivan4"].allocate().cls == SUCCESS
    assert people_by_name["ivan4"].permit("10.99.0.77").cls == SUCCESS
    for peer in ("10.99.0.78", "10.99.0.77:5000"):
        assert ask.ask("kill", peer=peer)["killed"] == 0, peer
    begin = time.monotonic()
    assert gone(people_by_name["ivan4"], ask.ask("kill", peer="10.99.0.77"), begin) == 1
    assert ask.ask("allocations")["rows"] == []
    # one of them may have waited for a CPU
    assert statistics.median(took) < 0.1 * labs.SLOW and max(took) < 2 * labs.SLOW, took


def wrong(path):
    """Invalid requests get an error. A client that sends nothing else is disconnected."""
    with Control(path) as one:
        for fields, word in (
            ({"user": 5}, "user:"),
            ({"user": "%zz"}, "user:"),
            ({"client": "10.0.0.0/40"}, "client:"),
            ({"peer": "host"}, "peer:"),
            ({"peer": "10.99.0.77:0"}, "peer:"),
            ({"transport": "sctp"}, "transport:"),
            ({"worker": 2}, "worker:"),
            ({"page": -1}, "page:"),
            ({"rows": 513}, "rows:"),
            ({"rows": 0}, "rows:"),
            ({"sort": "colour"}, "sort:"),
            ({"sort": "age", "page": 4000}, "page:"),
            ({"usr": "ivan"}, "usr:"),
        ):
            assert one.refused("allocations", **fields).startswith(word), fields
        assert one.refused("kill").startswith("say which"), "a kill needs a filter"
        assert "no such command" in one.refused("delete")
        assert "version 1" in one.refused("status", v=2)
        assert one.raw(b'{"v":2,"cmd":"status"}\n')["ok"] is False
        one.sock.sendall(b'{"cmd":"status"}\n' * 50)  # pipelined: answered one by one
        assert all(one.line()["ok"] for _ in range(50))
    for line in (b"nonsense\n", b"[1]\n", b"[" * 30000 + b"\n", b'{"a":1,"a":2}\n', b"\xff\xfe{}\n"):
        with Control(path) as one:
            for _ in range(5):
                answer = one.raw(line)
                assert answer["ok"] is False and answer["error"].startswith("no request"), answer
            assert one.line() is None, "five in a row: closed"
    with Control(path) as one:
        one.sock.sendall(b" " * 65537)
        assert "longer than" in one.line()["error"]
        assert one.line() is None
    with Control(path) as one:
        assert one.raw(b'{"cmd":"status"' + b" " * 65000 + b"}\n")["ok"]


def crowd(path, ask):
    """A thousand connections: the configured number and a few of root's are accepted, the others
    get an error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    with contextlib.ExitStack() as stack:
        all_of = []
        for _ in range(1000):
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            stack.callback(sock.close)
            sock.settimeout(20)
            labs.until(lambda s=sock: s.connect_ex(path) == 0, 5, "the backlog has room")
            all_of.append(sock)
        most = CONNECTIONS + 4 - 1  # ask has one of them
        for sock in all_of[most:]:
            answer = json.loads(sock.recv(4096))
            assert "too many connections" in answer["error"], answer
            assert sock.recv(1) == b""
        assert ask.ask("status")["control"]["refused"] >= 1000 - most
    labs.until(lambda: ask.ask("status")["control"]["connections"] == 1, 5, "all have gone")


def deaf(path, ask):
    """A client that never reads is disconnected. Others are served meanwhile."""
    with Control(path) as one:
        one.sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                one.sock.send(b'{"cmd":"drops","all":true}\n' * 100)
        slowest = 0
        begin = time.monotonic()
        while ask.ask("status")["control"]["unread"] == 0:
            assert time.monotonic() - begin < 30 * labs.SLOW, "it is closed after ten seconds"
            asked = time.monotonic()
            ask.ask("workers")
            slowest = max(slowest, time.monotonic() - asked)
            time.sleep(0.1)
        assert slowest < 1 * labs.SLOW, slowest


def program(lab, path, row):
    """slipringctl: tables of 80 columns, JSON, exit codes, advice on errors."""
    for word in (*WORDS, "show", "drops", "explain"):
        args = [word, *{"show": [row["id"]], "explain": ["ivan"]}.get(word, [])]
        args += ["--all"] if word == "drops" else []
        text = ctl(path, *args)
        assert text and "\033" not in text, word
        for line in text.splitlines():
            assert len(line) <= 80, (word, line)
        assert json.loads(ctl(path, *args, "--json"))["ok"], word
    assert "\033" in ctl(path, "allocations", "--color", "always")
    text = ctl(path, "allocations", "--user", "ivan", "--rows", "1", "--all")
    assert "more:" not in text and text.count("ivan") == 4, text
    assert "--page 1" in ctl(path, "allocations", "--rows", "1")
    assert row["client"] in ctl(path, "show", row["id"])
    assert "no such allocation" in ctl(path, "show", "1", code=1)
    assert "0 allocations" in ctl(path, "kill", "1", code=1)
    assert "say which" in ctl(path, "kill", code=2)
    ctl(path, "colour", code=2)
    assert "control.socket" in ctl(path + "x", "status", code=3)
    assert "--sort" in ctl(path, "allocations", "--help")
    mode = os.stat(path).st_mode
    assert stat.S_IMODE(mode) == 0o600 and stat.S_ISSOCK(mode), oct(mode)
    nobody = subprocess.run(
        ["setpriv", "--reuid=65534", "--clear-groups", control.for_everybody(lab), "--socket", path, "status"],
        capture_output=True, text=True, check=False
    )  # fmt: skip
    assert nobody.returncode == 3 and "control.group" in nobody.stderr, nobody


def second_server(lab, path, **keys):
    """The error of a second slipring that is configured with this socket."""
    port = {"name": "wan", "device": "net_null0", "addresses": ["10.99.0.1/24"]}
    text = {
        "eal": {"file-prefix": lab.prefix + "other", "args": "--no-huge -m 256 --no-pci".split()},
        "workers": {"count": 1},
        "ports": [port],
        "listeners": [{"transport": "udp", "address": "10.99.0.1", "port": 3478}],
        "relay": {"addresses": ["10.99.0.1"]},
        "auth": {"realm": "turn.test", "users": [{"name": "ivan", "password": "pw"}]},
        "control": {"socket": path, **keys},
    }
    file = os.path.join(lab.dir, "other.yaml")
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
        json.dump(text, out)
    done = subprocess.run([BINARY, "-c", file], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done
    return done.stderr


def main(lab):
    labs.need_own_server()
    streams.join(lab)
    path = os.path.join(lab.dir, "control.sock")
    config = {"control": {"socket": path, "connections": CONNECTIONS}}
    allow = {"peer-no-permission"}
    server = lab.server({**streams.config(lab), **config}, allow=allow)
    people_by_name, echo = people(lab)
    with Control(path) as ask:
        rows = listed(ask, people_by_name, echo)
        rated(people_by_name["ivan4"], Control(path), Control(path))
        row = rows[relay_of(people_by_name["ivan4"])]
        shown(ask, row, echo)
        boxed(lab, ask, server, echo)
        dropped(lab, ask, people_by_name["ivan4"].relayed)
        program(lab, path, row)
        killed(ask, people_by_name, rows)
        wrong(path)
        crowd(path, ask)
        deaf(path, ask)
    log = server.log()
    for text in (r'ended by order \{"v":1,"cmd":"kill","user":"olga"\} of uid 0', r"clients in all: \d+ refused, "):
        assert re.search(text, log), text
    assert "another process listens" in second_server(lab, path)
    assert os.path.exists(path), "the socket of a live process stays"
    server.kill()
    assert os.path.exists(path)
    assert "nobody listens" in ctl(path, "status", code=3)
    assert "no group" in second_server(lab, path, group="no-such-group")
    again = lab.server({"control": {"socket": path, "group": "daemon"}})
    # Telemetry answers before the control socket exists. Until then the dead process's socket is
    # there.
    access = lambda: (stat.S_IMODE(os.stat(path).st_mode), os.stat(path).st_gid)
    labs.until(lambda: os.path.exists(path) and access() == (0o660, 1), 5, "the group's socket is there")
    assert "allocations" in ctl(path, "status")
    with Control(path) as one:  # a scan in progress does not delay the stop
        one.sock.sendall(b'{"cmd":"allocations","sort":"rate"}\n')
        again.stop()
        assert one.line() is None
    assert not os.path.exists(path), "removed when the server stops"


if __name__ == "__main__":
    labs.run(main)
