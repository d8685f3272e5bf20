# SPDX-License-Identifier: BSD-3-Clause
"""The alerts of conf/monitoring/slipring.rules.yaml for the status page, so that it needs no Prometheus. A
test runs both on the same series (test_exporter_page). Rates cover the samples that the exporter took
within the time of the rule, for scrapes and for the page.
"""

import collections
import threading
import time
from typing import NamedTuple

KEEP_S, STEP_S = 900, 10  # how long samples are kept for rates, and the minimum interval between two
GAP_S = 300  # after this time without a check, the hold time of each alert starts again
M = 60
OWN = "tx-full handover-full no-mbuf stream-full request-known neighbour-hold-full neighbour-table-full"
FLOOD = "unauthenticated-rate binding-rate request-backlog request-client icmp-rate fragment-rate"
FLOOD += " dtls-rate not-turn"
# Counters whose rates the rules use
RATED = frozenset(
    "slipring_watchdog_alarms_total slipring_worker_busy_cycles_total slipring_worker_cycles_total"
    " slipring_pool_refusals_total slipring_refusals_total slipring_drops_total slipring_port_rx_missed_total"
    " slipring_port_rx_errors_total slipring_port_tx_errors_total slipring_auth_failures_total"
    " slipring_streams_refused_total slipring_streams_closed_total slipring_streams_handshakes_total"
    " slipring_exporter_bad_answers_total slipring_lookup_answers_total".split()
)


