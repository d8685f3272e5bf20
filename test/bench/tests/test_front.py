#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/bench and its benchmarks: list, times, failures, compared servers."""

import contextlib
import io
import os
import re
import sys
import tempfile
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../front"), os.path.join(HERE, "../reports")]

import alloc
import bench
import coturn
import facts
import headline
import latency
import relaycore
import report
import rounds
import servers
import streams
from roads import veths
from machine import BenchError, Disturbed
from results import Results
from rounds import Noisy

OLD_HELP = " --tls-listening-port\tx\n --no-dtls\tDo not start DTLS client listeners.\n"
NEW_HELP = OLD_HELP + " --dtls\tStart DTLS client listeners.\n --multiplex-peer\t--udp-gso\n"


class List(unittest.TestCase):
    def test_says_what_each_is(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(bench.main(["--list"]), 0)
        lines = [re.split(r"  +", line, maxsplit=2) for line in out.getvalue().splitlines()]
        self.assertEqual([line[0] for line in lines], list(bench.BENCHES))
        self.assertEqual([line[2] for line in lines], [one.text for one in bench.BENCHES.values()])
        for line in lines:
            self.assertRegex(line[1], r"^(\d+ h )?\d+ min$")

    def test_times(self):
        for one in bench.BENCHES.values():
            quick, usual, more = (
                one.seconds(bench.parse(options.split()))
                for options in ("--quick", "", "--rounds 15")
            )
            self.assertTrue(0 < quick < usual < more, one.text)
        self.assertEqual(bench.spoken(10), "1 min")
        self.assertEqual(bench.spoken(3600 + 125), "1 h 02 min")


class Arguments(unittest.TestCase):
    def test_good(self):
        args = bench.parse(["relay-core", "--rounds", "9", "--full"])
        self.assertEqual((args.names, args.rounds, args.full), (["relay-core"], 9, True))

    def test_bad(self):
        for argv in (["nonsense"], ["--rounds", "4"], ["--window", "0"], ["--rounds", "x"],
                ["--report", "x", "--against", "HEAD"]):  # fmt: skip
            with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit, msg=argv):
                bench.parse(argv)


def broken(error):
    def main(_):
        raise error

    return bench.Entry(main, "does not work", 60, 0, 60)


def working(results):
    return bench.Entry(lambda _: results.add("good", "mpps", [1, 2, 3], "Mpps"), "works", 60, 0, 60)


