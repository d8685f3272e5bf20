#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A host on the link claims a thousand times a second to be the router. Data of clients of either
worker to a peer behind the router still goes to the router.
"""

import time

import lab as labs
from capture import Capture, from_server
from frames import arp
from lab import FAR4, GATEWAY4, SERVER4, until
from turnlib import SUCCESS

LIAR = labs.MAC.format(0x66)
CLIENTS, SECONDS = 8, 6


def callers(lab, server, echo):
    """Clients of both workers."""
    clients = []
    while len(clients) < CLIENTS or 0 in [w["allocations"] for w in server.workers()]:
        clients.append(lab.client())
        assert clients[-1].allocate().cls == SUCCESS
        assert clients[-1].bind(0x4000, echo.address).cls == SUCCESS
        assert len(clients) < 10 * CLIENTS, server.workers()
        server.published()
    return clients


def relays(client):
    client.send_channel(0x4000, b"media")
    return client.wait("channel") is not None


def main(lab):
    labs.need_own_server()
    server = lab.server({"peers": {"allow": ["10.98.0.0/24"]}})
    echo = lab.echo(FAR4, ns=lab.far)
    clients = callers(lab, server, echo)
    for client in clients:  # so that each worker knows the router
        until(lambda c=client: relays(c), 20, "media of each flows")
    wire = lab.peer.raw("p0")
    lie = arp(2, LIAR, GATEWAY4, SERVER4, dst_mac=labs.DUT_MAC, target_mac=labs.DUT_MAC)

    def lies():
        for _ in range(5):
            wire.send(lie)

    with Capture(lab, lab.sw, "d0") as capture, labs.meanwhile(lies, 0.001):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            for client in clients:
                client.send_channel(0x4000, b"media")
            time.sleep(0.02)
        for client in clients:
            until(lambda c=client: relays(c), 20, "media of each continues")
    wire.close()
    media = [f for f in from_server(capture.frames) if f.dst == FAR4 and f.sport]
    told = [f for f in capture.frames if f.from_mac == LIAR]
    print(f"{len(told)} lies, {len(media)} datagrams relayed")
    assert len(told) > SECONDS * 500 and len(media) > len(clients), (len(told), len(media))
    assert not [f for f in media if f.to_mac == LIAR]
    server.finish()


if __name__ == "__main__":
    labs.run(main, gateway=True)
