#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reload of a running server: users, secrets, quotas and peers change, and calls that remain
allowed continue. If the file has an error or a change that needs a restart, nothing changes."""

import json
import os
import signal

import control
import lab as labs
import turnlib
from lab import PEER4, SERVER4, until
from rereads import reload, write
from turnlib import SUCCESS


def client_of(lab, name, password, echo):
    client = lab.client(turnlib.Auth(name, password))
    assert client.allocate().cls == SUCCESS
    assert client.bind(0x4000, echo.address).cls == SUCCESS
    return client


def relays(client):
    client.send_channel(0x4000, b"media")
    return client.wait("channel", timeout=1) == ("channel", 0x4000, b"media")


USERS = [{"name": "ivan", "password": "pw"}, {"name": "olga", "password": "first-of-olga"}]


def users(lab, server, echo):
    ivan = client_of(lab, "ivan", "pw", echo)
    olga = client_of(lab, "olga", "first-of-olga", echo)
    line = reload(server, {"auth": {"users": [*USERS, {"name": "petr", "password": "of-petr"}]}})
    assert "1 change is in use; 0 allocations ended" in line, line
    assert "reload: auth.users[petr]: new" in server.log()
    petr = client_of(lab, "petr", "of-petr", echo)
    line = reload(server, {"auth": {"users": [USERS[0], {"name": "petr", "password": "of-petr"}]}})
    assert "1 change is in use; 1 allocation ended" in line, line
    assert not relays(olga), "olga's allocation has ended"
    assert olga.refresh().code == 401, "and the user is unknown"
    for client in (ivan, petr):
        assert relays(client) and client.refresh().cls == SUCCESS
    line = reload(server, {"auth": {"users": [USERS[0], {"name": "petr", "password": "other"}]}})
    assert "auth.users[petr].password: changed" in server.log() and "of-petr" not in server.log()
    assert relays(petr) and petr.refresh().code == 401, "the password has changed"
    assert "1 allocation ended" in reload(server, {})
    return ivan


def peers(lab, server, ivan, echo):
    line = reload(server, {"peers": {"deny": [f"{PEER4}/32"]}})
    assert "1 allocation ended" in line, line
    assert ivan.refresh().code == 437
    assert ivan.allocate().cls == SUCCESS
    assert ivan.permit(echo.address).code == 403
    reload(server, {})
    assert ivan.bind(0x4000, echo.address).cls == SUCCESS and relays(ivan)


def quotas(lab, server):
    reload(server, {"limits": {"per-user": 1}})
    second = lab.client()
    assert second.allocate().code == 486
    reload(server, {"limits": {"per-user": 2}})
    assert second.allocate().cls == SUCCESS
    assert second.refresh(0).cls == SUCCESS
    second.close()
    users = {"auth": {"users": [*USERS, {"name": "petr", "password": "of-petr"}]}}
    reload(server, users)
    clients = [lab.client(turnlib.Auth("petr", "of-petr")) for _ in range(3)]
    assert [client.allocate().cls for client in clients] == [SUCCESS] * 3
    line = reload(server, {**users, "limits": {"per-user": 2}})
    assert "0 allocations ended" in line, f"{line}: existing allocations stay"
    line = reload(server, {**users, "limits": {"per-user": 1, "on-lower": "end"}})
    assert "2 allocations ended" in line, line
    assert sorted(client.refresh().code for client in clients) == [0, 437, 437]
    assert "1 allocation ended" in reload(server, {}), "with the user"
    for client in clients:
        client.close()


def externals(lab, server, ivan, echo):
    """The server's first external address is added and its last one removed: channels from before
    and after relay, and a new allocation gets the current address."""
    port, public = server.config["ports"][0], "203.0.113.1"
    assert f"{SERVER4}/24" in port["addresses"]
    translated = [
        {"address": address, "external": public} if address == f"{SERVER4}/24" else address
        for address in port["addresses"]
    ]
    before, late = lab.client(), lab.echo(PEER4)
    assert before.allocate().cls == SUCCESS and before.relayed[0] == SERVER4
    assert before.bind(0x4000, echo.address).cls == SUCCESS
    line = reload(server, {"ports": [{**port, "addresses": translated}]})
    assert "1 change is in use; 0 allocations ended" in line, line
    after = lab.client()
    assert after.allocate().cls == SUCCESS and after.relayed[0] == public
    assert after.bind(0x4000, echo.address).cls == SUCCESS
    for client in (ivan, before, after):
        assert relays(client) and client.refresh().cls == SUCCESS
        assert client.bind(0x4001, late.address).cls == SUCCESS
    assert "1 change is in use; 0 allocations ended" in reload(server, {})
    for client in (ivan, before, after):
        for channel in (0x4000, 0x4001):
            client.send_channel(channel, b"still")
            assert client.wait("channel", timeout=2) == ("channel", channel, b"still")
        assert client.refresh().cls == SUCCESS
    with lab.client() as last:
        assert last.allocate().cls == SUCCESS and last.relayed[0] == SERVER4
    for client in (before, after):
        client.close()
    late.close()


def refused(lab, server, ivan):
    """A file that cannot be applied changes nothing, not even its valid parts."""
    before = reload(server)
    assert "the file matches the running configuration" in before, before
    change = {"limits": {"per-user": 1}}
    for wrong, message in (
        ({**change, "workers": {"count": 1}, "dtls": {"sessions": 9000}}, "dtls.sessions needs a restart"),
        ({**change, "listeners": [{"address": "10.99.0.1", "port": 3479}]}, "needs a restart"),
        ({**change, "auth": {"realm": "other.test"}}, "auth.realm needs a restart"),
        ({**change, "peers": {"deny": ["10.1.2.3/99"]}}, "peers.deny"),
        ("limits: {per-user: 1}\n", "missing"),
        ("\0\1\2", "nothing has changed"),
    ):
        line = reload(server, wrong)
        assert "nothing has changed: " in line and message in line, line
        assert relays(ivan)
        assert "error" in line.split("config: ")[0], line
    os.remove(server.path)
    assert "nothing has changed: " in reload(server)
    second = lab.client()
    assert second.allocate().cls == SUCCESS, "no limit of a refused file applies"
    second.close()
    assert relays(ivan)


def program(server, path):
    """slipringctl config: the changes that a reload would make, the order for one, and its result."""
    reload(server, {})
    assert "the file matches the running configuration" in control.ctl(path, "config", "diff")
    write(server, {"limits": {"per-user": 5}, "auth": {"users": [*USERS, {"name": "a", "password": "planted-of-a"}]}})
    out = control.ctl(path, "config", "diff")
    assert "limits.per-user" in out and "auth.users[a]" in out and "restart" not in out, out
    assert max(map(len, out.splitlines())) <= 80, out
    out = control.ctl(path, "config", "reload")
    assert "2 changes are in use; 0 allocations ended" in out and "done" in out, out
    print(out)
    write(server, {"dtls": {"sessions": 9000}, "auth": {"secrets": ["planted-secret-of-this-test"]}})
    out = control.ctl(path, "config", "diff")
    assert "dtls.sessions" in out and "restart" in out and "auth.secrets" in out, out
    print(out)
    assert "planted" not in out + server.log(), "secrets are not printed"
    out = control.ctl(path, "config", "reload", code=1)
    assert "refused" in out and "dtls.sessions needs a restart, which ends calls" in out, out
    assert control.ctl(path, "config", code=0) == out
    rows = json.loads(control.ctl(path, "config", "diff", "--json"))["rows"]
    assert {row["key"]: row["restart"] for row in rows}["dtls.sessions"] is True, rows
    write(server, "{")
    assert "nothing has changed" in control.ctl(path, "config", "reload", code=1)
    reload(server, {})


def slow_file(lab, server, path):
    """A diff of a file that is slow to read delays no other client. The file is a pipe here."""
    reload(server, {})
    with open(server.path) as file:
        text = file.read()
    os.remove(server.path)
    os.mkfifo(server.path)
    with control.Control(path) as client, control.Control(path) as second:
        client.sock.sendall(b'{"v":1,"cmd":"config","do":"diff"}\n')
        assert "one at a time" in until(lambda: second.refused("config", do="diff"), 5, "it is running")
        assert second.ask("status")["allocations"] >= 0
        server.process.send_signal(signal.SIGUSR2)
        until(lambda: "SIGUSR2: no listener has a certificate" in server.log(), 10, "management continues")
        with open(server.path, "w") as pipe:
            pipe.write(text)
        answer = client.line()
        assert answer["ok"] and answer["rows"] == [] and answer["changes"] == 0, answer
    os.remove(server.path)
    write(server, {})


def main(lab):
    labs.need_own_server()
    path = os.path.join(lab.dir, "control.sock")
    server = lab.server({"auth": {"users": USERS}, "control": {"socket": path}}, allow=["no-allocation"])
    echo = lab.echo()
    ivan = users(lab, server, echo)
    peers(lab, server, ivan, echo)
    quotas(lab, server)
    externals(lab, server, ivan, echo)
    program(server, path)
    slow_file(lab, server, path)
    refused(lab, server, ivan)


if __name__ == "__main__":
    labs.run(main)
