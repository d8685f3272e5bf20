#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: a Python program; under ASan the log and secrets tests query telemetry
"""slipring-exporter: every field of telemetry has a metric with its value, as an unprivileged user
and under its unit. A slipring that stops, restarts, or answers nonsense. Scrapers that are many,
slow or invalid.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time

import exporter as exporters
import lab as labs
from exporter import BINARY, Exporter
from lab import CLIENT4, PEER4
from turnlib import SUCCESS

WORKERS = 2


class Fake:
    """The socket of a slipring with the answers that a test chooses."""

    def __init__(self, lab, prefix):
        self.directory = os.path.join(lab.dir, prefix)
        os.makedirs(self.directory)
        for directory in (lab.dir, self.directory):  # with any umask
            os.chmod(directory, 0o755)
        self.path = os.path.join(self.directory, "dpdk_telemetry.v2")
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.bind(self.path)
        os.chmod(self.path, 0o666)
        self.sock.listen(64)
        self.greeting = b'{"version":"DPDK","pid":1,"max_output_len":16384}'
        self.answers, self.pause, self.conversations = {}, 0, 0
        self.asked = set()
        threading.Thread(target=self.loop, daemon=True).start()
        lab.cleanup.callback(self.sock.close)

    def loop(self):
        while True:
            try:
                conn, _ = self.sock.accept()
            except OSError:
                return
            self.conversations += 1
            threading.Thread(target=self.talk, args=(conn,), daemon=True).start()

    def talk(self, conn):
        with conn:
            try:
                conn.send(self.greeting)
                while asked := conn.recv(4096).decode():
                    self.asked.add(asked)
                    time.sleep(self.pause)
                    command = asked.split(",")[0]
                    answer = self.answers.get(asked, self.answers.get(command))
                    if not isinstance(answer, bytes):
                        answer = json.dumps({command: answer}).encode()
                    conn.send(answer)
            except OSError:
                pass


def good():
    """Answers of a small slipring."""
    commands = ["/", "/slipring/info", "/slipring/stats", "/slipring/workers", "/slipring/bursts"]
    commands += ["/slipring/drops", "/slipring/worker", "/slipring/ports", "/slipring/refusals"]
    commands += ["/slipring/histograms", "/slipring/realms", "/slipring/certificates"]
    commands += ["/slipring/meanings", "/slipring/steering", "/slipring/exception"]
    commands += ["/slipring/addresses", "/slipring/allocations", "/ethdev/list", "/ethdev/info"]
    return {
        "/": [*commands, "/ethdev/xstats"],
        "/slipring/info": {"version": "9", "uptime": 5, "workers": 1, "ready": 1},
        "/slipring/stats": {"rx": 7, "tx": 5, "drops": 2, "allocations": 3, "novelty": 4},
        "/slipring/workers": [0],
        "/slipring/worker": {"lcore": 1, "rx": 7, "sleep_cost_ns": 2500},
        "/slipring/bursts": {
            "classes": ["1", "2", "3-4"], "rx_hist": [4, 1, 1], "tx_hist": [5, 0, 0],
            "hand_hist": [0, 0, 0], "rx": 9, "tx": 5, "handed_in": 0,
        },
        "/slipring/histograms": {
            "lifetime_bounds_s": [1, 2], "lifetime_hist": [3, 0, 2], "lifetime_sum_s": 47,
            "bytes_bounds": [1024], "bytes_hist": [1, 1], "bytes_sum": 5000,
        },
        "/slipring/histograms,0": {"time_bounds_ns": [250, 500, 1000], "time_hist": [1, 4, 0, 2],
            "time_sum_ns": 5500},
        "/slipring/realms": [{"realm": "turn.test", "rx": 21, "tx": 22, "rx_bytes": 2100,
            "tx_bytes": 2200, "lost_way": 3, "allocations": 1}],
        "/slipring/certificates": [{"certificate": f"/{i}", "not_after": 9000 + i, "renew": 6000}
            for i in range(32)],
        "/slipring/certificates,1": [{"certificate": "/32", "not_after": 4, "renew": 2}],
        "/slipring/drops": {"no_route": 2},
        "/slipring/refusals": {"challenge": 6, "guesses": 1},
        "/slipring/meanings,refusals": {"challenge": "401 asked", "guesses": "0 not answered"},
        "/slipring/meanings,drops": {"no_route": 'neither "on-link" nor\nbehind'},
        "/slipring/ports": [
            {"name": 'a"b\\', "kind": "ethdev", "mac": "02:99:00:00:0a:01", "link": 1, "rx_missed": 8}
        ],
        "/slipring/steering": [{"port": "wan", "family": "ipv6", "step": "rss", "degraded": 1}],
        "/slipring/exception": [{"port": "wan", "interface": "tap0", "netns": "",
            "to_kernel_arp": 11, "from_kernel_tcp": 12}],
        "/slipring/addresses": [{"port": "wan", "interface": "tap0", "address": "192.0.2.1",
            "lost": 1, "gateway": ""}],
        "/ethdev/list": [0],
        "/ethdev/info,0": {"name": "0000:3b:00.0", "mac_addr": "02:99:00:00:0A:01"},
        "/ethdev/xstats,0": {"rx_good_packets": 13},
    }  # fmt: skip


def check_values(fake, exporter):
    """The metrics of the small slipring, sample by sample."""
    fake.answers = good()
    found = exporter.scrape()
    wanted = {
        ("slipring_up", ""): 1,
        ("slipring_rx_datagrams_total", ""): 7,
        ("slipring_allocations", ""): 3,
        ("slipring_worker_rx_datagrams_total", 'worker="0"'): 7,
        ("slipring_worker_sleep_cost_seconds", 'worker="0"'): 2.5e-6,
        ("slipring_drops_total", 'reason="no-route"'): 2,
        ("slipring_refusals_total", 'error_code="401",reason="challenge"'): 6,
        ("slipring_refusals_total", 'error_code="none",reason="guesses"'): 1,
        ("slipring_refusal_reason_info",
            'error_code="401",meaning="asked",reason="challenge"'): 1,
        ("slipring_port_link_up", r'port="a\"b\\"'): 1,
        ("slipring_port_rx_missed_total", r'port="a\"b\\"'): 8,
        ("slipring_burst_datagrams_bucket", 'le="1.0",way="rx",worker="0"'): 4,
        ("slipring_burst_datagrams_bucket", 'le="2.0",way="rx",worker="0"'): 5,
        ("slipring_burst_datagrams_bucket", 'le="4.0",way="rx",worker="0"'): 6,
        ("slipring_burst_datagrams_bucket", 'le="+Inf",way="rx",worker="0"'): 6,
        ("slipring_burst_datagrams_count", 'way="rx",worker="0"'): 6,
        ("slipring_burst_datagrams_sum", 'way="rx",worker="0"'): 9,
        ("slipring_datagram_seconds_bucket", 'le="2.5e-07",worker="0"'): 1,
        ("slipring_datagram_seconds_bucket", 'le="5e-07",worker="0"'): 5,
        ("slipring_datagram_seconds_bucket", 'le="1e-06",worker="0"'): 5,
        ("slipring_datagram_seconds_bucket", 'le="+Inf",worker="0"'): 7,
        ("slipring_datagram_seconds_count", 'worker="0"'): 7,
        ("slipring_allocation_lifetime_seconds_bucket", 'le="1.0"'): 3,
        ("slipring_allocation_lifetime_seconds_bucket", 'le="+Inf"'): 5,
        ("slipring_allocation_lifetime_seconds_sum", ""): 47,
        ("slipring_allocation_bytes_bucket", 'le="1024.0"'): 1,
        ("slipring_allocation_bytes_count", ""): 2,
        ("slipring_realm_datagrams_total", 'from="client",realm="turn.test"'): 21,
        ("slipring_realm_bytes_total", 'from="peers",realm="turn.test"'): 2200,
        ("slipring_realm_lost_datagrams_total", 'class="way",realm="turn.test"'): 3,
        ("slipring_certificate_not_after_seconds", 'certificate="/31"'): 9031,
        ("slipring_certificate_renew_seconds", 'certificate="/32"'): 2,
        ("slipring_other",
            'command="/slipring/stats",field="novelty",port="",worker=""'): 4,
        ("slipring_steering_degraded", 'family="ipv6",port="wan"'): 1,
        ("slipring_exception_to_kernel_datagrams_total", 'class="arp",port="wan"'): 11,
        ("slipring_exception_from_kernel_datagrams_total", 'class="tcp",port="wan"'): 12,
        ("slipring_address_lost", 'address="192.0.2.1",interface="tap0",port="wan"'): 1,
        ("slipring_device_statistic",
            r'device="0000:3b:00.0",name="rx_good_packets",port="a\"b\\"'): 13,
    }  # fmt: skip
    for key, value in wanted.items():
        assert found.get(key) == value, (key, found.get(key), value)
    assert abs(found["slipring_datagram_seconds_sum", 'worker="0"'] - 5.5e-6) < 1e-12
    assert "/slipring/stats" in fake.asked
    assert not any("allocations" in asked for asked in fake.asked), "a scrape walks nothing"


def check_meanings(fake, exporter):
    """Commands without an answer are repeated, answered ones are not."""
    fake.greeting = b'{"pid":7}'
    fake.answers = good() | {"/slipring/meanings,drops": None}
    info = [name for name, _ in exporter.scrape() if name.endswith("_reason_info")]
    assert info == ["slipring_refusal_reason_info"] * 2, info
    fake.answers = good() | {"/slipring/meanings,refusals": None}
    found = [name for name, _ in exporter.scrape()]
    assert found.count("slipring_drop_reason_info") == 1, found
    assert found.count("slipring_refusal_reason_info") == 2, found


def check_nonsense(fake, exporter):
    """No answer, however invalid, ends the exporter, and the other metrics remain."""
    deep = b"[" * 90000
    wrong = (b"", b"{", b"\xff\xfe", b"{} x", b"[]", deep, b"x" * 150000, b'{"/slipring/stats":7}',
        b'{"/slipring/stats":{"rx":"many","tx":true,"held":NaN,"drops":1e999}}',
        json.dumps({"/slipring/drops": {}}).encode())  # fmt: skip
    for answer in wrong:
        fake.answers = good() | {"/slipring/stats": answer}
        found = exporter.scrape()
        assert ("slipring_rx_datagrams_total", "") not in found, answer[:60]
        # without an answer the conversation ends: the rest of the queue is not valid
        assert found["slipring_up", ""] == (0 if answer == b"" else 1), answer[:60]
    assert found["slipring_exporter_bad_answers_total", 'command="/slipring/stats"'] >= 7, found
    many = {f"reason_{i}": i for i in range(4000)}
    fake.answers = good() | {"/slipring/drops": many, "/slipring/bursts": {"classes": [None]}}
    found = exporter.scrape()
    assert sum(name == "slipring_drops_total" for name, _ in found) <= 512
    short = {"time_bounds_ns": [250], "time_hist": [1], "time_sum_ns": 1}
    for answer in ({"time_hist": []}, short, short | {"time_bounds_ns": "x"}, [], 7):
        fake.answers = good() | {"/slipring/histograms,0": answer, "/slipring/realms": [7, {}]}
        found = exporter.scrape()
        assert found["slipring_up", ""] == 1
        assert ("slipring_datagram_seconds_count", 'worker="0"') not in found, answer
    assert found["slipring_exporter_bad_answers_total", 'command="/slipring/histograms"'] >= 4
    fake.answers = good() | {"/": [{}, 7, None, "/slipring/info"], "/slipring/info": None}
    assert exporter.scrape()["slipring_up", ""] == 0
    fake.greeting = b"no JSON"
    assert exporter.scrape()["slipring_up", ""] == 0
    fake.greeting = b'{"pid":2}'
    assert exporter.get("/readyz")[0] == 503 and exporter.get("/healthz")[0] == 200
    fake.answers = good()
    assert exporter.get("/readyz")[0] == 200
    check_draining(fake, exporter)


def check_draining(fake, exporter):
    """The reason why it is not ready, if slipring reports one."""
    drain = {"draining": 1, "since": 1, "deadline": 7, "below": 0, "allocations": 3, "refused": 9}
    not_ready = good() | {"/slipring/info": {"version": "9", "ready": 0}}
    without = {name: value for name, value in drain.items() if name != "deadline"}
    for answer, text in (
        (drain, "slipring drains: 3 allocations left, ends in 7 s at most\n"),
        (without, "slipring drains: 3 allocations left\n"),
        ({"draining": 1, "allocations": "x"}, "slipring drains\n"),
        ({"draining": 0}, "slipring is not ready\n"), (None, "slipring is not ready\n"),
        ([], "slipring is not ready\n"), (b"no JSON", "slipring is not ready\n"),
    ):  # fmt: skip
        fake.answers = not_ready | {"/slipring/drain": answer}
        assert exporter.get("/readyz") == (503, text), answer
        assert exporter.get("/livez") == (200, "ok\n"), answer
    fake.answers = good()


def check_slow(fake, exporter):
    """A slipring that hardly answers: the scrape completes, and many scrapes share one
    conversation."""
    fake.pause = 0.2
    before, begin, results = fake.conversations, time.monotonic(), []
    threads = [
        threading.Thread(target=lambda: results.append(exporter.scrape())) for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - begin < 6 * labs.SLOW, "the timeout is 1 s"
    assert len(results) == 12 and all(r["slipring_up", ""] == 0 for r in results)
    assert fake.conversations - before <= 4, "parallel scrapes share a fetch"
    fake.pause = 0
    assert exporter.scrape()["slipring_up", ""] == 1


def check_storm(lab, fake):
    """Scrapes in sequence for a second and a half: slipring is queried once a second at most."""
    exporter = Exporter(lab, "--socket-dir", lab.dir, "--file-prefix", "fake", port=9643, cache=1)
    for path in ("/metrics", "/livez"):
        before, begin, asked = fake.conversations, time.monotonic(), 0
        while time.monotonic() - begin < 1.5:
            assert exporter.get(path)[0] == 200
            asked += 1
        told = fake.conversations - before
        assert told <= 2 + (time.monotonic() - begin), (path, asked, told)
    fake.answers = good() | {"/slipring/info": {"version": "9", "ready": 0}}
    labs.until(lambda: exporter.get("/readyz")[0] == 503, 5, "a change is visible after that time")
    fake.answers = good()
    exporter.process.terminate()
    exporter.process.wait()


def check_rude(exporter):
    """Invalid requests, and clients that send nothing."""
    for request, status in (
        (b"\r\n\r\n", b"400"), (b"GET /metrics\r\n\r\n", b"400"), (b"GET / HTTP/2\r\n\r\n", b"400"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", b"405"), (b"GET /../etc HTTP/1.1\r\n\r\n", b"404"),
        (b"GET /metrics?x=1 HTTP/1.0\n\n", b"200"), (b"\xff\xff \xff HTTP/1.1\r\n\r\n", b"405"),
    ):  # fmt: skip
        answer = exporter.exchange(request)
        assert answer.split()[1] == status, (request, answer[:80])
    assert exporter.exchange(b"HEAD / HTTP/1.1\r\n\r\n").endswith(b"\r\n\r\n")
    with contextlib.suppress(ConnectionError):
        answer = exporter.exchange(b"GET / HTTP/1.1\r\nX: " + b"x" * 9000 + b"\r\n\r\n")
        assert answer == b"", "8 KiB at most"
    before = exporter.scrape()["slipring_exporter_connections_refused_total", ""]
    silent = [exporter.connect() for _ in range(40)]  # more than the limit
    found = exporter.scrape()  # a new request has room: the oldest connections are closed
    refused = found["slipring_exporter_connections_refused_total", ""] - before
    assert refused == 9, f"40 and a scrape, room for 32, {refused} gave way"
    for i, sock in enumerate(silent):
        sock.setblocking(i < 9)  # the first ones were closed, the others have 5 s
        with contextlib.suppress(BlockingIOError):
            assert sock.recv(1) == b"" and i < 9, i
        sock.close()


def check_taken():
    """A port in use: the message has a likely owner and advice."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        done = subprocess.run(
            [BINARY, "--listen", f"127.0.0.1:{port}"], capture_output=True, text=True, check=False,
            timeout=20,
        )  # fmt: skip
    assert done.returncode == 1 and f"127.0.0.1 port {port}: Address already in use" in done.stderr, done
    assert "coturn's exporter uses port 9641, too: set another in --listen" in done.stderr, done


