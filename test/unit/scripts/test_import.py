#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""slipring-import: it parses like coturn, converts or reports each key; slipring accepts the results.

Argument: the slipring program, which checks the results.
"""

import concurrent.futures
import ipaddress
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else None
SCRIPT = os.path.join(TOP, "app/setup/slipring-import")
sys.path.insert(0, os.path.dirname(SCRIPT))

from coturn import keys, rules, sections, settings, syntax, table  # noqa: E402
from coturn.document import Document, scalar  # noqa: E402
from coturn.key import ALWAYS, HERE, NOT  # noqa: E402
from machine import box  # noqa: E402

LINKS = [
    {"ifname": "lo", "flags": ["LOOPBACK"], "addr_info": [
        {"local": "127.0.0.1", "prefixlen": 8, "scope": "host"}]},
    {"ifname": "eth0", "flags": ["UP"], "addr_info": [
        {"local": "192.0.2.5", "prefixlen": 24, "scope": "global"},
        {"local": "2001:db8::5", "prefixlen": 64, "scope": "global"},
        {"local": "fe80::5", "prefixlen": 64, "scope": "link"}]},
    {"ifname": "eth1", "flags": ["UP"], "addr_info": [
        {"local": "10.0.0.5", "prefixlen": 24, "scope": "global"}]},
]  # fmt: skip
ROUTES = [
    {"dst": "default", "gateway": "192.0.2.1", "dev": "eth0"},
    {"dst": "192.0.2.0/24", "dev": "eth0"},
    {"dst": "10.0.0.0/8", "gateway": "10.0.0.1", "dev": "eth1"},
    {"dst": "default", "gateway": "fe80::1", "dev": "eth0"},
]
BASE = "realm=turn.test\nuser=ivan:pw\n"


def options(port=None, addresses=(), gateways=(), private_peers=False):
    return types.SimpleNamespace(port=port, gateways=list(gateways), private_peers=private_peers,
        addresses=[(ipaddress.ip_interface(a).ip, ipaddress.ip_interface(a).network.prefixlen)
                   for a in addresses])  # fmt: skip


def imported(text, links=LINKS, routes=ROUTES, **given):
    """An Import of a file's text, on a machine with two interfaces."""
    asked = settings.Settings(syntax.read(text if isinstance(text, bytes) else text.encode()))
    return sections.Import("t.conf", asked, box.Box(links, routes), options(**given))


def made(text, **given):
    """The printed result, without comments."""
    lines = [re.sub(r" *# .*| *#$", "", line) for line in imported(text, **given).lines()]
    return "".join(line + "\n" for line in lines if line)


def told(text, **given):
    """The messages about lines."""
    return [one.shown("t.conf") for one in imported(text, **given).told if one.line]


def beside(text, **given):
    """The advice on steps outside the file."""
    return "\n".join(one.shown("t.conf") for one in imported(text, **given).told if not one.line)


class Syntax(unittest.TestCase):
    def one(self, raw):
        (line,) = syntax.read(raw)
        return line.name, line.value

    def test_names_and_values(self):
        for raw, name, value in (
            (b"realm=a.b", "realm", "a.b"), (b"realm a.b", "realm", "a.b"),
            (b"realm\ta.b", "realm", "a.b"), (b"  realm = \t= a.b  \r\n", "realm", "a.b"),
            (b"fingerprint", "fingerprint", ""), (b"fingerprint =", "fingerprint", ""),
            (b'realm="a b"', "realm", "a b"), (b'realm="a" ', "realm", "a"), (b'realm="a', "realm", "a"),
            (b'realm="a""', "realm", 'a"'), (b'realm=a"b"', "realm", 'a"b"'),
            (b"user=a:b=c d", "user", "a:b=c d"), (b"realm=a # b", "realm", "a # b"),
            (b"--realm=a", "--realm", "a"), (b"realm=a;", "realm", "a;"), (b"realm=a\0b", "realm", "a"),
        ):  # fmt: skip
            self.assertEqual(self.one(raw), (name, value), raw)

    def test_no_settings(self):
        self.assertEqual(syntax.read(b"# realm=a\n\n  \t\n \t# x\n\r\n"), [])

    def test_numbers_of_lines(self):
        self.assertEqual([line.number for line in syntax.read(b"\n#\nrealm=a\n\nno-udp\n")], [3, 5])

    def test_a_long_line_is_read_in_pieces(self):
        lines = syntax.read(b"realm=" + b"x" * 1017 + b"no-udp\nrealm=" + b"y" * 1017 + b"\n")
        self.assertEqual([(l.name, len(l.value), l.cut) for l in lines],
            [("realm", 1017, True), ("no-udp", 0, True), ("realm", 1017, False)])  # fmt: skip

    def test_bytes_that_are_not_utf8(self):
        self.assertIn("it is not UTF-8", told(b"user=a:\xff\n" + BASE.encode())[0])


