# SPDX-License-Identifier: BSD-3-Clause
"""A terminal for a program under test: its screen, keys, sizes, and its state after the program
exits."""

import contextlib
import fcntl
import os
import re
import select
import struct
import subprocess
import termios
import time

import lab as labs

PIECE = re.compile(
    rb"\033\[(?P<row>\d+);(?P<column>\d+)H|\033\[(?P<erase>[0-2]?)(?P<kind>[JK])"
    rb"|\033\[\?(?P<mode>\d+)(?P<set>[hl])|\033\[[\d;]*m|(?P<control>[\r\n\a])"
    rb"|(?P<char>[\x20-\x7e]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}"
    rb"|[\xf0-\xf4][\x80-\xbf]{3})"
)
LONGEST = 12  # bytes of a sequence that may still be incomplete


class Screen:
    """A process on a terminal of its own. An escape sequence that is not known here is an error:
    the program needs few of them."""

    def __init__(self, argv, columns=80, lines=24, env=None):
        self.master, self.slave = os.openpty()
        self.resize(columns, lines)
        self.before = termios.tcgetattr(self.slave)
        self.rows, self.row, self.column = {}, 0, 0
        self.modes, self.rest, self.raw = {}, b"", b""
        self.process = subprocess.Popen(
            argv, stdin=self.slave, stdout=self.slave, stderr=self.slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **(env or {})},
        )  # fmt: skip

    def resize(self, columns, lines):
        self.columns, self.lines = columns, lines
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def put(self, piece):
        """Handles one sequence of the program's output."""
        if piece["row"]:
            self.row, self.column = int(piece["row"]) - 1, int(piece["column"]) - 1
        elif piece["kind"] == b"J":
            self.rows = {}
        elif piece["kind"] == b"K":
            self.rows[self.row] = []
        elif piece["mode"]:
            self.modes[int(piece["mode"])] = piece["set"] == b"h"
            if piece["mode"] == b"1049":  # the alternate screen is empty, the first is dropped
                self.rows, self.row, self.column = {}, 0, 0
        elif piece["control"]:
            self.row += piece["control"] == b"\n"
            self.column = 0
        elif piece["char"]:
            row = self.rows.setdefault(self.row, [])
            row += [" "] * (self.column - len(row))
            row[self.column : self.column + 1] = [piece["char"].decode()]
            self.column += 1

    def read(self, wait=0.1):
        """Reads the output. False if the program has exited and all is read."""
        ready, _, _ = select.select([self.master], [], [], wait)
        if not ready:
            return self.process.poll() is None
        data = os.read(self.master, 65536)
        self.raw += data
        self.rest += data
        while found := PIECE.match(self.rest):
            self.put(found)
            self.rest = self.rest[found.end() :]
        assert len(self.rest) < LONGEST, f"unknown escape sequence: {self.rest[:40]}"
        return True

    def text(self):
        """The lines on the screen. Each fits the width of the terminal."""
        rows = ["".join(self.rows.get(i, [])).rstrip() for i in range(max(self.rows, default=-1) + 1)]
        assert len(rows) <= self.lines, rows
        for row in rows:
            assert len(row) <= self.columns, row
        return "\n".join(rows)

    def until(self, pattern, timeout=10):
        """Reads until the screen matches the pattern, a regular expression. Returns the screen."""
        end = time.monotonic() + timeout * labs.SLOW
        while not re.search(pattern, self.text(), re.M):
            assert time.monotonic() < end, f"no {pattern!r} in\n{self.text()}"
            assert self.read(), f"exited: {self.process.returncode}\n{self.text()}"
        return self.text()

    def key(self, keys):
        os.write(self.master, keys.encode())

    def end(self, code, timeout=5):
        """The program must exit by itself with this code and restore the terminal."""
        stop = time.monotonic() + timeout * labs.SLOW
        while self.process.poll() is None:
            assert time.monotonic() < stop, f"it does not exit\n{self.text()}"
            self.read(0.05)
        while self.read(0):
            pass
        assert self.process.returncode == code, (self.process.returncode, self.text())
        assert termios.tcgetattr(self.slave) == self.before, "the settings are not restored"
        for mode, usual in ((1049, False), (25, True), (7, True)):
            assert self.modes.get(mode, usual) == usual, (mode, self.modes)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for fd in (self.master, self.slave):
            with contextlib.suppress(OSError):
                os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