def check_options():
    """Errors name the option; exit codes."""
    for arguments, code, word in (
        (("--listen", "localhost"), 2, "--listen"), (("--listen", "1.2.3.4:99999"), 2, "--listen"),
        (("--timeout", "0"), 2, "--timeout"), (("--cache", "61"), 2, "--cache"), (("--file-prefix", "../x"), 2, "--file-prefix"),
        (("--what",), 2, "--what"), (("--listen", "192.0.2.77:9641"), 1, "192.0.2.77"),
        (("--share", "no-such-group"), 1, "groupadd"), (("--version",), 0, "slipring-exporter 0"),
        (("--help",), 0, "--coturn-names"),
    ):  # fmt: skip
        done = subprocess.run(
            [BINARY, *arguments], capture_output=True, text=True, check=False, timeout=20
        )
        assert done.returncode == code and word in done.stdout + done.stderr, (arguments, done)
        assert "Traceback" not in done.stderr, done.stderr


def check_share(fake):
    """It waits for a socket that answers, but only as long as a slipring exists."""
    where = ("--socket-dir", os.path.dirname(fake.directory))
    begin = time.monotonic()
    os.environ["MAINPID"] = str(1 << 30)
    done = exporters.share("nobody-here", *where)
    del os.environ["MAINPID"]
    assert done.returncode == 1 and "--share:" in done.stderr, done
    assert time.monotonic() - begin < 10 * labs.SLOW, "its slipring has exited"
    check_links(fake, where)