class Values(unittest.TestCase):
    def refused(self, function, *values):
        for value in values:
            with self.assertRaises(syntax.Refused, msg=value):
                function(value)

    def test_booleans(self):
        for text in ("", "1", "9x", "y", "Yes", "true", "T", "on", "On", "ON"):
            self.assertIs(syntax.flag(text), True, text)
        for text in ("0", "01", "n", "No", "nonsense", "f", "False", "off", "Off", "OFF"):
            self.assertIs(syntax.flag(text), False, text)
        self.refused(syntax.flag, "o", "oN", "OFf", "x", "# a comment", "-")

    def test_numbers_and_ports(self):
        self.assertEqual([syntax.number(t) for t in ("5", " 5", "-1", "+7")], [5, 5, -1, 7])
        self.refused(syntax.number, "", "x", "5x", "0x10")
        self.assertEqual([syntax.port(t) for t in ("", "0", "65535")], [0, 0, 65535])
        self.refused(syntax.port, "65536", "-1", "x", "5x")

    def test_addresses(self):
        self.assertEqual(str(syntax.address("")), "0.0.0.0")
        self.assertEqual(str(syntax.address(" ::1 ")), "::1")
        self.refused(syntax.address, "256.0.0.1.invalid", "a b")
        self.assertEqual([str(a) for a in syntax.span("10.0.0.1-10.0.0.9")], ["10.0.0.1", "10.0.0.9"])
        self.assertEqual([str(a) for a in syntax.span("10.1.0.0/8")], ["10.0.0.0", "10.255.255.255"])
        self.refused(syntax.span, "10.0.0.0/x", "10.0.0.9-10.0.0.1", "10.0.0.1-::1")
        self.assertEqual(syntax.endpoint("[::1]:9", 0), (ipaddress.ip_address("::1"), 9))
        self.assertEqual(syntax.endpoint("10.0.0.1", 5), (ipaddress.ip_address("10.0.0.1"), 5))

    def test_texts_of_yaml(self):
        for text, shown in (("ab", "ab"), ("a b", '"a b"'), ("yes", '"yes"'), ("1234", '"1234"'),
                ('a"\\', '"a\\"\\\\"'), ("a\x7f", '"a\\u007f"'), ("#x", '"#x"'), ("", '""'),
                ("packet:eth0", "packet:eth0"), ("::1", '"::1"'), ("\U000e0001", '"\\U000e0001"')):
            self.assertEqual(scalar(text), shown)  # fmt: skip


