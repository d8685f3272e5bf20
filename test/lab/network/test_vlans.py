#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two VLANs and the untagged addresses of one device, with kernel hosts on each of them."""

import contextlib
import os
import socket

import lab as labs
import server as servers
import shipped
import turnlib
from capture import Capture, from_server
from frames import arp, udp4
from lab import CLIENT4, CLIENT6, MAC, SERVER4, SERVER6
from trunk import Trunk
from turnlib import BINDING, REQUEST, SUCCESS, build

OWN100, OWN100_6, HOST100, HOST100_6 = "10.100.0.1", "fd64::1", "10.100.0.2", "fd64::2"
OWN200, HOST200, ROUTER200, BEHIND200 = "10.200.0.1", "10.200.0.2", "10.200.0.3", "10.201.0.1"
TCP = 7022


def config():
    vlans = [
        {"id": 100, "addresses": [OWN100 + "/24", OWN100_6 + "/64"],
         "exception": {"name": "sr100", "allow": [f"tcp/{TCP}"]}},
        {"id": 200, "name": "lab", "addresses": [OWN200 + "/24"], "mtu": 1400,
         "routes": [{"to": "10.201.0.0/24", "via": ROUTER200}]},
    ]  # fmt: skip
    listeners = [
        {"address": address} for address in (SERVER4, SERVER6, OWN100, OWN100_6, OWN200)
    ]
    allow = ["10.99.0.0/24", "fd99::/64", "10.100.0.0/24", "fd64::/64", "10.200.0.0/15"]
    return {
        "ports": [{**servers.CONFIG["ports"][0], "vlans": vlans}],
        "listeners": listeners,
        "peers": {"allow": allow},
    }


CONFERENCE, ROUTER = "10.20.0.70", "10.20.0.1"


def shipped_file(lab, v200):
    """conf/vlans.yaml: a conference server with no route beyond its subnet, on another VLAN than
    the relay address.
    """
    with open(os.path.join(labs.TOP, "conf/vlans.yaml")) as file:
        text = file.read()
    for old, new in (
        ("0000:3b:00.0", "vtap:d0,queues=2"), ("192.0.2.254", labs.GATEWAY4), ("192.0.2.1", SERVER4),
        ("2001:db8:1::1", SERVER6),
    ):  # fmt: skip
        assert old in text, old
        text = text.replace(old, new)
    text += f"eal: {{file-prefix: {lab.prefix}n{len(lab.servers)}}}\n"
    text += f"drivers: {labs.TOP}/drivers-config\nlog: {{to: stderr, level: info}}\n"
    lab.add_address(v200, "h0", CONFERENCE)
    server = lab.server(text=text)
    echo = lab.echo(CONFERENCE, ns=v200)
    client = lab.client(shipped.credentials())
    assert client.allocate().cls == SUCCESS
    client.relay(echo, 1000)
    assert {source for source, _ in echo.seen} == {("10.20.0.5", client.relayed[1])}, echo.seen
    assert client.permit((ROUTER, 9)).code == 403
    assert client.refresh(0).cls == SUCCESS
    server.finish()


def client_on(lab, ns, ip, server):
    client = turnlib.Client(ns.udp(ip), (server, 3478), labs.ivan())
    lab.cleanup.callback(client.close)
    return client


def relay(client, echo, size=100):
    """Relays in both directions. The echo peer sees only the relayed address."""
    assert client.allocate().cls == SUCCESS
    client.relay(echo, size)
    assert all(source == client.relayed for source, _ in echo.seen), echo.seen[0]
    assert client.refresh(0).cls == SUCCESS


def media(lab, v100, v200):
    """Between all networks. Hosts on a VLAN reach the relay address through the server's address
    there."""
    v100.ip("route", "add", "10.99.0.0/24", "via", OWN100)
    v200.ip("route", "add", "10.99.0.0/24", "via", OWN200)
    v200.ip("addr", "add", BEHIND200 + "/32", "dev", "lo")
    echo = lambda ns, ip: lab.echo(ip, ns=ns)
    relay(lab.client(), echo(v100, HOST100), 1468)  # the longest for an MTU of 1500
    relay(lab.client(), echo(v200, HOST200))
    relay(client_on(lab, v100, HOST100, OWN100), echo(v200, HOST200), 1300)
    relay(client_on(lab, v200, HOST200, OWN200), echo(lab.peer, labs.PEER4))
    relay(client_on(lab, v100, HOST100_6, OWN100_6), echo(v200, BEHIND200))


