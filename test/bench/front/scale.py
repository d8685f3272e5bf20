# SPDX-License-Identifier: BSD-3-Clause
"""scale: what 1, 2, 4 ... workers of one process relay on as many CPUs.

Every worker has a CPU, a queue of one replay port and the same number of allocations. Two things
are varied: whether relay ports are shared (doc/decisions/0008-shared-relay-ports.md), and whether
packets come in on their home's queue or all of them on other workers' and are handed over between
CPUs. Beside them, in the same rounds, one worker runs alone, and as many processes of one worker
each, which share nothing but the machine. No CPU is needed for anything else.
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
PARTS = 5  # of a window; their median is what counts
MB = 1 << 20


@dataclass(frozen=True)
class Case:
    """One way to run so many workers."""

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
    """What is measured in the same rounds; one worker alone is always among it."""
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

    Workers that hand over to each other stand still when one of them is kept from its CPU. In most
    short runs none is.
    """
    parts = sorted((run(window / PARTS) for _ in range(PARTS)), key=lambda found: found["mpps"])
    return parts[PARTS // 2]


def start(bench, stack, case, each, cpus):
    """Starts a case's processes. (function that measures, what the first says of itself)."""
    binary, load = bench.machine.binary(BINARY), case.load(each)
    if not case.apart:
        single = stack.enter_context(driver(bench.machine, binary, load, *cpus[: case.workers]))
        run = lambda seconds: single.run("relay", seconds)
        return lambda: in_parts(run, bench.window), single.ready
    many = [stack.enter_context(driver(bench.machine, binary, load, cpu)) for cpu in cpus]
    return lambda: in_parts(lambda s: at_once(many, s), bench.window), many[0].ready


def has_memory(bench, cpus, some, each):
    """Sees to it that there is memory. Where there is none for many allocations, they are left out."""
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
    """The rounds on these CPUs: (their series, what the cases have said of themselves)."""
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
    """(metric, value, unit) of what a process has taken of EAL's memory."""
    taken, pool = ready["memory_bytes"], ready["pool_bytes"]
    return (
        ("memory_mb", taken / MB, "MB"),
        ("memory_mb_per_worker", taken / MB / case.workers, "MB"),
        ("bytes_per_allocation", (taken - pool) / ready["slots"], "bytes"),
    )


def ratios_of(case):
    """(metric, the case that it is compared with)."""
    found = [("ratio_one", one(case.relay).name)]
    if case.handover:
        found.append(("ratio_direct", case.relay))
    elif case.relay == "own" and not case.apart:
        found.append(("ratio_processes", "processes"))
    return found


def report(bench, cpus, each, series, ready):
    """Lines of all cases; of one worker alone where there is nothing else."""
    add = bench.results.add
    for case in cases(len(cpus)):
        if case.workers != len(cpus):
            continue
        more = case.parameters(each, cpus)
        if series.noisy:
            more["noisy"] = True
        add(NAME, "mpps", series.values(case.name, "mpps"), "Mpps", **more)
        for metric, other in ratios_of(case) if case.workers > 1 else ():
            values = series.ratios(case.name, other, "mpps")
            add(NAME, metric, values, "ratio", **more)
        if case.handover:
            add(NAME, "held_share", series.values(case.name, "held"), "of time", **more)
        if case.apart or case.handover:
            continue  # the memory is that of one worker, or of what is not handed over
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
