# SPDX-License-Identifier: BSD-3-Clause
"""The display of each answer: lines of text."""

from ctl import block as blocks
from ctl import drain as drains
from ctl.attempts import explain  # noqa: F401
from ctl.stop import state
from ctl.tables import count, pairs, seconds, table, wrapped


def leg_text(leg, whom):
    """Live allocations count in steps of 64 datagrams and 64 KiB, so a count of 0 does not mean nothing."""
    datagrams, size = count(leg["datagrams"]), f"{count(leg['bytes'])}B"
    if leg["datagrams"] and not leg["bytes"]:
        size = "<64KiB"
    if leg["bytes"] and not leg["datagrams"]:
        datagrams = "<64"
    return f"{datagrams} from {whom} ({size})"


def realm_text(realm, named):
    """The totals of a realm's allocations."""
    several = f"{realm['realm']}: {realm['allocations']} allocations, " if named else ""
    legs = leg_text(realm["from_client"], "clients"), leg_text(realm["from_peers"], "peers")
    return several + ", ".join((*legs, f"{count(sum(realm['lost'].values()))} lost"))


def places(answer):
    """Number of allocations, with the limit of limits.allocations if that applies."""
    most = f" of {answer['allocations_most']}" if "allocations_most" in answer else ""
    return f"{answer['allocations']}{most}"


def ports_left(answer):
    return ", ".join(f"{p['family']} {p['free']} of {p['all']} free" for p in answer["relay_ports"])


def status(answer, style):
    rates, links = answer["rates"], answer["links"]
    load = " ".join(f"{percent:.0f}%" for percent in answer["load"])
    ports = "  ".join(
        f"{link['port']} {style('green', 'up') if link['up'] else style('red', 'down')}"
        for link in links
    )
    rows = [
        ("version", f"{answer['version']}, pid {answer['pid']}, up {seconds(answer['uptime'])}"),
        ("file", answer["configuration"]),
        ("realm", answer["realm"]),
        ("links", ports),
        ("load", f"{load}  (workers)"),
        (
            "allocations",
            f"{places(answer)}, {rates['allocations']} new/s; {answer['permissions']} permissions, "
            f"{answer['channels']} channels",
        ),
        *([("relay ports", ports_left(answer))] if answer.get("relay_ports") else []),
        ("clients", f"{answer['streams']} over TCP and TLS, {answer['dtls']} over DTLS"),
        ("received", f"{count(rates['rx'])}/s, {count(8 * rates['rx_bytes'])}bit/s"),
        ("sent", f"{count(rates['tx'])}/s, {count(8 * rates['tx_bytes'])}bit/s"),
        ("dropped", f"{count(rates['drops'])}/s, {count(answer['drops'])} in all"),
        *(("relayed", realm_text(r, len(answer["realms"]) > 1)) for r in answer["realms"]),
        ("refused", f"{count(rates['auth_failures'])} wrong passwords/s"),
        *state(answer),
    ]
    if answer.get("drain", {}).get("draining"):
        rows.insert(1, ("drains", style("yellow", drains.told(answer["drain"]))))
    if answer.get("alternate", {}).get("servers"):
        rows.append(("alternate", drains.elsewhere(answer["alternate"])))
    out = pairs(rows)
    for warning in answer["warnings"]:
        lines = wrapped("! " + warning, 0)
        out += [style("yellow", line) for line in lines]
    return out


def paged(answer, lines, style):
    """Adds a line that says how to see more pages."""
    if "next" in answer:
        lines.append(style("dim", f"more: --page {answer['next']}, or --all"))
    return lines


def has_realms(answer):
    """True if there are several realms, so that a row needs its realm."""
    return answer.get("realms", 1) > 1


def over(row):
    """The client's transport, and the protocol to peers unless that is UDP."""
    return row["transport"] + (f", {row['protocol']}" if "protocol" in row else "")


