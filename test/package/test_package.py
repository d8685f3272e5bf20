#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the Debian packages as their users install them: test_package.py ROOT NEW [OLD]

ROOT is a minimal Debian (scripts/roots.sh), which is copied; NEW and OLD are folders of packages
(scripts/package). OLD is NEW with a lower version by default. Installs them, fills in the
configuration, starts the server with the command and the limits of its unit, relays datagrams of
slipring-loadgen, probes all transports, reloads, scrapes the exporter, upgrades while clients of UDP,
TLS and DTLS are connected, goes back, runs the commands of documents (documents.py), removes and purges:
no file, user or interface is left.

A stand-in for systemctl starts and stops the server, because no systemd runs here. Everything is in
network namespaces and in a mount namespace of this test.
"""

import contextlib
import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import documents

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
CONFINE = "/src/test/lab/operation/confine.py"
NAMES = ("slipring", "slipring-accounts", "slipring-exporter", "slipring-loadgen")
SERVER, CLIENT = "192.0.2.1", "192.0.2.2"
SECRET = "change me"  # as in README.md
CERTIFICATE, KEY = "/etc/slipring/fullchain.pem", "/etc/slipring/privkey.pem"
# Written by the package manager itself, for any package
OF_APT = re.compile(
    "/(var/(cache|log|lib/(apt|dpkg|systemd|pam|python|deborphan))|etc/(ld.so.cache|apt|[^/]*-$)|run|tmp|proc|sys|dev|src|build-packages)"
    "(/|$)|.*__pycache__"
)
ACCOUNTS = ("/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow")
# systemctl for maintainer scripts and for `slipringctl`: it knows one unit
SYSTEMCTL = """#!/bin/sh
case "$*" in
*"show --property MainPID"*) cat /run/slipring.pid 2>/dev/null || echo 0 ;;
*is-active*slipring.service*) test -s /run/slipring.pid ;;
"daemon-reload") ;;
"enable --now slipring" | "start slipring") slipringctl status >/dev/null 2>&1 || exec /run/start ;;
"reload slipring") exec /run/reload ;;
"restart slipring" | *restart*slipring.service*) kill -TERM "$(cat /run/slipring.pid)"
	while kill -0 "$(cat /run/slipring.pid)" 2>/dev/null; do sleep 0.05; done
	exec /run/start ;;
*stop*slipring.service*) test ! -s /run/slipring.pid || kill -TERM "$(cat /run/slipring.pid)"
	: >/run/slipring.pid ;;
