# SPDX-License-Identifier: BSD-3-Clause
"""crash: reports of crashes."""

import json
import time

from ctl.tables import Style, wrapped
from ctl.wire import cleaned


def add(command):
    """Adds the subcommand and its options."""
    crash = command("crash", "Reports of crashes. NAME, or newest: shows one.")
    crash.add_argument("name", metavar="NAME | newest", nargs="?")


def summary(lines):
    """Summary of a report: the reason, or the signal, and its place in the code."""
    rows = dict(line.split(": ", 1) for line in lines if ": " in line)
    place = rows.get("at", "?").split(" (")[0]
    return f"{rows.get('reason') or rows.get('signal', '?')}; in {place}"


def listed(server, answer, style):
    if not answer["directory"]:
        return ["reports go to standard error: see crash.directory"]
    if not answer["rows"]:
        return [f"{answer['directory']}: no reports"]
    out = []
    for row in answer["rows"]:
        lines = cleaned(server.ask("crash", name=row["name"]))["lines"]
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row["at"]))
        out += [style("bold", f"{when}  {row['name']}"), *wrapped(summary(lines), 4)]
    return out


def newest(server):
    """The name of the newest report, or None."""
    rows = server.ask("crash")["rows"]
    return rows[0]["name"] if rows else None


def run(server, args):
    """True if the requested reports exist."""
    name = newest(server) if args.name == "newest" else args.name
    if args.name == "newest" and name is None:
        print("no reports")
        return False
    answer = server.ask("crash", name=name) if name else server.ask("crash")
    if args.json:
        print(json.dumps(answer))
    elif name:
        print("\n".join(cleaned(answer)["lines"]))
    else:
        print("\n".join(listed(server, cleaned(answer), Style(args.color))))
    return True
