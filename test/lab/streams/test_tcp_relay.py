#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""TCP between clients and peers (RFC 6062): kernel peers, a client written from the RFC, and
turnutils_uclient.

        cli 10.99.0.2 ── TCP, TLS ── d0 of slipring, sr0 of the kernel: 10.99.0.1 ── TCP ── per 10.99.0.3

All TCP passes the exception port: clients' connections, and those of peers.
"""

import contextlib
import copy
import hashlib
import os
import select
import socket
import ssl
import threading
import time

import lab as labs
import server as servers
import streams
import uclient
from lab import CLIENT4, PEER4, PEER6, SERVER4, SERVER6, until
from rereads import reload
from turnlib import (
    CHANNEL_BIND, CONNECT, CONNECTION_ATTEMPT, CONNECTION_BIND, CONNECTION_ID, DONT_FRAGMENT,
    EVEN_PORT, INDICATION, REQUESTED_ADDRESS_FAMILY, SUCCESS, TCP, UDP, XOR_PEER_ADDRESS, Auth, new_tid,
    xor_address, CHANNEL_NUMBER,
)  # fmt: skip

PORTS = "61000-61015"
LIMITS = {"connections": 24, "per-user": 16, "per-allocation": 6, "timeout": 2 + labs.SLOW // 2,
          "buffer": 16384}  # fmt: skip
BULK = 3 << 20


def config(lab, host, **tcp):
    """TCP and TLS on the addresses of the port itself, through its exception port. With a packet
    port the kernel has the interface anyway."""
    where = {} if lab.packet else {"netns": host.name}
    out = streams.config(lab, ("tcp", "tls"), **{**where, "per-source": 0})
    for listener in out["listeners"]:
        listener["address"] = {streams.V4: SERVER4, streams.V6: SERVER6}.get(
            listener["address"], listener["address"]
        )
    port = dict(servers.CONFIG["ports"][0])
    if not lab.packet:
        port["exception"] = {"name": "sr0", "netns": host.name, "allow": []}
    relay = dict(servers.CONFIG["relay"])
    relay["tcp"] = {"enabled": True, "ports": PORTS, **LIMITS, **tcp}
    return {**out, "ports": [port], "relay": relay, "limits": {"handshakes": {"rate": 0}, "pool": {"per-user": 100}}}


class Echo:
    """A TCP server of a peer that echoes, or (silent) only accepts."""

    def __init__(self, lab, ip=PEER4, port=0, silent=False, ns=None):
        with (ns or lab.peer).enter():
            self.listener = socket.create_server(
                (ip, port), family=socket.AF_INET6 if ":" in ip else socket.AF_INET
            )
        self.address = self.listener.getsockname()[:2]
        self.silent, self.accepted, self.stop = silent, [], False
        self.thread = threading.Thread(target=self.loop)
        self.thread.start()
        lab.cleanup.callback(self.close)

    def loop(self):
        self.listener.settimeout(0.1)
        threads = []
        while not self.stop:
            try:
                conn, source = self.listener.accept()
            except TimeoutError:
                continue
            self.accepted.append((conn, source[:2]))
            if not self.silent:
                threads.append(threading.Thread(target=self.serve, args=(conn,)))
                threads[-1].start()
        for thread in threads:
            thread.join()

    def serve(self, conn):
        conn.settimeout(0.1)
        with contextlib.suppress(OSError), conn:
            while not self.stop:
                try:
                    data = conn.recv(65536)
                except TimeoutError:
                    continue
                if not data:
                    break
                conn.settimeout(20 * labs.SLOW)
                conn.sendall(data)
                conn.settimeout(0.1)

    def close(self):
        self.stop = True
        self.thread.join()
        self.listener.close()
        for conn, _ in self.accepted:
            conn.close()


def client(lab, transport="tcp", ip=CLIENT4, auth=None):
    out = streams.client(lab, transport, ip, server=SERVER6 if ":" in ip else SERVER4)
    out.auth = auth or out.auth
    return out


def allocated(lab, transport="tcp", auth=None, attrs=()):
    """A client with an allocation for TCP."""
    control = client(lab, transport, auth=auth)
    answer = control.allocate(attrs, transport=TCP)
    assert answer.cls == SUCCESS, answer
    first, last = map(int, PORTS.split("-"))
    assert control.relayed[0] in (SERVER4, SERVER6) and first <= control.relayed[1] <= last
    assert control.token is None
    return control


def connect(control, peer):
    """The answer to a Connect, without retransmission."""
    attrs = lambda tid: [(XOR_PEER_ADDRESS, xor_address(peer, tid))]
    return control.request(CONNECT, attrs, new_tid(), (10 * labs.SLOW,))


def bind(lab, control, number, transport="tcp", auth=None):
    """A data connection, and the answer to its ConnectionBind."""
    data = client(lab, transport)
    data.auth = auth or Auth(control.auth.user, control.auth.password)
    return data, data.request(CONNECTION_BIND, [(CONNECTION_ID, number)])


def dialled(lab, control, peer, transport="tcp", auth=None):
    """A data connection to a peer: the socket, with plain bytes."""
    answer = connect(control, peer)
    assert answer.cls == SUCCESS, answer
    number = answer.get(CONNECTION_ID)
    assert len(number) == 4
    data, answer = bind(lab, control, number, transport, auth)
    assert answer.cls == SUCCESS, answer
    assert not data.bytes
    return data.sock


def read(sock, size):
    out = b""
    while len(out) < size:
        more = sock.recv(size - len(out))
        assert more, f"closed after {len(out)} of {size} bytes"
        out += more
    return out


def echoes(sock, size):
    """Bytes pass in both directions; over TCP both sides send at once."""
    data = os.urandom(size)
    sock.settimeout(30 * labs.SLOW)
    sender = threading.Thread(target=sock.sendall, args=(data,))
    if isinstance(sock, ssl.SSLSocket):  # Python's is for one thread
        sock.sendall(data)
    else:
        sender.start()
    got = read(sock, size)
    if sender.ident:
        sender.join()
    assert hashlib.sha256(got).digest() == hashlib.sha256(data).digest()


def dial(lab):
    """RFC 6062 4.3: both transports of a client, both families of a peer, much and little data. One
    connection uses the nonce of the control connection, like pion, and is not challenged."""
    for transport in ("tcp", "tls"):
        for ip in (PEER4, PEER6):
            echo = Echo(lab, ip)
            family = [(REQUESTED_ADDRESS_FAMILY, bytes([2, 0, 0, 0]))] if ":" in ip else []
            control = allocated(lab, transport, attrs=family)
            auth = copy.copy(control.auth) if ":" in ip else None
            sock = dialled(lab, control, echo.address, transport, auth)
            assert auth is None or auth.nonce == control.auth.nonce
            for size in (1, 5, 20000):
                echoes(sock, size)
            assert echo.accepted[0][1] == control.relayed, (echo.accepted, control.relayed)
            # an end of stream is forwarded after all earlier data, and then answered
            if transport == "tcp":
                sock.sendall(b"last words")
                sock.shutdown(socket.SHUT_WR)
                assert read(sock, 10) == b"last words"
            else:
                echo.accepted[0][0].shutdown(socket.SHUT_RDWR)
            assert streams.is_closed(sock)
            control.close()


def redial(lab):
    """A new connection to a peer right after the end of the last one, and at that moment: with a
    peer that closes, too, and with one that keeps its side open."""
    for transport in ("tcp", "tls"):
        for silent in (False, True):
            echo = Echo(lab, silent=silent)
            control = allocated(lab, transport)
            sock = dialled(lab, control, echo.address, transport)
            for turn in range(6):
                sock.sendall(b"hello")
                assert silent or read(sock, 5) == b"hello"
                if turn % 2:
                    closer = threading.Timer(0.05, sock.close)
                    closer.start()
                else:
                    sock.close()
                sock = dialled(lab, control, echo.address, transport)
            sock.close()
            control.close()
            for conn, _ in echo.accepted:
                conn.close()


def accept(lab, server):
    """RFC 6062 4.4: a peer with a permission connects, one without is reset."""
    for transport in ("tcp", "tls"):
        control = allocated(lab, transport)
        with lab.peer.enter(), contextlib.suppress(ConnectionError):  # reset during connect or later
            assert streams.is_closed(socket.create_connection(control.relayed, 5 * labs.SLOW))
        assert control.permit(PEER4).cls == SUCCESS
        with lab.peer.enter():
            peer = socket.create_connection(control.relayed, 5 * labs.SLOW)
        peer.sendall(b"first")  # waits until the client has bound it
        told = control.wait("stun", 5 * labs.SLOW)[1]
        assert (told.cls, told.method) == (INDICATION, CONNECTION_ATTEMPT), told
        assert told.address(XOR_PEER_ADDRESS) == peer.getsockname()
        data, answer = bind(lab, control, told.get(CONNECTION_ID), transport)
        assert answer.cls == SUCCESS, answer
        assert data.bytes + read(data.sock, 5 - len(data.bytes)) == b"first"
        data.sock.sendall(b"welcome")
        peer.settimeout(5 * labs.SLOW)
        assert read(peer, 7) == b"welcome"
        data.sock.close()
        assert streams.is_closed(peer)
        control.close()
    assert streams.counters(server)["relay_strangers"] == 2


def pressure(lab):
    """A receiver that does not read stops the sender: nothing is lost, and little is buffered."""
    silent = Echo(lab, silent=True)
    control = allocated(lab)
    sock = dialled(lab, control, silent.address)
    sock.setblocking(False)
    data, sent = os.urandom(1 << 20), 0
    still = time.monotonic()
    while time.monotonic() < still + 1:  # until nothing was accepted for a second
        if not select.select([], [sock], [], 0.1)[1]:
            continue
        with contextlib.suppress(BlockingIOError):
            sent += sock.send(data[sent % len(data) :])
            still = time.monotonic()
        assert sent < 64 << 20, "all of it is buffered"
    peer = silent.accepted[0][0]
    peer.settimeout(10 * labs.SLOW)
    got = read(peer, sent)
    whole = data * (sent // len(data) + 1)
    assert got == whole[:sent], "bytes have changed"
    control.close()


def refused(lab):
    """Every error of the RFC."""
    echo = Echo(lab)
    over_udp = lab.client()
    assert over_udp.allocate(transport=TCP).code == 400
    assert over_udp.request(CONNECTION_BIND, [(CONNECTION_ID, b"1234")]).code == 400
    assert over_udp.allocate().cls == SUCCESS
    assert connect(over_udp, echo.address).code == 403
    assert over_udp.refresh(0).cls == SUCCESS
    plain = client(lab)
    assert plain.allocate(transport=bytes([132, 0, 0, 0])).code == 442
    assert plain.allocate([(EVEN_PORT, b"\0")], transport=TCP).code == 400
    assert plain.allocate([(DONT_FRAGMENT, b"")], transport=TCP).code == 400
    assert connect(plain, echo.address).code == 437
    control = allocated(lab)
    assert control.request(CONNECT).code == 400
    assert connect(control, ("192.0.2.1", 80)).code == 403
    assert connect(control, (PEER6, 80)).code == 443
    number = [(CHANNEL_NUMBER, b"\x40\0\0\0")]
    peer = lambda tid: [*number, (XOR_PEER_ADDRESS, xor_address(echo.address, tid))]
    assert control.request(CHANNEL_BIND, peer, new_tid()).code == 403
    assert connect(control, (PEER4, 9)).code == 447  # nothing listens there
    answer = connect(control, echo.address)
    assert connect(control, echo.address).code == 446
    assert bind(lab, control, b"none")[1].code == 400
    assert bind(lab, control, b"12")[1].code == 400
    olga = Auth("olga", "geheim")
    assert bind(lab, control, answer.get(CONNECTION_ID), auth=olga)[1].code == 400
    assert bind(lab, control, answer.get(CONNECTION_ID), "tls")[1].code == 400  # another listener
    data, bound = bind(lab, control, answer.get(CONNECTION_ID))
    assert bound.cls == SUCCESS
    echoes(data.sock, 100)
    assert connect(control, echo.address).code == 446
    assert bind(lab, control, answer.get(CONNECTION_ID))[1].code == 400  # twice
    # the end of the allocation ends its connections
    assert control.refresh(0).cls == SUCCESS
    assert streams.is_closed(data.sock)
    for one in (plain, control, over_udp):
        one.close()


def own_services(lab, host):
    """No address of the server is a peer, whichever peers are allowed: neither those of the port,
    nor those of other interfaces in the namespace, added before or after the start."""
    host.ip("link", "add", "other", "type", "veth", "peer", "name", "end")
    host.ip("addr", "add", "10.99.0.77/32", "dev", "other")
    host.ip("link", "set", "other", "up")
    control = allocated(lab)
    for ip in (SERVER4, "10.99.0.77"):
        secret = Echo(lab, "0.0.0.0", 8080, ns=host)
        answer = connect(control, (ip, 8080))
        assert answer.code == 403, (ip, answer)
        assert not secret.accepted
        secret.close()
    assert connect(control, (SERVER4, 3478)).code == 403
    assert connect(control, ("127.0.0.1", 8080)).code == 403
    control.close()
    host.ip("link", "del", "other")


def patience(lab, server):
    """A connection that is not bound is closed, and a Connect without an answer times out; all at
    once."""
    before = streams.counters(server)
    least = LIMITS["timeout"] - labs.GRAIN
    echo, control, second = Echo(lab, silent=True), allocated(lab), allocated(lab)
    answers, began = [], time.monotonic()
    asks = lambda: answers.append(connect(second, ("10.99.0.200", 999)))  # no host
    asking = threading.Thread(target=asks)
    asking.start()
    number = connect(control, echo.address).get(CONNECTION_ID)
    until(lambda: echo.accepted, 3, "the peer has it")
    assert control.permit(PEER4).cls == SUCCESS
    with lab.peer.enter():
        peer = socket.create_connection(control.relayed, 5 * labs.SLOW)
    for sock in (echo.accepted[0][0], peer):
        assert streams.is_closed(sock, 10)
        assert time.monotonic() - began >= least
    assert bind(lab, control, number)[1].code == 400
    streams.counted(server, "relay_unbound", before["relay_unbound"] + 2)
    asking.join()
    assert answers[0].code == 447, answers
    assert time.monotonic() - began >= least
    control.close()
    second.close()


def row_of(server, control):
    """The listing of a client's allocation."""
    port = control.relayed[1]
    return next(r for r in server.allocations() if r["relay"].endswith(f":{port}"))


