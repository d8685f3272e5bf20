#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Messages without an answer, and the counter that names the reason: malformed messages,
indications, data.

After each datagram the client sends a Binding request. Everything before its answer is the server's
reaction to the datagram, which proves silence without a wait.
"""

import struct

import lab as labs
from lab import PEER4, PEER6
from turnlib import (
    ALLOCATE,
    BINDING,
    CREATE_PERMISSION,
    DATA,
    DATA_ATTR,
    ERROR,
    FINGERPRINT,
    INDICATION,
    REFRESH,
    REQUEST,
    SEND,
    SUCCESS,
    XOR_PEER_ADDRESS,
    build,
    channel_data,
    new_tid,
    xor_address,
)

PEER = (PEER4, 5000)
CHANNEL = 0x4000


def send_attrs(tid, peer=PEER, data=b"x"):
    return [(XOR_PEER_ADDRESS, xor_address(peer, tid)), (DATA_ATTR, data)]


def send_indication(*extra, **kwargs):
    tid = new_tid()
    return build(INDICATION, SEND, [*extra, *send_attrs(tid, **kwargs)], tid)


def broken(offset, value):
    """A Binding request with bytes replaced."""
    data = build(REQUEST, BINDING, [(0x8022, b"abcd")])
    return data[:offset] + value + data[offset + len(value) :]


def uncooked(method):
    """A request without the magic cookie, which only Binding of RFC 3489 allows."""
    data = build(REQUEST, method)
    return data[:4] + b"\0\0\0\1" + data[8:]


# (name, datagram, counter). The client has an allocation, a permission and a channel to PEER.
MALFORMED = (
    ("a short header", build(REQUEST, BINDING)[:19], "stun-malformed"),
    ("one byte", b"\0", "stun-malformed"),
    ("an Allocate with another cookie", uncooked(ALLOCATE), "stun-malformed"),
    ("a length that is no multiple of 4", broken(2, b"\0\7"), "stun-malformed"),
    ("a length beyond the datagram", broken(2, b"\0\x0c"), "stun-malformed"),
    ("a length short of the datagram", broken(2, b"\0\4"), "stun-malformed"),
    ("trailing bytes", build(REQUEST, BINDING) + bytes(4), "stun-malformed"),
    ("an attribute beyond the message", broken(22, b"\0\5"), "stun-malformed"),
    ("an attribute far beyond the message", broken(22, b"\xff\xff"), "stun-malformed"),
    ("a first byte of 0x80", b"\x80" + bytes(30), "not-turn"),
    ("a first byte of 0xff", b"\xff" * 100, "not-turn"),
    ("a DTLS record", b"\x16\xfe\xfd" + bytes(40), "not-turn"),
    ("a first byte of 0x04", b"\x04" + bytes(30), "not-turn"),
    ("an unknown method", build(REQUEST, 0x00A), "stun-method"),
    ("the method 0x0ff", build(REQUEST, 0x0FF), "stun-method"),
    ("the method 0xfff", build(REQUEST, 0xFFF), "not-turn"),  # its first byte is DTLS's
    ("a Send request", build(REQUEST, SEND), "stun-method"),
    ("an Allocate indication", build(INDICATION, ALLOCATE), "stun-method"),
    ("a Refresh success", build(SUCCESS, REFRESH), "stun-method"),
    ("a Binding success", build(SUCCESS, BINDING), "stun-method"),
    ("a CreatePermission error", build(ERROR, CREATE_PERMISSION), "stun-method"),
    ("a Data indication from a client", build(INDICATION, DATA), "stun-method"),
    (
        "a wrong FINGERPRINT",
        build(REQUEST, BINDING, [(FINGERPRINT, b"\1\2\3\4")]),
        "stun-fingerprint",
    ),
)
INDICATIONS = (
    ("a Binding indication (8489 3: it keeps a NAT open)", build(INDICATION, BINDING), "keepalive"),
    ("Send without peer", build(INDICATION, SEND, [(DATA_ATTR, b"x")]), "indication-malformed"),
    (
        "Send without data",
        (lambda tid: build(INDICATION, SEND, send_attrs(tid)[:1], tid))(new_tid()),
        "indication-malformed",
    ),
    (
        "Send with a malformed peer",
        build(INDICATION, SEND, [(XOR_PEER_ADDRESS, bytes(3)), (DATA_ATTR, b"x")]),
        "indication-malformed",
    ),
    (
        "Send with an unknown attribute",
        send_indication((0x7F01, b"")),
        "stun-unknown-attribute",
    ),
    ("Send to loopback", send_indication(peer=("127.0.0.1", 9)), "no-permission"),
    ("Send to the other family", send_indication(peer=(PEER6, 9)), "peer-denied"),
    ("Send to port 0", send_indication(peer=(PEER4, 0)), "peer-denied"),
    ("Send without permission", send_indication(peer=("10.99.0.99", 9)), "no-permission"),
    ("ChannelData on a free channel", channel_data(CHANNEL + 1, b"x"), "channel-unbound"),
    ("ChannelData on channel 0x5000", channel_data(0x5000, b"x"), "channel-unbound"),
    ("ChannelData on channel 0x7fff", channel_data(0x7FFF, b"x"), "channel-unbound"),
    (
        "ChannelData longer than its datagram",
        struct.pack("!HH", CHANNEL, 9) + b"12345678",
        "channel-length",
    ),
    ("a ChannelData header cut short", struct.pack("!HB", CHANNEL, 0), "channel-length"),
)
WITHOUT_ALLOCATION = (
    ("ChannelData without allocation", channel_data(CHANNEL, b"x"), "no-allocation"),
    ("Send without allocation", send_indication(), "no-allocation"),
)


def silent(server, client, name, data, counter):
    """One datagram that is dropped for a named reason and not answered."""
    before = server.drops().get(counter, 0)
    client.send_raw(data)
    got = client.fence()
    assert not got, f"{name}: answered with {got}"
    count = lambda: server.drops().get(counter, 0)
    labs.until(lambda: count() > before, 2, f"{name}: counted as {counter}: {server.drops()}")
    assert count() == before + 1, f"{name}: counted {count() - before} times"
    print(f"ok     {name} ({counter})", flush=True)


def main(lab):
    labs.need_own_server()
    counters = {row[2] for row in MALFORMED + INDICATIONS + WITHOUT_ALLOCATION}
    server = lab.server(allow=counters)
    echo = lab.echo(port=PEER[1])
    client = lab.client()
    assert client.allocate().cls == SUCCESS and client.bind(CHANNEL, PEER).cls == SUCCESS
    for name, data, counter in MALFORMED + INDICATIONS:
        silent(server, client, name, data, counter)
    stranger = lab.client()
    for name, data, counter in WITHOUT_ALLOCATION:
        silent(server, stranger, name, data, counter)
    assert echo.seen == [], "nothing of all this reached the peer"

    # The client still has its channel, and each counter has increased once.
    client.send_channel(CHANNEL, b"alive")
    assert client.wait("channel") == ("channel", CHANNEL, b"alive")


if __name__ == "__main__":
    labs.run(main)
