# SPDX-License-Identifier: BSD-3-Clause
"""A minimal HTTP server for scrapers: GET only, a limited number of requests, each with a deadline."""

import contextlib
import socket
import threading
import time
import traceback

HEAD_MAX = 8192  # bytes of a request
AT_A_TIME = 32
REQUEST_S, ANSWER_S = 5, 10  # for the client to send a request, and to read the answer
HELP = b"slipring-exporter: /metrics for Prometheus, /livez, /readyz\n"
TEXT = "text/plain; charset=utf-8"
PHRASES = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}
PHRASES |= {500: "Internal Server Error", 503: "Service Unavailable"}


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


def accept_of(head):
    for line in head.splitlines()[1:]:
        name, _, value = line.partition(":")
        if name.strip().lower() == "accept":
            return value.strip()
    return ""


class Web:
    """pages: {path: function of the Accept header that gives (status, type, body)}."""

    def __init__(self, pages):
        self.pages = {"/": lambda accept: (200, TEXT, HELP), **pages}
        self.lock = threading.Lock()  # guards the fields below
        self.count = 0  # open connections
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

    def one(self, conn):
        head = None
        with contextlib.suppress(OSError):
            head = read_head(conn)
        had_place = self.heard(conn)
        try:
            with conn, contextlib.suppress(OSError):
                if head is None or not had_place:
                    return
                status, kind, body = self.answer(head)
                lines = [f"HTTP/1.1 {status} {PHRASES[status]}", f"Content-Type: {kind}"]
                lines += [f"Content-Length: {len(body)}", "Connection: close", "", ""]
                conn.settimeout(ANSWER_S)
                conn.sendall("\r\n".join(lines).encode() + (b"" if head[:4] == "HEAD" else body))
        finally:
            self.leave(had_place)

    def answer(self, head):
        words = head.splitlines()[0].split() if head.splitlines() else []
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return 400, TEXT, b"not a request of HTTP/1\n"
        if words[0] not in ("GET", "HEAD"):
            return 405, TEXT, b"GET only\n"
        page = self.pages.get(words[1].partition("?")[0])
        if page is None:
            return 404, TEXT, HELP
        try:
            return page(accept_of(head))
        except Exception as error:  # one page must not end the others
            traceback.print_exc()
            return 500, TEXT, f"{type(error).__name__}\n".encode()
