#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: 100,000 clients; under ASan loadgen_transports starts it
# full: loadgen_transports does this with few clients
"""100,000 clients of the load generator are set up, relay and are released in less than 1 GiB."""

import contextlib
import re
import time

import lab as labs
import loadgen
from lab import SERVER4, SERVER6
from loadgen import IVAN, PEERS4, probes

MANY = 100_000
RELAYS = [f"10.99.0.{i}" for i in range(200, 208)]  # 16,384 ports each
LIMIT_KB = 1 << 20


def peak_kb(process):
    """The largest resident set size of a process, polled until it exits."""
    peak = 0
    while process.poll() is None:
        with contextlib.suppress(OSError), open(f"/proc/{process.pid}/status") as file:
            found = re.search(r"VmHWM:\s+(\d+) kB", file.read())
            peak = max(peak, int(found[1]) if found else 0)
        time.sleep(0.05)
    return peak


def main(lab):
    labs.need_own_server()
    config = {
        "relay": {"addresses": [*RELAYS, SERVER6], "quarantine": 1},
        "limits": {"per-user": 0},
    }
    server = lab.server(config, more=[f"{address}/24" for address in RELAYS])
    gen = loadgen.Generator(lab)
    run = gen.start(
        *probes(*IVAN, clients="10.99.0.20-10.99.0.29/24"),
        *("--peer-port", "net_af_packet1,iface=l1", "--peer-addr", PEERS4),
        *("--clients", str(MANY), "--setup-rate", "20k", "--direction", "both"),
        *"--pps 10k --duration 1 --stats-period 0".split(),
    )
    peak = peak_kb(run.process)
    result = run.result()
    assert result["clients_ready"] == MANY and result["clients_failed"] == 0, result
    assert not result["error_codes"] and result["setup_seconds"] < 30 * labs.SLOW, result
    for flow in result["ways"].values():
        assert flow["delivered"] == flow["sent"] > 4000 and flow["corrupted"] == 0, flow
    assert server.stats()["allocations_total"] == MANY, server.stats()
    loadgen.check_released(lab, server)
    assert 0 < peak < LIMIT_KB, f"{peak} kB"
    print(f"{MANY} clients of {SERVER4} in {peak >> 10} MiB, set up in "
        f"{result['setup_seconds']:.1f} s")  # fmt: skip


if __name__ == "__main__":
    labs.run(main)
