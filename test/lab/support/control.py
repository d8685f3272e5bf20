# SPDX-License-Identifier: BSD-3-Clause
"""The control socket of a server under test: requests over the socket, and slipringctl."""

import json
import os
import socket
import subprocess

import lab as labs

PROGRAM = os.path.join(labs.BUILD, "app/slipringctl/slipringctl")


def for_everybody(lab):
    """A copy of slipringctl that every user may run, with the modules that it finds next to itself."""
    return os.path.join(lab.public(os.path.dirname(PROGRAM)), os.path.basename(PROGRAM))


class Control:
    """A client of the socket."""

    def __init__(self, path, timeout=20):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(timeout * labs.SLOW)
        self.sock.connect(path)
        self.rest = b""

    def line(self):
        """The next answer, or None if the server has closed."""
        while b"\n" not in self.rest:
            try:
                more = self.sock.recv(65536)
            except ConnectionError:
                return None
            if not more:
                return None
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def raw(self, data):
        """Sends bytes and returns the next answer."""
        self.sock.sendall(data)
        return self.line()

    def answer(self, command, **fields):
        """The answer to a request, success or error, or None if the server has closed."""
        return self.raw(json.dumps({"v": 1, "cmd": command, **fields}).encode() + b"\n")

    def refused(self, command, **fields):
        """The error text of a request that must be refused."""
        answer = self.answer(command, **fields)
        assert answer["ok"] is False and answer["v"] == 1, answer
        return answer["error"]

    def ask(self, command, **fields):
        answer = self.answer(command, **fields)
        assert answer["ok"] is True and answer["v"] == 1, answer
        return answer

    def all(self, command, **fields):
        """The rows of all pages."""
        rows, page = [], 0
        while page is not None:
            answer = self.ask(command, page=page, **fields)
            rows += answer["rows"]
            page = answer.get("next")
        return rows

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def ctl(path, *args, code=0, env=None):
    """Runs slipringctl, which must exit with code. Returns its output, with stderr if code is not
    0."""
    done = subprocess.run(
        [PROGRAM, "--socket", path, *args], capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, **(env or {})}
    )  # fmt: skip
    assert done.returncode == code, (args, done)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout if code == 0 else done.stdout + done.stderr
