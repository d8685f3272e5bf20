# SPDX-License-Identifier: BSD-3-Clause
"""What the benchmarks take from the lab: its namespaces, and its way to a server's telemetry."""

import os
import sys

from machine import TOP

# Behind our own folder, which has modules of the same names.
sys.path.append(os.path.join(TOP, "test/lab/support"))

from lab import Namespace, command, reap_stale  # noqa: E402, F401
from server import Telemetry  # noqa: E402, F401
