#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the container image as its users run it: test_container.py IMAGE

IMAGE is an OCI archive (scripts/package --container). podman runs it with the options of
conf/container/slipring.container: slipring init writes the configuration; the three capabilities are
enough and each is needed; a client in another namespace relays; the health command notices a server that
hangs; a reload, a restart that keeps a call, a crash and a wrong file end as they should. Then podman
runs the containers of conf/container/daemonset.yaml with the options that are written there.

The test has its own storage, network namespaces and mounts, and leaves nothing behind.
"""

import contextlib
import ctypes
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

import yaml

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path[:0] = [os.path.join(TOP, "test/lab/support")]

from test_package import CLIENT, SECRET, SERVER, run, step, until  # noqa: E402
from turnlib import SUCCESS, Auth, Client, rest_credentials, udp_socket  # noqa: E402

GENERATOR = "/usr/libexec/podman/quadlet"
QUADLET = TOP + "/conf/container/slipring.container"
DAEMON_SET = TOP + "/conf/container/daemonset.yaml"
MOST_MB = 120
NAME = "slipring"
CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
PEER = "192.0.2.3"
# The option of podman run for each key of a quadlet; %s is the value, or each of its words
OPTIONS = {
    "Image": (), "ContainerName": ("--name", "%s"), "Network": ("--network", "%s"), "DropCapability": ("--cap-drop", "%s"),
    "AddCapability": ("--cap-add", "%s"), "NoNewPrivileges": ("--security-opt", "no-new-privileges"), "ReadOnly": ("--read-only",),
    "Volume": ("-v", "%s"), "HealthCmd": ("--health-cmd", "%s"), "HealthInterval": ("--health-interval", "%s"),
    "HealthRetries": ("--health-retries", "%s"), "HealthOnFailure": (), "Notify": (), "PodmanArgs": ("%s",),
}  # fmt: skip
WORDS = {"AddCapability", "PodmanArgs"}


class Podman:
    """podman with its own storage, in the server's network namespace."""

    def __init__(self, cleanup):
        self.base = tempfile.mkdtemp(prefix="container-", dir="/var/tmp")
        cleanup.callback(shutil.rmtree, self.base)
        for path in ("/run/slipring", "/kube/run"):  # the state must be in memory
            run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", self.folder(path))
            cleanup.callback(run, "umount", "-l", self.base + path)
        self.names = {side: f"ct{os.getpid()}{side}" for side in ("s", "c")}
        for name in self.names.values():
            run("ip", "netns", "add", name)
            cleanup.callback(run, "ip", "netns", "del", name, check=False)
        s, c = self.names["s"], self.names["c"]
        run("ip", "-n", s, "link", "add", "s0", "type", "veth", "peer", "name", "c0", "netns", c)
        for name, link, addresses in ((s, "s0", [SERVER]), (c, "c0", [CLIENT, PEER])):
            for address in addresses:
                run("ip", "-n", name, "addr", "add", address + "/24", "dev", link)
            run("ip", "-n", name, "link", "set", link, "up")
            run("ip", "-n", name, "link", "set", "lo", "up")
            run("ip", "netns", "exec", name, "ethtool", "-K", link, "tx", "off")
        run("ip", "netns", "exec", s, "sysctl", "-qw", "net.ipv4.ip_local_reserved_ports=49152-65535")
        cleanup.callback(self.end)
        self.image = re.search(r"localhost/\S+", self("load", "-q", "-i", sys.argv[1]).stdout)[0]

    def __call__(self, *words, side="s", **options):
        return run("nsenter", f"--net=/run/netns/{self.names[side]}", "podman", "--log-level", "error", "--storage-driver", "overlay",
                   "--root", self.base + "/storage", "--runroot", self.base + "/run", "--tmpdir", self.base + "/tmp",
                   *words, **options)  # fmt: skip

    def run(self, *words, **options):
        """podman run, within the limits of a machine that may itself be a container."""
        return self("run", "--cgroups", "disabled", "--ulimit", "nofile=16384:16384", "--ulimit", "nproc=4096:4096", *words, **options)

    def folder(self, path):
        """The folder of this test that stands for a folder of the machine."""
        os.makedirs(self.base + path, exist_ok=True)
        return self.base + path

    def log(self):
        done = self("logs", NAME)
        return done.stdout + done.stderr

    def state(self):
        return json.loads(self("inspect", NAME).stdout)[0]["State"]

    def ended(self):
        """The exit status of the server, once it has ended."""
        until(lambda: self.state()["Status"] == "exited", 20, "the server ends")
        return self.state()["ExitCode"]

    def ready(self):
        until(lambda: "start: ready" in self.log() or self.state()["Status"] == "exited", 20, "the server is ready")
        assert "start: ready" in self.log(), self.log()

    def end(self):
        self("rm", "-f", "-a", "-t", "1", check=False)
        self("rmi", "-f", "-a", check=False)


