# SPDX-License-Identifier: BSD-3-Clause
"""Facts about the machine and the programs, without which figures mean nothing."""

import glob
import json
import platform
import re

import against
import servers
import topology
from machine import BenchError, run

UNKNOWN = "unknown"
BUILD_OPTIONS = ("buildtype", "b_lto", "optimization")


def read_text(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def said(*argv):
    """The standard output of a command; "" if it fails."""
    try:
        return run(*argv).stdout.strip()
    except BenchError:
        return ""


def cpu_model(cpuinfo):
    """The CPU model from the text of /proc/cpuinfo."""
    found = re.search(r"^(?:model name|Model|CPU part)\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return found[1].strip() if found else platform.machine()


def hypervisor(cpuinfo, virt, vendor):
    """The hypervisor, if any. virt: the output of systemd-detect-virt --vm."""
    if virt and virt != "none":
        return f"{virt}, {vendor}" if vendor else virt
    flags = re.search(r"^flags\s*:(.*)$", cpuinfo, re.MULTILINE)
    if flags and "hypervisor" in flags[1].split():
        return vendor or UNKNOWN
    return "none"


def caches(folder="/sys/devices/system/cpu/cpu0/cache"):
    """Data caches of the first CPU: L1 32K, L2 ..."""
    found = []
    for path in sorted(glob.glob(f"{folder}/index*")):
        if read_text(f"{path}/type").strip() != "Instruction":
            level, size = (read_text(f"{path}/{name}").strip() for name in ("level", "size"))
            found.append(f"L{level} {size}")
    return ", ".join(found) or UNKNOWN


def cores(cpus):
    """In words: 4 CPUs (0-3), 2 cores, node 0."""
    told = topology.told(cpus)
    return f"{len(cpus)} CPUs ({told['cpus']}), {told['cores']} cores, node {told['nodes']}"


def memory(meminfo):
    found = re.search(r"^MemTotal:\s*(\d+) kB", meminfo, re.MULTILINE)
    return f"{int(found[1]) / (1 << 20):.0f} GB" if found else UNKNOWN


def openssl(text):
    """The library's version from `openssl version`; it may differ from the program's."""
    found = re.search(r"Library: OpenSSL (\S+)", text) or re.search(r"OpenSSL (\S+)", text)
    return found[1] if found else UNKNOWN


def coturn():
    """Version of the compared turnserver, and the fast flags that it lacks."""
    try:
        version = servers.version_of(servers.turnserver())
    except BenchError:
        return "none"
    missing = servers.missing_flags(servers.help_of(servers.turnserver()))
    return f"{version} without {' '.join(missing)}" if missing else version


def build(folder):
    """The options that the programs were built with."""
    text = said("meson", "introspect", "--buildoptions", folder)
    try:
        options = {option["name"]: option["value"] for option in json.loads(text)}
    except (ValueError, KeyError, TypeError):
        return UNKNOWN
    return ", ".join(f"{name} {options[name]}" for name in BUILD_OPTIONS if name in options)


def commit():
    try:
        return against.describe()
    except BenchError:
        return UNKNOWN


def gather(folder):
    """All facts, in the order of the report. folder: of the build."""
    cpuinfo = read_text("/proc/cpuinfo")
    vendor = read_text("/sys/class/dmi/id/sys_vendor").strip()
    return {
        "commit": commit(),
        "CPU": cpu_model(cpuinfo),
        "CPUs": cores(topology.allowed()),
        "caches": caches(),
        "memory": memory(read_text("/proc/meminfo")),
        "hypervisor": hypervisor(cpuinfo, said("systemd-detect-virt", "--vm"), vendor),
        "kernel": platform.release(),
        "DPDK": said("pkg-config", "--modversion", "libdpdk") or UNKNOWN,
        "OpenSSL": openssl(said("openssl", "version")),
        "coturn": coturn(),
        "build": build(folder),
    }
