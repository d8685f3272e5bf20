# SPDX-License-Identifier: BSD-3-Clause
"""stop: stops slipring, and decides whether calls are kept. Also the state area's row in status."""

import json

from ctl.tables import Style, count, wrapped


def add(command):
    """Adds the subcommand and its options."""
    stop = command("stop", "Stops slipring. state.on-stop decides whether calls are kept.")
    calls = stop.add_mutually_exclusive_group()
    calls.add_argument("--keep", action="store_true", default=None,
        help="the next process continues the calls, if it starts in time")  # fmt: skip
    calls.add_argument("--forget", action="store_true", default=None, help="all calls end")


def state(answer):
    """The state area's row in status, if there is an area."""
    told = answer.get("state")
    if not told:
        return []
    if told["start"] == "empty":
        text = "it was empty at the start"
    elif told["start"] in ("refused", "crashed"):
        text = f"not restored at the start: {told['why']}"
    else:
        lost = sum(told["lost"].values())
        text = f"{told['allocations']} restored in {told['took_ms']} ms, {lost} records lost"
    if told["unkept"]:
        text += f". Calls end with this process: {told['unkept']}"
    return [("state", f"{told['file']}, {count(told['bytes'])}B; {text}")]


def told(answer, style):
    n, kept = answer["allocations"], answer["kept"]
    fate = "are kept for the next process" if kept else "end"
    return wrapped(f"slipring stops; {n} allocations {style('green' if kept else 'yellow', fate)}", 0)


def run(server, args):
    answer = server.ask("stop", keep=args.keep, forget=args.forget)
    print(json.dumps(answer) if args.json else "\n".join(told(answer, Style(args.color))))
