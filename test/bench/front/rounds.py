# SPDX-License-Identifier: BSD-3-Clause
"""Alternating rounds: compared cases are measured side by side, again and again.

A *case* is one thing to measure: a function that returns its figures, {metric: value}. The cases of
a *group* are compared with each other, so one round measures all of them. A round disturbed by
foreign load is dropped whole and repeated. The first rounds only warm up. A group can also be a
function of the round's number that measures all its cases itself.
"""

import time
from dataclasses import dataclass

import stats
from machine import BenchError, Disturbed

TRIES = 3  # attempts of a measurement without rounds


class Noisy(Exception):
    """The machine was too busy for the measurement."""


@dataclass(frozen=True)
class Plan:
    """How often to measure."""

    keep: int = 5  # rounds wanted of each group
    discard: int = 1  # rounds before them
    repeats: int = 10  # disturbed rounds of one group before giving up
    tolerant: bool = False  # keep disturbed rounds if there are no better ones
    seconds: float = 600  # no round begins after this time
    least: int = 5  # rounds that suffice when the time is over
    quiet_s: float = 30  # how long to wait for a quiet moment before a round


def each_part(parts, say):
    """Runs all of {name: function}. A failure is reported and does not stop the others."""
    failed = []
    for name, function in parts.items():
        try:
            function()
        except (BenchError, Noisy, RuntimeError) as error:
            failed.append(str(error) if str(error).startswith(f"{name}:") else f"{name}: {error}")
            if len(parts) > 1:
                say(f"{failed[-1]}: goes on with the next part")
    if failed:
        raise BenchError("; ".join(failed))


def persistent(measure, say, tries=TRIES):
    """The result of a measurement without rounds. Repeats a disturbed one."""
    for left in reversed(range(tries)):
        try:
            return measure()
        except Disturbed as error:
            if not left:
                raise
            say(f"once more: {error}")


class Series:
    """The rounds kept of one group."""

    def __init__(self):
        self.rounds = []  # {case: {metric: value}}
        self.dropped = 0
        self.noisy = False  # a disturbed round is among them

    def values(self, case, metric):
        return [kept[case][metric] for kept in self.rounds]

    def ratios(self, case, reference, metric):
        return stats.ratios(self.values(case, metric), self.values(reference, metric))


def in_order(names, number):
    """Every second round goes backwards: a drift of the machine favours no case."""
    return list(names) if number % 2 == 0 else list(reversed(names))


def measure(cases, number, gate):
    """One round of one group: (figures by case, reason why it is unfit or None)."""
    try:
        with gate.watch() as watch:
            if callable(cases):
                figures = cases(number)
            else:
                figures = {name: cases[name]() for name in in_order(list(cases), number)}
    except Disturbed as error:
        return None, str(error)
    return figures, watch.reason


def brief(values, most=5):
    """A case's first figures, for the progress. Keys that are not identifiers are details."""
    named = [(key, value) for key, value in values.items() if isinstance(key, str)]
    return " ".join(f"{key}={value:,.5g}" for key, value in named[:most])


class Alternation:
    """Measures groups of cases in alternating rounds."""

    def __init__(self, groups, gate, plan, say, clock=time.monotonic):
        self.groups, self.gate, self.plan, self.say, self.clock = groups, gate, plan, say, clock
        self.series = {name: Series() for name in groups}
        self.end = clock() + plan.seconds

    def run(self):
        """{group: Series}. Raises Noisy if too few rounds were fit."""
        total = self.plan.discard + self.plan.keep
        for number in range(total):
            if self.over():
                break
            for name in in_order(list(self.groups), number):
                self.round(name, number)
        for name, series in self.series.items():
            if len(series.rounds) < min(self.plan.least, self.plan.keep):
                raise Noisy(
                    f"{name}: only {len(series.rounds)} of {self.plan.keep} rounds in the time "
                    f"there was ({series.dropped} were disturbed)"
                )
        return self.series

    def over(self):
        return self.clock() > self.end

    def round(self, name, number):
        """Measures one group until a round is fit."""
        series = self.series[name]
        while not self.over():
            quiet = self.gate.wait(self.plan.quiet_s)
            if not quiet and number >= self.plan.discard and not self.plan.tolerant:
                self.say(f"{name}: round {number}: put off: others are busy")
                self.accept(name, None)
                continue
            figures, reason = measure(self.groups[name], number, self.gate)
            self.show(name, number, figures, reason)
            if number < self.plan.discard:
                return
            if reason is not None and not self.accept(name, figures):
                continue
            series.noisy |= reason is not None
            series.rounds.append(figures)
            return

    def accept(self, name, figures):
        """True if a disturbed round must suffice; otherwise counts it."""
        series = self.series[name]
        if series.dropped < self.plan.repeats:
            series.dropped += 1
            return False
        if self.plan.tolerant and figures is not None:
            return True
        raise Noisy(
            f"{name}: {series.dropped + 1} rounds were disturbed; measure on a quiet machine, or "
            "say --accept-noise"
        )

    def show(self, name, number, figures, reason):
        label = "warm-up" if number < self.plan.discard else f"round {number}"
        cells = [f"{case} {brief(values)}" for case, values in (figures or {}).items()]
        told = reason and (number >= self.plan.discard or figures is None)
        fate = f"  DROPPED: {reason}" if told else ""
        self.say(f"{name}: {label}: {'; '.join(cells)}{fate}")
