# SPDX-License-Identifier: BSD-3-Clause
"""slipring-accounts with programs of a site: HTTPS with certificates on both sides and a token, HTTP that goes
wrong in every way, a program over pipes, and several sources in their order.
"""

import contextlib
import http.server
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

import accounts
import lab as labs
from accounts import KEY, NO_ANSWER, REALM, UNKNOWN, Accounts, key

KNOWN = {(f"user{number}", REALM) for number in range(50)} | {("ivan", REALM), ("иван", REALM), ("ivan", "b.example")}
STRANGERS = [f"stranger{number}" for number in range(300)]
TOKEN = "a-long-token"
CHILD = """
import hashlib, json, os, sys
open(sys.argv[1], "w").write(str(os.getpid()))
for line in sys.stdin:
    asked = json.loads(line)
    name, realm = asked["name"], asked["realm"]
    answer = {"id": asked["id"], "name": name, "unknown": True}
    if name.startswith("user"):
        text = f"{name}:{realm}:pw-{name}".encode()
        answer = {"id": asked["id"], "name": name, "key": hashlib.md5(text).hexdigest(), "ttl": 1}
    print(json.dumps(answer), flush=True)
"""


def right(realm, users):
    """The answers that are true."""
    for user in users:
        name = user["name"]
        if (name, realm) in KNOWN:
            yield {"name": name, "key": key(name, realm).hex(), "key_sha256": key(name, realm, "sha256").hex(), "ttl": 1}
        else:
            yield {"name": name, "unknown": True, "ttl": 1}


