#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""DTLS clients: unmodified ones, every kind of relaying, limits, certificates, invalid packets."""

import os
import random
import re
import select
import shutil
import signal
import time

import dtls
import frames
import lab as labs
import streams
import uclient
from lab import CLIENT4, CLIENT6, PEER4, PEER6, SERVER4, SERVER6, until
from turnlib import BINDING, EVEN_PORT, REQUEST, SUCCESS, Silence, build

# Label, server, peer, options, clients, messages. uclient tries DTLS 1.0 and 1.2 at random until
# one works.
RUNS = (
    ("channels", SERVER4, PEER4, ("-S", "-c", "-p", "5349"), 2, 60),
    ("pairs, beside UDP", SERVER4, PEER4, ("-S",), 2, 60),
    ("UDP, beside DTLS", SERVER4, PEER4, ("-c",), 2, 60),
    ("indications", SERVER4, PEER4, ("-S", "-c", "-s"), 2, 60),
    ("IPv6 to IPv6", SERVER6, PEER6, ("-S", "-c", "-x"), 2, 60),
    ("IPv6 to IPv4", SERVER6, PEER4, ("-S", "-c", "-X", "-p", "5349"), 2, 60),
    ("client to client", SERVER4, PEER4, ("-S", "-c", "-y"), 4, 30),
)
HANDSHAKE, IDLE, HALF_OPEN, SESSIONS, PER_SOURCE = 2, 1 + labs.SLOW, 8, 40, 24
FLOOD, BATCH = 4000, 16
THIRD4 = "10.99.0.4"


def allocations(server, count):
    """Waits until the counter has this value."""
    until(lambda: server.stats()["allocations"] == count, 3, f"{count} allocations")


def s_client(lab, *options, port=dtls.PORT, server=SERVER4):
    address = f"[{server}]:{port}" if ":" in server else f"{server}:{port}"
    return lab.cli.run(
        *("openssl", "s_client", "-connect", address, *options), check=False, input="Q\n"
    )


def negotiated(lab):
    """Only version 1.2, ALPN as over TLS (RFC 7443), no renegotiation, on both kinds of port."""
    for port, server in ((dtls.PORT, SERVER4), (3478, SERVER4), (dtls.PORT, SERVER6)):
        out = s_client(lab, "-dtls", "-alpn", "stun.turn", port=port, server=server)
        assert re.search(r"New, .*Cipher is ECDHE", out), out
        assert "Protocol  : DTLSv1.2" in out and "ALPN protocol: stun.turn\n" in out, out
    old = s_client(lab, "-dtls1", "-cipher", "DEFAULT@SECLEVEL=0")
    assert "Cipher is (NONE)" in old, old
    assert "Cipher is (NONE)" in s_client(lab, "-dtls", "-alpn", "h2")
    streams.no_renegotiation(lab, f"{SERVER4}:5349", "-dtls1_2")


def relaying(lab, ip, port, peer_ip):
    """Channels and indications of all sizes, in order, up to the longest that the MTU allows."""
    echo = lab.echo(peer_ip)
    client = dtls.client(lab, ip, port)
    assert client.session.version() == "DTLSv1.2"
    family = [(0x17, bytes([2, 0, 0, 0]))] if ":" in peer_ip else []
    assert client.allocate(family).cls == SUCCESS
    assert client.mapped == client.sock.getsockname()[:2], client.mapped
    assert client.bind(0x4001, echo.address).cls == SUCCESS
    payloads = [os.urandom(n) for n in (0, 1, 2, 3, 4, 5, 160, 1200)]
    for payload in payloads:
        client.send_channel(0x4001, payload)
        assert client.wait("channel")[2] == payload
    for payload in payloads:  # a bound channel is used anyway (RFC 8656 12.5)
        client.send(echo.address, payload)
    assert [client.wait("channel")[2] for _ in payloads] == payloads
    second = lab.echo(peer_ip)
    assert client.permit(second.address).cls == SUCCESS
    for payload in payloads:
        client.send(second.address, payload)
        assert client.wait("data") == ("data", second.address, payload)
    assert client.refresh().cls == SUCCESS
    return client, echo


def oversize(lab, server):
    """A record above the MTU is dropped like any other long datagram."""
    sender = lab.peer.udp(PEER4)
    # The kernel believes in a smaller MTU, and would fragment the second: a probe ignores that.
    labs.path_mtu(sender, "probe")
    client = dtls.client(lab)
    assert client.allocate().cls == SUCCESS
    assert client.bind(0x4000, sender.getsockname()[:2]).cls == SUCCESS
    before = server.drops().get("mtu-exceeded", 0)
    for size in (1472, 1440):
        sender.sendto(b"x" * size, client.relayed)
    until(lambda: server.drops().get("mtu-exceeded", 0) == before + 2, 3, "both are dropped")
    sender.sendto(b"y" * 1400, client.relayed)
    assert client.wait("channel")[2] == b"y" * 1400
    client.close()


