# SPDX-License-Identifier: BSD-3-Clause
"""The first table of a report: one figure for each question, found among the result lines.

A row is (question, slipring, comparison, benchmark). Missing measurements have no row.
"""

LATENCY_LOADS = (
    ("0.1 of the lowest", "a tenth of what {slowest} takes"),
    ("0.5 of the lowest", "half of what {slowest} takes"),
)
WAYS = {"tcp": "TCP", "tls 1.2": "TLS 1.2", "tls 1.3": "TLS 1.3", "dtls": "DTLS"}
KINDS = {
    "slipring": "",
    "slipring-packet": ", `packet:` port",
    "slipring-saving": ", `idle: saving`",
}


def matches(line, wanted):
    """True if a line has these members; None means that it must not have one."""
    return all(line.get(name) == value for name, value in wanted.items())


def some(lines, bench, metric, **wanted):
    """The lines of a metric with these members, in their order."""
    wanted = {"bench": bench, "metric": metric, **wanted}
    return [line for line in lines if matches(line, wanted)]


def first(lines, bench, metric, **wanted):
    return next(iter(some(lines, bench, metric, **wanted)), None)


def digits(value):
    """Three significant digits."""
    return f"{float(f'{value:.3g}'):,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def told(line, unit=""):
    """median (least-most), and notes on the rounds."""
    marks = [name for name in ("noisy", "lossy", "generator_bound") if line.get(name)]
    text = digits(line["value"]) + (f" {unit}" if unit else "")
    if line["rounds"] > 1:
        text += f" ({digits(line['min'])}-{digits(line['max'])})"
    return " ".join([text, *(mark.replace("_", " ") for mark in marks)])


def times(line, whom):
    return f"{told(line)} times {whom}" if line else ""


def coturn_of(line):
    return f"coturn {line['version']}" if "version" in line else "coturn"


# --- the rows of each benchmark -----------------------------------------------------------------


def relay_core(lines):
    usual = {"server": "slipring", "size": 120, "direction": "mixed", "mode": "channel", "family": 4}
    usual |= {"checksums": None, "handover": None, "side": None}
    for rate in some(lines, "relay-core", "mpps", **usual):
        count = rate["allocations"]
        same = {**usual, "allocations": count}
        cost = first(lines, "relay-core", "ns_per_packet", **same)
        beside = first(lines, "relay-core", "ratio_testpmd", **same)
        text = told(rate, "Mpps") + (f", {digits(cost['value'])} ns a datagram" if cost else "")
        title = f"one core, {count:,} allocation{'s' if count > 1 else ''}"
        yield title, text, times(beside, "testpmd's rate"), "relay-core"


def instructions(lines):
    usual = {"server": "slipring", "allocations": 1, "direction": "mixed", "size": 120}
    usual |= {"family": 4, "mode": "channel", "checksums": None, "handover": None}
    found = first(lines, "relay-core", "ir_per_packet", **usual)
    if found:
        yield "one core, fast path", told(found, "instructions a datagram"), "", "relay-core"


def scale(lines):
    usual = {"server": "slipring", "relay": "own", "handover": None}
    for rate in some(lines, "scale", "mpps", **usual):
        same = {**usual, "workers": rate["workers"], "allocations": rate["allocations"]}
        ratios = [
            times(first(lines, "scale", "ratio_one", **same), "one worker"),
            times(first(lines, "scale", "ratio_processes", **same), "as many processes"),
        ]
        if any(ratios):
            each = rate["allocations"] // rate["workers"]
            title = f"{rate['workers']} workers, {each:,} allocations each"
            yield title, told(rate, "Mpps"), ", ".join(filter(None, ratios)), "scale"


def coturn(lines):
    """For each second of CPU, by the less favourable of the two ways to count."""
    for ratio in some(lines, "coturn", "ratio_coturn", quantity="relay_pps_per_cpu_s", quoted=True):
        same = {"server": ratio["server"], "load": ratio["load"], "cpu": ratio["cpu"]}
        rate = first(lines, "coturn", "relay_pps_per_cpu_s", **same)
        title = f"UDP, {ratio['load']}{KINDS.get(ratio['server'], '')}"
        text = told(rate, "a second of CPU") if rate else ""
        yield title, text, times(ratio, coturn_of(ratio)), "coturn"


def way_of(line):
    name = f"{line['transport']} {line.get('tls', '')}".strip()
    return WAYS.get(name, name)


