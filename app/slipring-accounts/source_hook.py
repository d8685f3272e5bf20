# SPDX-License-Identifier: BSD-3-Clause
"""Programs of the site that know users: one that answers HTTP, and one that we start and ask over pipes."""

import collections
import http.client
import ipaddress
import json
import os
import selectors
import ssl
import subprocess
import time
import urllib.parse

import records
import source
from records import Unknown
from source import TIMEOUT_S, Rows, Trouble

LONGEST = 1 << 20  # bytes of an answer
TTL_MAX = 86400


def user(flight):
    """Tells a program about a question, besides the realm."""
    asked = flight.question
    return {"name": asked.name.decode(), "client": records.address_of(asked.client), "port": asked.port,
        "transport": records.TRANSPORTS[asked.transport]}  # fmt: skip


def read_answer(asked, row):
    """Found, Unknown or None: this is no answer."""
    ttl = row.get("ttl")
    if ttl is not None and (isinstance(ttl, bool) or not isinstance(ttl, (int, float)) or not 0 <= ttl <= TTL_MAX):
        return None
    if row.get("unknown") is True and "key" not in row and "key_sha256" not in row:
        return Unknown(ttl)
    keys = [row.get(name) for name in ("key", "key_sha256")]
    if "unknown" in row or not any(keys) or not all(key is None or isinstance(key, str) for key in keys):
        return None
    return asked.found(*keys, ttl)


def add_rows(asked, found, realm, rows):
    """Adds the answers of a program. Rows about nobody who was asked for do not count."""
    for row in rows:
        if isinstance(row, dict) and isinstance(row.get("name"), str):
            found.add(realm, row["name"].encode(errors="replace"), read_answer(asked, row))


class Answers(Rows):
    """A name that a program leaves out is not unknown."""

    def __init__(self, flights):
        super().__init__(flights)
        self.answers = dict.fromkeys(self.answers)


class Http(source.Source):
    threads = 4

    def load(self):
        url = urllib.parse.urlsplit(self.settings["url"])
        self.host, self.port, self.tls = url.hostname, url.port, url.scheme == "https"
        self.path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        self.context = source.tls_context(self.settings["tls"] or {}) if self.tls else None
        self.headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.settings["token-file"]:
            with open(self.settings["token-file"]) as file:
                self.headers["Authorization"] = f"Bearer {file.read().strip()}"

    def connect(self):
        if self.tls:
            return http.client.HTTPSConnection(self.host, self.port, timeout=TIMEOUT_S, context=self.context)
        return http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_S)

    def look_up(self, connection, flights):
        found = Answers(flights)
        groups = collections.defaultdict(list)
        for flight in flights:
            groups[flight.asked[0]].append(user(flight))
        for realm, users in groups.items():
            body = json.dumps({"v": 1, "realm": realm.decode(), "users": users})
            connection.request("POST", self.path, body, self.headers)
            add_rows(self, found, realm, self.read(connection.getresponse()))
        return found.answers

    def read(self, response):
        body, end = b"", time.monotonic() + TIMEOUT_S
        while more := response.read1(1 << 16):
            body += more
            if time.monotonic() > end or len(body) > LONGEST:
                raise Trouble("an answer is too slow or too long")
        response.close()  # the connection takes the next request only then
        if response.status != 200:
            raise Trouble(f"status {response.status}")
        try:
            rows = json.loads(body)["users"]
        except (ValueError, KeyError, TypeError, RecursionError):
            rows = None
        if not isinstance(rows, list):
            raise Trouble("not the JSON that was asked for")
        return rows

    def describe(self, error):
        if isinstance(error, ssl.SSLError):
            return getattr(error, "verify_message", None) or error.reason or "TLS"
        return super().describe(error)


def is_loopback(host):
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Child:
    """A program that was started, with what it has written of its next line."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.rest = b""
        os.set_blocking(self.process.stdin.fileno(), False)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def exchange(self, data, take):
        """Writes the questions, and passes lines to take() until it returns True or the time is over."""
        end, stdin, stdout = time.monotonic() + TIMEOUT_S, self.process.stdin, self.process.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            selector.register(stdin, selectors.EVENT_WRITE)
            while (left := end - time.monotonic()) > 0:
                ready = [key.fileobj for key, _ in selector.select(left)]
                if stdin in ready:
                    data = data[os.write(stdin.fileno(), data) :]
                    if not data:
                        selector.unregister(stdin)
                if stdout in ready:
                    *lines, self.rest = (self.rest + self.more(stdout)).split(b"\n")
                    if all([take(line) for line in lines][-1:]) and lines:
                        return
                    if len(self.rest) > LONGEST:
                        raise Trouble("a line is too long")
        if data:
            raise Trouble("timeout")

    def more(self, stdout):
        if not (data := os.read(stdout.fileno(), 1 << 16)):
            raise ConnectionError(0, "the program has ended")
        return data


class Command(source.Source):
    """The child reads a line of JSON for each question, and writes one for each answer, in any order. A child
    that does not answer at all is ended, and started again for the next question.
    """

    number = 0

    def connect(self):
        return Child(self.settings["command"])

    def look_up(self, child, flights):
        found, asked, lines = Answers(flights), {}, []
        for flight in flights:
            self.number += 1
            asked[self.number] = flight.asked
            lines.append(json.dumps({"v": 1, "id": self.number, "realm": flight.asked[0].decode(), **user(flight)}))
        number = len(asked)

        def take(line):
            """Returns True if all questions have their answers. Late answers to earlier ones do not count."""
            try:
                row = json.loads(line)
                if row["id"] in asked:
                    realm, name = asked.pop(row["id"])
                    if row["name"].encode() == name:
                        found.add(realm, name, read_answer(self, row))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                raise Trouble("a line is not the JSON that was asked for") from None
            return not asked

        child.exchange("\n".join(lines).encode() + b"\n", take)
        if len(asked) == number:
            raise Trouble("timeout")
        return found.answers
