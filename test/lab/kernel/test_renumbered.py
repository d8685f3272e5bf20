#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: a global address next to a unique local one, and an address that flaps with two queues
# full: unit tests move and addr_settled have its rules
"""The network changes the addresses of an interface that server and kernel share while media flow,
as home routers and IPv6 prefixes do. The server adopts them within seconds, with one queue and with
two. Allocations on the old address end with a record, and no other datagram is lost. An address
that comes back is adopted again, and one that flaps causes no harm.
"""

import contextlib
import os
import time

import keep
import lab as labs
import rereads
import streams
import turnlib
from lab import CLIENT4, CLIENT6, GATEWAY4, PEER4, PEER6, SERVER4, SERVER6, until
from media import Media, family
from turnlib import SUCCESS

OTHER4, OTHER6 = "10.99.0.77", "fd97::1"  # the addresses that replace the server's
NEW_CLIENT6, NEW_PEER6 = "fd97::2", "fd97::3"
GLOBAL6 = "2001:db9::1"
ROUTER4 = "10.99.0.253"
SECONDS = 6  # until the server has adopted it


def config(lab, queues):
    cert, key = streams.certificate(lab, "first")
    return {
        "ports": [{"name": "wan", "device": "vtap:d0,queues=2", "addresses": ["dhcp", "slaac"]}],
        "listeners": [
            {"transport": "udp", "address": "all"},
            {"transport": "tcp", "address": "all"},
            {"transport": "auto", "address": "all", "port": 443},
        ],
        "relay": {"addresses": "all"},
        "peers": {"allow": ["10.99.0.0/24", "fd99::/64", "fd97::/64"]},
        "tls": {"certificate": cert, "key": key},
        "records": {"file": os.path.join(lab.dir, f"records{queues}.json")},
    }


class Seen(Media):
    """Media of a client at some address of the server. Every datagram is counted."""

    def __init__(self, lab, ip=CLIENT4, peer=PEER4, server=SERVER4):
        super().__init__(lab, ip, peer, server)

    def drained(self):
        self.sock.setblocking(False)
        with contextlib.suppress(OSError):
            while self.sock.recv(2048).startswith(b"\x40\x01"):
                self.got += 1
        return self.got == self.sent


def rows(server):
    return {r["address"]: r for r in server.telemetry.ask("/slipring/addresses")}


def has(server, address):
    return address in rows(server) and not rows(server)[address]["lost"]


def client_at(lab, address, ip, transport="udp"):
    """A client of one transport to an address of the server."""
    if transport == "udp":
        return turnlib.Client(lab.cli.udp(ip), (address, 3478), labs.ivan())
    return streams.client(lab, transport, ip=ip, server=address)


def relays(lab, address, ip, peer_ip, transport="udp"):
    """A new client at an address of the server relays to a peer of a family. Returns its relayed
    address."""
    with contextlib.closing(client_at(lab, address, ip, transport)) as client:
        assert client.allocate([family(peer_ip)]).cls == SUCCESS
        client.relay(lab.echo(peer_ip))
        relayed = client.relayed[0]
        assert client.refresh(0).cls == SUCCESS
    return relayed


def ended(server, relay):
    return [
        r
        for r in labs.records(server.config["records"]["file"])
        if r["event"] == "ended" and r["relay"].startswith(relay)
    ]


def replace(lab, old, new):
    """A DHCP client or router advertisements: the new address comes, the old one is removed."""
    length = "/64" if ":" in old else "/24"
    lab.add_address(lab.dut, "d0", new)
    lab.dut.ip("addr", "del", old + length, "dev", "d0")


def prefix(lab, server):
    """Another IPv6 prefix, during media over IPv4, a connection over TLS, and a dual allocation."""
    old = client_at(lab, SERVER6, CLIENT6)
    assert old.allocate([family(PEER6)]).cls == SUCCESS
    dual = client_at(lab, SERVER4, CLIENT4)
    assert dual.allocate([(turnlib.ADDITIONAL_ADDRESS_FAMILY, b"\2\0\0\0")]).cls == SUCCESS
    tls = client_at(lab, SERVER4, CLIENT4, "auto")
    assert tls.allocate([family(PEER4)]).cls == SUCCESS
    with Seen(lab) as media:
        replace(lab, SERVER6, OTHER6)
        until(lambda: has(server, OTHER6), SECONDS, "the new address of IPv6 is in use")
        media.flows("beside it")
    until(lambda: media.drained(), 3, "all media have come back")
    assert SERVER6 not in rows(server)
    until(lambda: len(ended(server, f"[{SERVER6}]")) == 2, 3, "both have a record of their end")
    assert {r["why"] for r in ended(server, f"[{SERVER6}]")} == {"address-gone"}
    assert relays(lab, OTHER6, NEW_CLIENT6, NEW_PEER6) == OTHER6
    assert relays(lab, OTHER6, NEW_CLIENT6, PEER4) == SERVER4
    assert relays(lab, SERVER4, CLIENT4, NEW_PEER6) == OTHER6
    assert relays(lab, OTHER6, NEW_CLIENT6, NEW_PEER6, "tcp") == OTHER6
    assert relays(lab, OTHER6, NEW_CLIENT6, NEW_PEER6, "auto") == OTHER6
    for client in (dual, tls):
        client.relay(lab.echo(PEER4))
        assert client.refresh(0).cls == SUCCESS
        client.close()
    old.close()


