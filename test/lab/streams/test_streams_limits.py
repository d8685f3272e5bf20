#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""TCP clients that misbehave: every limit holds, is counted, and affects no other client."""

import contextlib
import os
import re
import socket
import threading
import time

import lab as labs
import streams
from lab import CLIENT4, PEER4, until
from turnlib import ALLOCATE, BINDING, REQUEST, SUCCESS, build, channel_data

# not so short that a busy machine's clients are late
HANDSHAKE, IDLE, QUEUE = 1 + labs.SLOW // 2, 3 + labs.SLOW // 2, 65536
PER_SOURCE, TOTAL = 12, 20
PIPELINED = 5000
SECOND4 = "10.99.0.4"


def garbage(lab, server):
    """Neither STUN nor ChannelData: closed, since the start of the next message is unknown."""
    wrong_cookie = build(REQUEST, BINDING)[:4] + b"\0\0\0\0" + b"x" * 12
    odd_length = b"\0\1\0\3" + build(REQUEST, BINDING)[4:] + b"xyz"
    after = build(REQUEST, BINDING) + b"\xff"
    get = b"GET / HTTP/1.1\r\n\r\n"  # looks like ChannelData
    texts = (get, b"\x80", b"\x16\x03\x01", wrong_cookie, odd_length, after)
    for text in texts:
        sock = streams.connect(lab)
        sock.sendall(text)
        assert streams.is_closed(sock), text
    streams.counted(server, "garbage", len(texts))


def oversize(lab, server):
    """A message too long for a datagram is skipped, and the next one is handled."""
    client = streams.client(lab)
    assert client.binding().cls == SUCCESS
    client.sock.sendall(streams.pad(channel_data(0x4000, b"x" * 65535)))
    assert client.binding().cls == SUCCESS
    client.sock.sendall(b"\x00\x16\xff\xfc" + build(REQUEST, BINDING)[4:] + b"\0" * 0xFFFC)
    assert client.binding().cls == SUCCESS
    streams.counted(server, "oversize", 2)
    client.close()


def slow(lab, server):
    """No complete message in time, at the start or later, even if bytes arrive slowly."""
    begin = time.monotonic()
    silent, trickling, later = (streams.connect(lab) for _ in range(3))
    request = build(REQUEST, ALLOCATE)
    later.sendall(request + request[:10])
    with contextlib.suppress(ConnectionError):  # it may be closed by then
        for i in range(8):
            trickling.sendall(request[i : i + 1])
            time.sleep(0.1)
    for sock in (silent, trickling, later):
        assert streams.is_closed(sock)
    took = time.monotonic() - begin
    assert HANDSHAKE - labs.GRAIN <= took < (HANDSHAKE + 1.5) * labs.SLOW, took
    streams.counted(server, "slow", 3)


def idle(lab, server):
    """Without an allocation silence ends a connection. With one only its expiry does."""
    begin = time.monotonic()
    idler, holder, leaver = (streams.client(lab) for _ in range(3))
    assert idler.binding().cls == SUCCESS
    for client in (holder, leaver):
        assert client.allocate().cls == SUCCESS
    assert leaver.refresh(0).cls == SUCCESS
    assert streams.is_closed(idler.sock) and streams.is_closed(leaver.sock)
    took = time.monotonic() - begin
    assert IDLE - labs.GRAIN <= took < (IDLE + 1.5) * labs.SLOW, took
    streams.counted(server, "idle", 2)
    assert holder.refresh().cls == SUCCESS  # it was silent as long as they were
    holder.close()


def caps(lab, server):
    """Limits per source and in total. A closed connection frees its place."""
    until(lambda: streams.counters(server)["connections"] == 0, 5, "all others are gone")
    mine = [streams.client(lab) for _ in range(PER_SOURCE)]
    assert all(client.binding().cls == SUCCESS for client in mine)
    assert streams.refused(lab)
    streams.counted(server, "refused_source")
    others = [streams.client(lab, ip=SECOND4) for _ in range(TOTAL - PER_SOURCE)]
    assert all(client.binding().cls == SUCCESS for client in others)
    assert streams.refused(lab, SECOND4)
    streams.counted(server, "refused_total")
    others[0].close()
    until(lambda: streams.counters(server)["connections"] == TOTAL - 1, 3, "one has gone")
    others[0] = streams.client(lab, ip=SECOND4)
    assert others[0].binding().cls == SUCCESS
    for client in mine + others:
        client.close()