class Lines(unittest.TestCase):
    """The messages, line by line."""

    def has(self, text, *parts):
        said = "\n".join(told(text + BASE))
        for part in parts:
            self.assertIn(part, said)

    def test_lines_that_coturn_ignores(self):
        self.has("--no-tcp\n", "t.conf:1: --no-tcp: coturn ignores this line", "'no-tcp', without dashes")
        self.has("no-tcpp\n", "did you mean 'no-tcp'?")
        self.has("no-loopback-peers\n", "a key up to coturn 4.5.0; here always so: no peer is a loopback")
        self.has("no-stun-backward-compatibility\n", "a key up to coturn 4.6; here requests of RFC 3489")

    def test_a_value_at_which_coturn_exits(self):
        self.has("lt-cred-mech # for old ones\n", "coturn exits at the value", "needs a line of its own")
        self.has("listening-port=70000\n", "coturn exits at '70000'")
        self.has("denied-peer-ip=10.0.0.0/99\n", "coturn exits at '10.0.0.0/99'")

    def test_clear_intent_is_accepted(self):
        text = "denied-peer-ip=10.0.0.0/8\nallowed-peer-ip=10.1.2.0/24\n" + BASE
        self.assertIn("deny:\n    - 10.0.0.0/8\n", made(text))
        self.assertIn("allow:\n    - 10.1.2.0/24\n", made(text))
        self.assertIn("coturn accepts no prefix: the prefix is taken as meant", "\n".join(told(text)))
        self.assertFalse(imported(text).lost)
        # a byte order mark, with which coturn ignores the first key
        self.assertNotIn("transport: tcp", made("\ufeffno-tcp\n" + BASE))
        self.assertEqual(told("\ufeff" + BASE), [])
        self.assertIn("realm: turn.test\n", made("\ufeff" + BASE))

    def test_variables_need_a_decision(self):
        for name, value in (("static-auth-secret", "${TURN_SECRET}"), ("realm", "${REALM:-x}"),
                ("realm", "$REALM"), ("static-auth-secret", "{{ turn_secret }}"),
                ("user", "ivan:${PASSWORD}"), ("listening-ip", "$(hostname -i)")):  # fmt: skip
            text = f"{name}={value}\n" + BASE.replace("realm=turn.test\n", "" if name == "realm" else
                "realm=turn.test\n")  # fmt: skip
            done = imported(text)
            self.assertIn(f"t.conf:1: {name}: it is a variable", done.told[0].shown("t.conf"))
            self.assertTrue(done.lost)
            self.assertNotIn(value, made(text))
        self.assertIn("password: \"a$b\"", made("realm=x\nuser=ivan:a$b\n"))

    def test_a_public_address_is_left_to_fill_in(self):
        links = [{"ifname": "eth0", "flags": [], "addr_info": [{"local": "10.0.0.5", "prefixlen": 24}]}]
        for text in ("external-ip=$(detect-external-ip)\n", "detect-external-ip\n"):
            done = imported(text + BASE, links=links)
            self.assertTrue(done.lost)
            self.assertIn("external: PUBLIC-ADDRESS", "\n".join(done.lines()))
            self.assertIn("write the external address of 10.0.0.5", done.told[0].text)

    def test_command_lines(self):
        for raw, found in (
            (b"-a -v -L 192.0.2.5 -r turn.test -u ivan:pw", "lt-cred-mech verbose listening-ip=192.0.2.5"
                " realm=turn.test user=ivan:pw"),
            (b"--lt-cred-mech --realm=turn.test --min-port 50000 -f", "lt-cred-mech realm=turn.test"
                " min-port=50000 fingerprint"),
            (b"turnserver -n --no-tcp", "no-tcp"),
            (b"exec /usr/bin/turnserver -avf -X192.0.2.7/10.0.0.5 -c /etc/x -o", "lt-cred-mech verbose"
                " fingerprint external-ip=192.0.2.7/10.0.0.5"),
            (b"command: --realm='a b' --no-cli", "realm=a b no-cli"),
            (b"-a -w", "lt-cred-mech -w"),
            (b"--no-tcp", "--no-tcp"),
            (b"user=a:-b -c", "user=a:-b -c"),
        ):  # fmt: skip
            lines = syntax.read(raw + b"\n")
            self.assertEqual(" ".join(l.name + (f"={l.value}" if l.value else "") for l in lines), found)
        lines = syntax.read(b"# a unit's\nturnserver -n \\\n  --realm=x \\\n  --no-udp\nno-tcp\n")
        self.assertEqual([(l.number, l.name) for l in lines], [(2, "realm"), (2, "no-udp"), (5, "no-tcp")])
        self.assertIn("bad quotes", told("-a -u 'x\n" + BASE)[0])

    def test_important_lines_come_first(self):
        """One heading for each kind, wherever the lines are. The result starts with the first two
        kinds."""
        text = "fingerprint\nno-tlsv1\nmin-port=50000\nno-auth\npkey-pwd=x\npidfile=/p\nmin-port=50000\n"
        done = imported(text + BASE, private_peers=True)
        said, headings = done.report(), list(settings.HEADINGS.values())
        self.assertEqual([line for line in said if line in headings], headings)
        numbers = [int(found[1]) for found in (re.match(r"t\.conf:(\d+):", line) for line in said) if found]
        self.assertEqual(numbers, [4, 5, 3, 6, 1, 2])
        lines = done.lines()
        first = lines.index("listeners:")
        places = [lines.index("# " + heading) for heading in headings]
        self.assertEqual(sorted([*places, first]), [*places[:2], first, *places[2:]])

    def test_keys_given_again(self):
        self.has("min-port=50000\nmin-port=51000\n", "t.conf:1: min-port: line 2 repeats the key")
        self.assertIn("ports: 51000-65535", made("min-port=50000\nmin-port=51000\n" + BASE))
        twice = "user=ivan:new\n" + BASE
        self.assertIn("t.conf:1: user: line 3 has the same name", "\n".join(told(twice)))
        self.assertIn("{name: ivan, password: pw}", made(twice))

    def test_a_semicolon_is_kept(self):
        self.has("server-name=a;\n", "the semicolon at the end is a part of the value")

    def test_secrets_are_not_printed(self):
        text = "user=a:geheim\nuser=geheim\nstatic-auth-secret=\ncli-password=geheim\npkey-pwd=geheim\n"
        self.assertNotIn("geheim", "\n".join(told(text + BASE)))

    def test_defaults_cause_no_message(self):
        self.assertEqual(told("mobility=no\nmax-bps=0\nchannel-lifetime=600\n" + BASE), [])

    def test_every_line_is_converted_or_reported(self):
        """Each key of coturn, with a value that needs an action, leaves a trace."""
        for name, text in settings_in_turn():
            done = imported(text)
            taken = [line for line in done.lines() if re.search(r"\bline \d", line)]
            found = any(one.line and one.line.name == name for one in done.told) or any(name in line for line in taken)
            self.assertTrue(found or name in SHOWN_OTHERWISE, text)


# Keys that appear in the result without their name: transports that exist or not, and keys that
# coturn itself uses only together with another one.
SHOWN_OTHERWISE = {
    "no-udp", "no-tcp", "no-tls", "dtls", "no-dtls", "listening-port", "tls-listening-port",
    "listening-device", "relay-device", "user", "allowed-peer-ip", "denied-peer-ip", "no-stun",
    "rfc3489-compatibility",
}  # fmt: skip


