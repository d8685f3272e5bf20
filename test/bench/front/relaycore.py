# SPDX-License-Identifier: BSD-3-Clause
"""relay-core: the cost of relaying on one core, next to testpmd and to forwarding alone.

One worker runs on one CPU with a port that replays prepared frames and copies them out. In each
round the same CPU relays, then forwards the same frames without relaying, then runs testpmd's
5tswap over net_null with both copies; never two of these at once. Callgrind counts instructions,
which do not depend on what else the machine does.
"""

import contextlib
import json
import re
import subprocess
from dataclasses import dataclass

import machine as machines
import stats
import testpmd
from machine import BenchError
from dialogue import Dialogue
from rounds import Alternation, each_part

NAME = "relay-core"
BINARY = "test/bench/relay_core"
MBUFS = 16384
MBUFS_EACH = 2048  # for each worker, with more than eight of them
COUNTS = (1, 1_000, 100_000, 1_000_000)
IR_COUNTS = (1, 1_000)  # valgrind is slow: set-up of many would take longer than the rest
IR_PACKETS = (32_000, 96_000)
FIGURES = ("mpps", "ns_per_packet", "held")  # an older program cannot hold back hand-overs
IR_RESOLUTION = 1  # instructions per packet
SETUP_S, SETUPS_PER_S = 120, 16_000


@dataclass(frozen=True)
class Load:
    """A load."""

    allocations: int
    size: int = 120
    direction: str = "mixed"
    mode: str = "channel"
    family: int = 4
    workers: int = 1
    handover: bool = False  # every packet arrives on another worker's queue
    one_lcore: bool = False  # one lcore runs the rounds of all workers in turn
    relay: str = "own"  # relay ports, or "shared"
    verified: bool = False  # the port has verified the checksums, like every NIC

    def options(self):
        return [
            *("--allocations", str(self.allocations), "--size", str(self.size)),
            *("--direction", self.direction, "--mode", self.mode, "--family", str(self.family)),
            *("--mbufs", str(max(MBUFS, MBUFS_EACH * self.workers))),
            # a program of an older revision does not know these
            *(["--workers", str(self.workers)] if self.workers > 1 else []),
            *(["--handover"] if self.handover else []),
            *(["--one-lcore"] if self.one_lcore else []),
            *(["--relay", self.relay] if self.relay != "own" else []),
            *(["--verified"] if self.verified else []),
        ]

    def parameters(self):
        found = {
            "allocations": self.allocations,
            "size": self.size,
            "direction": self.direction,
            "mode": self.mode,
            "family": self.family,
        }
        if self.handover:
            found |= {"workers": self.workers, "handover": True}
        if not self.verified:
            found["checksums"] = "software"
        return found


def headline():
    return [Load(count, verified=True) for count in COUNTS]


def software():
    """Additional loads in which the port leaves the checksums to slipring, like virtual ports."""
    return [Load(count) for count in COUNTS[:2]]


def matrix():
    """The other loads of --full, in groups that are alive at the same time."""
    groups = []
    for mode in ("channel", "indication"):
        for size in (120, 1200):
            for direction in ("up", "down", "mixed"):
                group = [
                    Load(count, size, direction, mode, verified=True) for count in COUNTS
                ]
                if group != headline():
                    groups.append(group)
    groups.append([Load(count, family=6, verified=True) for count in COUNTS])
    groups.append([Load(count) for count in COUNTS[2:]])
    # both workers' sides on one core: the cost of step off of the steering ladder
    groups.append([handed_over(max(count, 2)) for count in COUNTS])
    return groups


def handed_over(count):
    """Two workers on one core, each of which receives the packets of the other."""
    return Load(count, workers=2, handover=True, one_lcore=True, verified=True)


def counted():
    """Loads whose instructions are counted, also without --full."""
    return [
        *(Load(count, verified=True) for count in IR_COUNTS),
        Load(1, family=6, verified=True),
        Load(1),
        Load(1, mode="indication", verified=True),
        handed_over(2),
    ]


def parse_answer(text, binary):
    """The object of an answer line; raises an error if the program reports one."""
    try:
        answer = json.loads(text)
    except json.JSONDecodeError:
        raise BenchError(f"{binary} did not print JSON: {text[:200]}") from None
    if "error" in answer:
        raise BenchError(f"{binary}: {answer['error']}")
    return answer


def memory_mb(binary, load):
    """Memory that the program needs, MB."""
    text = machines.run(binary, "--", *load.options(), "--memory", timeout=30).stdout
    return parse_answer(text, binary)["memory_mb"]


class Driver:
    """A relay_core that has its allocations and sleeps until a command to run."""

    def __init__(self, process, binary, load):
        self.binary = binary
        self.dialogue = Dialogue(process, binary)
        self.ready = self.answer(SETUP_S + load.allocations / SETUPS_PER_S)

    def answer(self, timeout):
        return parse_answer(self.dialogue.until(b"\n", timeout), self.binary)

    def start(self, activity, seconds):
        """Begins a run; finish() waits for its end."""
        self.dialogue.send(f"run {activity} {seconds}")

    def finish(self, seconds):
        answer = self.answer(seconds + 30)
        if answer["drops"] != 0:
            raise BenchError(f"{self.binary} dropped {answer['drops']} packets")
        return {name: answer[name] for name in FIGURES if name in answer}

    def run(self, activity, seconds):
        self.start(activity, seconds)
        return self.finish(seconds)


