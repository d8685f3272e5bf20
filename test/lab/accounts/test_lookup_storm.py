#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An outage ends, and 10,000 clients come back at once, each of another user who has to be looked up in
a database: all of them get in, and a call goes on without a loss. It prints how long that takes.
"""

import hashlib
import os
import sqlite3

import accounts
import lab as labs
from accounts import Accounts
from lab import PEER4, until
from loadgen import Generator, probes
from turnlib import SUCCESS

CLIENTS = 10_000
REALM = "turn.test"


def database(path):
    with sqlite3.connect(path) as connection:
        connection.execute("create table turnusers_lt (realm, name, hmackey, primary key (realm, name))")
        key = lambda name: hashlib.md5(f"{name}:{REALM}:pw".encode()).hexdigest()
        rows = ((REALM, f"user{i}", key(f"user{i}")) for i in range(CLIENTS))
        connection.executemany("insert into turnusers_lt values (?, ?, ?)", rows)
    connection.close()


def main(lab):
    labs.need_own_server()
    accounts.need()
    path = os.path.join(lab.dir, "db")
    database(path)
    cache = {"lifetime": 300, "unknown": 10, "stale": 600}
    program = Accounts(lab.dir, {"type": "sqlite", "file": path}, cache=cache)
    lookup = {"enabled": True, "socket": os.path.join(lab.dir, "socket")}
    lookup["each"] = {"rate": 100_000, "burst": 100_000}  # four addresses stand for ten thousand
    config = {"auth": {"lookup": lookup}, "limits": {"per-user": 10, "allocations": 2 * CLIENTS}}
    allow = {"lookup-unanswered", "lookup-waits", "lookup-room", "request-backlog", "request-client"}
    allow |= {"request-known", "neighbour-hold-full"}
    server = lab.server(config, allow=allow)
    until(lambda: server.telemetry.ask("/slipring/lookup")["connected"] == 1, 5, "connected")
    generator, echo = Generator(lab), lab.echo(PEER4)
    with lab.client(labs.ivan()) as caller:
        assert caller.allocate().cls == SUCCESS and caller.bind(0x4000, echo.address).cls == SUCCESS
        run = generator.start(
            *probes("--clients", str(CLIENTS), "--user", "user", "--user-per-client", "--password", "pw"),
            *("--mode", "alloc-hold", "--setup-rate", "0", "--window", str(CLIENTS), "--duration", "1"),
        )
        rounds = 0
        while run.process.poll() is None:
            caller.send_channel(0x4000, b"media")
            assert caller.wait("channel") == ("channel", 0x4000, b"media")
            rounds += 1
        result = run.result()
    stats = server.stats()
    print(f"{CLIENTS} clients in {result['setup_seconds']:.2f} s, {stats['lookups']} questions, "
          f"{stats['lookups_known']} answers, {rounds} rounds of the call")  # fmt: skip
    assert stats["lookups_known"] >= CLIENTS, stats
    assert stats["lookups"] < CLIENTS * 1.2, stats
    program.stop()


if __name__ == "__main__":
    labs.run(main)
