# SPDX-License-Identifier: BSD-3-Clause
"""who: the user whose allocation had a relayed address and port at some time, by the files of records."""

import ipaddress
import json
import re
from bisect import bisect_right

from ctl import history
from ctl.history import LINE, SLACK_S, NoRecords, seconds_of, stamp
from ctl.tables import Style, count, pairs, table
from ctl.wire import cleaned, printable

WINDOW_S = 2 * 3600  # without a port: allocations with a record in this time before or after
PEERS = 20  # shown of an allocation
HEAD = re.compile(rb'\{"time":"([^"]+)","event":"([^"]+)",(?:"seq":\d+,)?"id":"(\d+)"')


def add(command):
    """Adds the subcommand and its options."""
    parser = command("who", "The user whose allocation had a relayed address at some time, by the files of records.")
    parser.add_argument("relayed", metavar="RELAYED[:PORT]", help="relayed address and UDP or TCP port; [v6]:port")
    parser.add_argument("time", metavar="TIME", help="2026-11-23T18:04:29Z, with another zone, or seconds since 1970")
    parser.add_argument("--within", type=float, default=0, metavar="SECONDS", help="TIME may be wrong by this")
    parser.add_argument("--peer", metavar="ADDRESS", help="only allocations with a record of this peer")
    history.add_file(parser)


def endpoint(text):
    """(address, port or None) of ADDRESS, ADDRESS:PORT, [ADDRESS] or [ADDRESS]:PORT."""
    try:
        return ipaddress.ip_address(text.strip("[]")), None
    except ValueError:
        address, _, port = text.rpartition(":")
    try:
        if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            raise ValueError
        return ipaddress.ip_address(address.strip("[]")), int(port)
    except ValueError:
        raise NoRecords(f"{text}: must be an address and port like 203.0.113.5:49152 or [2001:db8::5]:49152") from None


def needle_of(address, port):
    """The text of the field `relay`."""
    shown = f"[{address}]" if address.version == 6 else str(address)
    return f'"relay":"{shown}:'.encode() + (b'%d"' % port if port else b"")


class Session:
    """An allocation, as far as its records say."""

    def __init__(self, record):
        self.ids = [record["id"]]
        self.begin = self.end = self.reason = self.user = None
        self.places = []  # (time, client) from which time on
        self.counts = {}

    def note(self, record):
        event, time = record["event"], record["time"]
        if event == "made":
            self.begin = time
        if event == "ended":
            self.end, self.reason = time, record.get("why")
            self.begin = self.begin or stamp(seconds_of(time) - record.get("seconds", 0))
        if event == "roamed" and not self.places:
            self.places.append(("", record.get("from")))
        if event in ("made", "roamed") or not self.places:
            self.places.append((time if event == "roamed" else "", record.get("client")))
        if event == "moved":
            self.ids.append(record["id"])
        if self.user is None or len(record.get("user", "")) > len(self.user):
            self.user = record.get("user")  # later records cut it
        self.realm, self.transport, self.relay = (record.get(name) for name in ("realm", "transport", "relay"))
        self.counts.update((name, record[name]) for name in ("from_client", "from_peers") if name in record)

    def client_at(self, time):
        return [client for since, client in self.places if since <= time][-1] if self.places else None

    def had(self, low, high):
        """True if it may have been there between two times."""
        return (self.begin is None or self.begin <= high) and (self.end is None or self.end >= low)


def assemble(records):
    """Sessions of records in the order of time, by their beginning."""
    live, out = {}, []
    for record in sorted(records, key=lambda one: one["time"]):
        identity = record.get("id")
        if record["event"] == "moved" and record.get("was") in live:
            live[identity] = live.pop(record["was"])
        if identity not in live or (record["event"] == "made" and live[identity].begin):
            live[identity] = Session(record)
            out.append(live[identity])
        live[identity].note(record)
    return sorted(out, key=lambda one: one.begin or "")


def overlaps(found):
    """True if allocations share the relayed address and port (relay.mode)."""
    return any(a.end and b.begin and b.begin < a.end for a, b in zip(found, found[1:]))


def of_port(files, needle, low, high):
    """Sessions of a relayed address and port: reads from the file that has the time in both directions, as
    far as necessary."""
    middle = max(bisect_right([file.first for file in files], low) - 1, 0)
    first = last = middle
    records = list(files[middle].records(needle))
    while first > 0 and (overlaps(assemble(records)) or not any(
            one["event"] == "made" and one["time"] <= low for one in records)):  # fmt: skip
        first -= 1
        records += files[first].records(needle)
    while last + 1 < len(files) and (overlaps(assemble(records)) or not any(
            one["event"] in ("made", "ended") and one["time"] > high for one in records)):  # fmt: skip
        last += 1
        records += files[last].records(needle)
    return assemble(records)


def of_address(files, needle, low, high):
    """Sessions of a relayed address with a record around the time."""
    begin, end = (stamp(seconds_of(one) + shift) for one, shift in ((low, -WINDOW_S), (high, WINDOW_S)))
    live, later = {}, set()
    for i, file in enumerate(files):
        if file.first > end or (i + 1 < len(files) and files[i + 1].first < begin):
            continue
        for line in file.lines(needle, file.offset_of(begin), min(file.size, file.offset_of(end) + 4 * LINE)):
            found = HEAD.match(line)
            if not found or found[3] in later:
                continue
            time, event, identity = found[1].decode(), found[2], found[3]
            if time > high and event == b"made":
                later.add(identity)
            elif time < low and event == b"ended":
                live.pop(identity, None)
            else:
                live.setdefault(identity, []).append(line)
    return assemble(record for lines in live.values() for record in history.parsed(lines))


