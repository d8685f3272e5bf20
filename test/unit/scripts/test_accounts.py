#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_accounts.py ACCOUNTS: the parts of the packed slipring-accounts, and the whole program with SQLite and
with a program of the site. The lab tests accounts_* have the other sources.
"""

import hashlib
import json
import os
import re
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest

sys.dont_write_bytecode = True
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
PROGRAM = os.path.abspath(sys.argv.pop(1))
sys.path.insert(0, PROGRAM)

if not __import__("importlib.util").util.find_spec("yaml"):
    print("no module yaml: apt-get install python3-yaml")
    sys.exit(77)

import breaker  # noqa: E402
import config  # noqa: E402
import desk  # noqa: E402
import memory  # noqa: E402
import records  # noqa: E402
import server  # noqa: E402
import source  # noqa: E402
import source_hook  # noqa: E402
from records import Found, Question, Unknown  # noqa: E402

CLIENT = socket.inet_pton(socket.AF_INET6, "::ffff:192.0.2.7")
MD5, OTHER = bytes(range(16)), bytes(range(16, 32))
CHILD = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    name = asked["name"]
    if name == "end":
        break
    if name == "silent":
        continue
    if name == "garbage":
        print("no JSON", flush=True)
        continue
    answer = {"id": asked["id"], "name": name, "key": "0" * 32, "ttl": 9}
    if name == "nobody":
        answer = {"id": asked["id"], "name": name, "unknown": True}
    if name == "swapped":
        answer["name"] = "ivan"
    print(json.dumps(answer), flush=True)
"""


def pack(number, name, realm=b"r", magic=b"SLQ1", names=None):
    return struct.pack(
        ">4sBBHQ16sHH28x512s768s", magic, 1, 3, len(name) if names is None else names, number, CLIENT, 4711,
        len(realm), name, realm,
    )  # fmt: skip


def unpack(data):
    """The fields of an answer by name."""
    names = "magic kind flags length id lifetime stale index number realms md5 sha256 secret realm".split()
    return types.SimpleNamespace(**dict(zip(names, struct.unpack(">4sBBHQIIBBH4x16s32s256s768s", data))))


def flight(name, realm=b"r"):
    return desk.Flight((realm, name), Question(1, 2, CLIENT, 4711, realm, name), 0)


class FakeLoop:
    def __init__(self):
        self.now, self.timers = 1000.0, []

    def time(self):
        return self.now

    def call_later(self, seconds, action):
        return self.call_at(self.now + seconds, action)

    def call_at(self, when, action):
        self.timers.append((when, action))
        return action

    def advance(self, seconds):
        self.now += seconds
        due = [timer for timer in self.timers if timer[0] <= self.now]
        self.timers = [timer for timer in self.timers if timer[0] > self.now]
        for _, action in due:
            action()


class FakeSource:
    def __init__(self):
        self.flights = []

    def ask(self, asked):
        self.flights.append(asked)