def line(lab, server, new, old, router, beside=(NEW_CLIENT6, NEW_PEER6, OTHER6)):
    """Another IPv4 address, and another router with it."""
    with Seen(lab, *beside) as media:
        lab.dut.ip("route", "replace", "default", "via", router, "dev", "d0")
        replace(lab, old, new)
        lab.dut.ip("route", "replace", "default", "via", router, "dev", "d0")
        until(lambda: has(server, new), 12, "the new address of IPv4 is in use")
        media.flows("beside it")
        assert rows(server)[new]["gateway"] == router, rows(server)
    until(lambda: media.drained(), 3, "all media have come back")
    assert relays(lab, new, CLIENT4, PEER4) == new
    assert relays(lab, new, CLIENT4, PEER4, "tcp") == new


def flaps(lab, server):
    """An address that flaps ten times a second, and another one at the same times."""
    told = server.log().count("no longer")
    with Seen(lab, NEW_CLIENT6, NEW_PEER6, OTHER6) as media:
        for _ in range(20):
            replace(lab, SERVER4, OTHER4)
            time.sleep(0.1)
            replace(lab, OTHER4, SERVER4)
            time.sleep(0.1)
        media.flows("beside it")
    until(lambda: media.drained(), 3, "all media have come back")
    until(lambda: has(server, SERVER4), 1, "the address is there again")
    assert server.log().count("follows") == server.followed, server.log()
    assert server.log().count("no longer") - told < 50
    assert relays(lab, SERVER4, CLIENT4, PEER4) == SERVER4


def deprecated(lab, server):
    """An old prefix that a router withdraws stays on the interface for two hours, unused."""
    lab.add_address(lab.dut, "d0", SERVER6)
    lab.dut.ip(*f"-6 addr change {OTHER6}/64 dev d0 preferred_lft 0 valid_lft 7200".split())
    until(lambda: has(server, SERVER6), 12, "the one that is not deprecated is in use")
    assert relays(lab, SERVER6, CLIENT6, PEER6) == SERVER6
    lab.dut.ip("-6", "addr", "del", OTHER6 + "/64", "dev", "d0")


def better(lab, server):
    """A unique local address is replaced by a global one, and is used again when that is gone."""
    lab.add_address(lab.dut, "d0", GLOBAL6)
    until(lambda: has(server, GLOBAL6), 12, "an address of the Internet is in use")
    lab.dut.ip("-6", "addr", "del", GLOBAL6 + "/64", "dev", "d0")
    until(lambda: has(server, SERVER6), 14, "the other one is in use again")


def restart(lab, server):
    """Allocations on addresses that were adopted after the start survive a restart."""
    address = next(a for a in (SERVER4, OTHER4) if a in rows(server))
    client = client_at(lab, address, CLIENT4)
    assert client.allocate([family(PEER4)]).cls == SUCCESS
    keep.die(server)
    server.start()
    client.relay(lab.echo(PEER4))
    assert client.refresh(0).cls == SUCCESS
    client.close()


def life(lab, queues):
    server = keep.start(lab, config(lab, queues), queues=queues)
    server.followed = 1
    prefix(lab, server)
    until(lambda: server.log().count("follows") == 1, 2, "one line tells")
    line(lab, server, OTHER4, SERVER4, ROUTER4)
    assert "the file matches the running configuration" in rereads.reload(server)
    if queues == 1 or labs.LONG:
        line(lab, server, SERVER4, OTHER4, GATEWAY4)
        server.followed = 3
        flaps(lab, server)
        deprecated(lab, server)
        assert relays(lab, SERVER4, CLIENT4, PEER6) == SERVER6
    if labs.LONG:
        better(lab, server)
        line(lab, server, OTHER4, SERVER4, ROUTER4, (CLIENT6, PEER6, SERVER6))
    restart(lab, server)
    server.check(allow=["peer-no-allocation", "neighbour-unreachable", "not-for-us"])
    server.stop()


def main(lab):
    labs.need_own_server()
    lab.dut.run("sysctl", "-qw", "net.ipv4.conf.d0.promote_secondaries=1")  # else all are removed at once
    lab.dut.ip("route", "add", "default", "via", GATEWAY4, "dev", "d0")
    lab.add_address(lab.cli, "c0", NEW_CLIENT6)
    lab.add_address(lab.peer, "p0", NEW_PEER6)
    for queues in (1, 2):
        life(lab, queues)
        for address, length in ((OTHER4, "/24"), (OTHER6, "/64")):
            lab.dut.ip("addr", "del", address + length, "dev", "d0", check=False)
        for address in (SERVER4, SERVER6):
            with contextlib.suppress(RuntimeError):
                lab.add_address(lab.dut, "d0", address)
        lab.dut.ip("route", "replace", "default", "via", GATEWAY4, "dev", "d0")


if __name__ == "__main__":
    labs.run(main, port="packet")