@contextlib.contextmanager
def driver(machine, binary, load, *cpus):
    """A started Driver. EAL arguments give its CPUs; its progress is not shown."""
    argv = [
        binary, "--lcores", ",".join(f"{i}@{cpu}" for i, cpu in enumerate(cpus)), *testpmd.eal_memory(), "--log-level=error", "--",
        *load.options(),
    ]  # fmt: skip
    log = machine.path("relay_core.log")
    pipe = subprocess.PIPE
    with open(log, "wb") as err:
        with machine.process(argv, stdin=pipe, stdout=pipe, stderr=err, bufsize=0) as process:
            try:
                yield Driver(process, binary, load)
            except BenchError as error:
                with open(log, errors="replace") as file:
                    raise BenchError(f"{error}\n{file.read()[-1000:]}".strip()) from None


def callgrind(function, *argv):
    """Instructions that callgrind counts in a function and its callees."""
    done = machines.run(
        "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
        f"--toggle-collect={function}", *argv, timeout=300,
    )  # fmt: skip
    found = re.search(r"Collected : (\d+)", done.stderr)
    if not found or int(found[1]) == 0:
        raise BenchError(f"callgrind counted nothing in {argv[0]}: {done.stderr.strip()[-500:]}")
    return int(found[1])


def instructions(binary, load, activity, packets):
    """Instructions that callgrind counts in the measured rounds of one run."""
    need = memory_mb(binary, load) + 64
    return callgrind(
        "measure_rounds", binary, "--lcores", "0@0", "--no-huge", "-m", str(need),
        "--no-shconf", "--iova-mode=va", "--no-pci", "--no-telemetry", "--log-level=error", "--",
        *load.options(), "--clock", "fixed", "--run", activity, "--packets", str(packets),
    )  # fmt: skip


def ir_per_packet(binary, load):
    """{"relay", "forward"}: instructions per packet of a whole turn."""
    counts = {}
    for activity in ("relay", "forward"):
        ends = [(n, instructions(binary, load, activity, n)) for n in IR_PACKETS]
        counts[activity] = stats.per_unit(*ends)
    return counts


@contextlib.contextmanager
def group(bench, loads):
    """The cases of the loads, with every process alive and idle: {load: {case: function}}."""
    machine, binary = bench.machine, bench.machine.binary(BINARY)
    cpu = bench.work_cpu
    needs = [memory_mb(binary, load) for load in loads]
    machine.hugepages.need(sum(needs) + testpmd.MEMORY_MB + 2 * machines.PAGE_MB * len(loads))
    with contextlib.ExitStack() as stack:
        drivers = {}
        for load in loads:
            bench.say(f"setting up {load.allocations:,} allocations")
            drivers[load] = stack.enter_context(driver(machine, binary, load, cpu))
        size = drivers[loads[0]].ready["frame"]
        vdev = f"net_null0,copy=1,size={size:.0f}"
        lcores = f"0@{bench.rest_cpu},1@{cpu}"
        swapper = stack.enter_context(testpmd.started(machine, lcores, vdev, mbufs=MBUFS))

        def cases(load):
            return {
                "relay": lambda: drivers[load].run("relay", bench.window),
                "forward": lambda: drivers[load].run("forward", bench.window),
                "testpmd": lambda: in_mpps(swapper.rate(bench.window)),
            }

        yield {load: cases(load) for load in loads}


def in_mpps(rate):
    return {"mpps": rate / 1e6, "ns_per_packet": 1e9 / rate}


def label(load):
    return (
        f"{load.allocations:,} x {load.size} B {load.mode} {load.direction}"
        + (" IPv6" if load.family == 6 else "")
        + (" handed over" if load.handover else "")
        + ("" if load.verified else " checksums by software")
    )


def report(bench, load, series):
    """Lines of one load; those of the headline come first."""
    add, parameters = bench.results.add, {**load.parameters(), "server": "slipring"}
    if series.noisy:
        parameters["noisy"] = True
    add(NAME, "mpps", series.values("relay", "mpps"), "Mpps", **parameters)
    add(NAME, "ns_per_packet", series.values("relay", "ns_per_packet"), "ns", **parameters)
    for case, metric in (("testpmd", "ratio_testpmd"), ("forward", "ratio_null")):
        add(NAME, metric, series.ratios("relay", case, "mpps"), "ratio", **parameters)


def report_others(bench, load, series):
    """The conditions of the ratios."""
    for case, server in (("forward", "null"), ("testpmd", "testpmd")):
        parameters = {**load.parameters(), "server": server}
        values = series.values(case, "ns_per_packet")
        bench.results.add(NAME, "ns_per_packet", values, "ns", **parameters)


def report_ir(bench, load):
    bench.say(f"counting instructions: {label(load)} (callgrind)")
    counts = ir_per_packet(bench.machine.binary(BINARY), load)
    add, parameters = bench.results.add, {**load.parameters(), "server": "slipring"}
    alone = counts["relay"] - counts["forward"]
    add(NAME, "ir_per_packet", [alone], "instructions", **parameters)
    parameters["server"] = "null"
    add(NAME, "ir_per_packet", [counts["forward"]], "instructions", **parameters)


def measure(bench, loads):
    """Rounds of loads that are alive together, and their lines."""
    with group(bench, loads) as groups:
        named = {label(load): cases for load, cases in groups.items()}
        found = Alternation(named, bench.gate, bench.plan(seconds=420), bench.say).run()
    for load in loads:
        report(bench, load, found[label(load)])
    for load in loads:
        report_others(bench, load, found[label(load)])


def main(bench):
    """The headline; with --full followed by the whole matrix."""
    times = [headline()[:2]] if bench.quick else [headline(), software()]
    counts = counted()[:1] if bench.quick else counted()
    if bench.full:
        times += matrix()
        counts += [group[0] for group in matrix() if group[0] not in counts]
    parts = {f"times {label(some[0])}": lambda some=some: measure(bench, some) for some in times}
    parts |= {f"count {label(one)}": lambda one=one: report_ir(bench, one) for one in counts}
    each_part(parts, bench.say)
