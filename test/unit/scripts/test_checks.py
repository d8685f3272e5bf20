#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The functions of the scripts that check sources, documents and messages: each check finds its
faults."""

import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import unittest

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../scripts")
sys.dont_write_bytecode = True


def script(name):
    """Loads a script without the ending .py as a module."""
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), os.path.join(SCRIPTS, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


docs, words, style = script("check-docs"), script("check-words"), script("check-style")
commits, layers = script("commit-msg"), script("check-layers")


class Refusals(unittest.TestCase):
    HEADER = 'X(A, 401, "wrong", "", "wrong by far", \\\n\t"see auth.realm, " \\\n\t"or not") \\\nX(B, 0, "none", "P", "t", "")'
    TABLE = "| reason | code | meaning | what to do |\n|---|---|---|---|\n"
    GOOD = ("| `wrong` | 401 | wrong by far | see `auth.realm`, or not |\n", "| `none` |  | t |  |\n")

    def found(self, rows):
        return [number for number, _ in docs.unlike_refusals(self.HEADER, self.TABLE + rows)]

    def test_a_correct_table(self):
        self.assertEqual(len(docs.refusals(self.HEADER)), 2)
        self.assertEqual(self.found("".join(self.GOOD)), [])

    def test_rows_that_differ_or_are_missing(self):
        self.assertEqual(self.found(self.GOOD[0]), [1])
        for was, now in (("401", "403"), ("far", "near"), ("or not", "or so"), ("`wrong`", "`wrung`")):
            self.assertIn(3, self.found("".join(self.GOOD).replace(was, now)))


class Compat(unittest.TestCase):
    HEADER = "#pragma once\n#define old_name new_name\n"

    def found(self, text):
        return [line for line, _ in style.check_compat("a.c", text, self.HEADER)]

    def test_a_name_that_has_changed_takes_the_header(self):
        self.assertEqual(self.found('#include "a.h"\n\told_name(1);\n'), [2])
        self.assertEqual(self.found('#include "dpdk_compat.h"\n\told_name(1);\n'), [])
        self.assertEqual(self.found("\tolder_name(1); new_name(2);\n"), [])


class Layers(unittest.TestCase):
    def test_a_cycle_is_printed_with_its_path(self):
        graph = {"a.h": ["b.h"], "b.h": ["c.h"], "c.h": ["b.h"], "d.h": ["a.h"]}
        self.assertEqual(
            list(layers.check_cycles(graph)), [("b.h", 1, "includes itself: b.h -> c.h -> b.h")]
        )

    def test_two_paths_to_a_header_are_no_cycle(self):
        self.assertEqual(list(layers.check_cycles({"a.h": ["b.h", "c.h"], "b.h": ["c.h"], "c.h": []})), [])

    def test_two_libraries_have_no_header_of_one_name(self):
        headers = ["lib/a/x.h", "lib/a/y/x.h", "lib/a/z.h", "lib/b/y/z.h"]
        self.assertEqual(list(layers.check_names(headers)), [("lib/b/y/z.h", 1, "lib/a/z.h has this name, too")])

    def test_private_headers_stay_inside(self):
        os.chdir(os.path.join(SCRIPTS, ".."))
        for header, private in (("turn_policy.h", False), ("auth/policy.h", True), ("shard.h", True)):
            self.assertIs(layers.is_public(header, "turn"), not private)
        self.assertTrue(layers.is_public("dp.h", "dp"))
        self.assertFalse(layers.is_public("path/worker.h", "dp"))
        for header, private in (("conf.h", False), ("schema/schema.h", True), ("checks/checks.h", True)):
            self.assertIs(layers.is_public(header, "conf"), not private)

    def test_a_test_includes_private_headers_of_one_library(self):
        os.chdir(os.path.join(SCRIPTS, ".."))

        def found(*headers):
            lines = [f'#include "{header}"\n' for header in headers]
            return [line for line, _ in layers.check_test(lines, layers.owners())]

        self.assertEqual(found("datapath.h", "conf.h", "turn_policy.h", "net.h", "test.h", "path/worker.h"), [])
        self.assertEqual(found("datapath.h", "dp.h", "auth/policy.h", "stream.h", "thread.h"), [3, 5])
        self.assertEqual(found("drain/drain.h", "datapath.h"), [2])


class Names(unittest.TestCase):
    def found(self, text, words=("turn_plan", "test_line", "test_stripped", "peers")):
        return list(docs.unknown_identifiers(text, set(words)))

    def test_unknown_names(self):
        self.assertEqual(self.found("a\n`rewrite_reply` and turn_plan"), [(2, "rewrite_reply")])
        self.assertEqual(self.found("in plain words: rewrite_reply"), [(1, "rewrite_reply")])

    def test_existing_names(self):
        self.assertEqual(self.found("`struct turn_plan`, test_line, test_peers, `stripped_x`"), [(1, "stripped_x")])
        self.assertEqual(self.found("test_NAME.c, `rte_hash`, lib/dp/rewrite_reply.c"), [])

    def test_fences_are_skipped(self):
        self.assertEqual(self.found("```sh\nnet_memif9 rewrite_reply\n```\nrewrite_reply"), [(4, "rewrite_reply")])

    def test_the_margin_applies_to_prose(self):
        long = "word " * 21
        self.assertEqual(list(docs.long_lines(f"short\n{long}\n| {long} |\n```\n{long}\n```")), [2])

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

    def test_an_old_build_is_older_than_its_sources(self):
        with tempfile.TemporaryDirectory() as folder:
            built, one, header = (os.path.join(folder, name) for name in ("built", "one.c", "other.h"))
            for path, second in ((built, 10), (one, 9), (header, 10)):
                with open(path, "w"):
                    os.utime(path, (second, second))
            self.assertFalse(docs.is_older(built, [one, header]))
            os.utime(header, (11, 11))
            self.assertTrue(docs.is_older(built, [one, header]))

    def test_decisions(self):
        pages = ["d/0001-a.md", "d/0002-b.md", "d/0002-c.md"]
        self.assertEqual(docs.same_number(pages), {"0002": ["d/0002-b.md", "d/0002-c.md"]})
        self.assertEqual(docs.same_number(pages[:2]), {})

    def test_pages_that_sources_name(self):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "one.c")
            with open(source, "w") as file:
                file.write("// doc/datapath.md, doc/decisions/0007\n// doc/lost.md\n// (doc/decisions/0007-lost.md, doc/decisions/9999)\n")
            home = os.getcwd()
            os.chdir(os.path.join(SCRIPTS, ".."))  # the pages are there
            lost = [reason.split(": ", 1) for reason in docs.lost_pages([source])]
            os.chdir(home)
        self.assertEqual([page for _, page in lost], [
            "no such page: doc/lost.md", "no such page: doc/decisions/0007-lost.md",
            "no such page: doc/decisions/9999"])  # fmt: skip
        self.assertEqual([place.split(":")[1] for place, _ in lost], ["2", "3", "3"])

    def test_names_in_comments(self):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "one.c")
            with open(source, "w") as file:
                file.write("// one_call and lost_call, gone.c\nint one_call(int n); // ask() or one()\n"
                           "//\texample_of(code);\nenum { WANT_THIS_ONE }; // THIS_ONE, THAT_ONE\n"
                           'puts("// lost_text");\n')
            lost = [reason.rsplit(":", 2)[1:] for reason in docs.lost_names([source])]
            self.assertEqual([name.strip() for _, name in lost], ["lost_call", "THAT_ONE", "gone.c", "ask()"])

    def test_opening_comment(self):
        spdx = "// SPDX-License-Identifier: BSD-3-Clause\n"
        self.assertTrue(docs.has_opening(spdx + "// What it is for.\n#include <a.h>\n"))
        self.assertFalse(docs.has_opening(spdx + "#include <a.h>\n// Too late.\n"))
        self.assertFalse(docs.has_opening(spdx))


class Rooms(unittest.TestCase):
    TEXT = "| lib/a | |\n|---|---|\n| one.c, two.c | x |\n| in/ | y |\n\n| lib/b | |\n|---|---|\n| top | z |\n"
    TREE = ["lib/a/one.c", "lib/a/two.c", "lib/a/in/three.c", "lib/b/four.c", "lib/b/four.h", "test/c/five.c"]

    def found(self, text=TEXT, tree=()):
        return list(docs.unlike_rooms(text, [*self.TREE, *tree]))

    def test_existing_files(self):
        self.assertEqual(self.found(), [])
        self.assertEqual(self.found(self.TEXT + "lib/b/d has it all\n", ["lib/b/d/six.c"]), [])

    def test_removed_files(self):
        text = self.TEXT.replace("two.c", "two.c, old.c").replace("in/", "in/ |\n| out/")
        self.assertEqual(self.found(text), ["lib/a/old.c does not exist any more", "lib/a/out/ does not exist any more"])

    def test_files_that_are_not_named(self):
        self.assertEqual(self.found(tree=["lib/a/new.c"]), ["lib/a/new.c is not in the table of lib/a"])
        self.assertEqual(self.found(tree=["lib/b/d/six.c"]), ["the folder lib/b/d is not named"])
        self.assertEqual(self.found(self.TEXT + "lib/b/deep\n", ["lib/b/d/six.c"]), ["the folder lib/b/d is not named"])


class Sentences(unittest.TestCase):
    def found(self, text):
        return [sentence for _, sentence in words.sentences(text)]

    def test_ends_of_sentences(self):
        self.assertEqual(self.found("It is one. Here is\ntwo! And (as said) three."), [
            "It is one.", "Here is two!", "And (as said) three."])
        self.assertEqual(self.found("An end e.g. here is none. `code.c` begins one."), [
            "An end e.g. here is none.", "Code begins one."])
        self.assertEqual(self.found("it ends (with this.) But not in 10.99.0.1 or at a: colon; or so"), [
            "it ends (with this.)", "But not in 10.99.0.1 or at a: colon; or so"])

    def test_text_that_is_not_prose(self):
        text = "# One two three four\n\n```\none two three\n```\n\n    one two three\n\n| one two three |\n\nOne two.\n"
        self.assertEqual(self.found(text), [])

    def test_items(self):
        text = "Those that follow:\n\n* one is here\n  and there\n* two is here\n\n1. three is here\n"
        self.assertEqual(list(words.sentences(text)), [
            (1, "Those that follow:"), (3, "one is here and there"), (5, "two is here"), (7, "three is here")])

    def test_code_and_links(self):
        self.assertEqual(self.found("See [the page](a_b.md) of `a b c` here."), ["See the page of Code here."])

    def test_words(self):
        self.assertEqual(words.length("Code, 1.5 - times | (so)"), 4)

    def test_quantiles(self):
        self.assertEqual(words.quantile([3, 1, 2], 0.5), 2)
        self.assertEqual(words.quantile(range(1, 101), 0.95), 95)
        self.assertEqual(words.quantile([], 0.5), 0)

    def test_too_long(self):
        self.assertEqual(list(words.length_faults([18] * 95 + [35] * 5)), [])
        self.assertEqual(len(list(words.length_faults([19] * 100))), 1)
        self.assertEqual(len(list(words.length_faults([10] * 94 + [36] * 6))), 1)


class Words(unittest.TestCase):
    def found(self, path, text):
        return [number for number, _ in words.file_faults(path, text)]

    def test_the_pairs_of_the_rules_page(self):
        with open(os.path.join(SCRIPTS, "../doc/contributing.md")) as file:
            rows = [line.strip("| \n").split(" | ") for line in file if line.startswith("| `")]
        pairs = [(row[0].strip("`"), row[1]) for row in rows if len(row) == 2 and row[0][1:].count(" ") >= 2]
        self.assertGreaterEqual(len(pairs), 20)
        for before, after in pairs:
            self.assertTrue(list(words.turn_faults(before)), before)
            self.assertEqual(list(words.turn_faults(after)), [], after)

    def test_comments_of_c(self):
        self.assertEqual(self.found("lib/a.c", "int a;\n// Of these it is not.\n"), [2])
        self.assertEqual(self.found("lib/a.c", "int a; // likewise\n"), [1])
        self.assertEqual(self.found("lib/a.c", "// Nearly all\n// Of these, though, goes on.\n"), [])
        self.assertEqual(self.found("lib/a.c", "// Nearly all are\n// here but\n// for one.\n"), [1])
        self.assertEqual(self.found("lib/a.c", "int a; // one\n// Of these it is not.\n"), [2])
        self.assertEqual(self.found("lib/a.c", "\tint a; // it is but\n\t       // for one\n"), [1])

    def test_the_sentence_behind_the_licence(self):
        licence = "SPDX-License-Identifier: BSD-3-Clause\n"
        self.assertEqual(self.found("lib/a.h", f"// {licence}// What it is for.\n"), [1])
        self.assertEqual(self.found("a.py", f"#!/usr/bin/python3\n# {licence}# Of these it is not.\n"), [1])
        self.assertEqual(self.found("scripts/a", f"#!/bin/sh\n# {licence}# Whether it is.\n"), [1])
        self.assertEqual(self.found("lib/a.h", f"// {licence}// It is what it is.\n"), [])

    def test_strings_of_c(self):
        self.assertEqual(self.found("lib/a.c", '.help = "Of these " "it is not.",\n'), [1])
        self.assertEqual(self.found("lib/a.c", 'fputs("it is " // why not\n\t"so many");'), [1])
        self.assertEqual(self.found("lib/a.c", 'get("likewise"); // a key\nputs("http://but.for");\n'), [])

    def test_names_of_c(self):
        self.assertEqual(self.found("lib/a.c", "int at;\nint x = p->of; // at a time\n"), [1, 2])
        self.assertEqual(self.found("lib/a.c", "static void take(int n);\nstatic int take_n(int n)\n"), [1])
        self.assertEqual(self.found("test/a.c", "static void check(int n);\n"), [])
        self.assertEqual(self.found("test/a.c", "static void one_that_is_none(void **state)\n"), [1])

    def test_python(self):
        self.assertEqual(self.found("a.py", "at = 1\n# Of these\n"), [1, 2])
        self.assertEqual(self.found("a.py", 'def f():\n    """All are here but for one."""\n'), [2])
        self.assertEqual(self.found("a.py", "if a is not None and b in c:\n    pass  # as it is\n"), [])

    def test_other_files(self):
        self.assertEqual(self.found("a.yaml", "a: 1 # so\n# likewise\n"), [1])
        self.assertEqual(self.found("a.md", "It is so. Of these it is not.\n\nIt is but\nfor one.\n"), [1, 3])
        self.assertEqual(self.found("a.md", "| a | nobody's |\n|---|---|\n"), [1])
        self.assertEqual(self.found("a.md", "Often it is so. This is of use, and `but for` is code.\n"), [])


class Budgets(unittest.TestCase):
    def test_parameters(self):
        text = "int few(int a,\n\tint b, int c, int d, int e);\n// int no(a, b, c, d, e, f);\n" \
            "static int many(int a, int b, int c,\n\tint d, int e, int f)\n{\n\tfew(a, b, c, d, e, f);\n}\n"
        self.assertEqual(list(style.parameters(text)), [(4, 6, "many")])

    def test_folders(self):
        texts = {f"a/{number}.py": "" for number in range(25)}
        self.assertEqual(list(style.check_budgets(texts)), [])
        self.assertEqual(len(list(style.check_budgets({**texts, "a/more.c": "", "b/other.c": ""}))), 1)

    def test_functions(self):
        lines = ["static int one(void)", "{", "\treturn 1;", "}", "", "int two(", "\tint a)", "{", "}"]
        self.assertEqual(list(style.functions(lines)), [(1, 4, "one"), (6, 4, "two")])


class Messages(unittest.TestCase):
    BODY = "\n\nSomebody asked for it, and it costs nothing.\n"

    def bad(self, text):
        return len(commits.faults(text))

    def test_good(self):
        for subject in ("dp: relay it", "dp, turn: speed it up", "test/lab: feed more", "README: say who"):
            self.assertEqual(commits.faults(subject + self.BODY), [], subject)
        self.assertEqual(self.bad("Merge branch 'x'"), 0)
        self.assertEqual(self.bad("fixup! dp: relay it"), 0)

    def test_subject(self):
        for subject in ("relay it", "dp:relay it", "dp: relayed it", "dp: adds it", "dp: relaying", "dp: relay it.",
                        "Dp: relay it", "dp: relay " + "x" * 51, "dp: mend it", "dp: say likewise"):
            self.assertEqual(self.bad(subject + self.BODY), 1, subject)
        self.assertEqual(self.bad("dp: relay " + "x" * 50 + self.BODY), 0)

    def test_fixes(self):
        self.assertEqual(self.bad("dp: fix it" + self.BODY), 1)
        self.assertEqual(self.bad("dp: fix it" + self.BODY + "\nFixes: 0123456789ab (\"dp: relay it\")\n"), 0)
        self.assertEqual(self.bad("dp: fix it" + self.BODY + "\nFixes: that\n"), 1)
        long = "dp: relay " + "x" * 50
        self.assertEqual(self.bad("dp: fix it" + self.BODY + f"\nFixes: 0123456789ab (\"{long}\")\n"), 0)

    def test_body(self):
        self.assertEqual(self.bad("dp: relay it"), 1)
        self.assertEqual(self.bad("dp: relay it\n\nSigned-off-by: One Two <one.two@three.four>"), 1)
        self.assertEqual(self.bad("dp: relay it\nSomebody asked for it, and so."), 1)
        self.assertEqual(self.bad("dp: relay it" + self.BODY + "word " * 17), 1)
        self.assertEqual(self.bad("dp: relay it" + self.BODY + "x" * 100 + "\n    " + "word " * 17), 0)

    def test_lines_that_git_adds(self):
        text = "dp: relay it" + self.BODY + "# Please enter the commit message for your changes, and so on and on " \
            "and on\n" + commits.SCISSORS + " --\n" + "diff " * 30
        self.assertEqual(commits.faults(text), [])
        self.assertEqual(self.bad("# nothing\n"), 1)

    def test_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("dp: relay it" + self.BODY)
            file.flush()
            self.assertEqual([text for _, text in commits.messages([file.name])], ["dp: relay it" + self.BODY])


if __name__ == "__main__":
    unittest.main()