class Network(unittest.TestCase):
    def test_without_an_address(self):
        text = made(BASE)
        self.assertIn("device: packet:eth0\n", text)
        self.assertIn("- 192.0.2.5/24\n", text)
        self.assertNotIn("fe80::5", text)
        self.assertIn("gateway:\n      - 192.0.2.1\n", text)
        self.assertIn("- {transport: tcp, address: all, port: 3478}", text)
        self.assertIn("relay:\n  addresses: all\n  ports: 49152-65535", text)

    def test_advice_outside_the_file(self):
        said = beside(BASE)
        self.assertIn("`sysctl -w net.ipv4.ip_local_reserved_ports=49152-65535`, which leaves it 16384",
            said)  # fmt: skip
        for low, high, advice in ((32769, 65535, '=`sysctl -w net.ipv4.ip_local_port_range="10001 32768"`'
                ", which leaves it 22768; to reserve them would leave it 1."),
                (1024, 63000, "=relay ports 1024-63000 leave the kernel too few"),
                (40000, 40100, "=`sysctl -w net.ipv4.ip_local_reserved_ports=40000-40100`")):
            said_of = beside(f"min-port={low}\nmax-port={high}\n" + BASE)
            self.assertIn(advice[1:], said_of)  # fmt: skip
        self.assertIn("and the unit needs the drop-in packet.conf", said)
        self.assertNotIn("process-user.conf", said)
        self.assertIn("coturn also listens on the addresses of eth1", said)
        text = "listening-ip=10.0.0.5\ncert=/c\npkey=/k\ntls-listening-port=443\n" + BASE
        said = beside(text)
        self.assertIn("port 443 is below 1024: the unit needs the drop-in ports-below-1024.conf", said)
        self.assertIn("packet:eth1 has no gateway", said)
        self.assertNotIn("also listens", said)
        said = beside("proc-user=turnserver\n" + BASE)
        self.assertIn("the unit needs the drop-in process-user.conf", said)
        self.assertNotIn("process-user", beside("proc-user=root\n" + BASE))

    def test_private_peers_are_reported(self):
        """Unless the file itself denies them and the programs of this machine."""
        advice = "peers.allow` has no private peers and no programs of this machine (192.0.2.5, 2001:db8::5"
        self.assertIn(advice, beside(BASE))
        self.assertIn("# t.conf: `" + advice.split(" and")[0], "\n".join(imported(BASE).lines()))
        self.assertNotIn(advice, beside(BASE, private_peers=True))
        deny = "".join(f"denied-peer-ip={net[0]}-{net[-1]}\n" for net in rules.PRIVATE)
        denials = "denied-peer-ip=192.0.2.5\nallowed-peer-ip=2001:db8::5\n"
        self.assertNotIn("peers.allow", beside(deny + denials + BASE))
        self.assertIn("has no programs of this machine (192.0.2.5,", beside(deny + BASE))

    def test_the_interface_that_has_an_address(self):
        text = made("listening-ip=10.0.0.5\n" + BASE)
        self.assertIn("device: packet:eth1\n", text)
        self.assertNotIn("eth0", text)
        self.assertIn("routes:\n      - {to: 10.0.0.0/8, via: 10.0.0.1}", text)
        self.assertIn("addresses: [10.0.0.5]", text)

    def test_two_interfaces_are_two_ports(self):
        text = made("listening-ip=192.0.2.5\nrelay-ip=10.0.0.5\n" + BASE)
        self.assertIn("- name: wan\n    device: packet:eth0", text)
        self.assertIn("- name: wan2\n    device: packet:eth1", text)
        self.assertIn("addresses: [10.0.0.5]", text)

    def test_an_address_without_interface(self):
        with self.assertRaisesRegex(box.NoPort, "no interface of this machine has 192.0.2.77"):
            imported("listening-ip=192.0.2.77\n" + BASE)

    def test_a_device_option(self):
        given = {"port": "0000:3b:00.0", "addresses": ["192.0.2.77/25"], "gateways": ["192.0.2.1"]}
        text = made("listening-ip=192.0.2.77\n" + BASE, **given)
        self.assertIn('device: "0000:3b:00.0"', text)
        self.assertIn("- 192.0.2.77/25", text)
        self.assertIn("exception: {name: sr0}", text)
        self.assertNotIn("exception", made("no-tcp\nno-tls\nlistening-ip=192.0.2.77\n" + BASE, **given))
        with self.assertRaisesRegex(box.NoPort, "prefix length of 192.0.2.77"):
            imported("listening-ip=192.0.2.77\n" + BASE, port="0000:3b:00.0")
        with self.assertRaisesRegex(box.NoPort, "its addresses are not known"):
            imported(BASE, port="0000:3b:00.0")

    def test_unspecified_addresses(self):
        for text, listening, relaying in (
            ("listening-ip=\n", ["all-ipv4"], "all-ipv4"), ("listening-ip=::\n", ["all-ipv6"], "all-ipv6"),
            ("listening-ip=0.0.0.0\nlistening-ip=::\n", ["all"], "all"),
            ("listening-ip=0.0.0.0\nlistening-ip=192.0.2.5\n", ["all-ipv4"], "all-ipv4"),
            ("listening-ip=0.0.0.0\nlistening-ip=2001:db8::5\n", ["all-ipv4", '"2001:db8::5"'],
                '["2001:db8::5"]'),
            ("relay-ip=0.0.0.0\n", ["all"], "all-ipv4"),
        ):  # fmt: skip
            result = made("no-tcp\n" + text + BASE)
            found = re.findall(r"transport: udp, address: ([^,]*),", result)
            self.assertEqual(found, listening, text)
            self.assertIn(f"addresses: {relaying}\n", result)

    def test_loopback(self):
        said = "\n".join(told("listening-ip=127.0.0.1\nlistening-ip=192.0.2.5\n" + BASE))
        self.assertIn("t.conf:1: listening-ip: not here", said)

    def test_external_addresses(self):
        one = {"listening-ip=192.0.2.5\nexternal-ip=203.0.113.5\n", "external-ip=203.0.113.5/192.0.2.5\n"}
        for text in one:
            self.assertIn("- {address: 192.0.2.5/24, external: 203.0.113.5}", made(text + BASE))
        text = "listening-ip=192.0.2.5\nlistening-ip=10.0.0.5\nexternal-ip=203.0.113.5\n" + BASE
        self.assertNotIn("external", made(text))
        self.assertIn("external-ip: not here: which address", "\n".join(told(text)))
        text = "external-ip=203.0.113.5\nexternal-ip=203.0.113.6\n" + BASE
        self.assertIn("t.conf:2: external-ip: coturn accepts one", "\n".join(told(text)))
        self.assertNotIn("external", made("external-ip=192.0.2.5/192.0.2.5\n" + BASE))

    def listeners(self, text):
        return re.findall(r"transport: (\w+), address: \S+, port: (\d+)", made(text + BASE))

    def test_transports(self):
        tls = "cert=/c\npkey=/k\n"
        plain = [("udp", "3478"), ("tcp", "3478")]
        for text, expected in (
            ("", plain), ("cert=/c\n", plain), (tls + "no-tls\n", plain), ("dtls\n", plain),
            ("no-tcp\n", plain[:1]), ("no-udp\n", plain[1:]),
            ("listening-port=3479\n", [("udp", "3479"), ("tcp", "3479")]), ("listening-port=0\n", plain),
            (tls, [("udp", "3478"), ("auto", "3478"), ("auto", "5349")]),
            (tls + "no-tcp\ntls-listening-port=443\n", [("udp", "3478"), ("tls", "443")]),
            (tls + "no-udp\n", [("auto", "3478"), ("auto", "5349")]),
            (tls + "tls-listening-port=3478\n", [("udp", "3478"), ("auto", "3478")]),
            (tls + "dtls\nno-tls\nno-tcp\n", [("udp", "3478"), ("dtls", "3478"), ("udp", "5349"),
                ("dtls", "5349")]),
            (tls + "dtls\nno-udp\nno-tls\nno-tcp\n", [("dtls", "5349")]),
            (tls + "no-dtls=no\nno-udp\nno-tls\nno-tcp\n", [("dtls", "5349")]),
            (tls + "dtls\nno-dtls\nno-tls\nno-tcp\n", [("udp", "3478")]),
            (tls + "tcp-proxy-port=99\naux-server=192.0.2.5:9\nlistening-ip=192.0.2.5\n",
                [("udp", "3478"), ("tcp", "99"), ("udp", "9")]),
            ("no-tcp\ntcp-proxy-port=99\n", plain[:1]),
            ("aux-server=192.0.2.5:99\nlistening-ip=192.0.2.5\n", [*plain, ("udp", "99"), ("tcp", "99")]),
        ):  # fmt: skip
            self.assertEqual(self.listeners(text), expected, text)

    def test_balancers(self):
        text = "listening-ip=192.0.2.5\ntcp-proxy-port=99\n" + BASE
        self.assertIn('port: 99, proxy: [127.0.0.1, "::1"]}', made(text))
        self.assertIn("t.conf:2: tcp-proxy-port: write the addresses of the balancers", "\n".join(told(text)))

    def test_no_listener(self):
        said = "\n".join(told("no-udp\nno-tcp\n" + BASE))
        self.assertIn("t.conf:1: no-udp: no listener is left", said)

    def test_relay_ports(self):
        for text, expected in (
            ("min-port=50000\n", "ports: 50000-65535"), ("max-port=50000\n", "ports: 49152-50000"),
            ("min-port=100\nmax-port=2000\n", "ports: 1024-2000"),
            ("min-port=60000\nmax-port=50000\n", "ports: 49152-65535"),
            ("multiplex-peer\nrelay-threads=2\n", "mode: shared\n  ports: 3480-3483"),
            ("multiplex-peer\nmultiplex-peer-port=4000\ncpus=1\n", "mode: shared\n  ports: 4000-4001"),
        ):  # fmt: skip
            self.assertIn(expected, made(text + BASE), text)


