#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: the server must get its CPU time to read
"""A storm of authenticated Allocate and Refresh requests during calls. The calls lose no datagram,
and every request is answered or counted: first at the pace of the answers, then with more requests
than the queue holds."""

import select
import time

import lab as labs
import loadgen
from lab import CLIENT4, CLIENT6, SLOW, until
from turnlib import (
    ALLOCATE,
    ERROR,
    LIFETIME,
    REFRESH,
    REQUESTED_TRANSPORT,
    SUCCESS,
    UDP,
    Message,
    u32,
)

CONFIG = {"limits": {"requests": 2}, "buffers": {"backlog": 32}, "relay": {"quarantine": 0}}
CALLS = "--clients 8 --pps 1k --direction both --duration 2 --size 120".split()
STEADY, CROWD = 24, 192  # clients of the storm; the first number fits a backlog
REFUSED = ("request-backlog", "request-known", "request-client")
SILENCE = 0.25  # seconds after which a client retransmits
GOES = 3  # on busy CPUs, some frames find a full ring


class Stormer:
    """A client that allocates and releases repeatedly with two fixed requests."""

    def __init__(self, client):
        self.client, self.turn, self.sent_at = client, 0, 0.0
        client.challenge()
        self.requests = (
            client.signed(ALLOCATE, [(REQUESTED_TRANSPORT, UDP)]),
            client.signed(REFRESH, [(LIFETIME, u32(0))]),
        )

    def ask(self, now):
        self.sent_at = now
        self.client.send_raw(self.requests[self.turn])

    def answered(self):
        """Reads an answer. Returns 0 or the error code; 437 answers a retransmitted request."""
        answer = Message(self.client.sock.recv(65536))
        assert answer.cls in (SUCCESS, ERROR) and answer.code in (0, 437), answer
        self.turn ^= answer.tid == self.requests[self.turn][8:20]
        return answer.code


class Storm:
    """Some clients, each with a pending request."""

    def __init__(self, lab, count):
        ips = (CLIENT4, CLIENT4, CLIENT4, CLIENT6)
        self.stormers = [Stormer(lab.client(ip=ips[i % 4])) for i in range(count)]
        self.by_fd = {s.client.sock.fileno(): s for s in self.stormers}
        self.poller = select.poll()
        for fd in self.by_fd:
            self.poller.register(fd, select.POLLIN)
        self.sent = self.answers = self.refused = 0

    def ask(self, stormers):
        now = time.monotonic()
        for stormer in stormers:
            stormer.ask(now)
        self.sent += len(stormers)

    def take(self, timeout):
        """Reads the received answers. Returns the clients that got one."""
        done = [self.by_fd[fd] for fd, _ in self.poller.poll(timeout * 1000)]
        for stormer in done:
            self.refused += stormer.answered() != 0
        self.answers += len(done)
        return done

    def rage(self, process):
        """Runs while the process runs. All clients send at once whenever no answer is pending."""
        together = len(self.stormers) > STEADY
        self.ask(self.stormers)
        waiting = set(self.stormers)
        while process.poll() is None:
            done = self.take(0.01)
            if not together:
                self.ask(done)
            waiting -= set(done)
            late = time.monotonic() - SILENCE
            if together and (not waiting or min(s.sent_at for s in waiting) < late):
                self.ask(self.stormers)
                waiting = set(self.stormers)
            elif not together:
                self.ask([s for s in self.stormers if s.sent_at < late])

    def settled(self, dropped):
        """True once every request that was not dropped has its answer."""
        while self.take(0):
            pass
        return self.answers + dropped >= self.sent

    def end(self):
        for stormer in self.stormers:
            stormer.client.refresh(0)  # 437 if there is no allocation
            stormer.client.close()


def refused(server):
    counts = server.drops()
    return sum(counts.get(name, 0) for name in REFUSED)


def missed(server):
    return sum(port["rx_missed"] for port in server.telemetry.ask("/slipring/ports"))


def beside_calls(lab, server, gen, count):
    """False if frames found a full ring of the server or the generator: a process without CPU time
    proves nothing."""
    storm = Storm(lab, count)
    before, missed_before = refused(server), missed(server)
    run = gen.start(*loadgen.media(*loadgen.IVAN, *CALLS))
    storm.rage(run.process)
    result = run.result()
    busy = lambda: missed(server) > missed_before or result["generator"]["rx_missed"] > 0
    until(lambda: storm.settled(refused(server) - before) or busy(), 5,
        "every request is answered or counted")  # fmt: skip
    dropped = refused(server) - before
    if busy():
        storm.end()
        return False
    loadgen.check_clean(result, "up", "down")
    assert result["clients_ready"] == 8 and result["clients_failed"] == 0, result
    # The calls' requests may have been dropped, too: each was retransmitted, except a caller's last
    # one.
    theirs = result["retransmissions"] + result["clients_ready"]
    known = storm.answers + dropped
    assert storm.sent <= known <= storm.sent + theirs, (storm.sent, known, theirs)
    assert storm.answers > 1000 / SLOW, storm.answers
    print(f"ok     {count} clients: {storm.answers} of {storm.sent} requests answered "
        f"({storm.refused} 437), {dropped} dropped, beside {result['total_recv']} datagrams")  # fmt: skip
    storm.end()
    loadgen.check_released(lab, server)
    return True


def main(lab):
    labs.need_own_server()
    server = lab.server(CONFIG, allow=set(REFUSED))
    gen = loadgen.Generator(lab)
    for count in (STEADY, CROWD):
        assert any(beside_calls(lab, server, gen, count) for _ in range(GOES)), "the CPUs were always busy"


if __name__ == "__main__":
    labs.run(main)
