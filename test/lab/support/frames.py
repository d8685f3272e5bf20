# SPDX-License-Identifier: BSD-3-Clause
"""Valid and invalid frames, built byte for byte (RFC 791, 8200, 768, 826, 4861)."""

import struct
from ipaddress import IPv4Address, IPv6Address

import lab as labs

BROADCAST = "ff:ff:ff:ff:ff:ff"


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def checksum(data):
    """The Internet checksum of RFC 1071."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def eth(payload, ethertype=0x0800, dst=labs.DUT_MAC, src=labs.MAC.format(2), vlan=None):
    tag = b"" if vlan is None else struct.pack("!HH", 0x8100, vlan)
    frame = mac(dst) + mac(src) + tag + struct.pack("!H", ethertype) + payload
    return frame.ljust(60, b"\0")


def packed(ip):
    return (IPv6Address if ":" in ip else IPv4Address)(ip).packed


def ip4(payload, src=labs.CLIENT4, dst=labs.SERVER4, proto=17, ttl=64, flags=0x4000, options=b"",
        version=4, length=None, bad_sum=0, ident=1):  # fmt: skip
    size = 20 + len(options)
    first, length = version << 4 | size // 4, length or size + len(payload)
    head = struct.pack("!BBHHHBBH", first, 0, length, ident, flags, ttl, proto, 0)
    head += packed(src) + packed(dst) + options
    return head[:10] + struct.pack("!H", checksum(head) ^ bad_sum) + head[12:] + payload


def ip6(payload, src=labs.CLIENT6, dst=labs.SERVER6, proto=17, hops=64, version=6, length=None):
    size = len(payload) if length is None else length
    return (
        struct.pack("!IHBB", version << 28, size, proto, hops) + packed(src) + packed(dst) + payload
    )


def udp(payload, src, dst, sport=40000, dport=3478, length=None, bad_sum=0, no_sum=False):
    size = 8 + len(payload) if length is None else length
    head = struct.pack("!HHHH", sport, dport, size, 0)
    pseudo = packed(src) + packed(dst) + struct.pack("!IHBB", len(head + payload), 0, 0, 17)
    if ":" not in src:
        pseudo = packed(src) + packed(dst) + struct.pack("!BBH", 0, 17, len(head + payload))
    total = 0 if no_sum else (checksum(pseudo + head + payload) or 0xFFFF) ^ bad_sum
    return head[:6] + struct.pack("!H", total) + payload


def udp4(payload=b"", src=labs.CLIENT4, dst=labs.SERVER4, ip=(), frame=(), **kwargs):
    """A UDP datagram in IPv4 in Ethernet. ip and frame change fields of those headers."""
    return eth(ip4(udp(payload, src, dst, **kwargs), src, dst, **dict(ip)), **dict(frame))


def udp6(payload=b"", src=labs.CLIENT6, dst=labs.SERVER6, ip=(), frame=(), **kwargs):
    inner = udp(payload, src, dst, **kwargs)
    return eth(ip6(inner, src, dst, **dict(ip)), 0x86DD, **dict(frame))


def icmp6(message, src, dst, hops=255):
    """An ICMPv6 message with its checksum, in IPv6."""
    pseudo = packed(src) + packed(dst) + struct.pack("!IBBBB", len(message), 0, 0, 0, 58)
    total = checksum(pseudo + message)
    message = message[:2] + struct.pack("!H", total) + message[4:]
    return ip6(message, src, dst, 58, hops)


def solicitation(target, src=labs.CLIENT6, source_mac=labs.MAC.format(2), hops=255, vlan=None):
    """A neighbour solicitation to the solicited-node group of target (RFC 4861 4.3)."""
    group = "ff02::1:ff" + IPv6Address(target).exploded[-7:]
    message = struct.pack("!BBHI", 135, 0, 0, 0) + packed(target) + b"\1\1" + mac(source_mac)
    dst_mac = "33:33:ff:" + ":".join(f"{b:02x}" for b in packed(target)[-3:])
    return eth(icmp6(message, src, group, hops), 0x86DD, dst=dst_mac, src=source_mac, vlan=vlan)


def advertisement(target, dst, source_mac=labs.MAC.format(2), vlan=None, flags=0x60):
    """A neighbour advertisement (RFC 4861 4.4): solicited, with the override flag, or with these
    flags."""
    message = (
        struct.pack("!BBHI", 136, 0, 0, flags << 24) + packed(target) + b"\2\1" + mac(source_mac)
    )
    return eth(icmp6(message, target, dst), 0x86DD, src=source_mac, vlan=vlan)


def arp(operation, sender_mac, sender, target, dst_mac=BROADCAST, target_mac="00:00:00:00:00:00",
        vlan=None):  # fmt: skip
    """An ARP frame: operation 1 is a request, 2 a reply."""
    body = struct.pack("!HHBBH", 1, 0x0800, 6, 4, operation)
    body += mac(sender_mac) + packed(sender) + mac(target_mac) + packed(target)
    return eth(body, 0x0806, dst=dst_mac, src=sender_mac, vlan=vlan)
