#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: the calls through coturn, too; lookup and accounts_sql have the parts under ASan
"""A site moves from coturn with PostgreSQL to slipring with slipring-accounts: coturn's own client, with the
same users and the same secret, calls through one server and then through the other. Then the database
changes, dies and comes back, under a call that goes on.
"""

import subprocess
import time

import accounts
import lab as labs
import server as servers
import uclient
from accounts import POSTGRESQL, Accounts, Postgresql
from lab import PEER4, SERVER4, until
from turnlib import SUCCESS, Auth, Silence, rest_credentials

SCHEMA = "/usr/share/coturn/schema.sql"
REALM = "turn.test"
USER, REST, REST_LATER = ("-u", "ivan", "-w", "pw"), ("-u", "rosa", "-W", "one"), ("-u", "rosa", "-W", "two")


class Site(Postgresql):
    """The database, filled by coturn's own programs."""

    def fill(self):
        with open(SCHEMA) as file:
            self(file.read())
        self.add_user("ivan", "pw")
        self.admin("-s", "one")

    def admin(self, *options):
        labs.command("turnadmin", *options, "-r", REALM, "-e", self.conninfo())

    def add_user(self, name, password):
        self.admin("-a", "-u", name, "-p", password)


def start(lab, user, label="call", messages=50):
    label = f"{label} of {user[1]}, {user[3]}"
    return uclient.start(lab, label, SERVER4, PEER4, "-c", clients=2, messages=messages, user=user)


def calls(lab, label, *users):
    """Every user's calls are complete."""
    bad = uclient.finish([start(lab, user, label) for user in users])
    assert not bad, bad


def by_coturn(lab, site):
    """coturn takes users or secrets, not both, so it runs twice."""
    for options, user in ((("--lt-cred-mech",), USER), (("--use-auth-secret",), REST)):
        process = lab.popen(
            lab.dut, "turnserver", "-n", "-m", "1", *options, f"--realm={REALM}",
            f"--psql-userdb={site.conninfo()}", "--no-tls", "--no-dtls", "--no-cli",
            f"--listening-ip={SERVER4}", f"--relay-ip={SERVER4}", "--log-file=stdout", "--simple-log",
            f"--pidfile={lab.dir}/coturn.pid", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        with lab.client() as probe:
            until(lambda: servers.answers(probe), 15, "coturn answers")
        calls(lab, "by coturn", user)
        labs.end_process(process)


def code(lab, auth):
    """0 if an allocation is granted, else the error."""
    with lab.client(auth) as client:
        answer = client.allocate()
        if answer.cls != SUCCESS:
            return answer.code
        assert client.refresh(0).cls == SUCCESS
        return 0


def rest(secret):
    return Auth(*rest_credentials(secret, time.time() + 600, "rosa"))


def is_silent(lab, auth):
    try:
        code(lab, auth)
    except Silence:
        return True
    return False


def changes(lab, site):
    """Changes in the database, which slipring follows without a reload."""
    assert code(lab, Auth("ivan", "wrong")) == 401
    assert code(lab, Auth("olga", "pw of olga")) == 401
    site.add_user("olga", "pw of olga")
    until(lambda: code(lab, Auth("olga", "pw of olga")) == 0, 10, "the new user is known", 0.1)
    site.admin("-X", "one")
    site.admin("-s", "two")
    until(lambda: code(lab, rest("two")) == 0, 15, "the new secret is known", 0.1)
    assert code(lab, rest("one")) == 401
    calls(lab, "after changes", ("-u", "olga", "-w", "pw of olga"), REST_LATER)


def outage(lab, server, site, program):
    """The database dies. Calls and known users go on; of others nobody can say that they are unknown."""
    nina = Auth("nina", "pw of nina")
    site.add_user(nina.user, nina.password)
    call = start(lab, USER, "call during the outage", messages=700)
    with lab.client(Auth("ivan", "pw")) as held:
        assert held.allocate().cls == SUCCESS
        held.relay(lab.echo())
        site.kill()
        until(lambda: is_silent(lab, nina), 10, "an unknown user gets no answer")
        assert server.drops()["lookup-unanswered"] > 0
        assert held.refresh().cls == SUCCESS
        held.send_channel(0x4000, b"still here")
        assert held.wait("channel") == ("channel", 0x4000, b"still here")
        assert (code(lab, Auth("ivan", "pw")), code(lab, rest("two"))) == (0, 0)
        assert call.process.poll() is None, "the call was too short"
        site.start()
        until(lambda: not is_silent(lab, nina), 60, "the source is asked again")
        until(lambda: accounts.up(program), 10, "it is up")
        assert code(lab, nina) == 0
        assert held.refresh().cls == SUCCESS
    bad = uclient.finish([call])
    assert not bad, bad
    calls(lab, "after the outage", USER, ("-u", "nina", "-w", "pw of nina"), REST_LATER)


def main(lab):
    labs.need_own_server()
    accounts.need(f"{POSTGRESQL}/initdb", SCHEMA, "turnadmin")
    uclient.start_peer(lab)
    with accounts.folder() as path, accounts.running(Site(f"{path}/postgresql")) as site:
        site.fill()
        if labs.LONG:
            by_coturn(lab, site)
        program = Accounts(path, [site.source()])
        auth = {"users": [], "secrets": [], "lookup": {"enabled": True, "socket": f"{path}/socket"}}
        server = lab.server({"auth": auth}, allow={"lookup-unanswered", "lookup-waits"})
        connected = lambda: server.telemetry.ask("/slipring/lookup")["connected"] == 1
        until(connected, 5, "slipring is connected")
        calls(lab, "by slipring", USER, REST)
        changes(lab, site)
        outage(lab, server, site, program)
        server.finish()
        program.stop()


if __name__ == "__main__":
    labs.run(main, port="packet")
