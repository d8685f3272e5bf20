# SPDX-License-Identifier: BSD-3-Clause
"""slipring-accounts: tells slipring the keys of users, which it finds in a database or asks of another
program (doc/accounts.md).
"""

import argparse
import asyncio
import json
import os
import signal
import socket
import sys
import time

import config
import records
import server
import source
import source_hook
import source_redis
import source_sql
from build import VERSION
from desk import Desk, Flight
from memory import Memory
from records import Found, Question, Unknown
from source import Trouble, say

DEFAULT = "/etc/slipring/accounts.yaml"
STATUS_S = 1
KINDS = {
    "redis": source_redis.Redis,
    "postgresql": source_sql.Postgresql,
    "mariadb": source_sql.Mariadb,
    "sqlite": source_sql.Sqlite,
    "http": source_hook.Http,
    "command": source_hook.Command,
}
KNOWN, NO_ANSWER, UNKNOWN = 0, 1, 3  # exit codes of --ask
LOCAL = socket.inet_pton(socket.AF_INET6, "::ffff:127.0.0.1")


def options(argv):
    parser = argparse.ArgumentParser(
        prog="slipring-accounts", allow_abbrev=False,
        description="Tells slipring the keys of users, from a database or another program.",
        epilog="exit codes: 0 ended by SIGTERM or SIGINT, checked, or known; 1 cannot run, or no answer;"
        " 2 wrong options or configuration; 3 unknown",
    )  # fmt: skip
    parser.add_argument("-c", "--config", metavar="FILE", default=DEFAULT, help=f"configuration (default: {DEFAULT})")
    parser.add_argument("--check", action="store_true", help="check the configuration, and exit")
    parser.add_argument("--ask", metavar=("REALM", "NAME"), nargs=2,
        help="ask the sources about a user, print what each says and how long it took, and exit")
    parser.add_argument("--version", action="version", version=f"slipring-accounts {VERSION}")
    return parser.parse_args(argv)  # fmt: skip


def opened(settings):
    """The sources of a configuration."""
    return [KINDS[one["type"]](one, index) for index, one in enumerate(settings["source"])]


def ask(sources, realm, name):
    """Asks one source after another, like questions of slipring, and prints no key."""
    question = Question(1, 0, LOCAL, 0, os.fsencode(realm), os.fsencode(name))
    flight = Flight((question.realm, question.name), question, 0)
    for one in sources:
        begin, answer, error = time.monotonic(), None, ""
        try:
            answer = one.look_up(one.connect(), [flight])[flight.asked]
        except Exception as failure:  # noqa: BLE001: libraries raise what they like
            error = f": {one.describe(failure)}"
        word = {Found: "known", Unknown: "unknown"}.get(type(answer), "no answer")
        print(f"{one.title}: {word}{error} ({(time.monotonic() - begin) * 1000:.1f} ms)")
        if not isinstance(answer, Unknown):
            return KNOWN if answer else NO_ANSWER
    return UNKNOWN


class Program:
    def __init__(self, settings, sources):
        self.settings, self.sources = settings, sources
        self.connections = set()
        self.status_path = os.path.join(os.path.dirname(settings["socket"]["path"]), "status.json")

    async def run(self):
        loop = asyncio.get_running_loop()
        cache = self.settings["cache"]
        self.memory = Memory(cache["lifetime"], cache["unknown"], cache["stale"])
        self.desk = Desk(loop, self.memory, self.sources)
        secrets = server.Secrets(
            self.connections, [index for index, one in enumerate(self.sources) if one.has_secrets]
        )
        place = self.settings["socket"]
        listening = await loop.create_unix_server(
            lambda: server.Connection(loop, self.connections, secrets, self.desk),
            sock=server.listener(place["path"], place["group"]),
        )
        for index, one in enumerate(self.sources):
            one.start(
                lambda flights, answers, i=index: loop.call_soon_threadsafe(self.desk.hear, i, flights, answers),
                lambda lists, i=index: loop.call_soon_threadsafe(secrets.hear, i, lists),
            )
        ended = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, ended.set)
        while not ended.is_set():
            self.write_status()
            try:
                await asyncio.wait_for(ended.wait(), STATUS_S)
            except asyncio.TimeoutError:
                continue
        listening.close()

    def write_status(self):
        """For people and monitoring: counters since the start, and the state of each source."""
        status = {
            "version": VERSION, "time": round(time.time(), 3), "connections": len(self.connections), **self.desk.counts,
            "waiting": self.desk.waiting, "users": len(self.memory.found), "unknown_names": len(self.memory.missing),
            "sources": [one.state() for one in self.sources],
        }  # fmt: skip
        try:
            with open(self.status_path + ".new", "w") as file:
                json.dump(status, file)
            os.rename(self.status_path + ".new", self.status_path)
        except OSError as error:
            self.sources[0].say_once(f"{self.status_path}: {error.strerror}")


def main(argv):
    given = options(argv)
    try:
        if config.yaml is None:
            raise Trouble("no module yaml: apt-get install python3-yaml")
        sources = opened(settings := config.load(given.config))
        if given.check:
            print(f"{given.config}: good")
            return 0
        if given.ask:
            return ask(sources, *given.ask)
        asyncio.run(Program(settings, sources).run())
    except config.Wrong as error:
        print(f"slipring-accounts: {error}", file=sys.stderr)
        return 2
    except (Trouble, OSError) as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)  # threads of sources may wait for an answer
