# SPDX-License-Identifier: BSD-3-Clause
"""Refusal reasons: a real client provokes each, and the test checks the client's answer,
slipringctl explain and the records. The lists of reasons come from the C sources.
"""

import contextlib
import itertools
import os
import re
import time
from dataclasses import dataclass

import lab as labs
from control import Control
from lab import until
from turnlib import SUCCESS, Auth, rest_credentials

SECRET = "reasons"
# Each client is in a /24 of its own: the server remembers at most 16 addresses of one (attempts.c).
NETWORK = "/16"  # prefix length of the server's address
_networks = itertools.count(1)


@dataclass
class Case:
    """A client that provokes a reason. run(me) returns the answer, or None if there is no answer."""

    reason: str
    code: int
    method: str
    proved: bool  # True if the client has proved that its address is its own
    named: bool  # True if the request contains a user name
    run: callable


class Cases:
    """A table of cases. The decorator case() adds a function, whose name is the name of the reason."""

    def __init__(self):
        self.rows = []

    def case(self, code=0, method="Allocate", proved=True, named=True):
        def add(run):
            reason = run.__name__.replace("_", "-")
            self.rows.append(Case(reason, code, method, proved, named, run))
            return run

        return add


class Me:
    """The client of one case. Its address is unique, and its REST name is the reason."""

    def __init__(self, lab, server, case):
        self.lab, self.server, self.case = lab, server, case
        self.ip = address(lab)
        self.user = case.reason

    def client(self, auth=None, user=None):
        self.user = auth.user if auth else user or self.case.reason
        return self.lab.client(auth or rest(self.user), ip=self.ip)

    def allocated(self, **kwargs):
        client = self.client(**kwargs)
        answer = client.allocate()
        assert answer.cls == SUCCESS, (self.case.reason, answer)
        return client

    def challenged(self, **kwargs):
        client = self.client(**kwargs)
        client.challenge()
        return client


def rest(name, after=600, secret=SECRET):
    return Auth(*rest_credentials(secret, time.time() + after, name))


def address(lab):
    """One more socket of the client host."""
    ip = f"10.99.{next(_networks)}.2"
    lab.add_address(lab.cli, "c0", ip)
    return ip


def listed(path, macro):
    """The names in an X-list of reasons in a header, with their codes if they have codes."""
    with open(os.path.join(labs.TOP, path)) as file:
        text = file.read().replace("\\\n", " ")
    body = next(line for line in text.splitlines() if line.startswith(f"#define {macro}(X)"))
    rows = re.findall(r'X\(\w+,\s*(?:(\d+),\s*)?"([a-z0-9-]+)"', body)
    assert len(rows) == body.count("X("), rows
    return {name: int(code or 0) for code, name in rows}


def provoke(lab, server, case):
    """Runs a case and returns the client that was refused."""
    me = Me(lab, server, case)
    answer = case.run(me)
    assert (answer.code if answer else 0) == case.code, (case.reason, answer)
    return me


def host(client):
    """A client address in the format of records: 192.0.2.1:5, [2001:db8::1]:5, or without a port."""
    if client.startswith("["):
        return client[1:].split("]")[0]
    return client.split(":")[0] if client.count(":") == 1 else client


def attempt(ask, me, **whom):
    """The row that explain has about it, or None."""
    rows = ask.ask("explain", **whom)["rows"]
    mine = lambda r: r.get("why") == me.case.reason and host(r.get("client", "")) == me.ip
    return next(filter(mine, rows), None)


def told(ask, lab, server, me):
    """Waits until explain has the refusal. Stream threads fold refusals of two sources into one if
    both hash to one slot (lib/stream/refused.h): then the case runs again from another source.
    """
    for _ in range(5):
        try:
            until(lambda: attempt(ask, me, source=me.ip), 2, "it is told")
            return me
        except AssertionError:
            me = provoke(lab, server, me.case)
    raise AssertionError(f"{me.case.reason} is not explained")


def explained(ask, me, event="refused"):
    """Explain finds the refusal by the client's address, and by the user name if there is one."""
    case = me.case
    places = [{"source": me.ip}] + [{"user": me.user}] * case.named
    for whom in places:
        row = attempt(ask, me, **whom)
        assert row, f"{case.reason} of {whom}"
        assert row["event"] == event, row
        assert row["text"] and row["advice"] and 0 <= row["ago"] <= 60 * labs.SLOW, row
        assert row["proved"] is case.proved, row
        if event == "refused":
            assert (row["code"], row["method"]) == (case.code, case.method), row
        assert not case.named or row["user"].endswith(me.user), row


def recorded(path, people):
    """Each refusal has a record, too."""

    def missing():
        rows = labs.records(path)
        found = {(row.get("why"), row.get("code", 0), host(row.get("client", ""))) for row in rows}
        return [me.case.reason for me in people if (me.case.reason, me.case.code, me.ip) not in found]

    with contextlib.suppress(AssertionError):
        until(lambda: not missing(), 15, "the records")
    assert not missing(), missing()


def check(lab, server, cases, event="refused"):
    """Runs all cases on one server; see config()."""
    begin = time.monotonic()
    people = [provoke(lab, server, case) for case in cases.rows]
    with Control(server.config["control"]["socket"]) as ask:
        people = [told(ask, lab, server, me) for me in people]
        for me in people:
            explained(ask, me, event)
    recorded(server.config["records"]["file"], people)
    print(f"{len(people)} reasons in {time.monotonic() - begin:.1f} s:", *(m.case.reason for m in people))


def config(lab, name, **more):
    """The server of such a test has a control socket, records and REST users."""
    users = [{"name": "ivan", "password": "pw"}, {"name": "olga", "password": "geheim"}]
    return {
        "control": {"socket": os.path.join(lab.dir, name + ".sock")},
        "records": {"file": os.path.join(lab.dir, name + ".json")},
        "auth": {"realm": "turn.test", "users": users, "secrets": [SECRET]},
        "workers": {"count": 1},  # rates are divided among the workers
        **more,
    }


def complete(path, macro, tables, elsewhere):
    """Each reason of a list is in a table, or in `elsewhere` with a cause, and the clients got the
    codes of the list."""
    names = listed(path, macro)
    cases = {case.reason: case.code for cases in tables for case in cases.rows}
    assert not set(cases) - set(names), set(cases) - set(names)
    left = set(names) - set(cases) - set(elsewhere)
    assert not left, f"no test provokes {left}"
    for reason, code in cases.items():
        assert names[reason] == code, (reason, code, names[reason])
