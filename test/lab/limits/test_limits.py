#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What strangers get: no more bytes than three times theirs, few answers a second, then silence.

And the quotas of those who are known.
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
    """Sends FLOOD requests, until each is answered or dropped; (number of answers, seconds)."""
    begin = time.monotonic()
    got = 0
    for i in range(FLOOD):
        client.send_raw(make())
        if i % 20 == 19:  # no faster than the port's ring takes them
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
    """One source is answered BURST times and RATE times a second; the rest is counted.

    used: tokens of the burst that earlier requests may have taken.
    """
    # the others are those of a worker that was kept from its CPU
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
        assert lab.client(ip=ip).binding().cls == SUCCESS  # the way to each is known
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
        else:  # of IPv6 the /64 is one: there is what has come in since
            assert got <= 1 + RATE * (time.monotonic() - begin + 1 * labs.SLOW), got
    # Who has a nonce and the password is not a stranger, flooded or not.
    assert victim.allocate().cls == SUCCESS
    # Another's nonce is nothing: its 438 comes out of the strangers' bucket.
    auth = labs.ivan()
    thief = lab.client(auth)
    auth.realm, auth.nonce, auth.algorithms = "turn.test", victim.auth.nonce, None
    sign = lambda: thief.signed(ALLOCATE, [(turnlib.REQUESTED_TRANSPORT, UDP)])
    limited(server, thief, sign, "unauthenticated-rate", used=BURST)
    # One's own, however stale, is told the next one while strangers get nothing.
    end = time.monotonic() + NONCE_LIFETIME + 1.5  # the stamp is of whole seconds
    while time.monotonic() < end:  # and nothing is left for strangers meanwhile
        for _ in range(50):
            thief.send_raw(sign())
        while thief.receive(0.05):
            pass
    stale = victim.exchange(victim.signed(REFRESH, [(turnlib.LIFETIME, bytes(4))]))
    assert stale.code == 438, stale
    assert victim.refresh(0).cls == SUCCESS


def guesses(lab, server):
    """A wrong password costs who tries it, with an allocation and without."""
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
    # strangers() has asked twice
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
    """486 for the user's, the source's and the total quota; a freed place is free (8656 7.2)."""
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
    # One worker: limits are divided by the number of workers.
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
