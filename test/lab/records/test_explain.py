#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""slipringctl explain: real clients fail for different reasons, and the operator finds cause and
advice by user name and by address. Also log levels, reopened record files, the record of an
allocation that an operator has ended, and sorting by bytes."""

import json
import os
import time

import lab as labs
from control import Control, ctl
from lab import CLIENT4, until
from turnlib import SUCCESS, Auth, rest_credentials

REST = "s3cret"
PER_USER = 2
DENIED = ("10.1.2.3", 9)
OTHER4 = "10.99.0.40"  # a client address that has sent nothing


def known(ask, reason, **whom):
    """Waits until the newest attempt has this reason. Returns the answer."""

    def there():
        answer = ask.ask("explain", **whom)
        return answer["rows"] and answer["rows"][0].get("why") == reason and answer

    return until(there, 15, f"{reason} of {whom}")


def page(path, *whom):
    """The printed form: 80 columns, with the cause at the end, in one sentence."""
    text = ctl(path, "explain", *whom)
    assert all(len(line) <= 80 for line in text.splitlines()), text
    body, _, cause = text.rpartition("\n\n")
    assert body and cause.startswith("likely cause ("), text
    return body, " ".join(cause.split())


def fails(lab, ask, path, name, auth, reason, code, advice, ip):
    """A client whose allocation is refused, found by user and by address."""
    lab.add_address(lab.cli, "c0", ip)
    client = lab.client(auth, ip=ip)
    assert client.allocate().code == code
    for whom in ({"user": name}, {"source": ip}):
        answer = known(ask, reason, **whom)
        row = answer["rows"][answer["row"]]
        assert (row["why"], row["code"], row["method"]) == (reason, code, "Allocate"), row
        assert row["user"] == auth.user and row["transport"] == "udp" and row["proved"], row
        assert row["client"] == "%s:%d" % client.sock.getsockname()[:2], row
        assert 0 <= row["ago"] <= 30 * labs.SLOW and row["times"] == 1, row
        assert advice in answer["advice"] and advice in row["advice"], answer
        body, cause = page(path, *whom.values())
        assert f"answered {code}: {reason}" in body and row["client"] in body, body
        assert advice in cause and f"{row['time'][11:19]}, {row['user']})" in cause, cause


def failures(lab, ask, path):
    soon = int(time.time()) + 600
    fails(lab, ask, path, "nobody", Auth("nobody", "pw"), "user-unknown", 401,
        "auth.users", "10.99.0.41")  # fmt: skip
    fails(lab, ask, path, "ivan", Auth("ivan", "wrong"), "password-wrong", 401,
        "correct the password", "10.99.0.42")  # fmt: skip
    fails(lab, ask, path, "anna", Auth(*rest_credentials(REST, time.time() - 60, "anna")),
        "rest-expired", 401, "new credentials", "10.99.0.43")  # fmt: skip
    full = lambda: Auth(*rest_credentials(REST, soon, "full"))
    for _ in range(PER_USER):
        assert lab.client(full()).allocate().cls == SUCCESS
    fails(lab, ask, path, "full", full(), "quota-user", 486, "raise the limit", "10.99.0.44")


def peers(lab, ask, path):
    """The allocation is made, and the peer denied. Another user at the address makes no difference."""
    ip = "10.99.0.45"
    lab.add_address(lab.cli, "c0", ip)
    client = lab.client(Auth("olga", "geheim"), ip=ip)
    assert client.allocate().cls == SUCCESS
    for whom in ({"user": "olga"}, {"source": ip}):
        answer = until(lambda whom=whom: (a := ask.ask("explain", **whom)) and
            a["rows"] and a["rows"][0]["event"] == "made" and a, 15, "made")  # fmt: skip
        assert "nothing is wrong" in answer["advice"], answer
    assert client.permit(DENIED).code == 403
    for whom in ({"user": "olga"}, {"source": ip}):
        answer = known(ask, "peer-denied", **whom)
        assert answer["rows"][0]["peer"].startswith(DENIED[0]), answer
        assert any(row["event"] == "made" for row in answer["rows"]), answer
        assert "peers.allow" in answer["advice"], answer
    body, cause = page(path, "olga")
    assert f"CreatePermission for peer {DENIED[0]}" in body and "made" in body, body
    assert "peers.allow" in cause, cause
    return client


def killed(ask, path, file, client):
    """explain and the record say that an operator ended it."""
    (row,) = ask.ask("allocations", user="olga")["rows"]
    assert ask.ask("kill", id=row["id"])["killed"] == 1
    assert client.refresh().code == 437
    known(ask, "no-allocation", user="olga")
    answer = ask.ask("explain", user="olga")
    assert answer["rows"][answer["row"]]["why"] == "killed", answer
    assert "operator" in page(path, "olga")[1]

    def recorded():
        return [r for r in labs.records(file) if r["event"] == "ended" and r["id"] == row["id"]]

    (ended,) = until(recorded, 15, "the record of the end")
    assert ended["why"] == "killed", ended


def nothing(ask, path):
    """No attempt is known: the answer has advice. Invalid requests get an error."""
    for whom in ("who", OTHER4, "fd99::77"):
        text = " ".join(ctl(path, "explain", whom).split())
        for word in ("nothing is known", "drops", "records", "limits."):
            assert word in text, text
    assert ask.ask("explain", user="who")["rows"] == []
    assert ask.refused("explain").startswith("say whom")
    assert ask.refused("explain", user="ivan", source=CLIENT4).startswith("say whom")
    assert ask.refused("explain", source="10.99.0.0/24").startswith("source:")
    assert ask.refused("explain", user="%zz").startswith("user:")
    assert ask.refused("explain", user="ivan", rows=65).startswith("rows:")
    assert len(ask.ask("explain", user="full", rows=1)["rows"]) == 1
    assert "say whom" in ctl(path, "explain", code=2)
    lines = ctl(path, "explain", "nobody", "--json").splitlines()
    assert json.loads(lines[0])["rows"][0]["why"] == "user-unknown", lines
    assert "nothing is known" in ctl(path, "explain", "--user", OTHER4)


def logs(ask, server, path, file):
    """Levels are set at run time. Record files are reopened."""
    rows = {row["area"]: row for row in ask.ask("log")["rows"]}
    assert rows["auth"]["level"] == "info" and rows["auth"]["lines"] >= 4, rows
    text = ctl(path, "log", "sessions", "debug")
    assert any(line.split()[:2] == ["sessions", "debug"] for line in text.splitlines()), text
    until(lambda: "area sessions from level info to debug" in server.log(), 5, "it is logged")
    assert '"area":"sessions"' in server.log() and "by order" in server.log()
    assert "sessions" in ctl(path, "log", "colour", "debug", code=1)
    assert "warning" in ctl(path, "log", "auth", "colour", code=1)
    ctl(path, "log", "auth", code=2)
    assert ask.refused("log", area="auth").startswith("level:")
    assert ask.refused("log", reopen=1).startswith("reopen:")
    assert ask.refused("log", reopen=True, area="auth").startswith("reopen:")
    before = ask.ask("records")
    assert before["file"] == file and before["written"] >= 4 and before["lost"] == 0, before
    assert file in ctl(path, "records")
    files = file, labs.refusals(file)
    assert files == (before["file"], before["refusals"]) and files[1] in ctl(path, "records")
    for name in files:
        os.rename(name, name + ".old")
    assert file in ctl(path, "log", "reopen")
    until(lambda: all(os.path.exists(name) for name in files), 10, "new files")


def by_bytes(lab, ask, path):
    """Sorted by bytes, a few long datagrams come before many short ones. show has both legs and
    losses."""
    echo = lab.echo()
    few, many = lab.client(Auth(*rest_credentials(REST, time.time() + 600, "few"))), lab.client()
    for client, count, size in ((few, 5, 1000), (many, 50, 10)):
        assert client.allocate().cls == SUCCESS
        assert client.bind(0x4001, echo.address).cls == SUCCESS
        for _ in range(count):
            client.send_channel(0x4001, bytes(size))
            assert client.wait("channel")
    few.send(("10.99.0.77", 9), b"nobody has permitted it")
    first = lambda command, sort: ask.ask(command, sort=sort)["rows"][0]
    assert first("users", "bytes")["user"] == "few"
    assert first("users", "bytes")["bytes"] == 2 * 5000, first("users", "bytes")
    assert first("users", "datagrams")["user"] == "ivan"
    row = first("allocations", "bytes")
    assert (row["rx"], row["rx_bytes"], row["tx_bytes"]) == (5, 5000, 5000), row
    assert first("allocations", "datagrams")["user"] == "ivan"
    text = ctl(path, "allocations", "--sort", "bytes", "--rows", "1")
    assert "RX-B" in text and "5.0k" in text, text
    shown = lambda: " ".join(ctl(path, "show", row["id"]).split())
    until(lambda: "lost 1 permission" in shown(), 5, "the loss is shown")
    assert "from client 5 datagrams, 5000 bytes" in shown(), shown()
    assert "from peers 5 datagrams, 5000 bytes" in shown(), shown()


def main(lab):
    labs.need_own_server()
    path = os.path.join(lab.dir, "control.sock")
    file = os.path.join(lab.dir, "records.json")
    users = [{"name": "ivan", "password": "pw"}, {"name": "olga", "password": "geheim"}]
    config = {
        "control": {"socket": path},
        "records": {"file": file},
        "auth": {"realm": "turn.test", "users": users, "secrets": [REST]},
        "limits": {"per-user": PER_USER},
    }
    server = lab.server(config, allow={"no-permission", "peer-no-permission"})
    with Control(path) as ask:
        failures(lab, ask, path)
        client = peers(lab, ask, path)
        killed(ask, path, file, client)
        nothing(ask, path)
        logs(ask, server, path, file)
        by_bytes(lab, ask, path)


if __name__ == "__main__":
    labs.run(main)
