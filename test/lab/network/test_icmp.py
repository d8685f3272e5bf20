#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ICMP errors of real kernels: the errors that clients receive (RFC 8656 11.5), the path MTUs that
the server learns, and the server's errors that kernels accept. Multicast listener discovery through
a snooping bridge."""

import errno
import socket
import struct

import lab as labs
from lab import FAR4, PEER4, PEER6, SERVER6, until
from turnlib import REQUESTED_ADDRESS_FAMILY, SUCCESS, XOR_PEER_ADDRESS

ICMP = 0x8004
IP_RECVERR = 11
NARROW = 1400
HEADERS = 28  # IPv4 and UDP


def told(client, peer, kind, code, data=0, timeout=5):
    """The client gets a Data indication with an ICMP attribute and no data, about this peer."""
    item = client.wait("stun", timeout, lambda item: item[1].has(ICMP))
    assert item is not None, "the client got no error"
    message = item[1]
    assert message.address(XOR_PEER_ADDRESS) == peer, message.address(XOR_PEER_ADDRESS)
    assert message.get(ICMP) == struct.pack("!HBBI", 0, kind, code, data), message.get(ICMP)


def newer(lab):
    """A client that sends PASSWORD-ALGORITHMS back, as RFC 8489 requires."""
    return lab.client(labs.ivan(sha256=True))


def closed_ports(lab):
    """A peer whose port is closed, with and without a channel."""
    for ip, kind, code in ((PEER4, 3, 3), (PEER6, 1, 4)):
        client = newer(lab)
        family = bytes([2 if ":" in ip else 1, 0, 0, 0])
        assert client.allocate([(REQUESTED_ADDRESS_FAMILY, family)]).cls == SUCCESS
        assert client.permit(ip).cls == SUCCESS
        client.send((ip, 9), b"anybody?")
        told(client, (ip, 9), kind, code)
        assert client.bind(0x4000, (ip, 10)).cls == SUCCESS
        client.send_channel(0x4000, b"anybody?")
        told(client, (ip, 10), kind, code)


def untold(lab, server):
    """A client that shows no support of RFC 8489 gets data of its peers, but no errors."""
    client, echo = lab.client(), lab.echo(PEER4)
    assert client.allocate().cls == SUCCESS and client.permit(PEER4).cls == SUCCESS
    client.send((PEER4, 9), b"anybody?")
    until(lambda: server.drops().get("icmp-untold") == 1, 5, "the error has come")
    client.relay(echo)
    client.fence()
    assert not [item for item in client.inbox if item[0] == "stun"], client.inbox


def told_all(lab):
    """With the configuration option, older clients get errors, too."""
    lab.server({"icmp": {"tell": "all"}})
    client = lab.client()
    assert client.allocate().cls == SUCCESS and client.permit(PEER4).cls == SUCCESS
    client.send((PEER4, 9), b"anybody?")
    told(client, (PEER4, 9), 3, 3)


def errors_of(sock):
    """(type, code, value) of the ICMP errors that the kernel has queued for a socket."""
    found = []
    while True:
        try:
            _, ancillary, _, _ = sock.recvmsg(2048, 512, socket.MSG_ERRQUEUE)
        except BlockingIOError:
            return found
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_IP, IP_RECVERR):
                _, _, icmp, code, _, info, _ = struct.unpack_from("=IBBBBII", data)
                found.append((icmp, code, info))


def narrow_hop(lab, server):
    """Behind the gateway the MTU is smaller: its kernel reports it, the client gets an error, and
    from then on the server sends the error itself. The client's kernel accepts it."""
    lab.gw.ip("link", "set", "f0", "mtu", str(NARROW))
    lab.far.ip("link", "set", "r0", "mtu", str(NARROW))
    echo = lab.echo(FAR4, ns=lab.far)
    client = newer(lab)
    assert client.allocate().cls == SUCCESS and client.bind(0x4000, echo.address).cls == SUCCESS
    labs.path_mtu(client.sock, "do")
    client.sock.setsockopt(socket.SOL_IP, IP_RECVERR, 1)
    too_long = bytes(1450 - HEADERS)
    client.send_channel(0x4000, too_long)
    told(client, echo.address, 3, 4, NARROW)
    until(lambda: server.stats()["path_mtus"] == 1, 3, "the path is known")
    client.send_channel(0x4000, too_long)
    found = until(lambda: errors_of(client.sock), 3, "the client's kernel received an error")
    assert found == [(3, 4, NARROW + 4)], found
    try:
        client.send_channel(0x4000, too_long)
        raise AssertionError("the client's kernel ignores it")
    except OSError as error:
        assert error.errno == errno.EMSGSIZE, error
    errors_of(client.sock)  # takes that error from the queue, too
    fits = bytes(NARROW - HEADERS)
    client.send_channel(0x4000, fits)
    assert client.wait("channel") == ("channel", 0x4000, fits)
    assert not [data for _, data in echo.seen if len(data) > len(fits)]


