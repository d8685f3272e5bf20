# SPDX-License-Identifier: BSD-3-Clause
"""config: the result of the last reload, the changes that a reload would make, the order to reload, and the
running configuration.
"""

import json
import time

from ctl.tables import Style, table
from ctl.wire import Refused, cleaned

PAUSE = 0.02  # seconds between two checks of a running reload


def add(command):
    """Adds the subcommand and its options."""
    config = command(
        "config",
        "The result of the last reload. diff: the changes that a reload would make; reload: applies the"
        " file, whole or not at all; show: the running configuration, as YAML without secrets.",
    )
    config.add_argument("do", metavar="diff | reload | show", nargs="?", choices=("diff", "reload", "show"))
    config.add_argument("--effective", action="store_true", help="with show: also keys that the file leaves out")
    config.add_argument("--origin", action="store_true", help="with show: the file and line of each key")


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


def pages(server, args):
    """The answers that have the running configuration."""
    wants = {name: True for name in ("effective", "origin") if getattr(args, name)}
    answer, first = {"next": None}, None
    while "next" in answer:
        answer = server.ask("config", do="show", **{"from": answer["next"]}, **wants)
        first = answer["ended"] if first is None else first
        if answer["ended"] != first:
            raise Refused("a reload has ended meanwhile: try again")
        yield answer


def note(answer):
    """The comment in front of a configuration."""
    secrets = "the first digits of their SHA-256" if answer["hashes"] else "hidden"
    return f"# {answer['file']} in use; secrets are {secrets}"


def show(server, args):
    for number, answer in enumerate(pages(server, args)):
        if args.json:
            print(json.dumps(answer))
            continue
        answer = cleaned(answer)
        print("\n".join(([note(answer)] if number == 0 else []) + answer["lines"]))


def run(server, args):
    """True unless a reload was refused."""
    if args.do == "show":
        show(server, args)
        return True
    answer = reloaded(server) if args.do == "reload" else server.ask("config", do=args.do)
    if args.json:
        print(json.dumps(answer))
    else:
        view = diff if args.do == "diff" else state
        print("\n".join(view(cleaned(answer), Style(args.color))))
    return args.do != "reload" or answer["how"] != "refused"
