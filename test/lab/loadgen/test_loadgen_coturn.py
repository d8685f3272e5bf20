#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: it paces datagrams, and none may be lost or late
# long: the modes against coturn; under ASan only the pace would change
# full: loadgen_transports has each direction, against one server
"""The load generator against coturn, and compared with turnutils_uclient: both count the same."""

import re

import lab as labs
import loadgen
import server as servers
import uclient
from lab import PEER4, SERVER4
from loadgen import IVAN, media, probes

BRIEF = "--clients 5 --duration 0.4 --pps 2k".split()
MEDIA = (
    ("channels, both ways", media(*IVAN, "--direction", "both"), ("up", "down")),
    ("channels, echo", media(*IVAN, "--direction", "echo"), ("up", "echo")),
    ("indications, both ways", media(*IVAN, *"--mode send --direction both".split()),
        ("up", "down")),
    ("IPv6, echo", media(*IVAN, "--direction", "echo", family=6), ("up", "echo")),
    ("IPv4 to IPv6", media(*IVAN, "--direction", "both", relay=6), ("up", "down")),
)  # fmt: skip
CLIENTS, MESSAGES, INTERVAL_MS = 4, 100, 20


def start_coturn(lab):
    server = servers.Coturn(lab)
    lab.servers.append(server)
    lab.cleanup.callback(server.kill)
    server.start()


def ports(number):
    """Ports of the clients: coturn remembers a 5-tuple for some time after its allocation ended."""
    return ("--client-ports", f"{20_000 + 1000 * number}-{20_999 + 1000 * number}")


def check_media(gen):
    for number, (label, options, ways) in enumerate(MEDIA if labs.LONG else MEDIA[:1]):
        result = gen.run(*options, *BRIEF, *ports(number))
        loadgen.check_clean(result, *ways, ordered=False)
        assert result["clients_ready"] == 5 and result["clients_failed"] == 0, (label, result)
        assert not result["error_codes"], (label, result)
        print(f"ok     {label}: {result['total_recv']}")


def check_requests(gen):
    binding = gen.run(*probes(*BRIEF, "--mode", "binding"))
    loadgen.check_clean(binding, "echo", ordered=False)
    assert binding["answered"] == binding["total_sent"], binding
    unauth = gen.run(*probes(*BRIEF, "--mode", "unauth"))
    assert unauth["errors"] == unauth["answered"] > 0, unauth
    invalid = gen.run(*probes(*BRIEF, "--mode", "invalid"))
    assert invalid["alive"] is True, invalid
    # coturn answers 437 for a second if the ports are used again: see ports().
    alloc = gen.run(*probes(*IVAN, *"--mode alloc --clients 50 --duration 0.5 --pps 60".split()),
        *ports(9))  # fmt: skip
    assert 25 <= alloc["allocations"] <= 50 and not alloc["error_codes"], alloc
    hold = gen.run(*probes(*IVAN, *"--mode alloc-hold --clients 50 --duration 0.2".split()),
        *ports(10))  # fmt: skip
    assert hold["clients_ready"] == 50 and hold["clients_failed"] == 0, hold
    print("ok     binding, unauth, invalid, alloc, alloc-hold")


def check_agreement(lab, gen):
    """Each client sends a message every 20 ms and gets it back. Both tools count all of them."""
    uclient.start_peer(lab)
    theirs = uclient.start(lab, "paced", SERVER4, PEER4, "-c", clients=CLIENTS, messages=MESSAGES,
        interval=INTERVAL_MS, size=160).finish(30 * labs.SLOW)  # fmt: skip
    assert theirs.complete, theirs.output[-2000:]
    seconds = MESSAGES * INTERVAL_MS / 1000
    ours = gen.run(*media(*IVAN, "--direction", "echo", "--clients", str(CLIENTS)), *ports(20),
        *("--pps-per-client", str(1000 / INTERVAL_MS), "--size", "160"),
        *("--duration", str(seconds)))  # fmt: skip
    loadgen.check_clean(ours, "up", "echo")
    # Datagrams that are late for want of CPU time are not sent, and are reported.
    due = ours["total_recv"] + ours["generator"]["missed"]
    assert abs(due / ours["seconds"] * seconds / theirs.received - 1) < 0.02, ours
    delays = re.search(r"Average round trip delay ([\d.]+) ms; min = ([\d.]+) ms", theirs.output)
    # The runs see different machine loads, so this compares the generator's minimum with uclient's
    # average: a larger minimum would be a wrong time.
    slowest, quickest = (float(delays[1]) + 5 * labs.SLOW) * 1000, float(delays[2]) * 1000
    latency = ours["ways"]["echo"]["latency_us"]
    assert latency["min"] < slowest and latency["max"] > quickest, (ours, delays[0])
    print(f"ok     uclient {theirs.received}, slipring-loadgen {ours['total_recv']} echoes")


def main(lab):
    start_coturn(lab)
    gen = loadgen.Generator(lab)
    check_media(gen)
    if labs.LONG:
        check_requests(gen)
    check_agreement(lab, gen)


if __name__ == "__main__":
    labs.run(main, port="af_packet")  # coturn's kernel owns the port