class Records(unittest.TestCase):
    def test_a_question_is_read(self):
        found, end = records.questions(pack(7, b"ivan", b"turn.example") + b"x")
        self.assertEqual((found, end), ([Question(7, 3, CLIENT, 4711, b"turn.example", b"ivan")], 1344))
        self.assertEqual(records.address_of(CLIENT), "192.0.2.7")

    def test_parts_of_a_question_wait(self):
        whole = pack(7, b"ivan")
        for length in (0, 1, 64, 1343):
            self.assertEqual(records.questions(whole[:length]), ([], 0))

    def test_garbage_and_bad_lengths_are_refused(self):
        bad = [pack(1, b"x", magic=b"SLQ2"), pack(1, b"x", names=509), pack(1, b"x", b"r" * 764), bytes(1344)]
        bad += [pack(1, b"x")[:4] + b"\2" + pack(1, b"x")[5:], pack(1, b"x")[:5] + b"\4" + pack(1, b"x")[6:]]
        for data in bad:
            with self.assertRaises(records.Malformed):
                records.questions(data)
        self.assertEqual(len(records.questions(pack(1, b"n" * 508, b"r" * 763))[0]), 1)

    def test_answers_are_written(self):
        answer = unpack(records.key(9, Found(MD5), 60, 3600))
        self.assertEqual((answer.magic, answer.kind, answer.flags, answer.id), (b"SLA1", 1, 1, 9))
        self.assertEqual((answer.lifetime, answer.stale, answer.md5), (60, 3600, MD5))
        self.assertEqual(unpack(records.key(9, Found(b"", b"s" * 32), 1, 1)).flags, 2)
        self.assertEqual(unpack(records.unknown(9, 10)).kind, 2)
        self.assertEqual(unpack(records.no_answer(9)).kind, 3)
        parts = records.secret_list(5, b"r", [b"one", b"two"])
        first, second = unpack(parts[:1104]), unpack(parts[1104:])
        self.assertEqual((first.kind, first.index, first.number, first.length, first.id), (4, 0, 2, 3, 5))
        self.assertEqual((second.index, second.secret[:4], second.realm[: second.realms]), (1, b"two\0", b"r"))
        self.assertEqual(unpack(records.secret_list(6, b"r", [])).number, 0)


class Remembered(unittest.TestCase):
    def setUp(self):
        self.memory = memory.Memory(60, 10, 3600, names=3)

    def test_answers_hold_for_their_time(self):
        for _ in range(50):
            entry = self.memory.learn((b"r", b"a"), Found(MD5), 100)
            self.assertTrue(54 <= entry.fresh_until - 100 <= 66)
        entry = self.memory.learn((b"r", b"u"), Unknown(), 100)
        self.assertTrue(9 <= entry.fresh_until - 100 <= 11)
        self.assertEqual(self.memory.learn((b"r", b"a"), Found(MD5, b"", 5), 100).fresh_until, 105)
        self.assertIsNotNone(self.memory.recall((b"r", b"a"), 104.9))
        self.assertIsNone(self.memory.recall((b"r", b"a"), 105))
        self.assertIsNone(self.memory.recall((b"q", b"a"), 101))

    def test_old_answers_are_for_users_only(self):
        self.memory.learn((b"r", b"a"), Found(MD5, b"", 5), 0)
        self.memory.learn((b"r", b"u"), Unknown(5), 0)
        entry = self.memory.recall_old((b"r", b"a"), 3604)
        self.assertEqual((unpack(memory.record(1, entry, 3600)).lifetime, entry.answer.md5), (5, MD5))
        self.assertIsNone(self.memory.recall_old((b"r", b"a"), 3605))
        self.assertIsNone(self.memory.recall_old((b"r", b"u"), 6))

    def test_invented_names_push_out_no_user(self):
        self.memory.learn((b"r", b"a"), Found(MD5), 0)
        for number in range(9):
            self.memory.learn((b"r", b"%d" % number), Unknown(), 0)
        self.assertEqual((len(self.memory.missing), len(self.memory.found)), (3, 1))

    def test_the_oldest_user_is_forgotten(self):
        for name in (b"a", b"b", b"c"):
            self.memory.learn((b"r", name), Found(MD5), 0)
        self.memory.recall((b"r", b"a"), 1)
        self.memory.learn((b"r", b"d"), Found(MD5), 1)
        self.assertEqual([name for _, name in self.memory.found], [b"c", b"a", b"d"])

    def test_a_deleted_user_is_unknown(self):
        self.memory.learn((b"r", b"a"), Found(MD5), 0)
        self.memory.learn((b"r", b"a"), Unknown(), 1)
        self.assertIsInstance(self.memory.recall((b"r", b"a"), 2).answer, Unknown)
        self.assertIsNone(self.memory.recall_old((b"r", b"a"), 2))


