#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""DSCP and ECN through the relay between kernels: copied, or set by a listener; over TCP, too."""

import socket

import lab as labs
import streams
import turnlib
from capture import Capture
from lab import CLIENT4, CLIENT6, PEER4, PEER6, SERVER4, SERVER6
from turnlib import REQUESTED_ADDRESS_FAMILY, SUCCESS

CHANNEL = 0x4001
EF, AF41, CS1 = 46, 34, 8
OWN = {SERVER4: EF, SERVER6: AF41}  # of the listeners on port 3479
NOT_ECT, ECT1, ECT0, CE = range(4)
# Values that a sender may set: every value of ECN, and extremes of DSCP.
CLASSES = [dscp << 2 | ecn for dscp in (0, CS1, AF41, EF, 63) for ecn in (NOT_ECT, ECT1, ECT0, CE)]


def options(sock):
    """The socket level, and the options that set the class and report it."""
    if sock.family == socket.AF_INET6:
        return socket.IPPROTO_IPV6, socket.IPV6_TCLASS, socket.IPV6_RECVTCLASS
    return socket.IPPROTO_IP, socket.IP_TOS, socket.IP_RECVTOS


def ask_class(sock):
    level, _, told = options(sock)
    sock.setsockopt(level, told, 1)


def set_class(sock, tos):
    level, kind, _ = options(sock)
    sock.setsockopt(level, kind, tos)


def receive(sock):
    """The next datagram, its class and its source."""
    level, kind, _ = options(sock)
    sock.settimeout(3 * labs.SLOW)
    data, notes, _, source = sock.recvmsg(2048, 256)
    for noted_level, noted, value in notes:
        if (noted_level, noted) == (level, kind):
            return data, value[0], source
    raise AssertionError(f"no class among {notes}")


def family(ip):
    return [(REQUESTED_ADDRESS_FAMILY, bytes([2 if ":" in ip else 1, 0, 0, 0]))]


def udp_client(lab, ip, port):
    server = SERVER6 if ":" in ip else SERVER4
    client = turnlib.Client(lab.cli.udp(ip), (server, port), labs.ivan())
    lab.cleanup.callback(client.close)
    return client


def open_peer(lab, ip):
    peer = lab.peer.udp(ip)
    lab.cleanup.callback(peer.close)
    ask_class(peer)
    return peer


def both_ways(client, peer, expected):
    """Sends with every class, on a channel and as indications, and reads the received values."""
    for tos in CLASSES:
        set_class(client.sock, tos)
        set_class(peer, tos)
        payload = b"%d" % tos
        client.send_channel(CHANNEL, payload)
        client.send(peer.getsockname()[:2], payload)
        for _ in range(2):
            data, got, source = receive(peer)
            assert (data, got) == (payload, expected(tos)), (data, got, tos)
        peer.sendto(payload, source)
        data, got, _ = receive(client.sock)
        assert (data[4:], got) == (payload, expected(tos)), (data, got, tos)


def over_udp(lab):
    for ip, peer_ip in (
        (CLIENT4, PEER4), (CLIENT6, PEER6), (CLIENT4, PEER6), (CLIENT6, PEER4),
    ):  # fmt: skip
        for port in (3478, 3479):
            client, peer = udp_client(lab, ip, port), open_peer(lab, peer_ip)
            assert client.allocate(family(peer_ip)).cls == SUCCESS
            assert client.bind(CHANNEL, peer.getsockname()[:2]).cls == SUCCESS
            ask_class(client.sock)
            mark = OWN[client.server[0]] if port == 3479 else None
            both_ways(client, peer, lambda tos, mark=mark: tos if mark is None else mark << 2 | tos & 3)
            client.close()
            peer.close()
            print(f"ok     {ip} to {peer_ip}, {'copied' if mark is None else mark}")


def tcp_client(lab, ip, port, tos):
    kind = socket.AF_INET6 if ":" in ip else socket.AF_INET
    with lab.cli.enter():
        sock = socket.socket(kind, socket.SOCK_STREAM)
    lab.cleanup.callback(sock.close)
    set_class(sock, tos)
    sock.settimeout(5 * labs.SLOW)
    sock.connect((streams.V6 if ":" in ip else streams.V4, port))
    return streams.Client(sock)


def over_tcp(lab):
    """A connection has the DSCP of the listener, or of the client's SYN. TCP itself sets ECN."""
    for ip, port, tos, want in (
        (CLIENT4, 3478, CS1 << 2, CS1), (CLIENT6, 3478, EF << 2, EF), (CLIENT4, 3478, 0, 0),
        (CLIENT4, 3479, CS1 << 2, EF), (CLIENT6, 3479, 0, AF41),
    ):  # fmt: skip
        peer = open_peer(lab, PEER4)
        with Capture(lab, lab.cli, "c0") as capture:
            client = tcp_client(lab, ip, port, tos)
            assert client.allocate().cls == SUCCESS
            assert client.bind(CHANNEL, peer.getsockname()[:2]).cls == SUCCESS
            client.send_channel(CHANNEL, b"up")
            data, got, source = receive(peer)
            assert (data, got) == (b"up", want << 2), (data, got)
            set_class(peer, 63 << 2 | CE)
            peer.sendto(b"down", source)
            assert client.wait("channel") == ("channel", CHANNEL, b"down")
            client.close()
        server = (streams.V4, streams.V6)
        sent = [f for f in capture.frames if f.proto == 6 and f.src in server]
        # Until the connection is accepted, the kernel answers with its own value.
        sent = [f for f in sent if port == 3479 or len(f.l4) > (f.l4[12] >> 4) * 4]
        assert len(sent) > 2 and {f.tos >> 2 for f in sent} == {want}, [f.tos for f in sent]
        peer.close()
        print(f"ok     TCP, {ip}, port {port}: {want}")


def answers(lab):
    """Answers to an unauthenticated client have the listener's DSCP, never the client's."""
    for ip in (CLIENT4, CLIENT6):
        for port in (3478, 3479):
            client = udp_client(lab, ip, port)
            ask_class(client.sock)
            set_class(client.sock, 63 << 2)
            client.send_raw(turnlib.build(turnlib.REQUEST, turnlib.BINDING))
            got = receive(client.sock)[1]
            assert got == (OWN[client.server[0]] << 2 if port == 3479 else 0), got
            client.close()
    print("ok     answers")


def main(lab):
    labs.need_own_server()
    streams.join(lab)
    listeners = [
        {"transport": transport, "address": address, "port": port, **dscp}
        for transport, addresses in (
            ("udp", (SERVER4, SERVER6)), ("tcp", (streams.V4, streams.V6)),
        )
        for address, mark in zip(addresses, (EF, AF41))
        for port, dscp in ((3478, {}), (3479, {"dscp": mark}))
    ]  # fmt: skip
    server = lab.server({"listeners": listeners}, allow={"no-allocation", "peer-no-allocation"})
    over_udp(lab)
    over_tcp(lab)
    answers(lab)
    server.finish()


if __name__ == "__main__":
    labs.run(main)
