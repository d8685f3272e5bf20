# SPDX-License-Identifier: BSD-3-Clause
"""The answer of /status.json: what the status page shows. It has no names of users and no addresses,
unless the exporter was started with --control.
"""

import json
import math
import time

REASONS = ("drops", "refusals")
# Fields that the page shows; the answers have more
WORKER = "lcore rx tx rx_bytes tx_bytes drops allocations handed_in held busy_cycles total_cycles".split()
PORT = (
    "name kind driver on link trouble vlan mtu rx_queues tx_queues rx_missed rx_errors rx_nombuf tx_errors".split()
)
STEERING = "port family step degraded".split()
CERTIFICATE = "certificate not_after renew".split()
WHOLE = "info drain stats config reloads streams dtls state alternate records watchdog".split()
SECRET_LABELS = {"address": "an address"}  # text of an alert in place of the label's value


def plain(value, depth=0):
    """A value for JSON: texts are cut, and numbers that JSON does not have become null."""
    if isinstance(value, dict):
        return {str(name)[:160]: plain(one, depth + 1) for name, one in list(value.items())[:1024]} if depth < 8 else {}
    if isinstance(value, list):
        return [plain(one, depth + 1) for one in value[:1024]] if depth < 8 else []
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()[:1024]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (int, float)) else None


def some(row, fields):
    return {name: row[name] for name in fields if name in row}


def reasons(answers, name):
    """Rows of the reasons that have counted something, with their meanings."""
    meanings = answers.get(f"/slipring/meanings,{name}", {})
    found = answers.get(f"/slipring/{name}", {})
    return [
        {"reason": reason.replace("_", "-"), "count": count, "meaning": meanings.get(reason, "")}
        for reason, count in found.items()
        if isinstance(count, int) and count > 0
    ]


def alert_row(row, names_allowed):
    """An alert without its labels. Without --control its text has no address."""
    shown = {name: value for name, value in row.items() if name != "labels"}
    for label, instead in SECRET_LABELS.items():
        if not names_allowed and row["labels"].get(label):
            shown["text"] = shown["text"].replace(row["labels"][label], instead)
    return shown


def known_by_control(control):
    """The part of the answer that needs --control."""
    found = control.get()
    facts = found.get("facts", {"answers": (), "error": ""})
    status, config = facts["answers"] or ({}, {})
    out = {"error": facts["error"], "warnings": status.get("warnings", []), "reload": config.get("text", "")}
    for name in ("users", "allocations"):
        one = found.get(name)
        if one:
            rows = one["answers"][0].get("rows", []) if one["answers"] else []
            out[name] = {"ago": one["ago"], "rows": rows, "error": one["error"]}
    return out


def body(look, version, control=None):
    """look: result of Slipring.see()."""
    answers = look.answers
    one = {name: answers.get(f"/slipring/{name}", {}) for name in WHOLE}
    one["config"] = {name: value for name, value in one["config"].items() if name != "path"}
    found = {
        "at": look.end, "time": time.time(), "exporter": version, "took": look.took,
        "up": not look.error, "error": look.error, **one,
        "workers": [{"worker": number, **some(row, WORKER)} for number, row in look.workers],
        "ports": [some(row, PORT) for row in look.rows("/slipring/ports")],
        "steering": [some(row, STEERING) for row in look.rows("/slipring/steering")],
        "certificates": [some(row, CERTIFICATE) for row in look.rows("/slipring/certificates")],
        "realms": look.rows("/slipring/realms"),
        **{name: reasons(answers, name) for name in REASONS},
        "alerts": [alert_row(row, control is not None) for row in look.alerts],
        "names": known_by_control(control) if control else None,
    }  # fmt: skip
    return json.dumps(plain(found), allow_nan=False, separators=(",", ":")).encode()
