#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The pure parts of the benchmarks: statistics, pairing, verdicts, rounds, the noise gate."""

import contextlib
import io
import itertools
import json
import os
import random
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../front"))

import bench
import coturn
import dtlscore
import generator
import latency
import noise
import relaycore
import relaywire
import rounds
import servers
import stats
import streams
from roads import taps
import uso
from roads import veths
from machine import BenchError, Disturbed, Hugepages, read_number, write_number
from results import Results


class Latency(unittest.TestCase):
    def test_all_servers_run_at_the_rates_of_the_slowest_too(self):
        loads = latency.planned({"fast": 1000.0, "slow": 100.0})
        self.assertEqual([loads["fast"][share] for share in latency.SHARES], [100, 500, 900])
        for share in latency.SAME:
            for server in loads.values():
                self.assertEqual(server[f"{share} of the lowest"], share * 100)
        self.assertEqual(list(latency.planned({"alone": 10.0})["alone"]), list(latency.SHARES))


class Statistics(unittest.TestCase):
    def test_median(self):
        self.assertEqual(stats.median([3, 1, 2]), 2)
        self.assertEqual(stats.median([4, 1, 3, 2]), 2.5)
        self.assertEqual(stats.median([7]), 7)
        with self.assertRaises(ValueError):
            stats.median([])

    def test_ratios_are_paired(self):
        self.assertEqual(stats.ratios([2, 9], [1, 3]), [2, 3])
        with self.assertRaises(ValueError):
            stats.ratios([1, 2], [1])
        with self.assertRaises(ValueError):
            stats.ratios([1], [0])

    def test_coverage_is_that_of_the_sign_test(self):
        # Tables of the sign test: what extremes, and the second and third from the end, cover.
        self.assertAlmostEqual(stats.coverage(5, 0), 0.9375)
        self.assertAlmostEqual(stats.coverage(6, 0), 0.96875)
        self.assertAlmostEqual(stats.coverage(8, 0), 0.9921875)
        self.assertAlmostEqual(stats.coverage(9, 1), 0.9609375)
        self.assertAlmostEqual(stats.coverage(12, 2), 0.96142578125)

    def test_interval_takes_enough_values(self):
        self.assertIsNone(stats.median_interval([1, 2, 3, 4, 5]))
        self.assertEqual(stats.median_interval([1, 2, 3, 4, 5, 6]), (1, 6))
        self.assertEqual(stats.median_interval(range(1, 9)), (1, 8))
        self.assertEqual(stats.median_interval(range(1, 10)), (2, 8))
        self.assertEqual(stats.median_interval(range(1, 13)), (3, 10))

    def test_interval_covers_the_median_as_promised(self):
        rng = random.Random(5)
        for draw in (lambda: rng.expovariate(1), lambda: rng.choice((1, 15)) * rng.random()):
            true = stats.median([draw() for _ in range(100_001)])
            hits = 0
            for _ in range(3000):
                low, high = stats.median_interval([draw() for _ in range(12)])
                hits += low <= true <= high
            # 96.1 %, with five standard deviations of 3000 trials
            self.assertGreater(hits / 3000, 0.961 - 5 * 0.0036)

    def test_verdict(self):
        self.assertEqual(stats.verdict((1.01, 1.2)), "faster")
        self.assertEqual(stats.verdict((0.7, 0.99)), "slower")
        for interval in ((0.9, 1.1), (1, 1.2), (0.8, 1), (1, 1), None):
            self.assertEqual(stats.verdict(interval), "no difference")

    def test_compare_means_speed(self):
        ns = [10, 11, 10, 12, 10, 11, 10, 10]
        slow = [value * 1.5 for value in ns]
        found = stats.compare(ns, slow, lower_is_better=True)
        self.assertEqual(found.verdict, "faster")
        self.assertAlmostEqual(found.ratio, 1.5)
        self.assertEqual(stats.compare(slow, ns, lower_is_better=True).verdict, "slower")
        self.assertEqual(stats.compare(slow, ns, lower_is_better=False).verdict, "faster")
        self.assertEqual(stats.compare(ns, ns, lower_is_better=True).verdict, "no difference")
        self.assertEqual(stats.compare([1], [2], lower_is_better=True).verdict, "no difference")

    def test_a_common_drift_cancels(self):
        # The machine changes speed threefold between rounds, and one side is 5 % faster.
        rng = random.Random(1)
        drift = [rng.uniform(1, 3) for _ in range(12)]
        first = [20 * d for d in drift]
        second = [21 * d for d in drift]
        found = stats.compare(first, second, lower_is_better=True)
        self.assertAlmostEqual(found.low, 1.05)
        self.assertEqual(found.verdict, "faster")

    def test_equal_sides_differ_as_rarely_as_promised(self):
        rng = random.Random(2)
        wrong = 0
        for _ in range(1000):
            first, second = ([rng.lognormvariate(3, 0.1) for _ in range(12)] for _ in range(2))
            wrong += stats.compare(first, second, True).verdict != "no difference"
        self.assertLess(wrong / 1000, 0.039 + 5 * 0.0061)

    def test_counts_have_a_resolution(self):
        same = stats.compare_counts(300.2, 300.9, 1)
        self.assertEqual(same.verdict, "no difference")
        self.assertEqual(stats.compare_counts(297, 300, 1).verdict, "faster")
        self.assertEqual(stats.compare_counts(300, 297, 1).verdict, "slower")

    def test_per_unit(self):
        self.assertEqual(stats.per_unit((100, 5000 + 100 * 7), (300, 5000 + 300 * 7)), 7)
        with self.assertRaises(ValueError):
            stats.per_unit((100, 1), (100, 2))

    def test_round_to(self):
        self.assertEqual(stats.round_to(48.5034567), 48.5035)
        self.assertEqual(stats.round_to(0.000123456789), 0.000123457)
        self.assertEqual(json.dumps(stats.round_to(5.0)), "5")
        for value in (float("nan"), float("inf")):
            with self.assertRaises(ValueError):
                stats.round_to(value)


