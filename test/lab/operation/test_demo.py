#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: scripts/demo; under ASan the tests of its parts run
"""The demo works as documented, on either kind of port: every transport, nothing lost, exit 0."""

import os
import subprocess
import sys

import demo
import lab as labs

SECONDS = 6


def main(lab):
    labs.need_own_server()
    argv = [sys.executable, os.path.join(labs.TOP, "test/lab/support/demo.py")]
    told = labs.command(*argv, "--help")
    assert all(option in told for option in ("--seconds", "--keep", "--port")), told
    runs = []
    for port in ("vtap", "af_packet"):  # each has its own lab
        process = subprocess.Popen(
            [*argv, "--seconds", str(SECONDS), "--port", port], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
        lab.cleanup.callback(labs.end_process, process, 10)
        runs.append((port, process))
    for port, process in runs:
        said = process.communicate(timeout=60 * labs.SLOW)[0]
        assert process.returncode == 0, said
        for transport, path, *_ in demo.GROUPS:
            rows = [line for line in said.splitlines() if line.startswith(f"{transport:<5}{path}")]
            assert rows and all(row.endswith("  ok") for row in rows), said
        assert "not explained" not in said and "nothing was lost" in said, said
        print(f"{port}: {said.splitlines()[-1]}")


if __name__ == "__main__":
    labs.run(main)
