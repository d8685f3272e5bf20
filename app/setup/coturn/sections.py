# SPDX-License-Identifier: BSD-3-Clause
"""The whole slipring.yaml: keys that are converted one to one, and sections that need more."""

import os

from coturn import accounts, alternates, rules
from coturn.document import Document, Word, wrapped
from coturn.key import DECIDE, DO, NOTE, SAME
from coturn.keys import KEYS
from coturn.network import Network
from coturn.settings import HEADINGS, printable
from coturn.syntax import Refused

WORKERS_MAX = 64
LEVELS = {"debug": "debug", "info": "info", "warning": "warning", "error": "error"}
STREAMS = {"stdout", "-"}


def put_taken(settings, document):
    """Keys with a row that converts their value."""
    for name, key in KEYS.items():
        for line, value in settings.all(name) if key.take else ():
            try:
                made = key.take(value)
                for path in key.paths if made is not None else ():
                    document.put(path, made, f"{name} in line {line.number}")
            except Refused as error:
                settings.tell(line, str(error))


def put_whole(settings, document):
    """Shared relay ports need a maximum number of allocations."""
    if settings.get("multiplex-peer") and settings.get("total-quota") == 0:
        del document.sections["limits"]["allocations"]
        settings.tell(settings.line("total-quota"), "shared relay ports need a limit: 100000 without a"
            " key", NOTE)  # fmt: skip


def put_answers(settings, document):
    """The rate of answers to unauthenticated requests."""
    rate, line = settings.get("unauthorized-ratelimit-rps"), settings.line("unauthorized-ratelimit-rps")
    if not settings.get("unauthorized-ratelimit", False):
        if line:
            settings.tell(line, "coturn has no such limit without unauthorized-ratelimit", NOTE)
        return
    rate = 10 if rate is None or rate <= 0 else rate
    where = settings.where("unauthorized-ratelimit", "unauthorized-ratelimit-rps")
    document.put("limits.unauthenticated.rate", min(rate, 1000000), where)


def found_file(settings, name, folder):
    """The path of a certificate or key. coturn looks for relative ones next to its file, too."""
    value = settings.get(name)
    path = value if value.startswith("/") else os.path.join(folder, value)
    if value.startswith("~"):
        settings.tell(settings.line(name), "slipring does not expand ~: write the whole path")
    return path


def put_tls(settings, document, network, folder):
    if not network.secure:
        return
    document.put("tls.certificate", found_file(settings, "cert", folder), settings.where("cert"))
    document.put("tls.key", found_file(settings, "pkey", folder), settings.where("pkey"))
    if settings.get("no-tlsv1_2", False):
        document.put("tls.min-version", Word("1.3"), settings.where("no-tlsv1_2"))
        if network.dtls:
            settings.tell(settings.line("no-tlsv1_2"), "there is no DTLS 1.3: no DTLS listener")
            network.dtls = False
    if settings.line("dtls") is None and settings.line("no-dtls") is None:
        settings.tell(settings.line("cert"), "no listener for DTLS, like coturn from 4.17 on; earlier a"
            " certificate was enough: write dtls", NOTE)  # fmt: skip


def put_workers(settings, document):
    number = settings.get("relay-threads", settings.get("cpus"))
    if number is None:
        return
    where = settings.where("relay-threads" if settings.line("relay-threads") else "cpus")
    if number > WORKERS_MAX:
        settings.tell(settings.line("relay-threads") or settings.line("cpus"),
            f"slipring has at most {WORKERS_MAX} workers: this number is written", NOTE)  # fmt: skip
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
            " unit; else journalctl -u slipring", DO)  # fmt: skip
    level = settings.get("log-min-level", "info")
    if level not in LEVELS:
        settings.tell(settings.line("log-min-level"), "coturn knows debug, info, warning, error", NOTE)
        level = "info"
    if settings.get("verbose", False) or settings.get("Verbose", False):
        level = "debug"
    if level != "info":
        where = settings.where("log-min-level", "verbose", "Verbose")
        document.put("log.level", LEVELS[level], where)


HEADER = (
    "Made from {path} by slipring-import. It is not in use yet: read it, then run"
    " `slipring --check -c FILE`. Line numbers refer to {path}.",
)
NOBODY = "it has no users and no secrets: write them under `auth`"
DENIED = "`peers.allow` has no {which}. coturn allows them: --private-peers allows them here"


class Import:
    """An imported file. lines(): the result; told: the messages about the file and its lines."""

    def __init__(self, path, settings, box, options):
        self.settings, self.document = settings, Document()
        self.path = path
        folder = os.path.dirname(os.path.abspath(path))
        self.network = Network(settings, box, options, self.document)
        put_tls(settings, self.document, self.network, folder)
        streams = self.network.put_listeners()
        self.network.put_ports(streams)
        self.network.put_relay()
        self.complete = accounts.put(settings, self.document)
        local = self.network.local_addresses()
        denied = rules.put(settings, self.document, local, options.private_peers)
        alternates.put(settings, self.document, self.network.secure)
        for put in (put_taken, put_whole, put_answers, put_workers, put_log):
            put(settings, self.document)
        if not self.complete:
            settings.tell(None, NOBODY)
        if denied:
            settings.tell(None, DENIED.format(which=" and no ".join(denied)), DO)
        for text, kind in self.network.reminders():
            settings.tell(None, text, kind)

    @property
    def told(self):
        return [told for _, group in self.settings.by_kind() for told in group]

    @property
    def lost(self):
        return any(told.kind == DECIDE for told in self.told)

    def report(self, *kinds):
        """The lines of messages of these kinds, or of all kinds, with their headings."""
        out = []
        for heading, group in self.settings.by_kind():
            if not kinds or group[0].kind in kinds:
                out += [heading, *(told.shown(printable(self.path)) for told in group)]
        return out

    def lines(self):
        """The result. Decisions and steps to do are comments before it, other messages after it."""
        out = []
        for text in HEADER:
            out += wrapped(text.replace("{path}", printable(self.path)))
        for text in self.report(DECIDE, DO):
            out += [*(["#"] if text in HEADINGS.values() else []), *wrapped(text)]
        out += self.document.lines()
        rest = self.report(NOTE, SAME)
        return out + [""] * bool(rest) + [line for text in rest for line in wrapped(text)]
