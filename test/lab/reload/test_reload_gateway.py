#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A reload changes the router, for the data path and for the kernel behind the exception port: a
UDP client and a TLS client, both behind routers, continue through the new one, and the old one is
switched off.

        far 10.98.0.2 ─┬─ r0 ── gw 10.99.0.254, fd99::fe ──┬─ bridge ── slipring ── sr0 (kernel)
                       └─ r1 ── new 10.99.0.253, fd99::fd ─┘
"""

import os
import socket

import control
import lab as labs
import server as servers
import streams
import turnlib
from lab import FAR4, FAR6, SERVER4, SERVER6
from test_reload import relays, write
from turnlib import SUCCESS

OLD, NEW = ["10.99.0.254", "fd99::fe"], ["10.99.0.253", "fd99::fd"]
ROUTES = [{"to": "192.0.2.0/24", "via": OLD[0]}, {"to": "198.51.100.0/24", "via": OLD[0]},
          {"to": "2001:db8:1::/48", "via": OLD[1]}]  # fmt: skip
CHANGED = [{"to": "192.0.2.0/24", "via": NEW[0]}, {"to": "203.0.113.0/24", "via": NEW[0]},
           {"to": "2001:db8:1::/48", "via": NEW[1]}, {"to": "2001:db8:2::/48", "via": NEW[1]}]  # fmt: skip


def second_router(lab):
    """Another route to the far host, which the host does not use yet."""
    lab.new = lab.host(lab.cleanup, "new", "g1", 253, tuple(NEW))
    lab.far.ip(*"link add r1 type veth peer name f1 netns".split(), lab.new.name)
    for ns, interface, addresses in (
        (lab.far, "r1", ("10.97.0.2", "fd97::2")), (lab.new, "f1", ("10.97.0.254", "fd97::fe"))
    ):  # fmt: skip
        ns.run("sysctl", "-qw", f"net.ipv6.conf.{interface}.accept_dad=0")
        for address in addresses:
            lab.add_address(ns, interface, address)
        ns.ip("link", "set", interface, "up")
        lab.wire_checksums(ns, interface)
    for ns in (lab.far, lab.new, lab.gw):
        ns.run("sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0")
    lab.far.run("sysctl", "-qw", "net.ipv4.conf.r0.rp_filter=0", "net.ipv4.conf.r1.rp_filter=0")
    lab.new.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
    lab.new.ip("route", "add", "10.98.0.0/24", "via", "10.97.0.2")
    lab.new.ip("-6", "route", "add", "fd98::/64", "via", "fd97::2")


def kernel_routes(lab):
    """The routes through routers in the server's kernel, as {destination: router}."""
    found = {}
    for family in "-4", "-6":
        for line in lab.exc.ip(family, "route", "show", "dev", "sr0").splitlines():
            words = line.split()
            if words[1:2] == ["via"]:
                assert (family, words[0]) not in found, line
                found[family, words[0]] = words[2]
    return found


def expected(gateways, routes):
    found = dict(zip((("-4", "default"), ("-6", "default")), gateways))
    return found | {("-6" if ":" in r["to"] else "-4", r["to"]): r["via"] for r in routes}


def over_tls(lab, ip):
    """A TLS client in the far network, to the addresses of the port itself."""
    with lab.far.enter():
        sock = socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET)
    lab.cleanup.callback(sock.close)
    sock.settimeout(5 * labs.SLOW)
    sock.bind((ip, 0))
    sock.connect((SERVER6 if ":" in ip else SERVER4, streams.PORTS["tls"]))
    client = streams.Client(streams.over_tls(sock))
    assert client.allocate().cls == SUCCESS
    return client


def calls(lab, echo):
    """A call over UDP, and one of each family over TLS."""
    udp = turnlib.Client(lab.far.udp(FAR4), (SERVER4, 3478), labs.ivan())
    lab.cleanup.callback(udp.close)
    assert udp.allocate().cls == SUCCESS
    made = [udp, over_tls(lab, FAR4), over_tls(lab, FAR6)]
    for client in made:
        assert client.bind(0x4000, echo.address).cls == SUCCESS
    return made


def work(clients):
    for client in clients:
        assert relays(client) and client.refresh().cls == SUCCESS, client


def refused(lab, path, server, port):
    """A route that the kernel refuses: nothing of the file applies, and no route changes."""
    route = "203.0.113.0/24 via 10.99.0.2 dev sr0 onlink metric 1024".split()
    lab.exc.ip("route", "add", *route)
    before = kernel_routes(lab)
    write(server, {"ports": [{**port, "gateway": NEW, "routes": CHANGED}], "limits": {"per-user": 1}})
    out = control.ctl(path, "config", "reload", code=1)
    assert "nothing has changed: port wan.exception: interface sr0: route to 203.0.113.0/24" in out, out
    assert kernel_routes(lab) == before, (kernel_routes(lab), before)
    lab.exc.ip("route", "del", *route)


def main(lab):
    labs.need_own_server()
    second_router(lab)
    path = os.path.join(lab.dir, "control.sock")
    lab.exc = lab.namespace(lab.cleanup, "exc")
    config = streams.config(lab, ("tls",), netns=lab.exc.name)
    for listener in config["listeners"]:
        listener["address"] = {streams.V4: SERVER4, streams.V6: SERVER6}.get(*[listener["address"]] * 2)
    port = {**servers.CONFIG["ports"][0], "gateway": OLD, "routes": ROUTES}
    port["exception"] = {"name": "sr0", "netns": lab.exc.name, "allow": []}
    server = lab.server({**config, "ports": [port], "control": {"socket": path}}, allow=("exception-foreign",))
    assert kernel_routes(lab) == expected(OLD, ROUTES), kernel_routes(lab)
    echo = lab.echo()
    live = calls(lab, echo)
    work(live)
    refused(lab, path, server, port)
    work(live)
    write(server, {"ports": [{**port, "gateway": NEW, "routes": CHANGED}]})
    print(control.ctl(path, "config", "reload"))
    assert kernel_routes(lab) == expected(NEW, CHANGED), kernel_routes(lab)
    lab.far.ip("route", "replace", "default", "via", "10.97.0.254")
    lab.far.ip("-6", "route", "replace", "default", "via", "fd97::fe")
    lab.gw.ip("link", "set", "g0", "down")
    work(live)
    work(calls(lab, echo))


if __name__ == "__main__":
    labs.run(main, gateway=True)
