# SPDX-License-Identifier: BSD-3-Clause
"""The files of records on this machine: which there are, their times, and fast searches. Files may be
rotated meanwhile, so all are opened first, the newest first."""

import glob
import grp
import json
import os
import re
import stat
import sys
from datetime import datetime, timezone

from ctl.wire import NoServer, Refused, Server

BLOCK = 8 * 1024 * 1024
LINE = 8192  # more than a record has
SLACK_S = 5  # events of several workers may be out of order by less
TIME = re.compile(rb'^\{"time":"([0-9T:.-]+Z)"')


class NoRecords(Exception):
    """The records cannot be read; the text has the reason and advice."""


def stamp(seconds):
    """A time as records write it; such texts sort like their times."""
    when = datetime.fromtimestamp(seconds, timezone.utc)
    return when.strftime("%Y-%m-%dT%H:%M:%S.") + f"{when.microsecond // 1000:03d}Z"


def seconds_of(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def read_time(text):
    """Seconds of a time that a person wrote: seconds since 1970, or ISO 8601 with its zone."""
    if re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII):
        return float(text)
    try:
        when = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text.strip()))
    except ValueError as error:
        raise NoRecords(f"{text}: must be a time like 2026-11-23T18:04:29Z, or seconds since 1970") from error
    if when.tzinfo is None:
        raise NoRecords(f"{text}: say the zone: {text}Z, or {text}+01:00")
    return when.timestamp()


def parsed(lines):
    """The records of lines."""
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:  # the end of a disk that was full
            continue
        if isinstance(record, dict) and "time" in record and "event" in record:
            yield record


# --- one file ----------------------------------------------------------------


class File:
    """An open file of records."""

    def __init__(self, path):
        self.path = path
        self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        there = os.fstat(self.fd)
        self.same = (there.st_dev, there.st_ino)
        self.size = there.st_size
        self.first = self.time_at(0)

    def time_at(self, offset):
        """Time of the first line that begins at an offset or after it; None at the end."""
        data = os.pread(self.fd, 2 * LINE, max(offset - 1, 0))
        begin = data.find(b"\n") + 1 if offset else 0
        found = TIME.match(data[begin:])
        if found:
            return found[1].decode()
        if offset == 0 and b"\n" in data:
            raise NoRecords(f"{self.path}: is not a file of records")
        return None

    def offset_of(self, time):
        """An offset at most some lines before the first record at this time or later."""
        low, high = 0, self.size
        while high - low > 2 * LINE:
            middle = (low + high) // 2
            there = self.time_at(middle)
            if there is not None and there < time:
                low = middle
            else:
                high = middle
        return low

    def line_from(self, offset):
        """Offset of the first line that begins at an offset or after it."""
        if offset <= 0:
            return 0
        newline = os.pread(self.fd, 2 * LINE, offset - 1).find(b"\n")
        return offset + newline if newline >= 0 else self.size

    def blocks(self, begin=0, end=None):
        """The lines that begin in a range of offsets, in pieces of whole lines."""
        offset, end = self.line_from(begin), self.line_from(self.size if end is None else end)
        rest = b""
        while offset < end:
            data = os.pread(self.fd, min(BLOCK, end - offset), offset)
            if not data:  # the file was shortened
                break
            offset += len(data)
            tail = data.rfind(b"\n") + 1
            if tail:
                yield rest + data[:tail]
                rest = b""
            rest += data[tail:]

    def lines(self, needle, begin=0, end=None):
        """Lines with a text in them."""
        for block in self.blocks(begin, end):
            position = block.find(needle)
            while position >= 0:
                stop = block.index(b"\n", position)
                yield block[block.rfind(b"\n", 0, position) + 1 : stop]
                position = block.find(needle, stop)

    def records(self, needle, begin=0, end=None):
        """Records with a text in their line."""
        return parsed(self.lines(needle, begin, end))


# --- all files ---------------------------------------------------------------


def asked(args):
    """Path of the file of sessions: as given, or that of the running server."""
    if args.file:
        return os.path.abspath(args.file)
    try:
        with Server(args.socket) as server:
            path = server.ask("records").get("file")
    except (NoServer, Refused) as error:
        raise NoRecords(f"{error}; or name the file of records: --file FILE") from error
    if path is None:
        raise NoRecords("slipring writes no records to a file: configure records.file, or name a file: --file FILE")
    return path


def beside(path, suffix):
    """The path of another file of records, as slipring names it."""
    folder, name = os.path.split(path)
    stem, dot, end = name.rpartition(".")
    return os.path.join(folder, f"{stem}{suffix}{dot}{end}" if stem else f"{name}{suffix}")


def denied(path):
    """Why a file cannot be read, and advice."""
    for part in (path, os.path.dirname(path)):
        try:
            there = os.stat(part)
            if there.st_mode & stat.S_IRGRP and not there.st_mode & stat.S_IROTH:
                return f"{path}: no permission: use sudo, or become a member of group {grp.getgrgid(there.st_gid).gr_name}"
        except (OSError, KeyError):
            continue
    return f"{path}: no permission: use sudo"


def opened(path):
    """(The file and its rotated files, the oldest first; paths that were left out because they are
    compressed)."""
    files, packed = {}, []
    found = sorted(glob.glob(glob.escape(path) + "[.-]*"), key=lambda name: (len(name), name))
    for name in [path, *found]:
        if name.endswith((".gz", ".xz", ".zst", ".bz2")):
            packed.append(name)
            continue
        try:
            if not stat.S_ISREG(os.stat(name).st_mode):
                continue
            file = File(name)
        except FileNotFoundError:
            continue
        except PermissionError as error:
            raise NoRecords(denied(name)) from error
        except OSError as error:
            raise NoRecords(f"{name}: {error.strerror}") from error
        if file.first is None or file.same in files:
            os.close(file.fd)
        else:
            files[file.same] = file
    return sorted(files.values(), key=lambda file: file.first), packed


def sessions(args):
    """The open files of sessions, the oldest first."""
    path = asked(args)
    files, packed = opened(path)
    if not files and not os.access(path, os.F_OK):
        raise NoRecords(f"{path}: there is no such file, or it is not visible: use sudo")
    if not files:
        raise NoRecords(f"{path}: has no records yet")
    return path, files, packed


def tell_packed(packed):
    if packed:
        print(f"slipringctl: not read, because compressed: {', '.join(packed)}", file=sys.stderr)


def add_file(parser):
    parser.add_argument("--file", metavar="FILE", help="file of records; default: that of the running server")
