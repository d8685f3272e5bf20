#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""slipring-tune on simulated machines: findings, advice, exit status.

Argument: the slipring program, which reads configurations for it.
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import shutil
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else None
PATH = os.path.join(TOP, "app/slipring-tune/slipring-tune")
loader = importlib.machinery.SourceFileLoader("tune", PATH)
tune = importlib.util.module_from_spec(importlib.util.spec_from_loader("tune", loader))
loader.exec_module(tune)

FLAGS = "sse4_2 ssse3 aes constant_tsc nonstop_tsc"
BDF = "0000:3b:00.0"
NIC = f"sys/bus/pci/devices/{BDF}"
CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node/node{}/hugepages/hugepages-2048kB"
VFIO = ("->", "../../../bus/pci/drivers/vfio-pci")


def good_box():
    """8 CPUs on 2 nodes, hyperthreads n and n + 4, a NIC on node 0, in an ideal configuration."""
    box = {
        "proc/cpuinfo": f"vendor_id\t: GenuineIntel\nflags\t\t: fpu {FLAGS}\n",
        "proc/meminfo": "MemTotal:  8000000 kB\nMemAvailable:    4000000 kB\n",
        "proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n",
        "proc/self/limits": "Limit  Soft  Hard\nMax locked memory   unlimited  unlimited  bytes\n",
        "proc/1/comm": "systemd",
        "proc/irq/24/smp_affinity_list": "0",
        "proc/irq/25/smp_affinity_list": "0-7",
        "proc/irq/25/effective_affinity_list": "4",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
        "sys/kernel/iommu_groups/7/devices": "",
        "sys/devices/system/node/node0/cpulist": "0-1,4-5",
        "sys/devices/system/node/node1/cpulist": "2-3,6-7",
        NODE.format(0) + "/nr_hugepages": "256",
        NODE.format(0) + "/free_hugepages": "256",
        NODE.format(1) + "/nr_hugepages": "0",
        NODE.format(1) + "/free_hugepages": "0",
        f"{CPU}/online": "0-7",
        f"{CPU}/isolated": "1,5",
        f"{CPU}/nohz_full": "1,5",
        f"{CPU}/intel_pstate/no_turbo": "1",
        f"{CPU}/vulnerabilities/meltdown": "Mitigation: PTI",
        f"{CPU}/vulnerabilities/mds": "Not affected",
        f"{NIC}/class": "0x020000",
        f"{NIC}/numa_node": "0",
        f"{NIC}/current_link_width": "16",
        f"{NIC}/max_link_width": "16",
        f"{NIC}/driver": VFIO,
    }
    for cpu in range(8):
        box[f"{CPU}/cpu{cpu}/cpufreq/scaling_governor"] = "performance"
        box[f"{CPU}/cpu{cpu}/topology/thread_siblings_list"] = f"{cpu % 4},{cpu % 4 + 4}"
    return box


def good_needs():
    return {
        "workers": 1,
        "idle": "busy",
        "lcores": "0@(0,4),1@1",
        "memory_mb": 300,
        "ports": [{"name": "wan", "device": BDF}],
    }


class MemoryBox(tune.Box):
    """A machine in memory: most tests create many of them."""

    def __init__(self, files):
        super().__init__("")
        self.files = files

    def read(self, *parts):
        text = self.files.get("/".join(parts))
        return text.strip() if isinstance(text, str) else None

    def list(self, *parts):
        below = "/".join(parts) + "/"
        return sorted({f[len(below) :].split("/")[0] for f in self.files if f.startswith(below)})

    def has(self, *parts):
        return "/".join(parts) in self.files or bool(self.list(*parts))

    def link(self, *parts):
        target = self.files.get("/".join(parts))
        return os.path.basename(target[1]) if isinstance(target, tuple) else None


