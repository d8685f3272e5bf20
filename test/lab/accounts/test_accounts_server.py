# SPDX-License-Identifier: BSD-3-Clause
"""A client, slipring, slipring-accounts and a database: users and REST secrets of the database are accepted,
others are not, and slipring-accounts may end and come back.
"""

import os
import sqlite3
import time

import accounts
import lab as labs
from accounts import Accounts, key
from lab import until
from turnlib import SUCCESS, Auth, Silence, rest_credentials

REALM = "turn.test"


def database(path, statement="", *values):
    with sqlite3.connect(path) as connection:
        if not statement:
            connection.execute("create table turnusers_lt (realm, name, hmackey, primary key (realm, name))")
            connection.execute("create table turn_secret (realm, value, primary key (realm, value))")
        else:
            connection.execute(statement, values)
    connection.close()


def add(path, name):
    database(path, "insert into turnusers_lt values (?, ?, ?)", REALM, name, key(name, REALM).hex())


def code(lab, auth):
    """0 if an Allocate is granted, None if there is no answer, otherwise the error code."""
    with lab.client(auth) as client:
        try:
            reply = client.allocate()
        except Silence:
            return None
        if reply.cls != SUCCESS:
            return reply.code
        assert client.refresh(0).cls == SUCCESS
        return 0


def user(name):
    return Auth(name, f"pw-{name}")


def rest(secret):
    return Auth(*rest_credentials(secret, time.time() + 600, "rosa"))


def connected(server):
    return server.telemetry.ask("/slipring/lookup")["connected"] == 1


def main(lab):
    labs.need_own_server()
    accounts.need()
    path = os.path.join(lab.dir, "db")
    database(path)
    add(path, "rosa")
    database(path, "insert into turn_secret values (?, 'of the database')", REALM)
    source = {"type": "sqlite", "file": path}
    program = Accounts(lab.dir, source)
    lookup = {"enabled": True, "socket": os.path.join(lab.dir, "socket")}
    server = lab.server({"auth": {"lookup": lookup}}, allow={"lookup-unanswered", "lookup-waits", "guess-rate"})
    until(lambda: connected(server), 5, "slipring is connected")
    until(lambda: code(lab, user("rosa")) == 0, 10, "a user of the database is accepted")
    assert [code(lab, auth) for auth in (user("Rosa"), user("nobody"), Auth("rosa", "wrong"))] == [401] * 3
    until(lambda: program.secrets(REALM), 10, "the secrets are told")
    until(lambda: code(lab, rest("of the database")) == 0, 10, "a secret of the database is accepted", 0.2)
    assert code(lab, rest("of nobody")) == 401
    database(path, "update turn_secret set value = 'the new one'")
    until(lambda: program.secrets(REALM) == [b"the new one"], 10, "the change is told")
    until(lambda: code(lab, rest("the new one")) == 0, 10, "a new secret is accepted", 0.2)
    assert code(lab, rest("of the database")) == 401
    program.stop()
    until(lambda: not connected(server), 5, "slipring notices")
    assert code(lab, user("rosa")) == 0 and code(lab, rest("the new one")) == 0, "known ones go on"
    add(path, "eva")
    assert code(lab, user("eva")) is None, "others get no answer"
    program = Accounts(lab.dir, source)
    until(lambda: connected(server), 5, "slipring is connected again")
    until(lambda: code(lab, user("eva")) == 0, 10, "a new user is accepted")
    program.stop()
    server.workers()


if __name__ == "__main__":
    labs.run(main)