STAT = "{} ({}) S {} 1 1 0 -1 {} 0 0 0 0 {} {} {} {} 20 0 1 0 100 0 0 0"


def process(parent, name, own_ticks, children=0, kernel=False):
    return noise.Process(parent, name, own_ticks, children, kernel)


class Noise(unittest.TestCase):
    def test_process_line(self):
        text = STAT.format(42, "a) (b", 7, 0x400040, 10, 5, 3, 2)
        self.assertEqual(noise.parse_process(text), (42, process(7, "a) (b", 15, 5)))
        text = STAT.format(9, "kworker/0:1", 2, 0x04208060, 1, 1, 0, 0)
        self.assertTrue(noise.parse_process(text)[1].kernel)

    def test_own_line_of_proc(self):
        found = noise.read_processes()[os.getpid()]
        self.assertEqual(found.parent, os.getppid())
        self.assertFalse(found.kernel)

    def test_cpus(self):
        text = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 4 100 50 8 16 7 1 1\ncpu13 0 0 0 5 0 0 0 1 0 0\n"
        self.assertEqual(noise.parse_cpus(text + "intr 5\n"), {0: (31, 7), 13: (0, 1)})

    def test_family(self):
        tree = {1: process(0, "init", 0), 5: process(1, "us", 0), 6: process(5, "child", 0),
            7: process(6, "grandchild", 0), 8: process(1, "other", 0)}  # fmt: skip
        self.assertEqual(noise.family(tree, 5), {5, 6, 7})

    def test_foreign_time(self):
        before = {1: process(0, "init", 10, 100), 5: process(1, "us", 5),
            8: process(1, "busy", 50), 9: process(1, "ends", 30),
            3: process(2, "ksoftirqd", 0, 0, True)}  # fmt: skip
        after = {1: process(0, "init", 10, 100 + 37), 5: process(1, "us", 905),
            8: process(1, "busy", 61), 10: process(1, "new", 4),
            3: process(2, "ksoftirqd", 80, 0, True)}  # fmt: skip
        # busy 11, new 4, and 7 of "ends" between the reading and its end
        self.assertEqual(noise.foreign_ticks(before, after, {5}), (22, "init"))
        self.assertEqual(noise.foreign_ticks(before, before, {5}), (0, ""))

    def test_foreign_time_is_never_negative(self):
        before = {1: process(0, "init", 10), 9: process(1, "reaped by nobody", 30)}
        self.assertEqual(noise.foreign_ticks(before, {1: process(0, "init", 10)}, {5})[0], 0)

    def test_judge(self):
        limits = noise.Limits(foreign=0.02, stolen=0.05, probe_ns=1000)
        self.assertIsNone(noise.judge(limits, foreign=0.02, stolen=0.05, probes=[700, 1000]))
        self.assertIsNone(noise.judge(limits))
        self.assertIn("make", noise.judge(limits, foreign=0.021, top="make"))
        self.assertIn("hypervisor", noise.judge(limits, stolen=0.06))
        self.assertIn("1001 ns", noise.judge(limits, probes=[100, 1001]))

    def test_gate_measures_itself_as_ours(self):
        gate = noise.Gate()
        me = os.getpid()
        with gate.watch() as watch:
            end = time.process_time() + 0.05  # several of our ticks
            while time.process_time() < end:
                pass
        begin, end = watch.begin, noise.Reading()
        self.assertIn(me, noise.family(end.processes, me))
        alone = [{me: reading.processes[me]} for reading in (begin, end)]
        self.assertGreater(noise.foreign_ticks(*alone, set())[0], 0)
        self.assertEqual(noise.foreign_ticks(*alone, noise.family(end.processes, me))[0], 0)


