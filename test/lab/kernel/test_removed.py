#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An interface that the server has created is removed while media flow: the kernel's end of its
vtap, or of an exception port. The vtap is created again at once, with the addresses and routes of
an exception port, and allocations stay. If that is impossible, log, status and telemetry say so.
"""

import os
import socket

import lab as labs
import server as servers
from lab import CLIENT4, CLIENT6, GATEWAY4, PEER6, SERVER4, SERVER6, until
from media import Media, warnings

SSH = 22
NET_TAP = {"name": "sr0", "device": "net_tap0", "allow": ["icmp"]}


def start(lab, exception):
    port = dict(servers.CONFIG["ports"][0])
    port["exception"] = exception
    path = os.path.join(lab.dir, "control.sock")
    return lab.server(
        {"ports": [port], "control": {"socket": path}}, allow=["exception-foreign", "tx-full"]
    )


def row(server, command):
    """Telemetry of the port, or of its exception port."""
    return server.telemetry.ask("/slipring/" + command)[0]


def index(ns, name):
    """The index of an interface, or None if it does not exist."""
    text = ns.ip("-o", "link", "show", name, check=False)
    return int(text.split(":")[0]) if text else None


def told(server, command, port, interface):
    """Waits for the report of the removal, within a second."""
    until(lambda: row(server, command)["trouble"] == 1, 1, f"{interface} is missed")
    assert any(w.startswith(f"port {port}: interface {interface} was") for w in warnings(server))
    assert f"port {port}: interface {interface} was removed" in server.log()


def well(server):
    """No removal is reported."""
    assert not any("was removed" in w for w in warnings(server)), warnings(server)
    assert row(server, "ports")["trouble"] == row(server, "exception")["trouble"] == 0


def handed(server):
    """Datagrams that came to another worker's queue."""
    return sum(server.telemetry.ask(f"/slipring/bursts,{w}")["handed_in"] for w in (0, 1))


def removed(ns, name):
    """Removes it. A new one exists within a second."""
    before = index(ns, name)
    ns.ip("link", "del", name)
    until(lambda: index(ns, name) not in (None, before), 1, f"there is {name} again")


def replaced(ns, name):
    """Removes it, and gives its name to another interface before it can be created again."""
    ns.ip("link", "add", "other", "type", "veth", "peer", "name", "end")

    def quicker():
        batch = f"link del {name}\nlink set other name {name}\n"
        ns.run("ip", "-batch", "-", input=batch, check=False)
        return index(ns, "other") is None

    until(quicker, 5, f"another interface is called {name}")


def vtap(lab, server, media):
    def flow(when):
        for each in media:
            each.flows(when)

    before = sorted(a["relay"] for a in server.allocations())
    well(server)
    for _ in range(2):
        link, handed_before = row(server, "ports"), handed(server)
        assert "numtxqueues" in lab.sw.ip("-d", "link", "show", "d0")
        mac = lab.sw.ip("-br", "link", "show", "d0").split()[2]
        removed(lab.sw, "d0")
        until(lab.plugged, 1, "it is added to the bridge again")
        flow("through the new interface")
        assert handed(server) == handed_before, "the program of the queues is in use"
        assert row(server, "ports") | counted(link) == link, (link, row(server, "ports"))
        assert lab.sw.ip("-br", "link", "show", "d0").split()[2] == mac
        assert "qlen 1024" in lab.sw.ip("link", "show", "d0")
    assert server.log().count("port wan: interface d0 was removed: it was made again") == 2
    replaced(lab.sw, "d0")
    told(server, "ports", "wan", "d0")
    assert "interface d0 exists already" in server.log()
    lab.sw.ip("link", "del", "d0")
    until(lambda: not row(server, "ports")["trouble"] and lab.plugged(), 1, "it is made again")
    flow("once it could be made again")
    well(server)
    assert sorted(a["relay"] for a in server.allocations()) == before


def counted(row):
    return {name: row[name] for name in ("rx_missed", "tx_errors", "rx_errors")}


def host(lab):
    """The addresses, routes and settings of the kernel's end of an exception port."""
    routes = lab.exc.ip("-4", "route") + lab.exc.ip("-6", "route")
    return lab.exc.ip("-br", "addr", "show", "sr0").split()[2:] + routes.splitlines()


def exception(lab, server):
    """A connection to a service there stays, and new ones and pings reach it."""
    before = host(lab)
    assert any(f"default via {GATEWAY4}" in line for line in before), before
    with lab.exc.enter():
        listener = socket.create_server((SERVER4, SSH))
    with lab.cli.enter():
        client = socket.create_connection((SERVER4, SSH), timeout=10 * labs.SLOW)
    service = listener.accept()[0]
    with client, service, listener:
        for _ in range(2):
            removed(lab.exc, "sr0")
            until(lambda: host(lab) == before, 1, "it has its addresses and routes")
            client.sendall(b"there")
            assert service.recv(64) == b"there"
            service.sendall(b"and back")
            assert client.recv(64) == b"and back"
            for ns, *addresses in ((lab.cli, SERVER4, SERVER6), (lab.exc, CLIENT4, CLIENT6)):
                for address in addresses:
                    ns.run("ping", "-c", "1", "-W", "2", address)
            well(server)
    replaced(lab.exc, "sr0")
    told(server, "exception", "wan.exception", "sr0")
    lab.exc.ip("link", "del", "sr0")
    until(lambda: not row(server, "exception")["trouble"], 1, "it is made again")
    until(lambda: host(lab) == before, 1, "it has its addresses and routes")


def net_tap(lab):
    """A device that cannot be created again is reported."""
    server = start(lab, NET_TAP)
    with Media(lab) as media:
        well(server)
        lab.dut.ip("link", "del", "sr0")
        told(server, "exception", "wan.exception", "sr0")
        media.flows("without the exception port")
    server.finish()


def main(lab):
    labs.need_own_server()
    lab.exc = lab.namespace(lab.cleanup, "exc")
    allow = ["icmp", f"tcp/{SSH}"]
    server = start(lab, {"name": "sr0", "netns": lab.exc.name, "allow": allow})
    with Media(lab) as first, Media(lab, CLIENT6, PEER6) as second:
        vtap(lab, server, (first, second))
        exception(lab, server)
        first.flows("all the time")
    server.finish()
    net_tap(lab)


if __name__ == "__main__":
    labs.run(main, port="vtap")
