# SPDX-License-Identifier: BSD-3-Clause
"""--against REV: has the working tree become faster or slower than a revision?

The revision is taken out of git into a scratch directory and built there with the options of the
working tree's build. Both programs then stay alive and take turns. The paired ratios decide: when
the interval of their median contains 1, there is no difference.
"""

import contextlib
import dataclasses
import glob
import json
import os
import shutil

import relaycore
import stats
from machine import PAGE_MB, TOP, BenchError, run
from rounds import Alternation, in_order

SUPPORTED = (relaycore.NAME,)
ROUNDS_LEAST = 8
ROUNDS = 12
METRIC = "ns_per_packet"
MANY = 1_000_000  # allocations whose set-up takes too long to be repeated: only with --full
BUILD_S = 900


def git(*arguments):
    # root may read a clone that belongs to its user, too.
    return ["git", "-C", TOP, "-c", f"safe.directory={TOP}", *arguments]


def commit_of(revision):
    """Full name of the commit of a revision."""
    if revision.startswith("-"):
        raise BenchError(f"{revision}: not a revision")
    try:
        done = run(*git("rev-parse", "--verify", "--quiet", revision + "^{commit}"))
    except BenchError:
        raise BenchError(f"{revision}: git knows no such revision") from None
    return done.stdout.strip()


def take_out(commit, folder):
    """Writes the files of a commit to a folder. Leaves no trace in the repository."""
    os.mkdir(folder)
    archive = folder + ".tar"
    run(*git("archive", "--format=tar", f"--output={archive}", commit))
    run("tar", "-x", "-f", archive, "-C", folder)
    os.unlink(archive)


def build_options(build):
    """The options that the build of the working tree was set up with, as arguments of meson."""
    text = run("meson", "introspect", "--buildoptions", build).stdout
    wanted = ("buildtype", "b_lto", "b_ndebug", "b_pgo", "optimization", "debug", "c_args")
    options = []
    for option in json.loads(text):
        if option["name"] in wanted and option["value"] not in ("", []):
            value = option["value"]
            value = " ".join(value) if isinstance(value, list) else str(value).lower()
            options.append(f"-D{option['name']}={value}")
    return options


def build(bench, commit):
    """A build of the commit; returns the path of its relay_core."""
    tree = bench.machine.path(commit[:12])
    take_out(commit, tree)
    if not glob.glob("test/bench/**/relay_core.c", root_dir=tree, recursive=True):
        raise BenchError(f"{commit[:12]} is older than relay_core.c: nothing to run")
    folder = os.path.join(tree, "build")
    bench.say(f"building {commit[:12]}")
    run("meson", "setup", folder, tree, *build_options(bench.machine.build), timeout=120)
    run("nice", "ninja", "-C", folder, relaycore.BINARY, timeout=BUILD_S)
    return os.path.join(folder, relaycore.BINARY)


def copy_of(bench, binary):
    return shutil.copy(binary, bench.machine.path("relay_core"))


def changed():
    """True if the working tree differs from HEAD."""
    return bool(run(*git("status", "--porcelain", "--untracked-files=no")).stdout.strip())


def describe():
    head = run(*git("rev-parse", "--short=12", "HEAD")).stdout.strip()
    return head + ("+changes" if changed() else "")


def report(bench, metric, compared, load, against, **more):
    """One line; a value above 1 means that the working tree is faster."""
    line = {
        "bench": relaycore.NAME,
        "metric": "ratio_against",
        "value": stats.round_to(compared.ratio),
        "unit": "ratio",
        "min": stats.round_to(compared.least),
        "max": stats.round_to(compared.most),
        "rounds": compared.rounds,
        "low": stats.round_to(compared.low),
        "high": stats.round_to(compared.high),
        "confidence": stats.CONFIDENCE,
        "verdict": compared.verdict,
        "quantity": metric,
        **load.parameters(),
        **against,
        **more,
    }
    bench.results.put(line)


def need_memory(bench, binaries, loads):
    """Number of pages that both programs need at most."""
    most = max(
        sum(relaycore.memory_mb(binary, load) for binary in binaries.values()) for load in loads
    )
    bench.machine.hugepages.need(most + 4 * PAGE_MB)


def pair(bench, binaries, load):
    """A round: both programs are started again, then windows in the order A B B A.

    The memory layout of a process is a matter of luck, and worth a percent or two. So the rounds
    sample processes, not windows of the same two processes.
    """

    def measure(number):
        order = in_order(list(binaries), number)
        found = {name: [] for name in binaries}
        with contextlib.ExitStack() as stack:
            drivers = {
                name: stack.enter_context(
                    relaycore.driver(bench.machine, binaries[name], load, bench.work_cpu)
                )
                for name in order
            }
            for name in order + order[::-1]:
                answer = drivers[name].run("relay", bench.window / 2)
                found[name].append(answer["ns_per_packet"])
        return {name: {METRIC: sum(values) / len(values)} for name, values in found.items()}

    return measure


def compare_time(bench, binaries, loads, against):
    need_memory(bench, binaries, loads)
    groups = {relaycore.label(load): pair(bench, binaries, load) for load in loads}
    plan = bench.plan(seconds=1200, keep=bench.rounds or ROUNDS, least=ROUNDS_LEAST)
    found = Alternation(groups, bench.gate, plan, bench.say).run()
    for load in loads:
        series = found[relaycore.label(load)]
        noisy = {"noisy": True} if series.noisy else {}
        values = {name: series.values(name, METRIC) for name in binaries}
        for name, one in values.items():
            bench.results.add(
                relaycore.NAME, METRIC, one, "ns", **load.parameters(), side=name, **against
            )
        compared = stats.compare(values["tree"], values["against"], lower_is_better=True)
        report(bench, METRIC, compared, load, against, **noisy)


def compare_instructions(bench, binaries, load, against):
    counts = []
    for name, binary in binaries.items():
        bench.say(f"counting instructions of {name} (callgrind)")
        ir = relaycore.ir_per_packet(binary, load)
        counts.append(ir["relay"] - ir["forward"])
        bench.results.add(
            relaycore.NAME, "ir_per_packet", counts[-1:], "instructions", **load.parameters(),
            side=name, **against,
        )  # fmt: skip
    compared = stats.compare_counts(*counts, relaycore.IR_RESOLUTION)
    report(bench, "ir_per_packet", compared, load, against)


def main(bench, revision, names):
    unknown = [name for name in names if name not in SUPPORTED]
    if unknown:
        raise BenchError(f"--against works for {', '.join(SUPPORTED)}, not for {unknown[0]}")
    if bench.rounds and bench.rounds < ROUNDS_LEAST and not bench.quick:
        raise BenchError(f"--against takes {ROUNDS_LEAST} rounds at least")
    commit = commit_of(revision)
    # The length of a program's name moves its stack: both names have the same length.
    binaries = {
        "tree": copy_of(bench, bench.machine.binary(relaycore.BINARY)),
        "against": copy_of(bench, build(bench, commit)),
    }
    against = {"against": commit[:12], "tree": describe()}
    loads = [
        # an older program knows only ports that leave the checksums to it
        dataclasses.replace(load, verified=False)
        for load in relaycore.headline()
        if bench.full or load.allocations < MANY
    ]
    if bench.quick:
        loads = loads[:2]
    compare_time(bench, binaries, loads, against)
    for load in loads[:1] if bench.quick else loads:
        if load.allocations in relaycore.IR_COUNTS:
            compare_instructions(bench, binaries, load, against)
