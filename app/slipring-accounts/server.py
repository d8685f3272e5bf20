# SPDX-License-Identifier: BSD-3-Clause
"""The socket on which slipring asks, and the lists of secrets that it is told."""

import asyncio
import grp
import os
import socket
import stat
import time

import records
from source import Trouble, say

CONNECTIONS_MAX = 64
SILENT_S = 10  # a connection that takes no answers for this time is closed


class Secrets:
    """The lists of all realms, joined from all sources. They are told once each source has answered or failed,
    so that a list is never short of a source that is a little slower.
    """

    def __init__(self, connections, sources):
        self.connections = connections
        self.silent = set(sources)  # numbers of sources that have neither answered nor failed
        self.found = {}  # by number of the source: {realm: set of secrets}
        self.lists = {}  # by realm: (number of the list, secrets)
        self.told = set()

    def hear(self, index, lists):
        """A source has told all secrets that it has, or None if it failed: then those from before count."""
        self.silent.discard(index)
        if lists is not None:
            self.found[index] = lists
        if self.silent:
            return
        wanted = {realm: set() for realm in self.lists}
        for part in self.found.values():
            for realm, secrets in part.items():
                wanted.setdefault(realm, set()).update(secrets)
        for realm, secrets in wanted.items():
            if is_text(realm) and len(realm) <= records.REALM_MAX:
                self.change(realm, self.usable(realm, secrets))

    def usable(self, realm, secrets):
        good = sorted(secret for secret in secrets if is_text(secret) and len(secret) <= records.SECRET_MAX)
        if len(good) != len(secrets):
            self.say_once(realm, f"secrets of a realm that are not texts of 1 to {records.SECRET_MAX} bytes are left out")
        if len(good) > records.LIST_MAX:
            self.say_once(realm, f"a realm has more than {records.LIST_MAX} secrets: the rest is left out")
        return good[: records.LIST_MAX]

    def say_once(self, realm, text):
        if (realm, text) not in self.told:
            self.told.add((realm, text))
            say(text)

    def change(self, realm, secrets):
        old = self.lists.get(realm)
        if old and old[1] == secrets:
            return
        # also grows over restarts
        number = max(int(time.time() * 1000), old[0] + 1 if old else 0)
        self.lists[realm] = number, secrets
        for connection in self.connections:
            connection.send(self.records_of(realm))

    def records_of(self, realm):
        number, secrets = self.lists[realm]
        return records.secret_list(number, realm, secrets)


def is_text(value):
    return value and b"\0" not in value


class Connection(asyncio.Protocol):
    """One process of slipring. Answers of one turn of the loop are written together."""

    def __init__(self, loop, connections, secrets, desk):
        self.loop, self.connections, self.secrets, self.desk = loop, connections, secrets, desk
        self.transport = None
        self.rest = b""
        self.answers = []
        self.timer = None

    def connection_made(self, transport):
        self.transport = transport
        if len(self.connections) >= CONNECTIONS_MAX:
            say(f"more than {CONNECTIONS_MAX} connections: one is closed")
            return transport.abort()
        self.connections.add(self)
        for realm in self.secrets.lists:
            self.send(self.secrets.records_of(realm))
        return None

    def connection_lost(self, _):
        self.connections.discard(self)
        if self.timer:
            self.timer.cancel()

    def data_received(self, data):
        data = self.rest + data if self.rest else data
        try:
            asked, end = records.questions(data)
        except records.Malformed as error:
            say(f"a connection is closed: {error}")
            return self.transport.abort()
        self.rest = data[end:]
        for question in asked:
            self.desk.ask(question, self.send)
        return None

    def send(self, answer):
        if not self.answers:
            self.loop.call_soon(self.flush)
        self.answers.append(answer)

    def flush(self):
        answers, self.answers = self.answers, []
        if not self.transport.is_closing():
            self.transport.write(b"".join(answers))

    def pause_writing(self):
        """The other side takes no answers, so it may not ask more."""
        self.transport.pause_reading()
        self.timer = self.loop.call_later(SILENT_S, self.transport.abort)

    def resume_writing(self):
        self.timer.cancel()
        self.transport.resume_reading()


def listener(path, group):
    """The socket, which only its owner and the group may open. A socket that nobody serves is replaced."""
    try:
        number = grp.getgrnam(group).gr_gid
    except KeyError:
        raise Trouble(f"socket.group: there is no group {group}: groupadd --system {group}") from None
    sock = socket.socket(socket.AF_UNIX)
    try:
        remove_dead(path)
        mask = os.umask(0o117)
        try:
            sock.bind(path)
        finally:
            os.umask(mask)
        if os.stat(path).st_gid != number:
            os.chown(path, -1, number)
        sock.listen(CONNECTIONS_MAX)
    except PermissionError as error:
        raise Trouble(f"socket: {path}: {error.strerror}; only root or a member of {group} may make it,"
            f" or its folder has this group and mode 2750") from None  # fmt: skip
    except OSError as error:
        raise Trouble(f"socket: {path}: {error.strerror}") from None
    return sock


def remove_dead(path):
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise Trouble(f"socket: {path} is another file")
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(path)
        raise Trouble(f"socket: another process serves {path}")
    except ConnectionRefusedError:
        os.unlink(path)
    except FileNotFoundError:
        pass