class QuietGate:
    """A gate with given reasons, one for each measurement."""

    def __init__(self, reasons=(), quiet=()):
        self.reasons = itertools.chain(reasons, itertools.repeat(None))
        self.quiet = itertools.chain(quiet, itertools.repeat(True))
        self.reason = None

    def watch(self):
        return self

    def wait(self, seconds):
        return next(self.quiet)

    def __enter__(self):
        self.reason = next(self.reasons)
        return self

    def __exit__(self, *_):
        return None


class AlternatingRounds(unittest.TestCase):
    def setUp(self):
        self.order = []
        self.said = []

    def case(self, name, values=None):
        stream = iter(values) if values else itertools.count(1)

        def function():
            self.order.append(name)
            return {"mpps": next(stream)}

        return function

    def alternate(self, groups, plan, reasons=(), clock=lambda: 0, quiet=()):
        gate = QuietGate(reasons, quiet)
        return rounds.Alternation(groups, gate, plan, self.said.append, clock).run()

    def test_order_alternates_and_the_first_is_discarded(self):
        groups = {"g": {"a": self.case("a"), "b": self.case("b")}}
        found = self.alternate(groups, rounds.Plan(keep=3, discard=1))
        self.assertEqual("".join(self.order), "abbaabba")
        self.assertEqual(found["g"].values("a", "mpps"), [2, 3, 4])
        self.assertFalse(found["g"].noisy)

    def test_ratios_pair_the_same_round(self):
        groups = {"g": {"a": self.case("a", [9, 2, 30]), "b": self.case("b", [1, 1, 10])}}
        found = self.alternate(groups, rounds.Plan(keep=2, discard=1))
        self.assertEqual(found["g"].ratios("a", "b", "mpps"), [2, 3])

    def test_groups_take_turns(self):
        groups = {1: {"a": self.case("a")}, 2: {"b": self.case("b")}}
        self.alternate(groups, rounds.Plan(keep=2, discard=1))
        self.assertEqual("".join(self.order), "abbaab")

    def test_a_group_may_measure_itself(self):
        found = self.alternate({"g": lambda number: {"a": {"ns": number}}}, rounds.Plan(keep=2))
        self.assertEqual(found["g"].values("a", "ns"), [1, 2])

    def test_a_disturbed_round_is_repeated_and_said(self):
        groups = {"g": {"a": self.case("a")}}
        # A disturbed warm-up does not matter; the second and third measurements are dropped.
        reasons = ["busy", "make took it", "make took it"]
        found = self.alternate(groups, rounds.Plan(keep=2, discard=1), reasons)
        self.assertEqual(found["g"].values("a", "mpps"), [4, 5])
        self.assertEqual(found["g"].dropped, 2)
        self.assertEqual(sum("DROPPED: make took it" in text for text in self.said), 2)
        self.assertNotIn("DROPPED", self.said[0])

    def test_a_round_waits_for_quiet(self):
        groups = {"g": {"a": self.case("a")}}
        # The warm-up runs anyway; the first round is delayed twice.
        found = self.alternate(groups, rounds.Plan(keep=2), quiet=[False, False, False])
        self.assertEqual(found["g"].values("a", "mpps"), [2, 3])
        self.assertEqual(found["g"].dropped, 2)
        with self.assertRaises(rounds.Noisy):
            self.alternate(groups, rounds.Plan(keep=2, repeats=3), quiet=[False] * 99)

    def test_a_measurement_that_fails_by_disturbance_is_repeated(self):
        answers = iter([1, 2, None, 3])

        def case():
            value = next(answers)
            if value is None:
                raise Disturbed("it hung")
            return {"ns": value}

        found = self.alternate({"g": {"a": case}}, rounds.Plan(keep=2, tolerant=True))
        self.assertEqual(found["g"].values("a", "ns"), [2, 3])
        self.assertIn("DROPPED: it hung", self.said[2])

    def test_failures_are_bounded_even_for_the_tolerant(self):
        def case():
            raise Disturbed("it hung")

        with self.assertRaises(rounds.Noisy):
            self.alternate({"g": {"a": case}}, rounds.Plan(keep=2, repeats=3, tolerant=True))

    def test_repeats_are_bounded(self):
        groups = {"g": {"a": self.case("a")}}
        with self.assertRaises(rounds.Noisy):
            self.alternate(groups, rounds.Plan(keep=2, repeats=3), ["busy"] * 99)
        self.assertEqual(len(self.order), 1 + 4)

    def test_a_tolerant_plan_keeps_and_marks(self):
        groups = {"g": {"a": self.case("a")}}
        plan = rounds.Plan(keep=2, repeats=1, tolerant=True)
        found = self.alternate(groups, plan, ["busy"] * 99)
        self.assertEqual(found["g"].values("a", "mpps"), [3, 4])
        self.assertTrue(found["g"].noisy)

    def test_time_is_bounded(self):
        ticks = itertools.count(0, 10)
        clock = lambda: next(ticks)
        groups = {"g": {"a": self.case("a")}}
        with self.assertRaises(rounds.Noisy):
            self.alternate(groups, rounds.Plan(keep=7, seconds=100, least=5), clock=clock)
        self.order.clear()
        groups = {"g": {"a": self.case("a")}}
        found = self.alternate(groups, rounds.Plan(keep=9, seconds=150, least=5), clock=clock)
        self.assertGreaterEqual(len(found["g"].rounds), 5)
        self.assertLess(len(found["g"].rounds), 9)


