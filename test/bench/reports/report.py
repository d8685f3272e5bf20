# SPDX-License-Identifier: BSD-3-Clause
"""--report DIR: the results of a run, with the facts that make them credible.

DIR/results.jsonl has a JSON object per line, written as they come: first the facts, then the result
lines, and after those of each benchmark its outcome and the noise. DIR/report.md and the pictures
are made from it. So an interrupted run keeps its results, and the same command continues it. It does
so only for the same machine, programs and options.
"""

import contextlib
import datetime
import json
import os
import subprocess
import sys

import headline
import pictures
import stats
from machine import TOP, BenchError
from results import rows_of

RESULTS, PAGE = "results.jsonl", "report.md"
PYTHON = "/usr/bin/python3"
PLOT = os.path.join(TOP, "scripts/plot")
VERSION = 1
REASONS_TOLD = 3
FAILURE_TOLD = 400  # characters


class Unkept(Exception):
    """The report cannot be written any more: further results would be lost."""


def is_result(line):
    return "bench" in line and "metric" in line


def noise_of(seen):
    """Readings of a gate during a benchmark: [(foreign, stolen, probe ns, reason)]."""
    found = {"measurements": len(seen)}
    if not seen:
        return found
    found["disturbed"] = sum(reason is not None for *_, reason in seen)
    for index, name in enumerate(("foreign_cpus", "stolen_cpus", "probe_ns")):
        values = [one[index] for one in seen]
        found[name] = [stats.round_to(f(values), 3) for f in (stats.median, max)]
    reasons = list(dict.fromkeys(reason for *_, reason in seen if reason))
    return {**found, "reasons": reasons[:REASONS_TOLD]} if reasons else found


# --- the lines ----------------------------------------------------------------------------------


def load(path):
    """Objects of a file, without a last line that was cut off."""
    found = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, text in enumerate(file, 1):
            try:
                line = json.loads(text)
            except json.JSONDecodeError:
                if not text.endswith("\n"):
                    break
                raise BenchError(f"{path}:{number}: no JSON") from None
            if not isinstance(line, dict):
                raise BenchError(f"{path}:{number}: no JSON object")
            found.append(line)
    if not found or found[0].get("report") != VERSION:
        raise BenchError(f"{path}: no report of this scripts/bench: take another directory")
    return found


def finished(lines):
    """Benchmarks that were completed."""
    return [line["end"] for line in lines if line.get("end") and not line.get("failed")]


def differences(old, new):
    """The differences of two headers, in words."""
    found = []
    for part in ("machine", "options"):
        a, b = old.get(part, {}), new[part]
        for name in dict.fromkeys([*a, *b]):
            if a.get(name) != b.get(name):
                found.append(f"{name}: {a.get(name)} there, {b.get(name)} now")
    return found


def kept(lines):
    """The header, and the lines of completed benchmarks: the others are run again."""
    done = set(finished(lines))
    return [
        line for line in lines
        if "report" in line or line.get("end", line.get("bench")) in done
    ]  # fmt: skip


# --- the page -----------------------------------------------------------------------------------


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def table(rows):
    """Lines of a table of Markdown; the first row is its head."""
    head, *rest = rows
    yield "| " + " | ".join(map(cell, head)) + " |"
    yield "|" + "---|" * len(head)
    for row in rest:
        yield "| " + " | ".join(map(cell, row)) + " |"


def noise_text(noise):
    if not noise or not noise.get("measurements"):
        return "nothing was measured in rounds"
    foreign, stolen, probe = (noise[k] for k in ("foreign_cpus", "stolen_cpus", "probe_ns"))
    text = (
        f"{noise['disturbed']} of {noise['measurements']} rounds were disturbed; other processes "
        f"took {foreign[0]:.2f} CPUs (median; at most {foreign[1]:.2f}), the hypervisor "
        f"{stolen[0]:.2f} (at most {stolen[1]:.2f}); a cache line's way to the other CPU and back "
        f"{probe[0]:.0f} ns (at most {probe[1]:.0f})"
    )
    reasons = "; ".join(noise.get("reasons", []))
    return f"{text}. Reasons: {reasons}" if reasons else text


def chapter(name, told, lines, end, picture):
    """The part of one benchmark. told: its description."""
    yield from ("", f"## {name}", "")
    if told:
        yield from (f"{told[0].upper()}{told[1:]}.", "")
    if end is None:
        yield from ("**Not finished.** The same command runs it again.", "")
    elif end.get("failed"):
        yield from (f"**Failed:** {' '.join(end['failed'].split())[:FAILURE_TOLD]}", "")
    if picture:
        yield from (f"![{name}]({picture})", "")
    found = [line for line in lines if is_result(line) and line["bench"] == name]
    if found:
        common, rows = rows_of(found)
        if common:
            yield from (f"All lines: {common}.", "")
        yield from table(rows)
        yield ""
    if end is not None:
        yield f"Noise: {noise_text(end.get('noise'))}."


def first_table(lines):
    """The summary at the top."""
    try:
        found = headline.rows([line for line in lines if is_result(line)])
    except (KeyError, TypeError, AttributeError):  # lines of another version
        return
    if found:
        yield from ("", "## In short", "", *table(found))


def facts_of(head):
    yield from table([("", ""), *head["machine"].items(),
        ("options", " ".join(f"{k}={v}" for k, v in head["options"].items() if v) or "none")])  # fmt: skip


