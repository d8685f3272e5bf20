# SPDX-License-Identifier: BSD-3-Clause
"""The client of the control socket: one JSON object per line in each direction."""

import errno
import grp
import json
import os
import socket

VERSION = 1
LONGEST = 4 * 1024 * 1024  # bytes of an answer; the server sends 1 MB at most


class NoServer(Exception):
    """There is no answer; the text has the reason and advice."""


class Refused(Exception):
    """The server has refused the request; the text has the reason."""


def printable(text):
    """A text that is safe for terminals: the bytes of characters that are not printable become %XX."""
    if text.isprintable():
        return text
    parts = []
    for char in text:
        raw = b"" if char.isprintable() else char.encode("utf-8", "surrogatepass")
        parts.append("".join(f"%{byte:02X}" for byte in raw) or char)
    return "".join(parts)


def cleaned(answer):
    """An answer with all texts made printable."""
    if isinstance(answer, str):
        return printable(answer)
    if isinstance(answer, list):
        return [cleaned(one) for one in answer]
    if isinstance(answer, dict):
        return {printable(name): cleaned(one) for name, one in answer.items()}
    return answer


def group_of(path):
    """The group that may use the socket; None if there is no group or it is not visible."""
    try:
        there = os.stat(path)
        return grp.getgrgid(there.st_gid).gr_name if there.st_mode & 0o060 else None
    except (OSError, KeyError):
        return None


def why_not(path, error):
    """The reason that the server is unreachable, and advice."""
    if error.errno == errno.ENOENT:
        return (
            f"{path}: there is no such socket: slipring does not run, or its control.socket is"
            " another path (see --socket)"
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        group = group_of(path)
        if group:
            return f"{path}: no permission: become a member of group {group}, or use sudo"
        return f"{path}: no permission: use sudo, or let a group in by control.group"
    if error.errno == errno.ECONNREFUSED:
        return f"{path}: nobody listens there: slipring does not run"
    return f"{path}: {error.strerror or error}"


class Server:
    """A connection to a running slipring."""

    def __init__(self, path, timeout=60):
        self.path = path
        self.rest = b""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(timeout)
        try:
            self.sock.connect(path)
        except OSError as error:
            self.close()
            raise NoServer(why_not(path, error)) from error

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def line(self):
        """The next line of the server."""
        while b"\n" not in self.rest:
            try:
                more = self.sock.recv(65536)
            except OSError as error:
                raise NoServer(f"{self.path}: no answer: {error.strerror or error}") from error
            if not more or len(self.rest) > LONGEST:
                raise NoServer(f"{self.path}: the server has closed the connection")
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return line

    def ask(self, command, **fields):
        """Sends a command and returns its answer; fields that are None are left out."""
        request = {"v": VERSION, "cmd": command}
        request.update((name, value) for name, value in fields.items() if value is not None)
        try:
            self.sock.sendall(json.dumps(request).encode() + b"\n")
        except OSError:
            pass  # a server that refuses the connection has sent a reason before it closed
        try:
            answer = json.loads(self.line())
        except ValueError as error:
            raise NoServer(f"{self.path}: the program that answers there is not slipring: {error}") from error
        if not isinstance(answer, dict) or not answer.get("ok"):
            raise Refused(answer.get("error", "?") if isinstance(answer, dict) else "?")
        return answer
