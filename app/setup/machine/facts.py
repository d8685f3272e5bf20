# SPDX-License-Identifier: BSD-3-Clause
"""Proposals for a configuration of this machine: its port and its relay ports, with reasons, and the
commands that the machine needs in addition."""

import os
import shutil
import subprocess
from types import SimpleNamespace

from machine import box as boxes
from machine import kernel

SHARED_SINCE = (6, 6)  # Linux that lets a packet port take UDP datagrams before the kernel's sockets
ABOVE = 61000  # the kernel's own sockets end below, by default
USUAL = (49152, 65535)
INSTALLED = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../slipring.service.d")
DROP_INS = os.path.realpath(INSTALLED) if os.path.isdir(INSTALLED) else "/usr/share/slipring/slipring.service.d"
OF_UNIT = "/etc/systemd/system/slipring.service.d"


def read(*parts):
    try:
        with open(os.path.join(*parts)) as file:
            return file.read()
    except OSError:
        return ""


def output(*command):
    if not shutil.which(command[0]):
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def pci_of(interface):
    """(PCI address, driver) of an interface; ("", "") for one without."""
    device = f"/sys/class/net/{interface}/device"
    driver = os.path.basename(os.path.realpath(device + "/driver")) if os.path.exists(device) else ""
    while os.path.exists(device):  # virtio has a device below its PCI device
        name = os.path.basename(os.path.realpath(device))
        if name.count(":") == 2:
            return name, driver
        device = os.path.dirname(os.path.realpath(device))
        if device == "/sys/devices":
            break
    return "", driver


def in_container():
    """True in slipring's image, and where podman or systemd-nspawn says so."""
    return bool(os.environ.get("container"))


def overlap(first, second):
    return first[0] <= second[1] and second[0] <= first[1]


class Machine:
    def __init__(self, box=None, version=None):
        self.box = box or boxes.Box()
        self.version = version or kernel.version()

    def spare_nics(self):
        """[(PCI address, interface)] of NICs without the default route."""
        outward = self.box.outward()
        found = [(pci_of(name)[0], name) for name in sorted(os.listdir("/sys/class/net")) if name != outward]
        return [pair for pair in found if pair[0]]

    def port(self, device, addresses, gateways):
        """The port with its addresses and routers. Raises NoPort, with what to do."""
        options = SimpleNamespace(port=device, addresses={a.ip: a.network.prefixlen for a in addresses or ()},
            gateways=[str(g) for g in gateways or ()])  # fmt: skip
        if device is None and self.version < SHARED_SINCE:
            raise boxes.NoPort(self.no_sharing())
        needed = []
        if device and not device.startswith("packet:") and not options.addresses:
            name = next((n for n in self.box.interfaces if pci_of(n)[0] == device), None)
            needed = list(self.box.interfaces.get(name, ()))
        (port,) = boxes.ports(self.box, needed, [], options)
        if port.is_kernels and device is None:
            port.reason = "shared with the kernel, which keeps ssh and everything else"
        return port

    def no_sharing(self):
        nics = ", ".join(f"{pci} ({name})" for pci, name in self.spare_nics())
        return (f"Linux {'.'.join(map(str, self.version))} cannot share an interface with slipring, which needs 6.6:"
            " boot a newer kernel (Debian 12 has one in bookworm-backports), or give slipring a NIC of its"
            f" own with --device PCI-ADDRESS; without the default route are {nics or 'none here'}")  # fmt: skip

    def relay_ports(self, port, wanted):
        """((lowest, highest), reason)"""
        taken, reserved = kernel.own_ports(), kernel.reserved_ports()
        if wanted:
            return wanted, "as --ports says"
        if not port.is_kernels:
            return USUAL, "the usual ones"
        if any(low <= USUAL[0] and USUAL[1] <= high for low, high in reserved):
            return USUAL, "which the kernel keeps free (ip_local_reserved_ports)"
        if taken[1] < ABOVE:
            return (ABOVE, kernel.HIGH), f"above those of the kernel's own sockets, {taken[0]}-{taken[1]}"
        return USUAL, "the usual ones"

    def commands(self, port, ports):
        """Shell commands that the machine needs before the start."""
        if not port.is_kernels:
            return ["slipring-tune -c FILE    # says what to fix: IOMMU, hugepages, the NIC's driver"]
        out = [f"mkdir -p {OF_UNIT}", f"ln -sf {DROP_INS}/packet.conf {OF_UNIT}/", "systemctl daemon-reload"]
        if in_container():
            out = []
        free = any(low <= ports[0] and ports[1] <= high for low, high in kernel.reserved_ports())
        if overlap(ports, kernel.own_ports()) and not free:
            text = kernel.keep_off(*ports)
            command = text.split("`")[1] if text else f"# {ports[0]}-{ports[1]} leave the kernel too few ports"
            setting = command.removeprefix("sysctl -w ")
            out.append(f"echo '{setting}' >/etc/sysctl.d/60-slipring.conf && sysctl --system")
        return out

    def found(self, port):
        """Lines about this machine for a person."""
        huge = int((read("/proc/sys/vm/nr_hugepages") or "0").split()[0])
        memory = next((int(l.split()[1]) // 1024 for l in read("/proc/meminfo").splitlines() if l.startswith("MemTotal")), 0)
        yield (f"Linux {'.'.join(map(str, self.version))}, {len(os.sched_getaffinity(0))} CPUs, {memory} MB of memory,"
            f" {huge} hugepages")  # fmt: skip
        for name, addresses in self.box.interfaces.items():
            pci, driver = pci_of(name)
            kind = ", ".join(word for word in (driver, pci) if word)
            carries = "; the default route" if name == self.box.outward() else ""
            listed = ", ".join(f"{address}/{length}" for address, length in addresses.items())
            yield f"{name}{f' ({kind})' if kind else ''}: {listed}{carries}"
        if output("nft", "list", "tables") or "DROP" in output("iptables", "-S"):
            yield "the kernel has a firewall: TCP clients pass through it, slipring's UDP does not"
        if output("timedatectl", "show", "-p", "NTPSynchronized", "--value").strip() == "no":
            yield "the clock is not synchronised: REST credentials expire by it"
