# SPDX-License-Identifier: BSD-3-Clause
"""Rules for peers. In coturn allowed ranges win over denied ones, whatever their sizes; in slipring the
longest prefix wins. So allowed ranges are cut out of denied ones, unless their prefixes are longer
anyway.
"""

import ipaddress

from coturn.key import NOTE

MAPPED = ipaddress.ip_network("::ffff:0:0/96")
TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
NEVER = [ipaddress.ip_network(text) for text in ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16",
         "224.0.0.0/3", "::/127", "fe80::/10", "fec0::/10", "ff00::/8", "2001::/32", "2002::/16")]
PRIVATE = [ipaddress.ip_network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",
           "100.64.0.0/10")]  # fmt: skip
LOCAL = ipaddress.ip_network("fc00::/7")  # coturn never relays there
PREFIXES_MAX = 4  # with more of them FIRST-LAST is shorter


def bounds(network):
    return int(network[0]), int(network[-1])


def minus(spans, taken):
    """Ranges of whole numbers without the numbers of other ranges."""
    for low, high in taken:
        left = []
        for first, last in spans:
            left += [(first, min(last, low - 1))] if first < low else []
            left += [(max(first, high + 1), last)] if last > high else []
        spans = [(first, last) for first, last in left if first <= last]
    return spans


def texts(spans, version):
    """Spans as slipring writes them: prefixes if they are few, else FIRST-LAST."""
    kind = ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address
    for low, high in spans:
        first, last = kind(low), kind(high)
        networks = list(ipaddress.summarize_address_range(first, last))
        if len(networks) > PREFIXES_MAX:
            yield f"{first}-{last}"
            continue
        for network in networks:
            yield str(network[0]) if network.num_addresses == 1 else str(network)


def prefixes(spans, version):
    kind = ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address
    split = ipaddress.summarize_address_range
    return [net for low, high in spans for net in split(kind(low), kind(high))]


def yields(denied, allowed, version):
    """True if every denied prefix is shorter than the allowed prefixes in it, which therefore win."""
    inner = prefixes(allowed, version)
    return all(net.prefixlen < a.prefixlen
               for net in prefixes(denied, version) for a in inner if net.overlaps(a))  # fmt: skip


def other_form(first, last):
    """The network of IPv4 addresses in IPv6 form that holds the whole span, or None."""
    nets = (MAPPED, TRANSLATED) if first.version == 6 else ()
    return next((net for net in nets if first in net and last in net), None)


def never(first, last):
    return any(first.version == net.version and first in net and last in net for net in NEVER)


class Rules:
    """The spans of one key, by family, with their lines."""

    def __init__(self, settings, name):
        self.spans = []  # (first, last, line)
        for line, (first, last) in settings.all(name):
            if other_form(first, last):
                settings.tell(line, "an address in this form is checked as the IPv4 address in it:"
                    " nothing is written", NOTE)  # fmt: skip
            elif name == "allowed-peer-ip" and never(first, last):
                settings.tell(line, "not here: such an address is never a peer")
            else:
                self.spans.append((first, last, line))

    def line_of(self, address):
        """The first line whose span has an address, or None."""
        inside = lambda f, l: f.version == address.version and f <= address <= l
        return next((line for f, l, line in self.spans if inside(f, l)), None)

    def spans_of(self, version):
        return [(int(f), int(l)) for f, l, _ in self.spans if f.version == version]


def unmentioned(local, allowed, denied):
    """Local addresses that no line mentions, and to which coturn therefore relays."""
    return [a for a in local if not (allowed.line_of(a) or denied.line_of(a) or a in LOCAL)]


def put_allowed(document, allowed, denied, local, private_peers):
    """`peers.allow`. A range does not allow addresses of this machine: they are listed one by one."""
    single = set()
    for first, last, line in allowed.spans:
        if first == last:
            single.add(first)
        note = ": coturn allows the private part" if line.name == "external-ip" else ""
        for text in texts([(int(first), int(last))], first.version):
            document.add("peers.allow", text, f"line {line.number}{note}")
    if private_peers:
        for net in PRIVATE:
            for text in texts(minus([bounds(net)], denied.spans_of(4)), 4):
                document.add("peers.allow", text, "--private-peers")
    unless_told = unmentioned(local, allowed, denied) if private_peers else []
    for address in local:
        line = allowed.line_of(address)
        if address in unless_told or (line and address not in single):
            where = f"line {line.number}" if line else "--private-peers"
            document.add("peers.allow", str(address), f"{where}: programs of this machine")


def put(settings, document, local, private_peers):
    """`peers.allow` and `peers.deny`, each span with its line. local: {address: line}. Returns texts: peers
    that coturn allows and the result does not."""
    allowed, denied = Rules(settings, "allowed-peer-ip"), Rules(settings, "denied-peer-ip")
    singles = {first for first, last, _ in allowed.spans if first == last}
    allowed.spans += [(one, one, line) for one, line in local.items() if line and one not in singles]
    put_allowed(document, allowed, denied, local, private_peers)
    for first, last, line in denied.spans:
        whole = [(int(first), int(last))]
        spans = minus(whole, allowed.spans_of(first.version))
        if spans and yields(whole, allowed.spans_of(first.version), first.version):
            spans = whole
        cut = spans != whole
        for text in texts(spans, first.version):
            document.add("peers.deny", text, f"line {line.number}{', without allowed addresses' * cut}")
        if not spans:
            settings.tell(line, "all of it is also allowed, which wins", NOTE)
    if private_peers:
        return []
    judged = allowed.spans_of(4) + denied.spans_of(4)
    left = list(map(str, unmentioned(local, allowed, denied)))
    out = ["private peers"] if any(minus([bounds(net)], judged) for net in PRIVATE) else []
    return out + [f"programs of this machine ({', '.join(left)})"] * bool(left)
