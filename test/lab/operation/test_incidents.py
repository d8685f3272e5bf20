#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: other tests query the same commands under ASan
"""doc/incidents.md is correct: each symptom is provoked, the command of the page is run, and its
output has the sign that the page shows for the cause.

A command of the page is a line "$ sudo slipringctl ..." in a fence, followed by its output. A sign
is a pattern that must be in both. Ids of allocations match any id.
"""

import os
import re
import signal
import time

import lab as labs
from control import ctl
from lab import PEER4, SERVER4, until
from turnlib import ALLOCATE, REQUEST, REQUESTED_TRANSPORT, SUCCESS, UDP, Auth, build

PAGE = os.path.join(labs.TOP, "doc/incidents.md")
MOST = 8  # limits.allocations
LOST, WRONG, FLOOD = "10.99.0.60", "10.99.0.61", "10.99.0.62"  # clients


def answers():
    """{command: [its output on the page]} of all fences."""
    with open(PAGE) as file:
        fences = re.findall(r"^```\n(.*?)^```", file.read(), re.M | re.S)
    found = {}
    for fence in fences:
        for part in re.split(r"^\$ ", fence, flags=re.M)[1:]:
            command, _, answer = part.partition("\n")
            found.setdefault(any_id(command.split("#")[0].strip()), []).append(answer)
    return found


def any_id(text):
    return re.sub(r"\b\d{9,}\b", "ID", text)


class Page:
    """Runs commands as the page has them."""

    def __init__(self, path):
        self.path, self.answers, self.checked = path, answers(), 0

    def sign(self, command, pattern, wait=8):
        """The sign is on the page under this command, and in the command's output."""
        shown = self.answers.get(any_id("sudo slipringctl " + command))
        assert shown, f"{command} is not on the page: {list(self.answers)}"
        assert any(re.search(pattern, text) for text in shown), (pattern, shown)
        run = lambda: re.search(pattern, ctl(self.path, *command.split()))
        until(run, wait, f"{pattern} of {command}", pause=0.1)
        self.checked += 1

    def allocation(self, client):
        """The command that shows the allocation of a client."""
        place = "%s:%d" % client.sock.getsockname()[:2]
        for line in ctl(self.path, "allocations", "--user", client.auth.user).splitlines():
            if place in line:
                return "show " + line.split()[0]
        raise AssertionError(place)


def connects_not(lab, page):
    """Requests to a port where nothing listens, and with a wrong password."""
    lab.add_address(lab.cli, "c0", LOST)
    with lab.cli.udp(LOST) as sock:
        sock.sendto(build(REQUEST, ALLOCATE), (SERVER4, 3487))
    page.sign("drops", r"no-listener +\d")
    page.sign(f"explain {LOST}", "nothing is known")
    lab.add_address(lab.cli, "c0", WRONG)
    assert lab.client(Auth("ivan", "wrong"), ip=WRONG).allocate().code == 401
    page.sign("explain ivan", r"Allocate answered 401: password-wrong")
    page.sign("explain ivan", r"likely cause \([\d:]+, ivan\): the user is known")


def one_way(lab, page):
    """The client has permitted another peer, and sends to one that does not answer."""
    client, peer = lab.client(), lab.peer.udp(PEER4)
    assert client.allocate().cls == SUCCESS and client.permit("10.99.0.77").cls == SUCCESS
    for _ in range(3):
        peer.sendto(b"media", client.relayed)
        client.send((PEER4, 9), b"media")
    show = page.allocation(client)
    page.sign(show, r"from peers +0 datagrams")
    page.sign(show, r"lost +6 permission")
    page.sign("drops", r"peer-no-permission +\d")
    page.sign("drops", r"(?m)^no-permission +\d")
    client.send(("10.99.0.77", 9), b"media")
    peer.close()
    return show


def unanswered(page, show):
    """The previous peer's host does not exist: resolution takes some seconds."""
    page.sign("neighbours --worker 0", r"10\.99\.0\.77 .* failed")
    page.sign(show, r"lost .* 1 way")


def too_long(lab, page):
    """A peer's datagram with DF does not fit with the header of a channel."""
    client, peer = lab.client(), lab.peer.udp(PEER4)
    labs.path_mtu(peer, "probe")
    assert client.allocate().cls == SUCCESS
    assert client.bind(0x4000, peer.getsockname()[:2]).cls == SUCCESS
    for size in (1472, 1000):
        peer.sendto(bytes(size), client.relayed)
    assert len(client.wait("channel")[2]) == 1000
    page.sign(page.allocation(client), r"lost +\d+ size")
    page.sign("drops", r"mtu-exceeded +\d")
    client.close()
    peer.close()


def lossy(lab, server, page):
    """Workers without CPU time: the port misses frames."""
    server.process.send_signal(signal.SIGSTOP)
    try:
        with lab.cli.udp(LOST) as sock:
            for _ in range(4000):
                sock.sendto(b"\xff", (SERVER4, 3478))
    finally:
        server.process.send_signal(signal.SIGCONT)
    page.sign("ports", r"wan +up .* (\d\.\d+k|[1-9]\d*) +0\n")


def down(lab, server, page):
    lab.sw.ip("link", "set", "d0", "down")
    page.sign("status", r"port wan: its link is down")
    until(lambda: "port wan: link down" in server.log(), 5, "it is logged")
    lab.sw.ip("link", "set", "d0", "up")
    until(lambda: "port wan: link up" in server.log(), 5, "that is logged, too")


def attacked(lab, page):
    """Requests without credentials from one address, above the rate of answers."""
    lab.add_address(lab.cli, "c0", FLOOD)
    with lab.cli.udp(FLOOD) as sock:
        sock.connect((SERVER4, 3478))
        end = time.monotonic() + 8 * labs.SLOW
        while time.monotonic() < end:
            for _ in range(20):
                sock.send(build(REQUEST, ALLOCATE, [(REQUESTED_TRANSPORT, UDP)]))
            if re.search(r"unauthenticated-rate +\d+, \d", ctl(page.path, "drops")):
                break
        page.sign("drops", r"unauthenticated-rate +\d+, \d")
    page.sign(f"explain {FLOOD}", r"Allocate not answered: unauthenticated")
    page.sign(f"explain {FLOOD}", r"the address is not proved")


def full(lab, page):
    clients = [lab.client() for _ in range(MOST)]
    codes = [client.allocate().code for client in clients]
    assert codes[-1] == 486, codes
    page.sign("status", r"allocations +(\d+) of \1,")
    page.sign("status", r"the limit is near")
    page.sign("explain ivan", r"Allocate answered 486: quota-total")


def main(lab):
    labs.need_own_server()
    path = os.path.join(lab.dir, "control.sock")
    config = {
        "control": {"socket": path},
        "workers": {"count": 1},
        "limits": {"allocations": MOST, "unauthenticated": {"rate": 10, "burst": 20}},
    }
    allow = {"no-listener", "peer-no-permission", "no-permission", "mtu-exceeded", "not-turn"}
    allow |= {"neighbour-failed", "neighbour-hold-full", "tx-full"}  # also while the link is down
    allow |= {"unauthenticated-rate", "request-backlog", "request-client"}
    server = lab.server(config, allow=allow)
    page = Page(path)
    connects_not(lab, page)
    show = one_way(lab, page)
    too_long(lab, page)
    attacked(lab, page)
    lossy(lab, server, page)
    unanswered(page, show)
    down(lab, server, page)
    full(lab, page)
    print(f"{page.checked} signs of doc/incidents.md")


if __name__ == "__main__":
    labs.run(main)
