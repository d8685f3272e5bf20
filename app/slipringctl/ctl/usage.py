# SPDX-License-Identifier: BSD-3-Clause
"""usage: what users or realms relayed between two times, by the files of records. Records have sums
since an allocation was made, so each adds its difference to the one before it. Processes read parts
of the files; what began in an earlier part is put together at the end."""

import json
import multiprocessing
import os
import re
import time

from ctl import history
from ctl.history import LINE, SLACK_S, NoRecords, seconds_of, stamp
from ctl.tables import Style, count, table
from ctl.wire import cleaned

PART = 64 * 1024 * 1024
LOOK_BACK_S = 3600  # an allocation that lives has a record in this time before, if records.interim is shorter
MADE = re.compile(rb'"event":"made",(?:"seq":\d+,)?"id":"(\d+)",(?:"user":"([^"]*)")?')
RECORD = re.compile(
    rb'\{"time":"([^"]+)","event":"(interim|ended)",(?:"seq":\d+,)?"id":"(\d+)",(?:"user":"([^"]*)",)?'
    rb'(?:"realm":"([^"]*)",)?(?:"client":"[^"]*",)?"transport":"[^"]*","worker":\d+,"relay":"[^"]*",'
    rb'(?:"why":"[^"]*",)?"(?:lifetime|seconds)":(\d+),"from_client":\{"datagrams":(\d+),"bytes":(\d+)\},'
    rb'"from_peers":\{"datagrams":(\d+),"bytes":(\d+)\}'
)
EVENTS = (b'"event":"interim"', b'"event":"ended"')
NOTHING = (0, 0, 0, 0)
SUMS = ("sessions", "seconds", "datagrams_from_client", "bytes_from_client", "datagrams_from_peers",
    "bytes_from_peers")  # fmt: skip


def add(command):
    """Adds the subcommand and its options."""
    usage = command("usage", "Sums of what users or realms relayed: reads the files of records.")
    usage.add_argument("--by", dest="group", choices=("user", "realm"), default="user")
    usage.add_argument("--from", dest="begin", metavar="TIME", required=True, help="like 2026-11-01T00:00:00Z")
    usage.add_argument("--to", dest="end", metavar="TIME", help="default: now")
    history.add_file(usage)


def slowly(block):
    """The fields of RECORD in lines of another form."""
    for row in history.parsed(block.splitlines()):
        try:
            counts = [row[leg][name] for leg in ("from_client", "from_peers") for name in ("datagrams", "bytes")]
            names = [row.get(name, "").encode() for name in ("time", "event", "id", "user", "realm")]
        except (KeyError, AttributeError, TypeError):
            continue
        if row["event"] in ("interim", "ended"):
            yield (*names, row.get("seconds", 0), *counts)


def fields(block):
    """The fields of RECORD in all lines of a block."""
    found = RECORD.findall(block)
    return found if len(found) == sum(map(block.count, EVENTS)) else slowly(block)


def add_to(sums, key, values, before=NOTHING):
    """Adds values to the sums of a key, without the data before them."""
    row = sums.get(key)
    if row is None:
        row = sums[key] = [0] * len(SUMS)
    row[0] += values[0]
    row[1] += values[1]
    row[2] += values[2] - before[0]
    row[3] += values[3] - before[1]
    row[4] += values[4] - before[2]
    row[5] += values[5] - before[3]


def read_part(work):
    """Reads a part of a file. Returns the sums by (realm, user) of what allocations relayed since an earlier
    record of this part; of others all they relayed until their first record here, {id: (user, realm, values,
    in time)}; and those that live on, {id: (user, realm, counts)}."""
    file, begin, end, low, high = work
    sums, first, live, names = {}, {}, {}, {}
    for block in file.blocks(begin, end):
        names.update(MADE.findall(block))
        for when, event, identity, user, realm, seconds, *counts in fields(block):
            counts = tuple(map(int, counts))
            ended = event == b"ended"
            values = (ended, int(seconds) if ended else 0, *counts)
            name = names.pop(identity, None)
            known = live.pop(identity, None) if name is None else (name, realm, NOTHING)
            if known is None:
                first[identity] = (user, realm, values, low <= when <= high)
            else:
                user, _, before = known  # the record of an end may have cut the name
                if low <= when <= high:
                    add_to(sums, (realm, user), values, before)
            if not ended:
                live[identity] = (user, realm, counts)
    live.update((identity, (name, None, NOTHING)) for identity, name in names.items())
    return sums, first, live


def joined(parts):
    """The sums of all parts, which come in the order of time."""
    sums, live = {}, {}
    for done, first, rest in parts:
        for key, values in done.items():
            add_to(sums, key, values)
        for identity, (user, realm, values, counts) in first.items():
            name, _, before = live.pop(identity, (user, realm, NOTHING))
            if counts:
                add_to(sums, (realm, name), values, before)
        live.update(rest)
    return sums


def parts_of(files, low, high):
    """The work of each process."""
    back = stamp(seconds_of(low) - LOOK_BACK_S)
    limits = low.encode(), high.encode()
    for i, file in enumerate(files):
        if file.first > high or (i + 1 < len(files) and files[i + 1].first < back):
            continue
        begin = file.offset_of(back)
        end = min(file.size, file.offset_of(stamp(seconds_of(high) + SLACK_S)) + 4 * LINE)
        for offset in range(begin, end, PART):
            yield file, offset, min(offset + PART, end), *limits


def read(files, low, high):
    work = list(parts_of(files, low, high))
    processes = min(len(work), len(os.sched_getaffinity(0)))
    if processes < 2:
        return joined(map(read_part, work))
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        return joined(pool.imap(read_part, work))


def rows_of(sums, group):
    """Rows, most data first. A REST name counts as its id."""
    found = {}
    for (realm, user), values in sums.items():
        user = re.sub(rb"^\d+:(?=.)", b"", user)
        add_to(found, (realm,) if group == "realm" else (realm, user), values)
    for key, values in sorted(found.items(), key=lambda one: -one[1][3] - one[1][5]):
        names = dict(zip(("realm", "user"), (name.decode() for name in key)))
        yield {**names, **dict(zip(SUMS, values))}


def run(args):
    """True if there are records of that time."""
    low = stamp(history.read_time(args.begin))
    high = stamp(history.read_time(args.end) if args.end else time.time())
    if low > high:
        raise NoRecords("--from is later than --to")
    _, files, packed = history.sessions(args)
    history.tell_packed(packed)
    rows = list(rows_of(read(files, low, high), args.group))
    if args.json:
        print("".join(json.dumps(row) + "\n" for row in rows), end="")
        return bool(rows)
    cells = [[
        row.get("user", row["realm"]), row["realm"], count(row["sessions"]), f"{row['seconds'] / 3600:.1f}",
        count(row["bytes_from_client"]), count(row["bytes_from_peers"])] for row in cleaned(rows)]  # fmt: skip
    head = ["USER", "REALM", "SESSIONS", "HOURS", "FROM-CLIENT-B", "FROM-PEERS-B"]
    if args.group == "realm":
        cells, head = [row[1:] for row in cells], head[1:]
    names = len(head) - 4
    print("\n".join(table(head, cells, Style(args.color), tuple(range(names)), tuple(range(names, len(head))))))
    if files[0].first > low:
        print(f"the oldest record is of {files[0].first}")
    return bool(rows)
