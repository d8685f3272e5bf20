#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The address of a peer on the link, and of a router, moves to another MAC, which announces itself."""

import threading
import time

import lab as labs
from capture import Capture, from_server
from frames import BROADCAST, advertisement, arp
from lab import FAR4, GATEWAY4, PEER4, PEER6, SERVER6
from turnlib import REQUESTED_ADDRESS_FAMILY, SUCCESS

PAUSE = 0.01


class Media(threading.Thread):
    """Datagrams to an echo peer all the time, with the time of each arrival."""

    def __init__(self, client, echo):
        super().__init__(daemon=True)
        self.client, self.echo, self.stop, self.arrived = client, echo, False, [time.monotonic()]

    def run(self):
        while not self.stop:
            before = len(self.echo.seen)
            self.client.send_channel(0x4000, b"x" * 100)
            time.sleep(PAUSE)
            if len(self.echo.seen) > before:
                self.arrived.append(time.monotonic())

    def gap(self):
        return max(b - a for a, b in zip(self.arrived, self.arrived[1:]))


def relayed(lab, echo):
    client = lab.client()
    family = bytes([2 if ":" in echo.address[0] else 1, 0, 0, 0])
    assert client.allocate([(REQUESTED_ADDRESS_FAMILY, family)]).cls == SUCCESS
    assert client.bind(0x4000, echo.address).cls == SUCCESS
    client.send_channel(0x4000, b"first")
    assert client.wait("channel") is not None
    return client


def take_over(lab, host, echo, number, announce):
    """The host gets another MAC, and announces it once."""
    ns, interface, address = host
    client = relayed(lab, echo)
    mac = labs.MAC.format(number)
    media = Media(client, echo)
    media.start()
    labs.until(lambda: len(media.arrived) > 20, 10, "media flows")
    with Capture(lab, lab.sw, "d0") as capture:
        ns.ip("link", "set", interface, "address", mac)
        count = len(media.arrived)
        wire = ns.raw(interface)
        wire.send(announce(mac))
        wire.close()
        labs.until(lambda: len(media.arrived) > count + 20, 20, "media flows again")
    media.stop = True
    media.join()
    print(f"{address}: a gap of {media.gap() * 1000:.0f} ms")
    asked = [f.to_mac for f in from_server(capture.frames) if f.asks_for() == address]
    # Each of two workers asks the known owner three times by unicast, then all hosts. A unit test
    # checks the times.
    assert asked and not is_for_all(asked[0]), asked
    assert any(map(is_for_all, asked[:7])), asked
    assert client.refresh(0).cls == SUCCESS
    echo.close()


def is_for_all(mac):
    return mac == BROADCAST or mac.startswith("33:33:")


def main(lab):
    labs.need_own_server()
    allow = ["10.99.0.0/24", "10.98.0.0/24", "fd99::/64"]
    server = lab.server({"peers": {"allow": allow}}, allow=("arp", "icmp"))
    peer4, peer6 = (lab.peer, "p0", PEER4), (lab.peer, "p0", PEER6)
    take_over(lab, peer4, lab.echo(PEER4), 0x33, lambda mac: arp(1, mac, PEER4, PEER4))
    take_over(lab, peer6, lab.echo(PEER6), 0x34,
              lambda mac: advertisement(PEER6, SERVER6, mac, flags=0x20))  # fmt: skip
    router = (lab.gw, "g0", GATEWAY4)
    echo = lab.echo(FAR4, ns=lab.far)
    take_over(lab, router, echo, 0x35, lambda mac: arp(2, mac, GATEWAY4, GATEWAY4))
    server.finish()


if __name__ == "__main__":
    labs.run(main, gateway=True)
