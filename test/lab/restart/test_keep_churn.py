#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: 100 kills
"""SIGKILL at random moments while clients allocate, refresh, bind and delete: state that was
confirmed before a kill exists after it. Clients repeat a request without an answer, and it is
answered as usual."""

import random
import threading
import time

import keep
import lab as labs
import turnlib
from turnlib import CHANNEL_NUMBER, CREATE_PERMISSION, LIFETIME, REFRESH, SUCCESS, XOR_PEER_ADDRESS, u32, xor_address

DEATHS = 100 if labs.LONG else 4
CLIENTS = 12
WAITS = (0.1, 0.2, 0.4, *[0.5] * 40)  # a start may be slow on a busy machine


class Caller:
    """A client that does one thing after the other, and remembers the confirmed state."""

    def __init__(self, lab, echo, seed):
        self.lab, self.echo, self.random = lab, echo, random.Random(seed)
        self.client, self.relayed, self.bound = None, None, set()
        self.stopping, self.done, self.wrong = False, 0, None
        self.thread = threading.Thread(target=self.loop, daemon=True)

    def ask(self, method, attrs=(), tid=None):
        """The answer to a request, which must not be challenged."""
        answer = self.client.exchange(self.client.signed(method, attrs, tid), WAITS)
        assert answer.code not in (401, 438), answer
        return answer

    def allocate(self):
        self.client = self.lab.client()
        first = turnlib.build(turnlib.REQUEST, turnlib.ALLOCATE, [(turnlib.REQUESTED_TRANSPORT, turnlib.UDP)])
        self.client.auth.learn(self.client.exchange(first, WAITS))
        attrs = [(turnlib.REQUESTED_TRANSPORT, turnlib.UDP), *keep.LONG_LIFE]
        answer = self.ask(turnlib.ALLOCATE, attrs)
        assert answer.cls == SUCCESS, answer
        self.relayed, self.bound = answer.address(turnlib.XOR_RELAYED_ADDRESS), set()

    def refresh(self):
        assert self.ask(REFRESH, [(LIFETIME, u32(self.random.randrange(600, 3600)))]).cls == SUCCESS

    def permit(self):
        tid, peer = turnlib.new_tid(), (f"10.99.0.{self.random.randrange(100, 120)}", 0)
        answer = self.ask(CREATE_PERMISSION, [(XOR_PEER_ADDRESS, xor_address(peer, tid))], tid)
        assert answer.cls == SUCCESS, answer

    def bind(self):
        tid, number = turnlib.new_tid(), 0x4000 + len(self.bound)
        address = (self.echo.address[0], self.echo.address[1] + len(self.bound))
        attrs = [(CHANNEL_NUMBER, number.to_bytes(2, "big") + b"\0\0"),
                 (XOR_PEER_ADDRESS, xor_address(address, tid))]  # fmt: skip
        answer = self.ask(turnlib.CHANNEL_BIND, attrs, tid)
        assert answer.cls == SUCCESS, answer
        self.bound.add(number)

    def relay(self):
        """Its first channel leads to the echo host. Datagrams may be lost while no process runs."""
        for _ in range(100):
            self.client.send_channel(0x4000, b"%d" % self.done)
            if self.client.wait("channel", 0.2) is not None:
                return
        raise AssertionError("no media")

    def end(self):
        """A request that is repeated after a kill may find its effect in place."""
        assert self.ask(REFRESH, [(LIFETIME, u32(0))]).code in (0, 437)
        self.client.close()
        self.relayed = None

    def step(self):
        if self.relayed is None:
            return self.allocate()
        if not self.bound:
            return self.bind()
        ways = [self.refresh, self.refresh, self.permit, self.relay, self.end]
        return self.random.choice(ways + [self.bind] * (len(self.bound) < 8))()

    def loop(self):
        while not self.stopping:
            try:
                self.step()
                self.done += 1
            except Exception as error:  # the test reports it
                self.wrong = error
                return

    def check(self):
        if self.wrong:
            raise AssertionError(f"{self.relayed}: {self.wrong!r}") from self.wrong


def deaths(server, callers, chance):
    """Kills the server while it runs or while it starts."""
    sums = {}
    for number in range(DEATHS):
        time.sleep(chance.uniform(0, 0.5))
        keep.die(server)
        if chance.random() < 0.2:
            server.spawn(*server.argv())
            time.sleep(chance.uniform(0, 0.6))
            keep.die(server)
        server.start()
        told = keep.told(server)
        lost = {name[5:]: n for name, n in told.items() if name.startswith("lost_") and n}
        # each worker has one place to be killed
        assert set(lost) <= {"half_written"} and sum(lost.values()) <= 2, (number, lost)
        assert told["start"] == "taken", told
        for name, n in {**lost, "allocations": told["allocations"]}.items():
            sums[name] = sums.get(name, 0) + n
        for caller in callers:
            caller.check()
    return sums


def main(lab):
    labs.need_own_server()
    keep.need_memory()
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    config = {"relay": {"quarantine": 1}, "auth": {"nonce": {"lifetime": 3600}}}
    config["state"] = {"crashes": 0}  # a hundred kills in sequence are allowed
    server = keep.start(lab, config)
    echo = lab.echo()
    callers = [Caller(lab, echo, seed + i) for i in range(CLIENTS)]
    for caller in callers:
        caller.thread.start()
    time.sleep(0.5)
    print(f"{DEATHS} deaths: {deaths(server, callers, random.Random(seed))}")
    for caller in callers:
        caller.stopping = True
    for caller in callers:
        caller.thread.join(30)
        caller.check()
    live = {caller.relayed for caller in callers if caller.relayed}
    assert keep.shown(server) == live, keep.shown(server) ^ live
    print(f"{sum(caller.done for caller in callers)} requests")
    server.allow |= {"channel-unbound", "neighbour-failed", "neighbour-rate", "no-permission"}


if __name__ == "__main__":
    labs.run(main)