def allocations(answer, style):
    rows = answer["rows"]
    if not rows:
        return ["no allocations"]
    by_bytes = answer.get("sort") == "bytes"
    rx, tx = ("rx_bytes", "tx_bytes") if by_bytes else ("rx", "tx")
    columns = ["RX-B", "TX-B"] if by_bytes else ["RX", "TX"]
    head = ["ID", "USER", "CLIENT", "OVER", "AGE", "LEFT", *columns]
    cells = [
        [r["id"], r["user"], r["client"], over(r), seconds(r["age"]),
         seconds(r["expires"]), count(r[rx]), count(r[tx])]
        for r in rows
    ]  # fmt: skip
    for name, title in (("rate", "/S"), ("bitrate", "BIT/S")):
        if name in rows[0]:
            head.append(title)
            for cell, r in zip(cells, rows):
                cell.append(count(r[name]))
    right, soft = range(4, len(head)), (1, 2)
    if has_realms(answer):
        soft = (*soft, len(head))
        head.append("REALM")
        for cell, r in zip(cells, rows):
            cell.append(r["realm"])
    return paged(answer, table(head, cells, style, soft, right), style)


def relayed(a, leg):
    return f"{a[leg]} datagrams, {a[leg + '_bytes']} bytes"


def lost(a):
    classes = [f"{n} {name}" for name, n in a["lost"].items() if n]
    return ", ".join(classes) or "nothing"


def show(answer, style):
    a = answer["allocation"]
    route = a["way"]
    rows = [
        ("id", a["id"]),
        ("user", a["user"] + (" (REST)" if a["rest"] else "")),
        ("realm", a["realm"]),
        ("client", f"{a['client']} over {a['transport']}"),
        ("route", f"port {route['port']} via {route['via']}" if route["port"] else "no route"),
        ("relay", a["relay"] + (f", announced as {a['told']}" if a["told"] != a["relay"] else "")),
        *([("dual with", a["sibling"])] if "sibling" in a else []),
        *([("over", f"{a['protocol']}, {a['connections']} connections")] if "protocol" in a else []),
        ("worker", str(a["worker"])),
        ("age", f"{seconds(a['age'])}, {a['expires']} s left"),
        ("from client", relayed(a, "rx")),
        ("from peers", relayed(a, "tx")),
        ("lost", lost(a)),
        ("signed by", a["algorithm"] + (", knows RFC 8489" if a["rfc8489"] else "")),
    ]
    if "cipher" in a:
        rows.append(("cipher", a["cipher"]))
    if "line" in a:
        rows.append(("line", a["line"]))
    out = pairs(rows)
    if a["permissions"]:
        cells = [[p["peer"], f"{p['left']}s", p["port"], p["via"]] for p in a["permissions"]]
        out += ["", *table(["PEER", "LEFT", "PORT", "VIA"], cells, style, (0, 3), (1,))]
    if a["bound"]:
        cells = [[c["channel"], c["peer"], f"{c['left']}s"] for c in a["bound"]]
        out += ["", *table(["CHANNEL", "PEER", "LEFT"], cells, style, (1,), (2,))]
    return paged(answer, out, style)


def kill(answer, style):
    n = answer["killed"]
    return [f"{n} allocation{'' if n == 1 else 's'} ended"]


def users(answer, style):
    if not answer["rows"]:
        return ["no users have allocations"]
    titles = {"bytes": "BYTES", "datagrams": "DATAGRAMS", "rate": "/S", "bitrate": "BIT/S"}
    value = next(name for name in titles if name in answer["rows"][0])
    cells = [[r["user"], r["allocations"], count(r[value])] for r in answer["rows"]]
    head = ["USER", "ALLOCATIONS", titles[value]]
    if has_realms(answer):
        head.append("REALM")
        cells = [[*cell, r["realm"]] for cell, r in zip(cells, answer["rows"])]
    lines = table(head, cells, style, (0, 3)[: len(head) - 2], (1, 2))
    return paged(answer, [*lines, style("dim", f"{answer['users']} users in all")], style)


drain = undrain = drains.view
block, unblock = blocks.view_block, blocks.view_unblock


def blocked(answer, style):
    return paged(answer, blocks.view_blocked(answer, style), style)


