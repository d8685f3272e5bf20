#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""slipring-probe against slipring and coturn: all transports, and what it says of each thing that can
be wrong: address, port, certificate, credentials, firewall, peers, alternates."""

import json
import os
import shutil
import subprocess
import time

import alternate
import lab as labs
import streams
from lab import PEER4, SERVER4, SERVER6, until
from rereads import reload

BINARY = os.path.join(labs.BUILD, "app/slipring-probe/slipring-probe")
IVAN = ("--user", "ivan", "--password", "pw")
RELAY = "49152-65535"  # of coturn


def probe(lab, *args, code=0, **kwargs):
    """Runs the probe in the clients' namespace, and returns its output."""
    argv = lab.cli.argv(BINARY, "--timeout", str(2 * labs.SLOW), *args)
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120, **kwargs)
    assert done.returncode == code, (args, done)
    return done.stdout or done.stderr


def result(lab, *args, code=0):
    """The result of the only transport that is probed."""
    answer = json.loads(probe(lab, "--json", *args, code=code))
    (one,) = answer["transports"]
    assert answer["ok"] == one["ok"] == (code == 0), answer
    return one


def fails(lab, step, words, *args):
    """The probe fails at a step and says these words."""
    one = result(lab, *args, code=1)
    assert one["step"] == step and words in one["error"] and one["advice"], one
    return one


def good(lab, ca, *args):
    """One transport works in all its steps."""
    one = result(lab, *IVAN, "--ca", ca, "--name", "turn.example.org", *args)
    steps = {"resolve", "binding", "allocate", "permission", "echo", "release"}
    assert steps <= set(one["ms"]), one
    assert one["mapped"] and one["relayed"] and one["relay_firewall_tested"], one
    assert one["realm"] == "turn.test" and one["error"] is None, one
    if one["transport"] in ("tls", "dtls"):
        assert one["certificate_days"] == 1 and "handshake" in one["ms"], one
    return one


def all_good(lab, ca):
    for host, transport in ((SERVER4, "udp"), (SERVER6, "udp"), (streams.V4, "tcp"),
                            (streams.V6, "tls"), (SERVER4, "dtls")):  # fmt: skip
        good(lab, ca, "--transport", transport, host)
    assert good(lab, ca, f"turns:{SERVER4}?transport=udp")["transport"] == "dtls"
    # coturn has all of them at one address
    said = probe(lab, *IVAN, "--ca", ca, "--name", "turn.example.org", PEER4)
    for transport in ("udp", "tcp", "tls", "dtls"):
        assert f"{transport:<5} ok " in said, said
    result(lab, "--secret", "s3cret", "--user", "x", f"turn:{SERVER4}?transport=udp")
    file = os.path.join(lab.dir, "secret")
    with open(file, "w") as out:
        print("older", file=out)
    result(lab, "--secret-file", file, f"turn:{SERVER4}?transport=udp")


def in_other_forms(lab, ca):
    """Only what answers counts, unless it was named. Without credentials only Binding is tested."""
    said = probe(lab, "--ca", ca, "--name", "turn.example.org", SERVER4)
    assert "tcp   absent" in said and "tls   absent" in said, said
    assert said.count("only connection and Binding") == 2, said
    metrics = probe(lab, "--prometheus", *IVAN, "--transport", "udp,tcp", SERVER4, code=1)
    where = f'slipring_probe_up{{server="{SERVER4}",transport='
    assert where + '"udp"} 1\n' in metrics and where + '"tcp"} 0\n' in metrics, metrics
    assert "absent" not in probe(lab, "--timeout", "1", "10.99.0.77", code=1)
    assert "turn://" not in probe(lab, "turn://x", code=2)


def nothing_there(lab):
    fails(lab, "binding", "no answer over UDP from port 9", f"turn:{SERVER4}:9?transport=udp")
    fails(lab, "binding", "nothing listens on UDP port 9", f"turn:{PEER4}:9?transport=udp")
    fails(lab, "connect", "nothing listens on TCP port 9", f"turn:{streams.V4}:9?transport=tcp")
    fails(lab, "handshake", "no answer over UDP", f"turns:{SERVER4}:9?transport=udp")
    fails(lab, "handshake", "closed the connection", f"turns:{streams.V4}:3478?transport=tcp")
    fails(lab, "resolve", "no address", "turn:name.invalid?transport=udp")


def credentials(lab):
    udp = f"turn:{SERVER4}?transport=udp"
    old = f"{int(time.time()) - 9}:ivan"
    fails(lab, "allocate", "its password is wrong", "--user", "ivan", "--password", "no", udp)
    fails(lab, "allocate", "its password is wrong", "--user", "who", "--password", "pw", udp)
    fails(lab, "allocate", "has passed", "--user", old, "--password", "pw", udp)
    one = fails(lab, "allocate", "made from the secret", "--secret", "other", udp)
    assert one["code"] == 401 and one["realm"] == "turn.test" and one["relayed"] is None, one


