#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""CPUs of the scale benchmark on machines of all sizes, and its report on a run."""

import io
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../front"))

import records
import relaycore
import rounds
import scale
import topology
import workers
from machine import BenchError
from results import Results
from topology import Cpu


def box(sockets, cores, threads, far=True):
    """CPUs of a machine as Linux numbers them: all first threads, then all second ones (far), or
    those of a core in sequence."""
    total = sockets * cores
    first, nodes = {}, {}
    for number in range(total * threads):
        core = number % total if far else number // threads
        first[number] = core if far else core * threads
        nodes[number] = core // cores
    return first, nodes


def made(sockets, cores, threads, far=True, allowed=None):
    first, nodes = box(sockets, cores, threads, far)
    return topology.made(allowed or list(first), first, nodes)


def numbers(cpus):
    return [cpu.number for cpu in cpus]


class Records(unittest.TestCase):
    """DTLS records of two workers and of two processes (scripts/bench workers)."""

    def test_processes_at_the_same_time(self):
        said = []

        class Driver:
            def start(self, load, seconds):
                said.append(records.name(load))

            def finish(self, seconds):
                self.started = len(said)
                return {"mrps": 4.5}

        two = [Driver(), Driver()]
        found = workers.at_once(two, 0.1, ("aes128", 124), "mrps")
        self.assertEqual(found, {"mrps": 9})
        self.assertEqual(said, ["aes128/124"] * 2)
        self.assertEqual([one.started for one in two], [2, 2])

    def test_lines(self):
        series = rounds.Series()
        for rate in (7.6, 8.0, 9.6):
            series.rounds.append(
                {"workers": {"mrps": rate}, "processes": {"mrps": 8.0}, "alone": {"mrps": 5.0}}
            )
        out = io.StringIO()

        class Bench:
            results = Results(out=out, err=io.StringIO())

        workers.report_records(Bench, ("aes256", 1204), series)
        *rates, ratio = map(json.loads, out.getvalue().splitlines())
        self.assertEqual([line["server"] for line in rates], ["workers", "processes", "alone"])
        self.assertEqual((ratio["cipher"], ratio["size"]), ("aes256", 1204))
        self.assertEqual((ratio["min"], ratio["value"], ratio["max"]), (0.95, 1, 1.2))


class Lists(unittest.TestCase):
    def test_lists(self):
        for text, found in (("0-3,8", [0, 1, 2, 3, 8]), ("5\n", [5]), ("\n", [])):
            self.assertEqual(topology.parse_list(text), found)
        for found, text in (([3, 0, 1, 2, 8], "0-3,8"), ([], ""), ([7], "7"), ([1, 3], "1,3")):
            self.assertEqual(topology.format_list(found), text)


