# SPDX-License-Identifier: BSD-3-Clause
"""Parts of the lab that the benchmarks use: its namespaces, and its access to a server's telemetry."""

import os
import sys

from machine import TOP

# After this folder, which has modules of the same names.
sys.path.append(os.path.join(TOP, "test/lab/support"))

from lab import Namespace, command, reap_stale  # noqa: E402, F401
from server import Telemetry  # noqa: E402, F401
