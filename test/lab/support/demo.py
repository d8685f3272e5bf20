#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Started by scripts/demo: the server relays media in a lab of network namespaces, live."""

import argparse
import os
import signal
import sys
import time

import control
import lab as labs
import server
import shipped
import streams
import uclient
from lab import PEER4, PEER6, SERVER4, SERVER6

CONFIG = "transports.yaml"
LCORES = "0@(0-1),1@0,2@1"  # two workers on two CPUs
START_UP = 5  # seconds in which uclient starts its sessions one after another
INTERVAL = 10  # ms between two datagrams of a session

PICTURE = """
   client namespace              dut namespace                peer namespace
  turnutils_uclient ──bridge──  slipring (DPDK)   ──bridge──  turnutils_peer
   10.99.0.2 fd99::2          10.99.0.1  fd99::1           10.99.0.3 fd99::3
                                    │ sr0, its exception port
                              TCP of this kernel, TLS
"""

# Options of turnutils_uclient for each transport between client and server.
TRANSPORTS = {
    "UDP": ("-p", "3478"),
    "TCP": ("-t", "-p", "3478"),
    "TLS": ("-t", "-S", "-p", "5349"),
    "DTLS": ("-S", "-p", "5349"),
}
# Transport, path, kind of message, server, peer, options of each group of sessions.
GROUPS = (
    ("UDP", "IPv4 -> IPv4", "ChannelData", SERVER4, PEER4, ("-c",)),
    ("UDP", "IPv6 -> IPv6", "ChannelData", SERVER6, PEER6, ("-c", "-x")),
    ("UDP", "IPv4 -> IPv6", "Send / Data", SERVER4, PEER6, ("-c", "-x", "-s")),
    ("UDP", "IPv6 -> IPv4", "Send / Data", SERVER6, PEER4, ("-c", "-s")),
    ("TCP", "IPv4 -> IPv4", "ChannelData", SERVER4, PEER4, ("-c",)),
    ("TCP", "IPv6 -> IPv4", "Send / Data", SERVER6, PEER4, ("-c", "-s")),
    ("TLS", "IPv4 -> IPv6", "ChannelData", SERVER4, PEER6, ("-c", "-x")),
    ("TLS", "IPv6 -> IPv6", "ChannelData", SERVER6, PEER6, ("-c", "-x")),
    ("DTLS", "IPv4 -> IPv4", "ChannelData", SERVER4, PEER4, ("-c",)),
    ("DTLS", "IPv6 -> IPv4", "Send / Data", SERVER6, PEER4, ("-c", "-s")),
)
SESSIONS = 3  # per group
USER = f'-u ivan -W "{shipped.SECRET}"'
NOTES = {
    **dict.fromkeys(server.BACKGROUND, "traffic that the kernels send by themselves"),
    "exception-foreign": "unsolicited traffic of the kernel behind the exception port",
    "dtls-ended": "for clients that have closed",
}

COLUMNS = "{:>5} {:>6} {:>9} {:>9} {:>8} {:>8} {:>6}  {}"
HEAD = COLUMNS.format(
    "time", "allocs", "in pps", "out pps", "in Mb/s", "out Mb/s", "drops", "worker load"
)


def colour(code, text):
    return f"\033[{code}m{text}\033[0m" if sys.stdout.isatty() else text


def say(text=""):
    print(text, flush=True)


class Table:
    """Prints one line a second: differences of the telemetry counters."""

    def __init__(self, appliance):
        self.appliance, self.begin = appliance, time.monotonic()
        self.lines, self.most = 0, 0
        self.last = self.read()

    def read(self):
        return time.monotonic(), self.appliance.stats(), self.appliance.workers()

    def line(self):
        if self.lines % 20 == 0:
            say(colour(1, HEAD))
        self.lines += 1
        (before, old, old_workers), (now, new, new_workers) = self.last, self.read()
        self.last = now, new, new_workers
        rate = lambda key: (new[key] - old[key]) / (now - before)
        loads = []
        for was, is_ in zip(old_workers, new_workers):
            cycles = is_["total_cycles"] - was["total_cycles"] or 1
            loads.append(f"{100 * (is_['busy_cycles'] - was['busy_cycles']) / cycles:3.0f}%")
        self.most = max(self.most, rate("rx"))
        say(
            COLUMNS.format(
                f"{now - self.begin:.0f}s",
                new["allocations"],
                f"{rate('rx'):,.0f}",
                f"{rate('tx'):,.0f}",
                f"{rate('rx_bytes') * 8e-6:.1f}",
                f"{rate('tx_bytes') * 8e-6:.1f}",
                new["drops"],
                " ".join(loads),
            )
        )


def start_appliance(lab):
    """Starts the server with an example file and a DPDK file prefix of its own."""
    text = shipped.text(lab, CONFIG, lcores=LCORES)
    appliance = lab.server(text=text, allow=set(NOTES))
    out = labs.command(*"openssl x509 -noout -subject -fingerprint -sha256 -in".split(),
        shipped.certificate(lab))  # fmt: skip
    subject, fingerprint = out.replace("subject=", "").strip().splitlines()
    say(f"conf/{CONFIG}, certificate {subject}, self-signed")
    say(f"  {fingerprint.split('=')[1]}\n")
    return appliance


def watch(appliance, runs, seconds):
    """Prints the table until every client has finished."""
    table = Table(appliance)
    limit = time.monotonic() + seconds + 30
    tick = time.monotonic()
    while any(run.process.poll() is None for run in runs) and time.monotonic() < limit:
        tick += 1
        time.sleep(max(0, tick - time.monotonic()))
        appliance.running()
        table.line()
    return table


