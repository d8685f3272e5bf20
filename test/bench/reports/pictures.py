# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of benchmarks, from their result lines. scripts/plot --bench draws them.

Charts are computed without matplotlib: the drawing code knows only a Chart.
"""

from dataclasses import dataclass, field

COLOURS = ("#2a6fbb", "#e08214", "#2e8b57", "#8e44ad", "#c0392b", "#16a085", "#7f6000")
GREY = "#777777"
NAMES = {  # names of servers for readers
    "slipring": "slipring",
    "slipring-packet": "slipring, packet: port",
    "slipring-saving": "slipring, idle: saving",
    "null": "forwarding alone",
    "processes": "as many processes",
}
BESIDE = "beside-coturn"  # the picture of README.md: all transports, from these benchmarks
BESIDE_OF = ("coturn", "streams")


@dataclass
class Points:
    """A line with points, or the bars of one colour: [(x or place, value, least, most)]."""

    name: str
    values: list = field(default_factory=list)
    grey: bool = False  # something to compare with


@dataclass
class Chart:
    """One set of axes."""

    kind: str  # "lines" or "bars"
    title: str
    across: str  # the horizontal axis
    up: str  # the vertical one, of lines
    series: list  # of Points
    places: list = field(default_factory=list)  # of bars: their texts
    log: int = 0  # base of a logarithmic horizontal axis


def spread(line):
    return line["value"], line["min"], line["max"]


def of_bench(name, lines):
    benches = BESIDE_OF if name == BESIDE else (name,)
    return [line for line in lines if line.get("bench") in benches and "metric" in line]


# --- relay-core ---------------------------------------------------------------------------------


def rate_of(line):
    """ns a packet as millions of packets a second."""
    return 1e3 / line["value"], 1e3 / line["max"], 1e3 / line["min"]


def is_headline(line):
    usual = {"direction": "mixed", "mode": "channel", "family": 4, "size": 120}
    return (
        line["metric"] == "ns_per_packet"
        and all(line.get(key) == value for key, value in usual.items())
        and not any(key in line for key in ("checksums", "handover", "side"))
    )


def relay_core(lines):
    series = {}
    for line in filter(is_headline, lines):
        server = line["server"]
        one = series.setdefault(server, Points(NAMES.get(server, server), [], server != "slipring"))
        one.values.append((line["allocations"], *rate_of(line)))
    chart = Chart("lines", "one core, 120 bytes as ChannelData, both ways", "allocations visited",
        "million packets a second", list(series.values()), log=10)  # fmt: skip
    return [chart] if series else []


# --- scale --------------------------------------------------------------------------------------


def scale_name(line):
    if line["server"] == "processes":
        return NAMES["processes"]
    name = f"{line['relay']} relay ports"
    return f"{name}, handed over" if line.get("handover") else name


def scale_chart(each, lines):
    series = {}
    for line in lines:
        grey = line["server"] == "processes"
        one = series.setdefault(scale_name(line), Points(scale_name(line), [], grey))
        one.values.append((line["workers"], *spread(line)))
    alone = [line["value"] for line in lines if line["workers"] == 1 and line["relay"] == "own"]
    ends = sorted({line["workers"] for line in lines})
    for name, one in series.items():  # hand-over begins with two workers
        one.values.sort()
    if alone and len(ends) > 1:
        ideal = [(n, n * alone[0], n * alone[0], n * alone[0]) for n in ends]
        series["ideal"] = Points("one worker times their number", ideal, True)
    return Chart("lines", f"{each:,} allocations of each worker", "workers",
        "million packets a second", list(series.values()), log=2)  # fmt: skip


def scale(lines):
    rates = [line for line in lines if line["metric"] == "mpps"]
    found = {}
    for line in rates:
        found.setdefault(line["allocations"] // line["workers"], []).append(line)
    return [scale_chart(each, some) for each, some in sorted(found.items())]


# --- ratios -------------------------------------------------------------------------------------


def is_ratio(line):
    return line["metric"].startswith("ratio")


def coturn_version(lines):
    found = dict.fromkeys(line["version"] for line in lines if "version" in line)
    return "coturn " + " and ".join(found) if found else "coturn"


def bars(lines, place_of):
    """Bars of quoted ratios in the servers' colours."""
    places = list(dict.fromkeys(map(place_of, lines)))
    series = {}
    for line in lines:
        name = NAMES.get(line["server"], line["server"])
        one = series.setdefault(name, Points(name))
        one.values.append((places.index(place_of(line)), *spread(line)))
    title = f"datagrams relayed for each second of CPU, times what {coturn_version(lines)} relays"
    return [Chart("bars", title, "ratio", "", list(series.values()), places)] if lines else []


def coturn(lines):
    """For each second of CPU, by the less favourable of the two ways to count."""
    return bars([line for line in lines if is_ratio(line) and line.get("quoted")],
        lambda line: line["load"])  # fmt: skip


def beside_lines(lines):
    """The lines of README's picture: UDP first, then every other transport as it is by default."""
    found = [
        line for line in of_bench(BESIDE, lines)
        if is_ratio(line) and line.get("quoted") and line["quantity"] == "relay_pps_per_cpu_s"
        and line.get("idle") != "saving"
    ]  # fmt: skip
    return sorted(found, key=lambda line: BESIDE_OF.index(line["bench"]))


