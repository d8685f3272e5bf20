#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Limits for unauthenticated senders: answers of at most three times the request's bytes, few
answers a second, then silence. And the quotas of authenticated users.
"""

import time

import lab as labs
import turnlib
from lab import CLIENT4, CLIENT6
from turnlib import ALLOCATE, BINDING, CREATE_PERMISSION, REFRESH, REQUEST, SUCCESS, UDP, build

RATE, BURST, FLOOD = 5, 20, 400
NONCE_LIFETIME = 3  # seconds
SECOND4, SECOND6 = "10.99.0.4", "fd99::4"
IP_UDP = 28  # bytes of IPv4 and UDP header


def answers(client, make, dropped):
    """Sends FLOOD requests and waits until each is answered or dropped. Returns (number of answers,
    seconds)."""
    begin = time.monotonic()
    got = 0
    for i in range(FLOOD):
        client.send_raw(make())
        if i % 20 == 19:  # no faster than the port's ring can take
            while client.receive(0.001):
                got += 1

    def done():
        nonlocal got
        while client.receive(0):
            got += 1
        return got + dropped() >= FLOOD

    labs.until(done, 5, f"{FLOOD} requests are answered or counted")
    return got, time.monotonic() - begin


def limited(server, client, make, counter, used=0):
    """The server answers one source with BURST answers and RATE a second, and counts the rest.

    used: tokens of the burst that earlier requests may have taken.
    """
    # The remainder are drops of a worker that had no CPU time.
    counters = (counter, "request-backlog", "request-client")

    def count():
        drops = server.drops()
        return sum(drops.get(name, 0) for name in counters)

    before = count()
    got, took = answers(client, make, lambda: count() - before)
    dropped = count() - before
    assert not client.drain(), "one more"
    assert got + dropped == FLOOD, f"{got} answers and {dropped} {counter} of {FLOOD}"
    assert BURST - used <= got <= BURST + RATE * took + 1, f"{got} answers in {took:.2f} s"
    return got


def unsigned():
    return build(REQUEST, ALLOCATE, [(turnlib.REQUESTED_TRANSPORT, UDP)])


def strangers(lab, server):
    victim = lab.client()
    victim.challenge()
    for ip in (CLIENT4, CLIENT6, SECOND4, SECOND6):
        assert lab.client(ip=ip).binding().cls == SUCCESS  # neighbours are resolved
    for ip, second in ((CLIENT4, SECOND4), (CLIENT6, SECOND6)):
        got = limited(server, lab.client(ip=ip), unsigned, "unauthenticated-rate", used=1)
        print(f"{ip}: {got} answers to {FLOOD} unsigned requests")
        stranger = lab.client(ip=second)
        begin = time.monotonic()
        for _ in range(BURST):
            stranger.send_raw(unsigned())
        got = len(stranger.fence())
        if ip == CLIENT4:  # another address is another source
            assert got == BURST, got
        else:  # a /64 of IPv6 is one source: tokens of the elapsed time
            assert got <= 1 + RATE * (time.monotonic() - begin + 1 * labs.SLOW), got
    # A client with a nonce and the password is authenticated, and a flood does not matter.
    assert victim.allocate().cls == SUCCESS
    # Another client's nonce is worthless: its 438 takes a token from the strangers' bucket.
    auth = labs.ivan()
    thief = lab.client(auth)
    auth.realm, auth.nonce, auth.algorithms = "turn.test", victim.auth.nonce, None
    sign = lambda: thief.signed(ALLOCATE, [(turnlib.REQUESTED_TRANSPORT, UDP)])
    limited(server, thief, sign, "unauthenticated-rate", used=BURST)
    # A client's own stale nonce is answered with a new one while strangers get no answer.
    end = time.monotonic() + NONCE_LIFETIME + 1.5  # the timestamp has whole seconds
    while time.monotonic() < end:  # and strangers use all tokens meanwhile
        for _ in range(50):
            thief.send_raw(sign())
        while thief.receive(0.05):
            pass
    stale = victim.exchange(victim.signed(REFRESH, [(turnlib.LIFETIME, bytes(4))]))
    assert stale.code == 438, stale
    assert victim.refresh(0).cls == SUCCESS


def guesses(lab, server):
    """A wrong password takes a token of its client, with an allocation and without."""
    for ip, allocated in ((SECOND4, False), (CLIENT6, True)):
        wrong = lab.client(ip=ip)
        wrong.challenge()
        if allocated:
            assert wrong.allocate().cls == SUCCESS
        wrong.auth.user, wrong.auth.password = "olga", "wrong"
        sign = lambda: wrong.signed(REFRESH, [(turnlib.LIFETIME, bytes(4))])
        got = limited(server, wrong, sign, "guess-rate")
        print(f"{ip}: {got} answers to {FLOOD} wrong passwords")


def bindings(lab, server):
    # strangers() has sent two requests.
    client, ask = lab.client(ip=SECOND4), lambda: build(REQUEST, BINDING)
    got = limited(server, client, ask, "binding-rate", used=2)
    print(f"{SECOND4}: {got} answers to {FLOOD} Binding requests")


def amplification(lab, realm):
    """Sizes of unauthenticated answers, in whole IP packets, for one realm."""
    client = lab.client()
    client.challenge()
    client.auth.nonce = b"obMatJos2AAAA"
    requests = {
        "Allocate, no attribute": build(REQUEST, ALLOCATE),
        "Refresh, no attribute": build(REQUEST, REFRESH),
        "Permission, no attribute": build(REQUEST, CREATE_PERMISSION),
        "Allocate, transport": unsigned(),
        "Allocate, stale nonce": client.signed(ALLOCATE, [(turnlib.REQUESTED_TRANSPORT, UDP)]),
        "Binding": build(REQUEST, BINDING),
    }
    worst = 0
    for name, request in requests.items():
        answer = client.exchange(request)
        asked, got = len(request) + IP_UDP, len(answer.data) + IP_UDP
        worst = max(worst, got / asked)
        row = (
            f"{name:24} {asked:4} -> {got:4} bytes  {got / asked:.2f}x  {answer.code or 'success'}"
        )
        print(f"  realm {len(realm):2} bytes  {row}")
    assert worst <= 3 or len(realm) > 16, f"{worst:.2f}x with a realm of {len(realm)} bytes"


def quotas(lab):
    """486 for the user's, the source's and the total quota. A released allocation frees its place
    (8656 7.2)."""
    clients = [
        lab.client(auth) for auth in (labs.ivan(), labs.ivan(), turnlib.Auth("olga", "geheim"))
    ]
    assert clients[0].allocate().cls == SUCCESS and clients[1].allocate().cls == SUCCESS
    assert lab.client().allocate().code == 486, "two allocations per user"
    assert clients[2].allocate().cls == SUCCESS
    olga = lambda ip=CLIENT4: lab.client(turnlib.Auth("olga", "geheim"), ip=ip)
    assert olga().allocate().code == 486, "three allocations per source"
    fourth = olga(SECOND4)
    assert fourth.allocate().cls == SUCCESS
    assert lab.client(ip=SECOND4).allocate().code == 486, "four allocations in all, two per user"
    assert clients[0].refresh(0).cls == SUCCESS
    assert lab.client().allocate().cls == SUCCESS, "a place is free again"


def main(lab):
    labs.need_own_server()
    lab.add_address(lab.cli, "c0", SECOND4)
    lab.add_address(lab.cli, "c0", SECOND6)
    bucket = {"rate": RATE, "burst": BURST}
    limits = {"unauthenticated": bucket, "binding": bucket}
    # One worker: limits are divided among the workers.
    config = {"limits": limits, "workers": {"count": 1}}
    server = lab.server(
        config | {"auth": {"nonce": {"lifetime": NONCE_LIFETIME}}},
        allow=("unauthenticated-rate", "request-backlog", "request-client"),
    )
    strangers(lab, server)
    server.finish()
    config["limits"] = {"guesses": bucket, "binding": bucket, "unauthenticated": {"rate": 0}}
    allow = ("guess-rate", "binding-rate", "request-backlog", "request-client")
    server = lab.server(config, allow=allow)
    guesses(lab, server)
    bindings(lab, server)
    server.finish()
    for realm in ("a.io", "sixteen-bytes.io", "r" * 40):
        server = lab.server({"auth": {"realm": realm}})
        amplification(lab, realm)
        server.finish()
    lab.server({"limits": {"per-user": 2, "per-source": 3, "allocations": 4}})
    quotas(lab)


if __name__ == "__main__":
    labs.run(main)
