#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Clients and peers behind the gateway. Unreachable peers are a named drop. TTL, DSCP, DF."""

import socket

import lab as labs
import server as servers
import turnlib
from capture import Capture, from_server
from lab import CLIENT4, FAR4, FAR6, PEER4, PEER6, SERVER4
from turnlib import DONT_FRAGMENT, REQUESTED_ADDRESS_FAMILY, SUCCESS

GATEWAY_MAC = labs.MAC.format(254)
TTL, TOS = 33, 0xB9  # expedited forwarding, ECT(1)


def both_ways(client, echo, count=50):
    for i in range(count):
        client.send_channel(0x4000, b"%d" % i)
        assert client.wait("channel") == ("channel", 0x4000, b"%d" % i), i
    assert len(echo.seen) == count


def far_peer(lab, ip):
    """A client on the link, a peer behind the gateway of the family."""
    echo = lab.echo(ip, ns=lab.far if ip in (FAR4, FAR6) else lab.peer)
    client = lab.client()
    family = bytes([2 if ":" in ip else 1, 0, 0, 0])
    assert client.allocate([(REQUESTED_ADDRESS_FAMILY, family)]).cls == SUCCESS
    assert client.bind(0x4000, echo.address).cls == SUCCESS
    with Capture(lab, lab.sw, "d0") as capture:
        both_ways(client, echo)
    there = [f for f in from_server(capture.frames) if f.dst == ip]
    assert there and all(f.to_mac == GATEWAY_MAC for f in there), there[:3]
    echo.close()


def far_client(lab):
    """A client behind the gateway, a peer on the link."""
    echo = lab.echo(PEER4)
    client = turnlib.Client(lab.far.udp(FAR4), (SERVER4, 3478), labs.ivan())
    assert client.allocate().cls == SUCCESS and client.bind(0x4000, echo.address).cls == SUCCESS
    assert client.mapped == client.sock.getsockname()
    both_ways(client, echo)
    assert client.refresh(0).cls == SUCCESS
    client.close()


def no_route(lab, server):
    """Without an IPv6 gateway a remote peer is unreachable: the client gets an error, and it is
    counted."""
    client = lab.client()
    assert client.allocate([(REQUESTED_ADDRESS_FAMILY, b"\2\0\0\0")]).cls == SUCCESS
    for answer in (client.bind(0x4000, ("fd98::1", 9)), client.permit(("fd98::1", 9))):
        assert answer.code == 403 and answer.reason == "No Route To Peer", answer
    labs.until(lambda: server.stats()["unreachable"] >= 2, 2, "both are counted")
    server.published()
    # each retry counts again
    assert 2 <= server.refusals()["peer-unreachable"] <= 2 + client.retransmissions


def header_fields(lab):
    """8656 14: TTL is decremented, DSCP and ECN are copied, DF is set separately, both directions
    and families."""
    for peer_ip, v6 in ((PEER4, False), (PEER6, True)):
        echo = lab.echo(peer_ip)
        client = lab.client()
        client.sock.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, TTL)
        client.sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, TOS)
        family = bytes([2 if v6 else 1, 0, 0, 0])
        assert client.allocate([(REQUESTED_ADDRESS_FAMILY, family)]).cls == SUCCESS
        assert client.bind(0x4000, echo.address).cls == SUCCESS
        with Capture(lab, lab.sw, "d0") as capture:
            for i in range(5):
                client.send_channel(0x4000, b"%d" % i)
                assert client.wait("channel") is not None
            client.send(echo.address, b"df", [(DONT_FRAGMENT, b"")])
            assert client.wait("channel") is not None
        sent = from_server(capture.frames)
        out = [f for f in sent if f.dst == peer_ip and f.sport == client.relayed[1]]
        assert len(out) == 6, out
        for frame in out:
            assert (frame.ttl, frame.tos) == (TTL - 1, TOS), (frame, frame.ttl, frame.tos)
        if not v6:
            assert out[-1].df, "DONT-FRAGMENT sets DF"
            assert len({f.id for f in out}) > 1, "IP identification"
            copied_df(lab, client, peer_ip)
        back = [f for f in sent if f.dst == CLIENT4 and f.payload[:1] == b"\x40"]
        assert len(back) == 6 and all(f.ttl == 63 for f in back), [(f, f.ttl) for f in back]
        echo.close()


