#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: it counts fragments a second
"""Kernel clients and peers send datagrams above the MTU, in both directions and every pair of
families; then with a flood of incomplete fragments at the same time."""

import random
import struct
import time

import lab as labs
from frames import eth, ip4, ip6
from lab import CLIENT4, CLIENT6, PEER4, PEER6, SERVER4, SERVER6
from turnlib import IPV4, IPV6, REQUESTED_ADDRESS_FAMILY, SUCCESS

SIZES = (1473, 1600, 2953, 4000, 8900)
FLOOD = 100_000  # fragments
BATCH = 256  # between two relayed datagrams: as many as the port's queue takes at once


def both_ways(lab, server):
    """Every size as ChannelData and Send indication, in both directions."""
    count = 0
    for ip in (CLIENT4, CLIENT6):
        for peer_ip, family in ((PEER4, IPV4), (PEER6, IPV6)):
            echo, client = lab.echo(peer_ip), lab.client(ip=ip)
            second = lab.echo(peer_ip)
            attr = (REQUESTED_ADDRESS_FAMILY, struct.pack("!B3x", family))
            assert client.allocate([attr]).cls == SUCCESS
            assert client.bind(0x4000, echo.address).cls == SUCCESS
            assert client.permit(second.address).cls == SUCCESS
            for size in SIZES:
                payload = random.randbytes(size)
                client.send_channel(0x4000, payload)
                item = client.wait("channel")
                assert item == ("channel", 0x4000, payload), (ip, peer_ip, size, item)
                client.send(second.address, payload)
                item = client.wait("data")
                assert item == ("data", second.address, payload), (ip, peer_ip, size, item)
                assert echo.seen[-1] == second.seen[-1] == (client.relayed[:2], payload)
                count += 4
            client.refresh(0)
    stats = server.stats()
    assert stats["reassembled"] >= count, (count, stats)
    print(f"{count} datagrams of up to {SIZES[-1]} bytes: {stats['fragments_in']} fragments in, "
        f"{stats['fragments_out']} out, none lost")  # fmt: skip


def bomb(rng):
    """First, middle and last fragments of many sources, some of which overlap."""
    frames = []
    for number in range(4096):
        source4 = f"10.99.{rng.randrange(1, 255)}.{rng.randrange(1, 255)}"
        source6 = f"2001:db8:{rng.randrange(65536):x}::{rng.randrange(1, 65536):x}"
        offset, more = rng.choice(((0, 1), (8, 1), (185, 1), (185, 0), (370, 0)))
        data = struct.pack("!HHHH", 40000, 3478, 4000, 0) + rng.randbytes(64)
        ident = rng.randrange(65536) if number % 2 else 7
        if number % 4:
            packet = ip4(data, source4, SERVER4, flags=more << 13 | offset, ident=ident)
            frames.append(eth(packet))
        else:
            head = struct.pack("!BBHI", 17, 0, offset << 3 | more, ident)
            frames.append(eth(ip6(head + data, source6, SERVER6, proto=44), 0x86DD))
    return frames


def flood(lab, server):
    """Relayed datagrams, short ones and fragmented ones, come back meanwhile."""
    rng = random.Random(1)
    frames = bomb(rng)
    echo, client = lab.echo(), lab.client()
    assert client.allocate().cls == SUCCESS and client.bind(0x4000, echo.address).cls == SUCCESS
    wire = lab.cli.raw("c0")
    before, start, sent, rounds = server.stats(), time.monotonic(), 0, 0
    read = lambda: server.stats()["rx"] - before["rx"]
    while sent < FLOOD:
        for frame in frames[sent % 4096 : sent % 4096 + BATCH]:
            wire.send(frame)
        sent += BATCH
        rounds += 1
        payload = rng.randbytes(4000 if rounds % 16 == 0 else 100)
        if rounds % 16 == 0:  # the queue of a worker without CPU time may be full by now
            labs.until(lambda: read() >= sent, 5, f"all of {sent} are received")
        client.send_channel(0x4000, payload)
        item = client.wait("channel")
        assert item == ("channel", 0x4000, payload), (rounds, item and len(item[2]))
    took = time.monotonic() - start
    labs.until(lambda: read() >= sent, 5, f"all of {sent} are received")
    labs.until(lambda: server.stats()["held"] == 0, 5, "no fragment of the flood is held")
    print(f"{sent} fragments in {took:.1f} s, {sent / took:.0f} a second, {rounds} datagrams "
        f"relayed meanwhile, none lost; {server.drops()}")  # fmt: skip
    wire.close()


def main(lab):
    labs.need_own_server()
    reasons = {f"fragment-{cause}" for cause in ("overlap", "timeout", "full", "malformed", "source",
        "duplicate", "rate")}  # fmt: skip
    server = lab.server(allow=reasons)
    both_ways(lab, server)
    server.check()
    drops = server.drops()
    assert not any(drops.get(reason) for reason in reasons), drops
    if not lab.packet:
        flood(lab, server)


if __name__ == "__main__":
    for port in dict.fromkeys(("packet", labs.PORT)):
        print(port)
        labs.run(main, port=port)