def ping(ns, address):
    """True if it is answered. One second is a long time here."""
    with contextlib.suppress(RuntimeError):
        ns.run("ping", "-c", "1", "-W", "1", address)
        return True
    return False


def hosts(v100, v200):
    """Each network has its own addresses of the server, and no others."""
    assert ping(v100, OWN100) and ping(v100, OWN100_6) and ping(v200, OWN200)
    v100.ip("route", "add", "10.200.0.0/24", "dev", "h0")
    assert not ping(v100, OWN200)


def kernel(lab, v100):
    """The exception port of a VLAN: TCP of the kernel, tagged on the wire."""
    with lab.dut.enter():
        listener = socket.create_server((OWN100, TCP))
    with v100.enter():
        near = socket.create_connection((OWN100, TCP), timeout=5 * labs.SLOW)
    far, source = listener.accept()
    assert source[0] == HOST100, source
    text = bytes(range(256)) * 400
    near.sendall(text)
    got = b""
    while len(got) < len(text):
        got += far.recv(65536)
    assert got == text
    for sock in (near, far, listener):
        sock.close()


def strangers(trunk, server):
    """Packets to another network's address, or on an unknown VLAN."""
    def counted(reason, frame, vlan):
        before = server.drops().get(reason, 0)
        trunk.send(vlan, frame)
        label = f"{reason} on VLAN {vlan}"
        labs.until(lambda: server.drops().get(reason, 0) > before, 3, label)

    ask = build(REQUEST, BINDING)
    counted("vlan", arp(1, MAC.format(2), CLIENT4, SERVER4), 300)
    counted("vlan", udp4(ask), 300)
    # a host of the other VLAN, and one of the untagged network, as source
    counted("martian-source", udp4(ask, src=HOST200, dst=OWN100), 100)
    counted("martian-source", udp4(ask, src=CLIENT4, dst=OWN200), 200)
    # an untagged address, on a VLAN that does not lead to the source
    counted("not-for-us", udp4(ask, src=CLIENT4, dst=SERVER4), 100)


def check_tags(frames):
    """Every frame that left has the tag of its network."""
    nets = {"10.100": 100, "fd64:": 100, "10.200": 200, "10.201": 200, "10.99.": None}
    seen = set()
    for frame in from_server(frames):
        dst = frame.dst or frame.asks_for() or ""
        for start, vlan in nets.items():
            if dst.startswith(start):
                assert frame.vlan == vlan, frame
                seen.add(start)
    assert seen == set(nets), seen


def main(lab):
    labs.need_own_server()
    trunk = Trunk(lab)
    v100 = trunk.host(100, 0x64, (HOST100, HOST100_6))
    v200 = trunk.host(200, 0xC8, (HOST200, ROUTER200))
    shipped_file(lab, v200)
    server = lab.server(config(), allow=("vlan", "martian-source", "exception-foreign"))
    rows = {row["name"]: row for row in server.telemetry.ask("/slipring/ports")}
    assert {name: row["vlan"] for name, row in rows.items()} == {"wan": 0, "wan.100": 100, "lab": 200}
    assert {row["on"] for row in rows.values()} == {"", "wan"}, rows
    with Capture(lab, lab.sw, "d0") as capture:
        media(lab, v100, v200)
        hosts(v100, v200)
        kernel(lab, v100)
        strangers(trunk, server)
    check_tags(capture.frames)
    # no frame asked for an address of another network
    for ns, foreign in ((v100, (SERVER4, OWN200)), (v200, (SERVER4, OWN100)), (lab.cli, (OWN100, OWN200))):
        known = ns.ip("neigh")
        assert not any(f"{ip} dev" in known and "lladdr" in known.split(f"{ip} dev")[1].split("\n")[0]
                       for ip in foreign), known  # fmt: skip
    server.finish()


if __name__ == "__main__":
    labs.run(main)
