# SPDX-License-Identifier: BSD-3-Clause
"""Ports, listeners and relay addresses: the addresses in a file, and the services on them."""

from coturn.document import Item, Word
from coturn.key import DECIDE, DO, NOTE
from coturn.syntax import Refused, address
from machine import box as boxes
from machine.kernel import HIGH, LEAST_LEFT, RELAY_LOWEST, keep_off

PLAIN_PORT, TLS_PORT = 3478, 5349
BALANCERS = ["127.0.0.1", "::1"]  # for tcp-proxy-port: coturn does not name them
LOW = 49152
THREADS_MAX = 128
FILL_IN = "PUBLIC-ADDRESS"


class Network:
    """Takes settings, a box and the options of the command line; fills a document."""

    def __init__(self, settings, box, options, document):
        self.settings, self.options, self.document = settings, options, document
        self.listening = self.usable("listening-ip")
        self.relaying = self.usable("relay-ip")
        self.aux = [(line, end) for line, end in settings.all("aux-server") if self.served(line, end)]
        self.external = self.translations()
        devices = [settings.get(name) for name in ("listening-device", "relay-device")]
        self.ports = boxes.ports(box, self.needed(), devices, options)
        self.left_out = [] if options.port or self.needed() else box.beside(self.ports)
        self.at_hand = {address: port for port in self.ports for address in port.addresses}
        self.outside = self.external_of()
        self.secure = self.has_certificate()
        self.dtls = self.secure and self.wants_dtls()
        for name in ("listening-device", "relay-device"):
            self.check_device(name)

    # -- addresses

    def usable(self, name):
        """{address: line} of a key, without loopback addresses. Keeps unspecified ones."""
        found = {}
        for line, value in self.settings.all(name):
            if value.is_loopback:
                self.settings.tell(line, f"not here: no port can have {value}, and programs of"
                    " this machine cannot be clients")  # fmt: skip
            elif value in found:
                self.settings.tell(line, f"line {found[value].number} already has {value}", NOTE)
            else:
                found[value] = line
        return found

    def served(self, line, end):
        if end[1] == 0 or end[0].is_unspecified or end[0].is_loopback:
            self.settings.tell(line, "it needs an address of this machine and a port")
            return False
        return True

    def needed(self):
        """All addresses of this machine that the file names, each once."""
        named = [*self.listening, *self.relaying, *(end[0] for _, end in self.aux)]
        named += [private for private, _ in self.external if private is not None]
        return list(dict.fromkeys(a for a in named if not a.is_unspecified))

    def check_device(self, name):
        """Each of these keys names one interface; the ports may be on others."""
        line, device = self.settings.line(name), self.settings.get(name)
        if device and device not in [port.interface for port in self.ports]:
            has = " and ".join(port.device for port in self.ports)
            self.settings.tell(line, f"the addresses are on {has}, not on {device}")

    def translations(self):
        """[(private or None, (public, line))] of external-ip."""
        found = []
        for line, value in self.settings.all("external-ip"):
            public, slash, private = value.partition("/")
            try:
                found.append((address(private) if slash else None, (address(public), line)))
            except Refused as error:
                self.settings.tell(line, str(error))
        return found

    def external_of(self):
        """{private: (public, line)}. A public address alone belongs to the only address of its family."""
        out = {private: pair for private, pair in self.external if private is not None}
        bare = [pair for private, pair in self.external if private is None]
        for public, line in bare[1:]:
            self.settings.tell(line, f"coturn accepts one address without /PRIVATE, that in line"
                f" {bare[0][1].number}")  # fmt: skip
        for public, line in bare[:1]:
            named = [a for a in self.relaying or self.listening if not a.is_unspecified]
            local = [a for a in named or self.at_hand if a.version == public.version]
            if len(local) == 1:
                out.setdefault(local[0], (public, line))
                continue
            many = ", ".join(map(str, local)) or "no address"
            self.settings.tell(line, f"not here: which address does {public} translate to? Write"
                f" external-ip={public}/PRIVATE (relay addresses of its family: {many})")  # fmt: skip
        return out

    def local_addresses(self):
        """{address: line} of the addresses of programs on this machine, also from outside. The line is that
        of an external-ip with which coturn allows this private address as a peer, or None."""
        kernels = [a for port in self.ports if port.is_kernels for a in port.addresses]
        by_line = {private: line for private, (_, line) in self.external if private is not None}
        outside = [public for local, (public, _) in self.outside.items() if local in kernels]
        return {address: by_line.get(address) for address in kernels} | dict.fromkeys(outside)

    # -- ports

    def asked_external(self):
        """(address, line) if coturn asks a server for the external address of this address, or None."""
        line = self.settings.detects
        if not line or self.external:
            return None
        local = next((a for a in self.needed() or self.at_hand if a.version == 4), None)
        if local is None or local.is_global:
            self.settings.tell(line, "no address of this machine needs an external one", NOTE)
            return None
        self.settings.tell(line, f"slipring does not ask a server: write the external address of {local}"
            f" into external, in place of {FILL_IN}")  # fmt: skip
        return local, line

    def put_ports(self, streams):
        external = dict(self.outside)
        asked = self.asked_external()
        if asked:
            external[asked[0]] = (FILL_IN, asked[1])
        for number, port in enumerate(self.ports):
            name = "wan" if number == 0 else f"wan{number + 1}"
            entry = {"name": Item(name), "device": Item(port.device, port.reason)}
            rows = []
            for local, length in port.addresses.items():
                public, line = external.get(local, (None, None))
                if public in (None, local):
                    rows.append(Item(f"{local}/{length}"))
                else:
                    value = {"address": f"{local}/{length}", "external": str(public)}
                    rows.append(Item(value, f"{line.name} in line {line.number}"))
            entry["addresses"] = Item(rows)
            if port.gateways:
                entry["gateway"] = Item([Item(str(gateway)) for gateway in port.gateways])
            if port.routes:
                entry["routes"] = Item([Item({"to": net, "via": via}) for net, via in port.routes])
            if streams and not port.is_kernels:
                entry["exception"] = Item({"name": f"sr{number}"},
                    "the kernel serves TCP: its end of this port")  # fmt: skip
            self.document.add("ports", entry)

    # -- listeners

    def has_certificate(self):
        """True if there is TLS: coturn has it off if the file names no certificate or no key."""
        have = [name for name in ("cert", "pkey") if self.settings.get(name)]
        if len(have) == 1:
            lacks = "pkey" if have == ["cert"] else "cert"
            self.settings.tell(self.settings.line(have[0]), f"there is no {lacks}: no TLS")
        return len(have) == 2

    def wants_dtls(self):
        """The keys are opposites, and the last line counts."""
        pairs = [(line.number, value) for line, value in self.settings.all("dtls")]
        pairs += [(line.number, not value) for line, value in self.settings.all("no-dtls")]
        return max(pairs)[1] if pairs else False

    def transports(self):
        """[(transport, port)] of an address, in the order of the result."""
        get = self.settings.get
        plain = get("listening-port") or PLAIN_PORT
        second = get("tls-listening-port") or TLS_PORT
        tls = self.secure and not get("no-tls", False)
        udp, tcp = not get("no-udp", False), not get("no-tcp", False)
        out = {}
        if udp:
            out["udp", plain] = ""
        if self.dtls:
            if udp:
                out["dtls", plain] = ""
                out["udp", second] = ""
            out["dtls", second] = ""
        if tcp and self.proxied():
            out["tcp", get("tcp-proxy-port")] = ""
        elif tcp:
            out["auto" if tls else "tcp", plain] = ""
        if tls and not self.proxied() and (not tcp or plain != second):
            out["auto" if tcp else "tls", second] = ""
        return list(out)

    def proxied(self):
        """With tcp-proxy-port coturn accepts TCP only there."""
        return self.settings.line("tcp-proxy-port") is not None

    def words(self, found):
        """The addresses as in `listeners`, with words for the unspecified ones."""
        versions = {a.version for a in found if a.is_unspecified}
        if not found or versions == {4, 6}:
            return ["all"]
        words = [f"all-ipv{version}" for version in sorted(versions)]
        return words + [str(a) for a in found if a.version not in versions]

    def binding(self):
        """Value of `binding`: which Binding requests are answered; None = all."""
        if self.settings.get("no-stun", False):
            return "none"
        return None if self.settings.get("rfc3489-compatibility", True) else "rfc8489"

    def put_listeners(self):
        """True if some listeners are over TCP."""
        rows = [(word, pair) for word in self.words(self.listening) for pair in self.transports()]
        both = [("udp", "no-udp"), ("auto" if self.secure else "tcp", "no-tcp")]
        for line, (local, port) in self.aux:
            kinds = [kind for kind, no in both if not self.settings.get(no, False)]
            kinds = [kind for kind in kinds if kind == "udp" or not self.proxied()]
            rows += [(str(local), (kind, port)) for kind in kinds]
        if self.proxied() and any(kind == "tcp" for _, (kind, _) in rows):
            self.settings.tell(self.settings.line("tcp-proxy-port"),
                "write the addresses of the balancers into listeners[].proxy: coturn believes"
                " any sender. They must send version 2")  # fmt: skip
        off = self.settings.line("no-udp") or self.settings.line("no-tcp")
        if not rows and off:
            self.settings.tell(off, "no listener is left: slipring needs one at least")
        where = self.settings.where("listening-ip", "aux-server")
        self.document.put("listeners", [], where)
        for word, (transport, port) in dict.fromkeys(rows):
            row = {"transport": transport, "address": word, "port": port}
            if transport == "tcp" and self.proxied():
                row["proxy"] = BALANCERS
            if self.binding():
                row["binding"] = self.binding()
            self.document.add("listeners", row)
        return any(transport in ("tcp", "tls", "auto") for _, (transport, _) in rows)

    # -- relay

    def put_relay(self):
        found = self.relaying or self.listening
        where = self.settings.where("relay-ip" if self.relaying else "listening-ip")
        versions = {a.version for a in found if a.is_unspecified}
        local = [str(a) for a in found if not a.is_unspecified]
        if not found or versions == {4, 6}:
            self.document.put("relay.addresses", "all", where)
        elif len(versions) == 1 and not [a for a in found if a.version not in versions]:
            self.document.put("relay.addresses", f"all-ipv{versions.pop()}", where)
        else:
            local += [str(a) for a in self.at_hand if a.version in versions]
            self.document.put("relay.addresses", list(dict.fromkeys(local)), where)
        if self.settings.get("multiplex-peer"):
            self.put_shared()
        else:
            self.put_range()

    def put_range(self):
        get, line = self.settings.get, self.settings.line
        low, high = get("min-port") or LOW, get("max-port") or HIGH
        if low > high:
            self.settings.tell(line("min-port") or line("max-port"),
                f"{low} is above the highest port, {high}: coturn finds no port. {LOW}-{HIGH} is written")
            low, high = LOW, HIGH
        if low < RELAY_LOWEST:
            self.settings.tell(line("min-port"), f"relay ports begin at {RELAY_LOWEST} here", NOTE)
            low = RELAY_LOWEST
        self.document.put("relay.ports", Word(f"{low}-{max(low, high)}"),
            self.settings.where("min-port", "max-port"))  # fmt: skip

    def put_shared(self):
        """Two ports, one of each family, for each of coturn's relay threads."""
        base = self.settings.get("multiplex-peer-port") or 3480
        number = max(1, min(self.settings.get("relay-threads") or self.settings.get("cpus") or 4,
            THREADS_MAX))  # fmt: skip
        self.document.put("relay.mode", "shared", self.settings.where("multiplex-peer"))
        self.document.put("relay.ports", Word(f"{base}-{base + 2 * number - 1}"),
            self.settings.where("multiplex-peer-port", "relay-threads"))  # fmt: skip

    def reminders(self):
        """[(text, kind)] of changes that the machine needs in addition to the file."""
        out = self.about_kernel()
        low = sorted({pair[1] for pair in self.transports() if pair[1] < 1024})
        if low:
            out.append(f"port {low[0]} is below 1024: the unit needs the drop-in ports-below-1024.conf")
        if self.settings.get("proc-user", "root") != "root":
            out.append("to become another user the unit needs the drop-in process-user.conf")
        if self.left_out:
            out.append(f"coturn also listens on the addresses of {' and '.join(self.left_out)}, which are"
                " left out: name those that you need with listening-ip")  # fmt: skip
        for port in self.ports:
            if not port.gateways:
                out.append(f"{port.device} has no gateway: peers outside its subnets cannot be reached")
        return [text if isinstance(text, tuple) else (text, DO) for text in out]

    def about_kernel(self):
        """Kernel settings that a packet port needs."""
        kernels = [port.interface for port in self.ports if port.is_kernels]
        if not kernels:
            return []
        relay = self.document.sections["relay"]["ports"].value
        out = [f"packet:{kernels[0]} needs Linux 6.6, and the unit needs the drop-in packet.conf"]
        how = keep_off(*map(int, relay.split("-")))
        if how is None:
            out.append((f"relay ports {relay} leave the kernel too few for its own sockets: it needs"
                f" {LEAST_LEFT} in a row. Make relay.ports smaller", DECIDE))  # fmt: skip
        else:
            out.append(f"the kernel must give no relay port to its own sockets: {how}. Write it into"
                " /etc/sysctl.d, too")  # fmt: skip
        return out
