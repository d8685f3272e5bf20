# SPDX-License-Identifier: BSD-3-Clause
"""slipring-upgrade-check: its verdicts on two programs, real ones and fake ones."""

import os
import subprocess
import sys
import tempfile
import unittest

SLIPRING = os.path.abspath(sys.argv.pop())
SCRIPT = os.path.join(os.path.dirname(__file__), "../../../app/slipring-upgrade-check/slipring-upgrade-check")


def layout():
    done = subprocess.run([SLIPRING, "--state-layout"], capture_output=True, text=True, check=True)
    return done.stdout


class Upgrade(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def program(self, name, says, status=0):
        """A program that runs and prints this layout of its state area."""
        path = os.path.join(self.dir.name, name)
        with open(path, "w") as file:
            file.write(
                "#!/bin/sh\n[ $1 = --version ] && exit 0\ncat <<'END'\n"
                f"{says}END\nexit {status}\n"
            )
        os.chmod(path, 0o755)
        return path

    def check(self, *programs):
        done = subprocess.run([SCRIPT, *programs], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def test_same(self):
        status, said = self.check(SLIPRING, SLIPRING)
        self.assertEqual(status, 0, said)
        self.assertIn("calls survive", said)

    def test_changed_field(self):
        changed = layout().replace("state_alloc.relay2: 2 bytes", "state_alloc.relay2: 4 bytes")
        first, rest = changed.split("\n", 1)
        new = self.program("new", first[:-1] + ("0" if first[-1] != "0" else "1") + "\n" + rest)
        status, said = self.check(SLIPRING, new)
        self.assertEqual(status, 1, said)
        self.assertIn("-state_alloc.relay2: 2 bytes", said)
        self.assertIn("+state_alloc.relay2: 4 bytes", said)
        self.assertNotIn("state_alloc.realm", said)

    def test_none(self):
        """A program without state areas exits at the unknown option."""
        old = self.program("old", "", 1)
        for pair in ((old, SLIPRING), (SLIPRING, old)):
            status, said = self.check(*pair)
            self.assertEqual(status, 1, said)
            self.assertIn("no state area", said)

    def test_wrong_usage(self):
        odd = self.program("odd", "state layout: ask later\n")
        for programs in ((), (SLIPRING,), (SLIPRING, "/nonexistent"), (SLIPRING, odd), ("/", "/")):
            status, said = self.check(*programs)
            self.assertEqual(status, 2, said)


if __name__ == "__main__":
    unittest.main()
