#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: starts Prometheus
"""conf/monitoring with a server that relays: Debian's Prometheus scrapes slipring-exporter, and
every query of every panel and rule has an answer. Queries that the lab cannot answer are listed
here. Scrapes lose no datagram.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import exporter as exporters
import lab as labs
import uclient
from exporter import Exporter
from lab import CLIENT4, PEER4, SERVER4
from turnlib import SUCCESS

HOME = os.path.join(labs.TOP, "conf/monitoring")
PROMETHEUS = "127.0.0.1:9090"
SCRAPES = 5  # needed for rates
# Metrics that this server does not have: {metric: its command, or the required feature}.
ELSEWHERE = {
    "slipring_refusals_total": "/slipring/refusals",
    "slipring_refusal_reason_info": "/slipring/refusals",
    "slipring_address_lost": "dhcp or slaac",
    "slipring_exception_trouble": "an exception port",
    "slipring_certificate_not_after_seconds": "tls",
    "slipring_certificate_renew_seconds": "tls",
    "slipring_lookup_connected": "auth.lookup",
}
MEASURED = "slipring_exporter_fetch_seconds"
SCRAPE_S = 0.1  # limit for the fastest of several scrapes


def promtool(*args):
    done = subprocess.run(["promtool", *args], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{args}: {done.stdout}{done.stderr}"


def queries():
    """(where, query, may be empty) of all panels, annotations and rules, for the lab's only server."""
    found = []
    for path in sorted(glob.glob(HOME + "/*.json")):
        with open(path) as file:
            board = json.load(file)
        assert re.fullmatch(r"slipring-\w+", board["uid"]) and board["schemaVersion"], path
        ids = [panel["id"] for panel in board["panels"]]
        assert len(ids) == len(set(ids)), path
        for panel in board["panels"]:
            for target in panel.get("targets", ()):
                where = f"{board['title']}: {panel['title']}"
                found.append((where, target["expr"], False))
        for annotation in board["annotations"]["list"]:
            found.append((board["title"], annotation["expr"], True))
    with open(os.path.join(HOME, "slipring.rules.yaml")) as file:
        text = file.read()
    with_names = re.findall(r"- alert: (\w+)\n +expr: (?:>-\n)?((?:.*\n)+?) +(?:for|labels):", text)
    assert len(with_names) == text.count("- alert:"), "rules that this test cannot parse"
    with open(os.path.join(labs.TOP, "doc/monitoring.md")) as file:
        runbook = file.read()
    for name, expr in with_names:
        assert f"| {name} |" in runbook, f"doc/monitoring.md has no line for {name}"
        assert f'"doc/monitoring.md: {name}"' in text, name
        found.append((name, " ".join(expr.split()), True))
    return found


def filled(query):
    query = query.replace("$__rate_interval", "5s").replace("$__all", ".*")
    query = query.replace("$job", "slipring").replace("$instance", ".*")
    assert "$" not in query, query
    return re.sub(r"\[(\d+)m\]", "[5s]", query)


def refusal(text):
    """Parses an answer. If Prometheus is not ready, its answer is text instead of JSON."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return {"status": "error", "error": text}


class Prometheus:
    """Debian's Prometheus, in the namespace of the server, without its service."""

    def __init__(self, lab):
        self.lab = lab
        config = os.path.join(lab.dir, "prometheus.yml")
        with open(os.path.join(HOME, "prometheus.yml")) as file:
            text = file.read()
        assert "scrape_interval: 15s" in text and "[slipring.rules.yaml]" in text
        text = text.replace("15s", "500ms\n  evaluation_interval: 1s")
        text = text.replace("[slipring.rules.yaml]", f"[{HOME}/slipring.rules.yaml]")
        with open(config, "w") as file:
            file.write(text)
        self.log_path = os.path.join(lab.dir, "prometheus.log")
        with open(self.log_path, "wb") as log:
            self.process = lab.popen(
                lab.dut, "prometheus", f"--config.file={config}",
                f"--storage.tsdb.path={lab.dir}/prometheus", f"--web.listen-address={PROMETHEUS}",
                stdout=log, stderr=log,
            )  # fmt: skip

    def get(self, path, **parameters):
        url = f"http://{PROMETHEUS}{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with self.lab.dut.enter(), urllib.request.urlopen(url, timeout=20) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return refusal(error.read().decode(errors="replace"))
        except OSError as error:  # it is starting
            return {"status": "error", "error": str(error)}

    def query(self, query):
        """The result: a list of series, each with its value."""
        answer = self.get("/api/v1/query", query=query)
        assert answer["status"] == "success", f"{query}: {answer.get('error')}"
        return answer["data"]["result"]

    def has_scraped(self, times):
        answer = self.get("/api/v1/query", query="count_over_time(slipring_up[1m])")
        result = answer["data"]["result"] if answer["status"] == "success" else []
        return bool(result) and int(result[0]["value"][1]) >= times