def counted(lab, server):
    """Data over TCP counts as the allocation's usage, like UDP."""
    control = allocated(lab)
    echoes(dialled(lab, control, Echo(lab).address), 100000)
    has = lambda name: row_of(server, control)[name] == 100000
    until(lambda: has("rx_bytes") and has("tx_bytes"), 5, "the bytes are counted")
    control.close()


def assert_cut(sock):
    """It ends like an incomplete stream: with a reset, over TLS without close_notify."""
    sock.settimeout(5 * labs.SLOW)
    if isinstance(sock, ssl.SSLSocket):
        sock.suppress_ragged_eofs = False  # reports an end without close_notify
    with contextlib.suppress(ConnectionResetError, ssl.SSLEOFError):
        assert not sock.recv(1), "unexpected bytes"
        raise AssertionError("it looks like a complete stream")


def ended(lab):
    """RFC 6062 5.5: the end of an allocation closes its connections, and neither a download nor an
    upload then looks complete."""
    for transport in ("tcp", "tls"):
        echo, control = Echo(lab), allocated(lab, transport)
        silent = Echo(lab, silent=True)
        sock, second = (dialled(lab, control, peer_echo.address, transport) for peer_echo in (echo, silent))
        echoes(sock, 20000)
        second.sendall(b"upload")
        peer = silent.accepted[0][0]
        peer.settimeout(5 * labs.SLOW)
        assert read(peer, 6) == b"upload"
        assert control.refresh(0).cls == SUCCESS
        for one in (sock, second, peer):
            assert_cut(one)
        control.close()
        silent.close()


