#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two workers on an interface that the kernel shares. A BPF program sends client and peer data to
the worker that owns the allocation. Without the capability for that, datagrams are handed over, and
none is lost.
"""

import struct

import lab as labs
import streams
from lab import CLIENT4, CLIENT6, PEER4, PEER6, SERVER4, SERVER6, until
from turnlib import IPV4, IPV6, REQUESTED_ADDRESS_FAMILY, SUCCESS

CLIENTS, DATAGRAMS = 12, 15
MOST = 0.05  # share of received datagrams that is handed over
CONFIG = {"listeners": [
    {"transport": "udp", "address": SERVER4}, {"transport": "udp", "address": SERVER6},
    {"transport": "tcp", "address": SERVER4},
]}  # fmt: skip
WITHOUT = ("setpriv", "--bounding-set", "-perfmon,-sys_admin")
WARNING = "most datagrams are handed over between workers"


def allocated(client, peer):
    family = struct.pack("!B3x", IPV6 if ":" in peer[0] else IPV4)
    assert client.allocate([(REQUESTED_ADDRESS_FAMILY, family)]).cls == SUCCESS
    assert client.bind(0x4000, peer).cls == SUCCESS
    return client


def echoed(clients, label):
    """Datagrams of all clients, to their peers and back."""
    for number in range(DATAGRAMS):
        payload = b"%s %d" % (label, number)
        for client in clients:
            client.send_channel(0x4000, payload)
        for client in clients:
            assert client.wait("channel") == ("channel", 0x4000, payload)


def handed(server):
    """The numbers of datagrams received and handed over."""
    server.published()
    workers = server.workers()
    return sum(w["rx"] for w in workers), sum(w["handed_in"] for w in workers)


def share(server, clients, label):
    """The share of the clients' datagrams that is handed over."""
    before = handed(server)
    echoed(clients, label)
    rx, moved = (b - a for a, b in zip(before, handed(server)))
    assert rx >= 2 * len(clients) * DATAGRAMS, rx  # both directions
    return moved / rx


def steps(server):
    return {row["family"]: row["step"] for row in server.telemetry.ask("/slipring/steering")}


def connected(lab, echoes):
    """Clients of each pair of families."""
    pairs = [((CLIENT4, CLIENT6)[i % 2], echoes[i // 2 % 2].address) for i in range(CLIENTS)]
    return [allocated(lab.client(ip=ip), peer) for ip, peer in pairs]


def home(lab, echoes):
    """All arrive at their home worker, also after the interface was down. Clients over TCP belong
    to the kernel."""
    server = lab.server(CONFIG, queues=2)
    assert WARNING not in server.log()
    assert steps(server) == {"ipv4": "port-bits", "ipv6": "port-bits"}, steps(server)
    (port,) = server.telemetry.ask("/slipring/ports")
    assert port["rss"] == 1, port
    clients = connected(lab, echoes)
    parts = [share(server, clients, b"first")]
    shares = [w["allocations"] for w in server.workers()]
    assert sum(shares) == CLIENTS and all(shares), shares  # with a probability of 2^-11 a worker has no client
    stream = allocated(streams.client(lab, "tcp", CLIENT4, server=SERVER4), echoes[0].address)
    echoed([stream], b"by TCP")
    server.allow.add("tx-full")  # frames to send while the link was down
    lab.dut.ip("link", "set", "d0", "down")
    until(lambda: not server.telemetry.ask("/slipring/ports")[0]["link"], 3, "the link is down")
    lab.dut.ip("link", "set", "d0", "up")
    lab.dut.ip("-6", "addr", "replace", SERVER6 + "/64", "dev", "d0", "nodad")
    until(lambda: server.telemetry.ask("/slipring/ports")[0]["link"], 3, "the link is up")
    parts.append(share(server, clients, b"again"))
    print(f"allocations {shares}; handed over: " + ", ".join(f"{part:.1%}" for part in parts))
    assert max(parts) <= MOST, parts
    for client in (*clients, stream):
        assert client.refresh(0).cls == SUCCESS
        client.close()
    server.finish()


def without(lab, echoes):
    """Without CAP_PERFMON the kernel's own hash selects the queue, and one warning says so."""
    server = lab.server(CONFIG, queues=2, under=WITHOUT)
    log = server.log()
    assert log.count(WARNING) == 1 and "CAP_PERFMON" in log, log[-1500:]
    assert steps(server) == {"ipv4": "off", "ipv6": "off"}, steps(server)
    (port,) = server.telemetry.ask("/slipring/ports")
    assert port["rss"] == 0, port
    clients = connected(lab, echoes)
    part = share(server, clients, b"hashed")
    print(f"without CAP_PERFMON {part:.1%} are handed over")
    assert part > MOST, part
    for client in clients:
        client.close()
    server.finish()


def main(lab):
    labs.need_own_server()
    echoes = lab.echo(PEER4), lab.echo(PEER6)
    home(lab, echoes)
    without(lab, echoes)


if __name__ == "__main__":
    labs.run(main, port="packet")