*) exit 0 ;;
esac
"""


def step(text):
    print(f"  {text}", flush=True)


def run(*words, check=True, **options):
    done = subprocess.run(words, text=True, capture_output=True, timeout=900, **options)
    if check and done.returncode:
        raise AssertionError(f"{shlex.join(words)}: exit status {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done


def until(condition, seconds, goal):
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"after {seconds} s: {goal() if callable(goal) else goal}"
        time.sleep(0.05)
    return value


class Root:
    """A Debian with mounts of its own, on two network namespaces with a cable between them."""

    def __init__(self, pristine, cleanup):
        base = tempfile.mkdtemp(prefix="package-", dir=os.path.dirname(os.path.abspath(pristine)))
        cleanup.callback(shutil.rmtree, base, ignore_errors=True)
        self.path = os.path.join(base, "root")
        run("cp", "-a", "--reflink=auto", pristine, self.path)
        self.names = {side: f"pk{os.getpid()}{side}" for side in ("s", "c")}
        for name in self.names.values():
            run("ip", "netns", "add", name)
            cleanup.callback(run, "ip", "netns", "del", name, check=False)
        s, c = self.names["s"], self.names["c"]
        run("ip", "-n", s, "link", "add", "s0", "type", "veth", "peer", "name", "c0", "netns", c)
        for name, link, address in ((s, "s0", SERVER), (c, "c0", CLIENT)):
            run("ip", "-n", name, "addr", "add", address + "/24", "dev", link)
            run("ip", "-n", name, "link", "set", link, "up")
            run("ip", "-n", name, "link", "set", "lo", "up")
            run("ip", "netns", "exec", name, "ethtool", "-K", link, "tx", "off")
        run("ip", "netns", "exec", s, "sysctl", "-qw", "net.ipv4.ip_local_reserved_ports=49152-65535")
        # a process in the server's namespace, through which others enter it
        self.holder = subprocess.Popen(["nsenter", f"--net=/run/netns/{s}", "sleep", "inf"])
        cleanup.callback(self.holder.wait)
        cleanup.callback(self.holder.kill)
        os.makedirs(self.path + "/src", exist_ok=True)
        for source, target, kind in (("proc", "/proc", "proc"), ("tmpfs", "/run", "tmpfs")):
            run("mount", "-t", kind, source, self.path + target)
            cleanup.callback(run, "umount", "-l", self.path + target, check=False)
        for source, target in (("/sys", "/sys"), ("/dev", "/dev"), (TOP, "/src")):
            run("mount", "--rbind", source, self.path + target)
            cleanup.callback(run, "umount", "-l", self.path + target, check=False)
        for name in ("resolv.conf", "hosts"):
            shutil.copy("/etc/" + name, self.path + "/etc/")
        # apt asks no questions, and leaves out 45 MB of drivers and tools
        self.write("/etc/apt/apt.conf.d/99test", 'APT::Get::Assume-Yes "true";\nAPT::Install-Recommends "false";\n')
        with open(self.path + "/usr/sbin/policy-rc.d", "w") as file:
            file.write("#!/bin/sh\nexit 0\n")
        os.chmod(self.path + "/usr/sbin/policy-rc.d", 0o755)

    def words(self, *words, side=None):
        env = ("env", "-i", "HOME=/root", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive",
               "PYTHONDONTWRITEBYTECODE=1", "PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin")  # fmt: skip
        space = ("nsenter", f"--net=/run/netns/{self.names[side]}") if side else ()
        return (*space, "chroot", self.path, *env, *words)

    def run(self, *words, side=None, **options):
        return run(*self.words(*words, side=side), **options)

    def write(self, path, text, mode=0o644):
        os.makedirs(os.path.dirname(self.path + path), exist_ok=True)
        with open(self.path + path, "w") as file:
            file.write(text)
        os.chmod(self.path + path, mode)

    def read(self, path):
        with open(self.path + path) as file:
            return file.read()

    def files(self):
        """All files that are not the package manager's, with the accounts as lines of text."""
        found = set()
        for folder, folders, names in os.walk(self.path):
            inner = folder[len(self.path) :]
            folders[:] = [f for f in folders if not OF_APT.match(f"{inner}/{f}")]
            found |= {f"{inner}/{n}" for n in (*folders, *names) if not OF_APT.match(f"{inner}/{n}")}
        accounts = {line.split(":")[0] for path in ACCOUNTS for line in self.read(path).splitlines()}
        return found | {f"account {name}" for name in accounts}

    def links(self):
        return run("ip", "-n", self.names["s"], "-br", "link").stdout


class Unit:
    """The service of the package. confine.py applies the limits of its unit."""

    def __init__(self, root):
        self.root = root
        self.file = next(f for f in ("/usr/lib/systemd/system/slipring.service", "/lib/systemd/system/slipring.service")
                         if os.path.exists(root.path + f))  # fmt: skip
        self.drop_in = "/usr/share/slipring/slipring.service.d/packet.conf"
        root.write("/run/systemctl", SYSTEMCTL, 0o755)
        run("mount", "--bind", root.path + "/run/systemctl", root.path + "/usr/bin/systemctl")
        os.makedirs(root.path + "/run/systemd/system", exist_ok=True)
        for folder in ("/run/slipring", "/var/log/slipring"):  # RuntimeDirectory=, LogsDirectory=
            os.makedirs(root.path + folder, exist_ok=True)
            os.chmod(root.path + folder, 0o755)
        line = shlex.join((sys.executable_in_root, CONFINE, self.file, self.drop_in, "--", *self.line("ExecStart")))
        root.write("/run/start", f"""#!/bin/sh
export RUNTIME_DIRECTORY=/run/slipring LOGS_DIRECTORY=/var/log/slipring
setsid nsenter --net=/proc/{root.holder.pid}/ns/net {line} >>/run/slipring.log 2>&1 </dev/null &
echo $! >/run/slipring.pid
for i in $(seq 400); do slipringctl status >/dev/null 2>&1 && exit; sleep 0.05; done
exit 1
""", 0o755)  # fmt: skip
        root.write("/run/reload", f"#!/bin/sh\nMAINPID=$(cat /run/slipring.pid) exec {shlex.join(self.line('ExecReload'))}\n", 0o755)

    def line(self, key):
        return shlex.split(re.search(rf"^{key}=(.*)$", self.root.read(self.file), re.M)[1])

    def pid(self):
        return int(self.root.read("/run/slipring.pid") or 0)

    def log(self):
        return self.root.read("/run/slipring.log")

    def runs(self):
        return os.path.exists(f"/proc/{self.pid()}/exe")

    def kill(self):
        with contextlib.suppress(OSError, ValueError):
            if self.pid():
                os.kill(self.pid(), signal.SIGKILL)