def denied(lab, server):
    """A reload that denies a peer ends the connections with it, in either direction, and nothing
    else: the allocations have no permission for it."""
    until(lambda: streams.counters(server)["relay_connections"] == 0, 5, "earlier connections are closed")
    gone, kept = Echo(lab), Echo(lab, CLIENT4, ns=lab.cli)
    controls, cut, whole = [], [], []
    for transport in ("tcp", "tls"):
        controls.append(allocated(lab, transport))
        cut.append(dialled(lab, controls[-1], gone.address, transport))
        whole.append(dialled(lab, controls[-1], kept.address, transport))
        echoes(cut[-1], 20000)
    before = server.config["peers"]
    server.config["peers"] = {**before, "deny": [PEER4 + "/32"]}
    reload(server, {})
    for sock in cut:
        assert_cut(sock)
    until(lambda: all(conn.fileno() < 0 for conn, _ in gone.accepted), 5, "the peer has seen the resets")
    streams.counted(server, "relay_denied", 2)
    for control, sock in zip(controls, whole):
        echoes(sock, 20000)
        assert connect(control, gone.address).code == 403
        has = lambda name: row_of(server, control)[name] == 40000  # noqa: B023
        until(lambda: has("rx_bytes") and has("tx_bytes"), 5, "the bytes of both are counted")
    server.config["peers"] = before
    reload(server, {})
    for control, transport in zip(controls, ("tcp", "tls")):
        echoes(dialled(lab, control, gone.address, transport), 100)
        control.close()
    assert streams.counters(server)["relay_denied"] == 2


