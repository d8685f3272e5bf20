#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/quick: the tests that a changed file selects."""

import importlib.machinery
import importlib.util
import os
import sys
import unittest
from unittest import mock

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../scripts/quick")
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("quick", SCRIPT)
quick = importlib.util.module_from_spec(importlib.util.spec_from_loader("quick", loader))
loader.exec_module(quick)

TESTS = {
    "line": ({"unit", "turn"}, []),
    "line_long": ({"unit", "dp"}, []),
    "ticket": ({"unit", "mobility", "turn"}, []),
    "icmp": ({"unit", "ip", "dp"}, []),
    "checks": ({"script"}, []),
}


class Selected(unittest.TestCase):
    def found(self, *paths, included=None):
        with mock.patch.object(quick, "includers", return_value=included or {}):
            return quick.selected(paths, TESTS)

    def test_a_source_selects_its_folder_and_its_namesakes(self):
        self.assertEqual(self.found("lib/turn/features/mobility/move.c"), ["ticket"])
        self.assertEqual(self.found("lib/turn/auth/nonce.c"), ["line", "ticket"])
        self.assertEqual(self.found("lib/turn/line.c"), ["line", "line_long", "ticket"])
        self.assertEqual(self.found("lib/dp/ip/icmp.c"), ["icmp"])

    def test_a_header_selects_the_tests_that_include_it(self):
        included = {"lib/dp/ip/a.h": {"line", "icmp"}, "lib/turn/b.h": {"checks"}}
        self.assertEqual(self.found("lib/dp/ip/a.h", included=included), ["icmp", "line"])

    def test_a_test_selects_itself(self):
        self.assertEqual(self.found("test/unit/turn/test_line.c"), ["line"])

    def test_support_of_a_folder_selects_the_folder(self):
        self.assertEqual(self.found("test/unit/mobility/mobile_world.c"), ["ticket"])

    def test_a_script_selects_the_tests_of_scripts(self):
        self.assertEqual(self.found("scripts/check-docs"), ["checks"])

    def test_documents_select_nothing(self):
        self.assertEqual(self.found("README.md", "doc/operations.md"), [])


if __name__ == "__main__":
    unittest.main()