def streams(lines):
    for metric in ("relay_pps_per_cpu_s", "handshakes_per_cpu_s"):
        for ratio in some(lines, "streams", "ratio_coturn", quantity=metric, quoted=True):
            same = {
                name: ratio.get(name) for name in ("transport", "tls", "load", "cpu", "idle")
            }
            rate = first(lines, "streams", metric, server="slipring", **same)
            title = f"handshakes over {way_of(ratio)}"
            if "pps" in ratio:
                title = f"{way_of(ratio)}, {ratio['pps']:,} a second"
            title += ", `idle: saving`" if ratio.get("idle") == "saving" else ""
            text = told(rate, "a second of CPU") if rate else ""
            yield title, text, times(ratio, coturn_of(ratio)), "streams"


def p50_p99(lines, bench, **wanted):
    """p50 / p99 of otherwise equal lines; "" if one is missing."""
    found = [first(lines, bench, "latency_us", quantile=q, **wanted) for q in (0.5, 0.99)]
    return " / ".join(map(told, found)) if all(found) else ""


def calls(lines):
    for line in some(lines, "coturn", "latency_us", quantile=0.5, load="100 calls"):
        if line["server"] not in KINDS:
            continue
        text = p50_p99(lines, "coturn", load="100 calls", server=line["server"])
        rival = p50_p99(lines, "coturn", load="100 calls", server="coturn")
        title = f"latency of 100 calls, p50 / p99, us{KINDS[line['server']]}"
        yield title, text, f"coturn: {rival}" if rival else "", "coturn"


def latency(lines):
    slowest = min(some(lines, "latency", "pdr_pps"), key=lambda l: l["value"], default=None)
    for load, name in LATENCY_LOADS if slowest else ():
        mine, rival = (
            p50_p99(lines, "latency", load=load, direction="up", server=server)
            for server in ("slipring", "coturn")
        )
        if mine:
            title = f"latency at {name.format(slowest=slowest['server'])}, p50 / p99, us"
            yield title, mine, f"coturn: {rival}" if rival else "", "latency"


def uso(lines):
    usual = {"quantity": "relay_pps_per_cpu_s", "cpu": "cpu0"}
    for ratio in some(lines, "uso", "ratio_off", **usual):
        same = {name: ratio.get(name) for name in ("size", "burst", "ingress", "wire", "uso")}
        rate = first(lines, "uso", "relay_pps_per_cpu_s", server="slipring", cpu="cpu0", **same)
        beside = first(lines, "uso", "ratio_coturn", **usual, **same)
        ratios = [times(ratio, "the same without"), beside and times(beside, coturn_of(beside))]
        title = f"super-frames, {ratio['burst']} x {ratio['size']} bytes, {ratio['ingress']} in"
        text = told(rate, "a second of CPU") if rate else ""
        yield title, text, ", ".join(filter(None, ratios)), "uso"


def alloc(lines):
    worker = first(lines, "alloc", "allocates_per_second", server="slipring")
    if worker:
        yield "Allocate requests, one core", told(worker, "a second"), "", "alloc"
    ratios = some(lines, "alloc", "ratio_coturn")
    ratio = min(ratios, key=lambda line: line["value"], default=None)
    if ratio:
        rate = first(lines, "alloc", "allocs_per_cpu_s", server="slipring", cpu=ratio["cpu"])
        text = told(rate, "a second of CPU") if rate else ""
        yield "allocations over veths", text, times(ratio, coturn_of(ratio)), "alloc"
    memory = first(lines, "alloc", "bytes_per_allocation", how="all parts", workers=1)
    if memory:
        rival = first(lines, "alloc", "bytes_per_allocation", server="coturn")
        beside = f"coturn: {told(rival)}" if rival else ""
        yield "memory of an allocation", told(memory, "bytes"), beside, "alloc"


def dtls_core(lines):
    found = first(lines, "dtls-core", "ns_per_datagram", server="slipring", direction="mixed")
    if found:
        yield "DTLS on one core, no kernel", told(found, "ns a datagram"), "", "dtls-core"


ROWS = (relay_core, instructions, scale, coturn, streams, calls, latency, uso, alloc, dtls_core)
HEAD = ("", "slipring", "beside it", "benchmark")


def rows(lines):
    """All rows, with their head. lines: of results, of this version of scripts/bench."""
    found = [row for part in ROWS for row in part(lines)]
    return [HEAD, *found] if found else []
