#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_exporter.py EXPORTER: the status page of the packed slipring-exporter, without a slipring: its alerts
beside Prometheus's, whom it answers, what its JSON holds, and what slow browsers cost.
"""

import base64
import hashlib
import json
import os
import re
import socket
import sys
import tempfile
import threading
import time
import types
import unittest

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
RULES = os.path.join(TOP, "conf/monitoring/slipring.rules.yaml")
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv.pop(1))

try:
    from prometheus_client.core import Metric
except ImportError:
    print("no module prometheus_client: apt-get install python3-prometheus-client")
    sys.exit(77)

import alerts  # noqa: E402
import control  # noqa: E402
import metrics  # noqa: E402
import page  # noqa: E402
import status  # noqa: E402
import web  # noqa: E402

HOSTILE = "</script><img src=x onerror=alert(1)>"
UNITS = {"s": 1, "m": 60, "h": 3600}


def read(path):
    with open(path) as file:
        return file.read()


def seconds(text):
    return int(text[:-1]) * UNITS[text[-1]]


# --- alerts --------------------------------------------------------------------------------------


def values_of(text):
    """The samples of promtool's notation: "1 0x30", "5+60x17"."""
    for part in text.split():
        first, step, times = re.fullmatch(r"([\d.]+)(?:\+(\d+))?(?:x(\d+))?", part).groups()
        for i in range(int(times or 0) + 1):
            yield float(first) + i * int(step or 0)


def families(series, minute):
    """The metrics of the bad box at a minute."""
    found = {}
    for (name, labels), values in series.items():
        if minute < len(values):
            found.setdefault(name, Metric(name, "", "unknown")).add_sample(name, dict(labels), values[minute])
    return list(found.values())


