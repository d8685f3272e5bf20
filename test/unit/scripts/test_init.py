#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""slipring-init: its proposals for simulated machines, which slipring accepts, and its refusals.

Argument: the slipring program, which checks the results.
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import ipaddress
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else None
SCRIPT = os.path.join(TOP, "app/setup/slipring-init")
loader = importlib.machinery.SourceFileLoader("init", SCRIPT)
init = importlib.util.module_from_spec(importlib.util.spec_from_loader("init", loader))
loader.exec_module(init)
from machine import box, facts, kernel  # noqa: E402: after sys.path is set

def routes(*addresses):
    """Default routes by the first address of the first subnet, and by a link-local address."""
    first = next(ipaddress.ip_interface(addresses[0]).network.hosts())
    return [{"dst": "default", "gateway": str(router), "dev": "eth0"} for router in (first, "fe80::1")]


def links(*addresses, name="eth0"):
    infos = [{"local": a.split("/")[0], "prefixlen": int(a.split("/")[1]), "scope": "global"} for a in addresses]
    return [{"ifname": name, "flags": ["UP"], "addr_info": infos}]


class Init(unittest.TestCase):
    """Each test names the addresses of a machine, and runs the program on it."""

    def run_on(self, addresses, *options, version=(6, 12), reserved=(), check=True, container=""):
        machine = facts.Machine(box.Box(links(*addresses), routes(*addresses)), version)
        out, err = io.StringIO(), io.StringIO()
        slipring = PROGRAM if check and PROGRAM else "true"
        argv = [SCRIPT, "--yes", "--slipring", slipring, *options]
        with (
            mock.patch.dict(os.environ, container=container),
            mock.patch.object(init, "Machine", lambda: machine), mock.patch.object(sys, "argv", argv),
            mock.patch.object(kernel, "own_ports", lambda: (32768, 60999)),
            mock.patch.object(kernel, "reserved_ports", lambda: list(reserved)),
            mock.patch.object(init.socket, "getfqdn", lambda: "turn.example.org"),
            contextlib.redirect_stdout(out), contextlib.redirect_stderr(err),
        ):  # fmt: skip
            status = init.main()
        self.said = err.getvalue()
        return status, out.getvalue()

    def test_shares_the_interface_of_the_default_route(self):
        status, text = self.run_on(["198.51.100.5/24", "2001:db8:1::5/64"], "--output", "-")
        self.assertEqual(status, 0, self.said)
        self.assertIn('device: "packet:eth0"', text)
        self.assertIn('addresses: [198.51.100.5/24, "2001:db8:1::5/64"]', text)
        self.assertIn('gateway: ["198.51.100.1", "fe80::1"]', text)
        self.assertIn('realm: "turn.example.org"', text)
        self.assertIn("ln -sf /usr/share/slipring/slipring.service.d/packet.conf", self.said)

    def test_a_container_has_no_unit(self):
        self.run_on(["198.51.100.5/24"], "--output", "-", container="podman")
        self.assertNotIn("systemctl", self.said)
        self.assertIn("/usr/share/slipring/container", self.said)

    def test_each_secret_is_new_and_long(self):
        found = {re.search(r'secrets: \["(.*?)"\]', self.run_on(["198.51.100.5/24"], "--output", "-")[1])[1] for _ in "ab"}
        self.assertEqual(len(found), 2)
        self.assertTrue(all(re.fullmatch("[0-9a-f]{48}", secret) for secret in found))

    def test_relay_ports_are_none_of_the_kernels_own(self):
        relay = lambda *o, **k: re.search(r"ports: (\d+-\d+)}", self.run_on(["198.51.100.5/24"], "--output", "-", *o, **k)[1])[1]
        self.assertEqual(relay(), "61000-65535")
        self.assertNotIn("sysctl", self.said)
        self.assertEqual(relay(reserved=[(49152, 65535)], check=False), "49152-65535")
        self.assertNotIn("sysctl", self.said)
        self.assertEqual(relay("--ports", "50000-60000", check=False), "50000-60000")
        self.assertIn("net.ipv4.ip_local_reserved_ports=50000-60000", self.said)

    def test_a_private_address_takes_the_public_one(self):
        status, text = self.run_on(["10.0.0.5/24"], "--output", "-")
        self.assertEqual((status, text), (1, ""))
        self.assertIn("--external", self.said)
        status, text = self.run_on(["10.0.0.5/24"], "--output", "-", "--external", "203.0.113.5")
        self.assertEqual(status, 0, self.said)
        self.assertIn("{address: 10.0.0.5/24, external: 203.0.113.5}", text)
        self.assertIn("turn:203.0.113.5:3478", self.said)
        status, text = self.run_on(["10.0.0.5/24"], "--output", "-", "--private")
        self.assertEqual(status, 0, self.said)

    def test_an_old_kernel_shares_no_interface(self):
        status, text = self.run_on(["198.51.100.5/24"], "--output", "-", version=(6, 1))
        self.assertEqual((status, text), (1, ""))
        self.assertIn("6.6", self.said)

    def test_a_nic_of_its_own(self):
        nic = ("--device", "0000:3b:00.0", "--address", "192.0.2.1/24", "--gateway", "192.0.2.254", "--output", "-")
        status, text = self.run_on(["198.51.100.5/24"], *nic, version=(6, 1), check=False)
        self.assertEqual(status, 0, self.said)
        self.assertIn('device: "0000:3b:00.0"', text)
        self.assertNotIn("transport: tcp", text, "no kernel socket has the address of such a NIC")
        self.assertIn("slipring-tune", self.said)
        status, text = self.run_on(["198.51.100.5/24"], *nic[:2], "--output", "-")
        self.assertEqual(status, 1, "its addresses are unknown")
        self.assertIn("--address", self.said)

    def test_an_edited_file_is_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "slipring.yaml")
            with open(os.path.join(TOP, "conf/debian/slipring.yaml")) as packaged, open(path, "w") as file:
                file.write(packaged.read())
            os.mkdir(os.path.join(folder, "conf.d"))
            self.assertEqual(self.run_on(["198.51.100.5/24"], "--output", path)[0], 0, self.said)
            with open(path) as file:
                first = file.read()
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o640)
            self.assertIn(f'include: "{folder}/conf.d"', first)
            self.assertEqual(self.run_on(["198.51.100.5/24"], "--output", path)[0], 1)
            self.assertIn("--force", self.said)
            with open(path) as file:
                self.assertEqual(file.read(), first)
            self.assertEqual(self.run_on(["198.51.100.5/24"], "--output", path, "--force")[0], 0, self.said)
            with open(path) as file:
                self.assertNotEqual(file.read(), first)

    def test_nothing_is_written_if_slipring_refuses(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "slipring.yaml")
            status = self.run_on(["198.51.100.5/24"], "--output", path, "--slipring", "false")[0]
            self.assertEqual((status, os.listdir(folder)), (1, []))

    def test_a_certificate_adds_tls_and_dtls_on_their_port(self):
        with tempfile.TemporaryDirectory() as folder:
            names = [os.path.join(folder, name) for name in ("fullchain.pem", "privkey.pem")]
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-days", "2", "-subj", "/CN=turn.example.org", "-out", names[0], "-keyout", names[1]],
                check=True, capture_output=True)  # fmt: skip
            options = ("--output", "-", "--certificate", names[0], "--key", names[1])
            status, text = self.run_on(["198.51.100.5/24"], *options)
        self.assertEqual(status, 0, self.said)
        for transport in ("dtls", "tls"):
            self.assertIn(f"{{transport: {transport}, address: all, port: 5349}}", text)
        entry = json.loads(self.said.strip().splitlines()[-1])
        self.assertIn("turns:turn.example.org:5349?transport=tcp", entry["urls"])

    def test_ice_servers_carry_a_rest_credential(self):
        self.run_on(["198.51.100.5/24"], "--output", "-", "--secret", "a secret of sixteen")
        entry = json.loads(self.said.strip().splitlines()[-1])
        self.assertEqual(entry["urls"], ["turn:198.51.100.5:3478?transport=udp", "turn:198.51.100.5:3478?transport=tcp"])
        self.assertRegex(entry["username"], r"^\d{10}:test$")
        # printf USERNAME | openssl dgst -sha1 -hmac SECRET -binary | base64
        with mock.patch.object(init.time, "time", lambda: 1700000000 - 86400):
            self.assertEqual(init.credentials("a secret of sixteen"), ("1700000000:test", "dCh37q6Z4kfwLfLWVu2yid8STbQ="))


if __name__ == "__main__":
    unittest.main()