class Climbing(unittest.TestCase):
    """Looking for the best rate of a server that relays up to a capacity, and less beyond it."""

    def measure(self, capacity):
        def one(rate):
            self.offered.append(rate)
            relayed = min(rate, capacity) if rate < 2 * capacity else capacity / 2
            return {"relay_pps": relayed, "send_pps": rate, "bound": 1.0}

        self.offered = []
        return one

    def test_ends_beyond_the_knee(self):
        trials = coturn.climb(self.measure(100_000), 20_000, 1.5, 20)
        self.assertEqual(coturn.best_of(trials)["relay_pps"], 100_000)
        self.assertEqual(self.offered, [20_000, 30_000, 45_000, 67_500, 101_250, 151_875])

    def test_is_bounded(self):
        self.assertEqual(len(coturn.climb(self.measure(1e12), 20_000, 1.2, 8)), 8)
        trials = coturn.climb(self.measure(1e12), 20_000, 1.5, 99)
        self.assertLessEqual(trials[-1]["relay_pps"], coturn.RATE_LAST)

    def test_the_generator_is_the_limit_only_where_nothing_sent_more(self):
        trials = coturn.climb(self.measure(100_000), 20_000, 1.5, 20)
        self.assertEqual(coturn.best_of(trials)["bound"], 0)
        self.assertEqual(coturn.best_of(trials[:3])["bound"], 1)

    def test_a_server_that_never_follows(self):
        trials = coturn.climb(self.measure(1000), 20_000, 1.5, 20)
        self.assertEqual([found["relay_pps"] for found in trials], [500])


