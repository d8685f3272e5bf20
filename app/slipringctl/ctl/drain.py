# SPDX-License-Identifier: BSD-3-Clause
"""drain and undrain: how they are asked for, and what people are shown of a drain."""

import argparse
import re
import time

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def duration(text):
    """Seconds of 600, 600s, 10m, 2h, 1d."""
    found = re.fullmatch(r"(\d{1,9})([smhd]?)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: 600, 600s, 10m, 2h or 1d are")
    return int(found[1]) * UNITS[found[2]]


def add(command, number):
    """The subcommands and their options."""
    drain = command(
        "drain",
        "Empties the box: new allocations are refused or sent elsewhere, live ones go on, and at the"
        " end slipring exits. Changes a drain that goes on.",
    )
    drain.add_argument("--deadline", type=duration, metavar="TIME",
        help="the end at the latest, from now on: 600, 10m, 2h, 1d; 0: none (default: drain.deadline)")
    drain.add_argument("--below", type=number, metavar="N",
        help="end when no more allocations than this are left (default: drain.below)")  # fmt: skip
    drain.add_argument("--keep", action="store_true", default=None,
        help="what is left at the end is left to the next process, and does not end")  # fmt: skip
    command("undrain", "Takes a drain back: new allocations are made again.")


def told(drain):
    """A drain in a line."""
    since = time.strftime("%H:%M:%S", time.localtime(drain["since"]))
    ends = "no deadline" if drain["deadline"] is None else f"ends in {drain['deadline']}s at most"
    below = f" (ends at {drain['below']})" if drain["below"] else ""
    kept = ", and what is left then is kept" if drain.get("keep") else ""
    return (
        f"since {since}, {drain['allocations']} allocations left{below}, "
        f"{drain['refused']} refused, {ends}{kept}"
    )


def elsewhere(alternate):
    """Whether new clients are sent to other servers, in a line."""
    why = {
        "always": "always",
        "allocations": f"there are {alternate.get('allocations_from')} allocations",
        "datagrams": f"{alternate.get('datagrams')} datagrams/s are relayed",
    }.get(alternate["sends"])
    goes = f"new clients are sent to them: {why}" if why else "new clients are served here"
    return f"{alternate['servers']} servers, {goes}; {alternate['sent']} sent"


def view(answer, style):
    drain = answer["drain"]
    return ["drains " + told(drain)] if drain["draining"] else ["new allocations are made"]
