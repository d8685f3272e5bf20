#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Burst statistics of telemetry and of the log: they match the bursts sent and do not contradict
each other."""

import re

import lab as labs
from lab import CLIENT4, PEER4
from turnlib import SUCCESS

MESSAGES = 400
CLASSES = ["1", "2", "3-4", "5-8", "9-16", "17-32"]
BOUNDS = [(int(c.split("-")[0]), int(c.split("-")[-1])) for c in CLASSES]
HISTS = ("rx_hist", "tx_hist", "hand_hist")


def relay(lab):
    """Datagrams through a channel and back. Returns the number of frames that the server received."""
    echo = lab.echo(PEER4)
    client = lab.client(ip=CLIENT4)
    assert client.allocate().cls == SUCCESS
    assert client.bind(0x4000, echo.address).cls == SUCCESS
    client.send_channel(0x4000, b"first")
    assert client.wait("channel")
    for begin in range(0, MESSAGES, 8):
        for i in range(8):
            client.send_channel(0x4000, b"%d" % (begin + i))
        for _ in range(8):
            assert client.wait("channel")
    return 2 * MESSAGES


def within(hist, packets):
    """The smallest number of packets that fits a histogram."""
    least = sum(n * low for n, (low, _) in zip(hist, BOUNDS, strict=True))
    most = sum(n * high for n, (_, high) in zip(hist, BOUNDS, strict=True))
    return least <= packets <= most


def consistent(b):
    """One answer: histograms, sums and averages agree."""
    assert b["classes"] == CLASSES, b
    assert b["polls"] == b["rx_bursts"] + b["rx_empty"], b
    assert sum(b["rx_hist"]) == b["rx_bursts"], b
    frames = b["tx"] - b["uso_segments"] + b["uso_frames"]  # a super-frame counts as one
    assert within(b["rx_hist"], b["rx"]) and within(b["tx_hist"], frames + b["tx_full"]), b
    # messages between workers are in the bursts of a ring, but are not datagrams
    assert b["handed_in"] <= sum(n * high for n, (_, high) in zip(b["hand_hist"], BOUNDS)), b
    average = b["rx"] / b["rx_bursts"] if b["rx_bursts"] else 0
    assert abs(float(b["rx_average"]) - average) <= 0.0005, b
    assert b["tx_short"] <= b["tx_retried"] and (b["tx_full"] == 0 or b["tx_short"] > 0), b
    assert b["uso_segments"] >= b["uso_frames"] and float(b["uso_fraction"]) <= 1, b


def check_telemetry(server, frames):
    def quiet():
        total = server.counters("/slipring/bursts")
        each = [server.telemetry.ask(f"/slipring/bursts,{w}") for w in (0, 1)]
        workers = [server.telemetry.ask(f"/slipring/worker,{w}") for w in (0, 1)]
        after = server.counters("/slipring/bursts")  # an ARP or ND request may have come
        same = all(after[name] == total[name] for name in (*HISTS, "rx", "tx"))
        return same and total["tx"] >= frames and server.settled() and (total, each, workers)

    total, each, workers = labs.until(quiet, 5, "the counters do not change")
    for b in (total, *each):
        consistent(b)
    for key in ("rx", "tx", "rx_bursts", "handed_in", "tx_short", "no_mbuf"):
        assert total[key] == sum(b[key] for b in each), (key, total, each)
    for name in HISTS:
        assert total[name] == [sum(n) for n in zip(*(b[name] for b in each))], name
    assert total["rx"] >= frames, total
    assert sum(total["hand_hist"]) > 0, "a neighbour learned is told the other worker by ring"
    for worker, b in zip(workers, each):
        for key in ("rx", "rx_bursts", "rx_hist", "tx_hist", "handed_in"):
            assert worker[key] == b[key], (key, worker, b)
        # there were more polls since, never fewer
        assert worker["rx_empty"] >= b["rx_empty"] > 0
    for wrong in ("/slipring/bursts,2", "/slipring/bursts,x", "/slipring/bursts,0,0"):
        assert "error" in server.telemetry.ask(wrong), wrong
    return total


def check_log(server, total):
    """A line of each worker every second. Together they add up to the counters of telemetry."""
    shown = r"info +workers: worker (\d): \S+ polls, (\d+\.\d) % empty, else (\d+\.\d) packets; rx (.*?); tx "

    def told():
        lines = re.findall(shown, server.log())
        per = [[l for l in lines if l[0] == w] for w in "01"]
        # the last line of each worker must be of a second without packets
        return all(len(p) >= 2 and p[-1][3] == "none" for p in per) and lines

    lines = labs.until(told, 8, "the log has all bursts")
    rx = 0
    for line in lines:
        assert 0 <= float(line[1]) <= 100, line
        if line[3] != "none":
            counts = re.findall(r"(\S+?):(\d+)", line[3])
            assert [c[0] for c in counts] == CLASSES, line
            rx += sum(int(c[1]) for c in counts)
    assert rx >= total["rx_bursts"], (rx, total)


def main(lab):
    labs.need_own_server()
    server = lab.server({"log": {"bursts": 1}})
    total = check_telemetry(server, relay(lab))
    check_log(server, total)
    print(f"{total['rx']} packets in {total['rx_bursts']} bursts: {total['rx_hist']}, "
          f"by ring {total['hand_hist']}")  # fmt: skip
    server.finish()
    quiet = lab.server()
    quiet.stop()
    assert " polls, " not in quiet.log(), "off by default"


if __name__ == "__main__":
    labs.run(main)
