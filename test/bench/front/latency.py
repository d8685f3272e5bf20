# SPDX-License-Identifier: BSD-3-Clause
"""latency: the time that a datagram takes through a server at 10 %, 50 % and 90 % of its capacity.

The capacity is the partial drop rate: the highest rate with at most 0.5 % loss, which
slipring-loadgen searches for once. The shares are shares of each server's own rate. In addition
all servers run at equal rates, which are shares of the lowest of these. The time is from the
generator to the server and on to the far end, with kernel or driver and veths.
"""

import generator
import servers
from machine import Disturbed
from rounds import Alternation, persistent
from roads.veths import Road

NAME = "latency"
CLIENTS = 8
SIZE = 120
LOSS = "0.5%"
SHARES = (0.1, 0.5, 0.9)
SAME = (0.1, 0.5)
WAYS = ("up", "down")
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
SEARCH_S = 180


def options(*more):
    return [
        "--mode", "channel", "--direction", "both", "--clients", str(CLIENTS), "--size", str(SIZE),
        "--drain", "0.3", *more,
    ]  # fmt: skip


def planned(pdrs):
    """By server, the rate of each load: shares of its own capacity, then of the lowest of all."""
    lowest = min(pdrs.values())
    return {
        name: {share: pdr * share for share in SHARES}
        | {f"{share} of the lowest": lowest * share for share in SAME if len(pdrs) > 1}
        for name, pdr in pdrs.items()
    }


def find_pdr(bench, road, make):
    """(rate, [lowest, highest]) of one server."""
    trial = ["--duration", "0.5", "--repeats", "1"] if bench.quick else ["--duration", "1"]
    search = ["--search", "pdr", "--loss", LOSS, "--from", "2k", "--to", "2M", "--resolution", "5%"]

    def search_once():
        run = generator.on_road(bench, road, *options(*search, *trial))
        with make().started() as server:
            found = generator.plain(bench, run, SEARCH_S)["search"]
        if not found["rate"]:
            text = f"no rate of {server.name} has a loss below {LOSS}: {found['state']}"
            raise Disturbed(text)  # a host that withholds its CPUs looks like that, too
        return found

    found = persistent(search_once, bench.say)
    return found["rate"], found.get("spread") or [found["rate"]] * 2


def case(bench, road, make, rates):
    duration = bench.window + 1

    def one():
        figures = {}
        with make().started():
            for load, rate in rates.items():
                more = ["--pps", f"{rate:.0f}", "--duration", str(duration), "--warmup", "0.5"]
                run = generator.on_road(bench, road, *options(*more))
                result = generator.plain(bench, run, duration)
                for side in WAYS:
                    found = result["ways"][side]
                    figures.update({(load, side, q): generator.latency(found, q) for q in QUANTILES})
        median = "p50_us at half"
        return {median: figures[SHARES[1], "up", "p50"], **figures}

    return one


def report(bench, named, rates, series):
    for name, server in named.items():
        for load, rate in rates[name].items():
            for side in WAYS:
                for key, quantile in QUANTILES.items():
                    values = series.values(name, (load, side, key))
                    bench.results.add(
                        NAME, "latency_us", values, "us", quantile=quantile, load=load,
                        pps=round(rate), direction=side, mode="channel", size=SIZE,
                        clients=CLIENTS, **server,
                    )  # fmt: skip


def main(bench):
    with Road(bench.rest_cpu, bench.work_cpu) as road:
        makers = servers.able(bench, servers.all_servers(bench, road))
        named = {name: make().parameters() for name, make in makers.items()}
        pdrs = {}
        for name, make in makers.items():
            bench.say(f"searching the rate of {name} with at most {LOSS} loss")
            pdr, spread = find_pdr(bench, road, make)
            line = bench.results.add(
                NAME, "pdr_pps", [pdr, *spread], "1/s", direction="mixed", mode="channel",
                size=SIZE, clients=CLIENTS, loss=LOSS, **named[name],
            )  # fmt: skip
            bench.say(f"{name}: {line['value']:,} pps")
            pdrs[name] = pdr
        rates = planned(pdrs)
        cases = {name: case(bench, road, make, rates[name]) for name, make in makers.items()}
        found = Alternation({"latency": cases}, bench.gate, bench.plan(600), bench.say).run()
        report(bench, named, rates, found["latency"])
