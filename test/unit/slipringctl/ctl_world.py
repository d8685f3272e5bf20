# SPDX-License-Identifier: BSD-3-Clause
"""Helpers for the tests of slipringctl: its modules, and a control socket with chosen answers."""

import importlib.machinery
import importlib.util
import json
import os
import socket
import sys
import tempfile
import threading

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
FOLDER = os.path.join(TOP, "app/slipringctl")
PROGRAM = os.path.join(FOLDER, "slipringctl")
sys.dont_write_bytecode = True
sys.path.insert(0, FOLDER)


def program():
    """slipringctl as a module."""
    loader = importlib.machinery.SourceFileLoader("slipringctl", PROGRAM)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


RATES = dict.fromkeys(("rx", "tx", "rx_bytes", "tx_bytes", "allocations", "auth_failures", "drops"), 7)


def status(**more):
    leg = {"datagrams": 9, "bytes": 900}
    realm = {"realm": "turn.test", "allocations": 9}
    realms = [{**realm, "from_client": leg, "from_peers": leg, "lost": {"size": 1}}]
    counters = dict.fromkeys(("allocations", "permissions", "channels", "drops", "streams", "dtls"), 3)
    return {
        "version": "0.1.0", "pid": 1, "configuration": "/etc/slipring/slipring.yaml", "realm": "turn.test",
        "uptime": 60, "relay_ports": [{"family": "ipv4", "free": 97, "all": 100}], "rates": RATES, "load": [5.0], "links": [],
        "control": {}, "warnings": [], "realms": realms, **counters, **more,
    }  # fmt: skip


def worker(number=0, load=5.0):
    return {"worker": number, "load": load, "allocations": 3, "rates": RATES}


def drop(name="no-route", rate=1, count=2, meaning="a text that is long enough to be cut " * 5):
    return {"drop": name, "rate": rate, "count": count, "meaning": meaning, "advice": ""}


def allocation(number, user="ivan", rate=1):
    return {
        "id": str(2**60 + number), "user": user, "realm": "turn.test", "transport": "udp",
        "client": "192.0.2.1:5000",
        "age": 5, "expires": 600, "rx": 1, "tx": 2, "rx_bytes": 3, "tx_bytes": 4, "rate": rate,
        "bitrate": rate * 800,
    }  # fmt: skip


def user(name="ivan", rate=1):
    return {
        "user": name, "realm": "turn.test", "allocations": 2, "rate": rate, "bitrate": 800 * rate,
        "datagrams": 9, "bytes": 99,
    }  # fmt: skip


class Box:
    """A control socket. answers: {command: answer, or a function of the request}."""

    def __init__(self, **answers):
        self.answers = {
            "status": status(), "workers": {"rows": [worker()]}, "drops": {"rows": [drop()]},
            "users": {"rows": [user()], "users": 1}, "allocations": {"rows": [allocation(1)]}, **answers,
        }  # fmt: skip
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "sock")
        self.asked, self.connections = [], []
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.path)
        self.listener.listen(16)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(sock)
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock):
        try:
            for line in sock.makefile("rb"):
                request = json.loads(line)
                self.asked.append(request)
                answer = self.answers[request["cmd"]]
                answer = answer(request) if callable(answer) else answer
                if isinstance(answer, dict):
                    answer = json.dumps({"v": 1, "ok": True, **answer}).encode()
                sock.sendall(answer + b"\n")
        except OSError:
            pass

    def close(self):
        """Like the death of a process: connections end, the socket file stays."""
        if self.listener.fileno() < 0:
            return
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for sock in self.connections:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        self.folder.cleanup()
