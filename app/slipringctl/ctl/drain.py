# SPDX-License-Identifier: BSD-3-Clause
"""drain and undrain: their options, and the display of a drain."""

import argparse
import re
import time

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def duration(text):
    """Seconds of 600, 600s, 10m, 2h, 1d."""
    found = re.fullmatch(r"(\d{1,9})([smhd]?)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 600, 600s, 10m, 2h or 1d")
    return int(found[1]) * UNITS[found[2]]


def add(command, number):
    """Adds the subcommands and their options."""
    drain = command(
        "drain",
        "Drains the server: new allocations are refused or redirected, existing ones continue, and at the"
        " end slipring exits. Changes a drain in progress.",
    )
    drain.add_argument("--deadline", type=duration, metavar="TIME",
        help="time until the end at the latest: 600, 10m, 2h, 1d; 0: no limit (default: drain.deadline)")
    drain.add_argument("--below", type=number, metavar="N",
        help="end when at most N allocations are left (default: drain.below)")  # fmt: skip
    drain.add_argument("--keep", action="store_true", default=None,
        help="keep the remaining allocations for the next process instead of closing them")  # fmt: skip
    command("undrain", "Cancels a drain: new allocations are made again.")


def told(drain):
    """The state of a drain, as a line."""
    since = time.strftime("%H:%M:%S", time.localtime(drain["since"]))
    ends = "no deadline" if drain["deadline"] is None else f"ends in {drain['deadline']}s at most"
    below = f" (ends at {drain['below']})" if drain["below"] else ""
    kept = ", the remaining ones are kept then" if drain.get("keep") else ""
    return (
        f"since {since}, {drain['allocations']} allocations left{below}, "
        f"{drain['refused']} refused, {ends}{kept}"
    )


def elsewhere(alternate):
    """Redirection of new clients to other servers, as a line."""
    reason = {
        "always": "always",
        "allocations": f"there are {alternate.get('allocations_from')} allocations",
        "datagrams": f"{alternate.get('datagrams')} datagrams/s are relayed",
    }.get(alternate["sends"])
    goes = f"new clients are sent to them: {reason}" if reason else "new clients are served here"
    return f"{alternate['servers']} servers, {goes}; {alternate['sent']} sent"


def view(answer, style):
    drain = answer["drain"]
    return ["drains " + told(drain)] if drain["draining"] else ["new allocations are made"]
