#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The server as a host: ARP, neighbour discovery, ping, announcements, unreachable neighbours."""

import subprocess

import lab as labs
from capture import Capture, from_server, read_pcap
from frames import arp, packed, solicitation
from lab import CLIENT4, CLIENT6, DUT_MAC, MAC, PEER4, SERVER4, SERVER6
from turnlib import SUCCESS

GONE = "10.99.0.77"  # on the segment, but unused


def announced(lab):
    """At link up the server announces its addresses to the segment."""
    wanted = {packed(SERVER4), packed(SERVER6)}
    with Capture(lab, lab.sw, "c0") as capture:
        lab.server(allow=("neighbour-failed", "neighbour-hold-full", "icmp-rate"))
        told = lambda: {f.announces() for f in from_server(read_pcap(capture.path))}
        labs.until(lambda: wanted <= told(), 5, "gratuitous ARP and unsolicited NA")
    for frame in from_server(capture.frames):
        assert frame.proto != 58 or frame.ttl == 255, frame


def ping(lab):
    for ip in (SERVER4, SERVER6):
        for size in ("0", "56", "1400"):
            out = lab.cli.run("ping", "-n", "-c", "3", "-i", "0.05", "-W", "2", "-s", size, ip)
            assert " 0% packet loss" in out, out
    known = lab.cli.ip("neigh", "show", "dev", "c0")
    for ip in (SERVER4, SERVER6):
        assert f"{ip} lladdr {DUT_MAC}" in known, known


def questions(lab):
    """ARP and ND for the server's addresses are answered by unicast, for other addresses not at
    all."""
    sock = lab.cli.raw("c0")
    with Capture(lab, lab.sw, "d0") as capture:
        sock.send(arp(1, MAC.format(2), CLIENT4, "10.99.0.9"))
        sock.send(solicitation("fd99::9"))
        sock.send(solicitation(SERVER6, hops=64))  # RFC 4861 7.1.1: the hop limit must be 255
        sock.send(arp(1, MAC.format(2), "0.0.0.0", SERVER4))  # a probe (RFC 5227)
        sock.send(arp(1, MAC.format(2), CLIENT4, SERVER4))
        sock.send(solicitation(SERVER6))
        lab.client().binding()
        lab.client(ip=CLIENT6).binding()
    sock.close()
    sent = from_server(capture.frames)
    replies = [f for f in sent if f.ethertype == 0x0806 and f.data[20:22] == b"\0\2"]
    assert len(replies) == 2 and all(f.to_mac == MAC.format(2) for f in replies), replies
    advertised = [f for f in sent if f.proto == 58 and f.l4[0] == 136]
    # One for the request, maybe more for those of the client's kernel.
    assert advertised and all(f.l4[8:24].endswith(b"\1") for f in advertised), advertised
    flags = [f.l4[4] for f in advertised if f.dst == CLIENT6]
    assert flags and all(x & 0x60 == 0x60 for x in flags), flags  # solicited, override


def spoofed(lab, server):
    """An unsolicited ARP reply does not change a neighbour that is known to be reachable."""
    echo = lab.echo()
    client = lab.client()
    assert client.allocate().cls == SUCCESS and client.bind(0x4000, echo.address).cls == SUCCESS
    client.send_channel(0x4000, b"before")
    assert client.wait("channel") is not None
    thief = lab.cli.raw("c0")
    seen = lambda: server.stats()["consumed"] + server.drops().get("arp", 0)
    before = seen()
    for _ in range(20):
        thief.send(arp(2, "02:99:00:00:00:66", PEER4, SERVER4, dst_mac=DUT_MAC, target_mac=DUT_MAC))
    # one that arrives while the server asks the owner may look like the owner's answer in ARP
    labs.until(lambda: seen() >= before + 20, 3, "all of them have been heard")
    for i in range(20):
        client.send_channel(0x4000, b"after %d" % i)
        assert client.wait("channel", 1.5) == ("channel", 0x4000, b"after %d" % i), i
    thief.close()
    echo.close()


def unreachable(lab, server):
    """Datagrams to a neighbour that does not answer are held up to a limit, then dropped and
    counted."""
    before = server.drops()
    client = lab.client()
    assert client.allocate().cls == SUCCESS and client.bind(0x4000, (GONE, 9)).cls == SUCCESS
    for _ in range(100):
        client.send_channel(0x4000, b"x")

    def lost():
        drops = server.drops()
        names = ("neighbour-failed", "neighbour-hold-full")
        return [drops.get(n, 0) - before.get(n, 0) for n in names]

    labs.until(lambda: sum(lost()) == 100, 6, f"100 datagrams to nobody are counted: {lost()}")
    failed, full = lost()
    assert failed > 0 and full > 0, lost()
    labs.until(server.settled, 2, "nothing stays held")
    # The neighbour appears: the next datagrams reach it.
    lab.add_address(lab.peer, "p0", GONE)
    echo = lab.echo(GONE, 9)

    def reached():
        client.send_channel(0x4000, b"now")
        return client.wait("channel", 0.1)

    labs.until(reached, 5, "a neighbour that appears is reached")
    echo.close()


def ping_flood(lab, server):
    """Echo requests are answered up to a rate. Relaying is not disturbed."""
    echo = lab.echo()
    client = lab.client()
    assert client.allocate().cls == SUCCESS and client.bind(0x4000, echo.address).cls == SUCCESS
    flood = lab.popen(lab.cli, "ping", "-q", "-f", "-c", "5000", "-w", "10", SERVER4,
        stdout=subprocess.DEVNULL)  # fmt: skip
    count = 0
    while flood.poll() is None:
        client.send_channel(0x4000, b"%d" % count)
        assert client.wait("channel") == ("channel", 0x4000, b"%d" % count)
        count += 1
    print(f"ping flood: {count} datagrams relayed meanwhile, drops {server.drops()}")


def main(lab):
    labs.need_own_server()
    announced(lab)
    server = lab.servers[0]
    ping(lab)
    questions(lab)
    spoofed(lab, server)
    unreachable(lab, server)
    ping_flood(lab, server)


if __name__ == "__main__":
    labs.run(main)
