# SPDX-License-Identifier: BSD-3-Clause
"""A server that can be ordered to hang or crash, and its crash reports."""

import os
import re
import signal

import control
import lab as labs


def config(lab, directory="", **more):
    """Changes to a server's configuration that enable ordered faults. directory: for crash reports."""
    return {
        "debug": {"faults": True},
        "control": {"socket": os.path.join(lab.dir, "control.sock")},
        "crash": {"directory": directory},
        **more,
    }


def order(server, fault, **fields):
    """Orders a fault. The server may exit afterwards, or even before it answers: the worker that
    crashes does not wait for the thread that answers.
    """
    with control.Control(server.config["control"]["socket"]) as client:
        answer = client.answer("fault", **{"what": fault}, **fields)
    assert answer is None or answer["ok"], answer


def ended(server, number):
    """Waits until a signal has ended the server."""
    server.telemetry.close()
    code = server.process.wait(30 * labs.SLOW)
    assert code == -number, f"ended with {code}, not by {signal.Signals(number).name}"


class Report:
    """A crash report as any user may read it: lines of NAME: VALUE."""

    def __init__(self, text):
        self.text = text
        lines = text.splitlines()
        assert lines[0] == "slipring crash report 1", text
        assert len(text) <= 64 * 1024 and text.isascii(), text
        self.whole = lines[-1] == "end of report"
        self.rows = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)

    def named(self, begin):
        """The values of lines whose name has this prefix."""
        return [value for name, value in self.rows.items() if name.startswith(begin)]

    def stack(self):
        """The names of known functions, innermost first."""
        return [re.split(r"[+ ]", place)[0] for place in self.named("stack ")]

    def headers(self):
        """The headers of each frame."""
        found = (re.search(r"headers ([0-9a-f]+)$", value) for value in self.named("frame "))
        return [bytes.fromhex(match[1]) for match in found if match]
