# SPDX-License-Identifier: BSD-3-Clause
"""stop: ends slipring, and says what becomes of calls. What status shows of the state area."""

import json

from ctl.tables import Style, count, wrapped


def add(command):
    """The subcommand and its options."""
    stop = command("stop", "Stops slipring. Calls are kept or ended as state.on-stop says.")
    calls = stop.add_mutually_exclusive_group()
    calls.add_argument("--keep", action="store_true", default=None,
        help="the next process takes calls up, if it starts in time")  # fmt: skip
    calls.add_argument("--forget", action="store_true", default=None, help="all calls end")


def state(answer):
    """The row of status on the state area, if there is one."""
    told = answer.get("state")
    if not told:
        return []
    if told["start"] == "empty":
        text = "nothing was there at the start"
    elif told["start"] in ("refused", "crashed"):
        text = f"not taken up at the start: {told['why']}"
    else:
        lost = sum(told["lost"].values())
        text = f"{told['allocations']} taken up in {told['took_ms']} ms, {lost} records lost"
    if told["unkept"]:
        text += f". Calls end with this process: {told['unkept']}"
    return [("state", f"{told['file']}, {count(told['bytes'])}B; {text}")]


def told(answer, style):
    n, kept = answer["allocations"], answer["kept"]
    what = "are kept for the next process" if kept else "end"
    return wrapped(f"slipring stops; {n} allocations {style('green' if kept else 'yellow', what)}", 0)


def run(server, args):
    answer = server.ask("stop", keep=args.keep, forget=args.forget)
    print(json.dumps(answer) if args.json else "\n".join(told(answer, Style(args.color))))
