#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Several realms with equal user names and different passwords. The server chooses the realm for
coturn's client by its ORIGIN, requests of our client mix realms, a reload adds and removes one, and
the operator can tell the realms apart."""

import os

import lab as labs
import uclient
from control import Control, ctl
from lab import PEER4, PEER6, SERVER4, SERVER6, until
from realms import challenge, client_of
from rereads import reload
from turnlib import REALM, REFRESH, SUCCESS, Auth

A = {
    "name": "a.test",
    "origins": ["https://app.a.test"],
    "users": [{"name": "ivan", "password": "of-a"}],
    "limits": {"allocations": 3},
}
B = {
    "name": "b.test",
    "origins": ["http://app.b.test:8080"],
    "users": [{"name": "ivan", "password": "of-b"}],
    "peers": {"deny": [f"{PEER4}/32"]},
}
C = {"name": "c.test", "users": [{"name": "ivan", "password": "of-c"}]}


def relays(client):
    client.send_channel(0x4000, b"media")
    return client.wait("channel", timeout=1) == ("channel", 0x4000, b"media")


def origins(lab):
    with lab.client() as client:
        for origin, realm in (
            (None, b"turn.test"),
            ("https://app.a.test", b"a.test"),
            ("HTTPS://App.A.test:443/", b"a.test"),
            ("http://app.b.test:8080", b"b.test"),
            ("http://app.b.test", b"turn.test"),
            ("https://elsewhere.test", b"turn.test"),
            ("x" * 700, b"turn.test"),
        ):
            assert challenge(client, origin).get(REALM) == realm, origin
    with lab.client(ip=labs.CLIENT6) as client:  # this listener serves only b.test
        for origin in (None, "https://app.a.test", "http://app.b.test:8080"):
            assert challenge(client, origin).get(REALM) == b"b.test", origin


def passwords(lab, echo):
    """Each is valid in its own realm, and an allocation stays in its realm."""
    first = client_of(lab, "turn.test", "pw")
    a = client_of(lab, "a.test", "of-a", "https://app.a.test")
    b = client_of(lab, "b.test", "of-b")  # selected by its REALM
    for client in (first, a, b):
        assert client.allocate().cls == SUCCESS
    for realm, password in (("a.test", "pw"), ("turn.test", "of-a"), ("b.test", "of-a")):
        with client_of(lab, realm, password) as wrong:
            answer = wrong.allocate()
            assert answer.code == 401 and answer.get(REALM) == realm.encode(), answer
    with client_of(lab, "nowhere.test", "pw") as lost:
        answer = lost.allocate()
        assert answer.code == 401 and answer.get(REALM) == b"turn.test", answer
    auth_b = Auth("ivan", "of-b", realm="b.test", nonce=a.auth.nonce)
    answer = a.exchange(a.signed(REFRESH, auth=auth_b))
    assert answer.code == 441, answer
    for client in (first, a):
        assert client.bind(0x4000, echo.address).cls == SUCCESS and relays(client)
    assert b.permit(echo.address).code == 403, "its realm denies this peer"
    return first, a


def quotas(lab, path):
    """Three in the realm, one of which exists already. Others have their own quota."""
    more = [client_of(lab, "a.test", "of-a") for _ in range(3)]
    assert [client.allocate().code for client in more] == [0, 0, 486]
    with client_of(lab, "turn.test", "pw") as bystander:
        assert bystander.allocate().cls == SUCCESS and bystander.refresh(0).cls == SUCCESS
    with Control(path) as ask:
        rows = lambda: ask.ask("explain", user="ivan", realm="a.test")["rows"]
        until(lambda: "quota-realm" in [row.get("why") for row in rows()], 10, "the reason is recorded")
    for client in more:
        if client.relayed:
            client.refresh(0)
        client.close()


def operator(path):
    """Equal names in two realms are two users, and an order must name the realm."""
    with Control(path) as ask:
        users_apart(ask, path)


def users_apart(ask, path):
    rows = {row["realm"]: row["allocations"] for row in ask.ask("users")["rows"]}
    assert rows == {"turn.test": 1, "a.test": 1, "b.test": 1}, rows
    assert "a user needs a realm" in ask.refused("allocations", user="ivan")
    rows = ask.ask("allocations", user="ivan", realm="a.test")["rows"]
    assert [row["realm"] for row in rows] == ["a.test"], rows
    assert "there is no realm of that name" in ask.refused("kill", user="ivan", realm="x.test")
    assert ask.ask("kill", user="ivan", realm="b.test")["killed"] == 1
    text = ctl(path, "allocations")
    assert "REALM" in text and "a.test" in text and "b.test" not in text, text
    assert "a.test" in ctl(path, "show", rows[0]["id"])
    reasons = lambda: [row.get("why") for row in ask.ask("explain", user="ivan", realm="b.test")["rows"]]
    until(lambda: {"killed", "peer-denied", "password-wrong"} <= set(reasons()), 10, "attempts in b.test")
    assert "of b.test at" in ctl(path, "explain", "ivan", "--realm", "b.test")
    assert [r["realm"] for r in ask.ask("status")["realms"]] == ["turn.test", "a.test", "b.test"]


def reloads(lab, server, first, a):
    assert "0 allocations ended" in reload(server, {"realms": [C, B, A]}), "in another order"
    c = client_of(lab, "c.test", "of-c")
    assert c.allocate().cls == SUCCESS
    for client in (first, a):
        assert relays(client) and client.refresh().cls == SUCCESS
    line = reload(server, {"realms": [C, B]})
    assert "1 allocation ended" in line, line
    assert "reload: realms[a.test]: removed" in server.log()
    assert not relays(a) and a.refresh().code == 401, "the user is unknown"
    assert relays(first) and c.refresh().cls == SUCCESS
    rows = lambda: labs.records(server.config["records"]["file"])
    told = lambda: [row for row in rows() if row.get("why") == "user-gone"]
    until(told, 10, "the record of the end")
    assert told()[0]["realm"] == "a.test", "it has the removed realm"
    alike = [{"name": "x" * 700 + last, "users": C["users"]} for last in "yz"]
    reload(server, {"realms": [*alike, B]})
    names = [row["realm"] for row in server.telemetry.ask("/slipring/realms")]
    assert len(set(names)) == 4, f"metrics have one label a realm: {names}"
    reload(server, {"realms": [A, B]})
    assert "there is no such realm" in reload(server, {"realms": [A]}), "the listener's"
    assert relays(first)


def real_clients(lab):
    """coturn's client knows no realm: the server chooses by its ORIGIN."""
    uclient.start_peer(lab)
    runs = [
        uclient.start(lab, label, SERVER4, PEER6, *options, messages=5,
                      user=("-u", "ivan", "-w", password))  # fmt: skip
        for label, options, password in (
            ("the first", ("-c", "-x"), "pw"),
            ("a", ("-c", "-x", "-o", "https://app.a.test"), "of-a"),
            ("b", ("-c", "-x", "-o", "http://app.b.test:8080"), "of-b"),
        )
    ]
    assert not uclient.finish(runs)
    wrong = uclient.start(lab, "b's password in a", SERVER4, PEER6, "-c", "-x", "-o",
                          "https://app.a.test", messages=5, user=("-u", "ivan", "-w", "of-b"))  # fmt: skip
    wrong.finish(20 * labs.SLOW)
    assert not wrong.complete, wrong.output[-500:]


def main(lab):
    labs.need_own_server()
    path = os.path.join(lab.dir, "control.sock")
    config = {
        "realms": [A, B],
        "listeners": [
            {"transport": "udp", "address": SERVER4, "port": 3478},
            {"transport": "udp", "address": SERVER6, "port": 3478, "realms": ["b.test"]},
        ],
        "control": {"socket": path},
        "records": {"file": os.path.join(lab.dir, "records.json"), "refusals": True},
    }
    server = lab.server(config, allow={"no-allocation", "peer-no-allocation", "guess-rate"})
    echo = lab.echo(PEER4)
    origins(lab)
    first, a = passwords(lab, echo)
    quotas(lab, path)
    operator(path)
    reloads(lab, server, first, a)
    real_clients(lab)


if __name__ == "__main__":
    labs.run(main)
