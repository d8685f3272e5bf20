#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""TCP and TLS with unmodified clients, and messages that are split and joined in a byte stream."""

import contextlib
import os
import ssl
import time

import lab as labs
import server as servers
import streams
import uclient
from lab import CLIENT4, CLIENT6, PEER4, PEER6, SERVER4, SERVER6, until
from turnlib import BINDING, EVEN_PORT, REQUEST, SUCCESS, build, channel_data

# Label, server, peer, options, clients, messages.
RUNS = (
    ("TCP, channels", streams.V4, PEER4, ("-t", "-c"), 2, 60),
    ("TCP, RTP and RTCP pairs", streams.V4, PEER4, ("-t",), 2, 60),
    ("TCP, indications", streams.V4, PEER4, ("-t", "-c", "-s"), 2, 60),
    ("TCP over IPv6 to IPv6", streams.V6, PEER6, ("-t", "-c", "-x"), 2, 60),
    ("TCP, odd sizes", streams.V4, PEER4, ("-t", "-c", "-l", "77"), 2, 60),
    ("TCP, client to client", streams.V4, PEER4, ("-t", "-c", "-y"), 4, 30),
    ("TLS, channels", streams.V4, PEER4, ("-t", "-S", "-c", "-p", "5349"), 2, 60),
    ("TLS, pairs over IPv6", streams.V6, PEER4, ("-t", "-S", "-X", "-p", "5349"), 2, 60),
    ("TLS, found out", streams.V4, PEER4, ("-t", "-S", "-c", "-p", "443"), 2, 60),
    ("TCP, found out", streams.V4, PEER4, ("-t", "-c", "-p", "443"), 2, 60),
)


def relaying(lab, transport, ip, tls=None):
    """Every padding length in both directions, and indications, in order."""
    echo = lab.echo(PEER6 if ":" in ip else PEER4)
    client = streams.client(lab, transport, ip, tls)
    family = [(0x17, bytes([2, 0, 0, 0]))] if ":" in ip else []
    assert client.allocate(family).cls == SUCCESS
    assert client.mapped == client.sock.getsockname()[:2], client.mapped
    assert client.bind(0x4001, echo.address).cls == SUCCESS
    payloads = [os.urandom(n) for n in (0, 1, 2, 3, 4, 5, 160, 1201)]
    for payload in payloads:
        client.send_channel(0x4001, payload)
    got = [client.wait("channel")[2] for _ in payloads]
    assert got == payloads, [len(p) for p in got]
    for payload in payloads:  # a bound channel is used anyway (RFC 8656 12.5)
        client.send(echo.address, payload)
    assert [client.wait("channel")[2] for _ in payloads] == payloads
    second = lab.echo(PEER6 if ":" in ip else PEER4)
    assert client.permit(second.address).cls == SUCCESS
    for payload in payloads:
        client.send(second.address, payload)
    assert [client.wait("data") for _ in payloads] == [("data", second.address, p) for p in payloads]
    return client, echo


def bytewise(lab):
    """A message byte by byte, and many in one segment: the stream has no message boundaries."""
    client, echo = relaying(lab, "tcp", CLIENT4)
    text = b"".join(streams.pad(channel_data(0x4001, b"%d" % i)) for i in range(40))
    for i in range(60):
        client.sock.sendall(text[i : i + 1])
    client.sock.sendall(text[60:] + build(REQUEST, BINDING))
    assert [client.wait("channel")[2] for _ in range(40)] == [b"%d" % i for i in range(40)]
    assert client.wait("stun")[1].cls == SUCCESS
    # TCP to UDP (RFC 8656 15): no DF, our own TTL; the peer's kernel has accepted all datagrams
    assert echo.seen[-1][1] == b"39"
    client.close()