def quadlet(podman):
    """The options of podman run for a quadlet."""
    if os.path.exists(GENERATOR):
        run(GENERATOR, "-dryrun", env={"QUADLET_UNIT_DIRS": os.path.dirname(QUADLET)})
    section = open(QUADLET).read().split("[Container]\n")[1].split("\n[")[0]
    out = []
    for key, value in re.findall(r"^(\w+)=(.*)$", section, re.M):
        for word in shlex.split(value) if key in WORDS else [value]:
            out += [part.replace("%s", word) for part in OPTIONS[key]]
    places = {f"{path}:": podman.folder(path) + ":" for path in ("/etc/slipring", "/run/slipring", "/var/log/slipring")}
    out = [next((places[p] + w.removeprefix(p) for p in places if w.startswith(p)), w) for w in out]
    return out + old_profile()


def old_profile():
    """The option of the quadlet for a podman whose filter forbids bpf(2) with CAP_BPF."""
    with open("/usr/share/containers/seccomp.json") as file:
        rules = json.load(file)["syscalls"]
    known = any("CAP_BPF" in rule.get("includes", {}).get("caps", ()) for rule in rules)
    return [] if known else ["--security-opt", "seccomp=unconfined"]


def check_image(podman):
    (image,) = json.loads(podman("image", "inspect", podman.image).stdout)
    step(f"{podman.image}: {image['Size'] / 1e6:.0f} MB, {os.path.getsize(sys.argv[1]) / 1e6:.0f} MB packed")
    assert image["Size"] <= MOST_MB * 1e6, image["Size"]
    assert image["Config"]["User"] == "999:999", image["Config"]
    programs = "for p in slipring slipringctl slipring-probe slipring-init slipring-exporter slipring-tune; do $p --help; done"
    done = podman.run("--rm", "--network", "none", "--entrypoint", "sh", podman.image, "-euc",
                      f"{{ {programs}; }} >/dev/null; slipring --show-driver ice; ls /usr/lib/*/dpdk/*")  # fmt: skip
    drivers = done.stdout
    for path in glob.glob(TOP + "/drivers-config/*.yaml"):
        name = os.path.basename(path)[: -len(".yaml")]
        kernels = name in ("vtap", "packet", "virtio_user")
        assert kernels or f"librte_net_{name}.so" in drivers, f"no driver for {path} in the image:\n{drivers}"


def check_init(podman):
    """The image's own user writes the configuration."""
    place = podman.folder("/etc/slipring")
    os.mkdir(place + "/conf.d")
    said = podman.run("--rm", "--network", "host", "-v", place + ":/etc/slipring:U", podman.image, "init", "--yes",
                      "--realm", "turn.example", "--secret", SECRET).stderr  # fmt: skip
    assert "Written: /etc/slipring/slipring.yaml" in said and "systemctl" not in said, said
    with open(place + "/slipring.yaml", "a") as file:
        file.write("peers: {allow: [192.0.2.0/24]}\n")
    mode = os.stat(place + "/slipring.yaml")
    assert (mode.st_mode & 0o777, mode.st_uid, mode.st_gid) == (0o640, 999, 999), mode