def check_queries(server, prometheus):
    elsewhere = {name for name, command in ELSEWHERE.items() if command not in server.telemetry.ask("/")}
    seen, empty = set(), []
    for where, query, may_be_empty in queries():
        names = set(re.findall(r"\bslipring_\w+", query))
        if names & elsewhere:
            prometheus.query(filled(query))  # a valid query at least
            continue
        seen |= names
        result = prometheus.query(filled(query))
        values = [series["value"][1] for series in result]
        assert "NaN" not in values, f"{where}: {query}: {values}"
        if not result and not may_be_empty:
            empty.append(f"{where}: {query}")
    missing = [name for name in sorted(seen) if not prometheus.query(f"count({name})")]
    assert not missing, f"no such metrics: {missing}"
    assert not empty, "no data: " + "\n".join(empty)


def check_rules(prometheus):
    groups = prometheus.get("/api/v1/rules")["data"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert rules and all(rule["health"] == "ok" for rule in rules), rules
    firing = {rule["name"] for rule in rules if rule["state"] == "firing"}
    assert not firing, f"a good box: {firing}"


def check_target(prometheus):
    (target,) = prometheus.get("/api/v1/targets")["data"]["activeTargets"]
    assert target["health"] == "up" and not target["lastError"], target


def check_cost(lab, exporter):
    """The duration of slipring's answers. All scrapes lose nothing (server.finish, uclient)."""
    took = min(exporter.scrape()[MEASURED, ""] for _ in range(20))
    assert took < SCRAPE_S * labs.SLOW, f"{took} s"
    print(f"a scrape takes {1000 * took:.1f} ms of slipring's answers", flush=True)


def main(lab):
    labs.need_own_server()
    exporters.need()
    exporters.keep(lab)
    for program in ("prometheus", "promtool", "turnutils_uclient"):
        if not shutil.which(program):
            raise labs.Skip(f"no {program}")
    promtool("check", "rules", HOME + "/slipring.rules.yaml")
    promtool("check", "config", HOME + "/prometheus.yml")
    promtool("test", "rules", HOME + "/slipring.rules.test.yaml")
    server = lab.server(allow={"not-turn"})
    done = exporters.share(server.prefix)
    assert done.returncode == 0, done
    exporter = Exporter(lab, "--file-prefix", server.prefix)
    prometheus = Prometheus(lab)
    uclient.start_peer(lab)
    run = uclient.start(lab, "load", SERVER4, PEER4, "-c", clients=4, messages=400)
    stranger = lab.cli.udp(CLIENT4)

    echo = lab.echo(PEER4)
    # many flows: datagrams that workers hand over are not timed
    steady = [lab.client(ip=CLIENT4) for _ in range(8)]
    for client in steady:
        assert client.allocate().cls == SUCCESS
        assert client.bind(0x4000, echo.address).cls == SUCCESS

    def traffic():
        with lab.client(ip=CLIENT4) as brief:  # a complete lifetime
            assert brief.allocate().cls == SUCCESS and brief.refresh(0).cls == SUCCESS
        for _ in range(200):
            for client in steady:
                client.send_channel(0x4000, b"x" * 100)
            assert all(client.wait("channel") for client in steady)
        stranger.sendto(b"\xffnothing that is known", (SERVER4, 3478))  # to be dropped

    with labs.meanwhile(traffic, 0.2):  # queries cover the last seconds, so traffic must continue for some
        labs.until(lambda: prometheus.has_scraped(SCRAPES), 30, "Prometheus has scraped", pause=0.2)
        check_queries(server, prometheus)
    check_rules(prometheus)
    check_target(prometheus)
    check_cost(lab, exporter)
    run.finish(60 * labs.SLOW)
    assert run.complete, run.output[-2000:]
    exporter.running()
    labs.until(server.settled, 5, "all is still")
    prometheus.process.terminate()
    begin = time.monotonic()
    prometheus.process.wait(20)
    assert time.monotonic() - begin < 20


if __name__ == "__main__":
    labs.run(main)
