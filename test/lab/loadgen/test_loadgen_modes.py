#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: it paces datagrams, and none may be lost or late
# long: every mode in turn; under ASan it is the generator's pace that is tested
# full: loadgen_transports has the usual mode
"""Every mode of the load generator against the server, and a clean server afterwards."""

import lab as labs
import loadgen
import server as servers
from lab import SLOW
from loadgen import IVAN, media, probes

REST = ("--secret", "s3cret", "--user", "load", "--user-per-client")
BRIEF = "--clients 6 --duration 0.4".split()

# Label, options, directions that must be complete.
MEDIA = (
    ("channels up", media(*IVAN, "--direction", "up"), ("up",)),
    ("peer-to-client", media(*IVAN, "--mode", "peer-to-client"), ("down",)),
    ("both ways, REST names", media(*REST, "--direction", "both"), ("up", "down")),
    ("echo, SHA-256", media(*IVAN, *"--direction echo --integrity sha256".split()),
        ("up", "echo")),
    ("indications, both ways", media(*IVAN, *"--mode send --direction both".split()),
        ("up", "down")),
    ("IPv6, both ways, bursts",
        media(*IVAN, *"--direction both --burst 4".split(), family=6), ("up", "down")),
    ("IPv4 to IPv6, DONT-FRAGMENT",
        media(*IVAN, *"--direction both --dont-fragment".split(), relay=6), ("up", "down")),
    ("IPv6 to IPv4, indications, echo",
        media(*IVAN, *"--mode send --direction echo".split(), family=6, relay=4), ("up", "echo")),
)  # fmt: skip
FAMILY = {"IPv6, both ways, bursts": "6", "IPv4 to IPv6, DONT-FRAGMENT": "4-6",
    "IPv6 to IPv4, indications, echo": "6-4"}  # fmt: skip


def check_media(gen, server):
    for label, options, ways in MEDIA:
        before = server.stats()["allocations_total"]
        result = gen.run(*options, *BRIEF, "--pps", "3k", "--size", "120,1200")
        loadgen.check_clean(result, *ways)
        loadgen.check_sums(result)
        assert result["clients_ready"] == 6 and result["clients_failed"] == 0, (label, result)
        assert result["family"] == FAMILY.get(label, "4"), (label, result)
        assert not any(result["faults"].values()) and not result["error_codes"], (label, result)
        assert server.stats()["allocations_total"] - before == 6, label
        loadgen.check_released(gen.lab, server)
        print(f"ok     {label}: {result['total_recv']} at {result['recv_pps']:.0f} pps")


def check_probes(gen, server):
    """Modes whose datagrams the server answers itself."""
    binding = gen.run(*probes(*BRIEF, "--mode", "binding", "--pps", "3k"))
    loadgen.check_clean(binding, "echo")
    assert binding["answered"] == binding["total_sent"] and binding["errors"] == 0, binding
    unauth = gen.run(*probes(*BRIEF, "--mode", "unauth", "--pps", "3k", family=6))
    loadgen.check_clean(unauth, "echo")
    assert unauth["answered"] == unauth["errors"] == unauth["total_sent"], unauth
    before = server.drops()
    invalid = gen.run(
        *probes(*BRIEF, "--mode", "invalid", "--pps", "5k", "--telemetry", server.prefix)
    )
    assert invalid["alive"] is True and invalid["total_sent"] > 1000, invalid
    dropped = {name: n - before.get(name, 0) for name, n in server.drops().items()}
    told = {name.replace("_", "-"): n for name, n in invalid["server_drops"].items()}
    assert len(told) >= 3 and sum(told.values()) > 500, told
    for name in set(told) - servers.BACKGROUND:
        assert told[name] == dropped[name], (name, told, dropped)
    print(f"ok     binding, unauth, invalid: {told}")


def check_alloc(gen, server):
    """Allocations made and released repeatedly, and allocations held: the server counts the same."""
    before = server.stats()["allocations_total"]
    result = gen.run(*probes(*IVAN, *"--mode alloc --clients 8 --duration 1 --pps 400".split()))
    made = server.stats()["allocations_total"] - before
    assert result["direction"] == "none" and not result["error_codes"], result
    health = result["generator"]
    # Datagrams that a generator or a server without CPU time skipped are included.
    due = result["allocations_per_s"] + (health["missed"] + health["unstarted"]) / result["seconds"]
    assert 350 <= due <= 410 and result["allocations"] > 100, result
    assert result["allocations"] <= made <= result["allocations"] + 8, (made, result)
    loadgen.check_released(gen.lab, server)
    run = gen.start(*probes(*IVAN, *"--mode alloc-hold --clients 200 --duration 0.5".split()))
    labs.until(lambda: server.stats()["allocations"] == 200, 10, "200 allocations at a time")
    result = run.result()
    assert result["clients_ready"] == 0 or result["clients_ready"] == 200, result
    assert result["clients_failed"] == 0 and result["setup_seconds"] < 2 * SLOW, result
    loadgen.check_released(gen.lab, server)
    print("ok     alloc, alloc-hold")


def main(lab):
    labs.need_own_server()
    server = lab.server(
        {"relay": {"quarantine": 1}},
        allow={
            "stun-malformed", "stun-method", "stun-fingerprint", "stun-unknown-attribute",
            "not-turn", "no-allocation", "indication-malformed", "keepalive", "channel-unbound",
            "channel-length", "no-permission", "peer-denied", "relay-unused",
        },
    )  # fmt: skip
    gen = loadgen.Generator(lab)
    check_media(gen, server)
    check_probes(gen, server)
    check_alloc(gen, server)


if __name__ == "__main__":
    labs.run(main)