def check_capabilities(podman, options):
    """Each capability is needed, and the message names it."""
    added = [options[i + 1] for i, word in enumerate(options) if word == "--cap-add"]
    assert len(added) == 3, added
    for capability in added:
        i = options.index(capability)
        podman.run("-d", *options[: i - 1], *options[i + 1 :], podman.image)
        assert podman.ended() == 1 and capability in podman.log(), podman.log()
        podman("rm", NAME)


def check_privileges(podman, user):
    status = podman("exec", NAME, "cat", "/proc/1/status").stdout
    found = dict(re.findall(r"^(\w+):\s*(\S+)", status, re.M))
    assert found["Uid"] == user and int(found["CapEff"], 16) == 0 == int(found["CapAmb"], 16), status
    assert bin(int(found["CapBnd"], 16)).count("1") == 3 and found["NoNewPrivs"] == "1", status
    assert ", capabilities: none" in podman.log(), podman.log()


def probe(podman, transport):
    """Sends a datagram through the relayed transport address and back, from the client's namespace."""
    said = podman.run("--rm", "--network", "host", "--entrypoint", "slipring-probe", podman.image, "--transport", transport,
                      "--secret", SECRET, SERVER, side="c").stdout  # fmt: skip
    assert re.search(rf"{transport} +ok ", said), said


def check_health(podman):
    healthy = lambda: podman("healthcheck", "run", NAME, check=False).returncode == 0
    assert healthy()
    podman("kill", "-s", "STOP", NAME)
    assert not healthy()
    podman("kill", "-s", "CONT", NAME)
    until(healthy, 20, "healthy again")
    said = json.loads(podman("inspect", NAME).stdout)[0]["State"]
    step("health: " + ", ".join(str(one["ExitCode"]) for one in (said.get("Health") or said["Healthcheck"])["Log"]))


def check_reload(podman):
    with open(podman.folder("/etc/slipring") + "/slipring.yaml", "a") as file:
        file.write("limits: {per-user: 100}\n")
    podman("kill", "-s", "HUP", NAME)
    until(lambda: "reload by SIGHUP: 1 change is in use" in podman.log(), 10, "reload: " + podman.log()[-500:])
    said = podman("exec", NAME, "slipringctl", "config").stdout
    assert "done" in said, said


