#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The pure parts of scripts/check-docs: each check finds what it is for."""

import importlib.machinery
import importlib.util
import os
import sys
import unittest

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../scripts")
sys.dont_write_bytecode = True


def script(name):
    """A script without the ending .py, as a module."""
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), os.path.join(SCRIPTS, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


docs = script("check-docs")


class Names(unittest.TestCase):
    def found(self, text, words=("turn_plan", "test_line", "test_stripped", "peers")):
        return list(docs.unknown_identifiers(text, set(words)))

    def test_what_no_source_has(self):
        self.assertEqual(self.found("a\n`rewrite_reply` and turn_plan"), [(2, "rewrite_reply")])
        self.assertEqual(self.found("in plain words: rewrite_reply"), [(1, "rewrite_reply")])

    def test_what_is_there(self):
        self.assertEqual(self.found("`struct turn_plan`, test_line, test_peers, `stripped_x`"), [(1, "stripped_x")])
        self.assertEqual(self.found("test_NAME.c, `rte_hash`, lib/dp/rewrite_reply.c"), [])

    def test_fences_are_no_prose(self):
        self.assertEqual(self.found("```sh\nnet_memif9 rewrite_reply\n```\nrewrite_reply"), [(4, "rewrite_reply")])

    def test_files(self):
        paths = ["lib/turn/route.c", "lib/stream/dtls/dtls.c", "test/lab/lab.py"]
        self.assertEqual(list(docs.unknown_files("route.c, turn/route.c, stream/dtls.c, lab.py", paths)), [])
        self.assertEqual(list(docs.unknown_files("relay.c, dp/route.c", paths)), [(1, "relay.c"), (1, "dp/route.c")])
        self.assertEqual(list(docs.unknown_files("test_NAME.c, dpdk-telemetry.py", paths)), [])

    def test_tests(self):
        paths = ["test/unit/turn/test_peers.c", "test/lab/test_relay.py", "test/model/attack.c", "lib/turn/gone.c"]
        table = "| rule | test |\n|---|---|\n| a | peers (twice), model attack; lab relay, gone |\n"
        self.assertEqual(list(docs.unknown_tests(table, paths)), [(3, "lab gone")])
        self.assertEqual(list(docs.unknown_tests("| rule | what |\n|---|---|\n| a | gone |", paths)), [])

    def test_decisions(self):
        pages = ["d/0001-a.md", "d/0002-b.md", "d/0002-c.md"]
        self.assertEqual(docs.same_number(pages), {"0002": ["d/0002-b.md", "d/0002-c.md"]})
        self.assertEqual(docs.same_number(pages[:2]), {})

    def test_opening_comment(self):
        spdx = "// SPDX-License-Identifier: BSD-3-Clause\n"
        self.assertTrue(docs.has_opening(spdx + "// What it is for.\n#include <a.h>\n"))
        self.assertFalse(docs.has_opening(spdx + "#include <a.h>\n// Too late.\n"))
        self.assertFalse(docs.has_opening(spdx))


if __name__ == "__main__":
    unittest.main()