def check_links(fake, where):
    """Root does not open up the target of a link of the server's user, nor a file that is not its
    socket."""
    socket_path = os.path.join(fake.directory, "dpdk_telemetry.v2")
    name = os.path.basename(fake.directory)
    around = os.path.dirname(fake.directory)
    elsewhere = os.path.join(around, "elsewhere")
    os.mkdir(elsewhere, 0o700)
    os.rename(socket_path, elsewhere + "/dpdk_telemetry.v2")

    def refused(prefix, *options):
        done = exporters.share(prefix, *(options or where))
        assert done.returncode == 1 and "--share:" in done.stderr, done
        assert "Traceback" not in done.stderr, done
        assert as_it_is() == before, done

    def as_it_is():
        found = [os.stat(p) for p in (around, elsewhere, elsewhere + "/dpdk_telemetry.v2")]
        return [(f.st_uid, f.st_gid, f.st_mode) for f in found]

    before = as_it_is()
    os.symlink(elsewhere + "/dpdk_telemetry.v2", socket_path)
    refused(name)
    os.unlink(socket_path)
    os.link(elsewhere + "/dpdk_telemetry.v2", socket_path)
    refused(name)
    os.unlink(socket_path)
    os.symlink("elsewhere", os.path.join(around, "linked"))
    refused("linked")
    # a directory on the path that is another user's link
    os.mkdir(os.path.join(around, "open"), 0o755)
    os.chown(os.path.join(around, "open"), 65534, -1)
    os.symlink(around, os.path.join(around, "open/dpdk"))
    os.lchown(os.path.join(around, "open/dpdk"), 65534, -1)
    refused("elsewhere", "--socket-dir", os.path.join(around, "open/dpdk"))
    os.rename(elsewhere + "/dpdk_telemetry.v2", socket_path)