class Accounts(unittest.TestCase):
    def test_users(self):
        key = "0x" + "AB" * 16
        text = made(f"realm=r\nuser=ivan: a b\nuser=olga:{key}\nuser=x:0x12\nuser=nobody\n")
        self.assertIn('- {name: ivan, password: "a b"}', text)
        self.assertIn(f'- {{name: olga, key: {"ab" * 16}}}', text)
        self.assertNotIn("nobody", text)
        self.assertNotIn("name: x", text)

    def test_secrets_win_over_users(self):
        text = "static-auth-secret=one\nstatic-auth-secret=two\n" + BASE
        self.assertIn("secrets:\n    - one\n    - two", made(text))
        self.assertNotIn("ivan", made(text))
        self.assertIn("t.conf:4: user: coturn ignores users if there are secrets", "\n".join(told(text)))

    def test_no_users(self):
        done = imported("realm=r\nno-auth\n")
        self.assertFalse(done.complete)
        self.assertTrue(done.lost)
        self.assertIn("users: [] # required", "\n".join(done.lines()))

    def test_no_realm(self):
        self.assertRegex(made("user=ivan:pw\n"), r"realm: \S+")
        self.assertIn("keys are made for one", "\n".join(told("user=a:0x" + "1" * 32 + "\n")))

    def test_access_tokens(self):
        """The keys are in a database."""
        text = made("oauth\nserver-name=relay.test\n" + BASE)
        self.assertIn("  oauth:\n    server-name: relay.test\n    keys: []", text)
        self.assertIn("t.conf:1: oauth: the keys of access tokens are in a database", "\n".join(told("oauth\n" + BASE)))
        for text in ("server-name=relay.test\n", "oauth=0\nserver-name=relay.test\n"):
            self.assertNotIn("oauth:", made(text + BASE))
            self.assertIn("server-name: it is for access tokens", "\n".join(told(text + BASE)))
        self.assertNotIn("server-name:", made(f"oauth\nserver-name={'x' * 256}\n" + BASE))

    def test_nonces(self):
        self.assertIn("nonce:\n    lifetime: 600", made("stale-nonce\n" + BASE))
        self.assertIn("lifetime: 86400", made("stale-nonce=0\n" + BASE))
        self.assertIn("secret: abc", made("stateless-nonce-secret=abc\n" + BASE))


