#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A file system with room for one state area but not for two: the server still starts, continues
existing calls, and reports that it cannot keep them."""

import os
import subprocess
import tempfile

import control
import keep
import lab as labs
import server as servers


def mount(lab):
    """A separate tmpfs."""
    path = tempfile.mkdtemp(prefix="lab-", dir="/dev/shm")
    lab.cleanup.callback(os.rmdir, path)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=0700", "lab", path], check=True)
    lab.cleanup.callback(subprocess.run, ["umount", "-l", path], check=True)
    return path


def resize(path, size):
    options = f"remount,size={size >> 10}k"
    subprocess.run(["mount", "-o", options, path], check=True)


def check(lab, server):
    """The output of slipring --check."""
    argv = lab.dut.argv(servers.BINARY, "--check", "-c", server.path)
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done
    return done.stdout + done.stderr


def too_small(lab, server, calls, path):
    """Calls continue, and end with the process that had no room to store them."""
    size = keep.told(server)["bytes"]
    assert "room for" not in server.log() and "room for" not in check(lab, server)
    resize(path, size * 3 // 2)
    assert "state.file: its file system has room for" in check(lab, server)
    keep.restart(server)
    told = keep.told(server)
    assert told["start"] == "taken" and told["kept"] == 0, told
    assert told["allocations"] == len(calls.clients), told
    assert "error start: state: the calls of this process will end with it" in server.log()
    assert "Calls end with this process" in " ".join(control.ctl(server.control, "status").split())
    calls.check()
    assert not os.path.exists(server.area)
    before = len(server.log())
    keep.restart(server)
    assert keep.ended(server) == ["stopped"] * len(calls.clients), keep.ended(server)
    told = keep.told(server)
    assert told["start"] == "empty" and told["kept"] == 1, told
    assert "the next start will keep no calls" in server.log()[before:]
    assert calls.clients[0].refresh().code == 437
    return size


def spared(lab, server, path, size):
    """Deleting the file that was put aside makes room."""
    resize(path, size * 5 // 2)
    with open(server.area + ".refused", "wb") as file:
        file.write(b"x" * size)
    calls = keep.Calls(lab, 2)
    keep.restart(server)
    told = keep.told(server)
    assert told["start"] == "taken" and told["kept"] == 1, told
    assert not os.path.exists(server.area + ".refused")
    calls.check()


def main(lab):
    labs.need_own_server()
    keep.need_memory()
    path = mount(lab)
    server = keep.start(lab, {"state": {"file": os.path.join(path, "state")}})
    server.area = os.path.join(path, "state")
    calls = keep.Calls(lab, 4)
    spared(lab, server, path, too_small(lab, server, calls, path))


if __name__ == "__main__":
    labs.run(main)
