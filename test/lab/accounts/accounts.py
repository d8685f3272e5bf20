# SPDX-License-Identifier: BSD-3-Clause
"""slipring-accounts in the lab, asked over its socket like slipring asks, and databases that run for one test.
Nothing needs a network namespace: databases listen on Unix sockets or on 127.0.0.1.
"""

import atexit
import collections
import contextlib
import glob
import grp
import hashlib
import itertools
import json
import os
import pwd
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import lab as labs

BINARY = os.path.join(labs.BUILD, "app/slipring-accounts/slipring-accounts")
PYTHON = "/usr/bin/python3"  # it has Debian's libraries
QUESTION, ANSWER = struct.Struct(">4sBBHQ16sHH28x512s768s"), struct.Struct(">4sBBHQIIBBH4x16s32s256s768s")
KEY, UNKNOWN, NO_ANSWER, SECRET = 1, 2, 3, 4
CLIENT = socket.inet_pton(socket.AF_INET6, "::ffff:192.0.2.7")
REALM = "turn.example"
POSTGRESQL = max(glob.glob("/usr/lib/postgresql/*/bin"), default="/usr/lib/postgresql")

Answer = collections.namedtuple("Answer", "kind id md5 sha256 lifetime stale index number realm secret seconds")


def key(name, realm=REALM, hash_name="md5"):
    """The key of a user, each of whom has the password `pw-NAME`."""
    return hashlib.new(hash_name, f"{name}:{realm}:pw-{name}".encode()).digest()


class Accounts:
    """The program, with its configuration as a dict, and one connection."""

    def __init__(self, folder, source, cache=None, cpu=None):
        self.folder = folder
        self.log_path = os.path.join(folder, "accounts.log")
        group = grp.getgrgid(os.getgid()).gr_name
        settings = {"socket": {"path": f"{folder}/socket", "group": group}, "source": source}
        settings["cache"] = cache or {"lifetime": 1, "unknown": 1, "stale": 60}
        with open(f"{folder}/accounts.yaml", "w") as file:
            json.dump(settings, file)  # JSON is YAML
        command = [PYTHON, BINARY, "-c", f"{folder}/accounts.yaml"]
        if cpu is not None:
            command = ["taskset", "-c", str(cpu), *command]
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        atexit.register(self.process.kill)  # of a test that fails
        labs.until(self.connect, 20, "slipring-accounts listens")

    def connect(self):
        assert self.process.poll() is None, self.log()
        self.sock = socket.socket(socket.AF_UNIX)
        try:
            self.sock.connect(f"{self.folder}/socket")
        except OSError:
            return False
        self.answers, self.lists, self.asked = {}, {}, {}
        self.counts = collections.Counter()  # checked answers by their kinds
        self.lock = threading.Lock()
        threading.Thread(target=self.receive, args=(self.sock.makefile("rb"),), daemon=True).start()
        return True

    def receive(self, file):
        while len(data := file.read(ANSWER.size)) == ANSWER.size:
            magic, kind, flags, length, number, lifetime, stale, index, total, realms, md5, sha, secret, realm = (
                ANSWER.unpack(data))  # fmt: skip
            assert magic == b"SLA1"
            md5, sha = md5 if flags & 1 else None, sha if flags & 2 else None
            with self.lock:
                began = self.asked.get(number, (0, time.monotonic()))[1]
                answer = Answer(kind, number, md5, sha, lifetime, stale, index, total, realm[:realms].decode(),
                    secret[:length], time.monotonic() - began)  # fmt: skip
                if kind == SECRET:
                    secrets = self.lists.setdefault((answer.realm, number), [])
                    secrets += [answer.secret] if total else []
                else:
                    assert number in self.asked and number not in self.answers, "answered twice, or not asked"
                    self.answers[number] = answer

    def send(self, *users):
        """Asks about (name, realm) pairs or names, and returns the numbers of the questions."""
        data, numbers = b"", []
        with self.lock:
            for user in users:
                name, realm = user if isinstance(user, tuple) else (user, REALM)
                number = len(self.asked) + 1
                self.asked[number] = (name, realm), time.monotonic()
                name, realm = name.encode(), realm.encode()
                data += QUESTION.pack(b"SLQ1", 1, 0, len(name), number, CLIENT, 4711, len(realm), name, realm)
                numbers.append(number)
        self.sock.sendall(data)
        return numbers

    def ask(self, *users, limit=5):
        """The answers about users, in their order."""
        numbers = self.send(*users)
        labs.until(lambda: all(number in self.answers for number in numbers), limit, "all questions are answered", 0.001)
        return [self.answers[number] for number in numbers]

    def kinds(self, *users):
        return [answer.kind for answer in self.ask(*users)]

    def settled(self, *users):
        """The answers about users of a source that works. On a busy machine it may be too slow, sometimes."""
        found = {}
        for _ in range(20):
            left = [user for user in users if user not in found]
            found.update((user, answer) for user, answer in zip(left, self.ask(*left)) if answer.kind != NO_ANSWER)
            if len(found) == len(set(users)):
                return [found[user] for user in users]
            time.sleep(0.2)
        raise AssertionError(self.log())

    def settled_kinds(self, *users):
        return [answer.kind for answer in self.settled(*users)]

    def secrets(self, realm):
        """The newest list of a realm's secrets, or None."""
        with self.lock:
            lists = [(number, found) for (name, number), found in self.lists.items() if name == realm]
        return max(lists)[1] if lists else None

    def check(self, known):
        """Compares every answer so far with the truth; returns {kind: how many}. An error is never unknown."""
        with self.lock:
            for answer in itertools.islice(self.answers.values(), self.counts.total(), None):
                (name, realm), _ = self.asked[answer.id]
                self.counts[answer.kind] += 1
                if answer.kind == KEY:
                    assert (name, realm) in known, (name, realm, answer)
                    assert answer.md5 == key(name, realm), (name, realm)
                elif answer.kind == UNKNOWN:
                    assert (name, realm) not in known, (name, realm)
            return self.counts.copy()

    def status(self):
        with open(f"{self.folder}/status.json") as file:
            return json.load(file)

    def log(self):
        with open(self.log_path) as file:
            return file.read()

    def stop(self):
        self.process.terminate()
        assert self.process.wait(20) == 0, self.log()