def one_port(lab, server):
    """UDP and DTLS of one client, with equal ports, are two clients."""
    udp = lab.client(port=40404)
    assert udp.allocate().cls == SUCCESS
    udp.close()
    client = dtls.client(lab, server_port=3478, port=40404)
    assert client.allocate().cls == SUCCESS
    allocations(server, 2)
    client.close()
    allocations(server, 1)
    udp = lab.client(port=40404)
    assert udp.refresh(0).cls == SUCCESS, "the other allocation exists"


def ends(lab, server):
    """close_notify ends session and allocation. An idle session without allocation ends."""
    for notify in (True, False):
        client = dtls.client(lab)
        assert client.allocate().cls == SUCCESS
        allocations(server, 1)
        if not notify:
            assert client.refresh(0).cls == SUCCESS
        closed, idle = (dtls.counters(server)[name] for name in ("closed", "idle"))
        if notify:
            client.close()
            until(lambda: dtls.counters(server)["closed"] == closed + 1, 3, "it is closed")
        else:
            until(lambda: dtls.counters(server)["idle"] == idle + 1, IDLE + 3, "it is idle")
            try:
                client.session.receive(1)
                raise AssertionError("its client got no close_notify")
            except dtls.Closed:
                pass
        assert dtls.counters(server)["open"] == 0
        allocations(server, 0)


def again(lab, server):
    """A client that lost its session opens another from the same port, which ends the old one."""
    ticket = None
    for resumed in (False, False, True):
        client = dtls.client(lab, port=40500, resume=ticket if resumed else None)
        assert client.session.resumed() == resumed
        assert client.allocate().cls == SUCCESS  # no 437: the previous allocation is gone
        allocations(server, 1)
        ticket = client.session.ticket()
        client.close(notify=resumed)
    until(lambda: dtls.counters(server)["replaced"] == 2, 3, "two have been replaced")


def pairs(lab, server):
    """EVEN-PORT with a reservation that another session uses, often on another worker."""
    elsewhere = 0
    for _ in range(6):
        first, second = dtls.client(lab), dtls.client(lab)
        assert first.allocate([(EVEN_PORT, b"\x80")]).cls == SUCCESS
        assert second.allocate([(0x22, first.token)]).cls == SUCCESS
        echo, second_echo = lab.echo(PEER4), lab.echo(PEER4)
        assert second.bind(0x4002, echo.address).cls == SUCCESS
        second.send_channel(0x4002, b"rtcp")
        assert second.wait("channel")[2] == b"rtcp"
        assert second.permit(second_echo.address).cls == SUCCESS
        second.send(second_echo.address, b"sdes")
        assert second.wait("data") == ("data", second_echo.address, b"sdes")
        elsewhere += server.stats()["redirects"]
        for client in (second, first):
            client.close()
        allocations(server, 0)
        until(lambda: server.stats()["redirects"] == 0, 3, "no redirect is left")
    print(f"{elsewhere} of 6 reservations were another worker's")


def reload(lab, server):
    """SIGHUP: new sessions get the new certificate, open ones continue."""
    name = lambda: re.search(r"subject=CN ?= ?(\S+)", s_client(lab, "-dtls"))[1]
    client, echo = relaying(lab, CLIENT4, dtls.PORT, PEER4)
    assert name() == "first"
    cert, key = streams.certificate(lab, "second", "new")
    shutil.move(cert, os.path.join(lab.dir, "cert.pem"))
    shutil.move(key, os.path.join(lab.dir, "cert.key"))
    server.process.send_signal(signal.SIGHUP)
    until(lambda: name() == "second", 5, "the new certificate is used")
    client.send_channel(0x4001, b"still here")
    assert client.wait("channel")[2] == b"still here"
    assert client.refresh().cls == SUCCESS
    client.close()


