#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rates of relayed datagrams: what passes of a user's clients, whichever transports they use and
whichever workers they are on, is his rate; what is more is counted by whose limit it was; and another
user beside him loses nothing. A reload changes rates of live allocations."""

import json
import os
import select
import signal
import time

import dtls
import lab as labs
import streams
from control import Control, ctl
from lab import PEER4, until
from turnlib import SUCCESS, Auth

SIZE = 1000
RATE = 2_000_000 // 8 // SIZE  # datagrams a second of the user ivan to his peers
FROM_PEERS = 400  # datagrams a second to each allocation
# A second of the rate may come at once: who is kept from the CPU for less has not lost any of it.
BURST = 1000
SECONDS = 3
CHANNEL = 0x4001
NEAR = 0.05


class Flow:
    """A client with a channel, or without one, and its peer: a socket of the kernel that counts."""

    def __init__(self, lab, client, every, channel=True):
        self.client, self.every, self.channel = client, every, channel
        self.peer = lab.peer.udp(PEER4)
        lab.cleanup.callback(self.peer.close)
        self.sent = self.got = 0
        assert client.allocate().cls == SUCCESS
        at = self.peer.getsockname()
        assert (client.bind(CHANNEL, at) if channel else client.permit(at)).cls == SUCCESS

    def send(self):
        if self.channel:
            self.client.send_channel(CHANNEL, bytes(SIZE))
        else:
            self.client.send(self.peer.getsockname(), bytes(SIZE))
        self.sent += 1

    def take(self):
        while select.select([self.peer], [], [], 0)[0]:
            assert len(self.peer.recv(2 * SIZE)) == SIZE
            self.got += 1


def flood(flows, seconds):
    """Sends at the flows' rates, later what was not sent in time. Returns how long it has taken."""
    begin = time.monotonic()
    while (now := time.monotonic() - begin) < seconds:
        for flow in flows:
            while flow.sent * flow.every < now:
                flow.send()
            flow.take()
        time.sleep(0.002)
    return time.monotonic() - begin


def settle(server, flows):
    """What is on its way has arrived, or been dropped."""

    def still():
        before = [flow.got for flow in flows]
        time.sleep(0.2)
        for flow in flows:
            flow.take()
        return before == [flow.got for flow in flows]

    until(still, 10, "all that is relayed has arrived")
    server.published()


def near(got, wanted, what):
    print(f"{what}: {got}, {wanted:.0f} by the rate")
    assert abs(got - wanted) <= NEAR * wanted, f"{what}: {got}, not {wanted:.0f}"


def rows(ask, user):
    return ask.all("allocations", user=user)


def of_a_user(lab, server, ask, path):
    ivan = [
        Flow(lab, lab.client(), 1 / 100),
        Flow(lab, lab.client(), 1 / 100, channel=False),
        Flow(lab, streams.client(lab, "tcp"), 1 / 100),
        Flow(lab, streams.client(lab, "tls"), 1 / 100),
        Flow(lab, dtls.client(lab), 1 / 100),
    ]
    olga = Flow(lab, lab.client(Auth("olga", "geheim")), 1 / 50)
    took = flood([*ivan, olga], SECONDS)
    settle(server, [*ivan, olga])
    got, sent = (sum(getattr(flow, name) for flow in ivan) for name in ("got", "sent"))
    near(got, RATE * (took + BURST / 1000), f"datagrams of a user's five clients in {took:.2f} s")
    assert olga.got == olga.sent, f"{olga.got} of {olga.sent} of the user beside him"
    shown = rows(ask, "ivan")
    assert len(shown) == len(ivan)
    assert sum(row["rx"] for row in shown) == got, shown
    lost = [row["lost"] for row in shown]
    assert sum(of["user_rate"] for of in lost) == sent - got == server.drops()["user-rate"], lost
    assert not any(of["allocation_rate"] + of["realm_rate"] for of in lost), lost
    assert sum(rows(ask, "olga")[0]["lost"].values()) == 0
    most = max(shown, key=lambda row: row["lost"]["user_rate"])
    text = " ".join(ctl(path, "show", most["id"]).split())
    assert f"lost {most['lost']['user_rate']} user_rate" in text, text
    assert "user-rate" in ctl(path, "drops"), ctl(path, "drops")
    # whoever asks later why it was bad is told
    assert ivan[0].client.refresh(0).cls == SUCCESS
    told = lambda: "limits.rates.user" in ask.ask("explain", user="ivan")["advice"]
    until(told, 15, "the user's limit explains it")
    return ivan[1:], olga


def of_an_allocation(server, ask, flow):
    """From a peer, by number: each allocation has its own."""
    relay, begin, got, sent = flow.client.relayed, time.monotonic(), 0, 0
    while (now := time.monotonic() - begin) < 2:
        while sent < now * 3 * FROM_PEERS:
            flow.peer.sendto(b"down", relay)
            sent += 1
        while flow.client.receive(0):
            got += 1
        time.sleep(0.002)
    took = time.monotonic() - begin
    while flow.client.receive(0.3):
        got += 1
    near(got, FROM_PEERS * (took + BURST / 1000), f"datagrams from a peer in {took:.2f} s")
    server.published()
    row = rows(ask, "olga")[0]
    assert row["lost"]["allocation_rate"] == sent - got and row["lost"]["user_rate"] == 0, row


def by_reload(lab, server, flows):
    """Limits go, and everything passes; then there is one of the realm."""

    def reload(rates):
        server.config["limits"] = {"unauthenticated": {"rate": 0}, "rates": rates}
        with open(server.path, "w", encoding="utf-8") as file:
            file.write(lab.device(json.dumps(server.config, indent=1)))
        told = lambda: server.log().count("reload by SIGHUP: ")
        before = told()
        server.process.send_signal(signal.SIGHUP)
        until(lambda: told() > before, 10, "the reload ends")

    def again(seconds):
        for flow in flows:
            flow.sent = flow.got = 0
        took = flood(flows, seconds)
        settle(server, flows)
        return took, sum(flow.got for flow in flows), sum(flow.sent for flow in flows)

    reload({"burst": BURST})
    _, got, sent = again(0.5)
    assert got == sent, f"{got} of {sent} without limits"
    reload({"burst": BURST, "realm": {"to-peers": {"datagrams": 100}}})
    took, got, sent = again(1)
    near(got, 100 * (took + BURST / 1000), f"datagrams of the realm in {took:.2f} s")
    assert server.drops()["realm-rate"] == sent - got


def main(lab):
    labs.need_own_server()
    path = os.path.join(lab.dir, "control.sock")
    streams.join(lab)
    config = streams.config(lab, ("tcp", "tls"))
    config["listeners"] += dtls.config(lab)["listeners"][2::3]
    config["control"] = {"socket": path}
    config["limits"] = {
        "rates": {
            "burst": BURST,
            "user": {"to-peers": {"bits": "2M"}},
            "allocation": {"from-peers": {"datagrams": FROM_PEERS}},
        }
    }
    server = lab.server(config, allow={"user-rate", "allocation-rate", "realm-rate"})
    with Control(path) as ask:
        flows, olga = of_a_user(lab, server, ask, path)
        of_an_allocation(server, ask, olga)
        by_reload(lab, server, [*flows, olga])


if __name__ == "__main__":
    labs.run(main)