class Runs(unittest.TestCase):
    """A run without the machine."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = os.path.join(place.name, "report")
        self.err = io.StringIO()
        self.results = Results(io.StringIO(), self.err)
        self.gate = mock.Mock(log=[])

    def opened(self):
        kept = report.Report(self.folder, report.header({}, {}), self.results.say)
        kept.draw = lambda name: None
        self.addCleanup(kept.file.close)
        self.results.keepers[:] = [kept.keep]
        return kept

    def run_all(self, entries, *argv, kept=None):
        with mock.patch.object(bench, "BENCHES", entries), contextlib.redirect_stderr(self.err):
            args = bench.parse([*argv])
            return bench.run_all(args, self.results, mock.Mock(gate=self.gate), kept)

    def test_one_that_fails_does_not_lose_the_others(self):
        entries = {
            "impossible": broken(BenchError("no memif here")),
            "noisy": broken(Noisy("only 2 of 7 rounds")),
            "faulty": broken(KeyError("ways")),
            "good": working(self.results),
        }
        kept = self.opened()
        failed = self.run_all(entries, kept=kept)
        self.assertEqual(list(failed), ["impossible", "noisy", "faulty"])
        self.assertEqual(self.err.getvalue().count("no memif here"), 1)
        self.assertIn("KeyError: 'ways'", str(failed["faulty"]))
        self.assertIn("4 benchmarks, about 4 min: impossible (1 min)", self.err.getvalue())
        self.assertIn("--- good: 4 of 4, about 1 min left", self.err.getvalue())
        kept.close()
        lines = report.load(os.path.join(self.folder, report.RESULTS))
        self.assertEqual(report.finished(lines), ["good"])
        self.assertIn("no memif here", [line["failed"] for line in lines if "failed" in line])

    def test_what_has_failed_is_done_again(self):
        entries = {"good": working(self.results), "bad": broken(RuntimeError("lost its way"))}
        self.run_all(entries, kept=self.opened())
        entries["bad"] = working(self.results)
        again = self.opened()
        self.assertEqual(self.run_all(entries, kept=again), {})
        self.assertIn("1 benchmark, about 1 min: bad (1 min)", self.err.getvalue())
        self.assertIn("--- bad: 1 of 1", self.err.getvalue())
        self.assertEqual(report.finished(again.lines), ["good", "bad"])

    def test_a_report_that_cannot_be_written_ends_the_run(self):
        entries = {"good": working(self.results), "later": working(self.results)}
        kept = self.opened()
        kept.file.close()
        kept.file = open("/dev/full", "w")
        with self.assertRaises(report.Unkept) as caught:
            self.run_all(entries, kept=kept)
        self.assertIn("No space left", str(caught.exception))
        self.assertNotIn("later: 2", self.err.getvalue())

    def test_a_directory_that_cannot_be(self):
        for folder, reason in (("/dev/null/x", "Not a directory"), ("/dev/null", "File exists")):
            with self.assertRaises(BenchError) as caught:
                report.Report(folder, report.header({}, {}), self.results.say)
            self.assertIn(reason, str(caught.exception))


class Parts(unittest.TestCase):
    def setUp(self):
        self.said, self.done = [], []

    def part(self, name, error=None):
        def run():
            if error:
                raise error
            self.done.append(name)

        return run

    def test_all_are_run(self):
        parts = {"a": self.part("a", Noisy("a: only 2 of 7 rounds")), "b": self.part("b"),
            "c": self.part("c", BenchError("too small"))}  # fmt: skip
        with self.assertRaises(BenchError) as caught:
            rounds.each_part(parts, self.said.append)
        self.assertEqual(str(caught.exception), "a: only 2 of 7 rounds; c: too small")
        self.assertEqual(self.done, ["b"])
        self.assertEqual(len(self.said), 2)
        rounds.each_part({"d": self.part("d")}, self.said.append)
        self.assertEqual(self.done, ["b", "d"])

    def test_what_is_disturbed_is_tried_again(self):
        answers = iter([Disturbed("late"), 5])

        def measure():
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return answer

        self.assertEqual(rounds.persistent(measure, self.said.append), 5)
        self.assertEqual(self.said, ["once more: late"])
        with self.assertRaises(Disturbed):
            rounds.persistent(self.part("x", Disturbed("late")), self.said.append)
        with self.assertRaises(BenchError):
            rounds.persistent(self.part("x", BenchError("no such thing")), lambda text: None)


class FakeServer:
    """Starts, or does not."""

    name = "fake"

    def __init__(self, kind, failure=None, missing=()):
        self.kind, self.failure, self.missing = kind, failure, missing

    @contextlib.contextmanager
    def started(self):
        if self.failure:
            raise self.failure
        yield self


class Able(unittest.TestCase):
    def setUp(self):
        self.said = []
        self.bench = type("B", (), {"say": staticmethod(self.said.append)})

    def able(self, makers, **more):
        return list(servers.able(self.bench, makers, **more))

    def test_who_does_not_start_is_said_once_and_left_out(self):
        makers = {
            "slipring": lambda: FakeServer("slipring"),
            "coturn": lambda: FakeServer("coturn"),
            "best": lambda: FakeServer("coturn", Disturbed("not within 20 s: coturn-9 listens")),
        }
        self.assertEqual(self.able(makers), ["slipring", "coturn"])
        (line,) = self.said
        self.assertIn("best", line)
        self.assertIn("coturn-9 listens", line)

    def test_all_start(self):
        makers = {kind: lambda kind=kind: FakeServer(kind) for kind in ("slipring", "coturn")}
        self.assertEqual(servers.able(self.bench, makers), makers)
        self.assertEqual(self.said, [])

    def test_ours_has_to_start(self):
        def unbuilt():
            raise BenchError("it is not built")

        for make in (unbuilt, lambda: FakeServer("slipring", BenchError("no memory"))):
            with self.assertRaises(BenchError):
                self.able({"saving": make})

    def test_a_turnserver_that_is_not_there(self):
        def missing():
            raise BenchError("turnserver: no turnserver to run")

        makers = {"slipring": lambda: FakeServer("slipring"), "coturn": missing}
        self.assertEqual(self.able(makers), ["slipring"])
        self.assertEqual(len(self.said), 1)

    def test_flags_that_it_lacks_are_said_once(self):
        makers = {"coturn": lambda: FakeServer("coturn", missing=["--udp-gso"])}
        self.assertEqual(self.able(makers), ["coturn"])
        self.assertEqual(self.said, ["fake does not know --udp-gso"])

    def test_one_that_bears_no_look(self):
        def look(server):
            if server.kind == "coturn":
                raise BenchError("it speaks no TLS 1.3")

        makers = {kind: lambda kind=kind: FakeServer(kind) for kind in ("slipring", "coturn")}
        self.assertEqual(self.able(makers, look=look), ["slipring"])
        self.assertIn("no TLS 1.3", self.said[0])


class Coturn(unittest.TestCase):
    """The compared turnserver."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.path = os.path.join(place.name, "turnserver")
        environment = mock.patch.dict(os.environ, {"COTURN": self.path})
        environment.start()
        self.addCleanup(environment.stop)

    def made(self, told, transport="tls"):
        with open(self.path, "w") as file:
            file.write(f"#!/bin/sh\necho '{told}'\n")
        os.chmod(self.path, 0o755)
        for known in (servers.help_of, servers.version_of):
            known.cache_clear()
            self.addCleanup(known.cache_clear)
        machine = type("M", (), {"path": staticmethod(lambda name: name)})
        asked = type("B", (), {"machine": machine})
        return streams.StreamCoturn(asked, None, transport, ("c", "k"))

    def test_the_environment_names_it(self):
        found = self.made("4.17.1\n" + NEW_HELP)
        self.assertEqual((found.binary, found.name), (self.path, "coturn-4.17.1"))
        self.assertEqual(found.parameters(),
            {"server": "coturn", "version": "4.17.1", "flags": "best"})  # fmt: skip
        self.assertEqual(facts.coturn(), "4.17.1")
        with mock.patch.dict(os.environ):
            del os.environ["COTURN"]
            self.assertEqual(servers.turnserver(), "turnserver")

    def test_an_old_one(self):
        found = self.made("4.6.1\n" + OLD_HELP)
        self.assertEqual(found.flags, [])
        self.assertEqual(found.parameters()["missing"], "--multiplex-peer --udp-gso")
        self.assertEqual(facts.coturn(), "4.6.1 without --multiplex-peer --udp-gso")

    def test_one_that_is_not_there(self):
        servers.version_of.cache_clear()
        self.assertEqual(facts.coturn(), "none")
        with contextlib.redirect_stderr(io.StringIO()) as err, mock.patch("os.geteuid", lambda: 0):
            self.assertEqual(bench.main(["alloc"]), 1)
        self.assertIn("no turnserver to run", err.getvalue())

    def test_dtls_is_asked_for_where_it_has_to_be(self):
        self.assertIn("--dtls", self.made("4.17.1\n" + NEW_HELP, "dtls").tls)
        self.assertNotIn("--dtls", self.made("4.17.1\n" + NEW_HELP, "tls").tls)
        self.assertNotIn("--dtls", self.made("4.6.1\n" + OLD_HELP, "dtls").tls)


