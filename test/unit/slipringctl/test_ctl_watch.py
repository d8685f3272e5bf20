#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""slipringctl watch: every event once, filters, losses, and no control of the terminal."""

import json
import os
import subprocess
import sys
import unittest

import ctl_world as world

from ctl import watch

ROW = {
    "time": "2026-11-23T18:04:29.623Z", "event": "made", "id": "7", "user": "1795471476:ivan",
    "realm": "turn.example", "client": "192.0.2.7:5000", "relay": "203.0.113.5:49152",
}  # fmt: skip
REFUSED = {**ROW, "event": "refused", "user": "olga\x1b", "method": "Allocate", "code": 401, "why": "password-wrong"}


def passes(row, *filters):
    return watch.matches(row, [watch.one_filter(text) for text in filters])


class Filters(unittest.TestCase):
    def test_each(self):
        for text in ("user=ivan", "user=1795471476:ivan", "realm=turn.example", "client=192.0.2.7", "client=192.0.2.0/24"):
            self.assertTrue(passes(ROW, text), text)
        for text in ("user=iva", "realm=turn", "client=192.0.2.8", "client=2001:db8::/32", "reason=client"):
            self.assertFalse(passes(ROW, text), text)
        self.assertTrue(passes(REFUSED, "reason=password-wrong", "client=192.0.2.7"))
        self.assertFalse(passes(REFUSED, "reason=password-wrong", "user=ivan"))
        for client in ("[2001:db8::7]:5000", "2001:db8::7", "2001:db8::/48"):
            self.assertTrue(passes({"client": client}, "client=2001:db8::7"), client)
        self.assertFalse(passes({}, "client=2001:db8::7"))

    def test_wrong_ones(self):
        for text in ("ivan", "colour=red", "client=nowhere"):
            args = [sys.executable, world.PROGRAM, "watch", "--filter", text]
            done = subprocess.run(args, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"--filter {text}: ", done.stderr)


class Events(unittest.TestCase):
    def watched(self, *args):
        """Output of a watch of two answers, until the server is gone."""
        answers = iter([
            {"rows": [], "next": 5, "lost": 0}, {"rows": [ROW], "next": 6, "lost": 0},
            {"rows": [REFUSED], "next": 9, "lost": 2}])  # fmt: skip

        def answer(_):
            row = next(answers, None)
            return json.dumps({"v": 1, "ok": True, **row}).encode() if row else b"gone"

        with world.Box(watch=answer) as box:
            done = subprocess.run([sys.executable, world.PROGRAM, "--socket", box.path, "watch", *args],
                capture_output=True, text=True, check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})  # fmt: skip
            self.assertEqual([one.get("after") for one in box.asked], [None, 5, 6, 9])
        self.assertEqual(done.returncode, 3)
        self.assertIn("2 events lost", done.stderr)
        return done.stdout

    def test_for_people(self):
        self.assertEqual(self.watched().splitlines(), [
            "18:04:29  made     1795471476:ivan at 192.0.2.7:5000  relay 203.0.113.5:49152",
            "18:04:29  refused  olga%1B at 192.0.2.7:5000  relay 203.0.113.5:49152  Allocate answered 401"
            "  password-wrong"])  # fmt: skip

    def test_as_json(self):
        self.assertEqual([json.loads(row) for row in self.watched("--json", "--filter", "user=ivan").splitlines()], [ROW])


if __name__ == "__main__":
    unittest.main()