class Order(unittest.TestCase):
    def test_two_cores(self):
        turn = topology.in_turn(made(1, 2, 1))
        self.assertEqual(numbers(turn), [0, 1])
        self.assertEqual(topology.counts(turn), [1, 2])
        self.assertEqual(topology.told(turn), {"cpus": "0-1", "cores": 2, "nodes": "0"})

    def test_one_core_of_two_threads(self):
        turn = topology.in_turn(made(1, 1, 2))
        self.assertEqual(topology.counts(turn), [1, 2])
        self.assertEqual(topology.told(turn),
            {"cpus": "0-1", "cores": 1, "nodes": "0", "hyper_threads": True})  # fmt: skip

    def test_64_cores_of_two_sockets(self):
        for far in (True, False):
            turn = topology.in_turn(made(2, 32, 2, far))
            self.assertEqual([c.thread for c in turn], [0] * 64 + [1] * 64)
            self.assertEqual([c.node for c in turn[:64]], [0] * 32 + [1] * 32)
            self.assertEqual(len({c.core for c in turn[:64]}), 64)
            self.assertEqual(topology.counts(turn), [1, 2, 4, 8, 16, 32, 64])
            self.assertNotIn("hyper_threads", topology.told(turn[:64]))
            self.assertEqual(topology.told(turn[:64])["nodes"], "0-1")
            self.assertEqual(topology.told(turn[:32])["nodes"], "0")
        self.assertEqual(topology.told(topology.in_turn(made(2, 32, 2))[:32])["cpus"], "0-31")

    def test_where_something_changes_is_measured(self):
        # 2 x 24 cores with hyper-threads: a node at 24, all cores at 48, and 64 workers at most
        turn = topology.in_turn(made(2, 24, 2))
        self.assertEqual(topology.counts(turn), [1, 2, 4, 8, 16, 24, 32, 48, 64])
        self.assertTrue(topology.told(turn[:64])["hyper_threads"])
        self.assertEqual(topology.told(turn[:64])["cores"], 48)
        # 2 x 16 with hyper-threads: 64 in all
        turn = topology.in_turn(made(2, 16, 2))
        self.assertEqual(topology.counts(turn), [1, 2, 4, 8, 16, 32, 64])
        self.assertEqual(topology.counts(topology.in_turn(made(1, 6, 2))), [1, 2, 4, 6, 8, 12])
        self.assertEqual(topology.counts(topology.in_turn(made(1, 1, 1))), [1])

    def test_only_what_is_allowed(self):
        # both threads of core 3, one of core 4, and only the second thread of core 9
        cpus = made(1, 16, 2, allowed=[3, 19, 4, 25])
        turn = topology.in_turn(cpus)
        self.assertEqual(numbers(turn), [3, 4, 25, 19])
        self.assertEqual([c.thread for c in turn], [0, 0, 0, 1])
        self.assertEqual(topology.counts(turn), [1, 2, 3, 4])

    def test_the_node_with_most_cores_is_first(self):
        turn = topology.in_turn(made(2, 8, 1, allowed=[6, 7, 8, 9, 10]))
        self.assertEqual(numbers(turn), [8, 9, 10, 6, 7])
        self.assertEqual(topology.counts(turn), [1, 2, 3, 4, 5])

    def test_what_linux_tells(self):
        with tempfile.TemporaryDirectory() as root:
            def write(path, text):
                os.makedirs(os.path.dirname(f"{root}/{path}"), exist_ok=True)
                with open(f"{root}/{path}", "w") as file:
                    file.write(text)

            for number in range(4):
                write(f"cpu/cpu{number}/topology/thread_siblings_list", f"{number % 2},{number % 2 + 2}\n")
            write("node/online", "0-1\n")
            write("node/node0/cpulist", "0,2\n")
            write("node/node1/cpulist", "1,3\n")
            self.assertEqual(topology.read([1, 2, 3], root),
                [Cpu(1, 1, 1, 0), Cpu(2, 0, 0, 0), Cpu(3, 1, 1, 1)])  # fmt: skip
        self.assertEqual(topology.read([4, 5], "/nonexistent"), [Cpu(4, 0, 4, 0), Cpu(5, 0, 5, 0)])

    def test_this_machine(self):
        self.assertEqual(set(numbers(topology.allowed())), os.sched_getaffinity(0))