def hide_lost_ends(found):
    """An allocation whose end was not recorded has ended before the next one on its port was made."""
    if overlaps(found):
        return found
    for one, after in zip(found, found[1:]):
        if one.end is None and one.relay == after.relay:
            one.end, one.reason = after.begin, "not recorded"
    return found


def peers_of(files, session):
    """Recorded peers of an allocation, in the order of their records."""
    begin = stamp(seconds_of(session.begin) - SLACK_S) if session.begin else ""
    end = stamp(seconds_of(session.end) + SLACK_S) if session.end else "9"
    found = {}
    for i, file in enumerate(files):
        if file.first > end or (i + 1 < len(files) and files[i + 1].first < begin):
            continue
        for identity in session.ids:
            for record in file.records(b'"id":"%s"' % identity.encode(), file.offset_of(begin)):
                found.setdefault(record.get("peer"))
    return [peer for peer in found if peer]


def is_peer(text, address):
    """True if a record's peer, perhaps only a network, may be this address."""
    if "/" in text:
        return address in ipaddress.ip_network(text)
    return endpoint(text)[0] == address


def shown(session, time, peers):
    """An answer as an object."""
    row = {"id": session.ids[-1], "user": session.user, "realm": session.realm}
    row.update(client=session.client_at(time), transport=session.transport, relay=session.relay)
    row.update({"made": session.begin, "ended": session.end, "why": session.reason}, **session.counts)
    if peers is not None:
        row["peers"] = peers
    return {name: value for name, value in row.items() if value is not None}


def data(row):
    parts = [f"{count(row[leg]['bytes'])}B {words}"
        for leg, words in (("from_client", "from the client"), ("from_peers", "from peers")) if leg in row]  # fmt: skip
    return ", ".join(parts) or "not recorded yet"


def block(row):
    """Lines about one allocation."""
    peers = row.get("peers")
    lines = [
        ("user", row.get("user", "not recorded") + (f" in {row['realm']}" if "realm" in row else "")),
        ("client", f"{row.get('client', 'not recorded')} over {row.get('transport', '?')}"),
        ("relayed", row["relay"]),
        ("made", row.get("made", "before the oldest record")),
        ("ended", f"{row['ended']}: {row.get('why')}" if "ended" in row else "not by the records"),
        ("data", data(row)),
        ("id", row["id"]),
    ]
    if peers is not None:
        more = f" and {len(peers) - PEERS} more" if len(peers) > PEERS else ""
        lines.append(("peers", ", ".join(peers[:PEERS]) + more if peers else "not recorded"))
    return pairs(lines)


def nearest(found, low, high):
    """The allocations before and after a time without one."""
    before = [one for one in found if one.end and one.end < low]
    after = [one for one in found if one.begin and one.begin > high]
    if before:
        yield f"before: {before[-1].user} until {before[-1].end}"
    if after:
        yield f"after: {after[0].user} from {after[0].begin}"


def limits(args):
    """The time asked for, as the first and last stamp; a time without a fraction is its whole second."""
    time = history.read_time(args.time)
    return stamp(time - args.within), stamp(time + args.within + (0.999 if time == int(time) else 0))


def search(args, files, path):
    """(matching sessions with their peers or None, all sessions found)."""
    low, high = limits(args)
    address, port = endpoint(args.relayed)
    needle = needle_of(address, port)
    found = hide_lost_ends((of_port if port else of_address)(files, needle, low, high))
    had = [one for one in found if one.had(low, high)]
    peers = history.opened(history.beside(path, "-peers"))[0] if port or args.peer else []
    rows = [(one, peers_of(peers, one) if peers else None) for one in had]
    if args.peer:
        wanted = endpoint(args.peer)[0]
        rows = [(one, known) for one, known in rows if any(is_peer(peer, wanted) for peer in known or [])]
    return rows, found


def run(args):
    """True if there was such an allocation."""
    low, high = limits(args)
    endpoint(args.relayed)
    path, files, packed = history.sessions(args)
    if args.peer and not history.opened(history.beside(path, "-peers"))[0]:
        raise NoRecords("--peer: there are no records of peers: see records.peers")
    rows, found = search(args, files, path)
    rows = [shown(one, low, peers) for one, peers in rows]
    history.tell_packed(packed)
    if args.json:
        print("".join(json.dumps(row) + "\n" for row in rows), end="")
        return bool(rows)
    rows = cleaned(rows)
    if not rows:
        print(f"no recorded allocation had {args.relayed} at {args.time}")
        print("".join(f"{printable(line)}\n" for line in nearest(found, low, high)), end="")
    elif len(rows) == 1 or endpoint(args.relayed)[1]:
        print("\n\n".join("\n".join(block(row)) for row in rows))
    else:
        cells = [[row.get(name, "") for name in ("relay", "user", "realm", "client", "made", "ended")] for row in rows]
        head = ["RELAYED", "USER", "REALM", "CLIENT", "MADE", "ENDED"]
        print("\n".join(table(head, cells, Style(args.color), (1, 2))))
    if files[0].first > low:
        print(f"the oldest record is of {files[0].first}")
    return bool(rows)