class Peers(unittest.TestCase):
    def rules(self, text, **given):
        result = made(text + BASE, **given)
        found = re.search(r"^peers:\n((?:  .*\n?)*)", result, re.M)
        return found[1] if found else ""

    def allows(self, text, ip):
        """slipring's verdict: the longest prefix, and deny wins a tie. Returns None if no rule matches."""
        best = None
        for kind in ("allow", "deny"):
            part = re.search(rf"  {kind}:\n((?:    - .*\n?)*)", text)
            for item in re.findall(r'- "?([^\s"]+)', part[1]) if part else ():
                low, dash, high = item.partition("-")
                nets = [ipaddress.ip_network(item)] if not dash else ipaddress.summarize_address_range(
                    ipaddress.ip_address(low), ipaddress.ip_address(high))  # fmt: skip
                for net in nets:
                    if ip.version == net.version and ip in net:
                        rank = (net.prefixlen, kind == "deny")
                        best = max(best or rank, rank)
        return None if best is None else not best[1]

    def test_allow_wins(self):
        text = self.rules("allowed-peer-ip=10.0.0.0-10.0.255.255\ndenied-peer-ip=10.0.1.0-10.1.0.255\n")
        for ip, expected in (("10.0.1.7", True), ("10.0.0.7", True), ("10.1.0.7", False),
                ("10.1.1.0", None)):  # fmt: skip
            self.assertIs(self.allows(text, ipaddress.ip_address(ip)), expected, ip)
        text = self.rules("denied-peer-ip=10.0.0.0-10.255.255.255\nallowed-peer-ip=10.0.0.1\n")
        self.assertEqual(text, "  allow:\n    - 10.0.0.1\n  deny:\n    - 10.0.0.0/8\n")
        self.assertEqual(self.rules("denied-peer-ip=10.0.0.1\nallowed-peer-ip=10.0.0.1\n"),
            "  allow:\n    - 10.0.0.1\n")  # fmt: skip

    def test_rules_keep_their_meaning(self):
        """Random rules: every address has coturn's verdict, if a rule names it."""
        import random

        draw = random.Random(4711)
        for _ in range(60):
            spans = []
            for _ in range(draw.randint(1, 6)):
                low = draw.randrange(0x0A000000, 0x0A000400)
                high = min(low + draw.choice((0, 1, 7, 255, 600)), 0x0A0007FF)
                spans.append((draw.choice(("allowed", "denied")), low, high))
            text = self.rules("".join(
                f"{kind}-peer-ip={ipaddress.ip_address(low)}-{ipaddress.ip_address(high)}\n"
                for kind, low, high in spans))  # fmt: skip
            for _ in range(40):
                ip = draw.randrange(0x0A000000, 0x0A000800)
                hit = {kind for kind, low, high in spans if low <= ip <= high}
                expected = True if "allowed" in hit else False if "denied" in hit else None
                self.assertIs(self.allows(text, ipaddress.ip_address(ip)), expected, (spans, hex(ip)))

    def test_other_forms_of_ipv4(self):
        text = "denied-peer-ip=::ffff:0.0.0.0-::ffff:255.255.255.255\ndenied-peer-ip=64:ff9b::1\n"
        self.assertEqual(self.rules(text), "")
        self.assertEqual(len(told(text + BASE)), 2)

    def test_private_peers(self):
        text = self.rules("denied-peer-ip=10.0.0.0-10.255.255.255\n", private_peers=True)
        self.assertNotIn("- 10.0.0.0/8\n", text.split("deny")[0])
        self.assertIn("- 192.168.0.0/16\n", text)

    def test_programs_of_this_machine(self):
        """A prefix does not allow a local address, so one that coturn allows is listed separately."""
        text = self.rules("allowed-peer-ip=192.0.2.0-192.0.2.255\n")
        self.assertEqual(text, "  allow:\n    - 192.0.2.0/24\n    - 192.0.2.5\n")
        self.assertEqual(self.rules("allowed-peer-ip=192.0.2.5\n"), "  allow:\n    - 192.0.2.5\n")
        self.assertEqual(self.rules(""), "")
        text = "external-ip=203.0.113.9/192.0.2.5\ndenied-peer-ip=192.0.2.5\n"
        self.assertEqual(self.rules(text), "  allow:\n    - 192.0.2.5\n")
        rules = '    - 192.0.2.5\n    - "2001:db8::5"\n'
        self.assertIn(rules, self.rules("", private_peers=True))
        self.assertIn("    - 203.0.113.9\n", self.rules("external-ip=203.0.113.9/192.0.2.5\n", private_peers=True))
        text = self.rules("denied-peer-ip=192.0.2.5\n", private_peers=True)
        self.assertNotIn("192.0.2.5", text.split("deny")[0])
        self.assertIn('    - "2001:db8::5"\n', text)
        nic = {"port": "0000:3b:00.0", "addresses": ["192.0.2.5/24"]}
        self.assertNotIn("192.0.2.5", self.rules("", private_peers=True, **nic))

    def test_subtraction(self):
        self.assertEqual(rules.minus([(0, 9)], [(3, 4), (8, 20)]), [(0, 2), (5, 7)])
        self.assertEqual(rules.minus([(0, 9)], [(0, 9)]), [])
        self.assertEqual(rules.minus([(5, 9)], [(0, 3)]), [(5, 9)])


