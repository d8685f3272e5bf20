#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The peer is a program on the server's own machine and address, like a conference server. If
peers.allow contains the address, relayed data uses the loopback interface. Otherwise the client
gets an error, and no data reaches the program.
"""

import os
import struct

import frames
import lab as labs
import server as servers
import streams
from lab import CLIENT4, CLIENT6, PEER4, SERVER4, SERVER6, until
from turnlib import IPV4, IPV6, REQUESTED_ADDRESS_FAMILY, SUCCESS

PROGRAM = 10000
NAMED = {"peers": {"allow": ["10.99.0.0/24", "fd99::/64", SERVER4, SERVER6]}}
BOTH = {"listeners": [
    {"transport": "udp", "address": SERVER4}, {"transport": "udp", "address": SERVER6},
    {"transport": "tcp", "address": SERVER4},
]}  # fmt: skip


def allocated(client, ip):
    family = struct.pack("!B3x", IPV6 if ":" in ip else IPV4)
    assert client.allocate([(REQUESTED_ADDRESS_FAMILY, family)]).cls == SUCCESS
    return client


def talks(client, program, label):
    """Indications and a channel, in both directions. The program sees the relayed address."""
    assert client.permit(program.address).cls == SUCCESS
    for i in range(5):
        client.send(program.address, b"%s %d" % (label, i))
        assert client.wait("data") == ("data", program.address, b"%s %d" % (label, i))
    assert client.bind(0x4001, program.address).cls == SUCCESS
    for size in (0, 1, 200, 1200):
        payload = os.urandom(size)
        client.send_channel(0x4001, payload)
        assert client.wait("channel") == ("channel", 0x4001, payload)
    assert {source for source, _ in program.seen if source == client.relayed}, program.seen


def calls_first(lab, client, ip):
    """A program that sends first, from a port that the client has not named."""
    assert client.permit((ip, 9)).cls == SUCCESS
    with lab.dut.udp(ip) as sock:
        sock.sendto(b"hello", client.relayed)
        assert client.wait("data") == ("data", sock.getsockname()[:2], b"hello")
        client.send(sock.getsockname()[:2], b"back")
        sock.settimeout(3 * labs.SLOW)
        assert sock.recvfrom(100) == (b"back", (*client.relayed, 0, 0)[: 4 if ":" in ip else 2])


def relays(lab, server, programs):
    for ip, program in programs.items():
        for i in range(6):  # on each worker that may own the allocation
            client = allocated(lab.client(ip=(CLIENT4, CLIENT6)[i % 2]), ip)
            talks(client, program, b"udp %d" % i)
            calls_first(lab, client, ip)
        stream = allocated(streams.client(lab, "tcp", CLIENT4, server=SERVER4), ip)
        talks(stream, program, b"tcp")
    assert all(w["allocations"] for w in server.workers()), server.workers()
    # Two clients of the server still reach each other; a local program makes no difference to them.
    one, two = allocated(lab.client(), PEER4), allocated(lab.client(), PEER4)
    for a, b in ((one, two), (two, one)):
        assert a.permit(b.relayed).cls == SUCCESS
    one.send(two.relayed, b"inside")
    assert two.wait("data") == ("data", one.relayed, b"inside")
    echo = lab.echo()
    assert one.bind(0x4002, echo.address).cls == SUCCESS
    one.send_channel(0x4002, b"outside")
    assert one.wait("channel") == ("channel", 0x4002, b"outside")


def guards(lab, server):
    """The listeners of the server are not peers, nor are its other addresses. A forged source is
    dropped."""
    client = allocated(lab.client(), SERVER4)
    assert client.bind(0x4001, (SERVER4, 3478)).code == 403
    assert client.permit("127.0.0.1").code == 403
    assert client.permit((SERVER4, PROGRAM)).cls == SUCCESS
    before = server.drops().get("martian-source", 0)
    # from the link, with the program's address as source
    lab.cli.raw("c0").send(
        frames.udp4(b"a liar's", SERVER4, SERVER4, sport=PROGRAM, dport=client.relayed[1])
    )
    until(lambda: server.drops().get("martian-source", 0) > before, 5, "the liar's datagram")
    assert client.wait("data", 0.2) is None


def unnamed(lab, program):
    """Without the rule, or with a network that happens to contain the address."""
    server = lab.server(BOTH)
    assert len(server.telemetry.ask("/slipring/ports")) == 1
    client = allocated(lab.client(), SERVER4)
    answer = client.bind(0x4001, program.address)
    assert answer.code == 403, answer
    assert client.permit(program.address).cls == SUCCESS  # it has relay ports
    client.send(program.address, b"nobody's")
    until(lambda: server.drops().get("peer-own", 0) == 1, 5, "the drop")
    seen = len(program.seen)
    client.relay(lab.echo())
    assert len(program.seen) == seen
    server.allow.add("peer-own")
    server.finish()


def main(lab):
    labs.need_own_server()
    lab.dut.ip("link", "set", "lo", "up")
    programs = {ip: lab.echo(ip, PROGRAM, lab.dut) for ip in (SERVER4, SERVER6)}
    unnamed(lab, programs[SERVER4])
    server = lab.server(servers.merge(BOTH, NAMED), queues=2)
    ports = [p["name"] for p in server.telemetry.ask("/slipring/ports")]
    assert ports == ["wan", "lo"], ports
    relays(lab, server, programs)
    guards(lab, server)
    server.allow.add("martian-source")


if __name__ == "__main__":
    labs.run(main, port="packet")