def loadgen(root, *options):
    """The report of slipring-loadgen about one second of traffic."""
    done = root.run(
        "slipring-loadgen", "--client-port", "net_af_packet0,iface=c0", "--server", SERVER,
        "--client-addr", "192.0.2.10-192.0.2.19/24", "--peer-addr", "192.0.2.20/24", "--secret",
        SECRET, "--user", "load", "--clients", "10", "--pps", "500", "--warmup", "0",
        "--duration", "1", "--json", *options, side="c",
    )  # fmt: skip
    return json.loads(done.stdout)


def relayed(root):
    report = loadgen(root)
    sent, delivered = (sum(leg[count] for leg in report["ways"].values()) for count in ("sent", "delivered"))
    assert delivered > max(0.8 * sent, 100), json.dumps(report)[:2000]  # a busy machine sends fewer
    return delivered


def debs(folder, *names):
    return [next(iter(sorted(glob.glob(f"{folder}/{name}_*.deb")))) for name in names]


def install(root, folder, *options):
    """Installs the packages by apt, as a person who has the files would. Returns its messages."""
    shutil.rmtree(root.path + "/build-packages", ignore_errors=True)
    os.makedirs(root.path + "/build-packages/here")
    for path in debs(folder, *NAMES):
        shutil.copy(path, root.path + "/build-packages/here")
    (line,) = [line for line in documents.to_run("README.md") if line.startswith("apt install")]
    said = root.run("sh", "-c", " ".join((line, *options))).stdout
    names = [f"/build-packages/here/{name}" for name in os.listdir(root.path + "/build-packages/here")]
    return said + root.run("apt-get", "-q", "install", *options, *names).stdout


def dependencies(folder):
    """The dependencies of the packages."""
    found = [run("dpkg-deb", "-f", path, "Depends").stdout.strip() for path in debs(folder, *NAMES)]
    return ", ".join(found)


def check_fresh(root):
    """After the installation nothing runs, and --check says what to fill in."""
    done = root.run("slipring", "--check", "-c", "/etc/slipring/slipring.yaml", side="s", check=False)
    assert done.returncode == 1 and "<" in done.stderr, done
    step("--check of the file as installed: " + done.stderr.splitlines()[0])
    owner = root.run("stat", "-c", "%a %U %G", "/etc/slipring/slipring.yaml").stdout.split()
    assert owner == ["640", "root", "slipring"], owner
    assert not os.path.exists(root.path + "/etc/systemd/system/multi-user.target.wants/slipring.service")
    for page in ("slipring.8", "slipring.yaml.5", "slipringctl.1", "slipring-loadgen.1", "slipring-exporter.1",
        "slipring-accounts.1"):  # fmt: skip
        assert os.path.exists(f"{root.path}/usr/share/man/man{page[-1]}/{page}.gz"), page
    for program in ("slipring", "slipringctl", "slipring-loadgen", "slipring-exporter", "slipring-probe", "slipring-tune", "slipring-import",
        "slipring-accounts"):  # fmt: skip
        root.run(program, "--help")
    owner = root.run("stat", "-c", "%a %U %G", "/etc/slipring/accounts.yaml").stdout.split()
    assert owner == ["640", "root", "slipring-accounts"], owner