def descriptors(lab, server):
    """Out of open files: refused at once, without harm to existing connections."""
    until(lambda: streams.counters(server)["connections"] == 0, 5, "all others are gone")
    client = streams.client(lab)
    assert client.binding().cls == SUCCESS
    pid = str(server.process.pid)
    limit = re.search(r"NOFILE\s.*?(\d+)\s+(\d+)", labs.command("prlimit", "-p", pid, "-n"))
    used = max(int(fd) for fd in os.listdir(f"/proc/{pid}/fd"))
    labs.command("prlimit", "-p", pid, f"--nofile={used + 1}:{limit[2]}")
    taken = []  # by clients that use the remaining places below
    dealt_with = lambda: sum(streams.counters(server)[n] for n in ("accepted", "refused_files"))
    while streams.counters(server)["refused_files"] < 3:
        before = dealt_with()
        with contextlib.suppress(ConnectionError):
            taken.append(streams.connect(lab, ip=(CLIENT4, SECOND4)[len(taken) % 2]))
        until(lambda before=before: dealt_with() > before, 3, "it is accepted or refused")
        assert len(taken) < TOTAL
    assert client.binding().cls == SUCCESS
    for sock in taken:
        sock.close()
    labs.command("prlimit", "-p", pid, f"--nofile={limit[1]}:{limit[2]}")
    assert streams.client(lab).binding().cls == SUCCESS


def ends_with_connection(lab, server):
    """The allocation ends with its connection, closed or reset, and its relay port is freed."""
    echo = lab.echo(PEER4)
    for reset in (False, True):
        client = streams.client(lab)
        assert client.allocate().cls == SUCCESS and client.permit(PEER4).cls == SUCCESS
        until(lambda: server.stats()["allocations"] == 1, 3, "the allocation exists")
        if reset:  # close() with unread data sends RST
            client.send_raw(build(REQUEST, BINDING))
            until(lambda: client.poller.poll(0), 3, "the answer is there")
        client.close()
        until(lambda: server.stats()["allocations"] == 0, 3, "the allocation is gone")
        before = server.drops().get("peer-no-allocation", 0)
        echo.sock.sendto(b"anybody?", client.relayed)
        until(lambda: server.drops().get("peer-no-allocation", 0) == before + 1, 3, "it is dropped")


def memory(server):
    with open(f"/proc/{server.process.pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+) kB", file.read())[1])


class Flood:
    """A peer of a client that does not read: numbered datagrams, each relayed before many more."""

    def __init__(self, lab, server, client):
        self.server, self.client, self.number = server, client, 0
        self.before = self.ring_full(), self.queue_full()
        self.sock = lab.peer.udp(PEER4)
        assert client.bind(0x4000, self.sock.getsockname()[:2]).cls == SUCCESS

    def send(self, count):
        for _ in range(count):
            self.sock.sendto(b"%08d" % self.number + b"x" * 1000, self.client.relayed)
            self.number += 1
        until(lambda: self.routed() == self.number, 5, f"{self.number} are routed", pause=0.001)

    def routed(self):
        # datagrams that found the ring full are the allocation's loss
        return sum(row["tx"] + row["lost_limit"] for row in self.server.allocations())

    def ring_full(self):
        return self.server.drops().get("stream-full", 0)

    def queue_full(self):
        return streams.counters(self.server)["queue_full"]

    def given(self):
        """The number that the stream thread got: the others found its ring full."""
        return self.number - self.ring_full() + self.before[0]

    def dropped(self):
        """The number of these that had to leave the queue for later ones."""
        return self.queue_full() - self.before[1]


def slow_reader(lab, server):
    """A client that does not read costs a bounded queue. The oldest messages are dropped, as whole
    messages."""
    until(lambda: server.stats()["allocations"] == 0, 5, "all others are gone")
    client = streams.Client(streams.connect(lab, rcvbuf=4096))
    assert client.allocate().cls == SUCCESS
    flood, before = Flood(lab, server, client), memory(server)
    while flood.dropped() < 5000:
        flood.send(100)
        assert flood.number < 100000, streams.counters(server)
    grown = memory(server) - before
    # a sanitizer keeps freed memory for some time
    assert grown < 4096 or labs.SANITIZED, f"{grown} kB more"
    given = flood.given()
    while given == flood.given():  # only the queue delays the last one
        flood.send(1)
    seen = streams.counters(server)
    client.send_raw(build(REQUEST, BINDING))  # its answer comes after all of them
    got = []
    while (item := client.receive(5 * labs.SLOW))[0] == "channel":
        assert len(item[2]) == 1008
        got.append(int(item[2][:8]))
    assert got == sorted(set(got)), "in order, none twice"
    counts = flood.given(), flood.dropped(), len(got)
    assert counts[2] == counts[0] - counts[1], (flood.number, *counts)
    assert got[-1] == flood.number - 1, "the newest is there"
    assert client.binding().cls == SUCCESS
    print(f"{flood.number} sent, {counts[1]} dropped, {len(got)} read, {grown} kB more: {seen}")


