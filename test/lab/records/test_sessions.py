#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: waits for lifetimes; unit tests check events under ASan
"""Records of sessions and refused requests, with real clients: a record for each allocation made,
refreshed and ended, with the client's own numbers; one for each reason of a refusal, with its log
line; and no loss when a server with many allocations stops.
"""

import os
import time

import lab as labs
import uclient
from lab import PEER4, SERVER4, until
from turnlib import ALLOCATE, CREATE_PERMISSION, ERROR, SUCCESS, Auth, rest_credentials

REST = "planted-rest-secret-2c3d"
PER_USER = 4
MANY = 500
LIFETIME = 2


def wanted(path, count=1, **fields):
    """Waits for records with these fields, and returns them."""

    def found():
        rows = [r for r in labs.records(path) if all(r.get(k) == v for k, v in fields.items())]
        return len(rows) >= count and rows

    return until(found, 15, f"a record with {fields}")


def address_of(client):
    ip, port = client.sock.getsockname()[:2]
    return f"{ip}:{port}"


def session(lab, server, path):
    """A session from its allocation to its end: one id, and the client's own numbers."""
    echo = lab.echo()
    client = lab.client()
    assert client.allocate().cls == SUCCESS
    client_addr = address_of(client)
    (made,) = wanted(path, event="made", client=client_addr)
    row = next(r for r in server.allocations() if r["client"] == client_addr)
    assert made["user"] == "ivan" and made["transport"] == "udp" and made["lifetime"] == 600, made
    assert (made["id"], made["relay"]) == (str(row["id"]), row["told"]), (made, row)
    assert client.permit(echo.address).cls == SUCCESS
    begin = time.monotonic()
    for i in range(20):
        client.send(echo.address, bytes(100 + i))
        client.wait("data")
    client.send(("10.99.0.77", 9), b"nobody has permitted it")
    time.sleep(1.1)  # records.interim is 1
    assert client.refresh().cls == SUCCESS
    (interim,) = wanted(path, event="interim", client=client_addr)
    assert interim["from_client"] == {"datagrams": 20, "bytes": sum(range(100, 120))}, interim
    assert client.refresh(0).cls == SUCCESS
    (ended,) = wanted(path, event="ended", client=client_addr)
    assert ended["id"] == made["id"] and ended["why"] == "client", ended
    assert abs(ended["seconds"] - (time.monotonic() - begin)) <= 3 * labs.SLOW, ended
    for direction in ("from_client", "from_peers"):
        assert ended[direction] == {"datagrams": 20, "bytes": sum(range(100, 120))}, ended
    assert ended["lost"]["permission"] == 1 and sum(ended["lost"].values()) == 1, ended


def expired(lab, path):
    """The client does not refresh it."""
    server = lab.server({"records": {"file": path}, "limits": {"lifetime": {"default": LIFETIME}}})
    client = lab.client()
    assert client.allocate().cls == SUCCESS
    (ended,) = wanted(path, event="ended", client=address_of(client), **{"why": "expired"})
    assert LIFETIME <= ended["seconds"] <= LIFETIME + 2 * labs.SLOW, ended
    server.finish()


def refusal(server, path, client, answer, reason, code, method="Allocate"):
    """Checks the client's answer, its record, and the log line."""
    assert answer.cls == ERROR and answer.code == code, answer
    (row,) = wanted(path, event="refused", client=address_of(client), **{"why": reason})
    assert row["code"] == code and row["method"] == method and row["proved"], row
    line = f"auth: {row['user']} at {row['client']} (udp): {method}"
    until(lambda: f"{line} answered {code}: {reason}" in server.log().replace(
        f" for peer {row.get('peer')}", ""), 5, "the line in the log")  # fmt: skip
    return row


