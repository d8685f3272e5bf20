#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: the video of calls takes both CPUs
# long: limits of the browser with 300 answers
# full: alternate has this with the lab's own clients
"""A 300 answer sends a web browser to another server. Chromium sends the nonce of the first server
to the second one, over TCP and TLS from another port, and gives up if that answers 438. So both
servers need one auth.nonce.secret."""

import json
import os

import browser
import lab as labs
import streams
from lab import SERVER4
from rereads import reload
from test_chromium import LATE, PATIENCE

# The second server, and its kernel for TCP and TLS.
OTHER4, OTHER_V4 = "10.99.0.12", "10.99.0.6"
NONCE = {"secret": "the secret of all servers"}
UDP = f"turn:{SERVER4}:3478?transport=udp"
STREAMS = (f"turn:{streams.V4}:3478?transport=tcp", f"turns:{streams.V4}:5349?transport=tcp")
SHORT = 2 * labs.SLOW  # for calls that must fail


def call(url, seconds):
    args = (url, "ivan", "pw", seconds * 1000, 0)
    return f"call({', '.join(map(json.dumps, args))})"


def second_server(lab, tls, nonce):
    """A second slipring on the segment, with its own port."""
    lab.add_address(lab.dut, "k0", OTHER_V4)
    device = f"vtap:e0,netns={lab.sw.name},mac=02:99:00:00:00:0c,queues=1"
    listeners = [{"transport": "udp", "address": OTHER4, "port": 3478}]
    listeners += [{"transport": t, "address": OTHER_V4, "port": streams.PORTS[t]} for t in ("tcp", "tls")]
    made = lab.server({
        "workers": {"count": 1},
        "ports": [{"name": "wan", "device": device, "addresses": [f"{OTHER4}/24"]}],
        "listeners": listeners, "tls": tls, "auth": {"nonce": nonce},
        "relay": {"addresses": [OTHER4]},
    }, allow=LATE)  # fmt: skip
    lab.sw.ip("link", "set", "e0", "master", "br0")
    return made


def follows(page, second, url):
    """Both endpoints use the second server."""
    before = second.stats()["allocations_total"]
    answer = page.run(call(url, PATIENCE), timeout=3 * PATIENCE)
    print(f"{url}: {answer.get('seen') or answer}")
    assert answer["ok"] and answer["inOrder"], answer
    for side in (answer["near"], answer["seen"]):
        assert side["type"] == "relay" and side["remote"] in ("relay", "prflx"), side
        assert side["address"].startswith(OTHER4 + ":"), side
    assert second.stats()["allocations_total"] >= before + 2
    page.run("hangUp()")


def gives_up(page, server, second):
    """The second server has another secret, and the call fails."""
    before = second.stats()["allocations_total"]
    assert "in use" in reload(second, {"auth": {"nonce": {"secret": "the secret of one server"}}})
    calls = ", ".join(call(url, SHORT) for url in STREAMS)
    for url, answer in zip(STREAMS, page.run(f"Promise.all([{calls}])", timeout=PATIENCE)):
        print(f"{url}: {answer}")
        assert not answer["ok"] and "438" in str(answer["errors"]), (url, answer)
    assert "in use" in reload(server, {})
    answer = page.run(call(UDP, SHORT), timeout=PATIENCE)
    assert not answer["ok"] and "438" in str(answer["errors"]), answer
    assert second.stats()["allocations_total"] == before
    assert second.refusals()["nonce-foreign"] >= 6, second.refusals()


def main(lab):
    labs.need_own_server()
    streams.join(lab)
    config = streams.config(lab, ("tcp", "tls"))
    names = ",".join(f"IP:{address}" for address in (SERVER4, streams.V4, OTHER_V4))
    home = os.path.join(lab.dir, "home")
    browser.trust(home, streams.signed_certificate(lab, names, "cert"))
    config["auth"] = {"nonce": NONCE}
    server = lab.server({**config, "alternate": {"servers": [OTHER4]}}, allow=LATE)
    second = second_server(lab, config["tls"], NONCE)
    page = browser.start(lab, lab.cli, home=home)
    page.open("file://" + browser.CALLS)
    follows(page, second, UDP)
    assert "in use" in reload(server, {"alternate": {"servers": [OTHER_V4]}})
    for url in STREAMS:
        follows(page, second, url)
    if labs.LONG:
        gives_up(page, server, second)
    assert server.refusals()["alternate-always"] >= 2, server.refusals()
    assert server.stats()["allocations_total"] == 0, server.stats()
    page.run("hangUp()")


if __name__ == "__main__":
    labs.run(main)
