#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Side-by-side benchmarks, as alternating rounds on this machine.

Result lines are JSON objects on stdout; tables and progress go to stderr. Called by scripts/bench.
"""

import argparse
import os
import sys
import time

import against
import alloc
import coturn
import dtlscore
import latency
import relaycore
import relaywire
import scale
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

BENCHES = {
    relaycore.NAME: (relaycore.main, "one core, beside testpmd and beside forwarding alone"),
    workers.NAME: (workers.main, "two workers on two CPUs, beside two processes"),
    scale.NAME: (scale.main, "1, 2, 4 ... workers on as many CPUs, with and without hand-over"),
    relaywire.NAME: (relaywire.main, "end to end over shared memory, beside testpmd"),
    coturn.NAME: (coturn.main, "what one CPU relays over veths, beside coturn"),
    uso.NAME: (uso.main, "super-frames to clients, with and without, beside coturn"),
    streams.NAME: (streams.main, "TCP, TLS and DTLS clients, beside coturn"),
    dtlscore.NAME: (dtlscore.main, "a DTLS client's datagram on one core, beside its records alone"),
    alloc.NAME: (alloc.main, "allocations per second of CPU, and their memory"),
    latency.NAME: (latency.main, "at shares of what each server can take"),
}


class Bench:
    """What a benchmark is given."""

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
            keep=keep or self.rounds or 7,
            repeats=1 if self.quick else 10,
            tolerant=self.quick or self.accept_noise,
            seconds=seconds,
            least=least,
            quiet_s=2 if self.quick else 30,
        )


def table(indent=""):
    """Names and descriptions."""
    width = max(map(len, BENCHES))
    return "\n".join(f"{indent}{name:<{width}}  {text}" for name, (_, text) in BENCHES.items())


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description=__doc__,
        epilog=f"benchmarks, in this order:\n{table('  ')}\n\n"
        "environment: COTURN=FILE adds rows for another turnserver (uso: in its place); BENCH_BUILD=DIR uses the "
        "programs of that\nbuild (default build/).",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("names", metavar="NAME", nargs="*", help="only these (default: all)")
    add("--list", action="store_true", help="names of the benchmarks and what each measures")
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


OPTIONS = ("quick", "full", "rounds", "window", "accept_noise")  # that a report depends on


def open_report(args, results, build):
    """The Report that is asked for, or None. Lines go there from now on."""
    if not args.report:
        return None
    options = {name: getattr(args, name) for name in OPTIONS}
    kept = report.Report(args.report, report.header(facts.gather(build), options), results.say)
    results.keepers.append(kept.keep)
    return kept


def work_of(args, bench, done):
    """{name: function} of what is to be run."""
    if args.against:
        names = args.names or list(against.SUPPORTED)
        return {"against": lambda: against.main(bench, args.against, names)}
    names = [name for name in args.names or BENCHES if name not in done]
    return {name: lambda name=name: BENCHES[name][0](bench) for name in names}


def attempt(name, function, results):
    """Runs one benchmark; why it could not be done, or None."""
    results.say(f"--- {name}")
    try:
        function()
    except (BenchError, Noisy, RuntimeError) as error:
        results.say(f"{name} FAILED: {error}")
        return error
    return None


def perform(args, results):
    """Runs what was asked for; False when a benchmark could not be done."""
    build = os.path.abspath(os.environ.get("BENCH_BUILD", os.path.join(TOP, "build")))
    kept = open_report(args, results, build)
    good = True
    try:
        with Machine(build) as machine:
            bench = Bench(machine, results, args)
            for name, function in work_of(args, bench, kept.done if kept else ()).items():
                failed = attempt(name, function, results)
                good = good and failed is None
                if kept:
                    kept.end(name, report.noise_of(bench.gate.log), failed)
                bench.gate.log.clear()
            results.tables()
    finally:
        if kept:
            kept.close()
    return good


def main(argv):
    args = parse(argv)
    if args.list:
        print(table())
        return 0
    if os.geteuid() != 0:
        print("scripts/bench: must run as root (hugepages, namespaces)", file=sys.stderr)
        return 1
    results = Results(common={"quick": True} if args.quick else {})
    try:
        return 0 if perform(args, results) else 1
    except BenchError as error:
        print(f"scripts/bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("scripts/bench: interrupted; everything is undone", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