@contextlib.contextmanager
def folder():
    """A directory that other users may enter. With LAB_KEEP=1 it stays."""
    path = tempfile.mkdtemp(prefix="lab-accounts-", dir="/tmp")
    os.chmod(path, 0o755)
    try:
        yield path
    finally:
        if not os.environ.get("LAB_KEEP"):
            shutil.rmtree(path, ignore_errors=True)


class Database:
    """A server process in a folder of its own. Subclasses have command() and answers()."""

    user = None  # the one that the server runs as, because it refuses root

    def __init__(self, path):
        self.path = path
        os.makedirs(path, exist_ok=True)
        if self.user:
            shutil.chown(path, self.user)
        self.process = None

    def run(self, *command, **kwargs):
        """Runs a command as the server's user."""
        return labs.command(*self.words(command), cwd=self.path, **kwargs)

    def words(self, command):
        if not self.user:
            return command
        group = pwd.getpwnam(self.user).pw_gid
        return ("setpriv", "--reuid", self.user, "--regid", str(group), "--clear-groups", *command)

    def start(self):
        with open(f"{self.path}/server.log", "ab") as log:
            self.process = subprocess.Popen(self.words(self.command()), stdout=log, stderr=log, cwd=self.path)
        labs.until(self.is_ready, 60, f"{type(self).__name__} answers", 0.05)

    def is_ready(self):
        if self.process.poll() is not None:
            with open(f"{self.path}/server.log") as file:
                raise AssertionError(file.read()[-2000:])
        with contextlib.suppress(RuntimeError):
            self.answers()
            return True
        return False

    def signal(self, number):
        """Reaches its children, too: PostgreSQL has a process for each connection."""
        children = labs.command("pgrep", "-P", str(self.process.pid), check=False).split()
        for pid in (self.process.pid, *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.signal(signal.SIGKILL)
            self.process.wait()


class Postgresql(Database):
    user = "postgres"

    def command(self):
        return (f"{POSTGRESQL}/postgres", "-D", f"{self.path}/data", "-k", self.path, "-c", "listen_addresses=")

    def start(self):
        if not os.path.exists(f"{self.path}/data"):
            options = ("--auth", "trust", "--encoding", "LATIN1", "--locale", "C", "--no-sync")
            self.run(f"{POSTGRESQL}/initdb", "-D", f"{self.path}/data", *options)
        super().start()

    def answers(self):
        self("select 1")

    def __call__(self, text):
        psql = (f"{POSTGRESQL}/psql", "-h", self.path, "-U", "postgres", "-qAt", "-v", "ON_ERROR_STOP=1")
        return self.run(*psql, input=text, env={"PGCLIENTENCODING": "UTF8", "PATH": os.environ["PATH"]}).strip()

    def conninfo(self):
        return f"host={self.path} user=postgres"

    def source(self):
        return {"type": "postgresql", "conninfo": self.conninfo()}


@contextlib.contextmanager
def running(database):
    try:
        database.start()
        yield database
    finally:
        database.kill()


def certificates(path):
    """Two authorities, a server's certificate by the first, and a client's by each."""
    make = ("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    for name in ("ca", "other"):
        labs.command(*make, "-x509", "-subj", f"/CN={name}", "-keyout", f"{path}/{name}.key", "-out", f"{path}/{name}.pem")
    for name, ca in (("server", "ca"), ("client", "ca"), ("eve", "other")):
        labs.command(*make, "-x509", "-CA", f"{path}/{ca}.pem", "-CAkey", f"{path}/{ca}.key", "-subj", f"/CN={name}",
            "-addext", "basicConstraints=critical,CA:FALSE", "-addext", "subjectAltName=IP:127.0.0.1",
            "-keyout", f"{path}/{name}.key", "-out", f"{path}/{name}.pem")  # fmt: skip


def need(*programs):
    """Skips the test if a program or the program under test is missing."""
    for path in (BINARY, *programs):
        if not (os.path.exists(path) or shutil.which(path)):
            raise labs.Skip(f"{path} is missing")


def load(accounts, known, strangers, stop, pace=0.002):
    """Asks about random users, known and unknown, in small groups, until the event is set."""
    users, wrong = sorted(known), [(name, REALM) for name in strangers]
    while not stop.is_set():
        accounts.send(*(random.choice(users if random.random() < 0.7 else wrong) for _ in range(4)))
        time.sleep(pace)


@contextlib.contextmanager
def loaded(accounts, known, strangers):
    stop = threading.Event()
    thread = threading.Thread(target=load, args=(accounts, known, strangers, stop))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        labs.until(lambda: len(accounts.answers) == len(accounts.asked), 5, "each question has an answer")


def outages(accounts, database, known, strangers):
    """Kills the server under load, starts it again, and stops it by SIGSTOP. All answers are true, and come in
    time. Users who were asked before stay known for the time of `stale`; others get no answer.
    """
    with loaded(accounts, known, strangers):
        labs.until(lambda: accounts.check(known)[KEY] > 200, 20, "questions are answered")
        database.kill()
        labs.until(lambda: not up(accounts), 10, "the outage is in status.json")
        labs.until(lambda: accounts.check(known)[NO_ANSWER] > 20, 10, "strangers get no answer")
        database.start()
        labs.until(lambda: up(accounts), 60, "the source is asked again")
        unknown = accounts.check(known)[UNKNOWN]
        labs.until(lambda: accounts.check(known)[UNKNOWN] > unknown, 20, "strangers are unknown again")
        database.signal(signal.SIGSTOP)
        try:
            silent = accounts.check(known)[NO_ANSWER]
            labs.until(lambda: accounts.check(known)[NO_ANSWER] > silent + 20, 10, "strangers get no answer")
        finally:
            database.signal(signal.SIGCONT)
        labs.until(lambda: up(accounts), 60, "the source is asked again")
    counts = accounts.check(known)
    slowest = max(answer.seconds for answer in accounts.answers.values())
    print(f"  {sum(counts.values())} answers, {dict(counts)}, the slowest after {slowest:.2f} s")
    assert slowest < 3 * labs.SLOW, slowest  # the limit is 1 s, on an idle machine
    log = accounts.log()
    assert "does not answer" in log and "answers again" in log, log
    for name in [*(name for name, _ in known), *strangers]:
        assert name not in log, log


def up(accounts):
    with contextlib.suppress(ValueError):
        return accounts.status()["sources"][0]["up"]
    return None


def main(tests):
    """Runs the tests of a file."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # databases end with their contexts
    try:
        for test in tests:
            print(test.__doc__ or test.__name__, flush=True)
            test()
    except labs.Skip as reason:
        print(reason)
        sys.exit(77)
    print("ok")
