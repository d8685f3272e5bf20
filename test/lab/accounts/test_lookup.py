#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Users who are looked up (auth.lookup), over every transport, by a program of this test that speaks
the protocol of doc/accounts.md: it answers, is slow, answers too late, lies, sends garbage, dies and
comes back. Calls go on meanwhile."""

import os
import socket
import struct
import threading
import time

import dtls
import keep
import lab as labs
import streams
from control import Control
from lab import CLIENT4, PEER4, SERVER4, until
from rereads import reload
from turnlib import ALLOCATE, REFRESH, SUCCESS, Auth, Silence, long_term_key, rest_credentials

QUESTION, ANSWER = 1344, 1104
KEYS, UNKNOWN, NO_ANSWER, SECRET = 1, 2, 3, 4


def answer(kind, ident, flags=0, lifetime=60, stale=600, md5=b"", sha256=b""):
    head = struct.pack("!4sBBHQII8x", b"SLA1", kind, flags, 0, ident, lifetime, stale)
    return (head + md5.ljust(16, b"\0") + sha256.ljust(32, b"\0")).ljust(ANSWER, b"\0")


def secret(number, index, count, realm, text):
    head = struct.pack("!4sBBHQ8xBBH4x", b"SLA1", SECRET, 0, len(text), number, index, count, len(realm))
    return (head.ljust(80, b"\0") + text.encode().ljust(256, b"\0") + realm.encode()).ljust(ANSWER, b"\0")


class Program:
    """Listens at the socket. `behave(program, question)` returns the bytes to send, or None."""

    def __init__(self, path):
        self.path, self.users, self.lists = path, {}, []
        self.asked, self.kept, self.conn = [], [], None
        self.behave = Program.usual
        self.lock = threading.Lock()
        self.start()

    def usual(self, question):
        ident, name, realm = question
        password = self.users.get((name, realm))
        if password is None:
            return answer(UNKNOWN, ident, lifetime=2)
        return answer(KEYS, ident, 1, md5=long_term_key(name, realm, password))

    def start(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.thread = threading.Thread(target=self.serve, args=(self.listener,), daemon=True)
        self.thread.start()

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.conn.shutdown(socket.SHUT_RDWR)  # ends a recv() of the thread, as close() does not
        self.thread.join(10)
        assert not self.thread.is_alive(), "the program does not end"
        os.unlink(self.path)

    def serve(self, listener):
        while True:
            try:
                self.conn, _ = listener.accept()
                for record in self.lists:
                    self.conn.sendall(record)
                self.talk(self.conn)
            except OSError:
                pass
            if listener.fileno() < 0:
                return

    def talk(self, conn):
        while True:
            record = b""
            while len(record) < QUESTION:
                more = conn.recv(QUESTION - len(record))
                if not more:
                    return
                record += more
            magic, kind, over, name_len, ident = struct.unpack_from("!4sBBHQ", record)
            port, realm_len = struct.unpack_from("!HH", record, 32)
            assert magic == b"SLQ1" and kind == 1 and port > 0, record[:36]
            name, realm = record[64 : 64 + name_len].decode(), record[576 : 576 + realm_len].decode()
            with self.lock:
                self.asked.append((name, realm, over))
                out = self.behave(self, (ident, name, realm))
                if out:
                    conn.sendall(out)

    def names(self):
        return [name for name, _, _ in self.asked]


def user(name, password="pw-of-db"):
    return Auth(name, password)


def grants(client):
    with client:
        reply = client.allocate()
        assert reply.cls == SUCCESS, reply
        assert client.refresh(0).cls == SUCCESS


def transports(lab, program):
    """A user of the database over UDP, TCP, TLS and DTLS: one question each, as the names differ."""
    for over, (name, client) in enumerate(
        (
            ("udp-user", lambda: lab.client(user("udp-user"))),
            ("tcp-user", lambda: streams.Client(streams.connect(lab), user("tcp-user"))),
            ("tls-user", lambda: streams.Client(streams.over_tls(streams.connect(lab, "tls")), user("tls-user"))),
            ("dtls-user", lambda: with_auth(dtls.client(lab, server_port=3478), user("dtls-user"))),
        )
    ):
        program.users[name, "turn.test"] = "pw-of-db"
        grants(client())
        assert (name, "turn.test", over) in program.asked, program.asked
        grants(client())
        grants(client())
        assert program.names().count(name) == 1, program.asked  # all workers have the answer


def with_auth(client, auth):
    client.auth = auth
    return client


def refused(lab, program):
    with lab.client(user("nobody")) as client:
        reply = client.allocate()
        assert reply.code == 401 and not reply.integrity_ok(b"x" * 16), reply
    with lab.client(user("udp-user", "wrong")) as client:
        assert client.allocate().code == 401
    with lab.client(user("udp-user", "wrong")) as client:  # of the configured users no question
        client.auth.user = "ivan"
        assert client.allocate().code == 401
    assert "ivan" not in program.names()


def silent(client):
    """No answer of the server, until the client gives up."""
    with client:
        try:
            reply = client.request(ALLOCATE, [(0x0019, b"\x11\0\0\0")])
        except Silence:
            return
        raise AssertionError(reply)


def sick(lab, server, program):
    """Silence, no answer, late answers, answers that no question waits for."""
    program.users["late", "turn.test"] = "pw-of-db"
    program.behave = lambda p, q: p.kept.append(q)
    silent(lab.client(user("late")))
    late = program.kept[0]
    program.behave = Program.usual
    with program.lock:
        program.conn.sendall(program.usual(late) * 2 + answer(KEYS, 0, 1) + answer(KEYS, 1 << 60, 1))
    until(lambda: server.stats()["lookups_late"] >= 2, 5, "late answers are counted")
    grants(lab.client(user("late")))

    program.behave = lambda p, q: answer(NO_ANSWER, q[0])
    silent(lab.client(user("sick")))
    program.behave = lambda p, q: p.usual(q)[:500]  # half an answer: the next begins inside it
    silent(lab.client(user("half")))
    program.behave = Program.usual
    with lab.client(user("half")) as client:
        try:
            client.allocate()
        except Silence:
            pass  # its answer may be part of the garbage
    until(lambda: "a record that the protocol does not have" in server.log(), 10, "garbage is told")
    until(lambda: connected(server) == 1, 5, "connected again")
    grants(lab.client(user("late")))


def connected(server):
    return server.telemetry.ask("/slipring/lookup")["connected"]


def gone(lab, server, program, caller, echo):
    """The program dies: calls and known users go on, nobody else gets in, and all of them when it is
    back."""
    program.stop()
    until(lambda: connected(server) == 0, 5, "the loss is noticed")
    assert "lost the connection" in server.log()
    caller.send_channel(0x4000, b"media")
    assert caller.wait("channel") == ("channel", 0x4000, b"media")
    assert caller.refresh().cls == SUCCESS
    grants(lab.client(user("udp-user")))  # the last answer holds
    silent(lab.client(user("newcomer")))
    program.users["newcomer", "turn.test"] = "pw-of-db"
    program.start()
    until(lambda: connected(server) == 1, 5, "connected again")
    grants(lab.client(user("newcomer")))


def leaves(lab, server, program):
    """A client that ends its connection while its request waits leaves no allocation behind."""
    program.behave = lambda p, q: p.kept.append(q)
    program.kept.clear()
    program.users["leaver", "turn.test"] = "pw-of-db"
    client = streams.Client(streams.connect(lab), user("leaver"))
    client.challenge()
    client.send_raw(client.signed(ALLOCATE, [(0x0019, b"\x11\0\0\0")]))
    until(lambda: program.kept, 5, "the question")
    client.close()
    before = server.stats()["allocations_total"]
    program.behave = Program.usual
    with program.lock:
        program.conn.sendall(program.usual(program.kept[0]))
    until(lambda: server.stats()["allocations_total"] == before + 1, 5, "the request goes on")
    until(lambda: not any(row["user"] == "leaver" for row in server.allocations()), 5, "it ends again")


def again(lab, server, program):
    """One request of a client waits; all others are dropped until its answer."""
    program.behave = lambda p, q: p.kept.append(q)
    program.kept.clear()
    program.users["eager", "turn.test"] = "pw-of-db"
    with lab.client(user("eager")) as client:
        client.challenge()
        before = server.drops().get("lookup-waits", 0)
        first = client.signed(ALLOCATE, [(0x0019, b"\x11\0\0\0")])
        for _ in range(5):
            client.send_raw(first)
        until(lambda: server.drops().get("lookup-waits", 0) == before + 4, 5, "four are dropped")
        assert len(program.kept) == 1
        program.behave = Program.usual
        with program.lock:
            program.conn.sendall(program.usual(program.kept[0]))
        message = client.wait("stun")[1]
        assert message.cls == SUCCESS, message


def secrets(lab, server, program):
    """REST secrets come from the program, change without a reload, and come again after one."""
    rest = lambda text: Auth(*rest_credentials(text, time.time() + 600, "rosa"))
    accepts = lambda text: lab.client(rest(text)).allocate().cls == SUCCESS
    program.lists = [secret(1, 0, 1, "turn.test", "from the database")]
    with program.lock:
        program.conn.sendall(program.lists[0])
    until(lambda: accepts("from the database"), 5, "the secret is known")
    assert accepts("s3cret"), "secrets of the file count, too"
    assert not accepts("old")
    program.lists = [secret(2, i, 2, "turn.test", text) for i, text in enumerate(("new", "old"))]
    with program.lock:
        program.conn.sendall(b"".join(program.lists))
    until(lambda: accepts("new"), 5, "the new secret is known")
    assert accepts("old") and not accepts("from the database")
    connections = server.telemetry.ask("/slipring/lookup")["connections"]
    reload(server, {"limits": {"per-user": 1000}})
    until(lambda: server.telemetry.ask("/slipring/lookup")["connections"] == connections + 1, 5, "connected again")
    until(lambda: accepts("new"), 5, "the secrets are known")


def restarted(lab, server, program, caller):
    """A restart while the program is away: the call has its key, and is refreshed with it."""
    program.stop()
    keep.restart(server)
    caller.send_channel(0x4000, b"media")
    assert caller.wait("channel") == ("channel", 0x4000, b"media")
    for _ in range(2):  # nonces of the last process are not those of this one
        assert caller.refresh().cls == SUCCESS
    silent(lab.client(user("udp-user")))
    program.start()
    until(lambda: connected(server) == 1, 5, "connected again")
    grants(lab.client(user("udp-user")))
    assert caller.refresh().cls == SUCCESS


def main(lab):
    labs.need_own_server()
    streams.join(lab)
    program = Program(os.path.join(lab.dir, "accounts.sock"))
    program.users["caller", "turn.test"] = "pw-of-db"
    config = streams.config(lab, ("tcp", "tls"))
    config["listeners"] += [{"transport": "dtls", "address": SERVER4, "port": 3478}]
    config["auth"] = {"lookup": {"enabled": True, "socket": program.path, "deadline": 1000}}
    server = keep.start(lab, config, allow={"lookup-unanswered", "lookup-waits", "no-allocation"})
    until(lambda: connected(server) == 1, 5, "connected")
    echo = lab.echo(PEER4)
    with lab.client(user("caller")) as caller:
        assert caller.allocate().cls == SUCCESS
        assert caller.bind(0x4000, echo.address).cls == SUCCESS
        transports(lab, program)
        refused(lab, program)
        sick(lab, server, program)
        gone(lab, server, program, caller, echo)
        leaves(lab, server, program)
        again(lab, server, program)
        secrets(lab, server, program)
        with Control(server.control) as ask:
            state = ask.ask("status")["lookup"]
        assert state["connected"] and state["bad_records"] >= 1, state
        assert caller.refresh().cls == SUCCESS
        restarted(lab, server, program, caller)
    server.workers()


if __name__ == "__main__":
    labs.run(main)