class SuperFrames(unittest.TestCase):
    """Traffic of the uso benchmark, and its result lines."""

    def test_loads(self):
        usual, full = uso.loads(False, False), uso.loads(False, True)
        self.assertEqual(full[: len(usual)], usual)
        self.assertEqual(len({load.name for load in full}), len(full))
        self.assertEqual(len(uso.loads(True, True)), 1)
        for load in full:
            self.assertIn(load.size, (160, 1200))
            self.assertTrue(16 <= load.burst <= 32, "one super-frame of the generator")
            self.assertEqual(load.parameters()["link"], "tap")

    def test_options(self):
        options = uso.downlink(1200, 16, ingress="plain").options(50_000.4, 2)
        pairs = dict(zip(options[::2], options[1::2]))
        self.assertEqual(pairs["--mode"], "peer-to-client")
        self.assertEqual((pairs["--burst"], pairs["--size"]), ("16", "1200"))
        self.assertEqual((pairs["--uso"], pairs["--pps"]), ("off", "50000"))
        flood = uso.downlink(160, 32).options("flood", 2)
        self.assertEqual(flood[flood.index("--pps") + 1], "flood")
        self.assertEqual(flood[flood.index("--uso") + 1], "auto")

    def test_the_wire_is_the_clients(self):
        road = taps.TapRoad(0, 1)
        road.srv = type("Srv", (), {"name": "ns"})
        for wire, offload in (("whole", "uso"), ("cut", "csum")):
            road.wire = wire
            ports = dict(zip(road.ports()[::2], road.ports()[1::2]))
            self.assertTrue(ports["--client-port"].endswith(f"offload={offload}"), ports)
            self.assertTrue(ports["--peer-port"].endswith("offload=uso"), ports)

    def test_missing_flags(self):
        text = " --udp-gso\t\tEnable.\n --multiplex-peer-port <port>\n"
        self.assertEqual(servers.missing_flags(text), ["--multiplex-peer"])
        self.assertEqual(servers.missing_flags(text + " --multiplex-peer\n"), [])
        self.assertEqual(servers.missing_flags(""), list(servers.BEST_FLAGS))

    def report(self, missing, packet=False):
        figures = {"send_pps": 9e5, "cpu0": 1.0, "machine": 1.0, "bound": 0.0, "whole": 1.0}
        rates = {"auto": 6e5, "off": 2e5, "coturn": 3e5, "packet": 9e5}
        series = rounds.Series()
        round = {name: {**figures, "relay_pps": rate} for name, rate in rates.items()}
        series.rounds = [round] * 5
        named = {name: {"server": "slipring", "uso": name} for name in ("auto", "off")}
        named["coturn"] = {"server": "coturn", "version": "4.6.1", **missing}
        named |= {"packet": {"server": "slipring-packet"}} if packet else {}
        results = Results(io.StringIO(), io.StringIO())
        uso.report(type("B", (), {"results": results}), uso.downlink(160, 32), named, series)
        return results.lines

    def test_report(self):
        lines = self.report({"missing": "--udp-gso"})
        found = {
            (line["metric"], line.get("uso"), line.get("against")): line
            for line in lines if line.get("quantity", "relay_pps") == "relay_pps"
        }  # fmt: skip
        self.assertEqual(found["ratio_off", "auto", "slipring"]["value"], 3)
        against = found["ratio_coturn", "auto", "coturn"]
        self.assertEqual((against["value"], against["server"]), (2, "slipring"))
        self.assertEqual(against["missing"], "--udp-gso")
        self.assertEqual(found["relay_pps", None, None]["missing"], "--udp-gso")
        self.assertEqual(len([line for line in lines if line["metric"] == "relay_pps"]), 3)
        lines = self.report({}, packet=True)
        self.assertFalse(any("missing" in line for line in lines))
        self.assertIn(("slipring-packet", 3), [(r["server"], r["value"]) for r in lines])


