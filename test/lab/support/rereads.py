# SPDX-License-Identifier: BSD-3-Clause
"""Changes to the file of a running server, and reloads."""

import os
import signal

from constants import document
from lab import until
from server import merge


def write(server, change):
    """Writes the file with these changes like an editor: a new file replaces the old one."""
    with open(os.open(server.path + ".new", os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        text = change if isinstance(change, str) else document(merge(server.config, change))
        file.write(server.lab.device(text))
    os.rename(server.path + ".new", server.path)


def reload(server, change=None):
    """The log lines of a reload of the file with these changes."""
    told = lambda: [line for line in server.log().splitlines() if "reload by SIGHUP: " in line]
    before = len(told())
    if change is not None:
        write(server, change)
    server.process.send_signal(signal.SIGHUP)
    return until(lambda: told()[before:], 10, "the reload ends")[0]
