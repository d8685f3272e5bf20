#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Identical requests to this server and to Debian's coturn, over UDP and TCP: the answers are
equal, except for the entries of differences.py, each of which occurs.

        cli ── bridge ── d0 10.99.0.1, k0 10.99.0.5 :dut   (this server)
                      └─ t0 10.99.0.7               :cot   (coturn, as 4.17 is by default)
"""

# long: every case over both transports; otherwise a sample of those over TCP

import concurrent.futures
import sys

import lab as labs
import streams
from asked import all_cases
from differences import Judge
from lab import SERVER4, SERVER6, until
from talker import PEER, SILENCE, Server, Talker
from turnlib import Client, Silence

COTURN4, COTURN6 = "10.99.0.7", "fd99::7"
SAMPLE = 4
AT_ONCE = 16
AGAIN, PORTS = 3, 2000
OFF = {"rate": 0}
CONFIG = {
    "workers": {"count": 1},
    "limits": {"unauthenticated": OFF, "stale-nonce": OFF, "guesses": OFF, "binding": OFF},
}
OURS = Server("slipring", {4: SERVER4, 6: SERVER6}, {4: streams.V4, 6: streams.V6}, SERVER4, 10000)
THEIRS = Server("coturn", {4: COTURN4, 6: COTURN6}, {4: COTURN4, 6: COTURN6}, COTURN4, 20000)


def start_coturn(lab):
    """coturn with one relay thread, and with the defaults of 4.17 where 4.6 differs."""
    host = lab.host(lab.cleanup, "cot", "t0", 7, (COTURN4, COTURN6))
    said = open(f"{lab.dir}/coturn.log", "wb")
    lab.cleanup.callback(said.close)
    process = lab.popen(
        host, "turnserver", "-n", "-m", "1", "--lt-cred-mech", "--user=ivan:pw", "--user=olga:geheim",
        "--realm=turn.test", "--no-tls", "--no-dtls", "--no-cli", "--no-rfc5780",
        "--response-origin-only-with-rfc5780", "--no-stun-backward-compatibility",
        "--no-software-attribute", "--no-multicast-peers",
        f"--listening-ip={COTURN4}", f"--listening-ip={COTURN6}", f"--relay-ip={COTURN4}",
        f"--relay-ip={COTURN6}", "--log-file=stdout", "--simple-log", f"--pidfile={lab.dir}/coturn.pid",
        f"--userdb={lab.dir}/coturn.db", stdout=said, stderr=said,
    )  # fmt: skip

    def ready():
        assert process.poll() is None, "coturn has ended"
        with Client(lab.cli.udp(labs.CLIENT4), (COTURN4, 3478)) as probe:
            try:
                return probe.binding(waits=(0.2,))
            except Silence:
                return None

    until(ready, 20, "coturn answers")


def heard(lab, server, job, again=0):
    """The outcome of a case on one server."""
    case, transport, number = job
    talker = Talker(lab, server, transport, (case.ip, server.ports + again * PORTS + number))
    try:
        talker.reach(case.state)
        return talker.outcome(case.build(talker))
    finally:
        talker.close()


def compare(lab, job):
    """Both outcomes. coturn looks up a user with a wrong password in another thread, sometimes for
    longer than the fences take, so an unexpected silence is tested again."""
    ours, theirs = heard(lab, OURS, job), heard(lab, THEIRS, job)
    for again in range(1, AGAIN + 1):
        if theirs == SILENCE != ours:
            theirs = heard(lab, THEIRS, job, again)
    return job[0], job[1], ours, theirs


def jobs():
    """(case, transport, number), each number once: servers remember the client ports that have an
    allocation."""
    cases = all_cases()
    over_tcp = [case for case in cases if not case.udp_only]
    pairs = [(case, "udp") for case in cases]
    pairs += [(case, "tcp") for case in (over_tcp if labs.LONG else over_tcp[::SAMPLE])]
    return [(*pair, number) for number, pair in enumerate(pairs)]


def main(lab):
    labs.need_own_server()
    streams.join(lab)
    config = labs_config(lab)
    server = lab.server(config)
    start_coturn(lab)
    lab.echo(port=PEER[1])
    judge = Judge({"udp": True, "tcp": labs.LONG})
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for row in pool.map(lambda job: compare(lab, job), jobs()):
            judge.look(*row)
    server.allow = set(server.drops())  # the cases provoke all kinds of drops
    judge.verdict()


def labs_config(lab):
    config = streams.config(lab, **{"per-source": 0, "per-network": 0})
    return {**CONFIG, "listeners": config["listeners"], "streams": config["streams"]}


if __name__ == "__main__":
    labs.run(main)
