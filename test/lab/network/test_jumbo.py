#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jumbo frames: datagrams up to the MTU of 9000 bytes, over every transport, on channels and as
indications, alone and in super-frames, over IPv4 and IPv6; and the exception port's interface.
"""

import os
import socket

import dtls
import lab as labs
import server as servers
import streams
from lab import CLIENT4, CLIENT6, PEER4, PEER6, SERVER4, SERVER6, until
from test_uso import SO_RCVBUFFORCE, channel, one_way
from turnlib import REQUESTED_ADDRESS_FAMILY, SUCCESS

MTU = 9000
CHANNEL = 0x4000
SIZES = (1200, 1473, 2048, 4096, 8900)
RECORD = 50  # bytes less over DTLS, whose records have headers
# Overhead of a datagram: IP and UDP, a ChannelData header, a Data indication.
HEADERS = {4: 28, 6: 48}
CHANNEL_HEADER = 4
INDICATION = {4: 20 + 12 + 4, 6: 20 + 24 + 4}


def version(address):
    return 6 if ":" in address else 4


def widen(lab):
    """Jumbo frames on every cable of the segment."""
    for ns, interface in (
        (lab.sw, "c0"), (lab.sw, "p0"), (lab.cli, "c0"), (lab.peer, "p0"), (lab.sw, "br0"),
    ):  # fmt: skip
        ns.ip("link", "set", interface, "mtu", str(MTU))


def allocate(client, peer_ip):
    family = bytes([2 if version(peer_ip) == 6 else 1, 0, 0, 0])
    assert client.allocate([(REQUESTED_ADDRESS_FAMILY, family)]).cls == SUCCESS


def exchange(lab, client, peer_ip, less=0):
    """Channel and indications, in both directions."""
    bound, second = lab.echo(peer_ip), lab.echo(peer_ip)
    allocate(client, peer_ip)
    assert client.bind(CHANNEL, bound.address).cls == SUCCESS
    assert client.permit(second.address).cls == SUCCESS
    for size in SIZES:
        payload = os.urandom(size - less)
        client.send_channel(CHANNEL, payload)
        assert client.wait("channel") == ("channel", CHANNEL, payload), size
        client.send(second.address, payload)
        assert client.wait("data") == ("data", second.address, payload), size
    assert client.refresh(0).cls == SUCCESS
    bound.close()
    second.close()


def longest(lab, server, client_ip, peer_ip):
    """Exact to the byte: the longest payload that reaches a client unfragmented, and one byte more."""
    sender = lab.peer.udp(peer_ip)
    labs.path_mtu(sender, "probe")
    cut = (version(client_ip), version(peer_ip)) == (4, 6)  # RFC 8656 section 13: no DF in this case
    client = lab.client(ip=client_ip)
    allocate(client, peer_ip)
    assert client.permit(sender.getsockname()[:2]).cls == SUCCESS
    most = MTU - max(HEADERS[version(peer_ip)],
                     HEADERS[version(client_ip)] + INDICATION[version(peer_ip)])  # fmt: skip
    for step in ("data", "channel"):
        dropped = server.drops().get("mtu-exceeded", 0)
        payload = os.urandom(most)
        sender.sendto(payload, client.relayed)
        assert client.wait(step)[2] == payload, (step, most)
        if most + 1 > MTU - HEADERS[version(peer_ip)]:
            pass  # the local kernel refuses it
        elif cut:
            sender.sendto(payload + b"x", client.relayed)
            assert client.wait(step)[2] == payload + b"x", (step, most)
        else:
            sender.sendto(payload + b"x", client.relayed)
            until(lambda n=dropped: server.drops().get("mtu-exceeded", 0) == n + 1, 3, "too long")
        assert client.bind(CHANNEL, sender.getsockname()[:2]).cls == SUCCESS
        most = MTU - max(HEADERS[version(peer_ip)], HEADERS[version(client_ip)] + CHANNEL_HEADER)
    sender.close()


def supers(lab, client_ip, peer_ip):
    """Seven jumbo datagrams in one frame, in both directions."""
    peer = lab.peer.udp(peer_ip)
    client = lab.client(ip=client_ip)
    allocate(client, peer_ip)
    assert client.bind(CHANNEL, peer.getsockname()[:2]).cls == SUCCESS
    for sock in (peer, client.sock):
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
        sock.settimeout(2 * labs.SLOW)
    for _ in range(10):
        up = [os.urandom(8900) for _ in range(7)]
        down = [os.urandom(8900) for _ in range(7)]
        one_way(client.sock, client.server, peer, [channel(data) for data in up], up)
        one_way(peer, client.relayed, client.sock, down, [channel(data) for data in down])
    peer.close()


def pings(lab):
    """The kernel behind the exception port answers pings of the MTU's length without fragments."""
    for address in (SERVER4, SERVER6):
        length = MTU - 28 if version(address) == 4 else MTU - 48
        out = lab.cli.run(*f"ping -c 3 -i 0.2 -w 5 -M do -s {length} {address}".split())
        assert " 3 received" in out, out
    assert f"mtu {MTU}" in lab.exc.ip("link", "show", "sr0")


def transports(lab):
    config = streams.config(lab, ("tcp", "tls"))
    config["listeners"] += dtls.config(lab)["listeners"][1:]
    config["listeners"] = [dict(t) for t in {tuple(one.items()) for one in config["listeners"]}]
    port = {**servers.CONFIG["ports"][0], "mtu": MTU}
    server = lab.server({**config, "ports": [port]}, allow=("mtu-exceeded",))
    for client_ip in (CLIENT4, CLIENT6):
        for peer_ip in (PEER4, PEER6):
            exchange(lab, lab.client(ip=client_ip), peer_ip)
            longest(lab, server, client_ip, peer_ip)
            for transport in ("tcp", "tls"):
                exchange(lab, streams.client(lab, transport, client_ip), peer_ip)
            exchange(lab, dtls.client(lab, client_ip), peer_ip, RECORD)
    server.finish()


def ports(lab):
    lab.exc = lab.namespace(lab.cleanup, "exc")
    port = {**servers.CONFIG["ports"][0], "mtu": MTU}
    port["exception"] = {"name": "sr0", "netns": lab.exc.name, "allow": ["icmp"]}
    for ns, name in ((lab.cli, "c0"), (lab.peer, "p0")):
        ns.run("ethtool", "-K", name, *"tx on gso on tx-udp-segmentation on".split())
    server = lab.server({"workers": {"count": 1}, "ports": [port]}, queues=1,
        allow=("exception-foreign",))  # fmt: skip
    for client_ip, peer_ip in ((CLIENT4, PEER4), (CLIENT6, PEER6), (CLIENT4, PEER6)):
        supers(lab, client_ip, peer_ip)
    pings(lab)
    (row,) = server.telemetry.ask("/slipring/ports")
    assert row["mtu"] == MTU and row["tx_cut"] == row["rx_errors"] == row["tx_errors"] == 0, row
    server.finish()


def main(lab):
    labs.need_own_server()
    streams.join(lab)
    widen(lab)
    transports(lab)
    ports(lab)


if __name__ == "__main__":
    labs.run(main, port="vtap")