def check_init(root, unit):
    """The commands of README.Debian: `slipring init` writes a file that the server starts with. Its peers are
    on a subnet for examples, which is refused by default."""
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
        "-subj", "/CN=turn.example", "-addext", "subjectAltName=IP:" + SERVER,
        "-out", root.path + CERTIFICATE, "-keyout", root.path + KEY)  # fmt: skip
    root.run("chgrp", "slipring", KEY)
    root.run("chmod", "640", KEY)
    init, *rest = documents.to_run(documents.INSTALLED)
    said = root.run("sh", "-c", f"{init} --yes --realm turn.example --secret {shlex.quote(SECRET)}"
        f" --certificate {CERTIFICATE} --key {KEY}", side="s").stderr
    assert f"turnutils_uclient -y -W '{SECRET}' {SERVER}" in said, said
    assert re.findall(r"^  ((?:mkdir|ln|systemctl) .*)$", said, re.M) == rest[:4], said
    owner = root.run("stat", "-c", "%a %U %G", "/etc/slipring/slipring.yaml").stdout.split()
    assert owner == ["640", "root", "slipring"], owner
    root.write("/etc/slipring/conf.d/accounts.yaml", 'auth: {users: [{name: ivan, password: "a password"}]}\n')
    with open(root.path + "/etc/slipring/slipring.yaml", "a") as file:
        file.write("peers: {allow: [192.0.2.0/24]}\n")
    for line in rest:
        root.run("sh", "-c", line, side="s")
    assert os.path.islink(root.path + "/etc/systemd/system/slipring.service.d/packet.conf"), said
    assert unit.runs(), unit.log()


def check_documents(root, unit):
    """Runs the other commands of documents as they are written there, while the server runs."""
    for path in documents.FOLLOWED:
        for line in () if path == documents.INSTALLED else documents.to_run(path):
            if line.startswith("apt install"):
                continue  # done before
            if line.startswith("turnutils_uclient"):
                said = run("ip", "netns", "exec", root.names["c"], "sh", "-c", line).stdout
                assert "Total lost packets 0 " in said, said[-2000:]
            else:
                said = root.run("sh", "-c", line, side="s").stdout
            step(f"{path}: {line}: {(said.splitlines() or ['nothing'])[-1][:80]}")
            if line.startswith("slipringctl stop"):
                until(lambda: not unit.runs(), 20, "the server has ended")


