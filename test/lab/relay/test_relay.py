#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Relays between clients and peers of both families, by channel and by indication."""

import socket

import lab as labs
from lab import CLIENT4, CLIENT6, PEER4, PEER6
from turnlib import REQUESTED_ADDRESS_FAMILY, SUCCESS

SO_NO_CHECK = 11
SIZES = (0, 1, 2, 3, 4, 5, 100, 1200)


def family(peer):
    return (REQUESTED_ADDRESS_FAMILY, bytes([2 if ":" in peer else 1, 0, 0, 0]))


def check_pair(lab, client_ip, peer_ip):
    echo = lab.echo(peer_ip)
    client = lab.client(ip=client_ip)
    answer = client.allocate([family(peer_ip)])
    assert answer.cls == SUCCESS, answer
    assert client.mapped == client.sock.getsockname()[:2], client.mapped
    server = labs.SERVER6 if ":" in peer_ip else labs.SERVER4
    assert client.relayed[0] == server and 49152 <= client.relayed[1] <= 65535, client.relayed
    assert client.granted == 600, client.granted  # RFC 8656 7.2: the default

    assert client.permit(echo.address).cls == SUCCESS
    for size in SIZES:
        payload = bytes(i & 255 for i in range(size))
        client.send(echo.address, payload)
        item = client.wait("data")
        assert item == ("data", echo.address, payload), (size, item)

    assert client.bind(0x4001, echo.address).cls == SUCCESS
    for size in SIZES:
        payload = bytes(255 - i & 255 for i in range(size))
        client.send_channel(0x4001, payload)
        item = client.wait("channel")
        assert item == ("channel", 0x4001, payload), (size, item)

    # Without a UDP checksum over IPv4: the relayed datagram has no checksum, or over IPv6 a valid one.
    if ":" not in client_ip:
        client.sock.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)
        client.send_channel(0x4001, b"unchecked")
        assert client.wait("channel") == ("channel", 0x4001, b"unchecked")
        client.sock.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 0)
        echo.seen.pop()

    # A Send indication to a peer with a channel arrives, too, and the echo uses the channel (RFC
    # 8656 12.5).
    client.send(echo.address, b"mixed")
    assert client.wait("channel") == ("channel", 0x4001, b"mixed")
    assert all(source == client.relayed for source, _ in echo.seen), echo.seen[:3]
    assert len(echo.seen) == 2 * len(SIZES) + 1, len(echo.seen)
    assert client.refresh(0).cls == SUCCESS
    assert client.unanswered() == 0 and client.drain() == []
    print(f"{client_ip} -> {peer_ip}: {len(echo.seen)} datagrams each way, none lost")


def main(lab):
    lab.server()
    for client_ip in (CLIENT4, CLIENT6):
        for peer_ip in (PEER4, PEER6):
            check_pair(lab, client_ip, peer_ip)


if __name__ == "__main__":
    labs.run(main)