def ports(answer, style):
    head = ["PORT", "LINK", "DRIVER", "MAC", "MTU", "QUEUES", "MISSED", "ERRORS"]
    cells = [
        [r["port"], r["link"], r["driver"], r["mac"], r["mtu"],
         f"{r['rx_queues']}/{r['tx_queues']}", count(r["rx_missed"] + r["rx_nombuf"]),
         count(r["rx_errors"] + r["tx_errors"])]
        for r in answer["rows"]
    ]  # fmt: skip
    out = table(head, cells, style, (0, 2), (4, 6, 7))
    for r in answer["rows"]:
        if r.get("members"):
            out.append(f"{r['port']}: {r['members']}")
        for name, value in r.get("xstats", {}).items():
            out.append(f"{r['port']}: {name} {value}")
    return out


def workers(answer, style):
    head = ["WORKER", "LCORE", "LOAD", "ALLOCATIONS", "RX/S", "TX/S", "DROPS/S", "HANDED", "HELD"]
    cells = [
        [r["worker"], r["lcore"], f"{r['load']:.0f}%", r["allocations"], count(r["rates"]["rx"]),
         count(r["rates"]["tx"]), count(r["rates"]["drops"]), count(r["handed_out"]), r["held"]]
        for r in answer["rows"]
    ]  # fmt: skip
    return table(head, cells, style, (), range(len(head)))


def steering(answer, style):
    head = ["PORT", "FAMILY", "STEP", "RULES", "HOME", "HANDED", "STATE"]
    cells = [
        [r["port"], r["family"], r["step"], r["rules"], count(r["hits"]),
         count(r["handed_over"]), "degraded" if r["degraded"] else "good"]
        for r in answer["rows"]
    ]  # fmt: skip
    out = table(head, cells, style, (0,), (3, 4, 5))
    for r in answer["rows"]:
        for step, reason in (("address", r["why_address"]), (r["step"], r["why"])):
            if reason:
                out += wrapped(f"{r['port']} {r['family']}: {step}: {reason}", 0)
    return out


def neighbours(answer, style):
    if not answer["rows"]:
        return ["no neighbours"]
    head = ["ADDRESS", "PORT", "MAC", "STATE", "HELD", "KIND"]
    cells = [
        [r["address"], r["port"], r["mac"], r["state"], r["held"],
         "gateway" if r["gateway"] else ""]
        for r in answer["rows"]
    ]  # fmt: skip
    return paged(answer, table(head, cells, style, (0, 1), (4,)), style)


def drops(answer, style):
    if not answer["rows"]:
        return ["nothing was dropped"]
    out = []
    for r in sorted(answer["rows"], key=lambda r: -r["count"]):
        rate = f", {count(r['rate'])}/s" if r["rate"] else ""
        out.append(f"{style('bold', r['drop'])}  {r['count']}{rate}")
        out += wrapped(r["meaning"], 4)
        if r["advice"]:
            out += wrapped("-> " + r["advice"], 4)
    return out


def log(answer, style):
    if "reopened" in answer:
        return [f"{answer['reopened']} is reopened"]
    cells = [[r["area"], r["level"], count(r["lines"]), count(r["suppressed"])] for r in answer["rows"]]
    out = table(["AREA", "LEVEL", "LINES", "SUPPRESSED"], cells, style, (), (2, 3))
    if answer["lost"]:
        out.append(style("yellow", f"{answer['lost']} lines were lost: the reader of the log did not accept them"))
    return out


def records(answer, style):
    return pairs([
        ("file", answer.get("file", "none: see records.file")),
        ("refusals", answer.get("refusals", "in no file")),
        ("peers", answer.get("peers", "in no file")),
        ("written", f"{answer['written']} lines in the files"),
        ("lost", f"{answer['lost']} that should be in files: files or queue could not take them"),
        ("unsent", f"{answer['unsent']} that journald or syslog did not accept"),
        ("waiting", f"{answer['waiting']} in the queue now"),
    ])  # fmt: skip
