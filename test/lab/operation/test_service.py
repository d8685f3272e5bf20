#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The systemd unit and its drop-ins: every file of conf/ starts under them (confine.py). Without a
required drop-in it fails, or starts with a warning (several queues of a vtap), and the message
names the capability.
"""

import glob
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile

import lab as labs
import server
import streams

CONF = os.path.join(labs.TOP, "conf")
UNIT = os.path.join(labs.BUILD, "conf/slipring.service")
CONFINE = os.path.join(labs.TOP, "test/lab/operation/confine.py")
PORTS, QUEUES, NAMESPACES = "ports-below-1024", "vtap-queues", "namespaces"
PACKET = "packet"  # BPF programs next to packet sockets
METRICS = "metrics"  # test_exporter tests it
USER = "own-user"
BECOME = "process-user"  # root changes to another user
EXPOSED_MOST = 3.0
LEAKS = ("env", "ASAN_OPTIONS=detect_leaks=0")  # leak detection needs ptrace(2), which the unit refuses
NEEDS = {  # drop-ins of each file, all that exist
    "minimal.yaml": (),
    "cloud.yaml": (),
    "cloud-dhcp.yaml": (),
    "gcp.yaml": (),
    "azure.yaml": (),
    "one-nic.yaml": (),
    "conference.yaml": (),
    "multi-port.yaml": (),
    "vlans.yaml": (),
    "slipring.yaml": (),
    "shared.yaml": (PORTS,),
    "streams.yaml": (PORTS,),
    "transports.yaml": (PORTS,),
    "lab.yaml": (QUEUES,),
    "packet.yaml": (PACKET,),
}
NAMES = {PORTS: "CAP_NET_BIND_SERVICE", QUEUES: "CAP_BPF", NAMESPACES: "CAP_SYS_ADMIN", PACKET: "CAP_BPF"}
NAMES[BECOME] = "CAP_SETUID"
# Adapts them to the site, and to the size of a lab machine.
CHANGES = (
    ("0000:3b:00.0", "vtap:s0,queues=1"),
    ("0000:3b:00.1", "vtap:s1,queues=1"),
    ("0000:00:06.0", "vtap:s0,queues=1"),
    ("{address: dhcp, external: 203.0.113.5}, slaac", "10.0.0.5/24"),  # no DHCP and SLAAC here
    ("f8615163-0001-1000-2000-000d3a123456", "vtap:s0,queues=1"),  # a VMBus device
    ("vtap:d0", "vtap:s0"),
    ("packet:eth0", "packet:s9"),
    ("count: 8, idle: busy", "count: 2"),
    ("allocations: 1000000", "allocations: 1000"),
    (" connections: 20000", " connections: 1000"),
    ("to: syslog, level: notice", "to: stderr"),
)


def drop_in(name):
    if name == METRICS:
        return os.path.join(labs.BUILD, "conf/metrics.conf")
    return os.path.join(CONF, "slipring.service.d", name + ".conf")


def text(lab, name, device=None):
    """A file of conf/ for this site."""
    with open(os.path.join(CONF, name)) as file:
        out = file.read()
    for old, new in CHANGES:
        out = out.replace(old, new)
    if name == "packet.yaml":  # a BPF program needs more than one worker
        out = out.replace("workers: {", "workers: {count: 2, ")
    if device:
        out = out.replace("vtap:s0", device)
    certificate, key = streams.certificate(lab, "turn.example", "service")
    out = out.replace("/etc/slipring/fullchain.pem", certificate)
    out = out.replace("/etc/slipring/privkey.pem", key)
    eal = f"file-prefix: {lab.prefix}n{len(lab.servers)}"
    for old in ("file-prefix: slipring", "eal: {lcores"):
        if old in out:
            return out.replace(old, eal if old.startswith("file") else f"eal: {{{eal}, lcores")
    return f"{out}eal: {{{eal}}}\n"


def start(lab, config, drop_ins):
    """Starts the server under the unit and drop-ins. Returns it when ready."""
    units = [UNIT, *map(drop_in, drop_ins)]
    return lab.server(
        text=config,
        args=("--drivers", os.path.join(labs.TOP, "drivers-config")),
        under=(*LEAKS, sys.executable, CONFINE, *units, "--"),
    )


def starts(lab, name, config, drop_ins):
    print(f"{name}: starts with {', '.join(drop_ins) or 'the unit alone'}", flush=True)
    start(lab, config, drop_ins).stop()


def refused(lab, name, config, drop_ins, capability):
    print(f"{name}: does not start without {capability}", flush=True)
    try:
        start(lab, config, drop_ins)
    except AssertionError as error:
        assert "exited with 1" in str(error), error
    else:
        raise AssertionError(f"{name} starts without {capability}")
    assert_told(lab, capability)


def warned(lab, name, config, drop_ins, capability):
    print(f"{name}: starts with a warning without {capability}", flush=True)
    start(lab, config, drop_ins).stop()
    assert_told(lab, capability)


def assert_told(lab, capability):
    assert capability in lab.servers[-1].log(), lab.servers[-1].log()[-1500:]


def check_confine(lab):
    """An unknown directive is an error for confine.py, and removed privileges are gone."""
    odd = os.path.join(lab.dir, "odd.conf")
    with open(odd, "w") as file:
        file.write("[Service]\nProtectFromRain=yes\n")
    done = subprocess.run(
        [sys.executable, CONFINE, UNIT, odd, "--", "/bin/true"], capture_output=True, check=False
    )
    assert done.returncode and b"ProtectFromRain" in done.stderr, done
    done = subprocess.run(
        [sys.executable, CONFINE, UNIT, "--", "/bin/cat", "/proc/self/status"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    status = dict(line.split(":", 1) for line in done.stdout.splitlines())
    want = sum(1 << bit for bit in (12, 13, 14, 23))  # NET_ADMIN, NET_RAW, IPC_LOCK, SYS_NICE
    assert int(status["CapBnd"], 16) == int(status["CapEff"], 16) == want, status["CapBnd"]
    assert status["NoNewPrivs"].strip() == "1" and status["Seccomp"].strip() == "2"
    done = subprocess.run(
        [sys.executable, CONFINE, UNIT, "--", "/usr/bin/unshare", "-n", "/bin/true"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0, "a namespace is made"


def as_a_user(lab):
    """With own-user it never is root: ambient capabilities open the port, and are given up then."""
    print(f"minimal.yaml: starts as another user with {USER}", flush=True)
    nobody = pwd.getpwnam("nobody")
    under = (*LEAKS, sys.executable, CONFINE, UNIT, drop_in(USER), "--")
    drivers = lab.public(os.path.join(labs.TOP, "drivers-config"))
    s = server.Slipring(lab, text=text(lab, "minimal.yaml"), args=("--drivers", drivers), under=under)
    s.binary = lab.public(s.binary)
    lab.servers.append(s)
    lab.cleanup.callback(s.kill)
    # RuntimeDirectory= creates it, in memory.
    runtime = lab.cleanup.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm"))
    os.chmod(runtime, 0o755)
    open(s.path, "w").close()
    for path in (runtime, s.path):
        os.chown(path, nobody.pw_uid, nobody.pw_gid)
    s.telemetry.path = f"{runtime}/dpdk/{s.prefix}/dpdk_telemetry.v2"
    os.environ["RUNTIME_DIRECTORY"] = runtime
    try:
        s.start()
    finally:
        del os.environ["RUNTIME_DIRECTORY"]
    want = f"privileges: user {nobody.pw_uid}, capabilities: CAP_NET_ADMIN"
    labs.until(lambda: s.running() and want in s.log(), 10, want)
    assert f"state: {runtime}/state, " in s.log(), "calls outlive the process, without a key for it"
    s.stop()


def becomes_a_user(lab):
    """process.user under the unit: refused with advice, or applied."""
    config = text(lab, "minimal.yaml") + "process: {user: nobody}\n"
    refused(lab, "process.user", config, (), NAMES[BECOME])
    assert "process-user.conf" in lab.servers[-1].log()
    starts(lab, "process.user", config, (BECOME,))
    uid = pwd.getpwnam("nobody").pw_uid
    assert f"privileges: user {uid}, capabilities: CAP_NET_ADMIN" in lab.servers[-1].log()
    starts(lab, "process.user: root", config.replace("nobody", "root"), ())


def exposure(*drop_ins):
    """The exposure that systemd-analyze reports for the unit with these drop-ins."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(UNIT, folder)
        os.mkdir(os.path.join(folder, "slipring.service.d"))
        for name in drop_ins:
            shutil.copy(drop_in(name), os.path.join(folder, "slipring.service.d"))
        # The tool reads drop-ins of a unit given by path from the unit's folder.
        done = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", "--no-pager", os.path.join(folder, "slipring.service")],
            capture_output=True, text=True, check=False, env={**os.environ, "LANG": "C.UTF-8"},
        )  # fmt: skip
    return float(re.search(r"Overall exposure level for slipring.service: ([\d.]+)", done.stdout)[1])