READING = """
## How to read it

* A figure is the median of the rounds, with the least and the most of them; `n` is their number.
* Compared programs took turns in the same rounds. A ratio is the median of the rounds' ratios, not a
  ratio of medians. Figures of two benchmarks, or of two machines, cannot be compared.
* An interval that contains 1 is no difference.
* "For each second of CPU" counts in two ways: busy time of the server's CPU, and all CPUs except
  the generator's threads (streams: the server's own threads). The one that is less favourable for
  slipring says `quoted` and is in the first table.
* On veths most of the work is the kernel's, the same for all servers. `relay-core` has no kernel.
* `noisy`: rounds in which something else disturbed the machine are among them. `lossy`: more than
  0.1 % was lost or held back, so a ratio means nothing. `generator_bound`: the generator was the
  limit, not the server. `missing`: flags that this coturn does not know.
* `results.jsonl` next to this page has every line; doc/performance.md has the method.
""".strip()


def page(lines, shown=()):
    """report.md. shown: names of existing pictures."""
    head = lines[0]
    names = dict.fromkeys(line.get("end", line.get("bench")) for line in lines[1:])
    ends = {line["end"]: line for line in lines if "end" in line}
    yield from ("# Measurements of slipring", "")
    yield f"By `scripts/bench`, begun {head['begun']}."
    if any(line.get("noisy") for line in lines):
        yield "Lines that say `noisy` have rounds in which something else disturbed the machine."
    if head["options"].get("quick"):
        yield "**A quick run: it tries the way, not the machine.**"
    yield ""
    yield from facts_of(head)
    yield from first_table(lines)
    if f"{pictures.BESIDE}.svg" in shown:
        yield from ("", f"![beside coturn]({pictures.BESIDE}.svg)")
    for name in filter(None, names):
        picture = f"{name}.svg"
        told = head.get("benchmarks", {}).get(name, "")
        yield from chapter(name, told, lines, ends.get(name), picture if picture in shown else None)
    yield from ("", *READING.splitlines())


# --- the directory ------------------------------------------------------------------------------


def replace(path, texts):
    """Replaces a file, whole or not at all."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.writelines(text + "\n" for text in texts)
    os.replace(path + ".new", path)


class Report:
    """The directory of a run that is under way."""

    def __init__(self, folder, header, say):
        self.folder, self.say = folder, say
        self.path = os.path.join(folder, RESULTS)
        self.lines = [header]
        self.done = []  # benchmarks that an earlier run has finished
        try:
            self.open(header)
            self.file = open(self.path, "a", encoding="utf-8")
        except OSError as error:
            raise BenchError(f"--report: {error.filename}: {error.strerror}") from None

    def open(self, header):
        os.makedirs(self.folder, exist_ok=True)
        if os.path.exists(self.path):
            old = load(self.path)
            changes = differences(old[0], header)
            if changes:
                raise BenchError(
                    f"--report: {self.folder} is of something else: take another directory\n  "
                    + "\n  ".join(changes)
                )
            self.lines, self.done = kept(old), finished(old)
            self.say(f"{self.folder}: goes on; it has {', '.join(self.done) or 'nothing'}")
        elif os.listdir(self.folder):
            raise BenchError(
                f"--report: {self.folder} has files and no {RESULTS}: take another directory"
            )
        replace(self.path, map(json.dumps, self.lines))

    def keep(self, line):
        """Takes a line; it is on disk when this returns."""
        self.lines.append(line)
        try:
            self.file.write(json.dumps(line) + "\n")
            self.file.flush()
            os.fsync(self.file.fileno())
        except OSError as error:
            raise Unkept(f"--report: {self.path}: {error.strerror}") from None

    def end(self, name, noise, failed=None):
        """A benchmark is over."""
        self.keep({"end": name, "noise": noise, **({"failed": str(failed)} if failed else {})})
        self.write()

    def write(self):
        """Writes report.md from the current results."""
        try:
            shown = [name for name in os.listdir(self.folder) if name.endswith(".svg")]
            replace(os.path.join(self.folder, PAGE), page(self.lines, shown))
        except OSError as error:
            raise Unkept(f"--report: {error.filename or self.folder}: {error.strerror}") from None

    def close(self):
        """Pictures and page."""
        with contextlib.suppress(OSError):  # failed writes have been reported
            self.file.close()
        results = [line for line in self.lines if is_result(line)]
        for name in (*dict.fromkeys(line["bench"] for line in results), pictures.BESIDE):
            if pictures.has_picture(name, results):
                self.draw(name)
        self.write()
        self.say(f"{self.folder}/{PAGE} is written")

    def draw(self, name):
        out = os.path.join(self.folder, f"{name}.svg")
        reason = ""
        # Debian's matplotlib needs Debian's Python, which may not be the first in PATH
        for python in dict.fromkeys((sys.executable, PYTHON)):
            argv = [python, PLOT, "--bench", name, out, self.path]
            try:
                done = subprocess.run(
                    argv, capture_output=True, text=True, check=False, timeout=120
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                reason = str(error)
                continue
            if done.returncode == 0:
                return
            reason = done.stderr.strip()[-500:]
        self.say(f"no picture of {name}: {reason}")


def header(machine, options, benchmarks=None):
    """benchmarks: {name: description}."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "report": VERSION,
        "begun": now.strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine,
        "options": options,
        "benchmarks": benchmarks or {},
    }