class Value(float):
    """Formats like Prometheus: percent, SI prefixes, a duration."""

    def __format__(self, how):
        if how == "%":
            return f"{100 * self:.4g}%"
        if how == "s" and self >= M:
            days, hours, minutes = int(self // 86400), int(self // 3600 % 24), int(self // M % M)
            return (f"{days}d " if days else "") + f"{hours}h {minutes}m {int(self % M)}s"
        number, prefixes = float(self), " kMGT"
        while how == "n" and number >= 1000 and len(prefixes) > 1:
            number, prefixes = number / 1000, prefixes[1:]
        return f"{number:.4g}" + (prefixes[0].strip() if how == "n" else how)


class Row(NamedTuple):
    """The part of one fetch that is kept."""

    time: float
    totals: dict  # {metric: {labels: growth since the exporter started}} of RATED
    uptime: object


class Look:
    """The newest samples, {metric: {labels: value}}, and earlier counters, as rules see them."""

    def __init__(self, clock, samples, row, history):
        self.clock, self.samples, self.row, self.history = clock, samples, row, history

    def now(self, name):
        return self.samples.get("slipring_" + name, {})

    def is_at(self, name, wanted):
        return {labels: value for labels, value in self.now(name).items() if value == wanted}

    def within(self, seconds):
        """The rows of the last seconds, the oldest first."""
        return [row for row in self.history if row.time >= self.row.time - seconds]

    def rate(self, name, seconds, **kept):
        """Growth per second of each sample; kept: only samples with one of these values of a label."""
        name = f"slipring_{name}_total"
        first = next(iter(self.within(seconds)), self.row)
        before, rates = first.totals[name], {}
        for labels, total in self.row.totals[name].items() if first.time < self.row.time else ():
            if labels in before and all(dict(labels).get(key) in some for key, some in kept.items()):
                rates[labels] = (total - before[labels]) / (self.row.time - first.time)
        return rates


def above(limit, values):
    return {labels: value for labels, value in values.items() if value > limit}


def below(limit, values):
    return {labels: value for labels, value in values.items() if value < limit}


def parts(some, whole):
    """some / whole, where both exist."""
    return {key: value / whole[key] for key, value in some.items() if whole.get(key)}


def sums(*several):
    """The sum over all labels, if each has a sample."""
    return {(): sum(sum(one.values()) for one in several)} if all(several) else {}


def restarted(look):
    times = [row.uptime for row in (*look.within(10 * M), look.row) if row.uptime is not None]
    return {(): 1} if any(b < a for a, b in zip(times, times[1:])) else {}


def handshakes_fail(look):
    failed = sums(look.rate("streams_closed", 15 * M, reason={"handshake_failed"}))
    tried = sums(failed, look.rate("streams_handshakes", 15 * M))
    return above(0.5, parts(failed, above(0.1, tried)))


def lookup_unanswered(look):
    none = look.rate("lookup_answers", 5 * M, result={"none"})
    return above(0.1, parts(sums(none), above(0.1, sums(look.rate("lookup_answers", 5 * M)))))


def expiring(look):
    renew = look.now("certificate_renew_seconds")
    ends = look.now("certificate_not_after_seconds")
    return {key: end - look.clock for key, end in ends.items() if renew.get(key, look.clock) < look.clock}


class Rule(NamedTuple):
    name: str
    severity: str
    hold_s: int  # how long the condition must hold until the alert fires
    find: object  # takes a Look, returns {labels: value} of the samples that meet the condition
    text: str


RULES = (
    Rule("SlipringDown", "critical", M, lambda n: n.is_at("up", 0), "slipring does not answer"),
    Rule("SlipringRestarted", "warning", 0, restarted,
        "slipring has started again; calls go on where state.file keeps them"),
    Rule("SlipringHangs", "critical", 0, lambda n: above(0, n.rate("watchdog_alarms", 10 * M)),
        "{of} made no progress for a while"),
    Rule("SlipringWorkerBusy", "warning", 10 * M, lambda n: above(0.8, parts(
            n.rate("worker_busy_cycles", 5 * M), n.rate("worker_cycles", 5 * M))),
        "worker {worker} is busy {value:%} of its time"),
    Rule("SlipringAllocationsFull", "warning", 5 * M, lambda n: above(0.9, parts(
            n.now("allocations"), n.now("config_limit_allocations"))),
        "{value:%} of limits.allocations are used"),
    Rule("SlipringPortsFew", "warning", 5 * M, lambda n: below(0.1, parts(
            n.now("relay_ports_free"), n.now("relay_ports"))),
        "{value:%} of the relay ports are free: {family}"),
    Rule("SlipringConnectionsFull", "warning", 5 * M, lambda n: above(0.9, parts(
            n.now("streams_connections"), n.now("config_limit_connections"))),
        "{value:%} of streams.connections are used"),
    Rule("SlipringSessionsFull", "warning", 5 * M, lambda n: above(0.9, parts(
            n.now("streams_dtls_sessions"), n.now("config_limit_sessions"))),
        "{value:%} of dtls.sessions are used"),
    Rule("SlipringBuffersFew", "warning", 5 * M, lambda n: below(0.05, parts(
            n.now("buffers_free"), n.now("buffers"))),
        "{value:%} of the packet buffers are free"),
    Rule("SlipringPoolFull", "warning", 5 * M, lambda n: above(1, n.rate("pool_refusals", 5 * M)),
        "permissions, channels or peers are refused"),
    Rule("SlipringNoPort", "critical", 5 * M, lambda n: above(0, n.rate("refusals", 5 * M, reason={"no-port"})),
        "no relay port is free"),
    Rule("SlipringLinkDown", "critical", M, lambda n: n.is_at("port_link_up", 0), "the link of port {port} is down"),
    Rule("SlipringPortTrouble", "critical", M,
        lambda n: n.is_at("exception_trouble", 1) | n.is_at("port_trouble", 1),
        "something keeps port {port} from its work"),
    Rule("SlipringAddressLost", "critical", 0, lambda n: n.is_at("address_lost", 1),
        "the network has taken {address} from port {port}"),
    Rule("SlipringOwnLoss", "warning", 5 * M,
        lambda n: above(1, n.rate("drops", 5 * M, reason=set(OWN.split()))),
        "{value:n} datagrams a second are lost here: {reason}"),
    Rule("SlipringMissed", "warning", 5 * M, lambda n: above(1, n.rate("port_rx_missed", 5 * M)),
        "port {port} loses {value:n} frames a second that nobody fetches"),
    Rule("SlipringPortErrors", "warning", 5 * M, lambda n: above(1, {port: rate
            + n.rate("port_tx_errors", 5 * M).get(port, 0) for port, rate in n.rate("port_rx_errors", 5 * M).items()}),
        "port {port} has {value:n} errors a second"),
    Rule("SlipringNoWay", "warning", 5 * M,
        lambda n: above(10, n.rate("drops", 5 * M, reason={"no-route", "neighbour-failed"})),
        "{value:n} datagrams a second find no way: {reason}"),
    Rule("SlipringSteeringDegraded", "warning", 10 * M, lambda n: n.is_at("steering_degraded", 1),
        "port {port} ({family}) brings packets to the wrong workers"),
    Rule("SlipringGuessing", "warning", 5 * M, lambda n: above(10, sums(
            n.rate("auth_failures", 5 * M), n.rate("drops", 5 * M, reason={"guess-rate"}))),
        "{value:n} requests a second have wrong credentials"),
    Rule("SlipringFlood", "warning", 2 * M,
        lambda n: above(1000, n.rate("drops", 5 * M, reason=set(FLOOD.split()))),
        "{value:n} datagrams a second are held back: {reason}"),
    Rule("SlipringConnectionsRefused", "warning", 5 * M, lambda n: above(1, n.rate("streams_refused", 5 * M)),
        "{value:n} connections a second are refused: {limit} (source: first think of an office or a multiplexer)"),
    Rule("SlipringHandshakesFail", "warning", 5 * M, handshakes_fail, "{value:%} of the TLS handshakes fail"),
    Rule("SlipringLookupDown", "critical", M, lambda n: n.is_at("lookup_connected", 0),
        "no connection to the program that knows the users"),
    Rule("SlipringLookupUnanswered", "warning", 5 * M, lookup_unanswered,
        "{value:%} of the questions about users have no answer"),
    Rule("SlipringReloadRefused", "warning", 0, lambda n: n.is_at("reload_last_refused", 1),
        "the last reload was refused; nothing of the file is in use"),
    Rule("SlipringCertificateExpires", "warning", 720 * M, expiring,
        "certificate {certificate} in use ends in {value:s}"),
    Rule("SlipringScrapeSlow", "warning", 5 * M, lambda n: above(0.5, n.now("exporter_fetch_seconds")),
        "slipring takes {value:s} to answer the exporter"),
    Rule("SlipringAnswersBad", "warning", 0, lambda n: above(0, {labels: rate for labels, rate in
            n.rate("exporter_bad_answers", 15 * M).items() if labels != (("command", "none"),)}),
        "answers to {command} are of no use"),
)  # fmt: skip


def samples_of(metrics):
    """{metric: {labels: value}} of metrics of prometheus_client, without histograms."""
    found = {}
    for metric in metrics:
        for sample in metric.samples if metric.type != "histogram" else ():
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found


class Alerts:
    """Remembers counters for rates, and the time from which on each alert holds."""

    def __init__(self):
        self.lock = threading.Lock()  # scrapes and the page come from several threads
        self.history, self.since, self.checked = collections.deque(), {}, None
        self.counters = {}  # {(metric, labels): (value, growth)}

    def feed(self, metrics, now=None, clock=None):
        """Takes the metrics of one fetch, checks all rules, and returns the rows of the alerts that hold."""
        now = time.monotonic() if now is None else now
        clock = time.time() if clock is None else clock
        samples = samples_of(metrics)
        with self.lock:
            if self.checked is not None and now - self.checked > GAP_S:
                self.since.clear()
            self.checked = now
            row = Row(now, self.totals(samples), samples.get("slipring_uptime_seconds", {}).get(()))
            look = Look(clock, samples, row, self.history)
            found = [(rule, labels, value) for rule in RULES for labels, value in rule.find(look).items()]
            held = {(rule.name, labels) for rule, labels, _ in found}
            self.since = {key: self.since.get(key, now) for key in held}
            if row.uptime is not None:  # slipring has answered
                self.keep(row)
            return [self.shown(*one, now) for one in found]

    def totals(self, samples):
        """The growth of each counter. A value below the last one is that of a new process."""
        totals = {name: {} for name in RATED}
        for name, of_name in totals.items():
            for labels, value in samples.get(name, {}).items():
                last, growth = self.counters.get((name, labels), (value, 0))
                of_name[labels] = growth + (value - last if value >= last else value)
                self.counters[name, labels] = value, of_name[labels]
        return totals

    def keep(self, row):
        if not self.history or row.time - self.history[-1].time >= STEP_S:
            self.history.append(row)
        while self.history[0].time < row.time - KEEP_S:
            self.history.popleft()

    def shown(self, rule, labels, value, now):
        held_s = now - self.since[rule.name, labels]
        return {
            "name": rule.name, "severity": rule.severity, "labels": dict(labels),
            "held_s": round(held_s, 1), "hold_s": rule.hold_s, "fires": held_s >= rule.hold_s,
            "text": rule.text.format(value=Value(value), **dict(labels)),
        }  # fmt: skip