def check_exposure():
    if not shutil.which("systemd-analyze"):
        return print("no systemd-analyze here: the exposure is not checked")
    alone = exposure()
    assert alone <= EXPOSED_MOST, alone
    each = {name: exposure(name) for name in (*NAMES, METRICS, USER)}
    print(f"exposure: {alone}; with {each}", flush=True)
    assert each[USER] < alone < each[NAMESPACES], each  # the tool has read them


def share(lab):
    """The interface for packet.yaml, with its addresses, and the ports that it requests."""
    lab.dut.ip(*"link add s9 type veth peer name s8".split())
    for interface in ("s8", "s9"):
        lab.dut.ip("link", "set", interface, "up")
    lab.dut.ip("addr", "add", "192.0.2.1/24", "dev", "s9")
    lab.dut.ip("-6", "addr", "add", "2001:db8::1/64", "dev", "s9", "nodad")
    lab.dut.run("sysctl", "-qw", "net.ipv4.ip_local_reserved_ports=49152-65535")


def main(lab):
    labs.need_own_server()
    check_exposure()
    if not os.path.exists(server.BINARY):
        raise labs.Skip("not built")
    assert {os.path.basename(f) for f in glob.glob(CONF + "/*.yaml")} == set(NEEDS)
    assert set(glob.glob(CONF + "/slipring.service.d/*.conf")) == {*map(drop_in, (*NAMES, USER))}
    check_confine(lab)
    lab.dut.ip("addr", "add", "192.0.2.130/32", "dev", "lo")  # the kernel's own address, for streams.yaml
    share(lab)
    for name, drop_ins in NEEDS.items():
        for missing in drop_ins:
            check = warned if missing == QUEUES else refused
            check(lab, name, text(lab, name), (), NAMES[missing])
        starts(lab, name, text(lab, name), drop_ins)
        assert not any(cap in lab.servers[-1].log() for cap in NAMES.values())
    as_a_user(lab)
    becomes_a_user(lab)
    device = f"vtap:s0,netns={lab.sw.name}"
    config = text(lab, "minimal.yaml", device)
    refused(lab, device, config, (), NAMES[NAMESPACES])
    starts(lab, device, config, (NAMESPACES,))


if __name__ == "__main__":
    labs.run(main)
