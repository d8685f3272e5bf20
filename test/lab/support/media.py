# SPDX-License-Identifier: BSD-3-Clause
"""Media of one client, media that flow while an interface changes, and the server's warnings."""

import contextlib
import threading
import time

from control import Control
from lab import CLIENT4, PEER4, until
from turnlib import IPV4, IPV6, REQUESTED_ADDRESS_FAMILY, SUCCESS


def family(ip):
    return (REQUESTED_ADDRESS_FAMILY, bytes([IPV6 if ":" in ip else IPV4, 0, 0, 0]))


def relays(client):
    """True if a datagram on the channel of with_media() comes back."""
    client.send_channel(0x4000, b"media")
    return client.wait("channel", timeout=1) is not None


def with_media(client, echo):
    """Gives a client an allocation, and a channel to a peer that echoes."""
    assert client.allocate().cls == SUCCESS
    assert client.bind(0x4000, echo.address).cls == SUCCESS
    assert relays(client)
    return client


class Media(threading.Thread):
    """Sends a datagram every 5 ms through a client's channel to a peer that echoes it."""

    def __init__(self, lab, ip=CLIENT4, peer=PEER4, server=None):
        super().__init__(daemon=True)
        self.client, self.stop, self.sent, self.got = lab.client(ip=ip), False, 0, 0
        if server is not None:
            self.client.server = (server, 3478)
        assert self.client.allocate([family(peer)]).cls == SUCCESS
        assert self.client.bind(0x4001, lab.echo(peer).address).cls == SUCCESS
        self.sock, self.server = self.client.sock, self.client.server

    def run(self):
        self.sock.setblocking(False)
        while not self.stop:
            with contextlib.suppress(OSError):  # errors of a route that is missing for a moment, too
                self.sock.sendto(b"\x40\x01\x00\x08%08d" % self.sent, self.server)
                self.sent += 1
            with contextlib.suppress(OSError):
                while self.sock.recv(2048).startswith(b"\x40\x01"):
                    self.got += 1
            time.sleep(0.005)

    def __enter__(self):
        self.start()
        self.flows("at first")
        return self

    def __exit__(self, *_):
        self.stop = True
        self.join()
        self.sock.setblocking(True)

    def flows(self, when, timeout=5):
        before = self.got
        until(lambda: self.got > before + 20, timeout, f"media flow {when}")


def warnings(server):
    control = Control(server.config["control"]["socket"])
    with contextlib.closing(control.sock):
        return control.ask("status")["warnings"]