def refusals(lab, server, path):
    """Each client is refused for another reason."""
    for auth, reason in (
        (Auth("ivan", "wrong"), "password-wrong"),
        (Auth("nobody", "pw"), "user-unknown"),
        (Auth(*rest_credentials(REST, int(time.time()) - 60, "anna")), "rest-expired"),
        (Auth(*rest_credentials("other", int(time.time()) + 600, "anna")), "rest-password-wrong"),
        (Auth('na"me%\\\n', "pw"), "user-unknown"),
    ):
        client = lab.client(auth)
        row = refusal(server, path, client, client.allocate(), reason, 401)
        assert all(" " <= c <= "~" for c in row["user"]), row

    client = lab.client()
    assert client.allocate().cls == SUCCESS
    refusal(server, path, client, client.allocate(), "allocated-already", 437)
    row = refusal(server, path, client, client.permit(("10.1.2.3", 9)), "peer-denied", 403,
        "CreatePermission")  # fmt: skip
    assert row["peer"].startswith("10.1.2.3"), row
    lonely = lab.client()
    refusal(server, path, lonely, lonely.refresh(), "no-allocation", 437, "Refresh")
    refusal(server, path, client, client.request(CREATE_PERMISSION), "malformed", 400,
        "CreatePermission")  # fmt: skip
    odd = lab.client()
    refusal(server, path, odd, odd.request(ALLOCATE, [(0x7F00, b"")]), "attribute-unknown", 420)
    others = [lab.client() for _ in range(PER_USER - 1)]
    assert all(each.allocate().cls == SUCCESS for each in others)
    late = lab.client()
    refusal(server, path, late, late.allocate(), "quota-user", 486)
    for each in (client, *others):
        assert each.refresh(0).cls == SUCCESS


def coturns_client(lab, server, path):
    """turnutils_uclient: it makes this number of sessions, and all of them end."""
    before = len([r for r in labs.records(path) if r["event"] == "made"])
    uclient.start_peer(lab)
    run = uclient.start(lab, "records", SERVER4, PEER4, "-c", clients=2)
    assert not uclient.finish([run])
    ids = [r["id"] for r in wanted(path, before + 2, event="made")]
    assert len(set(ids)) == len(ids), "an id twice"


def stop(lab, path):
    """All live sessions have a record of their end when the server stops."""
    server = lab.server({
        "auth": {"realm": "r", "secrets": [REST]},
        "records": {"file": path},
        "limits": {"per-source": 0},
    })  # fmt: skip
    clients = []
    for i in range(MANY):
        user = rest_credentials(REST, int(time.time()) + 600, f"user{i}")
        clients.append(lab.client(Auth(*user)))
        assert clients[-1].allocate().cls == SUCCESS
    server.finish()
    rows = labs.records(path)
    ended = [r for r in rows if r["event"] == "ended"]
    assert len(ended) == MANY and {r["why"] for r in ended} == {"stopped"}, len(ended)
    assert {r["id"] for r in ended} == {r["id"] for r in rows if r["event"] == "made"}


def main(lab):
    labs.need_own_server()
    path = os.path.join(lab.dir, "records.json")
    users = [{"name": "ivan", "password": "pw"}]
    server = lab.server({
        "auth": {"realm": "lab.example", "users": users, "secrets": [REST]},
        "records": {"file": path, "interim": 1},
        "limits": {"per-user": PER_USER},
    }, allow=("no-permission",))  # fmt: skip
    if server.telemetry.ask("/slipring/refusals") is None:
        raise labs.Skip("workers report no requests")
    session(lab, server, path)
    refusals(lab, server, path)
    coturns_client(lab, server, path)
    assert server.stats()["events_lost"] == 0
    assert server.telemetry.ask("/slipring/records")["lost"] == 0
    with open(path) as file:
        assert REST not in file.read() + server.log()
    server.finish()
    expired(lab, os.path.join(lab.dir, "expired.json"))
    stop(lab, os.path.join(lab.dir, "stop.json"))


if __name__ == "__main__":
    labs.run(main)
