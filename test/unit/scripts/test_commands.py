#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Commands and configurations of the documents: test_commands.py SLIPRING PROBE LOADGEN EXPORTER

The programs know every option that a document gives them, the server takes every configuration, and
each command of the documents that an operator follows is run by a test, or has a reason why not.
"""

import glob
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../.."))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TOP, "test/package"))
import documents  # noqa: E402

UNKNOWN = "--there-is-no-such-option"
SERVER, PROBE, LOADGEN, EXPORTER, ACCOUNTS = map(os.path.abspath, sys.argv[1:6])
PROGRAMS = {
    "slipring": [SERVER],
    "slipring-probe": [PROBE],
    "slipring-loadgen": [LOADGEN],
    **{name: [sys.executable, f"{TOP}/app/{name}/{name}"] for name in ("slipringctl", "slipring-tune")},
    **{name: [sys.executable, f"{TOP}/app/setup/{name}"] for name in ("slipring-import", "slipring-init")},
    "slipring-exporter": [sys.executable, EXPORTER],
    "slipring-accounts": [sys.executable, ACCOUNTS],
}
ALL_KNOWN = rf"(unrecognized arguments:|unknown option|missing:) {UNKNOWN}\n"
NAMED = rf"{ALL_KNOWN}|arguments? .*(is|are) required"
VALUES = {"N": "1", "ID": "1", "...": "1"}  # placeholders
# Sections of a document's configuration take the place of these.
SECTIONS = {
    "ports": 'ports:\n  - name: wan\n    device: "0000:01:00.0"\n    addresses: [192.0.2.1/24]\n    gateway: [192.0.2.254]\n',
    "listeners": "listeners:\n  - {address: all}\n",
    "relay": "relay:\n  addresses: all\n",
    "tls": "tls: {certificate: cert.pem, key: key.pem}\n",
    "auth": "auth: {realm: turn.example, secrets: [change me]}\n",
}


def answer(words):
    """Messages of the program about the words and an unknown option."""
    program, *rest = words
    if rest[:1] == ["init"] and program == "slipring":
        program, rest = "slipring-init", rest[1:]
    end = rest.index("--") if "--" in rest else len(rest)
    rest = [VALUES.get(word, word) for word in rest]
    command = [*PROGRAMS[program], *rest[:end], UNKNOWN, *rest[end:]]
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "pw"), "w") as file:  # of --password-file
            file.write("a password\n")
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    return done.stderr


def completed(text):
    """A whole configuration of one section, or of lines of a port."""
    sections = dict(SECTIONS)
    if text.startswith(" "):
        for line in text.splitlines(True):
            key = re.match(r" +(\w+):", line)[1]
            sections["ports"] = re.sub(rf"^    {key}:.*\n", line, sections["ports"], flags=re.M)
        return "".join(sections.values())
    given = re.findall(r"^([\w-]+):", text, re.M)
    text = re.sub(r"^relay:\n(?!(?: .*\n)*  addresses:)", SECTIONS["relay"], text, flags=re.M)
    return "".join(value for key, value in sections.items() if key not in given) + text


class Documents(unittest.TestCase):
    def test_programs_know_the_options(self):
        calls = {}
        for path in documents.every_document():
            for number, words in documents.programs(path):
                if words[0] in PROGRAMS and words[1:] not in ([], ["--help"]):
                    calls.setdefault(tuple(words), f"{path}:{number}: {' '.join(words)}")
        if not importlib.util.find_spec("prometheus_client"):
            calls = {words: place for words, place in calls.items() if words[0] != "slipring-exporter"}
        self.assertGreater(len(calls), 50)
        for words, place in calls.items():
            # a sentence may name a command without what it acts on
            good = NAMED if len(words) == 2 else ALL_KNOWN
            with self.subTest(place):
                self.assertRegex(answer(words), good)

    def test_the_server_takes_the_configurations(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "slipring.yaml")
            make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=turn.example"
            subprocess.run([*make.split(), "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"],
                check=True, capture_output=True)  # fmt: skip
            count = 0
            for path in documents.every_document():
                for number, language, lines in documents.blocks(path):
                    if language != "yaml":
                        continue
                    count += 1
                    text = completed("\n".join(lines) + "\n")
                    for name in re.findall(r"(?:secret|password)-file: ([\w-]+)", text):
                        with open(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT, 0o600), "w") as secret:
                            secret.write("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n")
                    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as config:
                        config.write(text)
                    done = subprocess.run([SERVER, "--drivers", TOP + "/drivers-config", "--check", "-c", file],
                        cwd=folder, capture_output=True, text=True, check=False)  # fmt: skip
                    with self.subTest(f"{path}:{number}"):
                        self.assertEqual(done.returncode, 0, done.stderr + text)
            self.assertGreater(count, 5)

    def test_each_command_is_run_or_has_a_reason(self):
        used = set()
        for path in documents.FOLLOWED:
            for number, line in documents.lines(path):
                with self.subTest(f"{path}:{number}: {line}"):
                    self.assertIsNotNone(documents.how_tested(line), "test/package/documents.py has no row for it")
                used.add(next((form for form, _ in documents.WAYS if re.fullmatch(form, line)), None))
        self.assertEqual([form for form, _ in documents.WAYS if form not in used], [], "no document has these commands")

    def test_reasons_name_tests_that_exist(self):
        for _, reason in documents.WAYS:
            for kind, name in re.findall(r"\b(lab|unit) (\w+)", reason):
                self.assertTrue(glob.glob(f"{TOP}/test/{kind}/*/test_{name}.*"), reason)

    def test_packages_for_a_build_are_those_that_tests_install(self):
        (line,) = [line for _, line in documents.lines("doc/install.md") if line.startswith("apt-get install")]
        known = set(documents.read("scripts/common.sh").replace('"', " ").split())
        self.assertEqual(set(line.split()[2:]) - known, set())

    def test_what_is_a_command(self):
        self.assertEqual(documents.without_comment('sudo a -W "x # y" b#c   # why'), 'a -W "x # y" b#c')
        self.assertEqual(list(documents.simple_commands("a 'b c' | d && e; f >g")), [["a", "b c"], ["d"], ["e"], ["f"]])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
