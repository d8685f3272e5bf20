#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Calls over a restart with another number of workers, and the output of slipringctl stop about
calls that are kept or end."""

import collections
import os

import keep
import lab as labs
from control import ctl


def followed(server):
    """Ids of the live allocations, from the records only: made, moved and ended."""
    ids = collections.Counter()
    for row in labs.records(server.records_path):
        if row["event"] in ("made", "moved"):
            ids[row["id"]] += 1
        if row["event"] in ("moved", "ended"):
            ids[row.get("was", row["id"])] -= 1
    return +ids


def workers(server, calls):
    """Another number of workers: homes and owners differ, redirects are created again, ids stay."""
    for count in (3, 1):
        keep.change(server, {"workers": {"count": count}})
        keep.restart(server)
        calls.check()
        live = collections.Counter(str(row["id"]) for row in server.allocations())
        assert len(live) == len(calls.clients), live
        labs.until(lambda: followed(server) == live, 5, "the records are written")  # noqa: B023
        print(f"{count} workers: {keep.told(server)['redirects']} redirects")


def ordered(server, option):
    """slipringctl stop. Returns its output."""
    out = ctl(server.control, "stop", option)
    server.telemetry.close()
    assert server.process.wait(20 * labs.SLOW) == 0
    return out


def orders(server, calls):
    """slipringctl stop prints what happens to calls, with every setting of the file."""
    keep.change(server, {"state": {"on-stop": "forget"}})
    keep.restart(server)
    keep.change(server, {})
    out = ordered(server, "--keep")
    assert "kept for the next process" in out, out
    server.start()
    calls.check()
    out = ctl(server.control, "status")
    assert "restored in" in out and server.area in out, out
    assert not keep.ended(server)
    ctl(server.control, "stop", "--keep", "--forget", code=2)
    out = ordered(server, "--forget")
    assert " end" in out, out
    assert keep.ended(server) == ["stopped"] * len(calls.clients), keep.ended(server)
    assert os.listdir(os.path.dirname(server.area)) == ["state.lock"]


def main(lab):
    labs.need_own_server()
    keep.need_memory()
    server = keep.start(lab)
    calls = keep.Calls(lab)
    workers(server, calls)
    orders(server, calls)


if __name__ == "__main__":
    labs.run(main)
