# SPDX-License-Identifier: BSD-3-Clause
"""coturn: the best rate that slipring and coturn relay with one CPU, and its cost.

Both servers use the same road, the same generator and the same CPU. A datagram counts when it
arrives at the far end with a valid stamp. Both directions are loaded at the same time and summed.
In the first round the rate rises until a server no longer follows. The rounds that count are
measured around that rate and at an open flood, and the best of them is the result.

The cost of a relayed datagram has two denominators: the time that the server's CPU was busy
(process and softirqs), and the time that the whole machine was busy less the generator's own
threads. The denominator that is less favourable for slipring is marked as the one to quote.
"""

import itertools
from dataclasses import dataclass

import generator
import servers
import stats
from machine import Disturbed
from rounds import Alternation, Noisy, each_part
from roads.veths import Road

NAME = "coturn"
SIZE = 120
VOIP_SIZE = 160
RATE_FIRST, RATE_LAST, RATE_STEP = 20_000, 3_000_000, 1.5
FOLLOWS = 0.9  # share of the offered rate; less is beyond the knee
BELOW, CLIMB, CLIMBS = 0.85, 1.2, 8  # rounds begin below the knee and climb past it
KNEE_TRIES = 3
SAVING = servers.SlipringSaving.kind
DENOMINATORS = ("cpu0", "machine")
QUANTILES = {"p50": 0.5, "p99": 0.99}  # of the slower direction


@dataclass(frozen=True)
class Workload:
    """A load: senders and their rates."""

    name: str
    clients: int
    size: int
    fixed: bool = False  # 50 pps for each client and direction; else as much as is relayed

    def options(self, rate, duration):
        pace = ["--voip"] if self.fixed else ["--pps", rate if rate == "flood" else f"{rate:.0f}"]
        return [
            "--mode", "channel", "--direction", "both", "--clients", str(self.clients), "--size",
            str(self.size), *pace, "--duration", str(duration), "--warmup", "0", "--drain", "0.3",
        ]  # fmt: skip


WORKLOADS = (
    Workload("one flow", 1, SIZE),
    Workload("8 flows", 8, SIZE),
    Workload("100 calls", 100, VOIP_SIZE, fixed=True),
)


def trial(bench, road, server, workload, rate, duration):
    """Figures of one run at one rate."""
    run = generator.on_road(bench, road, *workload.options(rate, duration))
    result, cost = generator.measured(bench, road, run, server, duration, workload.clients)
    relayed = result["recv_pps"]
    return {
        "relay_pps": relayed,
        "send_pps": result["send_pps"],
        "cpu0": relayed / max(cost.cpu, 1e-3),
        "machine": relayed / max(cost.machine, 1e-3),
        "busy": cost.cpu,
        "threads": cost.server,
        # share of the delivered datagrams that came in super-frames
        "whole": result["super_received"]["datagrams"] / max(result["total_recv"], 1),
        "bound": float(result["generator"]["bound"]),
        **{q: max(generator.latency(w, q) for w in result["ways"].values()) for q in QUANTILES},
    }


def follows(found, rate):
    return rate != "flood" and found["relay_pps"] >= FOLLOWS * rate


def climb(measure, rate, step, most):
    """Trials at rising rates, until one is beyond the knee."""
    trials = []
    while len(trials) < most and rate <= RATE_LAST:
        trials.append(measure(rate))
        if not follows(trials[-1], rate):
            break
        rate *= step
    return trials


def best_of(trials):
    """The trial that relayed most. If other trials sent more, the generator did not limit it."""
    best = max(trials, key=lambda found: found["relay_pps"])
    topped = any(found["send_pps"] > best["send_pps"] for found in trials)
    return {**best, "bound": 0.0 if topped else best["bound"]}


def find_knee(bench, road, make, workload):
    """The approximate highest rate of a server, near which rounds search."""

    def measure(rate):
        found = trial(bench, road, server, workload, rate, 1.5)
        bench.say(
            f"{workload.name}: {server.name}: {rate:,.0f} offered, {found['send_pps']:,.0f} "
            f"sent, {found['relay_pps']:,.0f} relayed"
        )
        return found

    trials = []
    for _ in range(KNEE_TRIES):
        bench.gate.wait(20)
        try:
            with bench.gate.watch() as watch, make().started() as server:
                trials += climb(measure, RATE_FIRST, RATE_STEP, 20)
            reason = watch.reason
        except Disturbed as error:
            reason = str(error)
        if reason is None or (trials and (bench.quick or bench.accept_noise)):
            break
        bench.say(f"once more: {reason}")
    if not trials:
        raise Noisy(f"{workload.name}: no trial of {KNEE_TRIES} came to its end")
    return best_of(trials)["relay_pps"]