def relay(lab):
    """With an allocation that ends, and another one that does not."""
    echo = lab.echo(PEER4)
    for ends in (True, False):
        client = lab.client(ip=CLIENT4)
        assert client.allocate().cls == SUCCESS
        assert client.bind(0x4000, echo.address).cls == SUCCESS
        for _ in range(700):
            client.send_channel(0x4000, b"ten bytes.")
            assert client.wait("channel")
        if ends:
            assert client.refresh(0).cls == SUCCESS


def check_real(lab, server, exporter):
    """Every field of this tree's telemetry has its metric, with slipring's value."""
    status, body = exporter.get("/metrics")
    found, kinds = exporters.samples(body), exporters.types(body)
    assert status == 200 and found["slipring_up", ""] == 1
    unknown = [labels for name, labels in found if name == "slipring_other"]
    assert not unknown, f"no row in app/slipring-exporter/rows.py for {unknown}"
    assert found["slipring_exporter_bad_answers_total", 'command="none"'] == 0, body[-800:]
    drops = server.telemetry.ask("/slipring/drops")
    told = {labels for name, labels in found if name == "slipring_drops_total"}
    assert told == {f'reason="{name.replace("_", "-")}"' for name in drops}
    means = [labels for name, labels in found if name == "slipring_drop_reason_info"]
    assert len(means) == len(drops), "each has a meaning"
    assert any("neither on-link nor behind a gateway" in labels for labels in means)
    for name in ("stats", "worker", "bursts", "streams", "dtls"):
        means = server.telemetry.ask(f"/slipring/meanings,{name}")
        answer = server.telemetry.ask(f"/slipring/{name}" + (",0" if name == "worker" else ""))
        assert set(means) <= set(answer) and all(means.values()), name
    assert sum(name == "slipring_worker_lcore" for name, _ in found) == WORKERS
    assert found["slipring_allocations", ""] == 1
    assert found["slipring_rx_datagrams_total", ""] >= 200
    assert found["slipring_rx_bytes_total", ""] >= 200 * 42  # Ethernet, IPv4, UDP
    assert ("slipring_worker_uso_datagrams_total", 'worker="0"') in found
    check_sums(found)
    for name, kind in kinds.items():
        if kind == "counter":
            assert name.endswith("_total"), name
        assert kind in ("counter", "gauge", "untyped", "histogram"), (name, kind)
    check_promtool(body)
    assert "# EOF" in exporter.get("/metrics", accept="application/openmetrics-text")[1]
    assert exporter.get("/metrics", address="::1")[0] == 200
    labs.until(server.settled, 3, "all is still")