class Breakers(unittest.TestCase):
    def setUp(self):
        self.now = 0
        self.breaker = breaker.Breaker(lambda: self.now, lambda: 1)

    def fail(self, times):
        for _ in range(times):
            self.assertTrue(self.breaker.may_ask())
            self.breaker.bad()

    def test_it_opens_after_five_failures(self):
        self.fail(4)
        self.assertTrue(self.breaker.may_ask())
        self.breaker.good()
        self.fail(5)
        self.assertFalse(self.breaker.may_ask())
        self.now = 0.99
        self.assertFalse(self.breaker.may_ask())

    def test_one_probe_at_a_time(self):
        self.fail(5)
        self.now = 1
        self.assertTrue(self.breaker.may_ask())
        self.assertFalse(self.breaker.may_ask())
        self.assertTrue(self.breaker.good())
        self.assertTrue(self.breaker.may_ask() and self.breaker.may_ask())

    def test_pauses_grow(self):
        self.fail(5)
        for pause in (1, 2, 4, 8, 16, 30, 30):
            self.now += pause - 0.01
            self.assertFalse(self.breaker.may_ask())
            self.now += 0.01
            self.fail(1)

    def test_late_failures_do_not_make_the_pause_longer(self):
        self.fail(5)
        for _ in range(9):
            self.breaker.bad()
        self.now = 1
        self.assertTrue(self.breaker.may_ask())

    def test_the_first_failure_is_told(self):
        self.assertEqual([self.breaker.bad() for _ in range(3)], [True, False, False])
        self.assertTrue(self.breaker.good())
        self.assertFalse(self.breaker.good())


