#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: a build with another layout
# full: it builds the tree twice; keep and upgrade test the rule
"""An upgrade to another version with the same layout, and back, keeps calls. With another layout
they end, with a reason. slipring-upgrade-check predicts it."""

import os
import re
import shutil
import subprocess

import keep
import lab as labs
import server as servers
from control import ctl

CHECK = os.path.join(labs.TOP, "app/slipring-upgrade-check/slipring-upgrade-check")
LAYOUT = re.compile(r"(#define TURN_STATE_LAYOUT )(\d+)")


def version(binary):
    done = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True)
    return done.stdout.split()[1]


def patched(lab):
    """The program of this tree with another version text."""
    with open(servers.BINARY, "rb") as file:
        data = file.read()
    old = version(servers.BINARY).encode() + b"\0"
    new = b"9" + old[1:]  # the linker may share the end of the text with others
    assert data.count(b"\0" + old) == 1, data.count(b"\0" + old)
    path = os.path.join(lab.dir, "newer")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o755), "wb") as file:
        file.write(data.replace(b"\0" + old, b"\0" + new))
    assert version(path) == new[:-1].decode()
    return path


def rebuilt(lab):
    """Builds this tree again, with another layout."""
    tree = os.path.join(lab.dir, "tree")
    of_top = lambda folder, names: [
        name for name in names if folder == labs.TOP and name.startswith(("build", ".git"))
    ]
    shutil.copytree(labs.TOP, tree, ignore=of_top)
    header = os.path.join(tree, "lib/turn/public/turn_state.h")
    with open(header) as file:
        text = file.read()
    with open(header, "w") as file:
        file.write(LAYOUT.sub(lambda m: f"{m[1]}{int(m[2]) + 1}", text))
    build = os.path.join(tree, "build")
    target = "app/slipring/slipring"
    for command in (["meson", "setup", build, tree], ["ninja", "-C", build, target]):
        subprocess.run(["nice", *command], capture_output=True, check=True)
    return os.path.join(build, target)


def check(new, code, words):
    """The verdicts of slipring-upgrade-check for this program and a new one, in both directions."""
    for pair in ((servers.BINARY, new), (new, servers.BINARY)):
        done = subprocess.run([CHECK, *pair], capture_output=True, text=True, check=False)
        assert done.returncode == code and words in done.stdout, done


def upgrade(server, calls, newer):
    for binary, before in ((newer, servers.BINARY), (servers.BINARY, newer)):
        server.binary = binary
        keep.restart(server)
        assert keep.told(server)["version"] == version(before), keep.told(server)
        assert version(binary) in ctl(server.control, "status").splitlines()[0]
        calls.check()


def other_layout(server, calls, rebuilt_binary):
    """The server starts empty, and again after the downgrade."""
    for binary in (rebuilt_binary, servers.BINARY):
        server.binary = binary
        keep.restart(server)
        told = keep.told(server)
        assert told["start"] == "refused" and "another layout" in told["why"], told
        assert not server.allocations()
    assert calls.clients[0].refresh().code == 437


def main(lab):
    labs.need_own_server()
    keep.need_memory()
    newer = patched(lab)
    check(newer, 0, "calls survive")
    server = keep.start(lab)
    calls = keep.Calls(lab, 4)
    upgrade(server, calls, newer)
    if labs.LONG:
        rebuilt_binary = rebuilt(lab)
        check(rebuilt_binary, 1, "calls end")
        other_layout(server, calls, rebuilt_binary)


if __name__ == "__main__":
    labs.run(main)