class Memory(unittest.TestCase):
    """The output of model_memory."""

    def test_good(self):
        text = (
            "bytes an allocation\nworkers       1     8\ntimer      12.2  12.2\n"
            "together  385.7 392.1\nmade: 1000000 allocations; the process has grown by 388.2 "
            "bytes each\n"
        )
        self.assertEqual(alloc.memory_of(text), ({1: 385.7, 8: 392.1}, 388.2))

    def test_bad(self):
        for text in ("", "workers 1\ntogether 3\n", "together\n"):
            with self.assertRaises(BenchError):
                alloc.memory_of(text)


class Headline(unittest.TestCase):
    """A report's first table finds what the benchmarks write."""

    def setUp(self):
        self.asked = mock.Mock(results=Results(io.StringIO(), io.StringIO()))

    def series(self, **figures):
        """Five equal rounds: {server: {metric: value}}."""
        made = rounds.Series()
        made.rounds = [figures] * 5
        return made

    def rows(self):
        return {row[0]: row[1:] for row in headline.rows(self.asked.results.lines)[1:]}

    def test_coturn(self):
        mine = {"relay_pps": 1e4, "send_pps": 1e4, "cpu0": 2e4, "machine": 3e4, "bound": 0.0,
            "p50": 60.0, "p99": 300.0}  # fmt: skip
        rival = {**mine, "cpu0": 1e4, "machine": 2e4, "p50": 58.0, "p99": 368.0}
        named = {"slipring": {"server": "slipring"}, "coturn": {"server": "coturn", "version": "4"}}
        series = self.series(slipring=mine, coturn=rival)
        for workload in coturn.WORKLOADS:
            coturn.report(self.asked, workload, named, series)
        found = self.rows()
        for load in ("one flow", "8 flows", "100 calls"):
            self.assertEqual(found[f"UDP, {load}"], ("30,000 a second of CPU (30,000-30,000)",
                "1.5 (1.5-1.5) times coturn 4", "coturn"))  # fmt: skip
        calls = found["latency of 100 calls, p50 / p99, us"]
        self.assertEqual(calls[0], "60 (60-60) / 300 (300-300)")
        self.assertEqual(calls[1], "coturn: 58 (58-58) / 368 (368-368)")

    def test_latency(self):
        named = {name: {"server": name} for name in ("slipring", "coturn")}
        rates = latency.planned({"slipring": 2e5, "coturn": 1e5})
        one = {(load, side, quantile): 80.0 for load in rates["coturn"] for side in latency.WAYS
            for quantile in latency.QUANTILES}  # fmt: skip
        for name, rate in (("slipring", 2e5), ("coturn", 1e5)):
            self.asked.results.add("latency", "pdr_pps", [rate], "1/s", **named[name])
        latency.report(self.asked, named, rates, self.series(slipring=one, coturn=one))
        found = self.rows()
        self.assertEqual(list(found), ["latency at a tenth of what coturn takes, p50 / p99, us",
            "latency at half of what coturn takes, p50 / p99, us"])  # fmt: skip

    def test_streams(self):
        cost = streams.per_cpu("relay_pps", 4e4, veths.Cost(cpu=0.4, machine=0.5, server=0.2))
        one = {"relay_pps": 4e4, "unfit": 0.0, "threads": 0.2, "busy": 0.4, "p99_us": 300.0,
            "bound": 0.0, "worker_busy": 0.1, **cost, ("relay_bytes", "process"): 1e6,
            ("relay_bytes", "cpu0"): 1e6, "rate": 9.0, "failed": 0.0,
            ("handshakes", "process"): 3e3, ("handshakes", "cpu0"): 2e3}  # fmt: skip
        named = {"slipring": {"server": "slipring", "idle": "adaptive"},
            "slipring-saving": {"server": "slipring", "idle": "saving"},
            "coturn": {"server": "coturn", "version": "4"}}  # fmt: skip
        series = self.series(**{name: one for name in named})
        for variant in streams.WAYS:
            more = {"load": "x", "pps": 40_000}
            streams.report_relay(
                self.asked, series, named, streams.parameters(variant, series, **more)
            )
            streams.report_handshakes(self.asked, series, named, streams.parameters(variant, series))
        found = self.rows()
        self.assertEqual(len(found), 2 * 2 * len(streams.WAYS))
        self.assertEqual(found["TLS 1.3, 40,000 a second"][1], "1 (1-1) times coturn 4")
        self.assertIn("3,000 a second of CPU", found["handshakes over DTLS, `idle: saving`"][0])

    def test_memory_and_instructions(self):
        """Results without rounds have no interval, and a row without a ratio."""
        add = self.asked.results.add
        add("alloc", "bytes_per_allocation", [385.7], "bytes", how="all parts", workers=1)
        add("relay-core", "ir_per_packet", [289.6], "instructions", server="slipring",
            **relaycore.headline()[0].parameters())  # fmt: skip
        found = self.rows()
        self.assertEqual(found["memory of an allocation"], ("386 bytes", "", "alloc"))
        self.assertEqual(found["one core, fast path"][0], "290 instructions a datagram")

    def test_nothing(self):
        self.assertEqual(headline.rows([]), [])


if __name__ == "__main__":
    unittest.main()
