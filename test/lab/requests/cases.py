# SPDX-License-Identifier: BSD-3-Clause
"""Tables of small cases that run against one server, each with its own clients.

A case returns the server's answer (a turnlib.Message, or None for silence). The table has the
answer that the RFC requires, and coturn's answer if it differs (doc/coturn.md).
"""

import os
import traceback

import turnlib

ON_COTURN = os.environ.get("LAB_SERVER") == "coturn"
DIFFERS = "differs"  # coturn differs in something other than the code
SIGNED = {turnlib.MESSAGE_INTEGRITY, turnlib.MESSAGE_INTEGRITY_SHA256}
cases = []

turnlib.Client.STRICT = not ON_COTURN


def case(expect, clause, coturn=None):
    """Registers a case: expect is an error code, 0 for success, or None for silence."""

    def register(function):
        wanted = coturn if ON_COTURN and coturn is not None else expect
        cases.append((function, wanted, clause))
        return function

    return register


def judge(lab, function, wanted, signed):
    """Runs one case. Returns a description of the failure, or an empty string."""
    try:
        answer = function(lab)
    except Exception:
        return traceback.format_exc()
    if answer is None:
        return "" if wanted is None else f"silence, expected {wanted}"
    if wanted is None:
        return f"expected silence, got {answer}"
    accepted = wanted if isinstance(wanted, tuple) else (wanted,)
    if answer.code not in accepted:
        return f"expected {wanted}, got {answer}"
    if signed and not ON_COTURN and not SIGNED & {a[0] for a in answer.attrs}:
        return f"not signed: {answer}"
    return ""


def run_all(lab, signed=False):
    """Runs every registered case and fails with the list of failures.

    signed: every answer follows authentication, so it must contain MESSAGE-INTEGRITY.
    """
    bad = 0
    for function, wanted, clause in cases:
        name = function.__name__.replace("_", " ")
        if wanted == DIFFERS:
            print(f"differ {name} ({clause})")
            continue
        wrong = judge(lab, function, wanted, signed)
        bad += bool(wrong)
        print(f"{'FAILED' if wrong else 'ok':6} {name} ({clause}) {wrong}", flush=True)
    assert bad == 0, f"{bad} of {len(cases)} cases"