def certificates(lab, ca):
    tls, dtls = f"turns:{streams.V4}?transport=tcp", f"turns:{SERVER4}?transport=udp"
    wrong = ("--name", "other.example.org")
    for server in (tls, dtls):
        one = fails(lab, "handshake", "is not trusted", *IVAN, server)
        assert one["certificate_days"] == 1 and one["mapped"] is None, one
        fails(lab, "handshake", "another name than other", *IVAN, "--ca", ca, *wrong, server)
        fails(lab, "handshake", "another name than 10.99", *IVAN, "--ca", ca, server)


def expired(lab, ca):
    """A server whose certificate has expired."""
    cert, request = (os.path.join(lab.dir, name) for name in ("old.pem", "cert-request"))
    key = os.path.join(lab.dir, "cert.key")
    labs.command(*("openssl", "x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca + ".key"),
        *("-days", "-1", "-copy_extensions", "copy", "-out", cert))  # fmt: skip
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    lab.popen(lab.peer, "openssl", "s_server", "-accept", f"{PEER4}:9443", "-cert", cert, "-key", key,
        "-www", **quiet)  # fmt: skip
    listens = lambda: lab.peer.run("ss", "-lntH", "sport = 9443")
    until(listens, 10, "s_server listens")
    one = fails(lab, "handshake", "has expired", "--ca", ca, "--name", "turn.example.org",
        f"turns:{PEER4}:9443?transport=tcp")  # fmt: skip
    assert one["certificate_days"] < 0, one


def firewalled(lab):
    """A firewall of the relay range, in front of coturn and in front of the peer."""
    rules = ((lab.peer, "dport", "gets no datagrams"), (lab.cli, "sport", "to the peer"))
    for ns, port, words in rules:
        rule = f"type filter hook input priority 0; udp {port} {RELAY} drop;"
        ns.run("nft", f"table ip probe {{ chain c {{ {rule} }}; }}")
        one = fails(lab, "echo", words, *IVAN, f"turn:{PEER4}?transport=tcp")
        assert one["relayed"] in one["error"], one
        ns.run("nft", "delete table ip probe")


def refused_as_peer(lab, server):
    """The server allows no peers but its own relay addresses, or not even those."""
    reload(server, {"peers": {"allow": []}})
    for url in (f"turn:{SERVER4}?transport=udp", f"turn:{streams.V4}?transport=tcp"):
        one = result(lab, *IVAN, url)
        assert not one["relay_firewall_tested"], one
    said = probe(lab, *IVAN, f"turn:{SERVER4}?transport=udp")
    assert "firewall of the relay range was not tested" in said, said
    reload(server, {"peers": {"allow": [], "hairpin": False}})
    fails(lab, "permission", "403", *IVAN, f"turn:{SERVER4}?transport=udp")
    reload(server, {})


def sent_away(lab, server, ca):
    """The probe follows one alternate, and says so."""
    server2 = {"address": PEER4, "name": "turn.example.org"}
    reload(server, {"alternate": {"servers": [server2]}})
    for url, port in ((f"turn:{SERVER4}?transport=udp", 3478),
                      (f"turns:{streams.V4}?transport=tcp", 5349)):  # fmt: skip
        one = good(lab, ca, url)
        assert one["alternate"] == one["address"] == f"{PEER4}:{port}", one
    assert f"sent the client to {PEER4}:3478" in probe(lab, *IVAN, f"turn:{SERVER4}?transport=udp")
    reload(server, {})


def main(lab):
    labs.need_own_server()
    if not os.path.exists(BINARY):
        raise labs.Skip(f"{BINARY} is not built")
    for program in ("turnserver", "nft"):
        if not shutil.which(program):
            raise labs.Skip(f"{program} is not installed")
    streams.join(lab)
    config = streams.config(lab, ("tcp", "tls"))
    config["listeners"].append({"transport": "dtls", "address": SERVER4, "port": 5349})
    ca = streams.signed_certificate(lab, "DNS:turn.example.org", "cert")
    alternate.coturn(lab, *(os.path.join(lab.dir, f"cert.{kind}") for kind in ("pem", "key")))
    server = lab.server(config, allow=("no-listener",))  # port 9
    all_good(lab, ca)
    in_other_forms(lab, ca)
    nothing_there(lab)
    credentials(lab)
    certificates(lab, ca)
    expired(lab, ca)
    firewalled(lab)
    refused_as_peer(lab, server)
    sent_away(lab, server, ca)
    assert server.allocations() == []


if __name__ == "__main__":
    labs.run(main)
