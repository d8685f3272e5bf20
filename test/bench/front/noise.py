# SPDX-License-Identifier: BSD-3-Clause
"""Is the machine quiet enough to measure? Foreign load, stolen time, a core-to-core probe.

On a shared machine a figure depends on what else the machine did. A Watch looks at /proc before and
after a measurement and runs the probe at both ends. It gives a reason in words for an unfit measurement.
"""

import os
import time
from dataclasses import dataclass, field

from machine import run

TICK = os.sysconf("SC_CLK_TCK")
PF_KTHREAD = 0x00200000  # flags of /proc/PID/stat: kernel threads work for all processes


@dataclass(frozen=True)
class Limits:
    """Limits above which a measurement is dropped."""

    foreign: float = 0.03  # CPUs used by other processes
    stolen: float = 0.05  # CPUs that the hypervisor took
    probe_ns: float = 1000  # round trip of a cache line to the other core; normal placements are below


@dataclass(frozen=True)
class Process:
    """CPU time of a process in ticks: its own, and that of children that it has waited for."""

    parent: int
    name: str
    own_ticks: int
    children: int
    kernel: bool


def parse_process(text):
    """(pid, Process) from the text of /proc/PID/stat."""
    head, _, tail = text.rpartition(")")
    pid, _, name = head.partition("(")
    fields = tail.split()
    times = [int(value) for value in fields[11:15]]
    return int(pid), Process(
        int(fields[1]),
        name,
        times[0] + times[1],
        times[2] + times[3],
        bool(int(fields[6]) & PF_KTHREAD),
    )


def parse_cpus(text):
    """{cpu number: (busy, stolen) ticks} from the text of /proc/stat.

    Busy is all time except idle and iowait; guest time is already within user time.
    """
    cpus = {}
    for line in text.splitlines():
        name, *rest = line.split()
        if name.startswith("cpu") and name != "cpu":
            user, nice, system, _, _, irq, softirq, stolen = (int(value) for value in rest[:8])
            cpus[int(name[3:])] = (user + nice + system + irq + softirq, stolen)
    return cpus


def family(processes, root):
    """The pids of a process and all its descendants."""
    found = {root}
    grew = True
    while grew:
        more = {pid for pid, p in processes.items() if p.parent in found} - found
        found |= more
        grew = bool(more)
    return found


def foreign_ticks(before, after, ours):
    """CPU time of other processes between two readings, and the one that used most.

    Sums are compared, not processes one by one: the parent of a process that ended in between has its
    time.
    """
    totals = []
    for processes in (before, after):
        others = [p for pid, p in processes.items() if pid not in ours and not p.kernel]
        totals.append(sum(p.own_ticks + p.children for p in others))
    grown = {}
    for pid, process in after.items():
        if pid not in ours and not process.kernel:
            old = before.get(pid)
            new_time = process.own_ticks + process.children
            grown[process.name] = grown.get(process.name, 0) + (
                new_time - (old.own_ticks + old.children if old else 0)
            )
    top = max(grown, key=grown.get, default="")
    return max(0, totals[1] - totals[0]), top if grown.get(top, 0) > 0 else ""


def judge(limits, *, foreign=0.0, top="", stolen=0.0, probes=()):
    """The reason why a measurement meanwhile is unfit, or None."""
    if foreign > limits.foreign:
        culprit = f", most of it {top}" if top else ""
        return f"other processes took {foreign:.1%} of a CPU{culprit}"
    if stolen > limits.stolen:
        return f"the hypervisor took {stolen:.1%} of a CPU"
    worst = max(probes, default=0)
    if worst > limits.probe_ns:
        return f"the core-to-core probe took {worst:.0f} ns"
    return None


def read_processes():
    processes = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    pid, process = parse_process(file.read())
            except OSError:  # it has just ended
                continue
            processes[pid] = process
    return processes


def read_cpus():
    with open("/proc/stat") as file:
        return parse_cpus(file.read())


@dataclass
class Reading:
    """A reading of the machine at one moment."""

    time: float = field(default_factory=time.monotonic)
    processes: dict = field(default_factory=read_processes)
    cpus: dict = field(default_factory=read_cpus)


class Watch:
    """Around one measurement: `with gate.watch() as w: ...`, then w.reason (None = fit)."""

    def __init__(self, gate):
        self.gate = gate
        self.reason = None
        self.probes = []

    def __enter__(self):
        self.probes.append(self.gate.probe())
        self.begin = Reading()
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            return
        end = Reading()
        self.probes.append(self.gate.probe())
        foreign, stolen, top = self.gate.load(self.begin, end)
        self.reason = judge(
            self.gate.limits, foreign=foreign, top=top, stolen=stolen, probes=self.probes
        )
        self.gate.log.append((foreign, stolen, max(self.probes), self.reason))


class Gate:
    """Watches measurements and waits for quiet ones.

    probe: program that prints the round trip between two cores in ns, or None (one CPU).
    """

    def __init__(self, probe=None, cpus=(0, 1), limits=Limits()):
        self.limits = limits
        self.argv = probe and [probe, *(str(cpu) for cpu in cpus)]
        self.seen = []  # all round trips of the probe, ns
        self.log = []  # of each watch: (foreign, stolen, worst round trip, reason)

    def watch(self):
        return Watch(self)

    def probe(self):
        """ns of a round trip now; 0 without a probe."""
        if not self.argv:
            return 0.0
        self.seen.append(float(run(*self.argv, timeout=20).stdout))
        return self.seen[-1]

    def load(self, begin, end):
        """(CPUs used by others, stolen CPUs, name of the worst process)."""
        elapsed = max(end.time - begin.time, 1 / TICK)
        ours = family({**begin.processes, **end.processes}, os.getpid())
        ticks, top = foreign_ticks(begin.processes, end.processes, ours)
        stolen = sum(end.cpus[c][1] - begin.cpus[c][1] for c in end.cpus if c in begin.cpus)
        return ticks / TICK / elapsed, max(0, stolen) / TICK / elapsed, top

    def wait(self, seconds, step=0.5):
        """Returns once other processes have been quiet for a moment; False if they were not in time."""
        end = time.monotonic() + seconds
        while True:
            begin = Reading()
            time.sleep(step)
            foreign, stolen, _ = self.load(begin, Reading())
            # One tick is 2 % of such a short moment: a sign of load must be more.
            quiet = foreign <= self.limits.foreign + 2 / TICK / step
            if quiet and stolen <= self.limits.stolen:
                return True
            if time.monotonic() > end:
                return False
