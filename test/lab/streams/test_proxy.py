#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Clients behind load balancers that speak the PROXY protocol: answers, counters, limits and
listings use their own addresses. Connections from other sources are refused."""

import shutil
import socket
import time

import lab as labs
import proxy
import reasons
import rereads
import streams
import uclient
from control import Control
from lab import CLIENT4, CLIENT6, PEER4, PEER6, until
from proxy import LOCAL, PROXY, Balancer, header
from reasons import Cases
from turnlib import BINDING, REQUEST, SUCCESS, XOR_MAPPED_ADDRESS, build

HANDSHAKE, HEADERS, SIZE, PER_SOURCE = 1 + labs.SLOW // 2, 4, 100, 4
PLAIN, TLS = 3478, 5349
BALANCERS = ["10.99.0.0-10.99.250.255", "fd99::3"]
ELSEWHERE = {}

faults = Cases()


# --- errors, and sources that are not balancers ------------------------------------------------------


def connection(me, ip=None, data=b""):
    """A connection from a host with a balancer's address."""
    sock = streams.connect(me.lab, ip=ip or me.ip)
    sock.sendall(data)
    return sock


def is_refused(me, data=b"", ip=None):
    try:
        assert streams.is_closed(connection(me, ip, data))
    except ConnectionError:
        pass


@faults.case(named=False)
def proxy_source(me):
    """A client that bypasses the balancer and sends a header itself."""
    me.ip = "10.99.251.2"
    me.lab.add_address(me.lab.cli, "c0", me.ip)
    is_refused(me, header(("203.0.113.1", 1), ("203.0.113.2", 2)))
    me.lab.cli.ip("addr", "del", me.ip + "/24", "dev", "c0")


@faults.case(named=False)
def proxy_none(me):
    is_refused(me, b"POST / HTTP/1.1\r\n")
    is_refused(me, build(REQUEST, BINDING))


@faults.case(named=False)
def proxy_bad(me):
    is_refused(me, header(("203.0.113.1", 1), ("203.0.113.2", 2), tlvs=b"\x04\0\x09"))
    is_refused(me, b"PROXY TCP4 203.0.113.1 203.0.113.2 1 3478 \r\n")


@faults.case(named=False)
def proxy_long(me):
    """Refused because of its length: the server does not wait for the announced bytes."""
    is_refused(me, header(("203.0.113.1", 1), ("203.0.113.2", 2))[:14] + b"\xff\xff")


@faults.case(named=False)
def proxy_slow(me):
    """Half a header, without an end."""
    begin, sock = time.monotonic(), connection(me, data=header((me.ip, 1), (me.ip, 2))[:20])
    assert streams.is_closed(sock)
    assert time.monotonic() - begin >= HANDSHAKE - labs.GRAIN


@faults.case(named=False)
def proxy_gave_way(me):
    """The oldest of the connections that may wait in its thread, of two. Newer ones replace it."""
    first = connection(me)
    others = [connection(me) for _ in range(10 * HEADERS)]
    assert streams.is_closed(first)
    good = connection(me, data=header(("203.0.113.1", 1), ("203.0.113.2", 2)))
    assert streams.Client(good).binding().cls == SUCCESS
    for sock in (good, *others):
        sock.close()


@faults.case(named=False)
def proxy_taken(me):
    """One address and port through two balancers: the first one keeps it."""
    text = header((me.ip, 4711), ("203.0.113.2", 2))
    first = streams.Client(connection(me, data=text))
    assert first.allocate().cls == SUCCESS
    is_refused(me, text + build(REQUEST, BINDING))
    assert first.refresh().cls == SUCCESS
    first.close()


# --- correct headers ---------------------------------------------------------------------------


def connect_through(lab, balancer, ip, tls=False):
    """A TURN client that has connected to a balancer."""
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    with lab.cli.enter():
        sock = socket.socket(family)
    lab.cleanup.callback(sock.close)
    sock.settimeout(5 * labs.SLOW)
    sock.bind((ip, 0))
    sock.connect(balancer.address)
    return streams.Client(streams.over_tls(sock) if tls else sock)


def mapped(client):
    return client.binding().address(XOR_MAPPED_ADDRESS)


def is_served(lab, server, ask, balancer, ip, tls=False):
    """The mapped address is its own, media flow in both directions, and the listing has its
    address."""
    client, echo = connect_through(lab, balancer, ip, tls), lab.echo(PEER4)
    assert client.allocate().cls == SUCCESS
    sock_addr = client.sock.getsockname()[:2]
    assert client.mapped == sock_addr, (client.mapped, sock_addr)
    assert client.bind(0x4000, echo.address).cls == SUCCESS
    for number in range(20):
        client.send_channel(0x4000, b"%d" % number)
        assert client.wait("channel")[2] == b"%d" % number
    text = f"[{sock_addr[0]}]:{sock_addr[1]}" if ":" in ip else f"{sock_addr[0]}:{sock_addr[1]}"
    rows = ask.ask("allocations")["rows"]
    assert [row["client"] for row in rows] == [text], rows
    client.close()
    until(lambda: server.stats()["allocations"] == 0, 3, "the allocation ends with its connection")
    echo.close()


def served(lab, server, ask):
    """Every family of the client and of the balancer, plain and with TLS after the header."""
    for balancer_ip, dst_ip in ((PEER4, streams.V4), (PEER6, streams.V6), (PEER6, streams.V4)):
        for tls in (False, True):
            balancer = Balancer(lab, lab.peer, (balancer_ip, 0), (dst_ip, TLS if tls else PLAIN))
            is_served(lab, server, ask, balancer, CLIENT6 if ":" in balancer_ip else CLIENT4, tls)


