# SPDX-License-Identifier: BSD-3-Clause
"""Converts slipring's answers to metrics. The number of series is bounded, whatever the answers are."""

import math
import re
import time

import coturn
import rows
from alerts import Alerts
from prometheus_client.core import Metric
from telemetry import Bad, Dead, Telemetry

TYPES = {"c": "counter", "g": "gauge", "u": "unknown", "h": "histogram"}
MOST = 512  # rows used of one answer: workers, ports, reasons, statistics of a device
REALMS = 16  # rows of a page of /slipring/realms
CERTIFICATES = 32  # rows of a page of /slipring/certificates
DIRECTIONS = (("rx", "rx"), ("tx", "tx"), ("hand", "handed_in"))  # histogram, the sum of its bursts


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def plain(value):
    """A label's value, made printable and cut."""
    return re.sub(r"[^ -~]", "?", str(value))[:160]


class Families:
    """Metrics by name, in the order in which they were found."""

    def __init__(self):
        self.metrics = {}

    def family(self, kind, name, text):
        if name not in self.metrics:
            self.metrics[name] = Metric("slipring_" + name, text, TYPES[kind])
        return self.metrics[name]

    def add(self, kind, name, text, value, /, **labels):
        if is_number(value):
            metric = self.family(kind, name, text)
            labels = {label: plain(v) for label, v in labels.items()}
            metric.add_sample(metric.name + ("_total" if kind == "c" else ""), labels, value)

    def info(self, name, text, /, **labels):
        self.add("g", name + "_info", text, 1, **labels)

    def histogram(self, name, text, bounds, counts, total, **labels):
        """counts: of each class; bounds: the upper bound of each class."""
        metric, sum_ = self.family("h", name, text), 0
        for bound, count in zip([*map(float, bounds), math.inf], [*counts, 0]):  # the last class may have no count
            sum_ += count
            le = "+Inf" if math.isinf(bound) else str(bound)
            metric.add_sample(metric.name + "_bucket", {**labels, "le": le}, sum_)
        metric.add_sample(metric.name + "_count", labels, sum_)
        metric.add_sample(metric.name + "_sum", labels, total)