def strangers(lab, server):
    """Packets without a session are dropped under a named reason, without an answer or state."""
    with lab.cli.udp(CLIENT4) as sock:
        before, state = server.drops(), dtls.counters(server)
        texts = {
            "dtls-plain": [build(REQUEST, BINDING), b"\x40\0\0\4abcd", b"", b"\xff" * 20],
            "dtls-unknown": [dtls.record(23, b"x" * 40, 1), dtls.record(22, b"\2" * 30),
                             dtls.record(20, b"\1"), b"\x17\xfe\xfd"],
            "dtls-hello": [dtls.hello()[:60], dtls.hello() + b"x", dtls.hello()[:20] + b"\xff"
                           + dtls.hello()[21:]],
        }  # fmt: skip
        for data in sum(texts.values(), []):
            sock.sendto(data, (SERVER4, dtls.PORT))
        for reason, list_ in texts.items():
            seen = lambda: server.drops().get(reason, 0) - before.get(reason, 0) == len(list_)
            until(seen, 3, f"{len(list_)} times {reason}")
        # the first answer is for a valid ClientHello: HelloVerifyRequest
        sock.sendto(dtls.hello(), (SERVER4, dtls.PORT))
        assert (first := sock_read(sock))[0] == 22 and first[13] == 3, "an answer to the others"
        sock.sendto(dtls.hello(), (SERVER4, 3478))
        answer = sock_read(sock)
        assert len(answer) < len(dtls.hello()), "the answer is shorter than the request"
        forged = dtls.hello(cookie=b"\0" * 24)
        sock.sendto(forged, (SERVER4, 3478))
        assert len(sock_read(sock)) == len(answer), "asked again"
    after = dtls.counters(server)
    assert after["verify"] == state["verify"] + 3
    assert [after[n] for n in ("half_open", "opened")] == [state[n] for n in ("half_open", "opened")]


def sock_read(sock):
    assert select.select([sock], [], [], 3 * labs.SLOW)[0], "no answer"
    return sock.recv(2000)


def forgers(lab, server):
    """Forged records with a client's address: dropped, and the session continues."""
    client, _ = relaying(lab, CLIENT4, dtls.PORT, PEER4)
    before = server.drops().get("dtls-record", 0)
    rng, count = random.Random(7), 200
    kinds = (20, 21, 22, 23, 25, 63)
    for i in range(count):
        body = rng.randbytes(rng.randrange(1, 200))
        epoch = rng.choice((0, 1, 1, 2))
        client.sock.send(dtls.record(kinds[i % len(kinds)], body, epoch, rng.randrange(1 << 20)))
    client.sock.send(dtls.record(21, b"\2\0", 0, 1 << 20))  # an unencrypted fatal alert
    until(lambda: server.drops().get("dtls-record", 0) >= before + count, 3, "they are dropped")
    client.send_channel(0x4001, b"unmoved")
    assert client.wait("channel")[2] == b"unmoved"
    client.close()


def cookied(lab, ip):
    """A socket whose handshake begins and never ends."""
    sock = lab.cli.udp(ip)
    lab.cleanup.callback(sock.close)
    nonce = os.urandom(32)
    sock.sendto(dtls.hello(random=nonce), (SERVER4, dtls.PORT))
    cookie = sock_read(sock)[-24:]
    hello = bytearray(dtls.hello(cookie, nonce))
    hello[10] = 1  # the next record
    hello[18] = 1  # the next message
    sock.sendto(hello, (SERVER4, dtls.PORT))
    return sock


def caps(lab, server):
    """Limits of half-open sessions, of sessions per source, and of all sessions are exact."""
    failed = dtls.counters(server)["handshake_failed"]
    begun = [cookied(lab, CLIENT4) for _ in range(4 * HALF_OPEN)]
    gone = lambda: dtls.counters(server)["gave_way"]  # on a slow machine
    full = lambda: server.drops().get("dtls-full", 0) + gone()

    def counted():
        seen = dtls.counters(server)
        given_up = seen["handshake_failed"] - failed  # of the first ones, if the last took long
        assert seen["half_open"] <= HALF_OPEN, seen
        return seen["half_open"] + given_up + full() == len(begun)

    until(counted, 3, "all are counted")
    assert full() > 0, "the limit was reached"
    assert len(sock_read(begun[0])) > 100, "its handshake continues"
    until(lambda: dtls.counters(server)["half_open"] == 0, HANDSHAKE + 3, "they time out")
    assert dtls.counters(server)["handshake_failed"] == failed + len(begun) - full()
    clients = []
    many(lab, clients, CLIENT4, PER_SOURCE)
    refused(lab, server, CLIENT4, "refused_source")
    many(lab, clients, THIRD4, SESSIONS - PER_SOURCE)
    refused(lab, server, THIRD4, "refused_total")
    for client in clients:
        client.close()
    until(lambda: dtls.counters(server)["open"] == 0, 3, "all are gone")
    assert dtls.client(lab).binding().cls == SUCCESS


def many(lab, clients, ip, count):
    """Opens sessions, and keeps existing ones from becoming idle."""
    for i in range(count):
        clients.append(dtls.client(lab, ip))
        for client in clients if i % 6 == 5 or i == count - 1 else ():
            assert client.binding().cls == SUCCESS


