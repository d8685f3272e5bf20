#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Side-by-side benchmarks, as alternating rounds on this machine.

Result lines are JSON objects on stdout; tables and progress go to stderr. Called by scripts/bench.
"""

import argparse
import os
import sys
import time
import traceback
from dataclasses import dataclass

import against
import alloc
import coturn
import dtlscore
import latency
import relaycore
import relaywire
import scale
import servers
import streams
import uso
import workers
from machine import TOP, BenchError, Machine
from noise import Gate
from results import Results
from rounds import Noisy, Plan

sys.path.append(os.path.join(TOP, "test/bench/reports"))

import facts  # noqa: E402
import report  # noqa: E402


@dataclass(frozen=True)
class Entry:
    """A benchmark, and the approximate seconds it takes on two quiet CPUs."""

    main: object
    text: str
    once: int  # set-up, searches of rates, counting of instructions
    each: int  # one round
    quick: int  # everything, with --quick

    def seconds(self, args):
        rounds = (args.rounds or ROUNDS) + 1  # the first round only warms up
        return self.quick if args.quick else self.once + rounds * self.each


ROUNDS = 7
BENCHES = {  # in this order: benchmarks in README.md come first
    relaycore.NAME: Entry(
        relaycore.main, "one core, beside testpmd and beside forwarding alone", 180, 33, 60),
    scale.NAME: Entry(
        scale.main, "1, 2, 4 ... workers on as many CPUs, with and without hand-over", 60, 32, 30),
    coturn.NAME: Entry(
        coturn.main, "what one CPU relays over veths, beside coturn", 200, 105, 190),
    streams.NAME: Entry(
        streams.main, "TCP, TLS and DTLS clients, beside coturn", 360, 232, 540),
    latency.NAME: Entry(
        latency.main, "at shares of what each server can take", 120, 50, 150),
    alloc.NAME: Entry(
        alloc.main, "allocations per second of CPU, and their memory", 60, 20, 60),
    uso.NAME: Entry(
        uso.main, "super-frames to clients, with and without, beside coturn", 360, 156, 200),
    dtlscore.NAME: Entry(
        dtlscore.main, "a DTLS client's datagram on one core, beside its records alone", 5, 15, 15),
    workers.NAME: Entry(
        workers.main, "two workers on two CPUs, beside two processes", 20, 8, 20),
    relaywire.NAME: Entry(
        relaywire.main, "end to end over shared memory, beside testpmd", 60, 15, 40),
}  # fmt: skip


def spoken(seconds):
    """A time in words."""
    minutes = max(1, round(seconds / 60))
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest:02} min" if hours else f"{rest} min"


class Bench:
    """The context of a benchmark."""

    def __init__(self, machine, results, args):
        self.machine, self.results = machine, results
        self.quick, self.full, self.rounds = args.quick, args.full, args.rounds
        self.accept_noise = args.accept_noise
        self.window = args.window or (0.4 if args.quick else 1.5)  # seconds
        self.rest_cpu, self.work_cpu = machine.cpus[0], machine.cpus[-1]
        self.gate = Gate(self.probe(), (self.rest_cpu, self.work_cpu))
        self.say = results.say

    def probe(self):
        if self.rest_cpu == self.work_cpu:
            return None
        return self.machine.binary("test/bench/c2c")

    @staticmethod
    def pause(seconds):
        time.sleep(seconds)

    def plan(self, seconds, keep=None, least=5):
        if self.quick:
            keep = least = 2
        return Plan(
            keep=keep or self.rounds or ROUNDS,
            repeats=1 if self.quick else 3 if self.accept_noise else 10,
            tolerant=self.quick or self.accept_noise,
            seconds=seconds,
            least=least,
            quiet_s=2 if self.quick else 30,
        )


def table(args, indent=""):
    """Names, about how long each takes, and descriptions."""
    width = max(map(len, BENCHES))
    return "\n".join(
        f"{indent}{name:<{width}}  {spoken(one.seconds(args)):>6}  {one.text}"
        for name, one in BENCHES.items()
    )


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description=__doc__,
        epilog="benchmarks, in this order, with the time that each takes on two quiet CPUs:\n"
        f"{table(argparse.Namespace(rounds=None, quick=False), '  ')}\n\n"
        "environment: COTURN=FILE is the turnserver to compare with (default: the system's);\n"
        "BENCH_BUILD=DIR uses the programs of that build (default: build/).",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("names", metavar="NAME", nargs="*", help="only these (default: all)")
    add("--list", action="store_true",
        help="names of the benchmarks, how long each takes and what it measures")  # fmt: skip
    add("--full", action="store_true", help="the whole matrix where there is one; takes long")
    add("--quick", action="store_true",
        help='two short rounds: tries the way, not the machine (lines say "quick")')  # fmt: skip
    add("--rounds", type=int, metavar="N", help="rounds kept (at least 5; default 7)")
    add("--window", type=float, metavar="S", help="seconds of one measurement")
    add("--against", metavar="REV", help="compare the working tree with a revision")
    add("--accept-noise", action="store_true",
        help='go on when the machine is never quiet (lines say "noisy")')  # fmt: skip
    add("--report", metavar="DIR",
        help="keep results.jsonl, report.md and pictures there; where DIR has some of the same\n"
        "machine, commit and options, what is missing is done")  # fmt: skip
    add("--no-build", action="store_true", help="use the programs as they are, install nothing")
    args = parser.parse_args(argv)
    for name in args.names:
        if name not in BENCHES:
            parser.error(f"no benchmark {name}: {', '.join(BENCHES)}")
    if args.rounds is not None and not args.quick and args.rounds < 5:
        parser.error("--rounds: 5 at least")
    if args.report and args.against:
        parser.error("--report: not with --against")
    if args.window is not None and not 0.05 <= args.window <= 60:
        parser.error("--window: 0.05 to 60 seconds")
    return args


OPTIONS = ("quick", "full", "rounds", "window", "accept_noise")  # options that change the results of a report


def open_report(args, results, build):
    """The Report of --report, or None. It gets all lines from now on."""
    if not args.report:
        return None
    options = {name: getattr(args, name) for name in OPTIONS}
    told = {name: one.text for name, one in BENCHES.items()}
    header = report.header(facts.gather(build), options, told)
    kept = report.Report(args.report, header, results.say)
    results.keepers.append(kept.keep)
    return kept


def work_of(args, bench, done):
    """{name: function} of the wanted benchmarks."""
    if args.against:
        names = args.names or list(against.SUPPORTED)
        return {"against": lambda: against.main(bench, args.against, names)}
    names = [name for name in args.names or BENCHES if name not in done]
    return {name: lambda name=name: BENCHES[name].main(bench) for name in names}


def forecast(args, names):
    """Names of the wanted benchmarks, and their duration."""
    if args.against:
        return "the working tree beside a revision: half an hour at most"
    times = [BENCHES[name].seconds(args) for name in names]
    longer = ", much longer with --full" if args.full else ""
    each = ", ".join(f"{name} ({spoken(time)})" for name, time in zip(names, times))
    number = f"{len(names)} benchmark{'s' if len(names) > 1 else ''}"
    return f"{number}, about {spoken(sum(times))}{longer}: {each}"


def progress(args, names, index):
    """The heading of a benchmark that begins, with the remaining time."""
    if args.against:
        return f"--- {names[index]}"
    left = sum(BENCHES[name].seconds(args) for name in names[index:])
    return f"--- {names[index]}: {index + 1} of {len(names)}, about {spoken(left)} left"


def attempt(name, function, results):
    """Runs one benchmark; returns the reason of its failure, or None. A failure does not stop the others."""
    try:
        function()
    except report.Unkept:
        raise
    except (BenchError, Noisy, RuntimeError) as error:
        results.say(f"{name} FAILED: {error}")
        return error
    except Exception as error:  # a bug: print where it is
        traceback.print_exc()
        results.say(f"{name} FAILED: {type(error).__name__}: {error}")
        return f"{type(error).__name__}: {error}"
    return None


def run_all(args, results, bench, kept):
    """Runs all benchmarks; returns {name: reason} of those that failed."""
    work = work_of(args, bench, kept.done if kept else ())
    names, failed = list(work), {}
    if names:
        results.say(forecast(args, names))
    for index, (name, function) in enumerate(work.items()):
        results.say(progress(args, names, index))
        error = attempt(name, function, results)
        if error is not None:
            failed[name] = error
        if kept:
            kept.end(name, report.noise_of(bench.gate.log), error)
        bench.gate.log.clear()
    return failed


def perform(args, results):
    """Runs the wanted benchmarks; False if one of them failed."""
    build = os.path.abspath(os.environ.get("BENCH_BUILD", os.path.join(TOP, "build")))
    if os.environ.get("COTURN"):
        servers.version_of(os.environ["COTURN"])  # fail now, not after minutes
    kept = open_report(args, results, build)
    try:
        with Machine(build) as machine:
            failed = run_all(args, results, Bench(machine, results, args), kept)
            results.tables()
    finally:
        if kept:
            kept.close()
    if failed:
        results.say(f"not done: {', '.join(failed)}")
    return not failed


def main(argv):
    args = parse(argv)
    if args.list:
        print(table(args))
        return 0
    if os.geteuid() != 0:
        print("scripts/bench: must run as root (hugepages, namespaces)", file=sys.stderr)
        return 1
    results = Results(common={"quick": True} if args.quick else {})
    try:
        return 0 if perform(args, results) else 1
    except (BenchError, report.Unkept) as error:
        print(f"scripts/bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("scripts/bench: interrupted; everything is undone", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