def records(lab):
    """TLS records are split and joined in TCP, too: the end of a handshake, and several records at
    once."""
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = streams.context().wrap_bio(into, out, server_side=False)
    sock = streams.connect(lab, "tls")
    while True:
        try:
            tls.do_handshake()
            break
        except ssl.SSLWantReadError:
            sock.sendall(out.read())
            into.write(sock.recv(65536))
    answers, asked = b"", 0
    for burst in (3, 20, 1, 30):  # the first one with the client's Finished
        for _ in range(burst):
            tls.write(build(REQUEST, BINDING))
        asked += burst
        text = out.read()
        sock.sendall(text[:-7])
        time.sleep(0.02)  # and the end of the last one later
        sock.sendall(text[-7:])
        while answers.count(b"\x21\x12\xa4\x42") < asked:
            into.write(sock.recv(65536))
            with contextlib.suppress(ssl.SSLWantReadError):
                while True:
                    answers += tls.read(65536)
    sock.close()


def pairs(lab, server):
    """EVEN-PORT with a reservation that another connection uses, often on another worker."""
    until(lambda: server.stats()["allocations"] == 0, 5, "all others are gone")
    elsewhere = 0
    for _ in range(6):
        first, second = streams.client(lab), streams.client(lab)
        assert first.allocate([(EVEN_PORT, b"\x80")]).cls == SUCCESS
        assert second.allocate([(0x22, first.token)]).cls == SUCCESS
        assert second.relayed[1] == first.relayed[1] + 1
        echo = lab.echo(PEER4)
        assert second.bind(0x4002, echo.address).cls == SUCCESS
        second.send_channel(0x4002, b"rtcp")
        assert second.wait("channel")[2] == b"rtcp"
        elsewhere += server.stats()["redirects"]
        for client in (second, first):  # the worker with the allocation learns of the end
            client.close()
            until(lambda: server.stats()["allocations"] == (client is second), 3, "it has ended")
        until(lambda: server.stats()["redirects"] == 0, 3, "no redirect is left")
    print(f"{elsewhere} of 6 reservations were another worker's")


def own_addresses(lab):
    """TCP and TLS on the addresses of the port itself, through its exception port."""
    if not lab.vtap:
        return
    host = lab.namespace(lab.cleanup, "host")
    config = streams.config(lab, ("tcp", "tls"), netns=host.name)
    for listener in config["listeners"]:
        listener["address"] = {streams.V4: SERVER4, streams.V6: SERVER6}.get(
            listener["address"], listener["address"]
        )
    port = dict(servers.CONFIG["ports"][0])
    port["exception"] = {"name": "sr0", "netns": host.name, "allow": []}
    server = lab.server({**config, "ports": [port]}, allow=("exception-foreign",))
    echo = lab.echo(PEER4)
    for transport, ip in (("tcp", CLIENT4), ("tls", CLIENT4), ("tcp", CLIENT6)):
        address = SERVER6 if ":" in ip else SERVER4
        client = streams.client(lab, transport, ip, server=address)
        assert client.allocate().cls == SUCCESS
        assert client.bind(0x4001, echo.address).cls == SUCCESS
        client.send_channel(0x4001, b"here")
        assert client.wait("channel")[2] == b"here"  # the peer is resolved
        payloads = [b"%d" % i * 100 for i in range(50)]
        for payload in payloads:
            client.send_channel(0x4001, payload)
        assert [client.wait("channel")[2] for _ in payloads] == payloads
        client.close()
    until(lambda: server.stats()["allocations"] == 0, 5, "all are gone")
    server.finish()


def main(lab):
    labs.need_own_server()
    own_addresses(lab)
    streams.join(lab)
    server = lab.server(streams.config(lab, ("tcp", "tls", "auto")))
    uclient.check(lab, RUNS)
    for transport, ip, tls in (
        ("tcp", CLIENT6, None),
        ("tls", CLIENT4, None),
        ("auto", CLIENT4, None),
        ("auto", CLIENT6, streams.context()),
    ):
        relaying(lab, transport, ip, tls)[0].close()
    bytewise(lab)
    records(lab)
    pairs(lab, server)
    seen = streams.counters(server)
    print(seen)
    assert seen["queue_full"] == seen["oversize"] == seen["garbage"] == seen["slow"] == 0, seen


if __name__ == "__main__":
    labs.run(main)