class Tune(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="test-tune-")
        self.addCleanup(shutil.rmtree, self.dir)

    def write(self, box):
        root = tempfile.mkdtemp(dir=self.dir)
        for name, text in box.items():
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if isinstance(text, tuple):
                os.symlink(text[1], path)
                continue
            with open(path, "w") as file:
                file.write(text)
        return root

    def program(self, answer, code=0):
        """A fake slipring that prints this answer."""
        path = os.path.join(self.dir, "program")
        with open(path, "w") as file:
            file.write(f"#!/bin/sh\ncat <<'END'\n{answer}\nEND\nexit {code}\n")
        os.chmod(path, 0o755)
        return path

    def run_tune(self, *args):
        """(exit status, text of standard output)"""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = tune.main(args)
        return code, out.getvalue()

    def tune(self, box, needs=None, ssh=None):
        patch = unittest.mock.patch.object
        os.environ.pop("SSH_CONNECTION", None)
        if ssh is not None:
            self.addCleanup(os.environ.pop, "SSH_CONNECTION", None)
            os.environ["SSH_CONNECTION"] = ssh
        with patch(tune, "Box", lambda root: MemoryBox(box)):
            if needs is None:
                return self.run_tune()
            with patch(tune, "read_needs", return_value=tune.Needs(needs)):
                return self.run_tune("-c", "x.yaml")

    def after(self, box=None, needs=None, without=(), ssh=None):
        """Findings on a good machine with changes: {(level, topic): [text, command]}."""
        machine = {k: v for k, v in {**good_box(), **(box or {})}.items() if k not in without}
        code, text = self.tune(machine, {**good_needs(), **(needs or {})}, ssh)
        found, last = {}, None
        for line in text.splitlines()[:-1]:
            match = re.fullmatch(r"(ok|warn|fix) +([^:]+): (.*)", line)
            if match:
                last = found.setdefault((match[1], match[2]), [match[3], ""])
            else:
                self.assertTrue(line.startswith("      -> "), line)
                last[1] = line[9:]
        levels = {level for level, _ in found}
        self.assertEqual(code, 1 if "fix" in levels else 0, text)
        return found

    def expect(self, level, about, words, box=None, needs=None, without=()):
        """One finding that is not ok, with these words in its text or its command."""
        found = self.after(box, needs, without)
        bad = {key: value for key, value in found.items() if key[0] != "ok"}
        self.assertEqual(list(bad), [(level, about)], found)
        for word in words:
            self.assertIn(word, " ".join(bad[level, about]))
        return bad[level, about]

    # -- findings

    def test_good(self):
        found = self.after()
        self.assertEqual({level for level, _ in found}, {"ok"}, found)
        abouts = {about for _, about in found}
        wanted = {
            "processor", "workers", "hyperthreads", "isolation", "interrupts", "frequency",
            "turbo", "mitigations", "hugepages", "memory", "swap", "transparent hugepages",
            "locked memory", "iommu", "port wan",
        }  # fmt: skip
        self.assertEqual(abouts, wanted)

    def test_summary(self):
        program = self.program(json.dumps(good_needs()))
        root = self.write(good_box())
        code, text = self.run_tune("--root", root, "-c", "x.yaml", "--slipring", program)
        self.assertEqual(code, 0)
        lines = text.splitlines()
        self.assertEqual(lines[-1], f"{len(lines) - 1} ok, 0 warnings, 0 to fix")

    def test_processor(self):
        flags = {"proc/cpuinfo": "flags : constant_tsc nonstop_tsc ssse3 sse4_2\n"}
        self.expect("fix", "processor", ["has no aes:"], flags)
        flags = {"proc/cpuinfo": "flags : aes ssse3 sse4_2 constant_tsc\n"}
        self.expect("warn", "processor", ["stop or change speed"], flags)
        clock = "sys/devices/system/clocksource/clocksource0/current_clocksource"
        self.expect("warn", "clock", ["hpet", "echo tsc > /" + clock], {clock: "hpet"})

    def test_workers(self):
        needs = {"workers": 2, "lcores": "0@0,1@1,2@9"}
        found = self.after(needs=needs)
        self.assertIn("9", found["fix", "workers"][0])
        needs = {"workers": 2, "lcores": "0@0,1@1,2@1"}
        self.expect("fix", "workers", ["CPU 1 has more than one"], needs=needs)
        needs["idle"] = "adaptive"
        self.expect("warn", "workers", ["CPU 1 has more than one"], needs=needs)
        # two threads that float over the same CPUs do not count as a collision
        needs = {"workers": 2, "lcores": "0@0,(1-2)@(1,5)", "idle": "adaptive"}
        self.expect("warn", "hyperthreads", ["1,5"], needs=needs)

    def test_hyperthreads(self):
        needs = {"workers": 2, "lcores": "0@0,1@1,2@5"}
        self.expect("warn", "hyperthreads", ["share a core: 1,5", "eal.lcores"], needs=needs)

    def test_isolation(self):
        words = ["isolated, nohz_full", "isolcpus=domain,managed_irq,1 nohz_full=1 irqaffinity=0,2-7"]
        self.expect("warn", "isolation", words, {f"{CPU}/isolated": "", f"{CPU}/nohz_full": "(null)"})
        self.expect("warn", "isolation", ["not in nohz_full)"], without=[f"{CPU}/nohz_full"])
        found = self.after({f"{CPU}/isolated": ""}, {"idle": "adaptive"})
        self.assertIn(("ok", "isolation"), found)

    def test_interrupts(self):
        words = ["1 of 2 go", "echo 0,2-7 >"]
        self.expect("warn", "interrupts", words, {"proc/irq/24/smp_affinity_list": "0-1"})
        # the allowed CPUs count only while the current one is unknown
        self.expect("warn", "interrupts", words, {"proc/irq/25/effective_affinity_list": "1"})
        self.expect("warn", "interrupts", words, {"proc/irq/25/effective_affinity_list": ""})
        # irqbalance leaves isolated CPUs alone
        self.assertIn(("ok", "interrupts"), self.after({"proc/77/comm": "irqbalance\n"}))
        words = ["irqbalance", "systemctl disable --now irqbalance"]
        box = {"proc/77/comm": "irqbalance\n", f"{CPU}/isolated": "5"}
        self.expect("warn", "interrupts", words, box, {"idle": "adaptive"})

    def test_frequency(self):
        box = {f"{CPU}/cpu1/cpufreq/scaling_governor": "powersave"}
        self.expect("warn", "frequency", ["CPUs 1 ", "for c in 1;"], box)
        box = {f"{CPU}/cpu2/cpufreq/scaling_governor": "powersave"}
        self.assertIn(("ok", "frequency"), self.after(box))  # no worker runs there
        found = self.after({f"{CPU}/intel_pstate/no_turbo": "0"})
        self.assertIn("on:", found["ok", "turbo"][0])
        self.assertIn("off:", self.after()["ok", "turbo"][0])

    def test_mitigations(self):
        box = {f"{CPU}/vulnerabilities/mds": "Vulnerable: no microcode"}
        self.expect("warn", "mitigations", ["vulnerable: mds"], box)

    def test_hugepages(self):
        free = NODE.format(0) + "/free_hugepages"
        command = f"echo 278 > /{NODE.format(0)}/nr_hugepages"
        # 300 MB needed, 256 free: 44 more, 22 pages, in addition to the existing 256
        self.expect("fix", "hugepages", ["256 MB free on node 0", command], {free: "128"})
        self.assertEqual(self.after({free: "150"})["ok", "hugepages"][0][:6], "node 0")
        # pages of the other node do not help
        box = {free: "0", NODE.format(1) + "/free_hugepages": "999"}
        self.expect("fix", "hugepages", ["0 MB free on node 0"], box)
        # without a NIC it works, too
        needs = {"ports": [{"name": "wan", "device": "net_af_packet0,iface=e"}]}
        box = {free: "0", "sys/class/net/e/mtu": "1500"}
        self.expect("warn", "hugepages", ["0 MB free"], box, needs)
        # large pages, and a kernel without nodes
        big = "sys/kernel/mm/hugepages/hugepages-1048576kB"
        box = {k: v for k, v in good_box().items() if "/node/" not in k}
        box[f"{big}/nr_hugepages"] = box[f"{big}/free_hugepages"] = "1"
        code, text = self.tune(box, good_needs())
        self.assertEqual(code, 0, text)
        self.assertIn("node 0: 1 of 1024 MB, 1 free", text)

    def test_memory(self):
        # free hugepages, 512 MB, count in addition to the rest
        small = {"proc/meminfo": "MemAvailable: 89088 kB\n"}
        self.assertIn(("ok", "memory"), self.after(small, {"memory_mb": 599}))
        found = self.after(small, {"memory_mb": 600})
        self.assertEqual(found["fix", "memory"][0], "600 MB needed, 87 MB available")
        swaps = "Filename\tType\n/dev/sda2 partition 1 0 -2\n"
        self.expect("warn", "swap", ["swapoff -a"], {"proc/swaps": swaps})
        huge = "sys/kernel/mm/transparent_hugepage/enabled"
        self.expect("warn", "transparent hugepages", ["madvise >"], {huge: "[always] never"})
        limits = "Max locked memory   8388608  8388608  bytes\n"
        self.expect("warn", "locked memory", ["8 MB"], {"proc/self/limits": limits})

    def test_iommu(self):
        group = "sys/kernel/iommu_groups/7/devices"
        words = ["intel_iommu=on iommu=pt", "noiommu"]
        self.expect("fix", "iommu", words, without=[group])
        amd = {"proc/cpuinfo": f"vendor_id : AuthenticAMD\nflags : {FLAGS}\n"}
        text = " ".join(self.expect("fix", "iommu", ["&iommu=pt "], amd, without=[group]))
        self.assertNotIn("intel", text)
        unsafe = {"sys/module/vfio/parameters/enable_unsafe_noiommu_mode": "Y\n"}
        self.expect("warn", "iommu", ["vfio works without"], unsafe, without=[group])
        mlx = {f"{NIC}/driver": ("->", "../mlx5_core")}
        self.assertIn(("ok", "iommu"), self.after(mlx, without=[group]))

    def test_binding(self):
        box = {f"{NIC}/driver": ("->", "../ice"), f"{NIC}/net/ens1/mtu": "1500"}
        command = f"ip link set ens1 down && modprobe vfio-pci && dpdk-devbind.py -b vfio-pci {BDF}"
        self.expect("fix", "port wan", ["kernel driver ice", command], box)
        self.expect("fix", "port wan", ["has no driver"], without=[f"{NIC}/driver"])
        found = self.after({f"{NIC}/driver": ("->", "../mlx5_core")})
        self.assertIn(("ok", "port wan"), found)
        for device in ("3b:00.0", BDF.upper() + ",mprq_en=1"):
            found = self.after(needs={"ports": [{"name": "wan", "device": device}]})
            self.assertEqual({level for level, _ in found}, {"ok"}, found)
        needs = {"ports": [{"name": "wan", "device": "0000:3b:00.1"}]}
        self.expect("fix", "port wan", ["no PCI device 0000:3b:00.1"], needs=needs)

    # -- ports that must not be taken

    KERNELS = {f"{NIC}/driver": ("->", "../ice"), f"{NIC}/net/ens1/mtu": "1500"}
    HEAD = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"

    def table(self, *rows):
        """/proc/net/route of (interface, destination, gateway, mask), in its little-endian digits."""
        lines = (f"{i}\t{d}\t{g}\t0003\t0\t0\t0\t{m}\t0\t0\t0\n" for i, d, g, m in rows)
        return {"proc/net/route": self.HEAD + "".join(lines)}

    def binding(self, box, ssh=None, **kwargs):
        """The text about the port, and the advice."""
        return self.after({**self.KERNELS, **box}, ssh=ssh, **kwargs)["fix", "port wan"]

    def assert_loud(self, found, *words):
        for word in (*words, "CARRIES", "THIS MACHINE CANNOT BE REACHED"):
            self.assertIn(word, found[0])
        self.assertTrue(found[1].startswith("give slipring another NIC"), found[1])
        self.assertIn("console", found[1])

    def assert_quiet(self, found):
        self.assertNotIn("CARRIES", found[0])
        self.assertTrue(found[1].startswith("ip link set "), found[1])

    def test_default_route(self):
        default = ("ens1", "00000000", "FE0200C0", "00000000")
        subnet = ("ens1", "000200C0", "00000000", "00FFFFFF")
        self.assert_loud(self.binding(self.table(default, subnet)), "(ens1)", "THE DEFAULT ROUTE")
        # without a gateway, like with PPP and some clouds
        default_on_link = ("ens1", "00000000", "00000000", "00000000")
        self.assert_loud(self.binding(self.table(default_on_link)), "THE DEFAULT ROUTE")
        rows = [("ens2", *row[1:]) for row in (default, subnet)]
        self.assert_quiet(self.binding(self.table(*rows)))
        # a subnet alone is not critical
        self.assert_quiet(self.binding(self.table(subnet)))
        zero = "0" * 32
        v6 = f"{zero} 00 {zero} 00 fe80{'0' * 27}1 00000400 00000001 00000000 00000003"
        self.assert_loud(self.binding({"proc/net/ipv6_route": f"{v6}     ens1\n"}), "DEFAULT ROUTE")
        self.assert_quiet(self.binding({"proc/net/ipv6_route": f"{v6}     ens2\n"}))
        # without any route
        none = f"{zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200       lo\n"
        self.assert_quiet(self.binding({"proc/net/ipv6_route": none}))

    def test_layers(self):
        """A default route through a VLAN on a bond of two NICs uses both of them."""
        box = self.table(("bond0.7", "00000000", "FE0200C0", "00000000"))
        box["sys/class/net/bond0.7/lower_bond0"] = ("->", "../bond0")
        box["sys/class/net/bond0/lower_ens1"] = ("->", "../ens1")
        box["sys/class/net/bond0/lower_ens2"] = ("->", "../ens2")
        self.assert_loud(self.binding(box), "THE DEFAULT ROUTE")
        box["sys/class/net/ens1/lower_bond0"] = ("->", "../bond0")  # a cycle must not hang it
        self.assert_loud(self.binding(box), "THE DEFAULT ROUTE")

    def test_ssh(self):
        box = self.table(
            ("ens2", "00000000", "FE0200C0", "00000000"),
            ("ens1", "0000000A", "00000000", "000000FF"),
        )
        self.assert_quiet(self.binding(box))
        self.assert_loud(self.binding(box, "10.1.2.3 50000 10.0.0.1 22"), "THIS SSH SESSION")
        self.assert_loud(self.binding(box, "::ffff:10.1.2.3 50000 ::ffff:10.0.0.1 22"), "SSH")
        # a remote client that has connected to an address of this NIC
        self.assert_loud(self.binding(box, "203.0.113.9 50000 10.0.0.1 22"), "THIS SSH SESSION")
        self.assert_quiet(self.binding(box, "203.0.113.9 50000 192.0.2.1 22"))
        for rubbish in ("", "x", "a b c d", "10.1.2.3 1 10.0.0.1"):
            self.assert_quiet(self.binding(box, rubbish))
        both = self.table(
            ("ens1", "00000000", "FE0200C0", "00000000"),
            ("ens1", "000200C0", "00000000", "00FFFFFF"),
        )
        found = self.binding(both, "203.0.113.9 50000 192.0.2.1 22")
        self.assert_loud(found, "THE DEFAULT ROUTE AND THIS SSH SESSION")

    def test_ssh_under_sudo(self):
        """sudo removes SSH_CONNECTION; the shell above it has it."""
        box = self.table(("ens1", "0000000A", "00000000", "000000FF"))
        me = 4711  # in its own namespace a test's parent may be process 1
        box |= {
            f"proc/{me}/environ": "PATH=/bin\0SUDO_USER=olga\0",
            f"proc/{me}/stat": f"{me} (sudo) S 4242 1 1",
            "proc/4242/environ": "A=b\0SSH_CONNECTION=10.1.2.3 50000 10.0.0.1 22\0C=d\0",
            "proc/4242/stat": "4242 (a) b) S 1 1 1",
        }
        with unittest.mock.patch("os.getppid", return_value=me):
            found = self.binding(box)
        self.assert_loud(found, "THIS SSH SESSION")

    def test_virtio(self):
        box = {f"{NIC}/driver": ("->", "../virtio-pci"), f"{NIC}/virtio3/net/eth0/mtu": "1500"}
        command = f"ip link set eth0 down && modprobe vfio-pci && dpdk-devbind.py -b vfio-pci {BDF}"
        self.expect("fix", "port wan", ["kernel driver virtio-pci", command], box)
        box |= self.table(("eth0", "00000000", "FE0200C0", "00000000"))
        found = self.after(box)["fix", "port wan"]
        self.assert_loud(found, "(eth0)", "THE DEFAULT ROUTE")
        code, text = self.tune({**good_box(), **box})
        self.assertIn(f"NIC {BDF}: driver virtio-pci, node 0, eth0; it CARRIES THE DEFAULT", text)

    def test_guest(self):
        """Microcode, slots and IOMMU belong to the host."""
        guests = (
            {"proc/cpuinfo": f"flags : {FLAGS} hypervisor\n"},
            {"sys/class/dmi/id/sys_vendor": "QEMU"},
            {"sys/class/dmi/id/product_name": "VMware Virtual Platform"},
            {"sys/hypervisor/type": "xen"},
        )
        open_one = {f"{CPU}/vulnerabilities/mds": "Vulnerable: no microcode"}
        narrow = {f"{NIC}/current_link_width": "8"}
        group = "sys/kernel/iommu_groups/7/devices"
        for guest in guests:
            found = self.expect("warn", "mitigations", ["up to the host"], {**guest, **open_one})
            self.assertNotIn("microcode", found[1])
            self.assertIn("virtual machine", self.after(guest)["ok", "processor"][0])
            self.assertEqual({level for level, _ in self.after({**guest, **narrow})}, {"ok"})
            found = self.expect("fix", "iommu", ["noiommu_mode=1"], guest, without=[group])
            self.assertNotIn("grub", found[1])
        host = {"sys/class/dmi/id/sys_vendor": "Dell Inc."}
        self.expect("warn", "mitigations", ["intel-microcode"], {**host, **open_one})

    def test_place(self):
        words = ["on node 1, workers on node 0", "CPUs 2-3,6-7"]
        self.expect("warn", "port wan", words, {f"{NIC}/numa_node": "1"})
        self.assertEqual({k[0] for k in self.after({f"{NIC}/numa_node": "-1"})}, {"ok"})
        words = ["link width is 8, the card supports 16", f"lspci -s {BDF}"]
        self.expect("warn", "port wan", words, {f"{NIC}/current_link_width": "8"})

    def test_devices(self):
        def port(device):
            return {"ports": [{"name": "lab", "device": device}], "idle": "adaptive"}

        tap = {"dev/net/tun": ""}
        self.assertIn(("ok", "port lab"), self.after(tap, port("vtap:d0,queues=2")))
        self.expect("fix", "port lab", ["modprobe tun"], needs=port("vtap:d0"))
        self.assertIn(
            ("ok", "port lab"),
            self.after({"sys/class/net/e1/mtu": "1"}, port("net_af_packet0,iface=e1,qpairs=2")),
        )
        self.expect("warn", "port lab", ["no interface e1"], needs=port("net_af_packet0,iface=e1"))

    def test_without_configuration(self):
        code, text = self.tune(good_box())
        self.assertEqual(code, 0, text)
        self.assertIn(f"NIC {BDF}: driver vfio-pci, node 0", text)
        # the files give an equal result
        self.assertEqual(self.run_tune("--root", self.write(good_box())), (code, text))
        # bare hardware, or a kernel without information, causes no error and no crash
        self.assertEqual(self.tune({})[0], 0)
        code, text = self.tune({}, good_needs())
        self.assertEqual(code, 1)
        self.assertNotIn("Traceback", text)

    def test_rubbish(self):
        """Any content of the files gives an answer."""
        for rubbish in ("", "\n", "-", "0-", "x" * 5000, "99999999999999999999", "[", "\0\1"):
            box = {k: v if isinstance(v, tuple) else rubbish for k, v in good_box().items()}
            code, text = self.tune(box, good_needs())
            self.assertIn(" to fix", text, (rubbish[:10], code))

    # -- configurations

    def test_reads_configuration(self):
        if PROGRAM is None:
            self.skipTest("no slipring given")
        args = "--root", self.write(good_box()), "--slipring", PROGRAM, "-c"
        code, text = self.run_tune(*args, os.path.join(TOP, "conf/minimal.yaml"))
        self.assertIn(f"port wan: {BDF} is bound to vfio-pci", text)
        self.assertRegex(text, r"memory: \d+ MB needed")
        with self.assertRaises(SystemExit) as end:
            self.run_tune(*args, "/nonexistent.yaml")
        self.assertIn("/nonexistent.yaml:1:1:", str(end.exception.code))

    def test_bad_program(self):
        for program in (self.program("rubbish"), self.program("{}", 1), "/nonexistent"):
            with self.assertRaises(SystemExit) as end:
                self.run_tune("-c", "x.yaml", "--slipring", program)
            self.assertNotIn(end.exception.code, (0, None))

    def test_lcores(self):
        rows = {
            "0@(0-1),1@0,2@1": {0: {0, 1}, 1: {0}, 2: {1}},
            "0-2": {0: {0}, 1: {1}, 2: {2}},
            "(0,2)": {0: {0, 2}, 2: {0, 2}},
            "0@3,(1-2)@(4,6-7),5": {0: {3}, 1: {4, 6, 7}, 2: {4, 6, 7}, 5: {5}},
        }
        for text, want in rows.items():
            self.assertEqual(tune.lcore_cpus(text), want, text)

    def test_cpu_lists(self):
        for text in ("0", "0-3", "0,2,4-7,9", ""):
            self.assertEqual(tune.cpu_text(tune.cpu_list(text)), text)


if __name__ == "__main__":
    unittest.main()
