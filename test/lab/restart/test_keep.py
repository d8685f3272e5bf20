#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A restart keeps calls: after a stop and after SIGKILL, at any moment. Media use the same relayed
addresses, no client authenticates again, and lifetimes continue."""

import os
import time

import keep
import lab as labs
from lab import until
from turnlib import ALLOCATE, EVEN_PORT, REQUESTED_TRANSPORT, RESERVATION_TOKEN, SUCCESS, UDP, XOR_RELAYED_ADDRESS


def lifetimes(lab, server):
    """An allocation without refresh ends at its original time, and so does its permission."""
    client = lab.client()
    client.challenge()
    begin = time.monotonic()
    assert client.allocate().cls == SUCCESS and client.granted == 4, client.granted
    return client, begin


def gone(server, calls, client, begin):
    left = lambda: len(server.allocations()) == len(calls.clients) + 1
    until(left, 8, "the one that is not refreshed ends")
    took = time.monotonic() - begin
    assert 4 - labs.GRAIN <= took <= 5.5 * labs.SLOW, f"ended after {took:.2f} s, granted 4 s"
    assert client.refresh().code == 437


def reserve(lab):
    """A client with the even port of a pair."""
    client = lab.client()
    assert client.allocate([*keep.LONG_LIFE, (EVEN_PORT, b"\x80")]).cls == SUCCESS
    return client


def use_reservation(lab, even):
    """The odd port is reserved for the client with the token, on any worker."""
    with lab.client() as client:
        client.challenge()
        attrs = [(REQUESTED_TRANSPORT, UDP), (RESERVATION_TOKEN, even.token)]
        answer = keep.first(client, ALLOCATE, attrs)
        assert answer.cls == SUCCESS, answer
        assert answer.address(XOR_RELAYED_ADDRESS)[1] == even.relayed[1] + 1
        assert client.refresh(0).cls == SUCCESS


def planned(lab, server, calls):
    even, (short, begin) = reserve(lab), lifetimes(lab, server)
    media = keep.Media(calls)
    ended = keep.restart(server)
    took = media.again(server, ended)
    media.close()
    print(f"planned: media after {took:.2f} s, {keep.told(server)}")
    until(lambda: keep.shown(server) >= calls.relayed(), 1, "the same relayed addresses")
    # A slow restart outlives the allocation without refresh.
    assert keep.ended(server) in ([], ["expired"]), keep.ended(server)
    use_reservation(lab, even)
    calls.check()
    assert even.refresh(0).cls == SUCCESS
    gone(server, calls, short, begin)
    assert media.client.refresh(0).cls == SUCCESS
    assert "calls are kept in" in server.log() and "allocations restored in" in server.log()
    return took


def crashed(server, calls):
    media = keep.Media(calls)
    ended = keep.restart(server, keep.kill)
    took = media.again(server, ended)
    media.close()
    print(f"kill -9: media after {took:.2f} s")
    calls.check()
    assert media.client.refresh(0).cls == SUCCESS
    return took


def dies_while_it_starts(server, calls):
    """The old state area stays intact, at every stage of the start."""
    keep.die(server)
    for moment in (0.0, 0.15, 0.3, 0.45):
        server.spawn(*server.argv())
        if moment == 0.0:
            until(lambda: os.path.exists(server.area + ".new") or server.ready(), 20, "it has begun")
        else:
            time.sleep(moment)
        keep.die(server)
    server.start()
    calls.check()


def main(lab):
    labs.need_own_server()
    keep.need_memory()
    short = {"lifetime": {"default": 4, "max": 600}}
    server = keep.start(lab, {"limits": short, "state": {"crashes": 0}})
    calls = keep.Calls(lab)
    keep.in_time(server, calls, planned(lab, server, calls), keep.stop)
    keep.in_time(server, calls, crashed(server, calls), keep.kill)
    dies_while_it_starts(server, calls)


if __name__ == "__main__":
    labs.run(main)