class Hook(http.server.ThreadingHTTPServer):
    """Answers as `how(realm, users)` says: (status, content). It counts questions and connections."""

    daemon_threads = True

    def __init__(self, context=None, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.how = lambda realm, users: (200, {"users": list(right(realm, users))})
        self.asked, self.connections, self.requests = [], 0, 0
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def url(self, scheme="http"):
        return f"{scheme}://127.0.0.1:{self.server_address[1]}/turn?box=1"

    def handle_error(self, *_):
        """Refused certificates are part of the test."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    timeout = 20

    def setup(self):
        super().setup()
        self.server.connections += 1

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests += 1
        self.server.asked += [(body["realm"], user) for user in body["users"]]
        good = self.headers["Authorization"] == f"Bearer {TOKEN}" and self.path == "/turn?box=1" and body["v"] == 1
        status, content = self.server.how(body["realm"], body["users"]) if good else (401, {})
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """The test looks at the answers."""


@contextlib.contextmanager
def serving(context=None):
    hook = Hook(context)
    try:
        yield hook
    finally:
        hook.shutdown()
        hook.server_close()


def source(path, hook, scheme="http", **more):
    with open(f"{path}/token", "w") as file:
        file.write(TOKEN + "\n")
    return {"type": "http", "url": hook.url(scheme), "token-file": f"{path}/token", **more}


def https():
    """Both sides verify the other one. Without that there is no answer."""
    with accounts.folder() as path:
        accounts.certificates(path)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{path}/server.pem", f"{path}/server.key")
        context.load_verify_locations(f"{path}/ca.pem")
        context.verify_mode = ssl.CERT_REQUIRED
        with serving(context) as hook:
            for ca, client, kind in (("ca", "client", KEY), ("ca", "eve", NO_ANSWER), ("ca", None, NO_ANSWER),
                ("other", "client", NO_ANSWER), (None, "client", NO_ANSWER)):  # fmt: skip
                files = {"ca": ca and f"{path}/{ca}.pem", "certificate": client and f"{path}/{client}.pem",
                    "key": client and f"{path}/{client}.key"}  # fmt: skip
                tls = {name: file for name, file in files.items() if file}
                program = Accounts(path, source(path, hook, "https", tls=tls))
                assert (program.settled_kinds if kind == KEY else program.kinds)("ivan") == [kind], (ca, client, program.log())
                if kind == KEY:
                    check_names(program, hook)
                else:
                    assert "does not answer" in program.log(), program.log()
                program.stop()


def check_names(program, hook):
    found = program.settled(*sorted(KNOWN))
    assert [answer.kind for answer in found] == [KEY] * len(KNOWN)
    assert all(answer.sha256 for answer in found)
    assert program.settled_kinds("Ivan", "ivan ", ("ivan", "c.example"), "nobody") == [UNKNOWN] * 4
    program.check(KNOWN)
    user = {"name": "иван", "client": "192.0.2.7", "port": 4711, "transport": "udp"}
    assert (REALM, user) in hook.asked, hook.asked
    # many users go together, over few connections
    assert hook.requests < len(hook.asked) and hook.connections <= 4, (hook.requests, hook.connections)


def wrong_answers():
    """Whatever goes wrong is no answer, and never an answer about another user."""
    ways = {
        **{f"status {status}": lambda realm, users, s=status: (s, {"users": list(right(realm, users))})
           for status in (201, 204, 302, 400, 401, 403, 404, 429, 500, 503)},
        "no JSON": lambda *_: (200, b"<html>"),
        "cut off": lambda *_: (200, b'{"users": ['),
        "deep": lambda *_: (200, b"[" * 100000),
        "a list": lambda *_: (200, []),
        "a text": lambda *_: (200, {"users": "ivan"}),
        "rows of nothing": lambda *_: (200, {"users": [None, 5, {}, {"name": 5}]}),
        "nobody": lambda *_: (200, {"users": []}),
        "another user": lambda *_: (200, {"users": [{"name": "eve", "key": "0" * 32}]}),
        "another case": lambda *_: (200, {"users": [{"name": "IVAN", "key": "0" * 32}]}),
        "twice": lambda *_: (200, {"users": [{"name": "ivan", "key": "0" * 32}, {"name": "ivan", "key": "1" * 32}]}),
        "both": lambda *_: (200, {"users": [{"name": "ivan", "key": "0" * 32, "unknown": True}]}),
        "unknown: false": lambda *_: (200, {"users": [{"name": "ivan", "unknown": False}]}),
        "a short key": lambda *_: (200, {"users": [{"name": "ivan", "key": "0" * 31}]}),
        "a surrogate": lambda *_: (200, b'{"users": [{"name": "\\ud800", "key": "0"}]}'),
        "too long": lambda *_: (200, {"users": [], "more": "x" * 2000000}),
        "too late": lambda *_: time.sleep(1.5) or (200, {"users": []}),
    }  # fmt: skip
    with accounts.folder() as path, serving() as hook:
        usual = hook.how
        for label, how in ways.items():
            os.makedirs(f"{path}/x", exist_ok=True)
            hook.how = how
            program = Accounts(f"{path}/x", source(path, hook))
            (answer,) = program.ask("ivan")
            assert answer.kind == NO_ANSWER, (label, answer)
            hook.how = usual
            assert program.settled_kinds("ivan") == [KEY], (label, program.log())
            program.stop()


class Killable:
    """The hook as a database of accounts.outages(): a process of this file."""

    def __init__(self, path):
        self.path = path
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]

    def url(self, _):
        return f"http://127.0.0.1:{self.port}/turn?box=1"

    def start(self):
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), str(self.port)])
        labs.until(self.is_listening, 20, "the hook listens")

    def is_listening(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def signal(self, number):
        os.kill(self.process.pid, number)

    def kill(self):
        self.process.kill()
        self.process.wait()


def failures():
    """A server that is killed and comes back, and one that is stuck, under load."""
    with accounts.folder() as path, accounts.running(Killable(path)) as hook:
        program = Accounts(path, source(path, hook))
        accounts.outages(program, hook, KNOWN, STRANGERS)
        program.stop()


def command():
    """A program over pipes that is killed and that is stuck, under load."""
    with accounts.folder() as path:
        with open(f"{path}/child.py", "w") as file:
            file.write(CHILD)
        words = [accounts.PYTHON, f"{path}/child.py", f"{path}/pid"]
        known = {(f"user{number}", REALM) for number in range(50)}
        program = Accounts(path, {"type": "command", "command": words})
        assert set(program.settled_kinds(*sorted(known))) == {KEY}

        def child():
            with open(f"{path}/pid") as file:
                return int(file.read() or 0)

        with accounts.loaded(program, known, STRANGERS):
            for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGKILL):
                old = child()
                os.kill(old, number)
                labs.until(lambda old=old: child() not in (0, old), 20, "it is started again")
                keys = program.check(known)[KEY]
                labs.until(lambda keys=keys: program.check(known)[KEY] > keys + 100, 20, "it answers")
        print(f"  {dict(program.check(known))}")
        program.stop()
        # a program that ends at once, and one that does not exist
        for words in (["/bin/true"], [f"{path}/missing"]):
            program = Accounts(path, {"type": "command", "command": words})
            assert program.kinds("a", "b") == [NO_ANSWER] * 2
            program.stop()


def several():
    """The sources are asked in their order. If one fails, later ones are not asked."""
    with accounts.folder() as path, serving() as first, serving() as second:
        only = lambda *names: lambda realm, users: (200, {"users": [  # noqa: E731
            {"name": user["name"], "key": key(user["name"], realm).hex(), "ttl": 1} if user["name"] in names
            else {"name": user["name"], "unknown": True, "ttl": 1} for user in users]})  # fmt: skip
        first.how, second.how = only("user1"), only("user1", "user2")
        program = Accounts(path, [source(path, first), source(path, second)])
        assert program.settled_kinds("user1", "user2", "user3") == [KEY, KEY, UNKNOWN]
        assert {user["name"] for _, user in second.asked} == {"user2", "user3"}
        first.how = lambda *_: (503, {})
        assert program.kinds("user4") == [NO_ANSWER]
        second.how, first.how = first.how, only("user1", "user5")
        assert program.settled_kinds("user5") == [KEY]
        assert program.kinds("user6") == [NO_ANSWER]
        program.stop()


if __name__ == "__main__":
    if sys.argv[1:]:
        Hook(port=int(sys.argv[1]))
        threading.Event().wait()  # until it is killed
    accounts.need("openssl")
    accounts.main((https, wrong_answers, failures, command, several))
