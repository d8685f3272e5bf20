#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: it paces datagrams, and none may be lost or late
# long: a run of each kind; under ASan it is the generator's pace that is tested, loadgen_transports the rest
# full: its parts have unit tests (loadgen_track, loadgen_stamp), loadgen_transports the whole
"""The load generator against its own peers, without a server: every datagram is accounted for."""

import re

import lab as labs
import loadgen
from lab import CLIENT4, CLIENT6, SLOW


def check_ways(gen):
    """Both directions at once, then echo, in both families: everything arrives once and in order."""
    sizes = [28, 29, 160, 1444]
    both = gen.run(*loadgen.direct(*"--direction both --clients 8 --pps 4k --duration 0.6".split()),
        "--size", ",".join(map(str, sizes)))  # fmt: skip
    loadgen.check_clean(both, "up", "down")
    loadgen.check_sums(both)
    assert both["sizes"] == sizes and both["family"] == "4" and both["clients"] == 8, both
    for flow in both["ways"].values():
        mean = flow["sent_bytes"] / flow["sent"]
        assert abs(mean / (sum(sizes) / len(sizes)) - 1) < 0.02, "sizes are used in turn"
    echo = gen.run(
        *loadgen.direct(*"--direction echo --burst 8 --clients 5 --duration 0.5".split(), family=6)
    )
    loadgen.check_clean(echo, "up", "echo")
    loadgen.check_sums(echo)
    assert echo["family"] == "6" and echo["burst"] == 8, echo
    print("ok     both ways and echo: nothing lost")


def check_pace(lab, gen):
    """The rate is exact to 1 %, and kernel hosts reach the generator's addresses meanwhile."""
    for family, source, pinged in (
        (4, CLIENT4, ("10.99.0.20", "10.99.0.23", "10.99.0.41")),
        (6, CLIENT6, ("fd99::20", "fd99::23", "fd99::41")),
    ):
        duration = 2 if family == 4 else 1
        run = gen.start(*loadgen.direct("--pps", "5k", "--duration", str(duration), family=family))
        for address in pinged:
            wait = f"-c 2 -i 0.05 -W {2 * SLOW} -I {source}".split()
            labs.until(lambda: lab.cli.run("ping", *wait, address, check=False).find(" 0% ") > 0,
                5, f"{address} answers")  # fmt: skip
        near = lab.cli.ip("neigh", "show")
        for address in pinged:
            mac = labs.MAC.format(0x21 if address.endswith("41") else 0x20)
            assert re.search(rf"^{address} .*lladdr {mac}", near, re.M), near
        result = run.result()
        loadgen.check_clean(result, "up")
        exact, health = 5000 * result["seconds"], result["generator"]
        assert abs(health["due"] / exact - 1) < 0.01, (exact, health)
        assert result["total_sent"] == health["due"] - health["missed"] - health["tx_full"], result
        assert -0.1 < result["seconds"] - duration < SLOW, result["seconds"]
    print("ok     pace, ARP, ND, ping")


def check_impaired(gen):
    """Each fault that the reflector injects is detected and counted."""
    result = gen.run(
        *loadgen.direct(*"--direction echo --clients 3 --pps 5k --duration 1".split()),
        *("--impair", "loss=2%,duplicate=1%,reorder=1%,corrupt=1%"),
    )
    flow, injected = result["ways"]["echo"], result["injected"]
    # Shares of the datagrams that were sent: a generator without CPU time sends fewer.
    share = {key: 100 * number / flow["sent"] for key, number in injected.items()}
    assert flow["sent"] > 1000 and 1.8 <= share["loss"] <= 2.2, (flow, injected)
    assert 0.8 <= share["corrupt"] <= 1.1 and 0.8 <= share["duplicate"] <= 1.1, (flow, injected)
    assert 0.6 <= share["reorder"] <= 1.1, (flow, injected)
    assert flow["lost"] == injected["loss"] + injected["corrupt"], (flow, injected)
    assert flow["corrupted"] == injected["corrupt"], (flow, injected)
    assert flow["duplicated"] == injected["duplicate"], (flow, injected)
    assert flow["reordered"] == injected["reorder"], (flow, injected)
    assert flow["delivered"] == flow["sent"] - flow["lost"], flow
    assert flow["received"] == flow["delivered"] + flow["duplicated"], flow
    up = result["ways"]["up"]
    assert up["sent"] == flow["sent"] == up["delivered"], "the peers saw all of it"
    print(f"ok     injected and found: {injected}")


def check_delay(gen):
    """The measured latency is that of a delay line of known length."""
    result = gen.run(
        *loadgen.direct(*"--direction echo --pps 2k --duration 1 --impair delay=20000".split())
    )
    loadgen.check_clean(result, "up", "echo")
    latency = result["ways"]["echo"]["latency_us"]
    assert 20_000 * 0.99 <= latency["min"] <= latency["p50"] < 20_000 + 5000 * SLOW, latency
    order = [latency[key] for key in ("min", "p50", "p90", "p99", "p99.9", "max")]
    assert order == sorted(order), latency
    assert result["ways"]["up"]["latency_us"]["p50"] < 5000 * SLOW, "the upward direction has no delay line"
    print(f"ok     20 ms of delay: {latency}")


def check_lanes(gen):
    """Two lcores that both send and receive lose nothing."""
    options = loadgen.direct(*"--direction both --clients 16 --pps 4k --duration 0.6".split())
    options = [o.replace("iface", "qpairs=2,iface") for o in options]
    result = gen.run(*options, *"--senders 2 --receivers 2".split(), eal=gen.lanes(2))
    assert len(result["lcores"]) == 2, result["lcores"]
    assert all(lcore["sends"] and lcore["receives"] for lcore in result["lcores"]), result
    loadgen.check_sums(result)
    for name, flow in result["ways"].items():
        assert flow["delivered"] == flow["sent"] > 0, (name, flow)
        assert flow["duplicated"] == flow["corrupted"] == 0, (name, flow)
    assert all(x["sent"] > 0 and x["received"] > 0 for x in result["lcores"]), result["lcores"]
    print("ok     two senders, two receivers")


def main(lab):
    gen = loadgen.Generator(lab)
    check_ways(gen)
    check_pace(lab, gen)
    check_impaired(gen)
    check_delay(gen)
    check_lanes(gen)


if __name__ == "__main__":
    labs.run(main)
