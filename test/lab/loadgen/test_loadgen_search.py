#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: it paces datagrams, and none may be lost or late
# long: many trials; under ASan it is the generator's pace that is searched for
# full: searches have unit tests (loadgen_search, loadgen_search_noise)
"""Searches of the load generator stay within their bounds, and the result reports them."""

import lab as labs
import loadgen
from loadgen import IVAN, media, probes


def check_points(search, low, high):
    """The trials follow the manual: within the bounds, the highest rate first."""
    points = search["points"]
    assert 1 <= len(points) == search["trials"], search
    assert points[0]["rate"] == high and all(low <= p["rate"] <= high for p in points), points
    for point in points:
        assert point["delivered"] <= point["offered"] * 1.001, point
        assert abs(point["offered"] / point["rate"] - 1) < 0.05 or point["bound"], point
    assert search["state"] in ("at-limit", "found", "generator-bound"), search
    if search["state"] == "at-limit":
        assert search["rate"] == high and search["failed_at"] in (None, 0), search
    if search["state"] == "found":
        assert low <= search["rate"] < search["failed_at"] <= high, search
        passed = [p for p in points if p["rate"] == search["rate"] and p["loss"] <= 0.005]
        assert passed, search


def check_searches(gen):
    bounds = "--from 500 --to 4000 --duration 0.3 --resolution 20%".split()
    pdr = gen.run(*media(*IVAN, "--search", "pdr", *bounds, *"--drain 0.1 --clients 4".split()))
    assert pdr["search"]["kind"] == "pdr" and pdr["search"]["accepted_loss"] == 0.005, pdr
    check_points(pdr["search"], 500, 4000)
    bounds = "--from 100 --to 400 --duration 0.3 --resolution 20% --drain 0.1".split()
    alloc = gen.run(*probes(*IVAN, "--search", "alloc-rate", *bounds, "--clients", "40"))
    assert alloc["search"]["kind"] == "alloc-rate" and alloc["mode"] == "alloc", alloc
    check_points(alloc["search"], 100, 400)
    for result in (pdr, alloc):
        print(f"ok     {result['search']['kind']}: {result['search']['state']}, "
            f"{result['search']['rate']} of {result['search']['trials']} trials")  # fmt: skip


def check_known_limit(gen):
    """With a constant loss of 2 % no rate is without loss."""
    for _ in range(6):  # there is no verdict if the generator could not keep its pace
        result = gen.run(
            *loadgen.direct(*"--direction echo --impair loss=2%".split()),
            *"--search ndr --from 500 --to 2000 --duration 0.2 --drain 0.1".split(),
        )
        if result["search"]["state"] != "generator-bound":
            break
    else:
        print("       no verdict in six searches: the machine is too busy")
        return
    assert result["search"]["state"] == "none", result["search"]
    sound = [p for p in result["search"]["points"] if not p["bound"]]
    assert sound and all(p["loss"] > 0.01 for p in sound), result["search"]
    print(f"ok     ndr with a loss of 2 % at any rate: {result['search']['state']}")


def main(lab):
    labs.need_own_server()
    lab.server({"relay": {"quarantine": 1}})
    gen = loadgen.Generator(lab)
    check_searches(gen)
    check_known_limit(gen)


if __name__ == "__main__":
    labs.run(main)
