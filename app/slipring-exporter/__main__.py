# SPDX-License-Identifier: BSD-3-Clause
"""slipring-exporter: serves metrics of a running slipring to Prometheus, and a status page to browsers. It
reads DPDK's telemetry socket from a separate process that needs no privileges (doc/monitoring.md).
"""

import argparse
import errno
import re
import signal
import sys
import threading

try:
    from prometheus_client.core import CollectorRegistry
    from prometheus_client.exposition import choose_encoder
except ImportError:
    sys.exit("slipring-exporter: no module prometheus_client: apt-get install python3-prometheus-client")

from build import VERSION
from control import Control
from metrics import Families, Slipring
from page import page, status
from share import share
from telemetry import UNIT, USUAL, socket_paths
from web import TEXT, Shared, Web, listener

TAKEN = "; coturn's exporter uses port 9641, too: set another in --listen, or in prometheus-port of coturn"
DEFAULT = ("127.0.0.1:9641", "[::1]:9641")
SHARE_S = 60  # how long --share waits for a socket that answers


def address(text):
    """(address, port) of ADDRESS:PORT or [ADDRESS]:PORT."""
    found = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):(\d{1,5})", text)
    if not found or not 0 < int(found[3]) < 65536:
        raise argparse.ArgumentTypeError(f"{text!r} is not ADDRESS:PORT or [ADDRESS]:PORT")
    return found[1] or found[2], int(found[3])


def prefix(text):
    if not re.fullmatch(r"[\w.-]+", text) or text in (".", ".."):
        raise argparse.ArgumentTypeError(f"{text!r} is not a --file-prefix of EAL")
    return text


def seconds(least):
    def parse(text):
        try:
            value = float(text)
        except ValueError:
            value = -1
        if not least <= value <= 60:
            raise argparse.ArgumentTypeError(f"{text!r} is not from {least} to 60 seconds")
        return value

    return parse


def options(argv):
    parser = argparse.ArgumentParser(
        prog="slipring-exporter", allow_abbrev=False,
        description="Metrics of a running slipring for Prometheus: /metrics, /livez, /readyz. A status page"
        " for browsers: /.",
        epilog="exit codes: 0 ended by SIGTERM or SIGINT, 1 cannot run, 2 wrong options",
    )  # fmt: skip
    parser.add_argument("--listen", metavar="ADDRESS:PORT", action="append", type=address,
        help=f"address to serve HTTP on; may be repeated (default: {', '.join(DEFAULT)})")
    parser.add_argument("--file-prefix", metavar="NAME", type=prefix, default="slipring",
        help="eal.file-prefix of the slipring to ask (default: slipring)")
    parser.add_argument("--socket-dir", metavar="DIR",
        help=f"EAL's runtime directory (default: {UNIT}, that of the unit, or {USUAL})")
    parser.add_argument("--timeout", metavar="SECONDS", type=seconds(0.05), default=2.0,
        help="limit for all of slipring's answers to one scrape (default: 2)")
    parser.add_argument("--cache", metavar="SECONDS", type=seconds(0), default=1.0,
        help="how long slipring's answers are reused for other scrapes, so that many scrapes cost it"
        " nothing (default: 1)")
    parser.add_argument("--coturn-names", action="store_true",
        help="also export counters under coturn's names, where it has the same ones")
    parser.add_argument("--control", metavar="SOCKET",
        help="slipring's control socket: the status page then also shows users and addresses, what"
        " slipringctl status warns of, and what the last reload said (default: none of that)")
    parser.add_argument("--share", metavar="GROUP",
        help="as root: give that group access to the socket once it answers, and exit")
    parser.add_argument("--version", action="version", version=f"slipring-exporter {VERSION}")
    return parser.parse_args(argv)  # fmt: skip


class Registry(CollectorRegistry):
    """A registry for prometheus_client with given metrics, instead of collected ones."""

    def __init__(self, metrics):
        super().__init__()
        self.metrics = metrics

    def collect(self):
        return iter(self.metrics)


def pages(slipring, web, cache, control):
    fetched, probed = Shared(slipring.metrics, cache), Shared(slipring.health, cache)

    def metrics(headers):
        counts = Families()
        counts.add("c", "exporter_connections_refused", "Connections closed: too many at a time.",
            web().refused)  # fmt: skip
        encode, kind = choose_encoder(headers.get("accept", ""))
        return 200, kind, encode(Registry([*counts.metrics.values(), *fetched.get()]))

    def health(headers):
        alive, _ = probed.get()
        return (200, TEXT, b"ok\n") if alive else (503, TEXT, b"the socket does not answer\n")

    def ready(headers):
        _, reason = probed.get()
        return (503, TEXT, f"{reason}\n".encode()) if reason else (200, TEXT, b"ready\n")

    return {
        "/": page(), "/status.json": status(slipring, cache, control),
        "/metrics": metrics, "/healthz": health, "/livez": health, "/readyz": ready,
    }  # fmt: skip


def listeners(wanted):
    """Opens the listening sockets. Skips a default address that the host does not have (no IPv6)."""
    sockets, missing = [], None
    for host, port in wanted or map(address, DEFAULT):
        try:
            sockets.append(listener(host, port))
        except OSError as error:
            missing = f"--listen: {host} port {port}: {error.strerror}"
            if error.errno == errno.EADDRINUSE:
                missing += TAKEN
            if wanted or ":" not in host:
                sys.exit(f"slipring-exporter: {missing}")
    return sockets


def main(argv):
    given = options(argv)
    if given.share:
        return share(given.socket_dir, given.file_prefix, given.share, SHARE_S)
    paths = socket_paths(given.socket_dir, given.file_prefix)
    slipring = Slipring(paths, given.timeout, VERSION, given.coturn_names)
    control = Control(given.control) if given.control else None
    web = Web(pages(slipring, lambda: web, given.cache, control), ("/", "/status.json"))
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)  # before there are threads
    for sock in listeners(given.listen):
        threading.Thread(target=web.serve, args=(sock,), daemon=True).start()
    error = slipring.see(False).error
    if error:
        print(f"slipring-exporter: {error}; every scrape tries again", file=sys.stderr)
    signal.sigwait(ends)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
