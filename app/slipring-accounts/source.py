# SPDX-License-Identifier: BSD-3-Clause
"""A source of keys: a store or a program that knows users. Each has threads of its own with a connection for
each, so a slow source delays nobody else, and a client library is never interrupted in the middle of an
answer: it would give that answer to the next question. A failure closes the connection.
"""

import importlib
import queue
import re
import ssl
import sys
import threading
import time

from breaker import Breaker
from records import Found, Unknown

BATCH = 64  # questions in one request
TIMEOUT_S = 1  # for an answer of a source
AGAIN_S = 0.2  # a connection that fails within this time is made again at once
POLL_S = 5  # between two readings of the secrets


class Trouble(Exception):
    """Something is wrong with a source; the text has no name, key or secret."""


def say(text):
    print(f"slipring-accounts: {text}", file=sys.stderr, flush=True)


def library(module, package):
    """A client library. Only the libraries of configured sources are needed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise Trouble(f"no module {module}: apt-get install {package}") from None


def digits(text, number):
    """The bytes of that number of hexadecimal digits, or None. CHAR columns are padded with blanks."""
    text = (text if isinstance(text, bytes) else str(text or "").encode()).rstrip(b" ")
    return bytes.fromhex(text.decode()) if re.fullmatch(rb"[0-9A-Fa-f]{%d}" % number, text) else None


class Source:
    """Subclasses have connect(), look_up(connection, flights), secrets(connection) and close(connection)."""

    threads = 1
    has_secrets = False

    def __init__(self, settings, index):
        self.settings = settings
        self.title = f"source {index + 1} ({settings['type']})"
        self.breaker = Breaker()
        self.flights = queue.SimpleQueue()
        self.told = set()
        self.counts = {"requests": 0, "questions": 0, "failures": 0, "latency_seconds_sum": 0.0}
        self.error = ""
        self.load()

    def load(self):
        """Imports the client library."""

    def close(self, connection):
        connection.close()

    def say_once(self, text):
        if text not in self.told:
            self.told.add(text)
            say(f"{self.title}: {text}")

    def found(self, key, sha256=None, ttl=None):
        """The keys of a user as the store has them, or None if they cannot be right."""
        md5, sha256_key = digits(key, 32) if key else b"", digits(sha256, 64) if sha256 else b""
        if md5 is None or sha256_key is None or not (md5 or sha256_key):
            self.say_once("a key is not 32 hexadecimal digits (key_sha256: 64): there is no answer for such users")
            return None
        return Found(md5, sha256_key, ttl)

    # --- in the thread of the event loop

    def ask(self, flight):
        self.flights.put(flight)

    def start(self, answered, got_secrets):
        """Starts the threads. They call answered(flights, answers) and got_secrets({realm: secrets} or None)."""
        for _ in range(self.threads):
            threading.Thread(target=self.work, args=(answered,), daemon=True).start()
        if self.has_secrets:
            threading.Thread(target=self.poll, args=(got_secrets,), daemon=True).start()

    def state(self):
        return {"source": self.title, "up": self.breaker.is_up(), "error": self.error, **self.counts}

    # --- in threads of the source

    def work(self, answered):
        connection = None
        while True:
            flights = [self.flights.get()]
            while len(flights) < BATCH and not self.flights.empty():
                flights.append(self.flights.get())
            # the flights that are over have got their answers
            wanted = [flight for flight in flights if not flight.is_over]
            answers = {}
            if wanted:
                self.counts["requests"] += 1
                self.counts["questions"] += len(wanted)
                connection, answers = self.attempt(connection, lambda c, w=wanted: self.look_up(c, w))
            answered(flights, answers or {})

    def poll(self, got_secrets):
        connection = None
        while True:
            connection, lists = self.attempt(connection, self.secrets)
            got_secrets(lists)
            time.sleep(POLL_S)

    def attempt(self, connection, action):
        """(connection, result) of action(connection). Without a result if it failed, and without a connection."""
        if not self.breaker.may_ask():
            return connection, None
        begin = time.monotonic()
        try:
            if connection is not None:
                try:
                    return connection, self.succeed(action(connection))
                except Exception as error:  # noqa: BLE001: as below
                    if isinstance(error, Trouble) or time.monotonic() - begin > AGAIN_S:
                        raise
                    # the server may have closed a connection that was idle, or may be a new one
                    self.give_up(connection)
                    connection = None
            connection = self.connect()
            return connection, self.succeed(action(connection))
        except Exception as error:  # noqa: BLE001: libraries raise what they like
            self.give_up(connection)
            self.fail(error)
            return None, None
        finally:
            self.counts["latency_seconds_sum"] += time.monotonic() - begin

    def succeed(self, result):
        if self.breaker.good():
            say(f"{self.title}: answers again")
        return result

    def give_up(self, connection):
        if connection is not None:
            try:
                self.close(connection)
            except Exception:  # noqa: BLE001,S110: it is given up anyway
                pass

    def fail(self, error):
        self.counts["failures"] += 1
        self.error = self.describe(error)
        if self.breaker.bad():
            say(f"{self.title}: does not answer: {self.error}")

    def describe(self, error):
        """An error without what it may quote of a question."""
        if isinstance(error, Trouble):
            return str(error)
        if isinstance(error, OSError):
            return error.strerror or type(error).__name__
        return type(error).__name__


class Rows:
    """Collects rows of a store. Only rows about a user who was asked for count, byte by byte: stores may
    compare without case or trailing blanks. Two rows about one user cannot both be right.
    """

    def __init__(self, flights):
        self.answers = {flight.asked: Unknown() for flight in flights}
        self.seen = set()

    def add(self, realm, name, answer):
        """answer is Found, Unknown or None."""
        asked = realm, name
        if asked not in self.answers:
            return
        self.answers[asked] = None if asked in self.seen else answer
        self.seen.add(asked)


def tls_context(tls):
    """Verifies the server, by the system's authorities or by given ones."""
    context = ssl.create_default_context(cafile=tls.get("ca"))
    if tls.get("certificate"):
        context.load_cert_chain(tls["certificate"], tls.get("key"))
    return context
