# SPDX-License-Identifier: BSD-3-Clause
"""Interfaces, addresses and routers of this machine, and the ports made of them."""

import ipaddress
import json
import subprocess
from dataclasses import dataclass, field


class NoPort(Exception):
    """The device that has the addresses is unknown; the text says what to do."""


@dataclass
class Port:
    """One entry of `ports`."""

    device: str
    reason: str  # for the choice of the device
    addresses: dict = field(default_factory=dict)  # {address: prefix length}
    gateways: list = field(default_factory=list)
    routes: list = field(default_factory=list)  # (destination, router)

    @property
    def is_kernels(self):
        return self.device.startswith("packet:")

    @property
    def interface(self):
        return self.device[len("packet:") :].split(",")[0] if self.is_kernels else None


def asked(*command):
    """The answer of iproute2; [] if it fails."""
    try:
        done = subprocess.run(["ip", "-json", *command], capture_output=True, text=True, check=False)
        return json.loads(done.stdout or "[]")
    except (OSError, ValueError):
        return []


class Box:
    """interfaces: {name: {address: prefix length}}, without loopback, link-local and temporary ones."""

    def __init__(self, links=None, routes=None):
        links = asked("address", "show") if links is None else links
        if routes is None:
            routes = asked("route", "show") + asked("-6", "route", "show")
        self.routes = routes
        self.interfaces = {}
        for link in links:
            if "LOOPBACK" in link.get("flags", ()):
                continue
            found = {
                ipaddress.ip_address(info["local"]): info["prefixlen"]
                for info in link.get("addr_info", ())
                if info.get("scope") != "link" and "local" in info and not info.get("temporary")
            }
            if found:
                self.interfaces[link["ifname"]] = found

    def where(self, address):
        """The interface that has an address, or None."""
        return next((name for name, has in self.interfaces.items() if address in has), None)

    def length(self, address):
        """The prefix length of an address of this machine, or None."""
        name = self.where(address)
        return self.interfaces[name][address] if name else None

    def outward(self):
        """The interface of the default route, or the only one; None if there is neither."""
        for route in self.routes:
            if route.get("dst") == "default" and route.get("dev") in self.interfaces:
                return route["dev"]
        return next(iter(self.interfaces)) if len(self.interfaces) == 1 else None

    def beside(self, ports):
        """Interfaces with addresses that belong to no port."""
        return [name for name in self.interfaces if name not in [port.interface for port in ports]]

    def routers(self, interface, versions):
        """(gateways, routes) through an interface, for these IP versions."""
        gateways, routes = {}, []
        for route in self.routes:
            via = route.get("gateway") if route.get("dev") == interface else None
            if via is None or ipaddress.ip_address(via).version not in versions:
                continue
            if route.get("dst") == "default":
                gateways.setdefault(ipaddress.ip_address(via).version, via)
            else:
                routes.append((route["dst"], via))
        return list(gateways.values()), routes


def routed(port, box, interface, gateways):
    """The port with the given gateways, or else those of an interface."""
    versions = {address.version for address in port.addresses}
    port.gateways, port.routes = list(gateways), []
    if not gateways:
        port.gateways, port.routes = box.routers(interface, versions)
    return port


def told_port(box, needed, options):
    """The one port of --port, with the addresses of --address, or those of its interface."""
    port = Port(options.port, "as --port says")
    interface = port.interface or next((box.where(a) for a in needed if box.where(a)), None)
    port.addresses = dict(options.addresses)
    if not port.addresses:
        port.addresses = {address: box.length(address) for address in needed}
    if port.interface and not needed and not port.addresses:
        port.addresses = dict(box.interfaces.get(port.interface, {}))
    unknown = [str(address) for address, length in port.addresses.items() if length is None]
    if unknown or not port.addresses:
        lacks = f"the prefix length of {', '.join(unknown)} is" if unknown else "its addresses are"
        raise NoPort(f"{port.device}: {lacks} not known here: add --address ADDRESS/LENGTH for each")
    return [routed(port, box, interface, options.gateways)]


def found_ports(box, needed, devices, options):
    """A port for each interface with a needed address. If no address is needed, the interface that the
    file names, or that of the default route."""
    ports = {}
    for address in needed:
        name = box.where(address)
        if name is None:
            raise NoPort(f"no interface of this machine has {address}: say which device has it, with"
                f" --port DEVICE and --address {address}/LENGTH")  # fmt: skip
        port = ports.setdefault(name, Port(f"packet:{name}", "the interface with its addresses"))
        port.addresses[address] = box.length(address)
    if not ports:
        name = next((d for d in devices if d in box.interfaces), None) or box.outward()
        if name is None:
            raise NoPort("the file names no address, and the interface is unknown: name it"
                " with --port DEVICE and --address ADDRESS/LENGTH")  # fmt: skip
        reason = "the file names it" if name in devices else "the interface of the default route"
        ports[name] = Port(f"packet:{name}", reason, dict(box.interfaces[name]))
    if options.gateways and len(ports) > 1:
        raise NoPort(f"--gateway: the addresses are on {' and '.join(ports)}: write `gateway` there")
    return [routed(port, box, name, options.gateways) for name, port in ports.items()]


def ports(box, needed, devices, options):
    """The ports that have all needed addresses; raises NoPort if they are unknown."""
    if options.port:
        return told_port(box, needed, options)
    return found_ports(box, needed, devices, options)
