#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The hook that hands certificates renewed by certbot to slipring, with a fake slipringctl."""

import os
import stat
import subprocess
import tempfile
import unittest

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
HOOK = os.path.join(TOP, "scripts", "certbot-deploy-hook")


class Hook(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        for name in ("live/turn.example", "tls", "bin"):
            os.makedirs(os.path.join(self.dir.name, name))
        for name in ("fullchain.pem", "privkey.pem"):
            self.write(f"live/turn.example/{name}", f"new {name}")
            self.write(f"tls/{name}", f"old {name}")
        self.answer(0)

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def write(self, name, text, mode=0o644):
        with open(os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name)) as file:
            return file.read()

    def answer(self, code):
        """The exit code of the fake slipringctl; it writes its arguments to a file."""
        self.write("bin/slipringctl", f'#!/bin/sh\necho "$@" >>{self.path("asked")}\nexit {code}\n', 0o755)

    def run_hook(self, lineage="live/turn.example", **settings):
        env = {"PATH": f"{self.path('bin')}:{os.environ['PATH']}", "SLIPRING_TLS": self.path("tls"),
            "SLIPRING_SETTINGS": self.path("none"), **settings}  # fmt: skip
        if lineage:
            env["RENEWED_LINEAGE"] = self.path(lineage)
        return subprocess.run(["sh", HOOK], env=env, capture_output=True, text=True, check=False)

    def test_installs_the_certificate(self):
        done = self.run_hook()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.read("asked"), "config reload\n")
        for name, mode in (("fullchain.pem", 0o644), ("privkey.pem", 0o600)):
            self.assertEqual(self.read(f"tls/{name}"), f"new {name}")
            self.assertEqual(stat.S_IMODE(os.stat(self.path(f"tls/{name}")).st_mode), mode)
        self.assertEqual(sorted(os.listdir(self.path("tls"))), ["fullchain.pem", "privkey.pem"])

    @unittest.skipUnless(os.geteuid() == 0, "gives files away")
    def test_sets_the_owner(self):
        self.assertEqual(self.run_hook(SLIPRING_USER="nobody").returncode, 0)
        self.assertNotEqual(os.stat(self.path("tls/privkey.pem")).st_uid, 0)

    def test_fails_if_slipring_refuses(self):
        self.answer(1)
        done = self.run_hook()
        self.assertEqual(done.returncode, 1)
        self.assertIn("still uses the old one", done.stderr)

    def test_ignores_other_certificates(self):
        self.assertEqual(self.run_hook(SLIPRING_CERT="www.example").returncode, 0)
        self.assertEqual(self.read("tls/privkey.pem"), "old privkey.pem")
        self.assertFalse(os.path.exists(self.path("asked")))

    def test_reports_errors(self):
        self.assertIn("RENEWED_LINEAGE", self.run_hook(lineage=None).stderr)
        self.assertIn("no such directory", self.run_hook(SLIPRING_TLS=self.path("away")).stderr)
        self.assertEqual(self.run_hook(lineage="live/none").returncode, 1)
        self.assertEqual(self.read("tls/privkey.pem"), "old privkey.pem")

    def test_settings_of_a_file(self):
        self.write("settings", f"SLIPRING_TLS={self.path('bin')}\n")
        self.assertEqual(self.run_hook(SLIPRING_SETTINGS=self.path("settings")).returncode, 0)
        self.assertEqual(self.read("bin/privkey.pem"), "new privkey.pem")


if __name__ == "__main__":
    unittest.main()
