#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Lifetimes in real time: allocations end at their time, a refresh moves it, ports rest.

(The RFC fixes the lifetimes of permissions and channels at 300 and 600 s: test/unit tests them with
its own clock.)
"""

import time

import lab as labs
from turnlib import LIFETIME, SUCCESS, u32

LATE = 1.0  # an end may be up to a second late, never early


def end(server, client, begin, limit):
    """Sends on the channel until the allocation has ended. Returns the seconds from begin to the
    detection of the end, and to the last datagram that came back."""
    items, gone = [], 0.0
    while server.stats()["allocations"] > 0:
        assert gone < limit, f"still there after {gone:.2f} s"
        client.send_channel(0x4000, b"%.3f" % (time.monotonic() - begin))
        items.append(client.wait("channel", 0.02))
        gone = time.monotonic() - begin
    gone = time.monotonic() - begin
    items += client.fence()
    return gone, max(float(item[2]) for item in items if item)


def relaying(lab, echo, attrs=()):
    """A client with an allocation and a channel, and its earliest allocation time."""
    client = lab.client()
    client.challenge()
    begin = time.monotonic()
    assert client.allocate(attrs).cls == SUCCESS
    assert client.bind(0x4000, echo.address).cls == SUCCESS
    return client, begin


def ends(lab, server):
    """An allocation lives for the granted time, with and without traffic."""
    echo = lab.echo()
    client, begin = relaying(lab, echo)
    assert client.granted == 2, client.granted
    gone, last = end(server, client, begin, 8)
    assert 2 - labs.GRAIN <= gone <= 2 + LATE * labs.SLOW, f"ended after {gone:.2f} s, granted 2 s"
    assert 1 < last < gone, f"relayed for {last:.2f} s"
    assert client.refresh().code == 437
    client.send_channel(0x4000, b"old allocation")
    late = lambda: server.drops().get("no-allocation", 0)
    labs.until(late, 2, "it relays no longer")
    print(f"granted 2 s, relayed for {last:.2f} s")
    # The 5-tuple is free: a new allocation has no state of the old one.
    assert client.allocate().cls == SUCCESS
    before, names = server.drops(), ("channel-unbound", "no-permission")
    client.send_channel(0x4000, b"old channel")
    client.send(echo.address, b"old permission")
    dropped = lambda: [server.drops().get(n, 0) - before.get(n, 0) for n in names]
    labs.until(lambda: all(dropped()), 2, f"both are dropped: {names}")
    assert not client.fence() and not {data for _, data in echo.seen if data.startswith(b"old")}
    assert client.refresh(0).cls == SUCCESS


def refreshed(lab, server):
    """The lifetime counts from the refresh. LIFETIME may exceed the default."""
    client, begin = relaying(lab, lab.echo(), [(LIFETIME, u32(3))])
    assert client.granted == 3, client.granted
    time.sleep(1)
    begin = time.monotonic()
    answer = client.refresh(4)
    assert answer.lifetime == 4, answer.lifetime
    gone, last = end(server, client, begin, 9)
    assert 4 - labs.GRAIN <= gone <= 4 + LATE * labs.SLOW, f"ended after {gone:.2f} s, refreshed for 4 s"
    assert 3 < last < gone, f"relayed for {last:.2f} s"
    print(f"refreshed for 4 s, relayed for {last:.2f} s")


def exhaustion(lab):
    """A freed port rests. If all ports rest, the one that rested longest is used, after a second."""
    clients = [lab.client() for _ in range(4)]
    for client in clients:
        assert client.allocate().cls == SUCCESS
    assert len({c.relayed for c in clients}) == 4
    extra = lab.client()
    assert extra.allocate().code == 508, "all ports are taken"
    freed = time.monotonic()  # at the earliest
    assert clients[0].refresh(0).cls == SUCCESS
    assert extra.allocate().code == 508, "the freed port rests"
    labs.until(lambda: extra.allocate().cls == SUCCESS, 4, "the resting port is used")
    rested = time.monotonic() - freed
    assert rested > 1 - labs.GRAIN and extra.relayed == clients[0].relayed, rested
    print(f"the only freed port was used again after {rested:.2f} s")


def main(lab):
    labs.need_own_server()
    lifetime = {"lifetime": {"default": 2, "max": 5}}
    expected = ("no-allocation", "peer-no-allocation", "channel-unbound", "no-permission")
    server = lab.server({"limits": lifetime}, allow=expected)
    ends(lab, server)
    refreshed(lab, server)
    server.finish()
    few = {"ports": "50000-50003", "quarantine": 60}
    lab.server({"workers": {"count": 1}, "relay": few, "limits": {"per-user": 0}})
    exhaustion(lab)


if __name__ == "__main__":
    labs.run(main)
