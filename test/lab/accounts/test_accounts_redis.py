# SPDX-License-Identifier: BSD-3-Clause
"""slipring-accounts with a Redis that has the keys of coturn: who is known, whose key it is, REST secrets, and
what happens while the server is dead or stuck.
"""

import os
import socket

import accounts
import lab as labs
from accounts import KEY, NO_ANSWER, REALM, UNKNOWN, Accounts, Database, key

KNOWN = {(f"user{number}", realm) for number in range(50) for realm in (REALM, "other.example")}
KNOWN |= {("ivan", REALM), ("Ivan", REALM), ("иван", REALM), ("a b", REALM), ("a/b", REALM)}
STRANGERS = [f"stranger{number}" for number in range(300)]


class Redis(Database):
    def command(self):
        return ("redis-server", "--port", "0", "--unixsocket", f"{self.path}/socket", "--dir", self.path,
            "--save", "", "--appendonly", "yes", "--appendfsync", "always")  # fmt: skip

    def answers(self):
        if self("PING") != "PONG":
            raise RuntimeError("not yet")

    def __call__(self, *words):
        return self.run("redis-cli", "-s", f"{self.path}/socket", *words).strip()

    def fill(self):
        lines = [f'SET "turn/realm/{realm}/user/{name}/key" {key(name, realm).hex()}\n' for name, realm in KNOWN]
        self.run("redis-cli", "-s", f"{self.path}/socket", input="".join(lines))
        self("SADD", f"turn/realm/{REALM}/secret", "one", "two words")


def answers():
    """Known and unknown names, other realms, and secrets that change."""
    with accounts.folder() as path, accounts.running(Redis(f"{path}/redis")) as redis:
        redis.fill()
        program = Accounts(path, [{"type": "redis", "socket": f"{redis.path}/socket"}])
        assert program.settled_kinds(*sorted(KNOWN)) == [KEY] * len(KNOWN)
        others = ("IVAN", "ivan ", " ivan", "ivan\n", "*", "user?", ("ivan", "other.example"), ("ivan", ""))
        assert program.settled_kinds(*others) == [UNKNOWN] * len(others)
        program.check(KNOWN)
        labs.until(lambda: program.secrets(REALM) == [b"one", b"two words"], 10, "secrets are told")
        redis("SREM", f"turn/realm/{REALM}/secret", "one")
        redis("SADD", "turn/realm/new.example/secret", "three")
        labs.until(lambda: program.secrets(REALM) == [b"two words"], 10, "a change is told")
        labs.until(lambda: program.secrets("new.example") == [b"three"], 10, "a new realm is told")
        redis("DEL", "turn/realm/new.example/secret")
        labs.until(lambda: program.secrets("new.example") == [], 10, "the end of a list is told")
        # keys that cannot be right: coturn would take the first 32 digits
        redis("SET", f"turn/realm/{REALM}/user/long/key", "0" * 64)
        redis("SADD", f"turn/realm/{REALM}/user/set/key", "0" * 32)
        assert (program.kinds("long"), program.settled_kinds("set")) == ([NO_ANSWER], [UNKNOWN])
        # one key that two realms could have
        redis("SET", "turn/realm/a/user/b/user/c/key", "0" * 32)
        assert program.settled_kinds(("c", "a/user/b"), ("b/user/c", "a")) == [UNKNOWN, UNKNOWN]
        # a user is deleted, and another one comes
        redis("DEL", f"turn/realm/{REALM}/user/ivan/key")
        labs.until(lambda: program.kinds("ivan") == [UNKNOWN], 10, "a deletion is seen", 0.2)
        redis("SET", f"turn/realm/{REALM}/user/ivan/key", key("ivan").hex())
        labs.until(lambda: program.kinds("ivan") == [KEY], 10, "the user is back", 0.2)
        program.stop()


def failures():
    """A server that is killed and comes back, and one that is stuck, under load."""
    with accounts.folder() as path, accounts.running(Redis(f"{path}/redis")) as redis:
        redis.fill()
        program = Accounts(path, [{"type": "redis", "socket": f"{redis.path}/socket"}])
        accounts.outages(program, redis, KNOWN, STRANGERS)
        program.stop()


def login():
    """A password, and one that is wrong: no answer, and the reason in the log."""
    with accounts.folder() as path, accounts.running(Redis(f"{path}/redis")) as redis:
        redis.fill()
        redis("ACL", "SETUSER", "reader", "on", ">secret", "~turn/*", "+mget", "+scan", "+smembers")
        for password, kind in (("secret", KEY), ("wrong", NO_ANSWER)):
            os.makedirs(f"{path}/{password}")
            source = {"type": "redis", "socket": f"{redis.path}/socket", "user": "reader", "password": password}
            program = Accounts(f"{path}/{password}", [source])
            assert (program.settled_kinds if kind == KEY else program.kinds)("ivan") == [kind]
            program.stop()
        assert "does not answer: AuthenticationError" in program.log() or "WRONGPASS" in program.log(), program.log()


def tls():
    """Certificates on both sides. Without them, or for another name, there is no answer."""
    with accounts.folder() as path:
        accounts.certificates(path)
        with accounts.running(Redis(f"{path}/redis")) as redis:
            redis.fill()
            with socket.create_server(("127.0.0.1", 0)) as probe:
                port = probe.getsockname()[1]
            for name, file in (("ca-cert-file", "ca.pem"), ("cert-file", "server.pem"), ("key-file", "server.key")):
                redis("CONFIG", "SET", f"tls-{name}", f"{path}/{file}")
            redis("CONFIG", "SET", "tls-port", str(port))
            for host, ca, client, kind in (("127.0.0.1", "ca", "client", KEY), ("127.0.0.1", "other", "client", NO_ANSWER),
                ("127.0.0.1", "ca", "eve", NO_ANSWER), ("localhost", "ca", "client", NO_ANSWER)):  # fmt: skip
                files = {"ca": f"{path}/{ca}.pem", "certificate": f"{path}/{client}.pem", "key": f"{path}/{client}.key"}
                program = Accounts(path, {"type": "redis", "host": host, "port": port, "tls": files})
                found = (program.settled_kinds if kind == KEY else program.kinds)("ivan")
                assert found == [kind], (host, ca, client, program.log())
                program.stop()


if __name__ == "__main__":
    accounts.need("redis-server", "redis-cli")
    accounts.main((answers, failures, login, tls))