def check_commands(fake, exporter, server):
    """It queries every command of this tree's telemetry, except the one that walks allocations."""
    commands = server.telemetry.ask("/")
    fake.answers, fake.asked = good() | {"/": commands}, set()
    exporter.scrape()
    asked = {asked.split(",")[0] for asked in fake.asked}
    known = {command for command in commands if command.startswith("/slipring/")}
    assert len(known) > 20 and known - asked == {"/slipring/allocations"}, known - asked


def check_sums(found):
    """Histograms and sums after relay(): 700 datagrams in each direction end with an allocation,
    and all except 63 of the live one's are counted.
    """
    timed = sum(found["slipring_datagram_seconds_count", f'worker="{i}"'] for i in range(WORKERS))
    assert 1 <= timed <= 2 * WORKERS + 1, timed  # of 2,800, without those handed over
    assert found["slipring_allocation_lifetime_seconds_count", ""] == 1
    assert found["slipring_allocation_bytes_sum", ""] == 2 * 7000
    assert found["slipring_allocation_bytes_bucket", 'le="4096.0"'] == 0
    assert found["slipring_allocation_bytes_bucket", 'le="16384.0"'] == 1
    for sender in ("client", "peers"):
        (count,) = (value for (name, labels), value in found.items()
            if name == "slipring_realm_datagrams_total" and f'from="{sender}"' in labels)  # fmt: skip
        assert 1400 - 63 <= count <= 1400, count


