# SPDX-License-Identifier: BSD-3-Clause
"""Explains why a client cannot connect: the last attempts, and the likely cause."""

from ctl.tables import seconds, wrapped

TIME = 10  # columns of the time, before the text


def subject(row):
    user = row.get("user", "") + (" and others" if row.get("others") else "")
    if user and row.get("several"):
        user += f" of {row['realm']}"
    place = row.get("client", "many addresses")
    over = f" over {row['transport']}" if row.get("transport") else ""
    return f"{user} at {place}{over}" if user else f"{place}{over}"


def happened(row):
    """The request and its result."""
    event, reason = row["event"], row.get("why", "")
    times = f", {row['times']} times" if row["times"] > 1 else ""
    if event == "made":
        return f"allocation {row['id']} made"
    if event == "ended":
        return f"allocation {row['id']} ended: {reason}"
    if event == "roamed":
        return f"allocation {row['id']} moved here from {row['from']}"
    if event == "connection-refused":
        offered = f"; it offers TLS {row['offered']}" if row.get("offered") else ""
        return f"connection refused: {reason}{times}{offered}"
    peer = f" for peer {row['peer']}" if "peer" in row else ""
    answer = f"answered {row['code']}" if row["code"] else "not answered"
    return f"{row['method']}{peer} {answer}: {reason}{times}"


def attempt(row, told, style):
    """Lines about one attempt; each reason is explained once."""
    begin = f"{row['time'][11:19]}  {seconds(row['ago'])} ago  {subject(row)}"
    lines = [style("bold", line) for line in wrapped(begin, 0)] + wrapped(happened(row), TIME)
    if not row.get("proved", True):
        lines += wrapped("(the address is not proved: another host may have sent it)", TIME)
    reason = (row["event"], row.get("why"))
    if reason not in told and row["event"] not in ("made", "roamed"):
        told.add(reason)
        lines += wrapped(row["text"], TIME)
        if row["advice"]:
            lines += wrapped("-> " + row["advice"], TIME)
    return lines


def explain(answer, style):
    told, out = set(), []
    for row in answer["rows"]:
        row["several"] = answer.get("realms", 1) > 1 and "realm" in row
        out += attempt(row, told, style)
    if not out:
        return wrapped(answer["cause"], 0) + wrapped("-> " + answer["advice"], 0)
    row = answer["rows"][answer.get("row", 0)]
    name = row.get("user") or row.get("client", "many addresses")
    advice = f"; {answer['advice']}" if answer["advice"] else ""
    if answer["cause"] is None:
        summary = "last: " + row["text"] + advice if row["event"] != "made" else answer["advice"]
        lines = wrapped(f"no cause ({row['time'][11:19]}, {name}): {summary}", 0)
    else:
        lines = wrapped(f"likely cause ({row['time'][11:19]}, {name}): {answer['cause']}{advice}", 0)
    return [*out, "", *(style("yellow", line) for line in lines)]