def rated(lab, server):
    """limits.rates slows TCP down, complete and in order, from the reload that sets a rate."""
    rate, size = 1_000_000, 1_500_000  # bytes a second; bytes
    sink, control = Echo(lab, silent=True), allocated(lab)
    sock = dialled(lab, control, sink.address)
    server.config["limits"]["rates"] = {"allocation-to-peers": "8M"}
    reload(server, {})
    data, began = os.urandom(size), time.monotonic()
    sock.settimeout(60 * labs.SLOW)
    sender = threading.Thread(target=sock.sendall, args=(data,))
    sender.start()
    peer = sink.accepted[0][0]
    peer.settimeout(60 * labs.SLOW)
    assert read(peer, size) == data
    took = time.monotonic() - began
    sender.join()
    assert took >= (size - 0.2 * rate) / rate, f"{took:.2f} s for {size} bytes"
    assert streams.counters(server)["relay_held"] > 0
    control.close()


def limits(lab, server):
    """Limits of connections per allocation and per user; ports."""
    echoes_of, control = [Echo(lab) for _ in range(7)], allocated(lab)
    answers = [connect(control, echo.address) for echo in echoes_of]
    assert [a.code for a in answers] == [0] * 6 + [486], answers
    until(lambda: [r["connections"] for r in server.allocations()] == [6], 3, "they are listed")
    control.close()
    until(lambda: streams.counters(server)["relay_connections"] == 0, 5, "all are closed")
    until(lambda: server.stats()["allocations"] == 0, 3, "the allocation is gone")
    controls, code = [], 0
    while not code and len(controls) < 17:
        one = client(lab)
        code = one.allocate(transport=TCP).code
        controls.append(one)
    assert code == 508, code  # each worker has eight of the 16 ports
    for one in controls:
        one.close()
    until(lambda: streams.counters(server)["relay_ports"] == 0, 5, "all ports are closed")


