#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: the video of three calls takes both CPUs
"""Calls of a web browser through the relay only: a data channel and video over TURN by UDP, TCP and
TLS. The browser verifies the certificate, which is signed by a CA that it trusts.
"""

import json
import os

import browser
import lab as labs
import shipped
import streams
from lab import SERVER4, until

PICTURE = os.path.join(labs.BUILD, "lab", f"{browser.NAME}.png")
PATIENCE = 20 * labs.SLOW
CALLS = (
    (f"turn:{SERVER4}:3478?transport=udp", "udp"),
    (f"turn:{SERVER4}:3478?transport=tcp", "tcp"),
    (f"turns:{SERVER4}:5349?transport=tcp", "tls"),
)
# Drops of ends that leave while the other still sends, and of mDNS (IGMP has an IP option).
LATE = {"exception-foreign", "peer-no-permission", "no-permission", "keepalive", "no-allocation",
        "peer-no-allocation", "hairpin-no-allocation", "ip-options"}  # fmt: skip


def call(url, seconds, rsa=0):
    auth = shipped.credentials()
    args = ", ".join(map(json.dumps, (url, auth.user, auth.password, seconds * 1000, rsa)))
    return f"call({args})"


def distrustful(lab, server):
    """A browser without the CA cannot use TURN over TLS."""
    page = browser.start(lab, lab.cli, home=os.path.join(lab.dir, "other"))
    page.open("file://" + browser.CALLS)
    before = streams.counters(server)
    (url, _) = CALLS[-1]
    answer = page.run(call(url, 2), timeout=PATIENCE)
    assert not answer["ok"] and "701" in str(answer["errors"]), answer
    after = streams.counters(server)
    assert after["rx"] == before["rx"] and after["accepted"] > before["accepted"], after
    page.close()


def main(lab):
    labs.need_own_server()
    home = os.path.join(lab.dir, "home")
    text = shipped.text(lab, "transports.yaml")
    ca = streams.signed_certificate(lab, f"IP:{SERVER4}", "shipped")
    browser.trust(home, ca)
    server = lab.server(text=text, allow=LATE)
    page = browser.start(lab, lab.cli, home=home)
    page.open("file://" + browser.CALLS)
    calls = ", ".join(call(url, PATIENCE) for url, _ in CALLS)
    answers = page.run(f"Promise.all([{calls}])", timeout=3 * PATIENCE)
    page.screenshot(PICTURE)
    print(f"screenshot: {PICTURE}")
    for (url, protocol), answer in zip(CALLS, answers):
        print(f"{url}: {answer.get('seen')}")
        assert answer["ok"] and answer["inOrder"], (url, answer)
        for side in (answer["near"], answer["seen"]):
            assert side["type"] == side["remote"] == "relay", (url, side)
            assert side["protocol"] == protocol, (url, side)
            assert side["address"].startswith(SERVER4 + ":"), (url, side)
    seen = streams.counters(server)
    assert seen["handshakes"] >= 2 and seen["tls"] >= 2, seen
    begun = {row["id"] for row in server.allocations()}
    assert len(begun) >= 2 * len(CALLS), begun
    assert page.run("hangUp()") == 2 * len(CALLS)
    # On a busy machine a retransmitted Allocate may arrive after the end of the allocation that it
    # made.
    left = lambda: [row for row in server.allocations() if row["id"] in begun]
    try:
        until(lambda: not left(), 5, "the calls have ended")
    except AssertionError:
        print(left(), server.refusals())
        raise
    distrustful(lab, server)


if __name__ == "__main__":
    labs.run(main)
