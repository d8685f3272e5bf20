#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Somebody removes an interface that the server has made: the kernel's end of its vtap, or of an
exception port. Log, status and telemetry tell so.
"""

import os

import lab as labs
import server as servers
from lab import until
from media import Media, warnings

NET_TAP = {"name": "sr0", "device": "net_tap0", "allow": ["icmp"]}


def start(lab, exception):
    port = dict(servers.CONFIG["ports"][0])
    port["exception"] = exception
    path = os.path.join(lab.dir, "control.sock")
    return lab.server(
        {"ports": [port], "control": {"socket": path}}, allow=["exception-foreign", "tx-full"]
    )


def row(server, of):
    """What telemetry says of the port, or of its exception port."""
    return server.telemetry.ask("/slipring/" + of)[0]


def told(server, of, port, interface):
    """That it was removed, within a second."""
    until(lambda: row(server, of)["trouble"] == 1, 1, f"{interface} is missed")
    assert any(w.startswith(f"port {port}: interface {interface} was") for w in warnings(server))
    assert f"port {port}: interface {interface} was removed" in server.log()


def silent(server):
    """There is nothing to tell."""
    assert not any("was removed" in w for w in warnings(server)), warnings(server)
    assert "was removed" not in server.log()
    assert row(server, "ports")["trouble"] == row(server, "exception")["trouble"] == 0


def life(lab, exception, ns):
    server = start(lab, exception)
    with Media(lab) as media:
        silent(server)
        ns.ip("link", "del", "sr0")
        told(server, "exception", "wan.exception", "sr0")
        media.flows("without the exception port")
        lab.sw.ip("link", "del", "d0")
        told(server, "ports", "wan", "d0")
    server.finish()


def main(lab):
    labs.need_own_server()
    lab.exc = lab.namespace(lab.cleanup, "exc")
    life(lab, {"name": "sr0", "netns": lab.exc.name, "allow": ["icmp"]}, lab.exc)
    life(lab, NET_TAP, lab.dut)


if __name__ == "__main__":
    labs.run(main, port="vtap")