class Fetch:
    """One conversation with slipring."""

    def __init__(self, telemetry, known, on_bad):
        """known: meanings by pid, from earlier fetches; on_bad(command): called for an unusable answer."""
        self.telemetry, self.on_bad = telemetry, on_bad
        self.out, self.answers, self.raw = Families(), {}, {}  # raw: answers by command
        self.commands = set(map(str, self.ask("/", list)))
        self.info = self.ask("/slipring/info", dict)
        if not self.info:
            raise Dead("slipring does not answer, or is starting")
        self.meanings = self.known_meanings(known)

    def ask(self, command, kind):
        """The answer, or an empty one of its type."""
        if command.split(",")[0] not in getattr(self, "commands", {"/", "/slipring/info"}):
            return kind()
        try:
            answer = self.telemetry.ask(command)
            if not isinstance(answer, kind):
                raise Bad("wrong type")
        except Bad:
            self.on_bad(command.split(",")[0])
            return kind()
        self.raw[command] = answer
        return answer

    def known_meanings(self, known):
        """The meanings of counters. Lists without an answer are requested again next time."""
        pid = self.telemetry.greeting.get("pid")
        if pid not in known:
            known.clear()
        meanings = known.setdefault(pid, {})
        for name in ("drops", "refusals", "streams", "dtls"):
            command = f"/slipring/meanings,{name}"
            meanings[name] = self.raw[command] = meanings.get(name) or self.ask(command, dict)
        return meanings

    def add_table(self, answer, table, prefix, command, **labels):
        """Adds the fields of one object."""
        meanings = self.meanings.get(command.rpartition("/")[2], {})
        for field, value in list(answer.items())[:MOST]:
            row = table.get(field)
            if row is None:
                self.add_other(command, field, value, **labels)
            elif row.kind != "-" and is_number(value):
                text = row.text
                if text == ".":
                    text = rows.sentence(str(meanings.get(field, f"{field} of {command}")))
                value *= rows.SCALES.get(field, 1)
                self.out.add(row.kind, prefix + row.name, text, value, **dict(row.labels), **labels)

    def add_other(self, command, field, value, **labels):
        """Adds a field that only a newer slipring has."""
        labels = {"worker": labels.get("worker", ""), "port": labels.get("port", "")}
        if re.fullmatch(r"\w{1,64}", field):
            self.out.add("u", "other", "A field of telemetry that this exporter does not know.",
                value, command=command, field=field, **labels)  # fmt: skip

    def add_info(self):
        add = self.out.add
        self.out.info("build", "The release.", version=self.info.get("version", ""))
        add("g", "ready", "1 when slipring serves.", self.info.get("ready"))
        add("g", "uptime_seconds", "Time since the start.", self.info.get("uptime"))
        add("g", "workers", "Workers.", self.info.get("workers"))

    def add_plain(self):
        for command, (table, prefix) in rows.PLAIN.items():
            self.answers[command] = self.ask(command, dict)
            self.add_table(self.answers[command], table, prefix, command)
        config = self.answers["/slipring/config"]
        if config:
            labels = {name: config.get(name, "") for name in ("realm", "relay_mode", "idle")}
            self.out.info("config", "Facts of the configuration.", **labels)

    def add_reasons(self):
        """Adds drops and refusals, and the meaning of each reason."""
        drops = self.answers["drops"] = self.ask("/slipring/drops", dict)
        for field, value in list(drops.items())[:MOST]:
            reason = field.replace("_", "-")
            self.out.add("c", "drops", "Datagrams dropped, by reason.", value, reason=reason)
            if field in self.meanings["drops"]:
                meaning = self.meanings["drops"][field]
                self.out.info("drop_reason", "The meaning of a reason.", reason=reason, meaning=meaning)
        refusals = self.answers["refusals"] = self.ask("/slipring/refusals", dict)
        for field, value in list(refusals.items())[:MOST]:
            reason = field.replace("_", "-")
            code, _, meaning = str(self.meanings["refusals"].get(field, "")).partition(" ")
            labels = {"reason": reason, "error_code": "none" if code == "0" else code}
            self.out.add("c", "refusals", "Requests refused, by the code of the answer and reason.",
                value, **labels)  # fmt: skip
            self.out.info("refusal_reason", "The meaning of a reason.", meaning=meaning, **labels)

    def add_workers(self, with_bursts):
        for worker in self.ask("/slipring/workers", list)[:MOST]:
            if not isinstance(worker, int):
                continue
            answer = self.ask(f"/slipring/worker,{worker}", dict)
            self.add_table(answer, rows.WORKER, "worker_", "/slipring/worker", worker=worker)
            if not with_bursts:
                continue
            answer = self.ask(f"/slipring/bursts,{worker}", dict)
            self.add_table(answer, rows.BURSTS, "worker_", "/slipring/bursts", worker=worker)
            self.add_bursts(answer, str(worker))
            self.add_histograms(f"/slipring/histograms,{worker}", True, worker=str(worker))

    def add_histograms(self, command, of_worker, **labels):
        """Adds the histograms of one worker, or of all together."""
        answer = self.ask(command, dict)
        try:
            for field, unit, name, scale, by_worker, text in rows.HISTOGRAMS:
                if not answer or by_worker != of_worker:
                    continue
                bounds = [round(int(b) * scale, 9) for b in answer[f"{field}_bounds{unit}"]]
                counts = [int(n) for n in answer[f"{field}_hist"]]
                total = int(answer[f"{field}_sum{unit}"]) * scale
                if len(counts) != len(bounds) + 1:
                    raise ValueError("a class has no bound")
                self.out.histogram(name, text, bounds[:MOST], counts[:MOST], total, **labels)
        except (KeyError, TypeError, ValueError):
            self.on_bad("/slipring/histograms")

    def add_realms(self):
        self.answers["realms"] = self.pages("/slipring/realms", REALMS)
        for row in self.answers["realms"]:
            realm = row.get("realm", "")
            self.add_table(row, rows.REALM, "", "/slipring/realms", realm=realm)

    def add_bursts(self, answer, worker):
        try:
            bounds = [int(c.split("-")[-1]) for c in answer["classes"]]
            for direction, total in DIRECTIONS:
                counts = [int(n) for n in answer[direction + "_hist"]]
                self.out.histogram(
                    "burst_datagrams",
                    "Bursts by their number of frames; the sum counts datagrams, of which a super-frame"
                    " has many. way: received, sent, handed over by other workers.",
                    bounds[:MOST], counts[:MOST], int(answer[total]), worker=worker, **{"way": direction},
                )  # fmt: skip
        except (KeyError, TypeError, ValueError, AttributeError):
            if answer:
                self.on_bad("/slipring/bursts")

    def objects(self, command):
        return [row for row in self.ask(command, list)[:MOST] if isinstance(row, dict) and row]

    def pages(self, command, size):
        """All rows of a command that answers in pages of `size` rows."""
        found = self.objects(command)
        while found and len(found) % size == 0 and len(found) < MOST:
            more = self.objects(f"{command},{len(found) // size}")
            if not more:
                break
            found += more
        self.raw[command] = found
        return found

    def add_certificates(self):
        for row in self.pages("/slipring/certificates", CERTIFICATES):
            path = row.get("certificate", "")
            self.add_table(row, rows.CERTIFICATE, "certificate_", "/slipring/certificates",
                certificate=path)  # fmt: skip

    def add_ports(self, with_devices):
        ports = self.objects("/slipring/ports")
        for row in ports:
            port = row.get("name", "")
            labels = {name: row.get(name, "") for name in ("kind", "driver", "mac", "on", "offloads")}
            self.out.info("port", "Facts of a port.", port=port, **labels)
            self.add_table(row, rows.PORT, "port_", "/slipring/ports", port=port)
        for row in self.objects("/slipring/steering"):
            labels = {"port": row.get("port", ""), "family": row.get("family", "")}
            self.out.info("steering", "The step of the ladder.", step=row.get("step", ""), **labels)
            self.add_table(row, rows.STEERING, "steering_", "/slipring/steering", **labels)
        for row in self.objects("/slipring/exception"):
            labels = {name: row.get(name, "") for name in ("port", "interface", "netns")}
            self.out.info("exception", "The exception port of a port.", **labels)
            port = row.get("port", "")
            self.add_table(row, rows.EXCEPTION, "exception_", "/slipring/exception", port=port)
        for row in self.objects("/slipring/addresses"):
            labels = {name: row.get(name, "") for name in ("port", "interface", "address")}
            text = "1 when the network has withdrawn an assigned address."
            self.out.add("g", "address_lost", text, row.get("lost"), **labels)
        if with_devices:
            self.add_devices(ports)

    def add_devices(self, ports):
        """Adds the statistics of each DPDK device, with the name of the port that has its MAC address."""
        by_mac = {}
        for row in ports:
            by_mac.setdefault(str(row.get("mac")).lower(), []).append(row.get("name", ""))
        for device in self.ask("/ethdev/list", list)[:32]:
            if not isinstance(device, int):
                continue
            info = self.ask(f"/ethdev/info,{device}", dict)
            names = by_mac.get(str(info.get("mac_addr")).lower(), ())
            port = names[0] if len(names) == 1 else ""
            for name, value in list(self.ask(f"/ethdev/xstats,{device}", dict).items())[:MOST]:
                self.out.add("u", "device_statistic", "A statistic of a device's driver (xstats).",
                    value, port=port, device=info.get("name", device), name=name)  # fmt: skip

    def all(self, for_page):
        """All metrics. The status page, which is polled often, needs no bursts, histograms and xstats."""
        self.add_info()
        self.add_plain()
        self.add_reasons()
        self.add_workers(not for_page)
        if not for_page:
            self.add_histograms("/slipring/histograms", False)
        self.add_realms()
        self.add_certificates()
        self.add_ports(not for_page)
        return list(self.out.metrics.values())


