#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: Chromium, which takes both CPUs for seconds
"""The status page of slipring-exporter in Chromium, of a server that relays: wide and narrow, light and
dark. Its numbers are those of telemetry. Names and addresses are there with --control only, and hostile
ones stay text. The page says so when the server drains, is gone or is back, and when the exporter is gone.
"""

import json
import os
import signal
import time

import browser
import control
import exporter as exporters
import lab as labs
import streams
import turnlib
from exporter import Exporter
from lab import CLIENT4, PEER4
from test_top import Traffic
from turnlib import SUCCESS

HOSTILE = "</script><b>x"  # the server keeps 20 bytes, with the expiry
SIZES = ((1280, 900), (390, 844))
SCHEMES = ("light", "dark")
PICTURES = os.path.join(labs.BUILD, "lab")
NAMES = ("ivan", "<b>", CLIENT4, PEER4)


class Page:
    """A browser with the page of an exporter."""

    def __init__(self, lab, port, home):
        self.browser = browser.Browser(lab, lab.dut, home=os.path.join(lab.dir, home))
        self.url = f"http://127.0.0.1:{port}/"
        for area in ("Runtime", "Log", "Network"):
            self.browser.ask(area + ".enable")
        self.show(*SIZES[0], SCHEMES[0])
        self.browser.open(self.url)

    def show(self, width, height, scheme):
        self.browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
            deviceScaleFactor=1, mobile=width < 500)  # fmt: skip
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.browser.ask("Emulation.setEmulatedMedia", features=[feature])

    def run(self, script):
        return self.browser.run(script)

    def text(self, selector="body"):
        return self.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def wait(self, selector, words, patience=20):
        try:
            labs.until(lambda: words in self.text(selector), patience, f"{selector} has {words!r}")
        except AssertionError:
            print(self.text())
            raise

    def rows(self, name):
        """The cells of a table, as text."""
        section = f"section[data-table={name}]"
        cells = "[...row.children].map((cell) => cell.innerText.trim())"
        return self.run(f"[...document.querySelectorAll('{section} tbody tr')].map((row) => {cells})")

    def errors(self):
        """Messages of the console, and exceptions."""
        kinds = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
        return [event for event in self.browser.events if event["method"] in kinds]

    def close(self):
        self.browser.close()


def people(lab):
    """Three clients, one of them over TLS and one that relays all the time."""
    echo = lab.echo(PEER4)
    user, password = turnlib.rest_credentials("s3cret", int(time.time()) + 3600, HOSTILE)
    busy, hostile = lab.client(), lab.client(auth=turnlib.Auth(user, password))
    over = streams.Client(streams.over_tls(streams.connect(lab, "tls")))
    for client in (busy, hostile, over):
        assert client.allocate().cls == SUCCESS
    assert busy.bind(0x4001, echo.address).cls == SUCCESS
    return busy, (hostile, over)  # without a reference a connection closes


def check_looks(page, name):
    """No part is wider than the screen, and nothing fails, at each size and in each scheme."""
    colours = set()
    for width, height in SIZES:
        for scheme in SCHEMES:
            page.show(width, height, scheme)
            wide, there = page.run("[document.scrollingElement.scrollWidth, innerWidth]")
            assert there == width and wide <= width, (width, scheme, wide, there)
            colours.add(page.run("getComputedStyle(document.body).backgroundColor"))
            page.browser.screenshot(f"{PICTURES}/{name}-{width}-{scheme}.png", whole=True)
    assert len(colours) == len(SCHEMES), colours
    # one h1, every table has a caption and headers, every scrolling region a name
    assert page.run("document.querySelectorAll('h1').length") == 1
    assert page.run("[...document.querySelectorAll('table')].every((t) => t.caption && t.tHead.rows[0].cells.length)")
    unnamed = "[...document.querySelectorAll('[role=region]')].filter((r) => !document.getElementById(r.getAttribute('aria-labelledby')))"
    assert page.run(f"{unnamed}.length") == 0
    assert not page.errors(), page.errors()


def number(text):
    return int(text.replace("\u202f", ""))


