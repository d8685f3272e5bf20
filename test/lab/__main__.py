# SPDX-License-Identifier: BSD-3-Clause
"""Runs a test of the lab.

Usage: python3 test/lab NAME      runs test_NAME.py from its folder
       python3 test/lab           lists the tests

Every lab test is started by this program. It adds the modules of support/ and of
support/clients/ to PYTHONPATH, so the test and the Python programs that it starts find them.
"""

import glob
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def tests():
    """{name: path} of all tests."""
    paths = glob.glob(os.path.join(HERE, "*/test_*.py"))
    return {os.path.basename(path)[len("test_") : -len(".py")]: path for path in sorted(paths)}


def table(found):
    """The names, one line for each folder."""
    folders = {}
    for name, path in found.items():
        folders.setdefault(os.path.basename(os.path.dirname(path)), []).append(name)
    return "\n".join(f"{folder:<10} {' '.join(names)}" for folder, names in folders.items())


def main(arguments):
    found = tests()
    if not arguments or arguments[0] in ("-h", "--help"):
        print(f"{__doc__.strip()}\n\n{table(found)}")
        return 0
    if len(arguments) != 1 or arguments[0] not in found:
        print(f"no such lab test: {' '.join(arguments)}\n{table(found)}", file=sys.stderr)
        return 1
    os.umask(0o022)  # other users read files of the test
    before = [path for path in (os.environ.get("PYTHONPATH"),) if path]
    modules = [os.path.join(HERE, folder) for folder in ("support", "support/clients")]
    os.environ["PYTHONPATH"] = os.pathsep.join([*modules, *before])
    os.execv(sys.executable, [sys.executable, found[arguments[0]]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
