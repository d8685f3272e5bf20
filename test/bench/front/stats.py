# SPDX-License-Identifier: BSD-3-Clause
"""Statistics of repeated measurements. Pure: no clock, no files, no machine.

Rates on a shared machine are not normally distributed: they have several levels and long tails.
So everything here uses ranks: medians, extremes, and the order-statistic interval of the
median, which holds whatever the distribution is.
"""

import math
from dataclasses import dataclass

CONFIDENCE = 0.95


def median(values):
    ordered = sorted(values)
    if not ordered:
        raise ValueError("median of nothing")
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def ratios(numerators, denominators):
    """Quotients of values measured in the same rounds."""
    if len(numerators) != len(denominators):
        raise ValueError("values are not paired")
    if not all(value > 0 for value in denominators):
        raise ValueError("a denominator is not positive")
    return [a / b for a, b in zip(numerators, denominators)]


def coverage(count, cut):
    """How surely the median lies between the values that remain when `cut` are cut at each end.

    Each value is above or below the true median by the toss of a coin, so the number below is
    binomial; the interval misses when no more than `cut` are on one side.
    """
    missed = sum(math.comb(count, k) for k in range(cut + 1)) / 2**count
    return 1 - 2 * missed


def median_interval(values, confidence=CONFIDENCE):
    """(low, high): the narrowest pair of values that holds the median with that confidence.

    Returns None if there are too few values: 95 % needs 6.
    """
    ordered = sorted(values)
    best = None
    for cut in range(len(ordered) // 2):
        if coverage(len(ordered), cut) < confidence:
            break
        best = ordered[cut], ordered[-1 - cut]
    return best


def verdict(interval):
    """The verdict of an interval of a speed ratio; above 1 the numerator is faster."""
    if interval is None or interval[0] <= 1 <= interval[1]:
        return "no difference"
    return "faster" if interval[0] > 1 else "slower"


def per_unit(short, long):
    """Cost of one unit from two runs of different length, (units, cost) each: start-up cancels."""
    if long[0] <= short[0]:
        raise ValueError("the second run has to be the longer one")
    return (long[1] - short[1]) / (long[0] - short[0])


def round_to(value, digits=6):
    """The value rounded to significant digits, so that JSON shows it without noise."""
    if not math.isfinite(value):
        raise ValueError(f"not a number: {value}")
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded


@dataclass(frozen=True)
class Comparison:
    """A paired comparison of one metric: ratios of speed, above 1 the first is faster."""

    ratio: float
    low: float
    high: float
    least: float
    most: float
    rounds: int
    verdict: str


def compare(first, second, lower_is_better):
    """Compares values of the same rounds."""
    paired = ratios(second, first) if lower_is_better else ratios(first, second)
    interval = median_interval(paired)
    low, high = interval or (min(paired), max(paired))
    return Comparison(
        median(paired), low, high, min(paired), max(paired), len(paired), verdict(interval)
    )


def compare_counts(first, second, resolution):
    """Compares two exact counts (lower is better) that mean something down to a resolution."""
    low = max(second - resolution / 2, 0) / (first + resolution / 2)
    high = (second + resolution / 2) / max(first - resolution / 2, resolution / 2)
    ratio = second / first
    return Comparison(ratio, low, high, ratio, ratio, 1, verdict((low, high)))