def check_promtool(body):
    if not shutil.which("promtool"):
        raise labs.Skip("no promtool: apt-get install prometheus")
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=body, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and not done.stderr, done.stderr


def check_access(server):
    """The socket and its directories belong to their owner and group only."""
    path = server.telemetry.path
    for place, mode in ((path, 0o760), (os.path.dirname(path), 0o710)):
        found = os.stat(place)
        assert found.st_gid == int(exporters.GROUP), place
        assert stat.S_IMODE(found.st_mode) & 0o077 == mode & 0o077, (place, oct(found.st_mode))


def check_restart(lab, server, exporter):
    """A slipring that crashes and restarts."""
    server.telemetry.close()
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    begin = time.monotonic()
    assert exporter.scrape()["slipring_up", ""] == 0
    assert time.monotonic() - begin < 2 * labs.SLOW
    assert exporter.get("/healthz")[0] == 503 and exporter.get("/readyz")[0] == 503
    server.start()
    assert exporter.scrape()["slipring_up", ""] == 0, "the new socket is root's"
    done = exporters.share(server.prefix)
    assert done.returncode == 0, done
    assert exporter.scrape()["slipring_up", ""] == 1
    assert exporter.get("/readyz") == (200, "ready\n")


def check_revived(lab, server, exporter):
    """An exporter that is killed: slipring continues, and the next exporter gets the port at once."""
    exporter.process.kill()
    exporter.process.wait()
    revived = Exporter(lab, "--file-prefix", server.prefix)
    assert revived.scrape()["slipring_up", ""] == 1
    return revived