class Alerts(unittest.TestCase):
    def setUp(self):
        self.groups = []
        for group in read(RULES.replace(".yaml", ".test.yaml")).split("  - interval: 1m\n")[1:]:
            series = {}
            for name, text, values in re.findall(r"series: '(\w+){(.*)}'\n +values: (.*)", group):
                labels = dict(re.findall(r'(\w+)="(.*?)"', text))
                if labels.pop("instance") == "bad" and name.startswith("slipring_"):
                    key = (name, tuple(sorted((k, v) for k, v in labels.items() if k != "job")))
                    series[key] = list(values_of(values))
            wanted = re.findall(r"alertname: (\w+)\n +eval_time: (\w+)\n +exp_alerts:(?: (\[\]))?((?:\n {10,}.*)*)", group)
            self.groups.append((series, wanted))

    def test_rules_are_those_of_prometheus(self):
        found = re.findall(r"- alert: (\w+)\n(?:.*\n)*?(?: +for: (\w+)\n)? +labels: {severity: (\w+)}", read(RULES))
        held = {name: (severity, seconds(hold or "0s")) for name, hold, severity in found}
        del held["SlipringExporterDown"]  # nobody is there to say it
        self.assertEqual({rule.name: (rule.severity, rule.hold_s) for rule in alerts.RULES}, held)

    def test_same_alerts_as_prometheus(self):
        """Each rule, at the time and with the text that promtool's test wants."""
        tested = set()
        for series, wanted in self.groups:
            ends = {name: max(seconds(now) for alert, now, *_ in wanted if alert == name) for name, *_ in wanted}
            checks = {(seconds(now), name): (none, text) for name, now, none, text in wanted}
            box = alerts.Alerts()
            for minute in range(max(ends.values()) // 60 + 1):
                metrics_now = families(series, minute)
                # promtool begins at the epoch
                rows = {row["name"]: row for row in box.feed(metrics_now, 60 * minute, 60 * minute) if row["fires"]}
                for name in {name for now, name in checks if now == 60 * minute} - {"SlipringExporterDown"}:
                    none, text = checks[60 * minute, name]
                    tested.add(name)
                    if none:
                        self.assertNotIn(name, rows)
                        continue
                    self.assertIn(name, rows, f"minute {minute}")
                    (summary,) = re.findall(r"summary: 'bad: (.*)'", text)
                    self.assertEqual(rows[name]["text"], summary)
        self.assertEqual(tested, {rule.name for rule in alerts.RULES})

    def test_pending_and_gap(self):
        """An alert fires when its condition has held for its time, without a long gap between checks."""
        down = [Metric("slipring_up", "", "gauge")]
        down[0].add_sample("slipring_up", {}, 0)
        box = alerts.Alerts()
        for now, fires in ((0, False), (59, False), (60, True), (60 + alerts.GAP_S + 1, False)):
            (row,) = box.feed(down, now, now)
            self.assertEqual((row["name"], row["fires"]), ("SlipringDown", fires), now)
        down[0].samples[0] = down[0].samples[0]._replace(value=1)
        self.assertEqual(box.feed(down, 400, 400), [])

    def test_restart(self):
        """Counters that begin again have not shrunk, and whAT kept is bounded."""
        box = alerts.Alerts()

        def fed(now, uptime, alarms):
            found = []
            for name, value in (("slipring_uptime_seconds", uptime), ("slipring_watchdog_alarms_total", alarms)):
                found.append(Metric(name, "", "unknown"))
                found[-1].add_sample(name, {"of": "workers"} if "alarms" in name else {}, value)
            return {row["name"] for row in box.feed(found, now, now)}

        self.assertEqual(fed(0, 1000, 7), set())
        self.assertEqual(fed(20, 1020, 7), set())
        self.assertEqual(fed(40, 3, 0), {"SlipringRestarted"})
        self.assertEqual(fed(60, 23, 1), {"SlipringRestarted", "SlipringHangs"})
        for now in range(61, 5000):
            fed(now, now, 1)
        self.assertEqual(fed(5000, 5000, 1), set())
        self.assertLessEqual(len(box.history), alerts.KEEP_S // alerts.STEP_S + 1)


# --- whom it answers -----------------------------------------------------------------------------


class Guard(unittest.TestCase):
    def test_host(self):
        for host in ("localhost", "LOCALHOST:9641", "127.0.0.1", "127.0.0.1:9641", "[::1]:9641", "[fd00::1]", "192.0.2.7:80"):
            self.assertTrue(page.is_own(host), host)
        for host in ("", "evil.example", "evil.example:9641", "127.0.0.1.evil.example", "localhost.evil.example:80",
                "[::1", "::1", "127.0.0.1:80:80", "[evil]:1", "1", "a" * 5000, "127.0.0.1 evil", "localhost@evil"):  # fmt: skip
            self.assertFalse(page.is_own(host), host)

    def test_policy(self):
        """The page runs only its own script, and asks nobody else."""
        html = page.page()({"host": "localhost", "accept": "text/html"})
        self.assertEqual(html[:2], (200, page.HTML))
        policy, text = html[3]["Content-Security-Policy"], html[2].decode()
        for tag, directive in (("script", "script-src"), ("style", "style-src")):
            (inner,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S)
            digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
            self.assertIn(f"{directive} 'sha256-{digest}'", policy)
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        self.assertEqual(set(re.findall(r"https?://[^' \"]*", text)), {"http://www.w3.org/2000/svg"})
        # what the policy would block, and what would read texts as HTML
        for bad in (" style=\"", " onclick", " onload", "innerHTML", "insertAdjacentHTML", "outerHTML", "document.write", "eval("):
            self.assertNotIn(bad, text)

    def test_others(self):
        """No HTML for clients that do not accept it, and nothing for other names."""
        call = page.page()
        self.assertEqual(call({"host": "localhost", "accept": "*/*"}), (200, web.TEXT, web.HELP))
        self.assertEqual(call({"host": "evil.example", "accept": "text/html"})[0], 403)
        self.assertEqual(call({})[0], 403)
        refused = page.status(types.SimpleNamespace(see=self.fail), 1, None)
        self.assertEqual(refused({"host": "evil.example"})[0], 403)


# --- what the JSON holds -------------------------------------------------------------------------


def seen(answers, alert=()):
    look = metrics.Seen()
    look.answers, look.alerts = answers, list(alert)
    return look


class Body(unittest.TestCase):
    def parsed(self, look, box=None):
        text = status.body(look, "9", box).decode()
        return json.loads(text, parse_constant=self.fail), text

    def test_hostile_answers(self):
        deep = []
        for _ in range(500):
            deep = [deep]
        strange = {"/slipring/stats": {"rx": float("nan"), "tx": float("inf"), "a": deep, HOSTILE: "\ud800" + "x" * 9000},
            "/slipring/ports": [7, {}, None, {"name": HOSTILE, "mac": "02:99"}],
            "/slipring/realms": [{"realm": HOSTILE}] * 9000, "/slipring/drops": {HOSTILE: 1, "b": "x", "c": 0, "d": None},
            "/slipring/worker,0": {"rx": 1, "secret": "x"}}  # fmt: skip
        found, text = self.parsed(seen(strange))
        self.assertLess(len(text), 1 << 20)
        self.assertIsNone(found["stats"]["rx"])
        self.assertEqual([row["name"] for row in found["ports"]], [HOSTILE])
        self.assertEqual(found["workers"], [{"worker": "0", "rx": 1}])
        self.assertEqual([row["reason"] for row in found["drops"]], [HOSTILE])
        self.assertLessEqual(len(found["realms"]), metrics.MOST)

    def test_down(self):
        look = metrics.Seen()
        look.error = "no such socket"
        found, _ = self.parsed(look)
        self.assertEqual((found["up"], found["error"]), (False, "no such socket"))
        self.assertEqual(found["stats"], {})

    def test_no_names_without_control(self):
        answers = {
            "/slipring/addresses": [{"address": "192.0.2.7"}], "/slipring/allocations,0": [{"user": "ivan"}],
            "/slipring/config": {"path": "/etc/slipring/ivan.yaml", "realm": "turn.test"},
            "/slipring/exception": [{"interface": "eth7"}],
        }  # fmt: skip
        alert = {"name": "SlipringAddressLost", "labels": {"address": "192.0.2.7", "port": "wan"},
            "text": "the network has taken 192.0.2.7 from port wan"}  # fmt: skip
        _, text = self.parsed(seen(answers, [alert]))
        for word in ("ivan", "192.0.2.7", "eth7", "labels"):
            self.assertNotIn(word, text)
        self.assertIn("taken an address from port wan", text)
        box = types.SimpleNamespace(get=dict)
        found, text = self.parsed(seen(answers, [alert]), box)
        self.assertIn("taken 192.0.2.7", text)
        self.assertEqual(found["names"], {"error": "", "warnings": [], "reload": ""})


# --- slow browsers -------------------------------------------------------------------------------


class Connections(unittest.TestCase):
    def setUp(self):
        self.go_on = threading.Event()
        self.addCleanup(self.go_on.set)
        self.entered = threading.Semaphore(0)

        def slow(headers):
            self.entered.release()
            self.go_on.wait(60)
            return 200, web.TEXT, b"slow"

        self.web = web.Web({"/": slow, "/metrics": lambda headers: (200, web.TEXT, b"fast"), "/bad": lambda headers: 1 / 0}, ("/",))
        sock = web.listener("127.0.0.1", 0)
        self.addCleanup(sock.close)
        self.port = sock.getsockname()[1]
        threading.Thread(target=self.web.serve, args=(sock,), daemon=True).start()

    def ask(self, path):
        sock = socket.create_connection(("127.0.0.1", self.port), 60)
        self.addCleanup(sock.close)
        sock.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return sock

    def answer(self, sock):
        with sock.makefile("rb") as file:
            head, _, body = file.read().partition(b"\r\n\r\n")
        return int(head.split()[1]), head.decode(), body

    def test_slow_browsers_leave_room(self):
        waiting = [self.ask("/") for _ in range(web.BROWSERS)]
        for _ in waiting:
            self.assertTrue(self.entered.acquire(timeout=60))
        self.assertEqual(self.answer(self.ask("/"))[0], 503)
        for _ in range(web.AT_A_TIME):
            self.assertEqual(self.answer(self.ask("/metrics"))[::2], (200, b"fast"))
        self.go_on.set()
        for sock in waiting:
            self.assertEqual(self.answer(sock)[::2], (200, b"slow"))
        self.assertEqual(self.answer(self.ask("/"))[0], 200)

    def test_headers(self):
        """Every answer has them, errors, too."""
        for path, code in (("/metrics", 200), ("/none", 404), ("/bad", 500)):
            with open(os.devnull, "w") as null:
                err, sys.stderr = sys.stderr, null  # the traceback of /bad
                found, head, _ = self.answer(self.ask(path))
                sys.stderr = err
            self.assertEqual(found, code)
            for header in ("nosniff", "X-Frame-Options: DENY", "Cache-Control: no-store", "frame-ancestors 'none'", "no-referrer"):
                self.assertIn(header, head)
            self.assertNotIn("Access-Control", head)


# --- the control socket --------------------------------------------------------------------------


class Server:
    """A control socket with chosen answers; it keeps the requests."""

    def __init__(self, path, answer):
        self.answer, self.asked = answer, []
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.bind(path)
        self.sock.listen(8)
        threading.Thread(target=self.loop, daemon=True).start()

    def loop(self):
        while True:
            try:
                conn, _ = self.sock.accept()
            except OSError:
                return
            with conn, conn.makefile("rb") as file:
                for line in file:
                    self.asked.append(json.loads(line))
                    try:
                        conn.sendall(self.answer(self.asked[-1]) + b"\n")
                    except OSError:
                        break


class Control(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "s")

    def until(self, condition):
        end = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_it_changes_nothing(self):
        """It asks only when somebody looks, and only what changes nothing."""
        rows = [{"user": HOSTILE, "bitrate": 8}]
        answers = {"status": {"warnings": ["w"]}, "config": {"text": "said"}, "users": {"rows": rows}, "allocations": {"rows": rows}}
        server = Server(self.path, lambda asked: json.dumps({"ok": True, **answers[asked["cmd"]]}).encode())
        self.addCleanup(server.sock.close)
        box = control.Control(self.path)
        self.assertFalse(box.is_watched())
        self.assertEqual(server.asked, [])
        self.assertEqual(box.get(), {})
        self.until(lambda: len(box.get()) == 3)
        found = status.known_by_control(box)
        self.assertEqual((found["warnings"], found["reload"], found["error"]), (["w"], "said", ""))
        self.assertEqual(found["users"]["rows"], rows)
        self.assertEqual({one["cmd"] for one in server.asked}, set(answers))
        for one in server.asked:
            self.assertLessEqual(set(one), {"v", "cmd", "sort", "rows"})

    def test_no_answer(self):
        for answer in (b"", b"{", b"[]", b"7", b"null", b'{"ok":false,"error":"busy"}', b'{"ok":1}', b"[" * 90000):
            server = Server(self.path, lambda asked, answer=answer: answer)
            with self.assertRaises((ValueError, OSError, RecursionError)):
                control.ask(self.path, 5, {"cmd": "status"})
            server.sock.close()
            os.unlink(self.path)
        box = control.Control(self.path)  # nobody listens
        box.get()
        self.until(lambda: len(box.get()) >= 2)
        found = status.known_by_control(box)
        self.assertIn("No such file", found["error"])
        self.assertEqual((found["users"]["rows"], found["warnings"]), ([], []))
        self.assertIn(self.path, found["users"]["error"])

    def test_long_lists_are_rare(self):
        """The pause after a list grows with slipring's time for it."""
        now = [100.0]
        box = control.Control.__new__(control.Control)
        box.path, box.lock, box.found = self.path, threading.Lock(), {}
        clock, asks = control.time, control.ask

        def slow(path, timeout, *commands):
            now[0] += 31
            return [{"ok": True}]

        control.time, control.ask = types.SimpleNamespace(monotonic=lambda: now[0]), slow
        try:
            self.assertEqual(box.learn("users"), 30 * control.SHARE)
        finally:
            control.time, control.ask = clock, asks


if __name__ == "__main__":
    unittest.main()