def beside_place(line):
    if line["bench"] == "coturn":
        return f"UDP, {line['load']}"
    transport = f"{line['transport'].upper()} {line.get('tls', '')}".strip()
    return f"{transport}, {line['pps']:,} a second"


def beside(lines):
    return bars(beside_lines(lines), beside_place)


def ratios(lines):
    """Any benchmark: a bar for each line, named by the members in which it differs."""
    from results import FIXED, members

    found = [line for line in lines if is_ratio(line)]
    if any(line.get("quoted") for line in found):
        found = [line for line in found if line.get("quoted")]
    details = [{k: v for k, v in line.items() if k not in FIXED} for line in found]
    common = {k for d in details for k in d if all(o.get(k) == d[k] for o in details)}
    places, series = [], {}
    for line, detail in zip(found, details):
        place = members({k: v for k, v in detail.items() if k not in common | {"noisy"}})
        if place not in places:
            places.append(place)
        one = series.setdefault(line["metric"], Points(line["metric"]))
        one.values.append((places.index(place), *spread(line)))
    return [Chart("bars", "", "ratio", "", list(series.values()), places)] if found else []


MAKERS = {"relay-core": relay_core, "scale": scale, "coturn": coturn, BESIDE: beside}


def charts(name, lines):
    """The charts of a benchmark, or []."""
    some = of_bench(name, lines)
    return MAKERS.get(name, ratios)(some) if some else []


def has_picture(name, lines):
    """True if there is something to draw. Lines of another version have no charts."""
    try:
        return bool(charts(name, lines))
    except (KeyError, TypeError):
        return False


def remark(name, lines):
    """The note below a chart."""
    some = of_bench(name, lines)
    found = ["medians of rounds, with their least and most"]
    found += [word for word in ("quick", "noisy") if any(line.get(word) for line in some)]
    return "; ".join(found)


# --- drawing ------------------------------------------------------------------------------------


def errors(values):
    """Lengths of the error bars, as matplotlib wants them."""
    return [[v - low for _, v, low, _ in values], [high - v for _, v, _, high in values]]


def draw_lines(axes, chart):
    colours, dashes = iter(COLOURS), iter(("--", ":", "-."))
    for one in chart.series:
        xs, ys = [v[0] for v in one.values], [v[1] for v in one.values]
        style = {"color": GREY, "linestyle": next(dashes)} if one.grey else {"color": next(colours)}
        axes.errorbar(xs, ys, errors(one.values), label=one.name, marker="o", markersize=3,
            linewidth=1, elinewidth=0.7, capsize=2, **style)  # fmt: skip
    if chart.log and len({v[0] for one in chart.series for v in one.values}) > 1:
        axes.set_xscale("log", base=chart.log)
    axes.set_xticks(sorted({v[0] for one in chart.series for v in one.values}))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_ylabel(chart.up)


def heights(series):
    """Positions of bars, [[y]] of each series, around their places; and their height."""
    height = 0.8 / len(series)
    sharing = {place: [one for one in series if place in [v[0] for v in one.values]]
        for place in {v[0] for one in series for v in one.values}}  # fmt: skip
    found = [
        [v[0] + (sharing[v[0]].index(one) - (len(sharing[v[0]]) - 1) / 2) * height for v in one.values]
        for one in series
    ]
    return found, height


def draw_bars(axes, chart):
    places, height = heights(chart.series)
    for index, (one, ys) in enumerate(zip(chart.series, places)):
        values = [v[1] for v in one.values]
        axes.barh(ys, values, height * 0.9, xerr=errors(one.values), label=one.name,
            color=COLOURS[index % len(COLOURS)], error_kw={"elinewidth": 0.7, "capsize": 2})  # fmt: skip
        for y, value in zip(ys, values):
            axes.text(0.02, y, f" {value:.2g}", va="center", color="white", fontsize=8)
    axes.axvline(1, color=GREY, linewidth=1)
    axes.set_yticks(range(len(chart.places)), chart.places)
    axes.invert_yaxis()
    axes.set_xlim(left=0)


def size_of(found):
    if found[0].kind == "lines":
        return 5.2 * len(found) + 1, 3.6
    bars = sum(len(one.values) for one in found[0].series)
    return 8, 1.4 + 0.28 * bars


def draw(pyplot, name, lines):
    """A figure of a benchmark, or None."""
    found = charts(name, lines)
    if not found:
        return None
    figure, rows = pyplot.subplots(
        1, len(found), squeeze=False, figsize=size_of(found), layout="constrained"
    )
    for axes, chart in zip(rows[0], found):
        (draw_lines if chart.kind == "lines" else draw_bars)(axes, chart)
        axes.set_title(chart.title, fontsize=9, loc="left")
        axes.set_xlabel(f"{chart.across}\n({remark(name, lines)})" if axes is rows[0][0] else chart.across,
            fontsize=8)  # fmt: skip
        axes.legend(loc="best", frameon=False, fontsize=8)
    return figure
