# SPDX-License-Identifier: BSD-3-Clause
"""CPUs of workers, and numbers of workers to try, from the topology of the machine.

Cores are used before second hyper-threads, and a whole NUMA node before the next one, as an
operator would do. Only CPUs that this process may use count.
"""

import os
from dataclasses import dataclass

ROOT = "/sys/devices/system"
WORKERS_MAX = 64  # limit of slipring


@dataclass(frozen=True)
class Cpu:
    """A CPU of Linux. thread: 0 for the first of its core that may be used, 1 for the second."""

    number: int
    node: int = 0
    core: int = 0  # number of the first CPU of its core, even if it may not be used
    thread: int = 0


def parse_list(text):
    """Numbers of a list as Linux writes them: 0-3,8."""
    numbers = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def format_list(numbers):
    """The list of CPU numbers as Linux writes it, in ascending order."""
    runs = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def made(numbers, cores, nodes):
    """Cpus with those numbers. cores: {number: first CPU of its core}, nodes: {number: node}."""
    found, seen = [], {}
    for number in sorted(numbers):
        core = cores.get(number, number)
        found.append(Cpu(number, nodes.get(number, 0), core, seen.get(core, 0)))
        seen[core] = seen.get(core, 0) + 1
    return found


def read_list(path):
    try:
        with open(path) as file:
            return parse_list(file.read())
    except OSError:
        return []


def read(numbers, root=ROOT):
    """Cpus of the machine. Without information each is a core, and all are on node 0."""
    cores, nodes = {}, {}
    for number in numbers:
        siblings = read_list(f"{root}/cpu/cpu{number}/topology/thread_siblings_list")
        cores[number] = min(siblings, default=number)
    for node in read_list(f"{root}/node/online"):
        nodes |= {cpu: node for cpu in read_list(f"{root}/node/node{node}/cpulist")}
    return made(numbers, cores, nodes)


def in_turn(cpus):
    """The CPUs in the order in which workers get them. The node with most cores comes first."""
    cores = {}
    for cpu in cpus:
        cores.setdefault(cpu.node, set()).add(cpu.core)
    return sorted(cpus, key=lambda c: (c.thread, -len(cores[c.node]), c.node, c.core, c.number))


def counts(cpus, most=WORKERS_MAX):
    """Numbers of workers to try: 1, 2, 4 ..., and those that fill a node, all cores, or all CPUs."""
    turn = in_turn(cpus)
    cores = [cpu for cpu in turn if cpu.thread == 0]
    ends = {len([c for c in cores if c.node == turn[0].node]), len(cores), len(turn)}
    powers = {1 << bit for bit in range(most.bit_length())}
    return sorted(n for n in {*powers, *ends, most} if n <= min(len(turn), most))


def told(cpus):
    """Members of a result line: which CPUs, on which nodes, and whether cores are shared."""
    found = {
        "cpus": format_list(cpu.number for cpu in cpus),
        "cores": len({cpu.core for cpu in cpus}),
        "nodes": format_list({cpu.node for cpu in cpus}),
    }
    if any(cpu.thread for cpu in cpus):
        found["hyper_threads"] = True
    return found


def allowed():
    """Cpus that this process may use."""
    return read(os.sched_getaffinity(0))