class Seen:
    """The result of one conversation with slipring."""

    def __init__(self):
        self.begin = self.end = time.monotonic()
        self.metrics, self.answers, self.error, self.alerts = [], {}, "", []

    def rows(self, command):
        """The objects of an answer that is a list of them."""
        return [row for row in self.answers.get(command, ())[:MOST] if isinstance(row, dict) and row]

    @property
    def workers(self):
        """(number, counters) of each worker."""
        return [(command.partition(",")[2], answer) for command, answer in self.answers.items()
            if command.startswith("/slipring/worker,")]  # fmt: skip

    @property
    def took(self):
        return self.end - self.begin


STARTS = "slipring is not ready"


def why_not_ready(telemetry, info):
    """The reason that a slipring which answers is not ready."""
    drain = telemetry.ask("/slipring/drain") if isinstance(info, dict) and "ready" in info else None
    if not isinstance(drain, dict) or drain.get("draining") != 1:
        return STARTS
    left, deadline = drain.get("allocations"), drain.get("deadline")
    ends = f", ends in {deadline} s at most" if is_number(deadline) else ""
    return f"slipring drains: {left} allocations left{ends}" if is_number(left) else "slipring drains"


class Slipring:
    """The metrics and the health of one slipring, also while it is down."""

    def __init__(self, paths, timeout, version, with_coturn=False):
        self.paths, self.timeout, self.version = paths, timeout, version
        self.with_coturn = with_coturn
        self.known = {True: {}, False: {}}  # meanings: the page and scrapes fetch them in threads of their own
        self.bad, self.alerts = {}, Alerts()

    def note_bad(self, command):
        self.bad[command] = self.bad.get(command, 0) + 1

    def see(self, for_page):
        """Never fails. The metric slipring_up tells whether there are more metrics."""
        seen = Seen()
        try:
            with Telemetry(self.paths, self.timeout) as telemetry:
                fetch = Fetch(telemetry, self.known[for_page], self.note_bad)
                seen.metrics = fetch.all(for_page)
                seen.answers = fetch.raw
                if self.with_coturn and not for_page:
                    seen.metrics += coturn.families(fetch.answers)
        except (Dead, Bad) as dead:
            seen.error = str(dead)
        seen.end = time.monotonic()
        seen.metrics[:0] = self.own_metrics(seen)
        seen.alerts = self.alerts.feed(seen.metrics)
        return seen

    def own_metrics(self, seen):
        exporter = Families()
        exporter.add("g", "up", "1 when slipring has answered.", 0 if seen.error else 1)
        exporter.info("exporter_build", "The release of the exporter.", version=self.version)
        exporter.add("g", "exporter_fetch_seconds", "Time that slipring's answers took.", seen.took)
        for command, count in dict(self.bad).items() or (("none", 0),):  # other threads add to it
            exporter.add("c", "exporter_bad_answers", "Answers that were unusable.", count,
                command=command)  # fmt: skip
        return list(exporter.metrics.values())

    def metrics(self):
        return self.see(False).metrics

    def health(self):
        """(True if the socket answers, the reason that slipring is not ready or "")."""
        try:
            with Telemetry(self.paths, self.timeout) as telemetry:
                try:
                    info = telemetry.ask("/slipring/info")
                    if isinstance(info, dict) and info.get("ready") == 1:
                        return True, ""
                    return True, why_not_ready(telemetry, info)
                except Bad:
                    return True, STARTS
        except (Dead, Bad):
            return False, "slipring does not answer"
