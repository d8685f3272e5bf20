# SPDX-License-Identifier: BSD-3-Clause
"""Circuit breaker of a source: after some failures in a row the source is left alone for a while, and then
asked by one probe. The pauses grow, and are random so that several boxes do not come back together.
"""

import random
import threading
import time

FAILURES = 5
FIRST_S, LONGEST_S, JITTER = 1, 30, 0.2


class Breaker:
    """Used by all threads of a source."""

    def __init__(self, clock=time.monotonic, factor=lambda: random.uniform(1 - JITTER, 1 + JITTER)):
        self.clock, self.factor = clock, factor
        self.lock = threading.Lock()  # guards the fields below
        self.failures = 0  # in a row
        self.open_until = None
        self.pause = FIRST_S
        self.is_probing = False

    def may_ask(self):
        """True if the source may be asked. good() or bad() must follow then."""
        with self.lock:
            if self.open_until is None:
                return True
            if self.is_probing or self.clock() < self.open_until:
                return False
            self.is_probing = True
            return True

    def good(self):
        """Returns True if the source had failed before."""
        with self.lock:
            failed = self.failures > 0
            self.failures, self.open_until, self.pause, self.is_probing = 0, None, FIRST_S, False
            return failed

    def bad(self):
        """Returns True for the first of several failures in a row."""
        with self.lock:
            self.failures += 1
            # failures of questions that were on their way when it opened do not make the pause longer
            if self.is_probing or (self.open_until is None and self.failures >= FAILURES):
                self.open_until = self.clock() + self.pause * self.factor()
                self.pause = min(2 * self.pause, LONGEST_S)
                self.is_probing = False
            return self.failures == 1

    def is_up(self):
        with self.lock:
            return self.failures == 0