def deaf(lab, server):
    """The server stops reading from a client that sends requests and reads no answers."""
    client = streams.Client(streams.connect(lab, rcvbuf=4096))
    assert client.binding().cls == SUCCESS
    before, sent = memory(server), 0
    client.sock.settimeout(0.5 * labs.SLOW)
    text = build(REQUEST, BINDING) * 100
    try:
        while sent < 50e6:
            sent += client.sock.send(text)
    except (TimeoutError, ConnectionError):  # in the end it is idle
        pass
    grown = memory(server) - before
    print(f"{sent} bytes of requests, {grown} kB more")
    assert sent < 50e6 and (grown < 1024 or labs.SANITIZED), (sent, grown)
    assert streams.client(lab).binding().cls == SUCCESS  # and no other client suffers


def fast_sender(lab, server):
    """More than the workers accept: the sender waits, and no message is lost."""
    echo = lab.peer.udp(PEER4)
    client = streams.client(lab)
    assert client.allocate().cls == SUCCESS
    assert client.bind(0x4000, echo.getsockname()[:2]).cls == SUCCESS
    client.send_channel(0x4000, b"here")
    echo.settimeout(5 * labs.SLOW)
    assert echo.recvfrom(100)[0] == b"here"  # the peer is resolved
    before = streams.counters(server)
    count = 30000
    text = streams.pad(channel_data(0x4000, b"abc")) * count
    client.sock.settimeout(20 * labs.SLOW)
    client.sock.sendall(text)
    until(lambda: streams.counters(server)["rx"] - before["rx"] == count, 10, "all are in")
    assert client.binding().cls == SUCCESS
    stalled = streams.counters(server)["stalled"] - before["stalled"]
    print(f"{count} messages, of which {stalled} times one had to wait")
    assert "stream-full" not in server.drops()
    echo.close()
    client.close()


def pipelined(lab, server):
    """Thousands of requests at once: each is answered, in order, as TCP does not retransmit
    requests. Another client waits for none of them meanwhile.
    """
    echo = lab.echo(PEER4)
    talker, asker = streams.client(lab), streams.client(lab)
    assert talker.allocate().cls == SUCCESS
    assert talker.bind(0x4000, echo.address).cls == SUCCESS
    ids = [i.to_bytes(12, "big") for i in range(PIPELINED)]
    asker.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    text = b"".join(build(REQUEST, BINDING, tid=tid) for tid in ids)
    thread = threading.Thread(target=asker.sock.sendall, args=(text,))
    thread.start()
    got, worst = [], 0
    while len(got) < PIPELINED:
        begin = time.monotonic()
        talker.send_channel(0x4000, b"%d" % len(got))
        assert talker.wait("channel")[2] == b"%d" % len(got)
        worst = max(worst, time.monotonic() - begin)
        while len(got) < PIPELINED and (item := asker.receive(0.02)):
            got.append(item[1].tid)
            if len(got) % 100 == 0:
                break
    thread.join()
    assert got == ids, "in order"
    assert server.drops().get("request-backlog", 0) == 0, server.drops()
    print(f"{PIPELINED} requests at once, all answered; the slowest echo beside them "
          f"{worst * 1e3:.1f} ms")  # fmt: skip
    echo.close()
    talker.close()
    asker.close()


def main(lab):
    labs.need_own_server()
    streams.join(lab)
    lab.add_address(lab.cli, "c0", SECOND4)
    limits = {"handshake": HANDSHAKE, "idle": IDLE, "queue": QUEUE, "ring": 64}
    limits |= {"per-source": PER_SOURCE, "connections": TOTAL}
    config = streams.config(lab, **limits)
    config["limits"] = {"binding": {"rate": 0}}
    allow = ("peer-no-allocation", "stream-full", "tx-full", "no-allocation")
    server = lab.server(config, allow=allow)
    for test in (garbage, oversize, slow, idle, caps, descriptors, ends_with_connection,
                 fast_sender, pipelined, slow_reader, deaf):
        begin = time.monotonic()
        test(lab, server)
        print(f"{test.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
    assert server.ready()


if __name__ == "__main__":
    labs.run(main)
