# SPDX-License-Identifier: BSD-3-Clause
"""block, unblock and blocked: their options, and the display of blocks."""

import argparse
import re
import time

from ctl.drain import duration
from ctl.tables import seconds, table


def period(text):
    """Like duration, but fail2ban writes -1 for a ban that does not end."""
    if re.fullmatch(r"-1s?", text):
        return 0
    if duration(text) == 0:
        raise argparse.ArgumentTypeError("must be longer than 0")
    return duration(text)


def add(command, add_pages, add_realm):
    """Adds the subcommands and their options."""
    block = command(
        "block",
        "Shuts out clients: those of an address or prefix are not answered, requests of a user get 403. Their"
        " live allocations and connections end. A single IPv6 address stands for its /64.",
    )
    unblock = command("unblock", "Ends a block, given as it was ordered.")
    for parser in (block, unblock):
        parser.add_argument("address", metavar="ADDRESS[/LEN]", nargs="?")
        parser.add_argument("--user", metavar="NAME", help="a user; a REST name may be given by its id")
        add_realm(parser)
    block.add_argument("--for", type=period, metavar="TIME",
        help="time until it ends: 600, 10m, 2h, 1d; default: until unblocked or stopped")  # fmt: skip
    block.add_argument("--why", metavar="TEXT", help="a reason that the listing shows, 80 bytes at most")
    add_pages(command("blocked", "The blocked addresses and users, with the end of each block."))


def wrong_usage(args):
    if args.command in ("block", "unblock") and (args.address is None) == (args.user is None):
        return f"{args.command}: say whom: ADDRESS[/LEN], or --user NAME"
    return None


def whom(row):
    return row["address"] if "address" in row else f"{row['user']} of {row['realm']}"


def ends(row):
    return "no end" if row["until"] is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row["until"]))


def view_block(answer, style):
    row = answer["block"]
    until = "" if row["until"] is None else f" until {ends(row)}"
    return [f"{whom(row)} is blocked{until}"]


def view_unblock(answer, style):
    return ["unblocked" if answer["unblocked"] else "was not blocked"]


def view_blocked(answer, style):
    if not answer["rows"]:
        return ["nobody is blocked"]
    left = lambda row: "" if row["left"] is None else seconds(row["left"])
    cells = [[whom(r), ends(r), left(r), r["why"]] for r in answer["rows"]]
    return table(["WHO", "UNTIL", "LEFT", "WHY"], cells, style, (0, 3), (2,))
