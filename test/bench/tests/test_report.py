#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reports of benchmarks: kept lines, continued runs, the page, and the data of pictures."""

import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../front"), os.path.join(HERE, "../reports")]

import bench
import facts
import noise
import pictures
import report
from machine import TOP, BenchError
from results import Results

MACHINE = {"commit": "0123456789ab", "CPU": "AMD | Zen", "DPDK": "22.11.7"}
OPTIONS = {"quick": False, "rounds": 5}
PUBLISHED = os.path.join(TOP, "doc/pictures/coturn")  # .jsonl, and its picture


def line(bench, metric, value, **more):
    return {"bench": bench, "metric": metric, "value": value, "unit": "x", "min": value * 0.9,
        "max": value * 1.2, "rounds": 5, **more}  # fmt: skip


def core(server, allocations, ns, **more):
    usual = {"direction": "mixed", "mode": "channel", "family": 4, "size": 120}
    return line("relay-core", "ns_per_packet", ns, server=server, allocations=allocations,
        **{**usual, **more})  # fmt: skip


def workers(count, mpps, relay="own", server="slipring", **more):
    return line("scale", "mpps", mpps, server=server, workers=count, allocations=1000 * count,
        relay=relay, **more)  # fmt: skip


def ratio(load, value, server="slipring", quoted=True, **more):
    mark = {"quoted": True} if quoted else {}
    return line("coturn", "ratio_coturn", value, server=server, version="4.17.1", load=load,
        quantity="relay_pps_per_cpu_s", cpu="cpu0", **mark, **more)  # fmt: skip


def stream(transport, value, tls="", pps=40_000, idle="adaptive", quoted=True, **more):
    """A line of the streams benchmark, by default of the rate per second of CPU."""
    mark = {"quoted": True} if quoted else {}
    more = {"quantity": "relay_pps_per_cpu_s", **more}
    if "load" not in more and more["quantity"] == "relay_pps_per_cpu_s":
        more = {"load": f"10 x {pps // 20} pps", "pps": pps, **more}
    return line("streams", "ratio_coturn", value, server="slipring", version="4.17.1", idle=idle,
        transport=transport, cpu="cpu0", **({"tls": tls} if tls else {}), **mark, **more)  # fmt: skip


CANNED = [
    core("slipring", 1, 40.0), core("slipring", 1000, 50.0), core("null", 1, 20.0),
    core("testpmd", 1, 25.0), core("slipring", 1, 60.0, checksums="software"),
    line("relay-core", "ratio_null", 0.5, server="slipring", allocations=1),
    workers(1, 20), workers(2, 38), workers(2, 30, handover=True), workers(1, 15, "shared"),
    workers(2, 28, "shared"), workers(2, 39, server="processes"),
    line("scale", "memory_mb", 70, server="slipring", workers=1, relay="own", allocations=1000),
    ratio("one flow", 1.5), ratio("one flow", 1.8, quoted=False), ratio("8 flows", 2.5),
    ratio("8 flows", 3.4, server="slipring-packet", noisy=True),
    line("workers", "ratio_processes", 0.95, allocations=2000, noisy=True),
    line("workers", "ratio_processes", 1.0, allocations=200000),
    line("alloc", "bytes_per_allocation", 420),
    stream("tcp", 1.6), stream("tls", 1.3, "1.2"), stream("tls", 1.4, "1.3"), stream("dtls", 2.0),
    stream("dtls", 3.0, idle="saving"), stream("dtls", 2.1, quoted=False),
    stream("tls", 1.04, "1.3", quantity="handshakes_per_cpu_s"),
]  # fmt: skip


