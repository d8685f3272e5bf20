#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: fails if an answer takes a quarter of a second
"""20,000 malformed datagrams while a client relays. The client loses nothing, and all are counted."""

import os
import random
import select

import lab as labs
from lab import CLIENT4, CLIENT6, SERVER4, SERVER6
from turnlib import (
    ALLOCATE,
    BINDING,
    CHANNEL_BIND,
    DATA_ATTR,
    INDICATION,
    REFRESH,
    REQUEST,
    REQUESTED_TRANSPORT,
    SEND,
    SUCCESS,
    UDP,
    XOR_PEER_ADDRESS,
    build,
    channel_data,
    new_tid,
    xor_address,
)

COUNT = 20_000
BATCH = 16  # datagrams between two relayed ones: as many as the port's ring takes at once
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 32)))


def seeds():
    """Valid messages to mutate."""
    tid = new_tid()
    peer = (XOR_PEER_ADDRESS, xor_address((labs.PEER4, 9), tid))
    return [
        build(REQUEST, BINDING),
        build(REQUEST, ALLOCATE, [(REQUESTED_TRANSPORT, UDP)]),
        build(REQUEST, REFRESH, [(0x0006, b"ivan"), (0x0014, b"turn.test")], key=b"k" * 16),
        build(REQUEST, CHANNEL_BIND, [peer], tid, key=b"k", sha256=True, with_fingerprint=True),
        build(INDICATION, SEND, [peer, (DATA_ATTR, b"x" * 100)], tid),
        channel_data(0x4000, b"y" * 64),
        b"",
    ]


def mutate(rng, base):
    """A few random edits of a message: changed bytes, cuts, growth, or pure noise."""
    data = bytearray(rng.choice(base))
    for _ in range(rng.randrange(1, 6)):
        kind = rng.randrange(5)
        if kind == 0 and data:
            data[rng.randrange(len(data))] = rng.randrange(256)
        elif kind == 1:
            del data[rng.randrange(len(data) + 1) :]
        elif kind == 2:
            data += rng.randbytes(rng.randrange(64))
        elif kind == 3 and len(data) > 4:
            data[2:4] = rng.randbytes(2)
        elif kind == 4 and rng.random() < 0.1:
            data = bytearray(rng.randbytes(rng.randrange(1400)))
    return bytes(data[:1400])  # without fragments


def all_read(server, before, sent):
    read = lambda: server.stats()["rx"] - before
    labs.until(lambda: read() >= sent, 5, f"all of {sent} are received")


def flood(server, attackers, relayed, rng):
    """Sends everything. All datagrams that the client sends in between come back."""
    base, sent, answers, before = seeds(), 0, 0, server.stats()["rx"]
    while sent < COUNT:
        if sent % (32 * BATCH) == 0:  # the queue of a worker that waits for a CPU may be half full by now
            all_read(server, before, sent)
        for _ in range(BATCH):
            sock, address = rng.choice(attackers)
            sock.sendto(mutate(rng, base), address)
        sent += BATCH
        relayed.send_channel(0x4000, b"%d" % sent)
        item = relayed.wait("channel")
        assert item == ("channel", 0x4000, b"%d" % sent), (sent, item)
        while ready := select.select([s for s, _ in attackers], [], [], 0)[0]:
            for sock in ready:
                sock.recv(65536)
                answers += 1
    all_read(server, before, sent)
    assert relayed.unanswered() == 0
    return sent, answers


def main(lab):
    labs.need_own_server()
    print(f"SEED={SEED}")
    rng = random.Random(SEED)
    reasons = {
        "stun-malformed", "stun-method", "stun-fingerprint", "stun-unknown-attribute", "not-turn",
        "no-allocation", "indication-malformed", "keepalive", "channel-unbound", "channel-length",
        "no-permission", "binding-rate", "peer-denied",
        # A worker that gets no CPU time may find more datagrams than its queue holds.
        "request-backlog", "request-client",
    }  # fmt: skip
    server = lab.server(allow=reasons)
    echo = lab.echo()
    client = lab.client()
    assert client.allocate().cls == SUCCESS and client.bind(0x4000, echo.address).cls == SUCCESS
    # One attacker shares the client's namespace, and one has its own allocation.
    insider = lab.client()
    assert insider.allocate().cls == SUCCESS and insider.bind(0x4000, echo.address).cls == SUCCESS
    attackers = [(insider.sock, (SERVER4, 3478))]
    for ip, address in ((CLIENT4, SERVER4), (CLIENT6, SERVER6)):
        for _ in range(3):
            attackers.append((lab.cli.udp(ip), (address, 3478)))
    before = server.stats()
    sent, answers = flood(server, attackers, client, rng)
    server.check()
    after = server.stats()
    assert after["allocations"] == before["allocations"] == 2, after
    print(f"{sent} malformed datagrams, {answers} answers, {sent // BATCH} relayed meanwhile, "
        f"none lost; {after['drops'] - before['drops']} drops")  # fmt: skip
    for sock, _ in attackers[1:]:
        sock.close()


if __name__ == "__main__":
    labs.run(main)
