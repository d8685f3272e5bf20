#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files of coturn as some projects want them are taken over by scripts/import-turnserver-conf, on the
machine that they are for. slipring --check has nothing against what comes of them, and
turnutils_uclient calls through it.
"""

# long: calls through all of them, else through two

import os
import re
import shlex
import subprocess

import lab as labs
import server as servers
import streams
import uclient
from lab import PEER4, SERVER4, SERVER6

SCRIPT = os.path.join(labs.TOP, "scripts/import-turnserver-conf")
SECRET = "north-of-the-river"
REST = ("-u", "ivan", "-W", SECRET)

# What the documents of each project tell one to set, with the lab's addresses and paths.
NEXTCLOUD_TALK = f"""
listening-port=3478
fingerprint
use-auth-secret
static-auth-secret={SECRET}
realm=cloud.example.org
total-quota=0
bps-capacity=0
stale-nonce
no-multicast-peers
"""
MATRIX_SYNAPSE = f"""
use-auth-secret
static-auth-secret={SECRET}
realm=turn.example.org
# voice and video are relayed over UDP alone
no-tcp-relay
# no way into the private network, nor to what only this machine reaches
denied-peer-ip=10.0.0.0-10.255.255.255
denied-peer-ip=192.168.0.0-192.168.255.255
denied-peer-ip=172.16.0.0-172.31.255.255
no-multicast-peers
denied-peer-ip=0.0.0.0-0.255.255.255
denied-peer-ip=100.64.0.0-100.127.255.255
denied-peer-ip=127.0.0.0-127.255.255.255
denied-peer-ip=169.254.0.0-169.254.255.255
denied-peer-ip=::1
denied-peer-ip=64:ff9b::-64:ff9b::ffff:ffff
denied-peer-ip=::ffff:0.0.0.0-::ffff:255.255.255.255
denied-peer-ip=2001::-2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff
denied-peer-ip=fc00::-fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
denied-peer-ip=fe80::-febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff
# the other end of calls with one client behind a NAT
allowed-peer-ip={PEER4}
user-quota=12
total-quota=1200
cert=CERTIFICATE
pkey=PRIVATE-KEY
no-tlsv1
no-tlsv1_1
"""
JITSI_MEET = f"""
use-auth-secret
keep-address-family
static-auth-secret={SECRET}
realm=meet.example.org
cert=CERTIFICATE
pkey=PRIVATE-KEY
no-multicast-peers
no-cli
no-loopback-peers
no-tcp-relay
no-tcp
listening-port=3478
tls-listening-port=5349
no-tlsv1
no-tlsv1_1
cipher-list=ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384
denied-peer-ip=192.168.0.0-192.168.255.255
allowed-peer-ip={PEER4}
syslog
"""
BIGBLUEBUTTON = f"""
listening-port=3478
tls-listening-port=443
listening-ip={SERVER4}
relay-ip={SERVER4}
external-ip=203.0.113.7/{SERVER4}
min-port=32769
max-port=65535
verbose
fingerprint
lt-cred-mech
use-auth-secret
static-auth-secret={SECRET}
realm=bbb.example.org
cert=CERTIFICATE
pkey=PRIVATE-KEY
cipher-list="ECDHE+AESGCM:ECDHE+CHACHA20"
dh-file=/etc/turnserver/dhp.pem
keep-address-family
no-cli
no-rfc5780
no-tlsv1
no-tlsv1_1
"""
# That of the container image, with a user, because its database is not there.
CONTAINER = """
listening-port=3478
tls-listening-port=5349
min-port=49152
max-port=65535
fingerprint
lt-cred-mech
mysql-userdb="host=mysql dbname=coturn user=coturn password=secret port=3306 connect_timeout=10"
realm=example.org
cert=CERTIFICATE
pkey=PRIVATE-KEY
cli-ip=127.0.0.1
cli-port=5766
cli-password=secret
user=ivan:pw
"""
UDP, TCP, TLS, TLS443 = (), ("-t",), ("-t", "-S", "-p", "5349"), ("-t", "-S", "-p", "443")
PRIVATE = ("--private-peers",)
# Name, file, options of the script, its exit code, what it says, users, clients' transports.
FILES = (
    ("Nextcloud Talk", NEXTCLOUD_TALK, PRIVATE, 0, "fingerprint: always so", REST, (UDP, TCP)),
    ("Matrix Synapse", MATRIX_SYNAPSE, (), 0, "nothing to be written", REST, (UDP, TLS)),
    ("Jitsi Meet", JITSI_MEET, (), 0, "no-tcp-relay: always so", REST, (UDP, TLS)),
    ("BigBlueButton", BIGBLUEBUTTON, PRIVATE, 0, "dh-file: not here", REST, (UDP, TLS443)),
    ("the container", CONTAINER, PRIVATE, 1, "mysql-userdb: not here", uclient.USER, (UDP, TCP, TLS)),
)  # fmt: skip
CALLED = ("Matrix Synapse", "the container")
MORE = """eal: {{file-prefix: {prefix}}}
drivers: {top}/drivers-config
process: {{seccomp: kill}}
control: {{socket: ""}}
crash: {{directory: ""}}
"""


def taken_over(lab, name, text, options, code, says, pair):
    """The slipring.yaml that the script prints in the namespace of the server."""
    path = os.path.join(lab.dir, "turnserver.conf")
    with open(path, "w") as file:
        file.write(text.replace("CERTIFICATE", pair[0]).replace("PRIVATE-KEY", pair[1]))
    argv = lab.dut.argv(SCRIPT, *options, path)
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{name}: {done.returncode}, {done.stderr}"
    assert says in done.stderr, f"{name}: {done.stderr}"
    assert "device: packet:d0 " in done.stdout, done.stdout
    return done.stdout


def prepare(lab, text):
    """Does what a comment of the file asks for: the kernel keeps off the relay ports."""
    text = re.sub(r"\n# ?", " ", text)
    command = re.search(r"`(sysctl -w net\.ipv4\.ip_local_\w+=[^`]+)`", text)
    lab.dut.run("sysctl", "-w", "net.ipv4.ip_local_port_range=32768 60999")  # as on any machine
    lab.dut.run(*shlex.split(command[1]))


def check(lab, name, text):
    path = os.path.join(lab.dir, "check.yaml")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    argv = lab.dut.argv(servers.BINARY, "--check", "-c", path)
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    print(f"{name}: {done.stderr.splitlines()[-1]}", flush=True)
    assert done.returncode == 0, done.stdout + done.stderr


def calls(lab, name, user, transports):
    """Clients over all transports of a file, at once."""
    runs = [
        uclient.start(lab, f"{name} {' '.join(options) or 'UDP'}", SERVER4, PEER4, "-c", *options,
            clients=1, messages=20, user=user)
        for options in transports
    ]  # fmt: skip
    bad = uclient.finish(runs)
    assert not bad, bad


def main(lab):
    labs.need_own_server()
    pair = streams.certificate(lab, "turn.test")
    uclient.start_peer(lab)
    for name, text, options, code, says, user, transports in FILES:
        made = taken_over(lab, name, text, options, code, says, pair)
        prepare(lab, made)
        prefix = f"{lab.prefix}n{len(lab.servers)}"
        made += MORE.format(prefix=prefix, top=labs.TOP)
        check(lab, name, made)
        if labs.LONG or name in CALLED:
            server = lab.server(text=made)
            calls(lab, name, user, transports)
            server.check()
            server.stop()
    assert SERVER6 in made, "the addresses of the interface are there, whatever their family"


if __name__ == "__main__":
    labs.run(main, port="packet")