def refused(lab, server, ip, name):
    before, session = dtls.counters(server)[name], dtls.session(lab, ip)
    try:
        session.shake(0.3)
        raise AssertionError("more sessions than the limit")
    except Silence:
        session.close()
    until(lambda: dtls.counters(server)[name] > before, 3, f"it is counted as {name}")


def flood(lab, server):
    """ClientHellos with forged sources while others relay: no state is created, and no client loses
    data."""
    wire, echo, udp = lab.cli.raw("c0"), lab.echo(PEER4), lab.client()
    lab.cleanup.callback(wire.close)
    client, _ = relaying(lab, CLIENT4, 3478, PEER4)
    assert udp.allocate().cls == SUCCESS and udp.bind(0x4000, echo.address).cls == SUCCESS
    state, sent = dtls.counters(server), 0
    verified = lambda: dtls.counters(server)["verify"] - state["verify"]
    answered = lambda: until(lambda: verified() >= sent, 5, f"{sent} ClientHellos are answered")
    spoofed = [f"203.0.{113 + i // 250}.{i % 250 + 1}" for i in range(BATCH * 8)]
    hellos = [frames.udp4(dtls.hello(), src=ip, sport=1024 + i, dport=dtls.PORT)
              for i, ip in enumerate(spoofed)]  # fmt: skip
    while sent < FLOOD:
        if sent % (32 * BATCH) == 0:  # the queue of a worker without CPU time may be half full by now
            answered()
        for i in range(BATCH):
            wire.send(hellos[(sent + i) % len(hellos)])
        sent += BATCH
        for some, channel in ((udp, 0x4000), (client, 0x4001)):
            some.send_channel(channel, b"%d" % sent)
            assert some.wait("channel")[2] == b"%d" % sent
    answered()
    after = dtls.counters(server)
    assert after["verify"] - state["verify"] == sent, (after, sent)
    assert [after[n] for n in ("open", "half_open")] == [state[n] for n in ("open", "half_open")]
    allocations(server, 2)
    client.close()
    assert udp.refresh(0).cls == SUCCESS


def shared_ports(lab):
    """Relay ports that all share. A stranger's many requests do not use up other clients' answers."""
    config = dtls.config(lab)
    config["relay"] = {"mode": "shared", "ports": "3480-3487"}
    config["limits"] = {"unauthenticated": {"rate": 1, "burst": 40}, "allocations": 1000}
    server = lab.server(config, allow={"neighbour-hold-full"})
    for args in ((CLIENT4, 3478, PEER4), (CLIENT6, dtls.PORT, PEER6)):
        relaying(lab, *args)[0].close()
    before = dtls.counters(server)["verify"]
    with lab.cli.udp(CLIENT4) as sock:
        sock.settimeout(5 * labs.SLOW)
        for _ in range(200):  # in sequence: they are rate limited like strangers' requests
            sock.sendto(dtls.hello(), (SERVER4, dtls.PORT))
            sock.recv(2048)
        seen = lambda: dtls.counters(server)["verify"]
        until(lambda: seen() == 200 + before, 3, "all are answered")
        relaying(lab, CLIENT4, dtls.PORT, PEER4)[0].close()
    allocations(server, 0)
    server.finish()


def main(lab):
    labs.need_own_server()
    shared_ports(lab)
    lab.add_address(lab.cli, "c0", THIRD4)
    limits = {"sessions": SESSIONS, "per-source": PER_SOURCE, "half-open": HALF_OPEN}
    limits |= {"handshake": HANDSHAKE, "idle": IDLE}
    allow = {f"dtls-{name}" for name in ("plain", "unknown", "hello", "full", "record", "ended")}
    server = lab.server(dtls.config(lab, **limits), allow=allow | {"mtu-exceeded", "peer-no-allocation"})
    for args in ((CLIENT4, 3478, PEER4), (CLIENT4, dtls.PORT, PEER6), (CLIENT6, dtls.PORT, PEER4),
                 (CLIENT6, 3478, PEER6)):  # fmt: skip
        relaying(lab, *args)[0].close()
    gone = lambda: dtls.counters(server)["open"] + server.stats()["allocations"] == 0
    for test in (oversize, one_port, again, pairs, strangers, forgers, reload, flood, ends, caps):
        until(gone, 5 + IDLE, f"all others are gone before {test.__name__}")
        begin = time.monotonic()
        test(lab, server)
        print(f"{test.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
    uclient.check(lab, RUNS)


if __name__ == "__main__":
    labs.run(main, gateway=True)