def sessions(runs):
    """Prints the table of messages sent and received. True if all of them came back."""
    rows = "{:<5}{:<15}{:<13}{:>9}{:>10}{:>7}  {}"
    say()
    heads = ("", "client -> peer", "messages", "sent", "received", "lost", "")
    say(colour(1, rows.format(*heads)))
    for run in runs:
        mark = colour(32, "ok") if run.complete else colour(31, "NOT COMPLETE")
        say(rows.format(*run.label, f"{run.sent:,}", f"{run.received:,}",
            f"{run.sent - run.received:,}", mark))  # fmt: skip
        if not run.complete:
            say("    " + "\n    ".join(run.output.strip().splitlines()[-6:]))
    return all(run.complete for run in runs)


def counted(appliance):
    """Prints the server's counters. True if they account for every datagram."""
    good = True
    try:
        appliance.check()
    except AssertionError as error:
        say(colour(31, f"not explained: {error}"))
        good = False
    total, stream = appliance.stats(), streams.counters(appliance)
    say()
    say(
        f"datagrams: {total['rx']:,} in, {total['made']:,} generated; {total['tx']:,} out, "
        f"{total['drops']:,} dropped, {total['consumed']:,} consumed, {total['held']:,} held"
    )
    for reason, count in sorted(appliance.drops().items(), key=lambda item: -item[1]):
        note = f"  ({NOTES[reason]})" if reason in NOTES else ""
        say(f"  dropped  {reason:<28}{count:>8,}{note}")
    handed = sum(worker["handed_in"] for worker in appliance.workers())
    say(f"  handed over between workers         {handed:>8,}")
    say(
        f"streams: {stream['accepted']:,} connections, {stream['handshakes']:,} of them with TLS; "
        f"{stream['rx']:,} messages in, {stream['tx']:,} out, {stream['queue_full']:,} dropped"
    )
    return good


def control_socket(appliance):
    """The control socket's path if the file does not set control.socket."""
    return f"/run/slipring/{appliance.prefix}.sock"


def reach(lab, appliance):
    say(f"""
Still running. TURN server 10.99.0.1 and [fd99::1]: UDP and TCP on 3478, TLS and DTLS on 5349, TCP and
TLS on 443.
  more clients   ip netns exec {lab.cli.name} turnutils_uclient {USER} -e {PEER4} {SERVER4}
  with TLS       ip netns exec {lab.cli.name} turnutils_uclient -t -S {USER} -e {PEER4} {SERVER4}
  with DTLS      ip netns exec {lab.cli.name} turnutils_uclient -S {USER} -e {PEER4} {SERVER4}
  who is there   {control.PROGRAM} --socket {control_socket(appliance)} allocations
                 (or status, users, explain USER, drops, ...)
  counters       dpdk-telemetry.py -f {appliance.prefix}     (/slipring/stats, /slipring/drops, ...)
  log            {appliance.log_path}
  end it         kill {os.getpid()}""")


def demo(lab, seconds):
    """The whole demo. True if media flowed both ways and nothing was lost."""
    say(PICTURE)
    appliance = start_appliance(lab)
    uclient.start_peer(lab)
    messages = max(1, seconds - START_UP) * 1000 // INTERVAL
    say(
        f"{len(GROUPS) * SESSIONS} sessions of turnutils_uclient, {1000 // INTERVAL} messages a "
        f"second each, echoed by the peer:\n"
    )
    runs = [
        uclient.start(lab, (transport, path, kind), address, peer, *options,
            *TRANSPORTS[transport], clients=SESSIONS, messages=messages, interval=INTERVAL,
            size=172, user=USER.replace('"', "").split(maxsplit=3))
        for transport, path, kind, address, peer, options in GROUPS
    ]  # fmt: skip
    table = watch(appliance, runs, seconds)
    for run in runs:
        run.finish(5)
    good = sessions(runs)
    good = counted(appliance) and good
    if good:
        say(
            colour(
                32,
                f"\nMedia flowed both ways, nothing was lost "
                f"(busiest second: {table.most:,.0f} datagrams).",
            )
        )
    return good, appliance


def detached(lab, appliance, status, pipe):
    """For --keep: the script exits, and this process owns the lab until it is killed."""
    reach(lab, appliance)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.write(pipe, bytes([status]))
    os.close(pipe)
    while True:
        signal.pause()


def show(args, pipe=None):
    """Runs the demo in its own lab. Returns the exit status."""
    signal.signal(signal.SIGTERM, labs.terminated)
    signal.signal(signal.SIGHUP, labs.terminated)
    with labs.Lab(port=args.port) as lab:
        try:
            good, appliance = demo(lab, args.seconds)
            status = 0 if good else 1
            if pipe is not None:
                detached(lab, appliance, status, pipe)
            appliance.stop()
        except labs.Skip as error:
            say(str(error))
            return 1
        except AssertionError as error:
            say(colour(31, f"failed: {error}"))
            for appliance in lab.servers:
                say(appliance.log()[-3000:])
            return 1
    return status


def main():
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__)
    parser.add_argument("--seconds", type=int, default=20, help="how long to relay (default 20)")
    parser.add_argument("--keep", action="store_true", help="leave it running afterwards")
    parser.add_argument("--port", choices=("vtap", "af_packet"), default=labs.PORT,
        help="kind of the server's port (default %(default)s)")  # fmt: skip
    args = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("must run as root (network namespaces)")
    if not args.keep:
        return show(args)
    theirs, ours = os.pipe()
    if os.fork() == 0:
        os.close(theirs)
        os._exit(show(args, ours))
    os.close(ours)
    status = os.read(theirs, 1)  # empty: the child exited before the lab was ready
    return status[0] if status else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        say("\ninterrupted; everything is removed")
        sys.exit(130)
