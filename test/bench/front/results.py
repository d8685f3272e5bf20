# SPDX-License-Identifier: BSD-3-Clause
"""The output of a benchmark: JSON lines on stdout, a table and progress on stderr."""

import json
import sys
import time

import stats

FIXED = {"bench", "metric", "value", "unit", "min", "max", "rounds"}
PARAMETERS = ("server", "transport", "load", "allocations", "size", "direction", "mode", "quantile")


class Results:
    """Result lines of one run of the benchmarks."""

    def __init__(self, out=sys.stdout, err=sys.stderr, common=None):
        self.out, self.err = out, err
        self.common = common or {}  # members that every line carries
        self.lines = []
        self.keepers = []  # functions that get each line, too
        self.begin = time.monotonic()

    def say(self, text):
        """Progress, with the seconds since the start."""
        print(f"[{time.monotonic() - self.begin:6.1f}] {text}", file=self.err, flush=True)

    def add(self, bench, metric, values, unit, **parameters):
        """One result: the median of the rounds' values with their extremes."""
        line = {
            "bench": bench,
            "metric": metric,
            "value": stats.round_to(stats.median(values)),
            "unit": unit,
            "min": stats.round_to(min(values)),
            "max": stats.round_to(max(values)),
            "rounds": len(values),
            **parameters,
        }
        return self.put(line)

    def put(self, line):
        """A line made elsewhere."""
        line = {**line, **self.common}
        self.lines.append(line)
        print(json.dumps(line), file=self.out, flush=True)
        for keep in self.keepers:
            keep(line)
        return line

    def tables(self):
        for bench in dict.fromkeys(line["bench"] for line in self.lines):
            self.table(bench)

    def table(self, bench):
        """A table of all results of a benchmark; members common to all lines are on top."""
        common, rows = rows_of([line for line in self.lines if line["bench"] == bench])
        print(f"\n{bench} ({common})" if common else f"\n{bench}", file=self.err)
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        for row in rows:
            cells = [
                cell.rjust(width) if 1 <= i <= 3 or i == 5 else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths))
            ]
            print("  " + "  ".join(cells).rstrip(), file=self.err)
        print(file=self.err, flush=True)


def rows_of(lines):
    """(members common to all lines, rows of cells with their head)."""
    details = [{k: v for k, v in line.items() if k not in FIXED} for line in lines]
    common = {
        k: v for k, v in details[0].items() if all(d.get(k) == v for d in details)
    }  # fmt: skip
    rows = [("metric", "median", "min", "max", "unit", "n", "of")]
    for line, detail in zip(lines, details):
        rest = {k: v for k, v in detail.items() if k not in common}
        numbers = [f"{line[key]:,.5g}" for key in ("value", "min", "max")]
        rows.append((line["metric"], *numbers, line["unit"], str(line["rounds"]), members(rest)))
    return members(common), rows


def members(found):
    """name=value of parameters; the most important first, flags by their name alone."""
    names = [name for name in PARAMETERS if name in found]
    names += [name for name in found if name not in names]
    return " ".join(name if found[name] is True else f"{name}={found[name]}" for name in names)
