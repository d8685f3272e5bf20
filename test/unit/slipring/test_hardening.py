#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_hardening.py FEATURES PROGRAM...: programs are built with the options of meson.build.
FEATURES: optional features of this compiler ("fortify cet"); the others are always checked.
"""

import re
import subprocess
import sys

ENDBR64 = bytes.fromhex("f30f1efa")


def readelf(option, program):
    done = subprocess.run(
        ["readelf", "-W", option, program], capture_output=True, text=True, check=True
    )
    return done.stdout


def missing(program, features):
    header, segments = readelf("--file-header", program), readelf("--segments", program)
    dynamic, symbols = readelf("--dynamic", program), readelf("--dyn-syms", program)
    stack = re.search(r"GNU_STACK.*", segments)
    found = {
        "PIE": re.search(r"Type:\s+DYN", header) and re.search(r"FLAGS_1.*\bPIE\b", dynamic),
        "RELRO": "GNU_RELRO" in segments,
        "BIND_NOW": re.search(r"BIND_NOW|FLAGS_1.*\bNOW\b", dynamic),
        "no executable stack": stack and "RWE" not in stack[0],
        "no text relocations": "TEXTREL" not in dynamic,
        "stack protector": "__stack_chk_fail" in symbols,
    }
    if "fortify" in features:
        found["_FORTIFY_SOURCE"] = re.search(r"__(?!stack)\w+_chk\b", symbols)
    if "cet" in features:
        # A program has the mark only if its libc has it, too, so this checks the start of
        # functions. The compiler adds fewer than ten marks to a program by itself.
        with open(program, "rb") as file:
            found["CET"] = file.read().count(ENDBR64) > 50
    return [name for name, good in found.items() if not good]


def main():
    features, programs = sys.argv[1].split(), sys.argv[2:]
    bad = {program: lacks for program in programs if (lacks := missing(program, features))}
    for program, lacks in bad.items():
        print(f"{program}: without {', '.join(lacks)}")
    return 1 if bad or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