class Folder(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.folder = os.path.join(self.place.name, "report")
        self.said = []

    def open(self, **machine):
        header = report.header({**MACHINE, **machine}, OPTIONS)
        return report.Report(self.folder, header, self.said.append)

    def lines(self):
        return report.load(os.path.join(self.folder, report.RESULTS))

    def page(self):
        with open(os.path.join(self.folder, report.PAGE), encoding="utf-8") as file:
            return file.read()

    def shut(self, kept):
        """Closes it as if no picture could be drawn."""
        kept.draw = lambda name: None
        kept.close()


class Keeping(Folder):
    def test_lines_are_on_disk_at_once(self):
        kept = self.open()
        results = Results(io.StringIO(), io.StringIO())
        results.keepers.append(kept.keep)
        results.add("scale", "mpps", [1, 2, 3], "Mpps", workers=1)
        header, found = self.lines()
        self.assertEqual(header["machine"]["commit"], "0123456789ab")
        self.assertEqual((found["bench"], found["value"]), ("scale", 2))
        self.shut(kept)

    def test_an_interrupted_run_has_a_page(self):
        kept = self.open()
        for one in CANNED[:3]:
            kept.keep(one)
        self.shut(kept)
        self.assertIn("Not finished", self.page())
        self.assertIn("| ns_per_packet | 40 | 36 | 48 |", self.page())

    def test_goes_on_where_it_was(self):
        kept = self.open()
        kept.keep(line("workers", "mpps", 30))
        kept.end("workers", {"measurements": 0})
        kept.keep(line("alloc", "mpps", 30))
        kept.end("alloc", {"measurements": 0}, BenchError("no turnserver"))
        kept.keep(line("scale", "mpps", 30))
        kept.file.close()  # like a killed run
        with open(kept.path, "a") as file:
            file.write('{"bench": "scale", "met')
        again = self.open()
        self.assertEqual(again.done, ["workers"])
        self.assertIn("it has workers", self.said[-1])
        left = self.lines()
        self.assertEqual(len(left), 3)  # header, line, end
        self.assertEqual({one.get("bench", one.get("end")) for one in left[1:]}, {"workers"})
        again.keep(line("scale", "mpps", 31))
        again.end("scale", {"measurements": 0})
        self.shut(again)
        self.assertEqual(report.finished(self.lines()), ["workers", "scale"])

    def test_another_machine_or_commit_is_refused(self):
        kept = self.open()
        kept.file.close()
        with self.assertRaises(BenchError) as caught:
            self.open(commit="ffffffffffff")
        self.assertIn("commit: 0123456789ab there, ffffffffffff now", str(caught.exception))
        self.assertEqual(len(self.lines()), 1)  # nothing has changed

    def test_files_of_others_are_left_alone(self):
        os.makedirs(self.folder)
        for name, text in (("notes.txt", "mine"), ("results.jsonl", '{"bench": "x"}\n')):
            path = os.path.join(self.folder, name)
            with open(path, "w") as file:
                file.write(text)
            with self.assertRaises(BenchError):
                self.open()
            with open(path) as file:
                self.assertEqual(file.read(), text)

    def test_files_that_were_cut_off(self):
        """Complete lines are kept. Without a header, or with rubbish, the file is not touched."""
        kept = self.open()
        kept.keep(line("workers", "mpps", 30))
        kept.end("workers", {"measurements": 0})
        kept.file.close()
        with open(kept.path, "rb") as file:
            whole = file.read()
        for cut in range(1, len(whole)):
            with open(kept.path, "wb") as file:
                file.write(whole[:-cut])
            if len(whole) - cut >= whole.index(b"\n"):  # the header is whole
                again = self.open()
                again.file.close()
                self.assertEqual(again.done, ["workers"] if cut == 1 else [])  # the newline
            else:
                with self.assertRaises(BenchError):
                    self.open()
        for rubbish in (b"", b"\xff\xfe\n", whole + b"\0\0\n", whole + b"[1]\n"):
            with open(kept.path, "wb") as file:
                file.write(rubbish)
            with self.assertRaises(BenchError):
                self.open()
            with open(kept.path, "rb") as file:
                self.assertEqual(file.read(), rubbish)

    def test_what_is_done_is_left_out(self):
        args = bench.parse(["workers", "scale", "--report", "x"])
        self.assertEqual(list(bench.work_of(args, None, ["workers"])), ["scale"])
        self.assertEqual(list(bench.work_of(bench.parse([]), None, [])), list(bench.BENCHES))


class Page(Folder):
    def test_canned_lines(self):
        kept = self.open()
        for one in CANNED:
            kept.keep(one)
        seen = [(0.01, 0.0, 120.0, None), (0.5, 0.2, 2000.0, "make took it"), (0.02, 0, 130, None)]
        kept.end("coturn", report.noise_of(seen))
        kept.end("alloc", {"measurements": 0}, "no |\n  turnserver")
        self.shut(kept)
        text = self.page()
        self.assertIn("| CPU | AMD \\| Zen |", text)
        self.assertIn("## scale", text)
        self.assertIn("**Failed:** no | turnserver", text)
        self.assertIn("1 of 3 rounds were disturbed", text)
        self.assertIn("Reasons: make took it", text)
        self.assertIn("Lines that say `noisy`", text)
        for row in text.splitlines():  # the rows of a table have as many cells as its head
            if row.startswith("| "):
                self.assertIn(row.replace("\\|", "").count("|"), (3, 5, 8), row)

    def test_first_table(self):
        lines = [report.header(MACHINE, OPTIONS, {"scale": "many workers"}), *CANNED]
        text = "\n".join(report.page(lines))
        for one in (
            "## In short", "Many workers.", "## How to read it",
            "| UDP, 8 flows, `packet:` port |  | 3.4 (3.06-4.08) noisy times coturn 4.17.1 | coturn |",
            "| TLS 1.3, 40,000 a second |  | 1.4 (1.26-1.68) times coturn 4.17.1 | streams |",
            "| DTLS, 40,000 a second, `idle: saving` |  | 3 (2.7-3.6) times coturn 4.17.1 | streams |",
        ):  # fmt: skip
            self.assertIn(one, text)
        self.assertLess(text.index("In short"), text.index("## scale"))
        self.assertNotIn("In short", "\n".join(report.page(lines[:1])))  # nothing yet

    def test_pictures_that_there_are(self):
        lines = [report.header(MACHINE, OPTIONS), *CANNED]
        text = "\n".join(report.page(lines, ["scale.svg"]))
        self.assertIn("![scale](scale.svg)", text)
        self.assertNotIn("coturn.svg", text)

    def test_noise(self):
        gate = noise.Gate()
        with gate.watch():
            pass
        found = report.noise_of(gate.log)
        self.assertEqual(found["measurements"], 1)
        self.assertIn("of 1 rounds were disturbed", report.noise_text(found))
        self.assertIn("nothing", report.noise_text(report.noise_of([])))


class Facts(unittest.TestCase):
    def test_cpu(self):
        text = "processor\t: 0\nmodel name\t: Intel(R) Xeon(R)\nflags\t\t: fpu hypervisor sse\n"
        self.assertEqual(facts.cpu_model(text), "Intel(R) Xeon(R)")
        self.assertEqual(facts.hypervisor(text, "kvm", "Google"), "kvm, Google")
        self.assertEqual(facts.hypervisor(text, "", ""), "unknown")
        self.assertEqual(facts.hypervisor(text.replace("hypervisor", ""), "none", "Dell"), "none")

    def test_versions(self):
        text = "OpenSSL 3.0.17 1 Jul 2025 (Library: OpenSSL 3.0.18 30 Sep 2025)"
        self.assertEqual(facts.openssl(text), "3.0.18")
        self.assertEqual(facts.openssl("OpenSSL 3.5.1 1 Jul 2025"), "3.5.1")
        self.assertEqual(facts.openssl(""), "unknown")
        self.assertEqual(facts.memory("MemTotal:       24689456 kB\n"), "24 GB")

    def test_this_machine(self):
        found = facts.gather("/nonexistent")
        self.assertEqual(found["build"], "unknown")
        for name in ("commit", "CPU", "CPUs", "kernel", "hypervisor", "DPDK", "OpenSSL", "coturn"):
            self.assertTrue(found[name], name)
        json.dumps(found)


class Charts(unittest.TestCase):
    def chart(self, name):
        return pictures.charts(name, CANNED)

    def test_relay_core(self):
        (chart,) = self.chart("relay-core")
        found = {one.name: one for one in chart.series}
        self.assertEqual(found["slipring"].values[0][:2], (1, 25))
        self.assertAlmostEqual(found["slipring"].values[1][3], 1e3 / 45)  # the fastest round
        self.assertEqual(len(found["slipring"].values), 2)  # software checksums are a different load
        self.assertTrue(found["testpmd"].grey)

    def test_scale(self):
        (chart,) = self.chart("scale")
        found = {one.name: [value[:2] for value in one.values] for one in chart.series}
        self.assertEqual(found["own relay ports"], [(1, 20), (2, 38)])
        self.assertEqual(found["own relay ports, handed over"], [(2, 30)])
        self.assertEqual(found["one worker times their number"], [(1, 20), (2, 40)])
        self.assertEqual(found["as many processes"], [(2, 39)])

    def test_coturn(self):
        (chart,) = self.chart("coturn")
        self.assertEqual(chart.places, ["one flow", "8 flows"])
        found = {one.name: [value[:2] for value in one.values] for one in chart.series}
        self.assertEqual(found["slipring"], [(0, 1.5), (1, 2.5)])
        self.assertEqual(found["slipring, packet: port"], [(1, 3.4)])
        self.assertIn("4.17.1", chart.title)
        self.assertIn("noisy", pictures.remark("coturn", CANNED))
        self.assertNotIn("noisy", pictures.remark("relay-core", CANNED))

    def test_beside(self):
        (chart,) = self.chart(pictures.BESIDE)
        self.assertEqual(chart.places, ["UDP, one flow", "UDP, 8 flows", "TCP, 40,000 a second",
            "TLS 1.2, 40,000 a second", "TLS 1.3, 40,000 a second",
            "DTLS, 40,000 a second"])  # fmt: skip
        found = {one.name: [value[:2] for value in one.values] for one in chart.series}
        self.assertEqual(found["slipring"], [(0, 1.5), (1, 2.5), (2, 1.6), (3, 1.3), (4, 1.4), (5, 2)])
        self.assertEqual(pictures.beside_lines(CANNED[::-1])[0]["bench"], "coturn")
        ys, height = pictures.heights(chart.series)
        self.assertAlmostEqual(height, 0.4)
        self.assertAlmostEqual(ys[0][0], 0)  # the only one at its place
        self.assertAlmostEqual(ys[1][0] - ys[0][1], height)

    def test_others(self):
        (chart,) = self.chart("workers")
        self.assertEqual(chart.places, ["allocations=2000", "allocations=200000"])
        self.assertEqual(self.chart("alloc"), [])
        self.assertFalse(pictures.has_picture("nonsense", CANNED))
        self.assertFalse(pictures.has_picture("scale", [line("scale", "mpps", 1)]))
        self.assertTrue(pictures.has_picture("coturn", CANNED))


def with_matplotlib():
    """A Python that has it, or None."""
    if importlib.util.find_spec("matplotlib"):
        return sys.executable
    probe = [report.PYTHON, "-c", "import matplotlib"]
    with contextlib.suppress(OSError):
        if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            return report.PYTHON
    return None


class Plot(Folder):
    def setUp(self):
        super().setUp()
        os.makedirs(self.folder)
        self.source = os.path.join(self.folder, "lines")
        with open(self.source, "w") as file:
            file.writelines(json.dumps(one) + "\n" for one in CANNED)

    def plot(self, *arguments, python=sys.executable):
        argv = [python, report.PLOT, *arguments]
        return subprocess.run(argv, capture_output=True, text=True, check=False)

    def test_what_cannot_be_drawn(self):
        out = os.path.join(self.folder, "x.svg")
        for arguments, reason in (
            (("--bench", "alloc", out, self.source), "no lines"),
            (("--bench", "nonsense", out, self.source), "no lines"),
            (("--bench", "scale", out, "/nonexistent"), "No such file"),
            (("--bench", "scale"), "not a name"),
            (("--report",), "not a name"),
            (("--report", self.folder), "not a name"),
            (("--report", self.folder, out), "No such file"),
            ((out, self.source), "not a result of slipring-loadgen"),
        ):
            done = self.plot(*arguments)
            self.assertNotEqual(done.returncode, 0, arguments)
            self.assertIn(reason, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
        self.assertFalse(os.path.exists(out))

    def drawn(self, python, name, source):
        out = os.path.join(self.folder, f"{name}.svg")
        done = self.plot("--bench", name, out, source, python=python)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out, "rb") as file:
            return file.read()

    def test_drawn_twice_alike(self):
        python = with_matplotlib()
        if python is None:
            self.skipTest("no matplotlib")
        for name in ("relay-core", "scale", "coturn", "workers", pictures.BESIDE):
            first = self.drawn(python, name, self.source)
            self.assertEqual(first, self.drawn(python, name, self.source))
            self.assertIn(b"<svg", first)
            self.assertLess(len(first), 60_000)

    def test_of_a_report(self):
        """README's picture by one command. Its lines are next to it, and draw it again."""
        python = with_matplotlib()
        if python is None:
            self.skipTest("no matplotlib")
        with open(os.path.join(self.folder, report.RESULTS), "w") as file:
            file.writelines(json.dumps(one) + "\n" for one in [report.header({}, {}), *CANNED])
        out = os.path.join(self.folder, "out.svg")
        done = self.plot("--report", self.folder, out, python=python)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = report_lines(os.path.join(self.folder, "out.jsonl"))
        self.assertEqual(lines, pictures.beside_lines(CANNED))
        with open(out, "rb") as file:
            self.assertEqual(file.read(),
                self.drawn(python, pictures.BESIDE, os.path.join(self.folder, "out.jsonl")))  # fmt: skip

    def test_published(self):
        """The picture in doc/ is small and matches the lines next to it."""
        with open(f"{PUBLISHED}.svg", encoding="utf-8") as file:
            text = file.read()
        self.assertLess(len(text.encode()), 60_000)
        (chart,) = pictures.charts(pictures.BESIDE, report_lines(f"{PUBLISHED}.jsonl"))
        for word in (*chart.places, *(one.name for one in chart.series)):
            self.assertIn(word, text)


def report_lines(path):
    with open(path) as file:
        return [json.loads(text) for text in file]


if __name__ == "__main__":
    unittest.main()