def case(bench, road, make, workload, knee):
    """A function that starts the server and returns the best of its trials."""
    duration = bench.window * 1.5 + 1

    def one():
        with make().started() as server:
            # work that a server does only once is not measured
            warm = generator.on_road(bench, road, *workload.options(RATE_FIRST, 0.5))
            generator.plain(bench, warm, 0.5)
            measure = lambda rate: trial(bench, road, server, workload, rate, duration)
            if workload.fixed:
                return measure(RATE_FIRST)
            trials = climb(measure, knee * BELOW, CLIMB, 1 if bench.quick else CLIMBS)
            return best_of([*trials, measure("flood")])

    return one


def parameters(bench, workload):
    return {
        "size": workload.size,
        "direction": "mixed",
        "mode": "channel",
        "clients": workload.clients,
        "load": workload.name,
    }


def report(bench, workload, named, series):
    """Lines of one workload: each server, then the ratios."""
    add, common = bench.results.add, parameters(bench, workload)
    if series.noisy:
        common["noisy"] = True
    for name, server in named.items():
        more = {**server, **common}
        bound = stats.median(series.values(name, "bound"))
        if bound:
            more["generator_bound"] = True
        for metric in ("relay_pps", "send_pps"):
            add(NAME, metric, series.values(name, metric), "1/s", **more)
        for denominator in DENOMINATORS:
            values = series.values(name, denominator)
            add(NAME, "relay_pps_per_cpu_s", values, "1/s", cpu=denominator, **more)
        for key, quantile in QUANTILES.items():
            add(NAME, "latency_us", series.values(name, key), "us", quantile=quantile, **more)
    ours = [name for name in named if named[name]["server"] != "coturn"]
    for one, rival in itertools.product(ours, [name for name in named if name not in ours]):
        more = {**named[rival], **common, "server": one, "against": named[rival]["server"]}
        report_ratios(bench, workload, (one, rival), series, more)


def report_ratios(bench, workload, pair, series, more):
    found = {denominator: series.ratios(*pair, denominator) for denominator in DENOMINATORS}
    worst = min(DENOMINATORS, key=lambda denominator: stats.median(found[denominator]))
    add = bench.results.add
    if workload.fixed:
        for key, quantile in QUANTILES.items():
            add(NAME, "ratio_coturn", series.ratios(*pair, key), "ratio", quantity="latency_us",
                quantile=quantile, **more)  # fmt: skip
    else:
        rates = series.ratios(*pair, "relay_pps")
        add(NAME, "ratio_coturn", rates, "ratio", quantity="relay_pps", **more)
    for denominator in DENOMINATORS:
        mark = {"quoted": True} if denominator == worst else {}
        add(NAME, "ratio_coturn", found[denominator], "ratio", quantity="relay_pps_per_cpu_s", cpu=denominator,
            **mark, **more)  # fmt: skip


def main(bench):
    with Road(bench.rest_cpu, bench.work_cpu) as road:
        beside = {
            "slipring-packet": lambda: servers.SlipringBeside(bench, road),
            SAVING: lambda: servers.SlipringSaving(bench, road),
        }
        makers = servers.able(bench, {**servers.all_servers(bench, road), **beside})
        named = {name: make().parameters() for name, make in makers.items()}

        def measure(workload):
            cases = {}
            for name, make in makers.items():
                if name == SAVING and not workload.fixed:
                    continue  # without pauses in the load it cannot save anything
                knee = 0 if workload.fixed else find_knee(bench, road, make, workload)
                cases[name] = case(bench, road, make, workload, knee)
            plan = bench.plan(seconds=150 * len(cases))
            found = Alternation({workload.name: cases}, bench.gate, plan, bench.say).run()
            report(bench, workload, {name: named[name] for name in cases}, found[workload.name])

        loads = WORKLOADS[1:] if bench.quick else WORKLOADS
        each_part({load.name: lambda load=load: measure(load) for load in loads}, bench.say)