def check_transports(root):
    """The probe, as a monitor runs it, finds that each transport works."""
    done = root.run("slipring-probe", "--secret", SECRET, "--ca", CERTIFICATE, "--transport", "udp,tcp,tls,dtls",
        "--json", SERVER, side="c", check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def check_reload(root, unit):
    with open(root.path + "/etc/slipring/slipring.yaml", "a") as file:
        file.write("limits: {per-user: 100}\n")
    done = root.run("env", "MAINPID=" + str(unit.pid()), *unit.line("ExecReload"), side="s")
    step("reload: " + (done.stdout + done.stderr).strip().splitlines()[0])


def check_exporter(root):
    """Runs the exporter like its unit, as a user of the group that the package made."""
    root.run("slipring-exporter", "--share", "slipring-metrics", side="s")
    exporter = subprocess.Popen(
        root.words("setpriv", "--reuid", "nobody", "--regid", "slipring-metrics", "--clear-groups", "slipring-exporter", side="s"),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    get = "import sys, urllib.request as u; print(u.urlopen(u.Request('http://127.0.0.1:9641' + sys.argv[1]," \
        " headers={'Accept': 'text/html'})).read().decode())"  # fmt: skip
    ask = lambda path: root.run("python3", "-c", get, path, side="s", check=False).stdout
    try:
        text = until(lambda: ask("/metrics") or exporter.poll() is not None, 20, "the exporter answers")
        assert exporter.poll() is None, exporter.stdout.read()
        assert re.search(r"^slipring_up\S* 1", text, re.M), text[:1000]
        assert "<!DOCTYPE html>" in ask("/") and '"up":true' in ask("/status.json")
    finally:
        exporter.kill()
        exporter.wait()


def check_replaced(root, unit, status, folder, *options):
    """Installs other packages, which restarts the server with its ten calls over UDP."""
    before, restored = unit.pid(), unit.log().count("10 allocations restored")
    said = install(root, folder, *options)
    assert unit.pid() != before, said[-2000:]
    assert "restarts with its UDP calls" in said, said[-2000:]
    until(lambda: unit.log().count("10 allocations restored") > restored, 20, "calls restored")
    until(lambda: json.loads(status()).get("tx", 0) > 100, 20, "the new process relays their datagrams")
    check_transports(root)
    step(f"the calls went on, {json.loads(status())['state']['away_ms']} ms without a server")


def check_upgrade(root, unit, new, old):
    """Calls over UDP live through an upgrade and the way back. Clients of TLS and DTLS can connect again."""
    status = lambda: root.run("slipringctl", "status", "--json", side="s", check=False).stdout or "{}"
    with contextlib.ExitStack() as clients:
        for transport, side, nb, address, peer in (
            ("udp", "client", 10, "192.0.2.10-192.0.2.19", "192.0.2.20"),
            ("tls", "peer", 2, CLIENT, "192.0.2.21"),
            ("dtls", "peer", 2, CLIENT, "192.0.2.22"),
        ):
            command = root.words(
                "slipring-loadgen", f"--{side}-port", "net_af_packet0,iface=c0", "--server", SERVER,
                "--transport", transport, "--client-addr", address + "/24", "--peer-addr", peer + "/24",
                "--secret", SECRET, "--user", "load", "--clients", str(nb), "--pps", str(20 * nb),
                "--warmup", "0", "--duration", "600", "--stats-period", "0", side="c",
            )  # fmt: skip
            file = clients.enter_context(open(f"{root.path}/run/{transport}.log", "w"))
            client = clients.enter_context(subprocess.Popen(command, stdout=file, stderr=file))
            clients.callback(client.send_signal, signal.SIGINT)
        logs = lambda: "".join(root.read(f"/run/{transport}.log") for transport in ("udp", "tls", "dtls"))
        until(lambda: json.loads(status()).get("allocations") == 14, 60, lambda: "allocations: " + status() + logs())
        step("upgrade beside clients")
        check_replaced(root, unit, status, new)
        step("rollback beside clients")
        check_replaced(root, unit, status, old, "--allow-downgrades")


def aged(folder, out):
    """Makes packages from those in a folder, with a lower version."""
    for path in debs(folder, *NAMES):
        tree = os.path.join(out, "tree")
        run("dpkg-deb", "-R", path, tree)
        run("sed", "-i", "s/^Version: .*/Version: 0.0.1-1/", tree + "/DEBIAN/control")
        run("dpkg-deb", "--root-owner-group", "-b", tree, out)
        shutil.rmtree(tree)
    return out


def main():
    pristine, new = sys.argv[1], sys.argv[2]
    sys.executable_in_root = "/usr/bin/python3"
    os.umask(0o022)  # as on a Debian system
    with contextlib.ExitStack() as cleanup:
        root = Root(pristine, cleanup)
        old = sys.argv[3] if len(sys.argv) > 3 else aged(new, cleanup.enter_context(tempfile.TemporaryDirectory()))
        start = time.monotonic()
        root.run("apt-get", "-q", "update")
        step("install")
        root.run("apt-get", "-q", "satisfy", dependencies(new))
        before, links = root.files(), root.links()
        assert "account slipring" not in before
        install(root, old)
        step(f"installed with what they depend on in {time.monotonic() - start:.0f} s")
        check_fresh(root)
        unit = Unit(root)
        cleanup.callback(run, "umount", root.path + "/usr/bin/systemctl", check=False)
        cleanup.callback(unit.kill)
        check_init(root, unit)
        step(f"first relayed call {time.monotonic() - start:.0f} s after the installation began: {relayed(root)} datagrams")
        check_transports(root)
        check_reload(root, unit)
        check_exporter(root)
        check_upgrade(root, unit, new, old)
        check_documents(root, unit)
        step("remove and purge")
        root.run("apt-get", "-q", "remove", *NAMES)
        until(lambda: not unit.runs(), 20, "the server has ended")
        root.run("dpkg", "--purge", *NAMES)
        run("umount", root.path + "/usr/bin/systemctl")
        left = root.files() - before
        assert not left, sorted(left)[:50]
        assert root.links() == links, root.links()
    print("packages: ok")


if __name__ == "__main__":
    if os.environ.get("IN_MOUNTS") != "yes":
        os.environ["IN_MOUNTS"] = "yes"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])
    main()