class Streams(unittest.TestCase):
    def test_loads(self):
        options = streams.LOADS[0].options(2)
        pairs = dict(zip(options[::2], options[1::2]))
        self.assertEqual((pairs["--clients"], pairs["--pps"]), ("10", "20000"))
        self.assertEqual(pairs["--direction"], "both")
        asked = type("B", (), {"full": False, "quick": True})
        self.assertEqual(len(streams.loads(asked)), 1)
        asked.quick = False
        self.assertEqual(len(streams.loads(asked)), 2)
        asked.full = True
        self.assertEqual(len(streams.loads(asked)), len(streams.LOADS))

    def test_what_is_unfit(self):
        ways = {"up": {"lost": 2}, "down": {"lost": 1}}
        found = {"links": {"held_back": 7}, "ways": ways, "total_sent": 93}
        self.assertAlmostEqual(streams.unfit(found), 0.1)
        self.assertEqual(streams.unfit({"links": {"held_back": 0}, "ways": {}, "total_sent": 0}), 0)

    def test_ways(self):
        """TLS twice, each with the latest version that clients speak."""
        found = {variant.name: variant.options() for variant in streams.WAYS}
        self.assertEqual(list(found), ["tcp", "tls 1.2", "tls 1.3", "dtls"])
        self.assertEqual(found["tls 1.3"][:2], ["--tls-max", "1.3"])
        self.assertNotIn("--tls-max", found["dtls"] + found["tcp"])
        streams.check_version(streams.Way("tls", "1.3"), "TLSv1.3 TLS_AES_256_GCM_SHA384")
        streams.check_version(streams.Way("dtls"), "DTLSv1.2 ECDHE-ECDSA-AES256-GCM-SHA384")
        streams.check_version(streams.Way("tcp"), None)
        for cipher in ("TLSv1.2 ECDHE-ECDSA-AES256-GCM-SHA384", None):
            with self.assertRaises(BenchError):
                streams.check_version(streams.Way("tls", "1.3"), cipher)
        self.assertEqual(streams.Way("tcp").parameters(), {"transport": "tcp"})
        self.assertEqual(streams.Way("tls", "1.2").parameters(), {"transport": "tls", "tls": "1.2"})

    def test_configuration(self):
        machine = type("M", (), {"binary": staticmethod(str), "path": staticmethod(str)})
        asked = type("B", (), {"machine": machine, "rest_cpu": 0, "work_cpu": 1})
        made = {t: streams.StreamSlipring(asked, None, t, ("c", "k")).config()
            for t in streams.PORTS}  # fmt: skip
        for transport, config in made.items():
            (listener,) = config["listeners"]
            self.assertEqual(listener["transport"], transport)
            self.assertEqual(listener["port"], streams.PORTS[transport])
            self.assertEqual("tls" in config, transport != "tcp")
            # DTLS arrives on its own port, TCP through the kernel
            names = [port["name"] for port in config["ports"]]
            self.assertEqual(names, ["clients", "peers"] if transport == "dtls" else ["peers"])

    def series(self):
        figures = {"relay_pps": 2e4, "unfit": 0.0, "threads": 0.2, "busy": 0.4, "p99_us": 300.0,
            "bound": 0.0, "worker_busy": 0.1}  # fmt: skip
        cpu = veths.Cost(cpu=0.4, machine=0.5, server=0.2)
        slow = veths.Cost(cpu=0.6, machine=0.9, server=0.4)
        made = rounds.Series()
        made.rounds = [{
            "slipring": {**figures, **streams.per_cpu("relay_pps", 2e4, cpu),
                **streams.per_cpu("relay_bytes", 2.4e6, cpu)},
            "coturn": {**figures, "unfit": 0.01, "p99_us": 600.0, **streams.per_cpu("relay_pps", 2e4, slow),
                **streams.per_cpu("relay_bytes", 2.4e6, slow)},
        }] * 5  # fmt: skip
        return made

    def test_report(self):
        results = Results(io.StringIO(), io.StringIO())
        named = {"slipring": {"server": "slipring"}, "coturn": {"server": "coturn", "version": "4"}}
        asked = type("B", (), {"results": results})
        streams.report_relay(asked, self.series(), named, {"transport": "tls", "load": "x"})
        found = {(line["metric"], line["server"], line.get("cpu"), line.get("quantity")): line
            for line in results.lines}  # fmt: skip
        ours = found["relay_pps_per_cpu_s", "slipring", "process", None]
        self.assertAlmostEqual(ours["value"], 1e5)
        process, cpu0 = (
            found["ratio_coturn", "slipring", cpu, "relay_pps_per_cpu_s"]
            for cpu in streams.DENOMINATORS
        )
        self.assertAlmostEqual(process["value"], 2)
        self.assertAlmostEqual(cpu0["value"], 1.5)
        self.assertTrue(cpu0["quoted"] and "quoted" not in process)  # the worse one
        self.assertEqual(process["against"], "coturn")
        self.assertAlmostEqual(found["ratio_coturn", "slipring", None, "latency_p99"]["value"], 0.5)
        self.assertTrue(found["relay_pps", "coturn", None, None]["lossy"])
        self.assertNotIn("lossy", found["relay_pps", "slipring", None, None])


