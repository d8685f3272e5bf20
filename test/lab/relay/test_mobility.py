#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Mobility (RFC 8016): kernel clients change their port, address, family, home worker and transport
in the middle of a stream, and turnutils_uclient -M does so over UDP and TCP.

Between the Refresh and the first datagram on the new path, data still uses the old path. An
allocation outlives its TCP connection for the configured time. Other clients' tickets and old
tickets are refused.
"""

import os

import dtls
from constants import document
import lab as labs
import streams
import uclient
from control import ctl
from lab import CLIENT4, CLIENT6, PEER4, SERVER4
from server import merge
from turnlib import REFRESH, SUCCESS, Auth

MOBILITY_TICKET = 0x8030
CHANNEL = 0x4000
ASKED = [(MOBILITY_TICKET, b"")]


def ready(client, echo):
    """An allocation with a ticket, and a channel to the echo. Returns the ticket."""
    answer = client.allocate(ASKED)
    assert answer.cls == SUCCESS, answer
    assert client.bind(CHANNEL, echo.address).cls == SUCCESS
    exchange(client, b"before")
    ticket = answer.get(MOBILITY_TICKET)
    assert len(ticket) == 32 and 0 not in ticket, ticket
    return ticket


def exchange(client, payload):
    client.send_channel(CHANNEL, payload)
    assert client.wait("channel") == ("channel", CHANNEL, payload)


def show(client, ticket):
    """A Refresh with the ticket. Returns the answer."""
    return client.request(REFRESH, [(MOBILITY_TICKET, ticket)])


def move(client, ticket):
    answer = show(client, ticket)
    assert answer.cls == SUCCESS, answer
    fresh = answer.get(MOBILITY_TICKET)
    assert fresh != ticket
    return fresh


def streaming(lab, echo, ways):
    """Moves from one 5-tuple to the next while the peer sends: no loss and no duplicates.

    Peer data between the Refresh and the first datagram on the new path uses the old path.
    """
    old, seen = ways[0], len(echo.seen)
    ticket = ready(old, echo)
    relay = old.relayed
    for turn, new in enumerate(ways[1:]):
        ticket = move(new, ticket)
        for i in range(20):
            echo.sock.sendto(b"old%d.%d" % (turn, i), relay)
            assert old.wait("channel") == ("channel", CHANNEL, b"old%d.%d" % (turn, i))
        exchange(old, b"still")  # and the client receives it
        exchange(new, b"first")
        for i in range(20):
            echo.sock.sendto(b"new%d.%d" % (turn, i), relay)
            assert new.wait("channel") == ("channel", CHANNEL, b"new%d.%d" % (turn, i))
        assert old.refresh(600).code == 437
        assert not (left := old.fence() + new.fence()), left
        old = new
    assert {source for source, _ in echo.seen[seen:]} == {relay}
    return old, ticket


def over_udp(lab, server, echo):
    """Ports, addresses of both families, and with them every pair of home workers."""
    ways = [lab.client(ip=(CLIENT4, CLIENT4, CLIENT6)[i % 3]) for i in range(24)]
    last, ticket = streaming(lab, echo, ways)
    labs.until(lambda: server.stats()["moves"] == len(ways) - 1, 10, "all moves are counted")
    assert server.stats()["allocations"] == 1
    # old tickets are refused, and so is the last one without its owner
    stranger = lab.client(auth=Auth("olga", "geheim"))
    assert show(stranger, ticket).code == 441
    assert move(lab.client(), ticket) != ticket
    assert last.refresh(0).lifetime == 0
    assert show(lab.client(), ticket).code == 437
    labs.until(lambda: server.stats()["redirects"] == 0, 10, "no redirect is left")


def left_ports(lab, server, echo):
    """The kernel gives a client's old port to another client, which allocates or moves there before
    the first client has sent from its new port. With ports of every home worker."""
    for turn in range(16):
        first, moved = lab.client(), lab.client(ip=(CLIENT4, CLIENT6)[turn % 2])
        ticket = ready(first, echo)
        port = first.sock.getsockname()[1]
        move(moved, ticket)
        first.close()
        if turn % 4 < 2:
            second = lab.client(port=port)
            ready(second, echo)
        else:
            old = lab.client()
            ticket = ready(old, echo)
            second = lab.client(port=port)
            move(second, ticket)
        exchange(second, b"mine")
        exchange(moved, b"mine, too")
        assert second.refresh(0).lifetime == 0
        assert moved.refresh(0).lifetime == 0
    labs.until(lambda: server.stats()["redirects"] == 0, 10, "no redirect is left")


def between_transports(lab, server, echo):
    """From UDP to TCP, TLS and DTLS, from each to another connection of the same kind, and back."""
    over_stream = lambda kind: streams.client(lab, kind)
    ways = [lab.client(), over_stream("tcp"), lab.client(), over_stream("tcp"), over_stream("tcp")]
    ways += [over_stream("tls"), over_stream("tls"), dtls.client(lab), dtls.client(lab)]
    ways += [over_stream("tls"), dtls.client(lab), lab.client()]
    last, _ = streaming(lab, echo, ways)
    assert last.refresh(0).lifetime == 0


def soon(lab, server, path):
    """A reload: from now on no allocation outlives its connection by more than a second."""
    text = document(merge(server.config, {"relay": {"mobility": {"enabled": True, "grace": 1}}}))
    with open(os.open(server.path + ".new", os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write(lab.device(text))
    os.rename(server.path + ".new", server.path)
    ctl(path, "config", "reload")


def lost_connections(lab, server, echo, path):
    """A connection ends, and its client continues on another one, by UDP, or not at all."""
    first = streams.client(lab, "tcp")
    ticket = ready(first, echo)
    first.close()
    labs.until(lambda: server.stats()["outlived"] == 1, 10, "the allocation outlives it")
    second = streams.client(lab, "tcp")
    ticket = move(second, ticket)
    echo.sock.sendto(b"at once", first.relayed)
    assert second.wait("channel") == ("channel", CHANNEL, b"at once")
    exchange(second, b"and back")
    second.close()
    labs.until(lambda: server.stats()["outlived"] == 2, 10, "the allocation outlives it again")
    third = lab.client()
    ticket = move(third, ticket)
    exchange(third, b"over UDP")
    fourth = streams.client(lab, "tcp")
    move(fourth, ticket)
    exchange(fourth, b"over TCP")
    soon(lab, server, path)
    fourth.close()
    labs.until(lambda: server.stats()["outlived"] == 3, 10, "the allocation outlives it once more")
    labs.until(lambda: server.stats()["allocations"] == 0, 10, "no client comes, and it expires")


def told(lab, path, server):
    """The records have every move, and slipringctl explain has the last ones."""

    def roamed():
        rows = labs.records(os.path.join(lab.dir, "records"))
        return [row for row in rows if row["event"] == "roamed"]

    labs.until(lambda: len(roamed()) == server.stats()["moves"], 10, "each move has a record")
    assert all(row["from"] != row["client"] for row in roamed()), roamed()
    labs.until(lambda: "moved here from" in ctl(path, "explain", "ivan"), 5, "slipringctl explain has it")


def unmodified(lab):
    """coturn's client moves each of its clients once, with and without closing its old socket."""
    uclient.start_peer(lab)
    runs = [
        uclient.start(lab, label, server, PEER4, *options, "-M", clients=6, messages=30)
        for label, server, options in (
            ("mobile over UDP", SERVER4, ("-c",)),
            ("mobile pairs over UDP", SERVER4, ()),
            ("mobile over TCP", streams.V4, ("-c", "-t")),
        )
    ]
    bad = uclient.finish(runs)
    assert not bad, bad


def main(lab):
    labs.need_own_server()
    streams.join(lab)
    path = os.path.join(lab.dir, "control.sock")
    config = streams.config(lab, ("tcp", "tls"))
    config = {
        **config,
        "listeners": config["listeners"] + dtls.config(lab)["listeners"][2::3],
        "relay": {"mobility": {"enabled": True, "grace": 60}},
        "control": {"socket": path},
        "records": {"file": os.path.join(lab.dir, "records")},
    }
    server = lab.server(config)
    echo = lab.echo(PEER4)
    over_udp(lab, server, echo)
    left_ports(lab, server, echo)
    between_transports(lab, server, echo)
    lost_connections(lab, server, echo, path)
    told(lab, path, server)
    unmodified(lab)


if __name__ == "__main__":
    labs.run(main)