def last_hop(lab):
    """A datagram with one hop left is answered with an error, for traceroute."""
    echo = lab.echo(PEER4)
    client = lab.client()
    assert client.allocate().cls == SUCCESS and client.bind(0x4000, echo.address).cls == SUCCESS
    client.sock.setsockopt(socket.SOL_IP, IP_RECVERR, 1)
    client.sock.setsockopt(socket.SOL_IP, socket.IP_TTL, 1)
    client.send_channel(0x4000, b"here?")
    found = until(lambda: errors_of(client.sock), 3, "the client's kernel received an error")
    assert found == [(11, 0, 0)], found


def mld_query(source_mac):
    """A general query of version 2, from a router on the segment (RFC 3810 5.1)."""
    source = bytes.fromhex("fe80000000000000000000000000aaaa")
    group = bytes.fromhex("ff020000000000000000000000000001")
    icmp = struct.pack("!BBHHH16sBBH", 130, 0, 0, 100, 0, bytes(16), 2, 125, 0)
    pseudo = source + group + struct.pack("!II", len(icmp), 58)
    total = sum(struct.unpack(f"!{(len(pseudo) + len(icmp)) // 2}H", pseudo + icmp))
    total = (total & 0xFFFF) + (total >> 16)
    total = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    icmp = icmp[:2] + struct.pack("!H", total) + icmp[4:]
    alert = bytes((58, 0, 5, 2, 0, 0, 1, 0))
    ip = struct.pack("!IHBB", 0x60000000, len(alert) + len(icmp), 0, 1) + source + group
    ethernet = bytes.fromhex("333300000001") + source_mac + b"\x86\xdd"
    return ethernet + ip + alert + icmp


def snooping(lab):
    """From the answer to a query, a snooping switch learns the port of fd99::1's solicited-node
    group, so a peer without a neighbour entry finds the server through it."""
    lab.sw.ip("link", "set", "br0", "type", "bridge", "mcast_snooping", "1")
    with lab.peer.raw("p0") as router:
        router.send(mld_query(bytes.fromhex("0299000000aa")))
        until(
            lambda: "port d0 grp ff02::1:ff00:1" in lab.sw.run("bridge", "mdb", "show"),
            5,
            "the switch knows the group",
        )
    lab.peer.ip("neigh", "flush", "dev", "p0")
    lab.peer.run("ping", "-6", "-c", "1", "-W", "3", SERVER6)


def main(lab):
    labs.need_own_server()
    server = lab.server(
        {"peers": {"allow": ["10.99.0.0/24", "fd99::/64", "10.98.0.0/24"]}},
        allow=("mtu-exceeded", "ttl-expired", "ip-options"),  # the last one: the bridge's IGMP
    )
    closed_ports(lab)
    untold(lab, server)
    narrow_hop(lab, server)
    last_hop(lab)
    snooping(lab)
    assert server.stats()["icmp_errors_sent"] == 2, server.stats()
    server.finish()
    told_all(lab)


if __name__ == "__main__":
    labs.run(main, gateway=True)
