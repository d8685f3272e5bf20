# SPDX-License-Identifier: BSD-3-Clause
"""watch: events of allocations and refusals as they come. The server keeps the newest; one that was
replaced before it was read is counted as lost."""

import ipaddress
import json
import re
import sys
import time

from ctl.wire import cleaned

PAUSE = 0.3
FILTERS = ("user", "realm", "client", "reason")


def one_filter(text):
    """(name, value) of NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or name not in FILTERS:
        raise ValueError(f"must be one of {', '.join(one + '=...' for one in FILTERS)}")
    if name == "client":
        value = ipaddress.ip_network(value, strict=False)
    return name, value


def add(command):
    """Adds the subcommand and its options."""
    parser = command("watch", "Allocations made and ended, and refusals, as they come.")
    parser.add_argument("--filter", metavar="NAME=VALUE", action="append", default=[],
        help="only events of user=, realm=, client= (an address or prefix) or reason=; all of several must match")  # fmt: skip


def wrong(args):
    """The error in the filters, or None."""
    for text in args.filter:
        try:
            one_filter(text)
        except ValueError as error:
            return f"--filter {text}: {error}"
    return None


def client_of(row):
    """The network of a row's client, or None: records may have a part of its address."""
    text = row.get("client", "")
    if "/" in text:
        return ipaddress.ip_network(text)
    address = text if text.count(":") > 1 and not text.startswith("[") else text.rpartition(":")[0] or text
    return ipaddress.ip_network(address.strip("[]")) if address else None


def matches(row, filters):
    """True if an event passes all filters. A REST name is found by its id, too."""
    user = row.get("user", "")
    for name, value in filters:
        if name == "user" and value not in (user, re.sub(r"^\d+:(?=.)", "", user)):
            return False
        if name == "realm" and value != row.get("realm"):
            return False
        if name == "reason" and value != row.get("why"):
            return False
        if name == "client":
            client = client_of(row)
            if client is None or client.version != value.version or not client.overlaps(value):
                return False
    return True


def line(row):
    """An event for people."""
    user = row.get("user", "") + (" and others" if row.get("others") else "")
    parts = [row["time"][11:19], row["event"].ljust(7), f"{user or '-'} at {row.get('client', '-')}"]
    parts += [f"{word} {row[name]}" for word, name in (("relay", "relay"), ("peer", "peer")) if name in row]
    if row.get("method"):
        parts.append(f"{row['method']} answered {row.get('code', 0)}")
    if row.get("why"):
        parts.append(row["why"])
    if row.get("times"):
        parts.append(f"{row['times']} times")
    return "  ".join(parts)


def run(server, args):
    """Shows events until it is interrupted."""
    filters = [one_filter(text) for text in args.filter]
    after = server.ask("watch")["next"]
    while True:
        answer = server.ask("watch", after=after)
        for row in answer["rows"]:
            if matches(row, filters):
                print(json.dumps(row) if args.json else line(cleaned(row)), flush=True)
        if answer["lost"]:
            print(f"slipringctl: {answer['lost']} events lost: they came faster than they were read", file=sys.stderr)
        if not answer["rows"]:
            time.sleep(PAUSE)
        after = answer["next"]