class Table(unittest.TestCase):
    def test_the_document_has_it(self):
        with open(os.path.join(TOP, "doc/coturn.md"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text, table.replaced(text), "run scripts/manual")

    def test_rows(self):
        self.assertEqual(table.rows([("a", "x"), ("b", "y"), ("c", "x")]), ["| `a`, `c` | x |", "| `b` | y |"])
        for key in keys.KEYS.values():
            self.assertIn(key.verdict, (HERE, ALWAYS, NOT))
            self.assertEqual(bool(key.path), key.verdict == HERE, key.name)
            self.assertFalse(key.take and key.verdict != HERE, key.name)
            self.assertTrue(key.text or key.verdict == HERE, key.name)
        self.assertEqual(len(keys.KEYS), sum(len(rows) for _, rows in keys.GROUPS))
        self.assertFalse(set(keys.GONE) & set(keys.KEYS))

    def test_alternates(self):
        out = made(BASE + "alternate-server=203.0.113.9\ntls-alternate-server=203.0.113.9:443\n"
            "udp-alternate-server=[2001:db8::9]:3479\n")  # fmt: skip
        self.assertIn("alternate:\n  servers:\n"
            "    - {address: 203.0.113.9, port: 3478, tls-port: 443}\n"
            '    - {address: "2001:db8::9", port: 3479}\n', out)  # fmt: skip

    def test_alternates_that_are_reported(self):
        for lines, want in (
            ("alternate-server=203.0.113.9\nalternate-server=203.0.113.9:99\n", "an address has one port"),
            ("alternate-server=203.0.113.9\ncert=/c\npkey=/k\n", "clients of TLS and DTLS are sent there"),
            ("tls-alternate-server=203.0.113.9\n", "clients of UDP and TCP are sent there"),
            ("alternate-server=2001:db8::9\n", "coturn exits at"),
        ):
            self.assertTrue(any(want in line for line in told(BASE + lines)), told(BASE + lines))
        text = BASE + "listening-ip=192.0.2.5\nalternate-server=192.0.2.5\nalternate-server=203.0.113.9\n"
        self.assertTrue(any("this server itself" in line for line in told(text)), told(text))
        self.assertNotIn("alternate:", made(text))

    def test_keys_of_slipring_are_there(self):
        with open(os.path.join(TOP, "doc/configuration.md"), encoding="utf-8") as file:
            known = set(re.findall(r"^\| `([^`]+)` \|", file.read(), re.M))
        for key in keys.KEYS.values():
            for path in key.paths if key.path and key.path != "listeners" else ():
                self.assertIn(path, known, key.name)


# Keys that need a value of a certain format.
VALUES = {
    "listening-ip": "192.0.2.5", "relay-ip": "2001:db8::5", "external-ip": "203.0.113.5/192.0.2.5",
    "aux-server": "192.0.2.5:3490", "listening-device": "eth0", "relay-device": "eth1",
    "user": "olga:geheim", "denied-peer-ip": "203.0.113.0-203.0.113.255", "allowed-peer-ip": "10.0.0.1",
    "alternate-server": "203.0.113.9", "tls-alternate-server": "203.0.113.9:5349",
    "tcp-alternate-server": "203.0.113.9", "udp-alternate-server": "[2001:db8::9]:3478",
    "allocation-default-address-family": "keep", "cipher-list": "DEFAULT", "rest-api-separator": "-",
    "log-min-level": "warning", "log-file": "/var/log/turn.log", "proc-user": "nobody",
    "proc-group": "nogroup", "prometheus-path": "/m",
}  # fmt: skip
PORTS = {"listening-port": 3490, "tls-listening-port": 5350, "min-port": 50000, "max-port": 60000,
         "multiplex-peer-port": 4000}  # fmt: skip
BESIDE = {
    "multiplex-peer-port": "multiplex-peer\n", "multiplex-peer-max-peers": "multiplex-peer\n",
    "use-auth-secret": "static-auth-secret=abc\n", "server-name": "oauth\n",
    "unauthorized-ratelimit-rps": "unauthorized-ratelimit\n", "no-tlsv1_2": "TLS", "dtls": "TLS",
    "no-tls": "TLS", "no-dtls": "TLS", "cipher-list": "TLS", "tls-listening-port": "TLS", "cert": "TLS",
    "pkey": "TLS", "no-udp": "TLS",
}  # fmt: skip


def value_of(key, certificate=("/c", "/k")):
    if key.name in ("cert", "pkey"):
        return certificate[key.name == "pkey"]
    if key.name in VALUES:
        return VALUES[key.name]
    if key.name in PORTS:
        return PORTS[key.name]
    if key.kind is syntax.flag:
        return ""
    return "some" if key.kind is str else 7


def settings_in_turn(certificate=("/c", "/k")):
    """(name, text of a file) for every key of coturn, and for every flag that is false."""
    tls = f"cert={certificate[0]}\npkey={certificate[1]}\n"
    for name, key in keys.KEYS.items():
        beside = BESIDE.get(name, "").replace("TLS", tls)
        yield name, f"{name}={value_of(key, certificate)}\n{beside}{BASE}"
        if key.off and key.kind is syntax.flag:
            yield name, f"{name}=no\n{beside}{BASE}"


@unittest.skipUnless(PROGRAM, "needs the slipring program as its argument")
class Checked(unittest.TestCase):
    """slipring --check accepts the result of a file with each key in turn."""

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.pair = tuple(os.path.join(self.dir.name, name) for name in ("cert.pem", "key.pem"))
        subprocess.run(
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 60 -subj /CN=turn"
            .split() + ["-out", self.pair[0], "-keyout", self.pair[1]], check=True, capture_output=True,
        )  # fmt: skip

    def checked(self, number, text):
        """The errors of a result. Its device needs no hardware."""
        lines = imported(text, port="vtap:x0", gateways=["192.0.2.1", "fe80::1"],
            addresses=["192.0.2.5/24", "2001:db8::5/64"]).lines()  # fmt: skip
        path = os.path.join(self.dir.name, f"{number}.yaml")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write("\n".join(lines) + "\n")
        argv = [PROGRAM, "--check", "-c", path]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else done.stdout + done.stderr

    def test_each_key_in_turn(self):
        rows = list(settings_in_turn(self.pair))
        self.assertGreater(len(rows), 140)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = pool.map(self.checked, range(len(rows)), [text for _, text in rows])
            for (name, text), wrong in zip(rows, found):
                with self.subTest(name):
                    self.assertEqual(wrong, "", text)


class Program(unittest.TestCase):
    def run_it(self, *args, given=""):
        return subprocess.run([SCRIPT, *args], input=given, capture_output=True, text=True, check=False)

    DEVICE = ("--port", "0000:3b:00.0", "--address", "192.0.2.5/24", "--gateway", "192.0.2.1")

    def test_exit_codes(self):
        all_taken = self.run_it(*self.DEVICE, "-", given=BASE)
        self.assertEqual(all_taken.returncode, 0)
        self.assertTrue(all_taken.stderr.startswith("To do in addition:\n<stdin>: peers.allow has no private"))
        self.assertIn("auth:\n", all_taken.stdout)
        lost = self.run_it(*self.DEVICE, "-", given="server-relay\n" + BASE)
        self.assertEqual(lost.returncode, 1)
        self.assertIn("<stdin>:1: server-relay: not here: a peer needs a permission\n", lost.stderr)
        always = self.run_it(*self.DEVICE, "-", given="fingerprint\n" + BASE)
        self.assertEqual(always.returncode, 0)
        self.assertIn("<stdin>:1: fingerprint: always so", always.stderr)
        nobody = self.run_it(*self.DEVICE, "-", given="realm=r\n")
        self.assertEqual(nobody.returncode, 1)
        self.assertIn("no users and no secrets", nobody.stderr)

    def test_wrong_usage(self):
        for args in (
            (), ("a", "b"), ("--address", "192.0.2.1/24", "-"), ("--port", "x", "--address", "y", "-"),
            ("--gateway", "y", "-"), ("--port", "x", "--address", "192.0.2.1", "-"),
        ):  # fmt: skip
            done = self.run_it(*args)
            self.assertEqual((done.returncode, done.stdout), (2, ""), args)
        absent = self.run_it("/nowhere/turnserver.conf")
        self.assertEqual((absent.returncode, absent.stdout), (2, ""))
        self.assertIn("/nowhere/turnserver.conf", absent.stderr)


class Documents(unittest.TestCase):
    def test_sections_in_their_order(self):
        document = Document()
        document.put("auth.realm", "a")
        document.put("workers.count", 1)
        self.assertEqual(document.lines(), ["workers:", "  count: 1", "auth:", "  realm: a"])


if __name__ == "__main__":
    unittest.main()