def copied_df(lab, client, peer_ip):
    """8656 14.3: without DONT-FRAGMENT the DF bit is that of the packet that brought the data."""
    for setting, wanted in (("dont", False), ("do", True)):
        labs.path_mtu(client.sock, setting)
        with Capture(lab, lab.sw, "d0") as capture:
            client.send_channel(0x4000, setting.encode())
            assert client.wait("channel") is not None
        (frame,) = [f for f in from_server(capture.frames) if f.dst == peer_ip and f.sport]
        assert frame.df == wanted, (setting, frame)


def ttl_expires(lab, server):
    """A datagram that arrives with TTL 1 is not relayed, which ends loops."""
    echo = lab.echo(PEER4)
    client = lab.client()
    assert client.allocate().cls == SUCCESS and client.bind(0x4000, echo.address).cls == SUCCESS
    client.sock.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 1)
    client.send_channel(0x4000, b"last hop")
    labs.until(lambda: server.drops().get("ttl-expired") == 1, 2, f"counted: {server.drops()}")
    client.sock.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 2)
    client.send_channel(0x4000, b"one more")
    assert client.wait("channel") == ("channel", 0x4000, b"one more")
    assert len(echo.seen) == 1


def mtu(lab, server):
    """Packets above the MTU leave in fragments, or are a named drop with DF."""
    echo = lab.echo(PEER4)
    client = lab.client()
    assert client.allocate().cls == SUCCESS and client.permit(echo.address).cls == SUCCESS
    # The returning Data indication is 36 bytes longer than the datagram: 1472 fits in one direction
    # only.
    client.send(echo.address, b"x" * 1400)
    assert client.wait("data") == ("data", echo.address, b"x" * 1400)
    labs.path_mtu(echo.sock, "dont")
    echo.sock.sendto(b"y" * 1472, client.relayed)
    assert client.wait("data") == ("data", echo.address, b"y" * 1472)
    # The peer's kernel believes in a smaller MTU: a probe ignores that.
    labs.path_mtu(echo.sock, "probe")
    echo.sock.sendto(b"y" * 1472, client.relayed)
    labs.until(lambda: server.drops().get("mtu-exceeded") == 1, 2, f"counted: {server.drops()}")
    assert not client.fence()
    assert client.bind(0x4000, echo.address).cls == SUCCESS
    echo.sock.sendto(b"z" * 1468, client.relayed)
    assert client.wait("channel") == ("channel", 0x4000, b"z" * 1468)


def fragments(lab, server):
    """Longer datagrams are relayed completely, through a router, too."""
    echo = lab.echo(PEER4)
    client = lab.client()
    assert client.allocate().cls == SUCCESS and client.bind(0x4000, echo.address).cls == SUCCESS
    before = server.stats()["reassembled"]
    for size in (1600, 4000):
        client.send_channel(0x4000, b"x" * size)
        assert client.wait("channel") == ("channel", 0x4000, b"x" * size)
    labs.until(lambda: server.stats()["reassembled"] >= before + 4, 2, "counted")


def lone(lab, allow):
    """Clouds assign single addresses: everything, including hosts on the link, is behind the
    gateway."""
    host = lab.namespace(lab.cleanup, "host")
    exception = {"name": "sr0", "netns": host.name, "allow": ["icmp-to"]}
    port = {**servers.CONFIG["ports"][0], "gateway": ["10.99.0.254", "fd99::fe"]}
    port = {**port, "addresses": ["10.99.0.1/32", "fd99::1/128"], "exception": exception}
    expected = ("exception-foreign",)  # the kernel reports its multicast groups
    lab.server({"ports": [port], "peers": {"allow": allow}}, allow=expected)
    for ip in (FAR4, FAR6, PEER4):
        far_peer(lab, ip)
    host.run("ping", "-c1", "-W5", FAR4)
    host.run("ping", "-6", "-c1", "-W5", FAR6)


def main(lab):
    labs.need_own_server()
    allow = ["10.99.0.0/24", "10.98.0.0/24", "fd99::/64", "fd98::/64"]
    expected = ("ttl-expired", "mtu-exceeded")
    server = lab.server({"peers": {"allow": allow}}, allow=expected)
    far_peer(lab, FAR4)
    far_client(lab)
    no_route(lab, server)
    header_fields(lab)
    ttl_expires(lab, server)
    mtu(lab, server)
    fragments(lab, server)
    server.finish()
    # An IPv6 gateway with a link-local address, the usual case.
    port = {**servers.CONFIG["ports"][0], "gateway": ["10.99.0.254", "fe80::fe"]}
    lab.server({"ports": [port], "peers": {"allow": allow}})
    server = lab.servers[-1]
    far_peer(lab, FAR6)
    far_peer(lab, FAR4)
    server.finish()
    lone(lab, allow)


if __name__ == "__main__":
    labs.run(main, gateway=True)
