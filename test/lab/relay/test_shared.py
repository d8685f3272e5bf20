#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: fails if an answer takes a quarter of a second
"""Relay ports that all allocations share: kernel clients and peers of both families, one conference
server for many clients, and refusals."""

import lab as labs
from lab import CLIENT4, CLIENT6, PEER4, PEER6, until
from turnlib import Auth, EVEN_PORT, REQUESTED_ADDRESS_FAMILY, RESERVATION_TOKEN, SUCCESS

PORTS = range(3480, 3488)
CLIENTS, ROUNDS = 16, 10
CROWD = 40  # clients of one conference server
CONFIG = {"workers": {"count": 2}, "relay": {"mode": "shared", "ports": "3480-3487",
          "peers-per-allocation": 4, "peer-share": 100}}  # fmt: skip


def allocated(lab, ip=CLIENT4, peer_ip=PEER4):
    client = lab.client(ip=ip)
    family = bytes([2 if ":" in peer_ip else 1, 0, 0, 0])
    assert client.allocate([(REQUESTED_ADDRESS_FAMILY, family)]).cls == SUCCESS
    assert client.relayed[1] in PORTS, client.relayed
    return client


def end(client):
    """On a busy machine the request may have been sent twice: the second finds no allocation."""
    answer = client.refresh(0)
    assert answer.cls == SUCCESS or (answer.code == 437 and client.retransmissions), answer
    client.close()


def registered(server, count):
    """Number of peer endpoints that are registered on all workers together."""
    until(lambda: server.stats()["endpoints"] == count, 2, f"{count} endpoints")
    assert sum(w["endpoints"] for w in server.workers()) == count


def relay(lab, server):
    """Clients of all family pairs, each with its own peers."""
    pairs = []
    for i in range(CLIENTS):
        echo = lab.echo((PEER4, PEER6)[i // 2 % 2])
        client = allocated(lab, (CLIENT4, CLIENT6)[i % 2], echo.address[0])
        assert client.permit(echo.address).cls == SUCCESS
        client.send(echo.address, b"first")
        assert client.wait("data") == ("data", echo.address, b"first")
        assert client.bind(0x4000, echo.address).cls == SUCCESS
        pairs.append((client, echo))
    for number in range(ROUNDS):
        for client, _ in pairs:
            client.send_channel(0x4000, b"%d" % number)
        for client, _ in pairs:
            assert client.wait("channel") == ("channel", 0x4000, b"%d" % number)
    for client, echo in pairs:
        assert {source for source, _ in echo.seen} == {client.relayed}
    shares = [w["allocations"] for w in server.workers()]
    assert sum(shares) == CLIENTS and min(shares) > 0, shares
    registered(server, CLIENTS)
    for client, echo in pairs:
        assert client.retransmissions or not client.drain()
        end(client)
        echo.close()
    registered(server, 0)


def conference(lab, server):
    """As many clients of one endpoint as there are shared addresses, on any home worker."""
    echo = lab.echo(PEER4)
    inside, outside = [], []
    for _ in range(CROWD):
        client = allocated(lab)
        answer = client.bind(0x4000, echo.address)
        if answer.cls == SUCCESS:
            inside.append(client)
        else:
            assert answer.code == 508 and "Shared" in answer.reason, answer
            outside.append(client)
    assert len(inside) == len(PORTS), len(inside)
    assert {client.relayed[1] for client in inside} == set(PORTS)
    for i, client in enumerate(inside):
        client.send_channel(0x4000, b"%d" % i)
        assert client.wait("channel") == ("channel", 0x4000, b"%d" % i)
    # One client leaves: any waiting client on the same address takes its place.
    gone = inside.pop()
    end(gone)
    heir = next(c for c in outside if c.relayed == gone.relayed)
    assert heir.bind(0x4000, echo.address).cls == SUCCESS
    heir.send_channel(0x4000, b"heir")
    assert heir.wait("channel") == ("channel", 0x4000, b"heir")
    registered(server, len(PORTS))
    for client in [*inside, *outside]:
        end(client)
    echo.close()


def strangers(lab, server):
    """A permission alone lets no data in, nor does another port of a registered peer."""
    echo, client = lab.echo(PEER4), allocated(lab)
    stranger = lab.peer.udp(PEER4)
    assert client.permit(echo.address).cls == SUCCESS
    before = server.drops().get("shared-unknown-peer", 0)
    stranger.sendto(b"before", client.relayed)
    client.send(echo.address, b"x")
    assert client.wait("data") == ("data", echo.address, b"x")
    stranger.sendto(b"after", client.relayed)
    until(lambda: server.drops().get("shared-unknown-peer", 0) == before + 2, 2, "two drops")
    assert not [item for item in client.fence() if item[0] != "stun"]
    end(client)
    stranger.close()
    echo.close()


def refused(lab, server):
    echo, first = lab.echo(PEER4), allocated(lab)
    assert first.bind(0x4000, echo.address).cls == SUCCESS
    second = allocated(lab)
    while second.relayed != first.relayed:  # the earlier ones use up the other addresses
        second.bind(0x4000, echo.address)
        second = allocated(lab)
    before = server.drops()
    assert second.permit(echo.address).cls == SUCCESS
    second.send(echo.address, b"collides")
    assert second.bind(0x4000, echo.address).code == 508
    for port in range(1, 5):
        assert second.bind(0x4000 + port, (PEER4, port)).cls == SUCCESS
    assert second.bind(0x4010, (PEER4, 9)).code == 508
    second.send((PEER4, 9), b"one too many")
    for reason in ("shared-collision", "shared-full"):
        count = lambda reason=reason: server.drops().get(reason, 0) - before.get(reason, 0)
        until(count, 2, reason)
        assert count() == 1, (reason, count())
    third = lab.client()
    assert third.allocate([(EVEN_PORT, b"\x00")]).code == 508
    assert third.allocate([(EVEN_PORT, b"\x80")]).code == 508
    assert third.allocate([(RESERVATION_TOKEN, bytes(8))]).code == 508
    assert third.allocate().cls == SUCCESS
    assert not echo.seen, echo.seen


def hog(lab):
    """By default one user has a peer on half of each worker's addresses, others have the rest."""
    echo = lab.echo(PEER4)
    clients, inside = [], []
    for auth in (labs.ivan, lambda: Auth("olga", "geheim")):
        for _ in range(CROWD):
            client = lab.client(auth())
            assert client.allocate().cls == SUCCESS
            clients.append(client)
            answer = client.bind(0x4000, echo.address)
            if answer.cls == SUCCESS:
                inside.append(client.auth.user)
            elif client.auth.user == "ivan":
                assert answer.code == 508 and "This User" in answer.reason, answer
            else:  # ivan has the address, or olga has half of it
                assert answer.code == 508, answer
        assert inside.count(client.auth.user) == len(PORTS) // 2, inside
    for client in clients:
        end(client)
    echo.close()


def main(lab):
    labs.need_own_server()
    drops = ("shared-unknown-peer", "shared-collision", "shared-full")
    server = lab.server(CONFIG, allow=drops)
    relay(lab, server)
    conference(lab, server)
    strangers(lab, server)
    refused(lab, server)
    server.finish()
    lab.server({"workers": CONFIG["workers"], "relay": {"mode": "shared", "ports": "3480-3487"}})
    hog(lab)


if __name__ == "__main__":
    labs.run(main)