class Desks(unittest.TestCase):
    def setUp(self):
        self.loop, self.sources = FakeLoop(), [FakeSource(), FakeSource()]
        self.desk = desk.Desk(self.loop, memory.Memory(60, 10, 3600), self.sources)
        self.answers = {}
        self.number = 0

    def ask(self, name, realm=b"r"):
        self.number += 1
        number = self.number
        self.desk.ask(Question(number, 0, CLIENT, 1, realm, name), lambda data: self.take(number, data))
        return number

    def take(self, number, data):
        self.assertNotIn(number, self.answers)
        self.answers[number] = unpack(data)
        self.assertEqual(self.answers[number].id, number)

    def hear(self, index, answers):
        flights, self.sources[index].flights = self.sources[index].flights, []
        self.desk.hear(index, flights, answers)

    def kind(self, number):
        return self.answers[number].kind if number in self.answers else None

    def test_questions_about_a_user_share_a_flight(self):
        numbers = [self.ask(b"a") for _ in range(5)]
        self.assertEqual(len(self.sources[0].flights), 1)
        self.hear(0, {(b"r", b"a"): Found(MD5)})
        self.assertEqual([self.kind(number) for number in numbers], [1] * 5)
        self.assertEqual(self.kind(self.ask(b"a")), 1)
        self.assertEqual(self.sources[0].flights, [])
        self.assertEqual(self.desk.waiting, 0)

    def test_each_user_has_a_flight(self):
        for name, realm in ((b"a", b"r"), (b"A", b"r"), (b"a ", b"r"), (b"a", b"q")):
            self.ask(name, realm)
        self.assertEqual(len(self.sources[0].flights), 4)
        self.hear(0, {(b"r", b"a"): Found(MD5), (b"q", b"a"): Found(OTHER)})
        self.assertEqual([self.kind(number) for number in (1, 2, 3, 4)], [1, 3, 3, 1])
        self.assertEqual((self.answers[1].md5, self.answers[4].md5), (MD5, OTHER))

    def test_sources_are_asked_in_their_order(self):
        one, two = self.ask(b"a"), self.ask(b"b")
        self.hear(0, {(b"r", b"a"): Unknown(), (b"r", b"b"): Found(MD5)})
        self.assertEqual((self.kind(one), self.kind(two)), (None, 1))
        self.hear(1, {(b"r", b"a"): Unknown()})
        self.assertEqual(self.kind(one), 2)

    def test_an_error_is_never_unknown(self):
        one = self.ask(b"a")
        self.hear(0, {})
        self.assertEqual((self.kind(one), self.sources[1].flights), (3, []))
        two = self.ask(b"b")
        self.hear(0, {(b"r", b"b"): Unknown()})
        self.hear(1, {})
        self.assertEqual(self.kind(two), 3)
        self.assertIsNone(self.desk.memory.recall((b"r", b"b"), self.loop.now))

    def test_a_deadline_ends_all_questions(self):
        one = self.ask(b"a")
        self.loop.advance(0.5)
        two, third = self.ask(b"a"), self.ask(b"b")
        self.loop.advance(0.5)
        self.assertEqual([self.kind(number) for number in (one, two, third)], [3, 3, None])
        self.loop.advance(0.5)
        self.assertEqual((self.kind(third), self.desk.waiting, self.desk.flights), (3, 0, {}))

    def test_late_answers_are_kept_unless_they_say_unknown(self):
        self.ask(b"a"), self.ask(b"b")
        self.loop.advance(1)
        self.hear(0, {(b"r", b"a"): Found(MD5), (b"r", b"b"): Unknown()})
        self.assertEqual(self.kind(self.ask(b"a")), 1)
        self.assertIsNone(self.kind(self.ask(b"b")))

    def test_old_answers_help_while_sources_fail(self):
        self.ask(b"a")
        self.hear(0, {(b"r", b"a"): Found(MD5)})
        self.loop.advance(100)
        number = self.ask(b"a")
        self.hear(0, {})
        self.assertEqual((self.kind(number), self.answers[number].lifetime), (1, memory.AGAIN_S))
        self.assertEqual(self.desk.counts["stale"], 1)

    def test_names_that_no_store_can_have(self):
        for name in (b"", b"a\0b", b"\xff"):
            self.assertEqual(self.kind(self.ask(name)), 2)
        self.assertEqual(self.sources[0].flights, [])

    def test_waiting_questions_are_bounded(self):
        for _ in range(desk.WAITING_MAX):
            self.ask(b"a")
        self.assertEqual(self.kind(self.ask(b"a")), 3)
        self.assertEqual((self.desk.counts["too_many"], self.desk.waiting), (1, desk.WAITING_MAX))


class Fake(source.Source):
    """A store of which a test decides what happens."""

    def connect(self):
        self.connected = getattr(self, "connected", 0) + 1
        self.closed = getattr(self, "closed", [])
        return types.SimpleNamespace(close=lambda: self.closed.append(True))


