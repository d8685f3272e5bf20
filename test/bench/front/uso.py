# SPDX-License-Identifier: BSD-3-Clause
"""uso: CPU time saved by super-frames to the clients, compared with single datagrams.

The downlink of a conference: each of a few clients gets bursts of one size from its peer. slipring
has a vtap towards the clients, with ports[].uso auto and off. coturn reaches the same TAPs through
its kernel, with --multiplex-peer and --udp-gso if it knows them. The coturn benchmark describes the
rates that are tried and the two denominators of the cost. Delivered means arrived at the generator,
datagram by datagram.
"""

import contextlib
from dataclasses import dataclass

import coturn
import stats
from machine import wait_until
from rounds import Alternation, each_part
from servers import READY_S, Coturn, Slipring, SlipringBeside, able
from roads.taps import INGRESS, LEGS, MAC, TapRoad

NAME = "uso"
CLIENTS = 4
RATIOS = (
    ("auto", "off", "ratio_off"),
    ("auto", "coturn", "ratio_coturn"),
    ("packet", "coturn", "ratio_coturn"),
)
SECONDS = 150  # seconds for the rounds of one load, for each server


@dataclass(frozen=True)
class Downlink(coturn.Workload):
    """Bursts to each client in turn."""

    burst: int = 16
    ingress: str = "whole"  # how bursts reach the server
    wire: str = "whole"  # how they leave it

    def options(self, rate, duration):
        pace = rate if rate == "flood" else f"{rate:.0f}"
        return [
            "--mode", "peer-to-client", "--clients", str(self.clients), "--size", str(self.size),
            "--burst", str(self.burst), "--uso", INGRESS[self.ingress], "--pps", pace,
            "--duration", str(duration), "--warmup", "0", "--drain", "0.3",
        ]  # fmt: skip

    def parameters(self):
        return {
            "size": self.size, "burst": self.burst, "direction": "down", "mode": "channel",
            "clients": self.clients, "link": "tap", "ingress": self.ingress, "wire": self.wire,
        }  # fmt: skip


def downlink(size, burst, **ways):
    name = " ".join([f"{burst} x {size}", *(f"{k}={v}" for k, v in ways.items())])
    return Downlink(name, CLIENTS, size, burst=burst, **ways)


def loads(quick, full):
    """The loads: a video frame's packets and a batch of voice."""
    found = [downlink(1200, 16), downlink(160, 32), downlink(1200, 16, ingress="plain")]
    if quick:
        return found[:1]
    if full:
        found += [downlink(160, 32, ingress="plain"), downlink(1200, 16, wire="cut"),
            downlink(160, 32, wire="cut"),
            downlink(1200, 16, ingress="plain", wire="cut")]  # fmt: skip
    return found


class TapSlipring(Slipring):
    """slipring on two vtaps."""

    def __init__(self, bench, road, uso):
        super().__init__(bench, road)
        self.uso = uso
        self.name = f"slipring-uso-{uso}"

    def config(self):
        config = super().config()
        for number, (port, leg) in enumerate(zip(config["ports"], LEGS)):
            port["device"] = f"vtap:{leg[1]},mac={MAC.format(0x31 + number)}"
        config["ports"][0]["uso"] = self.uso
        return config

    @contextlib.contextmanager
    def started(self):
        with super().started():
            wait_until(self.road.server_plugged, READY_S, "ports of slipring")
            yield self

    def parameters(self):
        return {"server": self.kind, "uso": self.uso}


class TapBeside(SlipringBeside):
    """slipring on the bridges, as interfaces that remain with the kernel."""

    def config(self):
        config = super().config()
        for port, (_, _, bridge, _) in zip(config["ports"], LEGS):
            port["device"] = f"packet:{bridge}"
        return config


def all_servers(bench, road):
    """{name: function that makes one}."""
    return {
        "auto": lambda: TapSlipring(bench, road, "auto"),
        "off": lambda: TapSlipring(bench, road, "off"),
        "packet": lambda: TapBeside(bench, road),
        "coturn": lambda: Coturn(bench, road),
    }


def report(bench, workload, named, series):
    add, common = bench.results.add, workload.parameters()
    if series.noisy:
        common["noisy"] = True
    for name, server in named.items():
        more = {**server, **common}
        if stats.median(series.values(name, "bound")):
            more["generator_bound"] = True
        for metric in ("relay_pps", "send_pps"):
            add(NAME, metric, series.values(name, metric), "1/s", **more)
        for denominator in coturn.DENOMINATORS:
            values = series.values(name, denominator)
            add(NAME, "relay_pps_per_cpu_s", values, "1/s", cpu=denominator, **more)
        add(NAME, "whole_share", series.values(name, "whole"), "share", **more)
    for one, rival, metric in RATIOS:
        if not {one, rival} <= set(named):  # one could not be built
            continue
        more = {**named[rival], **named[one], "against": named[rival]["server"], **common}
        for key in ("relay_pps", *coturn.DENOMINATORS):
            part = {"quantity": key} if key == "relay_pps" else {"quantity": "relay_pps_per_cpu_s", "cpu": key}
            add(NAME, metric, series.ratios(one, rival, key), "ratio", **part, **more)


def main(bench):
    with TapRoad(bench.rest_cpu, bench.work_cpu) as road:
        makers = able(bench, all_servers(bench, road))
        named = {name: make().parameters() for name, make in makers.items()}

        def measure(workload):
            road.wire = workload.wire
            cases = {}
            for name, make in makers.items():
                knee = coturn.find_knee(bench, road, make, workload)
                cases[name] = coturn.case(bench, road, make, workload, knee)
            plan = bench.plan(seconds=SECONDS * len(cases))
            found = Alternation({workload.name: cases}, bench.gate, plan, bench.say).run()
            report(bench, workload, named, found[workload.name])

        some = loads(bench.quick, bench.full)
        each_part({load.name: lambda load=load: measure(load) for load in some}, bench.say)