def check_numbers(page, server):
    """The numbers of the page are those of telemetry."""
    page.wait("#state", "Ready")
    stats, config = server.stats(), server.telemetry.ask("/slipring/config")
    load = {row[0]: row[1:] for row in page.rows("load")}
    assert number(load["Allocations"][0]) == stats["allocations"] == 3, load
    assert number(load["Allocations"][2]) == config["limit_allocations"], load
    assert number(load["Relay ports, IPv4"][2]) == stats["relay_ports_ipv4"], load
    workers = page.rows("workers")
    assert [row[0] for row in workers] == ["0", "1"], workers
    assert sum(number(row[3]) for row in workers) == 3, workers
    rates = "[...document.querySelectorAll('#tiles li')].map((li) => li.innerText)"
    labs.until(lambda: any("bit/s" in text and "k" in text for text in page.run(rates)), 15, "rates")
    (realm,) = page.rows("realms")
    assert realm[0] == "turn.test" and number(realm[1]) == 3, realm
    clients = {row[0]: row[1:] for row in page.rows("clients")}
    assert clients["TLS"][:2] == ["1", "1"] and clients["UDP"][0] == "2", clients
    (port,) = page.rows("ports")
    assert port[:2] == ["wan", "up"], port
    (certificate,) = page.rows("certificates")
    assert certificate[0].endswith(".pem") and 0 <= number(certificate[1]) <= 2, certificate
    told = {row[0]: number(row[2]) for row in page.rows("refusals")}
    assert told == {name.replace("_", "-"): n for name, n in server.refusals().items() if n}, told


def check_names(plain, allowed):
    """Names and addresses are there with --control only, and stay text."""
    allowed.wait("section[data-table=users]", "ivan")
    allowed.wait("section[data-table=allocations]", CLIENT4)
    allowed.wait("section[data-table=users]", "</script>")
    assert allowed.run("document.querySelectorAll('td b, th b').length") == 0
    for words in NAMES:
        assert words not in plain.text(), words
    for table in ("users", "allocations"):
        assert plain.run(f"document.querySelector('section[data-table={table}]').hidden"), table


def check_polls(page):
    """A page that is hidden or paused asks for nothing."""
    page.run("window.asked = 0; window.real = fetch; window.fetch = (...all) => (asked++, real(...all)), 0")
    labs.until(lambda: page.run("asked") > 1, 15, "it polls")
    page.run("Object.defineProperty(document, 'hidden', {get: () => true, configurable: true})"
        " && document.dispatchEvent(new Event('visibilitychange'))")  # fmt: skip
    labs.until(lambda: not page.run("asking"), 15, "the last poll has ended")
    before = page.run("clearTimeout(timer), asked")
    assert page.run("poll().then(() => asked)") == before, "nobody sees the page"
    page.run("delete document.hidden, document.dispatchEvent(new Event('visibilitychange'))")
    labs.until(lambda: page.run("asked") > before, 15, "it polls again at once")
    page.run("document.getElementById('pause').click()")
    page.wait("#live", "paused")
    labs.until(lambda: not page.run("asking"), 15, "the last poll has ended")
    before = page.run("asked")
    assert page.run("poll().then(() => asked)") == before, "the page is paused"
    page.run("document.getElementById('pause').click()")
    page.wait("#live", "live")


def check_states(lab, server, page, path, exporter):
    """A server that drains, is gone and is back, and an exporter that is gone."""
    with_control = control.Control(path)
    with_control.ask("drain")
    page.wait("#state", "Draining")
    page.wait("#notice", "3 allocations left")
    with_control.ask("undrain")
    page.wait("#state", "Ready")
    assert page.run("document.getElementById('notice').hidden")
    server.telemetry.close()
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    page.wait("#state", "No answer")
    page.wait("#notice", "The numbers are of")
    page.wait("#alerts", "SlipringDown")
    assert page.run("document.body.className") == "old"
    server.start()
    assert exporters.share(server.prefix).returncode == 0
    page.wait("#state", "Ready")
    page.wait("#alerts", "SlipringRestarted")
    page.wait("section[data-table=load]", "Allocations")
    (row,) = [row for row in page.rows("load") if row[0] == "Allocations"]
    assert number(row[1]) == 0, row
    assert not page.errors(), page.errors()
    exporter.process.kill()
    exporter.process.wait()
    page.wait("#state", "No contact")
    page.wait("#notice", "The exporter does not answer")


def main(lab):
    labs.need_own_server()
    exporters.need()
    exporters.keep(lab)
    streams.join(lab)
    path = os.path.join(lab.dir, "control.sock")
    server = lab.server({**streams.config(lab, ("tcp", "tls")), "control": {"socket": path, "readers": exporters.GROUP}})
    assert exporters.share(server.prefix).returncode == 0
    plain = Exporter(lab, "--file-prefix", server.prefix)
    allowed = Exporter(lab, "--file-prefix", server.prefix, "--control", path, port=9642)
    busy, _others = people(lab)
    traffic = Traffic(busy)
    lab.cleanup.callback(traffic.close)
    page, named = Page(lab, plain.port, "plain"), Page(lab, allowed.port, "named")
    check_numbers(page, server)
    check_names(page, named)
    check_looks(page, "page")
    check_looks(named, "page-names")
    check_polls(page)
    traffic.close()
    check_states(lab, server, named, path, allowed)
    for one in (page, named):
        one.close()


if __name__ == "__main__":
    labs.run(main)