class DtlsCore(unittest.TestCase):
    def test_parts(self):
        one = {
            "relay": {"ns": 1010.0, "median": 905.0},
            "records": {"ns": 800.0, "median": 720.0},
            "port": {"ns": 10.0, "median": 5.0},
        }
        found = dtlscore.figures({direction: one for direction in dtlscore.WAYS})
        self.assertEqual(set(found), {"up", "down", "mixed"})
        self.assertEqual(
            found["up"],
            {"relay": 1000, "records": 800, "relay_median": 900, "records_median": 720,
                "ours": 180, "share": 0.8, "port": 10, "rate": 1e6},
        )  # fmt: skip
        self.assertEqual({key for _, key, _, _ in dtlscore.LINES}, set(found["up"]))


class Costs(unittest.TestCase):
    def test_counters(self):
        text = "Inter-|\n face |\n" + "   c0:  100  7 0 0 0 0 0 0 900 12 0 0 0 0 0 0\n"
        self.assertEqual(veths.parse_counters(text), {"c0": (7, 12)})

    def test_the_generator_is_taken_off(self):
        moments = iter([
            (10.0, {0: 5.0, 1: 3.0}, 1.0, 2.0),
            (12.0, {0: 5.5, 1: 3.0}, 2.0, 3.5),
        ])  # fmt: skip

        class Meter(veths.Meter):
            def read(self):
                return next(moments)

        cost = Meter(0, 1, 2).cost()
        self.assertAlmostEqual(cost.cpu, 0.75)  # 1.5 of 2 s
        self.assertAlmostEqual(cost.machine, 1.0)  # 1.5 + 2 s, minus 1.5
        self.assertAlmostEqual(cost.server, 0.5)

    def test_own_threads(self):
        self.assertGreater(veths.run_seconds(os.getpid()), 0)
        self.assertGreater(veths.resident_bytes(os.getpid()), 1 << 20)

    def test_wire_limit(self):
        health = {"bound": True, "tx_full": 0, "due": 1000}
        result = {"recv_pps": 2e6, "generator": health}
        self.assertEqual(relaywire.figures(result), {"recv_pps": 2e6, "bound": 1.0})
        health["tx_full"] = 500
        self.assertEqual(relaywire.figures(result)["bound"], 0)

    def test_a_run_that_is_done_too_early(self):
        """On a machine too busy to see its begin, a run is tried again; a failed run is not."""
        for code, error in ((0, Disturbed), (1, BenchError)):
            run = object.__new__(generator.Run)
            run.child = type("C", (), {"poll": lambda self, code=code: code})()
            run.said = lambda: "why"
            with self.assertRaises(BenchError) as caught:
                run.alive()
            self.assertIs(type(caught.exception), error)

    def test_result_of_the_generator(self):
        good = '{"program":"slipring-loadgen","recv_pps":5}'
        self.assertEqual(generator.parse_result(good)["recv_pps"], 5)
        for text in ("", "{}", '{"program":"x"}'):
            with self.assertRaises(BenchError):
                generator.parse_result(text)


