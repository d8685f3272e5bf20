# SPDX-License-Identifier: BSD-3-Clause
"""A minimal HTTP server for scrapers and browsers: GET only, a limited number of requests, each with a
deadline."""

import contextlib
import socket
import threading
import time
import traceback

HEAD_MAX = 8192  # bytes of a request
AT_A_TIME = 32
BROWSERS = 16  # of these for the status page: slow browsers leave room for scrapers
REQUEST_S, ANSWER_S = 5, 10  # for the client to send a request, and to read the answer
HELP = b"slipring-exporter: / and /status.json for people, /metrics for Prometheus, /livez, /readyz\n"
TEXT = "text/plain; charset=utf-8"
PHRASES = {200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed"}
PHRASES |= {500: "Internal Server Error", 503: "Service Unavailable"}
# Headers of every answer: no other site may read, frame or keep it, and it loads and runs nothing. The
# status page has its own policy.
POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
HEADERS = {
    "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}  # fmt: skip


class Shared:
    """Shares the result of a call with all callers that come while it runs, and for `seconds` afterwards."""

    def __init__(self, call, seconds):
        self.call, self.seconds, self.changed = call, seconds, threading.Condition()
        self.running, self.serial, self.value, self.ended = False, 0, None, None

    def get(self):
        with self.changed:
            if self.ended is not None and time.monotonic() < self.ended + self.seconds:
                return self.value
            if self.running:
                serial = self.serial
                self.changed.wait_for(lambda: self.serial != serial)
                return self.value
            self.running = True
        value = ended = None
        try:
            value = self.call()
            ended = time.monotonic()
        finally:
            with self.changed:
                self.running, self.value, self.ended = False, value, ended
                self.serial += 1
                self.changed.notify_all()
        return value


def listener(address, port):
    """A listening socket; OSError if the address is unavailable."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((address, port))
        sock.listen(AT_A_TIME)
    except OSError:
        sock.close()
        raise
    return sock


def read_head(conn):
    """The head of a request, up to the empty line, or None."""
    head, end = b"", time.monotonic() + REQUEST_S
    while b"\r\n\r\n" not in head and b"\n\n" not in head:
        left = end - time.monotonic()
        if left <= 0:
            return None
        conn.settimeout(left)
        more = conn.recv(HEAD_MAX)
        if not more:
            return None
        head += more
        if len(head) > HEAD_MAX:
            return None
    return head.decode("latin-1")


class Request:
    """method, path and headers of a request; method is None if it is not one of HTTP/1."""

    def __init__(self, head):
        first, *lines = head.splitlines() or [""]
        words = first.split()
        is_http = len(words) == 3 and words[2].startswith("HTTP/1.")
        self.method = words[0] if is_http else None
        self.path = words[1].partition("?")[0] if is_http else ""
        pairs = (line.partition(":") for line in reversed(lines))  # the first one of a name counts
        self.headers = {name.strip().lower(): value.strip() for name, _, value in pairs}


class Web:
    """pages: {path: function of the headers of a request that gives (status, type, body), and maybe further
    headers}. browsed: the paths that browsers ask for."""

    def __init__(self, pages, browsed=()):
        self.pages, self.browsed = pages, browsed
        self.lock = threading.Lock()  # guards the fields below
        self.count = 0  # open connections
        self.browsing = 0  # connections that are being answered with one of the browsed pages
        self.silent = {}  # connections without a request yet, the oldest first
        self.refused = 0  # connections closed for want of room

    def serve(self, sock):
        """Accepts connections in an endless loop."""
        while True:
            try:
                conn, _ = sock.accept()
            except OSError:
                time.sleep(0.1)  # no free descriptor, or the client has disconnected
                continue
            if not self.enter(conn):
                conn.close()
                continue
            try:
                threading.Thread(target=self.one, args=(conn,), daemon=True).start()
            except RuntimeError:  # no thread available
                self.leave(self.heard(conn))
                conn.close()

    def enter(self, conn):
        """Admits a connection. If there is no room, closes the oldest one without a request."""
        with self.lock:
            if self.count < AT_A_TIME:
                self.count += 1
            else:
                self.refused += 1
                if not self.silent:
                    return False
                oldest = next(iter(self.silent))
                del self.silent[oldest]
                with contextlib.suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)  # its thread reads end of file
            self.silent[conn] = None
            return True

    def heard(self, conn):
        """The connection sent its request, or ended. False if it was closed to make room for another."""
        with self.lock:
            return self.silent.pop(conn, self) is None

    def leave(self, had_place):
        with self.lock:
            self.count -= had_place

    def browse(self, change):
        """Enters (1) or leaves (-1) a browsed page. False if there is no room."""
        with self.lock:
            if change > 0 and self.browsing == BROWSERS:
                return False
            self.browsing += change
            return True

    def one(self, conn):
        head = None
        with contextlib.suppress(OSError):
            head = read_head(conn)
        had_place = self.heard(conn)
        try:
            with conn, contextlib.suppress(OSError):
                if head is not None and had_place:
                    self.serve_request(conn, Request(head))
        finally:
            self.leave(had_place)

    def serve_request(self, conn, request):
        if request.path not in self.browsed:
            send(conn, request, *self.answer(request))
        elif self.browse(1):
            try:
                send(conn, request, *self.answer(request))
            finally:
                self.browse(-1)
        else:
            send(conn, request, 503, TEXT, b"too many browsers at a time\n")

    def answer(self, request):
        if request.method is None:
            return 400, TEXT, b"not a request of HTTP/1\n"
        if request.method not in ("GET", "HEAD"):
            return 405, TEXT, b"GET only\n"
        page = self.pages.get(request.path)
        if page is None:
            return 404, TEXT, HELP
        try:
            return page(request.headers)
        except Exception as error:  # one page must not end the others
            traceback.print_exc()
            return 500, TEXT, f"{type(error).__name__}\n".encode()


def send(conn, request, status, kind, body, headers=None):
    fields = {"Content-Type": kind, "Content-Length": len(body), "Connection": "close"}
    fields |= HEADERS | (headers or {})
    lines = [f"HTTP/1.1 {status} {PHRASES[status]}", *(f"{name}: {text}" for name, text in fields.items())]
    conn.settimeout(ANSWER_S)
    conn.sendall("\r\n".join([*lines, "", ""]).encode() + (b"" if request.method == "HEAD" else body))
