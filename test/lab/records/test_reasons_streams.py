#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: unit tests provoke each reason under ASan (test_stream_refused, test_dtls_limits)
"""Each reason for which a connection over TCP, TLS or DTLS is refused, provoked by a real client,
and found by the operator by address and in the records. test_reasons has the reasons of requests,
test_reasons_tls those of TLS handshakes.
"""

import contextlib
import itertools
import os
import re
import time

import dtls
import lab as labs
import reasons
import streams
from control import ctl
from lab import SERVER4, SERVER6, until
from reasons import Cases
from server import CONFIG
from turnlib import BINDING, REQUEST, SUCCESS, build

PER_SOURCE, PER_NETWORK, TOTAL, BURST = 3, 4, 6, 8
HALF_OPEN = 4  # less than TOTAL, so that workers refuse before threads do
ELSEWHERE = {}
DENIED = "10.99.251.2"  # an address that is no client's

NUMBERS = itertools.count(1)  # of subnets
tcp, datagrams, workers = Cases(), Cases(), Cases()


def none_left(me):
    """Waits until the connections of earlier cases are gone."""
    gone = lambda: streams.counters(me.server)["connections"] == 0
    until(gone, 10, "no connection is left")


def held(me, ip, count):
    """Connections that have sent data, so that they are not closed for others."""
    clients = [streams.client(me.lab, ip=ip) for _ in range(count)]
    assert all(client.binding().cls == SUCCESS for client in clients)
    return clients


def close(clients):
    for client in clients:
        client.close()


def subnets(lab, count):
    """Addresses of the client host in different /64 of one /48, with a route back. They are new
    each time, so that a source is not folded with the same other source again."""
    lab.dut.ip("-6", "route", "replace", "fd99:0:0::/48", "dev", "k0")
    for number in itertools.islice(NUMBERS, count):
        ip = f"fd99:0:0:{number:x}::2"
        lab.cli.ip("-6", "addr", "add", ip + "/128", "dev", "c0", "nodad", check=False)
        yield ip


# --- TCP and TLS ----------------------------------------------------------------------------------


@tcp.case(named=False)
def garbage(me):
    sock = streams.connect(me.lab, ip=me.ip)
    sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
    assert streams.is_closed(sock)


@tcp.case(named=False)
def slow(me):
    assert streams.is_closed(streams.connect(me.lab, ip=me.ip))


@tcp.case(named=False)
def connections_source(me):
    clients = held(me, me.ip, PER_SOURCE)
    assert streams.refused(me.lab, me.ip)
    close(clients)


@tcp.case(named=False)
def connections_network(me):
    none_left(me)
    *some, me.ip = subnets(me.lab, PER_NETWORK + 1)
    clients = [client for ip in some for client in held(me, ip, 1)]
    assert streams.refused(me.lab, me.ip)
    close(clients)