class Lines(unittest.TestCase):
    def test_line(self):
        out, err = io.StringIO(), io.StringIO()
        results = Results(out, err, common={"quick": True})
        results.add("relay-core", "mpps", [20.5, 19, 22], "Mpps", allocations=1, server="slipring")
        self.assertEqual(
            json.loads(out.getvalue()),
            {"bench": "relay-core", "metric": "mpps", "value": 20.5, "unit": "Mpps", "min": 19,
                "max": 22, "rounds": 3, "allocations": 1, "server": "slipring", "quick": True},
        )  # fmt: skip
        self.assertEqual(out.getvalue().count("\n"), 1)
        self.assertEqual(err.getvalue(), "")
        results.tables()
        self.assertIn("(server=slipring allocations=1 quick)", err.getvalue())


class Pages(unittest.TestCase):
    def test_pages_are_given_back(self):
        with tempfile.TemporaryDirectory() as folder:
            folder += "/"
            write_number(folder + "nr_hugepages", 10)
            write_number(folder + "free_hugepages", 10)
            write_number(folder + "surplus_hugepages", 0)
            pages = Hugepages(folder)
            pages.need(20)  # they exist
            pages.restore()
            self.assertEqual(read_number(folder + "nr_hugepages"), 10)
            with self.assertRaises(BenchError):  # files do not become free pages
                pages.need(100)
            self.assertEqual(read_number(folder + "nr_hugepages"), 50)
            write_number(folder + "nr_hugepages", 53)  # another program has added some
            pages.restore()
            self.assertEqual(read_number(folder + "nr_hugepages"), 13)
            pages.restore()
            self.assertEqual(read_number(folder + "nr_hugepages"), 13)

    def test_pages_that_others_still_use_are_not_counted_as_set(self):
        with tempfile.TemporaryDirectory() as folder:
            folder += "/"
            for name, value in (("nr", 28), ("free", 0), ("surplus", 28)):
                write_number(f"{folder}{name}_hugepages", value)
            pages = Hugepages(folder)
            with self.assertRaises(BenchError):
                pages.need(20)
            self.assertEqual(read_number(folder + "nr_hugepages"), 38)  # 28 in use, 10 for us
            self.assertEqual(pages.added, 10)


class RelayCore(unittest.TestCase):
    def test_matrix_has_no_headline(self):
        loads = [load for group in relaycore.matrix() for load in group]
        self.assertEqual(len(loads), len(set(loads)))
        self.assertFalse(set(loads) & set(relaycore.headline()))

    def test_what_is_counted(self):
        """Each load of the table in doc/performance.md, once."""
        loads = relaycore.counted()
        self.assertEqual(len(loads), len(set(loads)))
        told = [relaycore.label(load) for load in loads]
        for words in ("IPv6", "indication", "handed over", "checksums by software"):
            self.assertEqual(sum(words in text for text in told), 1, words)

    def test_answers_of_a_driver(self):
        self.assertEqual(relaycore.parse_answer('{"mpps":1}', "x"), {"mpps": 1})
        for text in ('{"error":"5 drops"}', "Segmentation fault"):
            with self.assertRaises(BenchError):
                relaycore.parse_answer(text, "x")


if __name__ == "__main__":
    unittest.main()
