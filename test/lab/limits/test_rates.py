#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rate limits of relayed datagrams. All clients of a user share the user's rate, on any transport
and any worker. The excess is counted under the limit that was exceeded, and another user loses
nothing. A reload changes the rates of live allocations."""

import os
import select
import signal
import time

import dtls
from constants import document
import lab as labs
import streams
from control import Control, ctl
from lab import PEER4, until
from turnlib import SUCCESS, Auth

SIZE = 1000
RATE = 2_000_000 // 8 // SIZE  # datagrams a second from the user ivan to the peers
FROM_PEERS = 400  # datagrams a second to each allocation
# A burst of one second is allowed, so a process that waits less than that for the CPU loses
# nothing.
BURST = 1000
SECONDS = 3
CHANNEL = 0x4001
NEAR = 0.05


class Flow:
    """A client with or without a channel, and its peer: a kernel socket that counts."""

    def __init__(self, lab, client, every, channel=True):
        self.client, self.every, self.channel = client, every, channel
        self.peer = lab.peer.udp(PEER4)
        lab.cleanup.callback(self.peer.close)
        self.sent = self.got = 0
        assert client.allocate().cls == SUCCESS
        address = self.peer.getsockname()
        assert (client.bind(CHANNEL, address) if channel else client.permit(address)).cls == SUCCESS

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
    """Sends at the flows' rates for this time and makes up for delays. Returns the start time."""
    begin = time.monotonic()
    while True:
        now = time.monotonic() - begin
        for flow in flows:
            while flow.sent * flow.every < min(now, seconds):
                flow.send()
            flow.take()
        if now >= seconds:
            return begin
        time.sleep(0.002)


def settle(take, sent, lost):
    """Waits until each datagram has arrived or is counted as lost. take() returns the number that
    have arrived. Returns the time of the last arrival."""
    got, last = -1, 0.0

    def settled():
        nonlocal got, last
        if (now := take()) != got:
            got, last = now, time.monotonic()
        return got + lost() == sent

    until(settled, 10, "each relayed datagram has arrived, and the rest is counted")
    return last


def arrived(flows, lost):
    def take():
        for flow in flows:
            flow.take()
        return sum(flow.got for flow in flows)

    return settle(take, sum(flow.sent for flow in flows), lost)


def near(got, rate, seconds, most, label):
    """Compares the datagrams that passed with the rate and its burst. The last datagrams may have
    waited for a CPU while the limit allowed more: most, in seconds."""
    least, most = (rate * (t + BURST / 1000) for t in (seconds, max(seconds, most)))
    print(f"{label}: {got}, {least:.0f} to {most:.0f} by the rate")
    assert (1 - NEAR) * least <= got <= (1 + NEAR) * most, f"{label}: {got}, not {least:.0f} to {most:.0f}"


def rows(ask, user):
    return ask.all("allocations", user=user)


def of_a_user(lab, server, ask, path):
    """Returns ivan's flows except one that has ended, and the flow of another user."""
    ivan = [
        Flow(lab, lab.client(), 1 / 100),
        Flow(lab, lab.client(), 1 / 100, channel=False),
        Flow(lab, streams.client(lab, "tcp"), 1 / 100),
        Flow(lab, streams.client(lab, "tls"), 1 / 100),
        Flow(lab, dtls.client(lab), 1 / 100),
    ]
    olga = Flow(lab, lab.client(Auth("olga", "geheim")), 1 / 50)
    begin = flood([*ivan, olga], SECONDS)
    last = arrived([*ivan, olga], lambda: server.drops().get("user-rate", 0))
    got, sent = (sum(getattr(flow, name) for flow in ivan) for name in ("got", "sent"))
    near(got, RATE, SECONDS, last - begin, "datagrams of a user's five clients")
    server.published()
    assert olga.got == olga.sent, f"{olga.got} of {olga.sent} of the other user"
    shown = rows(ask, "ivan")
    assert len(shown) == len(ivan)
    assert sum(row["rx"] for row in shown) == got, shown
    lost = [row["lost"] for row in shown]
    assert sum(counts["user_rate"] for counts in lost) == sent - got == server.drops()["user-rate"], lost
    assert not any(counts["allocation_rate"] + counts["realm_rate"] for counts in lost), lost
    assert sum(rows(ask, "olga")[0]["lost"].values()) == 0
    most = max(shown, key=lambda row: row["lost"]["user_rate"])
    text = " ".join(ctl(path, "show", most["id"]).split())
    assert f"lost {most['lost']['user_rate']} user_rate" in text, text
    assert "user-rate" in ctl(path, "drops"), ctl(path, "drops")
    # `explain` shows the reason later, too.
    (loser,) = [f for f in ivan if most["relay"].endswith(f":{f.client.relayed[1]}")]
    assert loser.client.refresh(0).cls == SUCCESS
    told = lambda: "limits.rates" in ask.ask("explain", user="ivan")["advice"]
    until(told, 15, "the user's limit explains it")
    return [flow for flow in ivan if flow is not loser], olga


def of_an_allocation(server, ask, flow):
    """A peer sends more than the rate of an allocation: each allocation has its own limit."""
    relay, begin, now, got, sent = flow.client.relayed, time.monotonic(), 0, 0, 0

    def take():
        nonlocal got
        while flow.client.receive(0):
            got += 1
        return got

    while now < 2:
        now = time.monotonic() - begin
        while sent < min(now, 2) * 3 * FROM_PEERS:
            flow.peer.sendto(b"down", relay)
            sent += 1
        take()
        time.sleep(0.002)
    last = settle(take, sent, lambda: server.drops().get("allocation-rate", 0))
    near(got, FROM_PEERS, 2, last - begin, "datagrams from a peer")
    server.published()
    row = rows(ask, "olga")[0]
    assert row["lost"]["allocation_rate"] == sent - got and row["lost"]["user_rate"] == 0, row


def by_reload(lab, server, flows):
    """Limits are removed, and everything passes. Then the realm gets a limit."""

    def reload(rates):
        server.config["limits"] = {"unauthenticated": {"rate": 0}, "rates": rates}
        with open(server.path, "w", encoding="utf-8") as file:
            file.write(lab.device(document(server.config)))
        told = lambda: server.log().count("reload by SIGHUP: ")
        before = told()
        server.process.send_signal(signal.SIGHUP)
        until(lambda: told() > before, 10, "the reload ends")

    def again(seconds):
        for flow in flows:
            flow.sent = flow.got = 0
        begin = flood(flows, seconds)
        last = arrived(flows, lambda: server.drops().get("realm-rate", 0))
        return last - begin, sum(flow.got for flow in flows), sum(flow.sent for flow in flows)

    reload({"burst": BURST})
    _, got, sent = again(0.5)
    assert got == sent, f"{got} of {sent} without limits"
    reload({"burst": BURST, "realm-to-peers": {"datagrams": 100}})
    most, got, sent = again(1)
    near(got, 100, 1, most, "datagrams of the realm")
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
            "user-to-peers": "2M",
            "allocation-from-peers": {"datagrams": FROM_PEERS},
        }
    }
    server = lab.server(config, allow={"user-rate", "allocation-rate", "realm-rate"})
    with Control(path) as ask:
        flows, olga = of_a_user(lab, server, ask, path)
        of_an_allocation(server, ask, olga)
        by_reload(lab, server, [*flows, olga])


if __name__ == "__main__":
    labs.run(main)
