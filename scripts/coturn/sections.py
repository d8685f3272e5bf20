# SPDX-License-Identifier: BSD-3-Clause
"""The whole of a slipring.yaml: what is a key for a key, and the sections that take more."""

import os

from coturn import accounts, alternates, rules
from coturn.document import Document, Word, wrapped
from coturn.keys import KEYS
from coturn.network import Network
from coturn.settings import printable
from coturn.syntax import Refused

WORKERS_MAX = 64
LEVELS = {"debug": "debug", "info": "info", "warning": "warning", "error": "error"}
STREAMS = {"stdout", "-"}


def put_taken(settings, document):
    """Keys whose row says how a value becomes one of slipring's."""
    for name, key in KEYS.items():
        for line, value in settings.all(name) if key.take else ():
            try:
                made = key.take(value)
                for path in key.paths if made is not None else ():
                    document.put(path, made, f"{name} in line {line.number}")
            except Refused as why:
                settings.tell(line, str(why))


def put_whole(settings, document):
    """Shared relay ports take a number of allocations."""
    if settings.get("multiplex-peer") and settings.get("total-quota") == 0:
        del document.sections["limits"]["allocations"]
        settings.tell(settings.line("total-quota"), "shared relay ports take a limit: 100000 without a"
            " key", lost=False)  # fmt: skip


def put_lifetime(settings, document):
    """slipring's default lifetime is 600 s, and never above the longest."""
    longest = settings.get("max-allocate-lifetime")
    if longest is not None and 1 <= longest < 600:
        document.put("limits.lifetime.default", longest, settings.where("max-allocate-lifetime"))


def put_answers(settings, document):
    """The rate of answers to the unauthenticated."""
    rate, line = settings.get("unauthorized-ratelimit-rps"), settings.line("unauthorized-ratelimit-rps")
    if not settings.get("unauthorized-ratelimit", False):
        if line:
            settings.tell(line, "coturn has no such limit without unauthorized-ratelimit", lost=False)
        return
    rate = 10 if rate is None or rate <= 0 else rate
    where = settings.where("unauthorized-ratelimit", "unauthorized-ratelimit-rps")
    document.put("limits.unauthenticated.rate", min(rate, 1000000), where)
    document.put("limits.unauthenticated.burst", min(rate, 1000000), where)


def found_file(settings, name, folder):
    """The path of a certificate or key. coturn looks for relative ones beside its file, too."""
    value = settings.get(name)
    path = value if value.startswith("/") else os.path.join(folder, value)
    if value.startswith("~"):
        settings.tell(settings.line(name), "~ stands for nobody's home here: write the whole path")
    return path


def put_tls(settings, document, network, folder):
    if not network.secure:
        return
    document.put("tls.certificate", found_file(settings, "cert", folder), settings.where("cert"))
    document.put("tls.key", found_file(settings, "pkey", folder), settings.where("pkey"))
    if settings.get("no-tlsv1_2", False):
        document.put("tls.min-version", Word("1.3"), settings.where("no-tlsv1_2"))
        if network.dtls:
            settings.tell(settings.line("no-tlsv1_2"), "there is no DTLS 1.3: listeners for DTLS go")
            network.dtls = False
    if settings.line("dtls") is None and settings.line("no-dtls") is None:
        settings.tell(settings.line("cert"), "no listener for DTLS, as with coturn from 4.17 on; before"
            " that a certificate was enough: write dtls", lost=False)  # fmt: skip


def put_workers(settings, document):
    number = settings.get("relay-threads", settings.get("cpus"))
    if number is None:
        return
    where = settings.where("relay-threads" if settings.line("relay-threads") else "cpus")
    if number > WORKERS_MAX:
        settings.tell(settings.line("relay-threads") or settings.line("cpus"),
            f"there are {WORKERS_MAX} workers at most: that is written")  # fmt: skip
    document.put("workers.count", max(1, min(number, WORKERS_MAX)), where)


def put_log(settings, document):
    file, line = settings.get("log-file"), settings.line("log-file")
    if settings.get("syslog", False) or file == "syslog":
        document.put("log.to", "syslog", settings.where("syslog", "log-file"))
    elif file in STREAMS:
        document.put("log.to", "stderr", settings.where("log-file"))
    elif file:
        document.put("log.to", "stderr", settings.where("log-file"))
        settings.tell(line, "not here: there is no log file. For one, StandardError=append:FILE in the"
            " unit; else journalctl -u slipring")  # fmt: skip
    level = settings.get("log-min-level", "info")
    if level not in LEVELS:
        settings.tell(settings.line("log-min-level"), "coturn knows debug, info, warning and error")
        level = "info"
    if settings.get("verbose", False) or settings.get("Verbose", False):
        level = "debug"
    if level != "info":
        where = settings.where("log-min-level", "verbose", "Verbose")
        document.put("log.level", LEVELS[level], where)


HEADER = (
    "Made of {path} by scripts/import-turnserver-conf. Nothing of it is in use yet: read it, then"
    " `slipring --check -c FILE`. The lines named are those of {path}.",
)
PRIVATE_PEERS = (
    "Private peers are denied here, unless peers.allow has them; with coturn they are allowed."
)


class Import:
    """A file taken over. text: the result; told: what is to be said of its lines."""

    def __init__(self, path, settings, box, options):
        self.settings, self.document = settings, Document()
        self.path, self.options = path, options
        folder = os.path.dirname(os.path.abspath(path))
        self.document.put("version", 1)
        self.network = Network(settings, box, options, self.document)
        put_tls(settings, self.document, self.network, folder)
        streams = self.network.put_listeners()
        self.network.put_ports(streams)
        self.network.put_relay()
        self.complete = accounts.put(settings, self.document)
        rules.put(settings, self.document, options.private_peers)
        alternates.put(settings, self.document, self.network.secure)
        for put in (put_taken, put_whole, put_lifetime, put_answers, put_workers, put_log):
            put(settings, self.document)
        self.told = sorted(settings.told, key=lambda told: told.line.number)
        self.reminders = self.network.reminders()

    @property
    def lost(self):
        return not self.complete or any(told.lost for told in self.told)

    def lines(self):
        path = printable(self.path)
        out = []
        private = () if self.options.private_peers else (PRIVATE_PEERS,)
        for text in (*HEADER, *private, *self.reminders):
            out += wrapped(text.replace("{path}", path))
        out += self.document.lines()
        if self.told:
            out += ["", "# What is not here, or otherwise than the file says:"]
            for told in self.told:
                out += wrapped(told.shown(path))
        return out