def check_unit(lab, server):
    """With RuntimeDirectory= of the unit EAL's directory is elsewhere: the exporter finds it by
    itself."""
    with open(os.path.join(labs.BUILD, "conf/slipring.service")) as file:
        assert "\nRuntimeDirectory=slipring\n" in file.read()
    server.stop()
    runtime = os.path.dirname(exporters.UNIT_RUN)
    exporters.keep(lab, runtime)
    os.chmod(runtime, 0o755)  # the mode that systemd sets
    exporters.keep(lab, exporters.UNIT_RUN)
    run_folder = f"{exporters.UNIT_RUN}/{server.prefix}"
    lab.cleanup.callback(shutil.rmtree, run_folder, ignore_errors=True)
    server.telemetry.path = f"{run_folder}/dpdk_telemetry.v2"
    os.environ["RUNTIME_DIRECTORY"] = runtime  # systemd sets it
    try:
        server.start()
    finally:
        del os.environ["RUNTIME_DIRECTORY"]
    done = exporters.share(server.prefix)
    assert done.returncode == 0, done
    check_access(server)
    exporter = Exporter(lab, "--file-prefix", server.prefix)
    assert exporter.scrape()["slipring_up", ""] == 1, exporter.log()
    assert exporter.get("/readyz") == (200, "ready\n")
    return exporter


def main(lab):
    labs.need_own_server()
    exporters.need()
    exporters.keep(lab)
    fake = Fake(lab, "fake")
    small = Exporter(
        lab, "--socket-dir", lab.dir, "--file-prefix", "fake", "--timeout", "1", port=9642
    )
    check_values(fake, small)
    check_meanings(fake, small)
    check_nonsense(fake, small)
    check_slow(fake, small)
    check_storm(lab, fake)
    check_rude(small)
    check_options()
    check_taken()
    check_share(fake)
    server = lab.server()
    exporter = Exporter(lab, "--file-prefix", server.prefix, "--coturn-names")
    assert exporter.scrape()["slipring_up", ""] == 0, "the socket is root's"
    done = exporters.share(server.prefix)
    assert done.returncode == 0, done
    check_access(server)
    relay(lab)
    server.published()
    check_real(lab, server, exporter)
    check_commands(fake, small, server)
    found = exporter.scrape()
    assert found["turn_total_allocations", 'type="all"'] == 1
    assert found["turn_total_traffic_rcvp", ""] >= 1337
    assert sum(name == "turn_traffic_peer_sentb" for name, _ in found) == 1
    assert found["turn_packet_processed", ""] == found["slipring_rx_datagrams_total", ""]
    check_restart(lab, server, exporter)
    exporter = check_revived(lab, server, exporter)
    exporter.process.terminate()
    assert exporter.process.wait(10) == 0, exporter.log()
    exporter = check_unit(lab, server)
    for one in (small, exporter):
        one.process.terminate()
        assert one.process.wait(10) == 0, one.log()


if __name__ == "__main__":
    labs.run(main)