@contextlib.contextmanager
def inside(podman, side):
    """Sockets made in this context are in that network namespace."""
    with open("/proc/self/ns/net") as before, open(f"/run/netns/{podman.names[side]}") as entered:
        assert libc.setns(entered.fileno(), CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        try:
            yield
        finally:
            assert libc.setns(before.fileno(), CLONE_NEWNET) == 0


def check_calls(podman, options):
    """A call continues in the next container, with the state on a volume."""
    with inside(podman, "c"):
        sock, peer = udp_socket(CLIENT), udp_socket(PEER)
    user, password = rest_credentials(SECRET, int(time.time()) + 3600)
    client = Client(sock, (SERVER, 3478), Auth(user, password))
    assert client.allocate().cls == SUCCESS
    assert client.bind(0x4001, peer.getsockname()[:2]).cls == SUCCESS
    podman("stop", NAME)
    assert podman.ended() == 0, podman.log()
    podman("rm", NAME)
    podman.run("-d", *options, podman.image)
    podman.ready()
    assert "1 allocations restored" in podman.log() or "1 allocation restored" in podman.log(), podman.log()
    client.send_channel(0x4001, b"after the restart")
    peer.settimeout(10)
    assert peer.recv(100) == b"after the restart"
    step("a call lives in the next container")


def check_ends(podman, options):
    """A crash as process 1 ends the container, with a report; a wrong file ends it with status 78."""
    podman("exec", NAME, "sh", "-c", "kill -SEGV 1")
    assert podman.ended() == 128 + signal.SIGSEGV, podman.state()
    reports = glob.glob(podman.folder("/var/log/slipring") + "/crash-*")
    assert any(os.path.getsize(path) for path in reports), reports
    podman("rm", NAME)
    with open(podman.folder("/etc/slipring") + "/slipring.yaml", "a") as file:
        file.write("nonsense: 1\n")
    podman.run("-d", *options, podman.image)
    assert podman.ended() == 78, podman.state()
    podman("rm", NAME)


def security(context):
    """The options of podman run for a securityContext. Kubernetes gives capabilities to root alone."""
    assert context["runAsUser"] == 0 and not context["allowPrivilegeEscalation"] and context["readOnlyRootFilesystem"]
    out = ["--user", "0:0", "--security-opt", "no-new-privileges", "--read-only", "--read-only-tmpfs=false", *old_profile()]
    for capability in context["capabilities"]["drop"]:
        out += ["--cap-drop", capability]
    for capability in context["capabilities"].get("add", ()):
        out += ["--cap-add", capability]
    return out


def check_daemon_set(podman):
    with open(DAEMON_SET) as file:
        documents = {one["kind"]: one for one in yaml.safe_load_all(file)}
    pod = documents["DaemonSet"]["spec"]["template"]["spec"]
    folders = {volume["name"]: podman.folder("/kube/" + volume["name"]) for volume in pod["volumes"]}
    for kind, key, name in (("Secret", "stringData", "accounts"), ("ConfigMap", "data", "more")):
        for file, text in documents[kind][key].items():
            with open(f"{folders[name]}/{file}", "w") as out:
                out.write(text)

    def options(container):
        out = ["--network", "host", *security(container["securityContext"])]
        for mount in container["volumeMounts"]:
            out += ["-v", f"{folders[mount['name']]}:{mount['mountPath']}" + (":ro" if mount.get("readOnly") else "")]
        if "command" in container:
            out += ["--entrypoint", json.dumps(container["command"])]
        return [*out, podman.image]

    (init,) = pod["initContainers"]
    server, exporter = pod["containers"]
    init["command"][-1] = init["command"][-1].replace(" --yes ", " --yes --private ")
    podman.run("--rm", *options(init))
    podman.run("-d", "--name", NAME, "--env", f"HOST_IP={SERVER}", *options(server))
    podman.ready()
    check_privileges(podman, "0")
    for name in ("startupProbe", "livenessProbe", "readinessProbe"):
        podman("exec", NAME, *server[name]["exec"]["command"])
    podman.run("-d", "--name", "exporter", *options(exporter))
    get = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:9641/metrics').read().decode())"
    scrape = lambda: podman("exec", "exporter", "python3", "-c", get, check=False).stdout
    text = until(scrape, 20, "the exporter answers")
    assert re.search(r"^slipring_up\S* 1", text, re.M), text[:1000]
    podman("stop", NAME, "exporter")
    assert podman.ended() == 0, podman.log()


def main():
    with contextlib.ExitStack() as cleanup:
        if not os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
            run("mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup")
        run("mount", "-t", "tmpfs", "tmpfs", "/dev/shm")  # podman leaves its locks there
        podman = Podman(cleanup)
        check_image(podman)
        check_init(podman)
        options = quadlet(podman)
        check_capabilities(podman, options)
        podman.run("-d", *options, podman.image)
        podman.ready()
        check_privileges(podman, "999")
        for transport in ("udp", "tcp"):
            probe(podman, transport)
        check_health(podman)
        check_reload(podman)
        check_calls(podman, options)
        check_ends(podman, options)
        step("the containers of the DaemonSet")
        check_daemon_set(podman)
    left = run("ip", "netns", "list").stdout
    assert f"ct{os.getpid()}" not in left and not os.path.exists(podman.base), left
    print("container: ok")


if __name__ == "__main__":
    if os.environ.get("IN_MOUNTS") != "yes":
        os.environ["IN_MOUNTS"] = "yes"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])
    main()