@tcp.case(named=False)
def connections_total(me):
    none_left(me)
    places = [reasons.address(me.lab) for _ in range(TOTAL // PER_SOURCE)]
    clients = [client for ip in places for client in held(me, ip, PER_SOURCE)]
    assert streams.refused(me.lab, me.ip)
    close(clients)


@tcp.case(named=False)
def gave_way(me):
    """The first connection of a full table, in which none has sent data."""
    none_left(me)
    first = streams.connect(me.lab, ip=me.ip)
    places = [me.ip] * (PER_SOURCE - 1) + [reasons.address(me.lab)] * (TOTAL - PER_SOURCE)
    others = [streams.connect(me.lab, ip=ip) for ip in places]
    last = streams.client(me.lab, ip=reasons.address(me.lab))
    assert last.binding().cls == SUCCESS and streams.is_closed(first)
    close([*others, last])


@tcp.case(named=False)
def handshake_rate(me):
    for _ in range(12):
        none_left(me)
        try:
            streams.client(me.lab, "tls", ip=me.ip).close()
        except OSError:  # reset during the handshake
            return
    raise AssertionError("no handshake is one too many")


@tcp.case(named=False)
def files(me):
    """Without free file descriptors, until the limit is raised again."""
    none_left(me)
    pid = str(me.server.process.pid)
    limit = re.search(r"NOFILE\s.*?(\d+)\s+(\d+)", labs.command("prlimit", "-p", pid, "-n"))
    used = max(int(fd) for fd in os.listdir(f"/proc/{pid}/fd"))
    labs.command("prlimit", "-p", pid, f"--nofile={used + 1}:{limit[2]}")
    taken, places = [], [me.ip, reasons.address(me.lab)]
    refused = lambda: streams.counters(me.server)["refused_files"]
    dealt_with = lambda: refused() + streams.counters(me.server)["accepted"]
    for number in range(TOTAL):
        before = dealt_with()
        with contextlib.suppress(ConnectionError):
            taken.append(streams.connect(me.lab, ip=places[number % 2 if not refused() else 0]))
        until(lambda before=before: dealt_with() > before, 3, "it is accepted or refused")
    labs.command("prlimit", "-p", pid, f"--nofile={limit[1]}:{limit[2]}")
    close(taken)


@tcp.case(named=False)
def client_denied(me):
    me.ip = DENIED
    me.lab.add_address(me.lab.cli, "c0", me.ip)
    assert streams.refused(me.lab, me.ip)


@tcp.case(named=False)
def client_blocked(me):
    ctl(me.server.config["control"]["socket"], "block", me.ip)
    sock = me.lab.cli.udp(me.ip)

    def is_blocked():
        sock.sendto(build(REQUEST, BINDING), (SERVER4, 3478))
        return me.server.drops().get("client-blocked")

    until(is_blocked, 5, "workers have the block, and stream threads before them")
    assert streams.refused(me.lab, me.ip)


# --- DTLS -----------------------------------------------------------------------------------------


def none_open(me):
    until(lambda: dtls.counters(me.server)["open"] == 0, 10, "no session is left")


@datagrams.case(named=False)
def dtls_source(me):
    sessions = [dtls.client(me.lab, ip=me.ip) for _ in range(PER_SOURCE)]
    unanswered(me)
    close(sessions)


@datagrams.case(named=False)
def dtls_network(me):
    none_open(me)
    *some, me.ip = subnets(me.lab, PER_NETWORK + 1)
    sessions = [dtls.client(me.lab, ip=ip) for ip in some]
    unanswered(me)
    close(sessions)


@datagrams.case(named=False)
def dtls_total(me):
    none_open(me)
    places = [reasons.address(me.lab) for _ in range(TOTAL // PER_SOURCE)]
    sessions = [dtls.client(me.lab, ip=ip) for ip in places for _ in range(PER_SOURCE)]
    unanswered(me)
    close(sessions)


@datagrams.case(named=False)
def dtls_handshake_failed(me):
    """Its cookie is valid, and then it sends nothing more."""
    none_open(me)
    begun(me)


def begun(me, ip=None):
    """A ClientHello with its cookie."""
    sock = me.lab.cli.udp(ip or me.ip)
    sock.settimeout(5 * labs.SLOW)
    sock.connect((SERVER6 if ":" in (ip or me.ip) else SERVER4, dtls.PORT))
    random = os.urandom(32)
    sock.send(dtls.hello(random=random))
    answer = sock.recv(2000)
    assert answer[13] == 3, answer.hex()  # HelloVerifyRequest (RFC 6347 4.2.1)
    sock.send(dtls.hello(cookie=answer[28 : 28 + answer[27]], random=random))
    return sock


def unanswered(me):
    """One session too many: the first flight of its handshake gets no answer."""
    before = dtls.counters(me.server)
    sock = begun(me)
    refused = lambda c: sum(c[f"refused_{limit}"] for limit in ("total", "source", "network"))
    until(lambda: refused(dtls.counters(me.server)) > refused(before), 5, "it is refused")
    sock.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        raise AssertionError(sock.recv(2000).hex())


# --- DTLS, refused by workers ---------------------------------------------------------------------


def sent(me, data):
    me.lab.cli.udp(me.ip).sendto(data, (SERVER4, dtls.PORT))


@workers.case(named=False, proved=False)
def dtls_plain(me):
    sent(me, build(REQUEST, BINDING))


@workers.case(named=False, proved=False)
def dtls_unknown(me):
    sent(me, b"\x17\xfe\xfd" + bytes(9) + b"\x10" + bytes(16))


@workers.case(named=False, proved=False)
def dtls_hello(me):
    """Too short for a ClientHello."""
    hello = b"\x01\0\0\x20" + bytes(5) + b"\0\0\x20" + bytes(32)
    sent(me, b"\x16\xfe\xff" + bytes(9) + bytes([len(hello)]) + hello)


@workers.case(named=False)
def dtls_rate(me):
    for _ in range(BURST + 2):
        begun(me)


def others_begun(me, count):
    """Addresses with at most PER_SOURCE sessions each."""
    places = [reasons.address(me.lab) for _ in range(2)]
    for number in range(count):
        begun(me, places[number % 2])


def none_begun(me):
    until(lambda: dtls.counters(me.server)["half_open"] == 0, 10, "no handshake is left")


@workers.case(named=False)
def dtls_full(me):
    none_begun(me)
    others_begun(me, HALF_OPEN)
    begun(me)


@workers.case(named=False)
def dtls_gave_way(me):
    """The oldest session of a full table, after half a second."""
    none_begun(me)
    begun(me)
    others_begun(me, HALF_OPEN - 1)
    time.sleep(0.6)
    others_begun(me, 1)


def main(lab):
    labs.need_own_server()
    streams.join(lab)
    lab.dut.ip("route", "add", "10.99.0.0" + reasons.NETWORK, "dev", "k0")
    config = streams.config(lab, ("tcp", "tls"), handshake=1)
    config["streams"] |= {"connections": TOTAL, "per-source": PER_SOURCE, "per-network": PER_NETWORK}
    config["listeners"] += [
        {"transport": "dtls", "address": address, "port": dtls.PORT} for address in (SERVER4, SERVER6)
    ]
    limits = {"sessions": TOTAL, "per-source": PER_SOURCE, "per-network": PER_NETWORK}
    config["dtls"] = {**limits, "handshake": 1, "half-open": HALF_OPEN}
    config["clients"] = {"deny": [DENIED]}
    config["limits"] = {"handshakes": {"rate": 1, "burst": BURST}}
    addresses = [SERVER4 + reasons.NETWORK, SERVER6 + "/48"]
    config["ports"] = [{**CONFIG["ports"][0], "addresses": addresses}]
    allow = {f"dtls-{name}" for name in ("full", "record", "ended", "unknown", "rate", "plain", "hello")}
    allow |= {"client-blocked"}
    server = lab.server(reasons.config(lab, "streams", **config), allow=allow)
    reasons.check(lab, server, tcp, "connection-refused")
    reasons.check(lab, server, datagrams, "connection-refused")
    reasons.check(lab, server, workers, "connection-refused")
    reasons.complete("lib/stream/public/stream_refusals.h", "STREAM_REFUSALS", (tcp, datagrams), ELSEWHERE)
    reasons.complete("lib/stream/public/stream_refusals.h", "STREAM_DTLS_REFUSALS", (workers,), ELSEWHERE)


if __name__ == "__main__":
    labs.run(main)
