# SPDX-License-Identifier: BSD-3-Clause
"""scale: the rate of 1, 2, 4 ... workers of one process on as many CPUs.

Every worker has a CPU, a queue of one replay port and the same number of allocations. Two things
are varied: whether relay ports are shared (doc/decisions/0008-shared-relay-ports.md), and whether
packets arrive on the queue of their home or on those of other workers, which hand them over between
CPUs. In the same rounds one worker runs alone, and as many processes with one worker each, which
share only the machine. No CPU is needed for anything else.
"""

import contextlib
from dataclasses import dataclass

import machine as machines
import topology
from machine import BenchError
from relaycore import BINARY, Load, driver, memory_mb
from rounds import Alternation, each_part
from workers import at_once

NAME = "scale"
EACH = (1_000, 100_000)  # allocations of each worker
PARTS = 5  # of a window; their median counts
MB = 1 << 20


@dataclass(frozen=True)
class Case:
    """One way to run a number of workers."""

    name: str
    workers: int
    relay: str = "own"
    handover: bool = False
    apart: bool = False  # as many processes

    def load(self, each):
        workers = 1 if self.apart else self.workers
        return Load(each * workers, workers=workers, relay=self.relay, handover=self.handover,
            verified=True)  # fmt: skip

    def processes(self):
        return self.workers if self.apart else 1

    def parameters(self, each, cpus):
        found = {"server": "processes" if self.apart else "slipring", "workers": self.workers}
        found |= {"allocations": each * self.workers, "size": Load(1).size, "relay": self.relay}
        if self.handover:
            found["handover"] = True
        return {**found, **topology.told(cpus)}


def one(relay):
    return Case(f"one {relay}", 1, relay)


def cases(workers):
    """The cases of the same rounds, always including one worker alone."""
    found = [one("own"), one("shared")]
    if workers > 1:
        for relay in ("own", "shared"):
            found.append(Case(relay, workers, relay))
            found.append(Case(f"{relay} handed over", workers, relay, handover=True))
        found.append(Case("processes", workers, apart=True))
    return found


def memory_needed(binary, some, each):
    """Megabytes of hugepages for all cases at once."""
    return sum(
        case.processes() * (memory_mb(binary, case.load(each)) + 6 * machines.PAGE_MB)
        for case in some
    )


def in_parts(run, window):
    """The middle one of several short runs by its rate.

    Workers that hand over to each other stand still when one of them loses its CPU. In most short runs
    no worker does.
    """
    parts = sorted((run(window / PARTS) for _ in range(PARTS)), key=lambda found: found["mpps"])
    return parts[PARTS // 2]


def start(bench, stack, case, each, cpus):
    """Starts a case's processes. Returns (function that measures, first process's report on itself)."""
    binary, load = bench.machine.binary(BINARY), case.load(each)
    if not case.apart:
        single = stack.enter_context(driver(bench.machine, binary, load, *cpus[: case.workers]))
        run = lambda seconds: single.run("relay", seconds)
        return lambda: in_parts(run, bench.window), single.ready
    many = [stack.enter_context(driver(bench.machine, binary, load, cpu)) for cpu in cpus]
    return lambda: in_parts(lambda s: at_once(many, s), bench.window), many[0].ready


def has_memory(bench, cpus, some, each):
    """Adds memory. Cases with many allocations are left out if there is not enough."""
    need = memory_needed(bench.machine.binary(BINARY), some, each)
    try:
        # Linux takes pages from all nodes alike
        bench.machine.hugepages.need(need * len({cpu.node for cpu in cpus}))
    except BenchError as error:
        if each == EACH[0]:
            raise
        bench.say(f"{label(cpus, each)}: left out: {error}")
        return False
    return True


def label(cpus, each):
    return f"{len(cpus)} x {each:,}"


def measure(bench, cpus, some, each):
    """The rounds on these CPUs: (their series, the cases' reports on themselves)."""
    name = label(cpus, each)
    with contextlib.ExitStack() as stack:
        functions, ready = {}, {}
        for case in some:
            bench.say(f"{name}: setting up: {case.name}")
            functions[case.name], ready[case.name] = start(
                bench, stack, case, each, [cpu.number for cpu in cpus]
            )
        plan = bench.plan(seconds=60 + 60 * len(some))
        found = Alternation({name: functions}, bench.gate, plan, bench.say).run()
    return found[name], ready


def memory_lines(case, ready):
    """(metric, value, unit) of the EAL memory of a process."""
    taken, pool = ready["memory_bytes"], ready["pool_bytes"]
    return (
        ("memory_mb", taken / MB, "MB"),
        ("memory_mb_per_worker", taken / MB / case.workers, "MB"),
        ("bytes_per_allocation", (taken - pool) / ready["slots"], "bytes"),
    )


def ratios_of(case):
    """(metric, case to compare with)."""
    found = [("ratio_one", one(case.relay).name)]
    if case.handover:
        found.append(("ratio_direct", case.relay))
    elif case.relay == "own" and not case.apart:
        found.append(("ratio_processes", "processes"))
    return found


def report(bench, cpus, each, series, ready):
    """Lines of all cases, or of one worker if there are no others."""
    add = bench.results.add
    for case in cases(len(cpus)):
        if case.workers != len(cpus):
            continue
        more = case.parameters(each, cpus)
        if series.noisy:
            more["noisy"] = True
        add(NAME, "mpps", series.values(case.name, "mpps"), "Mpps", **more)
        for metric, reference in ratios_of(case) if case.workers > 1 else ():
            values = series.ratios(case.name, reference, "mpps")
            add(NAME, metric, values, "ratio", **more)
        if case.handover:
            add(NAME, "held_share", series.values(case.name, "held"), "of time", **more)
        if case.apart or case.handover:
            continue  # the memory of one worker, or of the case without hand-over
        for metric, value, unit in memory_lines(case, ready[case.name]):
            add(NAME, metric, [value], unit, **more)


def main(bench):
    turn = topology.in_turn(topology.read(bench.machine.cpus))
    numbers = topology.counts(turn)
    if bench.quick:
        numbers = numbers[:2]

    def part(cpus, each):
        some = cases(len(cpus))
        if has_memory(bench, cpus, some, each):
            report(bench, cpus, each, *measure(bench, cpus, some, each))

    places = [(turn[:n], each) for n in numbers for each in EACH[: 1 if bench.quick else None]]
    parts = {label(*place): lambda place=place: part(*place) for place in places}
    each_part(parts, bench.say)