def foreign(lab):
    """turnutils_uclient over TCP and TLS. Its peers speak UDP only, so its clients are each other's
    peers."""
    runs = [
        # One pair: it has one nonce for all of its clients, repeats a Connect that got 438 to
        # another peer, and waits 35 seconds if it needs more than one connection.
        uclient.start(lab, label, SERVER4, PEER4, *options, clients=2, messages=60)
        for label, options in (
            ("TCP to TCP", ("-T",)),
            ("TLS to TCP", ("-T", "-S", "-p", "5349")),
        )
    ]
    bad = uclient.finish(runs)
    assert not bad, bad


def main(lab):
    labs.need_own_server()
    if not lab.vtap:
        raise labs.Skip("needs an exception port")
    host = lab.namespace(lab.cleanup, "host")
    server = lab.server(config(lab, host), allow=("exception-foreign", "exception-rate"))
    dial(lab)
    redial(lab)
    accept(lab, server)
    pressure(lab)
    refused(lab)
    own_services(lab, host)
    patience(lab, server)
    limits(lab, server)
    counted(lab, server)
    ended(lab)
    denied(lab, server)
    foreign(lab)
    rated(lab, server)
    seen = streams.counters(server)
    print({name: count for name, count in seen.items() if name.startswith("relay_")})
    assert seen["garbage"] == 0, seen


if __name__ == "__main__":
    labs.run(main)