class Loads(unittest.TestCase):
    def test_one_worker_is_alone(self):
        self.assertEqual([case.name for case in scale.cases(1)], ["one own", "one shared"])

    def test_cases(self):
        some = {case.name: case for case in scale.cases(16)}
        self.assertEqual(len(some), 7)
        load = some["shared handed over"].load(1000)
        self.assertEqual((load.allocations, load.workers), (16_000, 16))
        options = load.options()
        self.assertIn("--handover", options)
        self.assertNotIn("--one-lcore", options)
        self.assertEqual(options[options.index("--relay") + 1], "shared")
        self.assertEqual(options[options.index("--mbufs") + 1], str(16 * 2048))
        self.assertEqual(some["own"].load(1000).allocations, 16_000)
        apart = some["processes"]
        self.assertEqual((apart.load(1000).workers, apart.load(1000).allocations), (1, 1000))
        self.assertEqual(apart.processes(), 16)
        # a worker's share is equal everywhere
        for case in some.values():
            self.assertEqual(case.load(1000).allocations // case.load(1000).workers, 1000)

    def test_the_middle_of_a_window_counts(self):
        asked = []
        rates = iter([20, 3, 19, 21, 18])

        def run(seconds):
            asked.append(seconds)
            return {"mpps": next(rates), "held": 0.0}

        self.assertEqual(scale.in_parts(run, 1.5)["mpps"], 19)
        self.assertEqual(asked, [0.3] * 5)

    def test_one_lcore_runs_what_is_counted(self):
        (group,) = [g for g in relaycore.matrix() if g[0].handover]
        self.assertIn("--one-lcore", group[0].options())


def series(count):
    """Rounds in which only hand-over costs something: a fifth."""
    found = rounds.Series()
    each = {"own": 20.0, "shared": 10.0}
    one = {"held": 0.0}
    figures = {f"one {relay}": {**one, "mpps": rate} for relay, rate in each.items()}
    figures |= {relay: {**one, "mpps": rate * count} for relay, rate in each.items()}
    figures |= {f"{relay} handed over": {"mpps": rate * count * 0.8, "held": 0.25}
        for relay, rate in each.items()}  # fmt: skip
    figures["processes"] = {"mpps": 20.0 * count}
    found.rounds = [figures] * 5
    return found


class Report(unittest.TestCase):
    def lines(self, count, noisy=False):
        results = Results(io.StringIO(), io.StringIO())
        cpus = topology.in_turn(made(2, 2, 2))[:count]
        taken = {"memory_bytes": 300 << 20, "pool_bytes": 100 << 20, "slots": 1 << 20}
        ready = {case.name: taken for case in scale.cases(count)}
        found = series(count)
        found.noisy = noisy
        scale.report(type("B", (), {"results": results}), cpus, 1000, found, ready)
        return results.lines

    def test_one_worker(self):
        lines = self.lines(1)
        self.assertEqual({line["metric"] for line in lines},
            {"mpps", "memory_mb", "memory_mb_per_worker", "bytes_per_allocation"})  # fmt: skip
        self.assertEqual([line["relay"] for line in lines if line["metric"] == "mpps"],
            ["own", "shared"])  # fmt: skip
        self.assertEqual({line["cpus"] for line in lines}, {"0"})

    def test_several(self):
        lines = self.lines(4)
        found = {(line["metric"], line["relay"], line["server"], line.get("handover", False)): line
            for line in lines}  # fmt: skip
        self.assertEqual(len(found), len(lines))
        self.assertEqual(found["mpps", "own", "slipring", False]["value"], 80)
        self.assertEqual(found["ratio_one", "own", "slipring", False]["value"], 4)
        self.assertEqual(found["ratio_one", "shared", "slipring", True]["value"], 3.2)
        self.assertEqual(found["ratio_direct", "own", "slipring", True]["value"], 0.8)
        self.assertEqual(found["ratio_processes", "own", "slipring", False]["value"], 1)
        self.assertEqual(found["ratio_one", "own", "processes", False]["value"], 4)
        self.assertEqual(found["held_share", "own", "slipring", True]["value"], 0.25)
        self.assertEqual(found["memory_mb_per_worker", "own", "slipring", False]["value"], 75)
        self.assertEqual(found["bytes_per_allocation", "own", "slipring", False]["value"], 200)
        for line in lines:
            self.assertEqual((line["workers"], line["allocations"]), (4, 4000))
            self.assertEqual((line["cpus"], line["nodes"]), ("0-3", "0-1"))
            self.assertNotIn("noisy", line)
        self.assertTrue(all(line["noisy"] for line in self.lines(2, noisy=True)))


class Memory(unittest.TestCase):
    def setUp(self):
        self.wanted, self.said = [], []
        self.enough = True
        self.cpus = topology.in_turn(made(2, 2, 1))
        pages = type("P", (), {"need": self.need})
        machine = type("M", (), {"binary": staticmethod(str), "hugepages": pages})
        self.bench = type("B", (), {"machine": machine, "say": staticmethod(self.said.append)})
        self.kept, scale.memory_mb = scale.memory_mb, lambda binary, load: load.allocations // 100
        self.addCleanup(setattr, scale, "memory_mb", self.kept)

    def need(self, megabytes):
        self.wanted.append(megabytes)
        if not self.enough:
            raise BenchError("only 3 could be had")

    def test_all_that_is_alive_at_once_and_every_node(self):
        some = scale.cases(2)
        self.assertTrue(scale.has_memory(self.bench, self.cpus[:2], some, 1000))
        # twice one worker, four times two, two processes; and a few pages for each process
        self.assertEqual(self.wanted, [2 * 10 + 4 * 20 + 2 * 10 + 8 * 12])
        scale.has_memory(self.bench, self.cpus[:3], some, 1000)
        self.assertEqual(self.wanted[1], 2 * self.wanted[0])

    def test_many_allocations_are_left_out_where_they_do_not_fit(self):
        self.enough = False
        self.assertFalse(scale.has_memory(self.bench, self.cpus, scale.cases(4), 100_000))
        self.assertIn("4 x 100,000: left out: only 3", self.said[0])
        with self.assertRaises(BenchError):
            scale.has_memory(self.bench, self.cpus, scale.cases(4), 1000)


if __name__ == "__main__":
    unittest.main()
