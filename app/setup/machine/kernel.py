# SPDX-License-Identifier: BSD-3-Clause
"""The kernel: its version, and the UDP ports that it gives to its own sockets."""

import os
import re

RELAY_LOWEST, HIGH = 1024, 65535
RESERVED, RANGE = "ip_local_reserved_ports", "ip_local_port_range"
KERNELS = (32768, 60999)  # default range of Linux for its own sockets
LEAST_LEFT = 4096  # ports that a machine needs for itself
LEAST_USUAL = 10000  # many services listen below


def keep_off(low, high):
    """The command that keeps the kernel off relay ports, with the number of ports left to it; None if that
    would be too few."""
    left = sum(not low <= port <= high for port in range(KERNELS[0], KERNELS[1] + 1))
    if left >= LEAST_LEFT:
        return f"`sysctl -w net.ipv4.{RESERVED}={low}-{high}`, which leaves it {left}"
    below, above = (RELAY_LOWEST, low - 1), (high + 1, HIGH)
    first, last = max(below, above, key=lambda gap: gap[1] - gap[0])
    if first < LEAST_USUAL and last >= LEAST_USUAL + LEAST_LEFT:
        first = LEAST_USUAL
    first += (last - first) % 2 == 0  # one must be even, one odd
    if last + 1 - first >= LEAST_LEFT:
        return (f'`sysctl -w net.ipv4.{RANGE}="{first} {last}"`, which leaves it {last + 1 - first}; to'
            f" reserve them would leave it {left}")  # fmt: skip
    return None


def number(text):
    return tuple(map(int, re.findall(r"\d+", text)[:2]))


def version():
    """(major, minor) of the running kernel."""
    return number(os.uname().release)


def own_ports():
    """(lowest, highest) port that this kernel gives to its own sockets."""
    try:
        with open(f"/proc/sys/net/ipv4/{RANGE}") as file:
            return number(file.read())
    except OSError:
        return KERNELS


def reserved_ports():
    """[(lowest, highest)] of the ports that this kernel never gives to its own sockets."""
    try:
        with open(f"/proc/sys/net/ipv4/{RESERVED}") as file:
            return [(int(a), int(b or a)) for a, b in re.findall(r"(\d+)(?:-(\d+))?", file.read())]
    except OSError:
        return []
