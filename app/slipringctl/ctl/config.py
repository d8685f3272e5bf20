# SPDX-License-Identifier: BSD-3-Clause
"""config: the result of the last reload, the changes that a reload would make, and the order to reload."""

import json
import time

from ctl.tables import Style, table
from ctl.wire import cleaned

PAUSE = 0.02  # seconds between two checks of a running reload


def add(command):
    """Adds the subcommand and its options."""
    config = command(
        "config",
        "The result of the last reload. diff: the changes that a reload would make; reload: applies the"
        " file, whole or not at all.",
    )
    config.add_argument("do", metavar="diff | reload", nargs="?", choices=("diff", "reload"))


def shown(value):
    return "(none)" if value is None else value


def cells(row):
    """The row of a changed key: old value, new value, and whether it needs a restart."""
    known = "from" in row
    told = [shown(row["from"]), shown(row["to"])] if known else [f"({row['change']})", ""]
    return [row["key"], *told, "restart" if row["restart"] else ""]


def diff(answer, style):
    rows = answer["rows"]
    if not rows:
        return ["the file matches the running configuration"]
    lines = table(["KEY", "IN USE", "FILE", "TAKES"], [cells(row) for row in rows], style, (0, 1, 2))
    if len(rows) < answer["changes"]:
        lines.append(f"and {answer['changes'] - len(rows)} more")
    if any(row["restart"] for row in rows):
        calls = "keeps calls" if answer["restart_keeps_calls"] else "ends calls without state.file"
        lines.append(style("yellow", f"a reload refuses the file: some changes need a restart, which {calls}"))
    return lines


def state(answer, style):
    if answer["how"] == "none":
        return [f"{answer['file']}: no reload since the start"]
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(answer["at"]))
    colour = "red" if answer["how"] == "refused" else "green"
    return [f"{answer['file']}: reload of {when}: {style(colour, answer['how'])}", answer["text"]]


def reloaded(server):
    """Orders a reload; returns the state after its end."""
    answer = server.ask("config", do="reload")
    asked = answer["asked"]
    while answer["ended"] < asked:
        time.sleep(PAUSE)
        answer = server.ask("config")
    return answer


def run(server, args):
    """True unless a reload was refused."""
    answer = reloaded(server) if args.do == "reload" else server.ask("config", do=args.do)
    if args.json:
        print(json.dumps(answer))
    else:
        view = diff if args.do == "diff" else state
        print("\n".join(view(cleaned(answer), Style(args.color))))
    return args.do != "reload" or answer["how"] != "refused"