class Sources(unittest.TestCase):
    def setUp(self):
        self.source = Fake({"type": "fake"}, 0)
        self.said = []
        self.addCleanup(setattr, source, "say", source.say)
        source.say = self.said.append

    def test_keys_of_padded_columns(self):
        self.assertEqual(source.digits(MD5.hex().ljust(128).encode(), 32), MD5)
        for text in (b"", b"0" * 31, b"0" * 64, b"g" * 32, None):
            self.assertIsNone(source.digits(text, 32))

    def test_a_key_that_cannot_be_right_is_told_once(self):
        self.assertIsNone(self.source.found("0" * 64))
        self.assertIsNone(self.source.found(None, "0" * 32))
        self.assertEqual(len(self.said), 1)
        self.assertEqual(self.source.found(MD5.hex(), "00" * 32), Found(MD5, bytes(32)))

    def test_rows_are_compared_byte_by_byte(self):
        rows = source.Rows([flight(b"ivan"), flight(b"Ivan"), flight(b"ivan "), flight(b"ivan", b"R")])
        rows.add(b"r", b"ivan", Found(MD5))
        rows.add(b"r", b"eve", Found(OTHER))
        unknown = [asked for asked, answer in rows.answers.items() if isinstance(answer, Unknown)]
        self.assertEqual(unknown, [(b"r", b"Ivan"), (b"r", b"ivan "), (b"R", b"ivan")])
        rows.add(b"r", b"ivan", Found(OTHER))
        self.assertIsNone(rows.answers[b"r", b"ivan"])
        rows = source.Rows([flight(b"Ivan")])
        rows.add(b"r", b"ivan", Found(MD5))
        self.assertEqual(rows.answers, {(b"r", b"Ivan"): Unknown()})

    def test_a_lost_connection_is_made_again(self):
        broken = self.source.connect()

        def action(connection):
            if connection is broken:
                raise ConnectionResetError
            return 5

        self.assertEqual(self.source.attempt(broken, action)[1], 5)
        self.assertEqual((self.source.connected, self.source.counts["failures"], self.said), (2, 0, []))
        self.assertEqual(len(self.source.closed), 1)

    def test_failures_have_no_words_of_questions(self):
        def action(_):
            raise ValueError("ivan")

        for _ in range(3):
            self.assertEqual(self.source.attempt(None, action), (None, None))
        self.assertEqual(self.said, ["source 1 (fake): does not answer: ValueError"])
        self.source.attempt(None, lambda _: 1)
        self.assertEqual(self.said[1:], ["source 1 (fake): answers again"])

    def test_threads_take_many_questions_at_once(self):
        batches, done = [], threading.Event()
        self.source.look_up = lambda _, flights: batches.append(len(flights)) or {}
        flights = [flight(b"%d" % number) for number in range(100)]
        flights[1].is_over = True
        for one in flights:
            self.source.ask(one)
        heard = []
        self.source.start(lambda some, _: heard.extend(some) or (len(heard) == 100 and done.set()), None)
        self.assertTrue(done.wait(10))
        self.assertEqual(batches, [63, 36])


class Hooks(unittest.TestCase):
    def source(self, *words):
        return source_hook.Command({"type": "command", "command": list(words)}, 0)

    def test_answers_of_programs(self):
        asked = self.source("x")
        read = lambda **row: source_hook.read_answer(asked, row)  # noqa: E731
        self.assertEqual(read(key=MD5.hex(), ttl=7), Found(MD5, b"", 7))
        self.assertEqual(read(unknown=True), Unknown())
        for row in ({}, {"unknown": False}, {"key": MD5.hex(), "unknown": True}, {"key": 5}, {"key": "", "ttl": 1},
            {"key": MD5.hex(), "ttl": -1}, {"key": MD5.hex(), "ttl": True}, {"key": "0" * 64}):  # fmt: skip
            self.assertIsNone(read(**row), row)

    def test_the_server_of_the_manual(self):
        with open(f"{TOP}/doc/accounts.md") as file:
            (text,) = re.findall(r"```python\n(.*?)```", file.read(), re.S)
        self.assertLessEqual(len(text.splitlines()), 50)
        with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
            for name, content in (("responder.py", text), ("token", "abc\n"), ("wrong", "abd")):
                with open(f"{folder}/{name}", "w") as file:
                    file.write(content)
            probe.close()
            process = subprocess.Popen([sys.executable, f"{folder}/responder.py", str(port), f"{folder}/token"])
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            settings = {"type": "http", "url": f"http://127.0.0.1:{port}/", "tls": None}
            asked = source_hook.Http({**settings, "token-file": f"{folder}/token"}, 0)
            flights = [flight(b"ivan", b"turn.example"), flight(b"Ivan", b"turn.example"), flight(b"ivan")]
            end = time.monotonic() + 20
            while True:
                try:
                    answers = asked.look_up(connection := asked.connect(), flights)
                    break
                except ConnectionRefusedError:
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.05)
            both = [hash(b"ivan:turn.example:a password").digest() for hash in (hashlib.md5, hashlib.sha256)]
            self.assertEqual(list(answers.values()), [Found(*both, 60), Unknown(10), Unknown(10)])
            connection.close()
            wrong = source_hook.Http({**settings, "token-file": f"{folder}/wrong"}, 0)
            with self.assertRaisesRegex(source.Trouble, "status 401"):
                wrong.look_up(connection := wrong.connect(), flights)
            connection.close()

    def test_a_child_is_asked(self):
        asked = self.source(sys.executable, "-c", CHILD)
        child = asked.connect()
        self.addCleanup(asked.close, child)
        flights = [flight(name) for name in (b"ivan", b"nobody", b"swapped", b"silent")]
        answers = asked.look_up(child, flights)
        self.assertEqual(answers.pop((b"r", b"ivan")), Found(bytes(16), b"", 9))
        self.assertEqual(answers.pop((b"r", b"nobody")), Unknown())
        self.assertEqual(set(answers.values()), {None})
        self.assertEqual(len(asked.look_up(child, [flight(b"%d" % i) for i in range(64)])), 64)

    def test_a_child_that_fails(self):
        asked = self.source(sys.executable, "-c", CHILD)
        for name, error in ((b"garbage", source.Trouble), (b"end", ConnectionError), (b"silent", source.Trouble)):
            child = asked.connect()
            with self.assertRaises(error):
                asked.look_up(child, [flight(name)])
            asked.close(child)