def pieces(lab):
    """A header in as many segments as it has bytes, and one of the maximum length."""
    full = header((CLIENT4, 99), (PEER4, 3478), tlvs=b"\x04\0" + bytes([SIZE - 31]) + bytes(SIZE - 31))
    assert len(full) == SIZE
    for text in (header((CLIENT6, 99), (PEER6, 3478)), full):
        sock = streams.connect(lab, ip="10.99.250.2")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in text:
            sock.sendall(bytes([byte]))
            time.sleep(0.001)
        client = streams.Client(sock)
        assert mapped(client)[1] == 99
        client.close()


def limits(lab, server):
    """A client's limit covers its connections through all balancers. A balancer has no limit of its
    own."""
    until(lambda: streams.counters(server)["connections"] == 0, 5, "all others are gone")
    mine = [Balancer(lab, lab.peer, (PEER4, 0), (streams.V4, PLAIN)) for _ in range(2)]
    some = [connect_through(lab, mine[number % 2], CLIENT4) for number in range(PER_SOURCE)]
    assert all(client.binding().cls == SUCCESS for client in some)
    before = streams.counters(server)["refused_source"]
    assert streams.is_closed(connect_through(lab, mine[0], CLIENT4).sock)
    until(lambda: streams.counters(server)["refused_source"] == before + 1, 3, "it is counted")
    lab.add_address(lab.cli, "c0", "10.99.0.4")
    others = [connect_through(lab, mine[0], "10.99.0.4") for _ in range(PER_SOURCE)]
    assert all(client.binding().cls == SUCCESS for client in others)
    for client in some + others:
        client.close()


def local_command(lab, server):
    """LOCAL: the balancer sends its own request and gets an answer."""
    before = streams.counters(server)["proxy_own"]
    for command, family in ((LOCAL, 0), (LOCAL, 0x11), (PROXY, 0)):
        text = header(("203.0.113.1", 1), ("203.0.113.2", 2), command, family)
        client = streams.Client(streams.connect(lab, ip="10.99.250.2"))
        client.sock.sendall(text)
        assert mapped(client) == client.sock.getsockname()[:2]
        client.close()
    until(lambda: streams.counters(server)["proxy_own"] == before + 3, 3, "they are counted")


def real_clients(lab):
    """coturn's client, which does not know about the balancer."""
    balancer = Balancer(lab, lab.peer, (PEER4, 0), (streams.V4, PLAIN))
    options = ("-t", "-c", "-p", str(balancer.address[1]))
    uclient.check(lab, [("TCP, by a balancer", PEER4, PEER4, options, 2, 30)])


def real_balancer(lab, server, ask, send, port):
    """haproxy, with a checksum and TLVs in version 2, which checks the server periodically."""
    if not shutil.which("haproxy"):
        print("no haproxy: left out")
        return
    before = streams.counters(server)["proxy_own"]
    address = (PEER4, port)
    process = proxy.haproxy(lab, lab.peer, address, (streams.V4, PLAIN), send)
    if send == proxy.V2:  # with version 1 its checks look like a client's
        until(lambda: streams.counters(server)["proxy_own"] > before + 2, 5, "it is checked")

    class At:
        pass

    connected = At()
    connected.address = address
    is_served(lab, server, ask, connected, CLIENT4)
    labs.end_process(process)  # its checks would count in the next steps


def changed(lab, server):
    """A reload changes the balancers: existing connections stay, and direct listeners are
    unaffected."""
    client = streams.Client(streams.connect(lab, ip="10.99.250.2"))
    client.sock.sendall(header((CLIENT4, 4712), (PEER4, 3478)))
    assert client.allocate().cls == SUCCESS
    listeners = [dict(row) for row in server.config["listeners"]]
    for row in listeners:
        if "proxy" in row:
            row["proxy"] = ["10.99.252.2"]
    said = rereads.reload(server, {"listeners": listeners})
    assert "4 changes are in use; 0 allocations ended" in said, said
    before = streams.counters(server)["refused_proxy"]
    assert streams.refused(lab, "10.99.250.2")
    until(lambda: streams.counters(server)["refused_proxy"] == before + 1, 3, "it is no balancer now")
    assert client.refresh().cls == SUCCESS
    client.close()


def main(lab):
    labs.need_own_server()
    streams.join(lab)
    lab.dut.ip("route", "add", "10.99.0.0" + reasons.NETWORK, "dev", "k0")
    lab.add_address(lab.cli, "c0", "10.99.250.2")
    config = streams.config(lab, ("tcp", "tls"), handshake=HANDSHAKE, headers=HEADERS)
    config["streams"] |= {"threads": 2, "per-source": PER_SOURCE}
    for row in config["listeners"]:
        if row["transport"] != "udp":
            row["proxy"] = BALANCERS
    config["proxy"] = {"size": SIZE}
    server = lab.server(reasons.config(lab, "proxy", **config), allow=("no-allocation",))
    assert f"listener: tcp {streams.V4}:{PLAIN}, by balancers\n" in server.log()
    with Control(server.config["control"]["socket"]) as ask:
        served(lab, server, ask)
        pieces(lab)
        limits(lab, server)
        local_command(lab, server)
        real_clients(lab)
        real_balancer(lab, server, ask, proxy.V2, 13478)
        real_balancer(lab, server, ask, proxy.V1, 13479)
    reasons.check(lab, server, faults, "connection-refused")
    reasons.complete("lib/stream/public/stream_refusals.h", "STREAM_PROXY_REFUSALS", (faults,), ELSEWHERE)
    changed(lab, server)
    assert server.ready()


if __name__ == "__main__":
    labs.run(main)
