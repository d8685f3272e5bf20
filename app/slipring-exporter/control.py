# SPDX-License-Identifier: BSD-3-Clause
"""Asks slipring's control socket, for the status page: the busiest users and allocations, the warnings of
slipringctl status, and the text of the last reload. These have names and addresses, and the socket can
also end calls, so the operator must allow its use (--control). The exporter sends four commands that
change nothing.

A list of the busiest makes slipring read every allocation. So the exporter asks for lists only while
somebody looks at the page, and for one at a time. The longer a list takes, the longer is the pause.
"""

import json
import socket
import threading
import time

LONGEST = 1 << 20  # bytes of an answer
ROWS = 10
FACTS_S, LISTS_S = 2, 120  # limits for an answer
WATCHED_S = 15  # somebody looks at the page if it was polled within this time
PAUSE_S, SHARE = 3, 20  # minimum pause after a list, and pause as a multiple of slipring's time for it
RATE_S = 1  # slipring waits this long between the two samples of a rate
QUESTIONS = {
    "facts": ({"cmd": "status"}, {"cmd": "config"}),
    "users": ({"cmd": "users", "sort": "bitrate", "rows": ROWS},),
    "allocations": ({"cmd": "allocations", "sort": "bitrate", "rows": ROWS},),
}


def ask(path, timeout, *commands):
    """The answers to commands. Raises ValueError or OSError, with a text for people, without them."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(timeout)
        sock.connect(path)
        answers = []
        with sock.makefile("rb") as file:
            for command in commands:
                sock.sendall(json.dumps({"v": 1, **command}).encode() + b"\n")
                answer = json.loads(file.readline(LONGEST) or "{}")
                if not isinstance(answer, dict):
                    raise ValueError("the program that answers there is not slipring")
                if answer.get("ok") is not True:
                    raise ValueError(str(answer.get("error", "no answer")))
                answers.append(answer)
        return answers


class Control:
    """Two threads that ask while somebody looks: one for facts, one for lists."""

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()  # guards the fields below
        self.found = {}  # by name: {"at": time.monotonic, "answers": ..., "error": ...}
        self.looked = None  # when somebody looked last
        self.wanted = [threading.Event(), threading.Event()]
        for event, names in zip(self.wanted, (("facts",), ("users", "allocations"))):
            threading.Thread(target=self.work, args=(event, names), daemon=True).start()

    def get(self):
        """The newest answers by name; the next ones come later."""
        now = time.monotonic()
        with self.lock:
            self.looked = now
            found = {name: one for name, one in self.found.items() if now - one["at"] < LISTS_S}
        for event in self.wanted:
            event.set()
        return {name: {**one, "ago": round(now - one["at"], 1)} for name, one in found.items()}

    def is_watched(self):
        with self.lock:
            return self.looked is not None and time.monotonic() < self.looked + WATCHED_S

    def work(self, event, names):
        while True:
            event.wait()
            event.clear()
            for name in names:
                if self.is_watched():
                    time.sleep(self.learn(name))

    def learn(self, name):
        """Asks, and returns the pause before the next question."""
        begin, found = time.monotonic(), {"answers": [], "error": ""}
        try:
            found["answers"] = ask(self.path, FACTS_S if name == "facts" else LISTS_S, *QUESTIONS[name])
        except (OSError, ValueError, RecursionError) as error:
            found["error"] = f"{self.path}: {getattr(error, 'strerror', None) or error}"
        now = time.monotonic()
        with self.lock:
            self.found[name] = {**found, "at": now}
        if name == "facts":
            return RATE_S
        return max(PAUSE_S, SHARE * (now - begin - RATE_S))