class Lists(unittest.TestCase):
    def setUp(self):
        self.sent = []
        self.secrets = server.Secrets([types.SimpleNamespace(send=self.sent.append)], {0})
        self.addCleanup(setattr, server, "say", server.say)
        server.say = lambda text: None

    def take(self):
        data, self.sent[:] = b"".join(self.sent), []
        parts = [unpack(data[i : i + 1104]) for i in range(0, len(data), 1104)]
        return [(part.realm[: part.realms], part.number, part.secret[: part.length]) for part in parts], parts

    def test_changes_are_told(self):
        self.secrets.hear(0, {b"r": {b"b", b"a"}})
        self.assertEqual(self.take()[0], [(b"r", 2, b"a"), (b"r", 2, b"b")])
        self.secrets.hear(0, {b"r": {b"b", b"a"}})
        self.assertEqual(self.sent, [])
        first = self.secrets.lists[b"r"][0]
        self.secrets.hear(1, {b"r": {b"c"}, b"q": set()})
        self.assertEqual(self.take()[0], [(b"r", 3, b"a"), (b"r", 3, b"b"), (b"r", 3, b"c"), (b"q", 0, b"")])
        self.assertGreater(self.secrets.lists[b"r"][0], first)
        self.secrets.hear(0, {})
        self.assertEqual(self.take()[0], [(b"r", 1, b"c")])
        self.secrets.hear(1, {})
        self.assertEqual(self.take()[0], [(b"r", 0, b"")])

    def test_lists_wait_for_all_sources(self):
        self.secrets.silent = {0, 1}
        self.secrets.hear(0, {b"r": {b"a"}})
        self.assertEqual(self.sent, [])
        self.secrets.hear(1, None)
        self.assertEqual(self.take()[0], [(b"r", 1, b"a")])
        self.secrets.hear(1, {b"r": {b"b"}})
        self.secrets.hear(1, None)
        self.assertEqual(self.take()[0], [(b"r", 2, b"a"), (b"r", 2, b"b")])

    def test_what_slipring_refuses_is_left_out(self):
        self.secrets.hear(0, {b"": {b"a"}, b"r" * 764: {b"a"}, b"r\0": {b"a"}, b"r": {b"a\0", b"b"}})
        self.assertEqual(self.take()[0], [(b"r", 1, b"b")])

    def test_lists_are_bounded(self):
        self.secrets.hear(0, {b"r": {b"%02d" % i for i in range(40)} | {b"", b"x" * 257}})
        found, parts = self.take()
        self.assertEqual((len(found), {part.number for part in parts}), (16, {16}))


