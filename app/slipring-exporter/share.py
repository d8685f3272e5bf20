# SPDX-License-Identifier: BSD-3-Clause
"""--share GROUP: lets a group read slipring's telemetry. EAL creates its directories and the socket for their
owner only, at every start. So root runs this after each start (ExecStartPost of slipring.service).
"""

import contextlib
import errno
import grp
import os
import stat
import sys
import time

from telemetry import Dead, Telemetry, socket_paths

PAUSE = 0.1  # seconds between two attempts
LINKS_MAX = 40  # in a path, like the kernel's limit
FOLLOW_NOT = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def group_id(name):
    """The id of a group, given by name or id; KeyError if there is no such group."""
    return int(name) if name.isdigit() else grp.getgrnam(name).gr_gid


def target(link, directory):
    """The target of a link that only root can have made; the server's user could plant other links."""
    inside = os.fstat(directory)
    if os.fstat(link).st_uid != 0 or inside.st_uid != 0 or inside.st_mode & 0o022:
        raise OSError(errno.ELOOP, "a link in the path may be changed by others than root")
    return os.readlink("", dir_fd=link)


def find(path, files):
    """A descriptor of a directory, opened step by step, so that only root determines where it is."""
    fd, links = os.open("/", FOLLOW_NOT | os.O_DIRECTORY), 0
    files.callback(os.close, fd)
    steps = path.split("/")
    while steps:
        step = steps.pop(0)
        found = os.open(step or ".", FOLLOW_NOT, dir_fd=fd)
        files.callback(os.close, found)
        if not stat.S_ISLNK(os.fstat(found).st_mode):
            fd = found
            continue
        links += 1
        if links > LINKS_MAX:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        goal = target(found, fd)
        if goal.startswith("/"):
            fd = os.open("/", FOLLOW_NOT | os.O_DIRECTORY)
            files.callback(os.close, fd)
        steps = goal.split("/") + steps
    return fd


def open_to(fd, gid, bits):
    """Gives a file to the group, with only these mode bits besides the owner's."""
    mode, path = os.fstat(fd).st_mode & 0o700, f"/proc/self/fd/{fd}"
    os.chown(path, -1, gid)
    os.chmod(path, mode | bits)


def give(path, gid):
    """Gives the group a socket, its directory and the parent of that. They belong to the server's user, so
    they must be what EAL creates: not links, and a socket that has no other name."""
    directory, name = os.path.split(path)
    around, prefix = os.path.split(directory)
    with contextlib.ExitStack() as files:
        outer = find(os.path.abspath(around), files)
        inner = os.open(prefix, FOLLOW_NOT | os.O_DIRECTORY, dir_fd=outer)
        files.callback(os.close, inner)
        sock = os.open(name, FOLLOW_NOT, dir_fd=inner)
        files.callback(os.close, sock)
        found = os.fstat(sock)
        if not stat.S_ISSOCK(found.st_mode) or found.st_nlink != 1:
            raise OSError(errno.ENOTSOCK, "not a socket that EAL has created")
        open_to(sock, gid, 0o060)
        open_to(inner, gid, 0o010)
        open_to(outer, gid, 0o010)


def has_ended():
    """True if the slipring that systemd started before this has ended already."""
    pid = os.environ.get("MAINPID", "")
    return pid.isdigit() and not os.path.exists(f"/proc/{pid}")


def share(directory, prefix, group, timeout):
    """Returns the exit code. Waits until a slipring answers: the socket may be that of a dead process."""
    try:
        gid = group_id(group)
    except KeyError:
        print(f"--share: no such group: {group}; groupadd --system {group}", file=sys.stderr)
        return 1
    paths, end = socket_paths(directory, prefix), time.monotonic() + timeout
    while True:
        try:
            with Telemetry(paths, 1) as telemetry:
                break
        except Dead as dead:
            if has_ended() or time.monotonic() > end:
                print(f"--share: {dead}", file=sys.stderr)
                return 1
        time.sleep(PAUSE)
    try:
        give(telemetry.path, gid)
    except OSError as error:
        print(f"--share: {telemetry.path}: {error.strerror}", file=sys.stderr)
        return 1
    return 0
