#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Typical public configuration files (test/import), on the machines that they are for: exit code,
the lines that need a decision, the results for important keys. slipring --check accepts each result
after the decisions.

Argument: the slipring program, which checks the results.
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else None
FILES = os.path.join(TOP, "test/import")
SCRIPT = os.path.join(TOP, "app/setup/slipring-import")
loader = importlib.machinery.SourceFileLoader("importer", SCRIPT)
importer = importlib.util.module_from_spec(importlib.util.spec_from_loader("importer", loader))
loader.exec_module(importer)

sys.path.insert(0, FILES)
from coturn import settings  # noqa: E402: after sys.path is set
from machine import box  # noqa: E402
from import_cases import CASES  # noqa: E402

ADDRESSES = {"10.99.0.1": 24, "10.99.0.9": 24, "fd99::1": 64}
ROUTES = [{"dst": "default", "gateway": "10.99.0.254", "dev": "eth0"}]
def machine(name):
    """The lab's machine: one address of each family, and a second one if a file names it."""
    addresses = [a for a in ADDRESSES if a != "10.99.0.9" or name == "two-externals"]
    infos = [{"local": a, "prefixlen": ADDRESSES[a], "scope": "global"} for a in addresses]
    return addresses, box.Box([{"ifname": "eth0", "flags": ["UP"], "addr_info": infos}], ROUTES)


def imported(name, *options, path=None):
    """(exit code, standard output, standard error) for a file."""
    out, err, here = io.StringIO(), io.StringIO(), machine(name)[1]
    argv = [SCRIPT, *options, path or os.path.join(FILES, name + ".conf")]
    with (
        mock.patch.object(box, "Box", lambda: here), mock.patch.object(sys, "argv", argv),
        contextlib.redirect_stdout(out), contextlib.redirect_stderr(err),
    ):  # fmt: skip
        code = importer.main()
    return code, out.getvalue(), err.getvalue()


class Files(unittest.TestCase):
    def test_each_is_here(self):
        names = {name.removesuffix(".conf") for name in os.listdir(FILES) if name.endswith(".conf")}
        self.assertEqual(names, set(CASES))
        for name in names:
            with open(os.path.join(FILES, name + ".conf"), "rb") as file:
                first = file.readline().removeprefix(b"\xef\xbb\xbf")
            self.assertRegex(first, rb"^# [A-Z].*", name)

    def to_decide(self, said, name):
        """The text under that heading, without the file's name."""
        heading, next_heading = (settings.HEADINGS[kind] + "\n" for kind in ("decide", "do"))
        if not said.startswith(heading):
            return []
        lines = said.removeprefix(heading).split(next_heading)[0].splitlines()
        return [re.sub(rf"^.*?/{name}\.conf: ?", "", line) for line in lines]

    def test_each(self):
        for name, case in CASES.items():
            with self.subTest(name):
                code, out, said = imported(name)
                found = self.to_decide(said, name)
                self.assertEqual(len(found), len(case.decide), found)
                for line, begin in zip(found, case.decide):
                    self.assertTrue(line.startswith(begin), (line, begin))
                self.assertEqual(code, 1 if case.decide else 0)
                for text in case.keys:
                    self.assertIn(text, out)
                for text in case.absent:
                    self.assertNotIn(text, out)

    def test_programs_of_this_machine(self):
        """The file has no peer rules. coturn relays to its own IPv4 address, and to no local IPv6
        address."""
        _, out, said = imported("talk")
        self.assertIn("no programs of this machine (10.99.0.1). coturn allows them", said)
        self.assertNotIn("allow:", out)
        _, out, said = imported("talk", "--private-peers")
        self.assertIn("    - 10.99.0.1 # --private-peers: programs of this machine\n", out)
        self.assertNotIn('- "fd99::1" #', out)
        self.assertNotIn("programs of this machine", said)


class Databases(unittest.TestCase):
    """slipring-accounts reads them. Without a key of its own coturn's database is a file of SQLite."""

    SOURCES = {"psql-userdb=host=db": "postgresql", "redis-userdb=ip=::1": "redis", "mysql-userdb=host=db": "mariadb",
               "db=/turndb": "sqlite", "use-auth-secret=no": "sqlite"}  # fmt: skip
    OTHERS = {"user=ivan:pw": 0, "use-auth-secret\nstatic-auth-secret=one": 0, "use-auth-secret\nmongo-userdb=x": 1}

    def result_of(self, text):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(f"realm=r\n{text}\n")
            file.flush()
            return imported("", path=file.name)

    def test_each(self):
        for line, kind in self.SOURCES.items():
            code, out, said = self.result_of(line)
            name = line.partition("=")[0]
            self.assertEqual(code, 0, said)
            self.assertIn(f"  lookup:\n    enabled: true # {name} in line 2\n", out)
            self.assertIn(f":2: {name}: install slipring-accounts, with a source of type {kind} in ", said)

    def test_others(self):
        for text, wanted in self.OTHERS.items():
            code, out, said = self.result_of(text)
            self.assertEqual(code, wanted, said)
            self.assertNotIn("lookup", out)


@unittest.skipUnless(PROGRAM, "needs the slipring program as its argument")
class Checked(unittest.TestCase):
    def test_each(self):
        """With a device that needs no hardware. The lab has the interface."""
        with tempfile.TemporaryDirectory() as folder:
            pair = [os.path.join(folder, name) for name in ("cert.pem", "key.pem")]
            subprocess.run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 60"
                " -subj /CN=turn".split() + ["-out", pair[0], "-keyout", pair[1]], check=True,
                capture_output=True)  # fmt: skip
            for name, case in CASES.items():
                with self.subTest(name):
                    self.check(folder, name, case, pair)

    def check(self, folder, name, case, pair):
        addresses, _ = machine(name)
        options = [f"--address={a}/{ADDRESSES[a]}" for a in addresses]
        _, out, _ = imported(name, "--port", "vtap:x0", *options, "--gateway", "10.99.0.254")
        out = case.decide_in(out)
        out = re.sub(r"(certificate: )\S+", rf"\g<1>{pair[0]}", out)
        out = re.sub(r"(  key: )/\S+", rf"\g<1>{pair[1]}", out)
        out = re.sub(r"(  user: )turnserver", r"\g<1>nobody", out)
        path = os.path.join(folder, name + ".yaml")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(out)
        argv = [PROGRAM, "--check", "-c", path]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