class Configurations(unittest.TestCase):
    def load(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            try:
                return config.load(file.name)
            except config.Wrong as error:
                return str(error).replace(file.name, "F")

    def test_a_source_is_enough(self):
        found = self.load("source: {type: redis}\n")
        self.assertEqual(found["source"][0]["host"], "localhost")
        self.assertEqual(found["cache"], {"lifetime": 60, "unknown": 10, "stale": 3600})
        self.assertEqual(found["socket"], {"path": "/run/slipring-accounts/socket", "group": "slipring"})

    def test_the_shipped_file_is_right(self):
        self.assertIsInstance(config.load(f"{TOP}/conf/accounts/accounts.yaml"), dict)

    def test_errors_have_their_place(self):
        for text, error in (
            ("", "F:1: the file is empty"),
            ("a: [", "F:1:"),
            ("cache: {}\n", "F:1: missing: source"),
            ("source:\n  type: oracle\n", "F:2: type must be one of redis,"),
            ("source:\n  - {}\n", "F:2: type must be one of"),
            ("source: 5\n", "F:1: a source belongs here"),
            ("source: []\n", "F:1: 1 to 8 sources"),
            ("source: {type: sqlite}\n", "F:1: missing: file"),
            ("source: {type: sqlite, file: a}\nx: 1\n", "F:2: no such key: x; there are: socket,"),
            ("source: {type: redis}\nsource: {type: redis}\n", "F:2: twice: source"),
            ("source:\n  type: redis\n  port: 70000\n", "F:3: a number from 1 to 65535"),
            ("source: {type: redis}\ncache:\n  lifetime: 0\n", "F:3: a number from 1 to 86400"),
            ("source:\n  type: http\n  url: http://db.example/\n", "F:3: http:// to another host"),
            ("source:\n  type: http\n  url: ftp://x/\n", "F:3: https://HOST/PATH"),
            ("source:\n  type: command\n  command: x\n", "F:3: a list of texts"),
        ):
            with self.subTest(text):
                found = self.load(text)
                self.assertTrue(isinstance(found, str) and found.startswith(error), found)
        for url in ("https://db.example/keys?a=1", "http://127.0.0.1:8080/", "http://[::1]:80/", "http://localhost/"):
            self.assertIsInstance(self.load(f"source: {{type: http, url: '{url}'}}\n"), dict)


class Programs(unittest.TestCase):
    """The whole program."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.database = sqlite3.connect(f"{self.folder}/db")
        self.addCleanup(self.database.close)
        with self.database as db:
            db.execute("create table turnusers_lt (realm, name, hmackey, key_sha256, primary key (realm, name))")
            db.execute("create table turn_secret (realm, value, primary key (realm, value))")
            db.execute("insert into turn_secret values ('r', 'one')")
            both = [hash(b"ivan:r:pw").hexdigest() for hash in (hashlib.md5, hashlib.sha256)]
            db.execute("insert into turnusers_lt values ('r', 'ivan', ?, ?)", both)
        group = __import__("grp").getgrgid(os.getgid()).gr_name
        with open(f"{self.folder}/c.yaml", "w") as file:
            file.write(f"socket: {{path: {self.folder}/socket, group: {group}}}\n")
            file.write(f"source: {{type: sqlite, file: {self.folder}/db}}\n")

    def run_it(self, *options):
        command = [sys.executable, PROGRAM, "-c", f"{self.folder}/c.yaml", *options]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    def start(self):
        command = [sys.executable, PROGRAM, "-c", f"{self.folder}/c.yaml"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.process.stderr.close)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        return self.connect()

    def connect(self):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(20)
        end = time.monotonic() + 20
        while True:
            try:
                sock.connect(f"{self.folder}/socket")
                break
            except OSError:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)
        self.addCleanup(sock.close)
        file = sock.makefile("rb")
        self.addCleanup(file.close)
        return sock, file

    def answers(self, file, number):
        """Answers by their numbers; lists of secrets by their realms."""
        found = {}
        while len([key for key in found if isinstance(key, int)]) < number:
            one = unpack(file.read(1104))
            found[one.realm[: one.realms] if one.kind == 4 else one.id] = one
        return found

    def test_questions_in_pieces_and_together(self):
        sock, file = self.start()
        for byte in pack(1, b"ivan"):
            sock.send(bytes([byte]))
        answer = self.answers(file, 1)[1]
        self.assertEqual((answer.kind, answer.flags), (1, 3))
        self.assertEqual(answer.md5, hashlib.md5(b"ivan:r:pw").digest())
        self.assertEqual(answer.sha256, hashlib.sha256(b"ivan:r:pw").digest())
        names = (b"ivan", b"Ivan", b"ivan ", b"eve", b"\xff")
        sock.sendall(b"".join(pack(number, name) for number, name in enumerate(names, 10)) + pack(20, b"ivan", b"q"))
        found = self.answers(file, 6)
        self.assertEqual([found[number].kind for number in (10, 11, 12, 13, 14, 20)], [1, 2, 2, 2, 2, 2])

    def test_garbage_ends_only_its_connection(self):
        sock, file = self.start()
        for bad in (b"GET / HTTP/1.1\r\n" * 84, pack(1, b"x", names=509)):
            rude, closed = self.connect()
            rude.sendall(pack(1, b"ivan") + bad)
            with self.assertRaises(ConnectionResetError):
                while closed.read(1104):
                    pass
                raise ConnectionResetError  # the end without a reset
        sock.sendall(pack(2, b"ivan"))
        self.assertEqual(self.answers(file, 1)[2].kind, 1)

    def test_secrets_are_told_at_once_and_when_they_change(self):
        _, file = self.start()
        first = unpack(file.read(1104))
        self.assertEqual((first.kind, first.secret[: first.length], first.number), (4, b"one", 1))
        again = unpack(self.connect()[1].read(1104))
        self.assertEqual((again.kind, again.id), (4, first.id))
        with self.database as db:
            db.execute("update turn_secret set value = 'two'")
        second = unpack(file.read(1104))
        self.assertEqual((second.secret[: second.length], second.number), (b"two", 1))
        self.assertGreater(second.id, first.id)

    def test_the_status_and_the_end(self):
        sock, file = self.start()
        sock.sendall(pack(1, b"ivan"))
        self.answers(file, 1)
        end = time.monotonic() + 20
        while True:
            with open(f"{self.folder}/status.json") as status:
                found = json.load(status)
            if found["key"] == 1:
                break
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        self.assertEqual((found["questions"], found["connections"], found["sources"][0]["up"]), (1, 1, True))
        again = self.run_it()
        self.assertEqual((again.returncode, "another process serves" in again.stderr), (1, True))
        self.process.terminate()
        self.assertEqual(self.process.wait(20), 0)
        self.assertNotIn("ivan", self.process.stderr.read())

    def test_one_question(self):
        for realm, name, code in (("r", "ivan", 0), ("r", "eve", 3), ("q", "ivan", 3)):
            done = self.run_it("--ask", realm, name)
            self.assertEqual(done.returncode, code, done)
            self.assertNotIn(hashlib.md5(b"ivan:r:pw").hexdigest(), done.stdout)
        os.rename(f"{self.folder}/db", f"{self.folder}/away")
        done = self.run_it("--ask", "r", "ivan")
        self.assertEqual((done.returncode, "no answer: No such file" in done.stdout), (1, True))

    def test_the_check(self):
        self.assertEqual(self.run_it("--check").returncode, 0)
        with open(f"{self.folder}/c.yaml", "a") as file:
            file.write("sauce: 1\n")
        done = self.run_it("--check")
        self.assertEqual(done.returncode, 2)
        self.assertIn("c.yaml:3: no such key: sauce", done.stderr)


if __name__ == "__main__":
    unittest.main()
