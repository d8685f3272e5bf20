#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Super-frames through the server: kernels on both sides receive the same datagrams in the same
order with and without them, whether they were sent in super-frames or one by one.
"""

import errno
import os
import socket

import lab as labs
import server as servers
from lab import CLIENT4, CLIENT6, PEER4, PEER6, SLOW, until
from turnlib import REQUESTED_ADDRESS_FAMILY, SUCCESS

SO_RCVBUFFORCE = 33
UDP_SEGMENT = 103  # socket option: the kernel cuts a payload into datagrams of this size
CHANNEL = 0x4000
SIZES = ((1000, 40), (1200, 20), (172, 64), (1, 30))  # payload, datagrams in a burst
ROUNDS = 4
PAIRS = ((CLIENT4, PEER4), (CLIENT6, PEER6), (CLIENT4, PEER6))
DATAGRAMS = len(PAIRS) * 4 * ROUNDS * sum(number for _, number in SIZES)  # both directions, twice


def burst(size, number):
    """Payloads of one burst. The last one is shorter, like the end of a video frame."""
    last = size // 2 + 1 if size > 1 else size
    return [os.urandom(size) for _ in range(number - 1)] + [os.urandom(last)]


def channel(payload):
    return CHANNEL.to_bytes(2, "big") + len(payload).to_bytes(2, "big") + payload


def send(sock, dst, messages, whole):
    """Sends a burst in one call, which a kernel may leave as one frame, or one by one."""
    sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, len(messages[0]) if whole else 0)
    try:
        for data in [b"".join(messages)] if whole else messages:
            sock.sendto(data, dst)
        return
    except OSError as error:
        # Before Linux 6.11 only to interfaces with checksum offload.
        if error.errno != errno.EIO:
            raise
    send(sock, dst, messages, False)


def receive(sock, number):
    return [sock.recv(65536) for _ in range(number)]


def one_way(sender, dst, receiver, messages, expected):
    for whole in (True, False):
        send(sender, dst, messages, whole)
        assert receive(receiver, len(expected)) == expected, f"{len(expected)} whole={whole}"


def pair(lab, client_ip, peer_ip):
    """A client and its peer: bursts of every size in both directions."""
    peer = lab.peer.udp(peer_ip)
    client = lab.client(ip=client_ip)
    family = bytes([2 if ":" in peer_ip else 1, 0, 0, 0])
    assert client.allocate([(REQUESTED_ADDRESS_FAMILY, family)]).cls == SUCCESS
    assert client.bind(CHANNEL, peer.getsockname()[:2]).cls == SUCCESS
    for sock in (peer, client.sock):
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
        sock.settimeout(2 * SLOW)
    relay, server = client.relayed, client.server
    client.send_channel(CHANNEL, b"first")  # when neighbours are resolved, nothing is held
    assert receive(peer, 1) == [b"first"]
    for size, number in SIZES * ROUNDS:
        up, down = burst(size, number), burst(size, number)
        # ChannelData over UDP needs no padding (RFC 8656 12.4): all messages but the last have one
        # length
        one_way(client.sock, server, peer, [channel(data) for data in up], up)
        one_way(peer, relay, client.sock, down, [channel(data) for data in down])
    peer.close()


def uso(lab, choice):
    """Counters of a server with this choice of ports[].uso after all bursts."""
    ports = [{**servers.CONFIG["ports"][0], "uso": choice}]
    # One worker: a kernel may move a flow to another queue at any time, and the order is checked.
    server = lab.server({"workers": {"count": 1}, "ports": ports}, queues=1)
    for client_ip, peer_ip in PAIRS:
        pair(lab, client_ip, peer_ip)
    # a busy worker publishes its counters every few rounds
    until(lambda: server.workers()[0]["tx"] >= DATAGRAMS, 2, "all are counted")
    (counters,) = server.workers()
    (port,) = server.telemetry.ask("/slipring/ports")
    assert port["tx_cut"] == port["rx_errors"] == port["tx_errors"] == 0, port
    server.finish()
    return counters


def main(lab):
    labs.need_own_server()
    for ns, name in ((lab.cli, "c0"), (lab.peer, "p0")):
        ns.run("ethtool", "-K", name, *"tx on gso on tx-udp-segmentation on".split())
    on, off = uso(lab, "auto"), uso(lab, "off")
    for counters in (on, off):
        # The datagrams, however they were received and sent, plus requests, neighbours, traffic of
        # kernels.
        assert DATAGRAMS <= counters["tx"] < DATAGRAMS + 200, counters
        assert DATAGRAMS <= counters["rx"] < DATAGRAMS + 200, counters
    assert off["uso_frames"] == off["uso_segments"] == 0, off
    share = on["uso_segments"] / on["tx"]
    if on["uso_frames"] == 0 and tuple(map(int, os.uname().release.split(".")[:2])) < (6, 2):
        raise labs.Skip("this kernel has no tap with USO")
    # Data from IPv6 to IPv4 has no DF and is sent alone: one direction of six.
    assert share > 0.3, on
    assert on["whole_frames"] > 0 and off["whole_frames"] == 0, (on, off)
    print(f"{on['uso_segments']} of {on['tx']} datagrams left in {on['uso_frames']} super-frames, "
          f"{on['whole_frames']} of which came as such")  # fmt: skip


if __name__ == "__main__":
    labs.run(main, port="vtap")
