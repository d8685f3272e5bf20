# SPDX-License-Identifier: BSD-3-Clause
"""Takes over a terminal: keys without Enter, frames without flicker. The terminal is restored however
the program ends, except by SIGKILL."""

import atexit
import contextlib
import os
import re
import select
import signal
import sys
import termios
import tty

ENTER = "\033[?1049h\033[?25l\033[?7l"  # alternate screen, no cursor, no line wrapping
LEAVE = "\033[0m\033[?7h\033[?25h\033[?1049l"
KEY = re.compile(rb"\033[\[O][0-9;?]*[A-Za-z~]|.", re.DOTALL)
ENDS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
LOST = (OSError, termios.error)  # the terminal is closed


def usable():
    """True if there is a terminal with a screen and keys."""
    able = os.environ.get("TERM", "") not in ("", "dumb", "unknown")
    return able and sys.stdin.isatty() and sys.stdout.isatty()


class Terminal:
    def __init__(self):
        self.keys, self.screen = sys.stdin.fileno(), sys.stdout.fileno()
        self.before = None  # its original settings, while we use it
        self.drawn, self.area = [], None
        self.woken, self.waker = os.pipe()
        for fd in (self.woken, self.waker):
            os.set_blocking(fd, False)

    def write(self, text):
        data = text.encode(sys.stdout.encoding or "ascii", "replace")
        while data:
            data = data[os.write(self.screen, data) :]

    def enter(self):
        self.before = termios.tcgetattr(self.keys)
        tty.setcbreak(self.keys, termios.TCSANOW)
        self.area = None  # redraw everything
        self.write(ENTER)

    def leave(self):
        """Restores the terminal; may be called again."""
        before, self.before = self.before, None
        if before is None:
            return
        with contextlib.suppress(*LOST):
            termios.tcsetattr(self.keys, termios.TCSANOW, before)
            self.write(LEAVE)

    def stopped(self, number, frame):
        """Ctrl-Z: gives the terminal back to the shell until we continue."""
        self.leave()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        # continued
        signal.signal(signal.SIGTSTP, self.stopped)
        self.enter()
        self.wake()

    def __enter__(self):
        def ended(number, frame):
            raise SystemExit(128 + number)

        signal.set_wakeup_fd(self.waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGWINCH, lambda *_: None)
        signal.signal(signal.SIGTSTP, self.stopped)
        for number in ENDS:
            signal.signal(number, ended)
        atexit.register(self.leave)  # for a signal before the with block has begun
        self.enter()
        return self

    def __exit__(self, *_):
        try:
            for number in (*ENDS, signal.SIGINT, signal.SIGTSTP):
                signal.signal(number, signal.SIG_IGN)  # nothing may interrupt the restore
        finally:
            self.leave()

    def wake(self):
        """Ends a wait, from any thread."""
        with contextlib.suppress(BlockingIOError):
            os.write(self.waker, b"\0")

    def wait(self, seconds):
        """Waits for keys, a wake or a timeout. Returns the keys, or None if the terminal is closed."""
        ready, _, _ = select.select([self.keys, self.woken], [], [], max(0, seconds))
        if self.woken in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self.woken, 4096)
        if self.keys not in ready:
            return []
        try:
            data = os.read(self.keys, 256)
        except OSError:
            return None
        return [key.decode("latin-1") for key in KEY.findall(data)] if data else None

    def size(self):
        """The current (columns, lines)."""
        try:
            columns, lines = os.get_terminal_size(self.screen)
        except OSError:
            columns, lines = 0, 0
        return (columns or 80, lines or 24)

    def draw(self, lines):
        """Shows lines, one per row: writes only those that have changed."""
        area = self.size()
        fresh = area != self.area
        before = [] if fresh else self.drawn
        out = ["\033[2J"] if fresh else []
        lines = lines[: area[1]]
        for row in range(max(len(lines), len(before))):
            line = lines[row] if row < len(lines) else ""
            if row >= len(before) or before[row] != line:
                out.append(f"\033[{row + 1};1H\033[2K{line}")
        self.area, self.drawn = area, lines
        self.write("".join(out))
