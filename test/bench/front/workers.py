# SPDX-License-Identifier: BSD-3-Clause
"""workers: do two workers in one process hinder each other?

Two workers on two CPUs, each with a queue of one replay port and half of the allocations, are
compared with two processes of one worker each on the same CPUs with the same halves. The difference
is the cost of sharing between two workers (packet pool, relay map, quota, counters side by side). No
packet is handed over here; relay-core's `handover` measures the cost of that.

DTLS records are also measured alone (record_core), as frames of a replay port repeat and records
do not.
"""

import contextlib

import machine as machines
import records
from machine import BenchError
from relaycore import BINARY, Load, driver, memory_mb
from rounds import Alternation

NAME = "workers"
COUNTS = (1_000, 100_000)  # allocations of each worker


def label(count):
    return f"2 workers x {count:,}"


def at_once(drivers, seconds, activity="relay", figure="mpps"):
    """All of them work at the same time: the sum of their rates."""
    for one in drivers:
        one.start(activity, seconds)
    return {figure: sum(one.finish(seconds)[figure] for one in drivers)}


@contextlib.contextmanager
def group(bench, counts):
    """The cases of the counts, with every process alive and asleep: {label: {case: function}}."""
    machine, binary = bench.machine, bench.machine.binary(BINARY)
    cpus = (bench.rest_cpu, bench.work_cpu)
    together = {count: Load(2 * count, workers=2) for count in counts}
    apart = {count: Load(count) for count in counts}
    need = sum(memory_mb(binary, load) for load in together.values())
    need += 2 * sum(memory_mb(binary, load) for load in apart.values())
    machine.hugepages.need(need + 6 * machines.PAGE_MB * len(counts))
    with contextlib.ExitStack() as stack:
        cases = {}
        for count in counts:
            bench.say(f"setting up 2 x {count:,} allocations, twice")
            one = stack.enter_context(driver(machine, binary, together[count], *cpus))
            two = [stack.enter_context(driver(machine, binary, apart[count], c)) for c in cpus]
            cases[label(count)] = {
                "workers": lambda one=one: one.run("relay", bench.window),
                "processes": lambda two=two: at_once(two, bench.window),
            }
        yield cases


def report(bench, count, series):
    add = bench.results.add
    parameters = {"allocations": 2 * count, "size": Load(count).size}
    if series.noisy:
        parameters["noisy"] = True
    for case in ("workers", "processes"):
        add(NAME, "mpps", series.values(case, "mpps"), "Mpps", server=case, **parameters)
    ratios = series.ratios("workers", "processes", "mpps")
    add(NAME, "ratio_processes", ratios, "ratio", server="workers", **parameters)


# --- DTLS records --------------------------------------------------------------------------------


@contextlib.contextmanager
def record_group(bench):
    """The cases of the loads, as group() has those of the counts."""
    cpus = (bench.rest_cpu, bench.work_cpu)
    with contextlib.ExitStack() as stack:
        one, *two = (
            stack.enter_context(records.driver(bench.machine, *some))
            for some in (cpus, cpus[:1], cpus[1:])
        )
        yield {
            records.name(load): {
                "workers": lambda load=load: one.run(load, bench.window),
                "processes": lambda load=load: at_once(two, bench.window, load, "mrps"),
                "alone": lambda load=load: two[1].run(load, bench.window),
            }
            for load in records.LOADS
        }


def report_records(bench, load, series):
    cipher, size = load
    parameters = {"transport": "dtls", "size": size, "cipher": cipher}
    if series.noisy:
        parameters["noisy"] = True
    for case in ("workers", "processes", "alone"):
        values = series.values(case, "mrps")
        bench.results.add(NAME, "records", values, "M/s", server=case, **parameters)
    ratios = series.ratios("workers", "processes", "mrps")
    bench.results.add(NAME, "ratio_processes", ratios, "ratio", server="workers", **parameters)


def main(bench):
    if bench.rest_cpu == bench.work_cpu:
        raise BenchError("two CPUs are needed")
    with record_group(bench) as cases:
        found = Alternation(cases, bench.gate, bench.plan(seconds=240), bench.say).run()
    for load in records.LOADS:
        report_records(bench, load, found[records.name(load)])
    counts = COUNTS[: 1 if bench.quick else None]
    with group(bench, counts) as cases:
        found = Alternation(cases, bench.gate, bench.plan(seconds=240), bench.say).run()
    for count in counts:
        report(bench, count, found[label(count)])
