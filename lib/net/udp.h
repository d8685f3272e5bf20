// SPDX-License-Identifier: BSD-3-Clause
// The frame that nearly every frame is, parsed inline: untagged, unicast to us, IPv4 without
// options or IPv6 without extension headers, a whole UDP datagram, all checks passed. What is not
// so goes to net_frame_parse, which finds out why. PURE.
#pragma once

#include "bytes.h"
#include "net.h"

static inline uint32_t udp_load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

static inline uint64_t udp_load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

// One's complement sum of 64-bit words as they lie in memory, folded to 16 bits. The order of bytes
// does not matter to a sum that is compared with all ones or stored back as it is (RFC 1071 2.B).
static inline uint16_t udp_fold(uint64_t sum)
{
	uint32_t s;

	sum = (sum & 0xffffffff) + (sum >> 32);
	s = (uint32_t)(sum & 0xffffffff) + (uint32_t)(sum >> 32); // no carry out: the top is 0 or 1
	s = (s & 0xffff) + (s >> 16);
	return (uint16_t)(s + (s >> 16));
}

static inline uint64_t udp_add(uint64_t sum, uint64_t v)
{
	sum += v;
	return sum + (sum < v);
}

// Adds 32 bytes: four additions and one carry, of which gcc makes twice as many instructions.
static inline uint64_t udp_sum32(uint64_t sum, const uint8_t *p)
{
#ifdef __x86_64__
	__asm__("addq %[a], %[sum]\n\tadcq %[b], %[sum]\n\tadcq %[c], %[sum]\n\t"
		"adcq %[d], %[sum]\n\tadcq $0, %[sum]"
		: [sum] "+r"(sum)
		: [a] "m"(*(const uint64_t(*)[1])p), [b] "m"(*(const uint64_t(*)[1])(p + 8)),
		[c] "m"(*(const uint64_t(*)[1])(p + 16)), [d] "m"(*(const uint64_t(*)[1])(p + 24))
		: "cc");
	return sum;
#else
	sum = udp_add(udp_add(sum, udp_load64(p)), udp_load64(p + 8));
	return udp_add(udp_add(sum, udp_load64(p + 16)), udp_load64(p + 24));
#endif
}

// Adds len bytes at p, an odd last one padded with zero; len >= 8.
static inline uint64_t udp_sum(uint64_t sum, const uint8_t *p, size_t len)
{
	const uint8_t *const end = p + len;
	const unsigned int tail = len & 7;

	for (; len >= 32; p += 32, len -= 32)
		sum = udp_sum32(sum, p);
	if (len & 16) {
		sum = udp_add(udp_add(sum, udp_load64(p)), udp_load64(p + 8));
		p += 16;
	}
	if (len & 8)
		sum = udp_add(sum, udp_load64(p));
	if (tail != 0) // the last bytes as they would lie in memory followed by zeros
		sum = udp_add(sum, udp_load64(end - 8) >> (64 - 8 * tail));
	return sum;
}

// This network, loopback, multicast, reserved and broadcast: sources of no host (RFC 1122 section
// 3.2.1.3) and destinations that no relay has.
static inline bool udp_martian4(uint32_t first_byte)
{
	return first_byte == 0 || first_byte == 127 || first_byte >= 224;
}

// What both families have in common: UDP header at f->l4_off, l4_len bytes of it by the IP header.
// pseudo: sum of the addresses.
static inline bool udp_header(const uint8_t *data, const struct net_rx *rx, uint32_t l4_len,
	uint64_t pseudo, struct net_frame *f)
{
	const uint8_t *udp = data + f->l4_off;
	const uint16_t checksum = load_be16(udp + 6);

	f->sport = load_be16(udp);
	f->dport = load_be16(udp + 2);
	f->l4_checksum = checksum;
	f->payload_off = (uint16_t)(f->l4_off + NET_UDP_LEN);
	f->payload_len = (uint16_t)(l4_len - NET_UDP_LEN);
	f->kind = NET_UDP;
	if (load_be16(udp + 4) != l4_len || f->sport == 0 || f->dport == 0 || checksum == 0)
		return false;
	if (rx->l4_checksum_good)
		return true;
	// protocol and length of the pseudo-header, as they lie in memory
	pseudo += (uint64_t)(uint16_t)__builtin_bswap16((uint16_t)l4_len) + (17u << 8);
	return udp_fold(udp_sum(pseudo, udp, l4_len)) == 0xffff;
}

static inline bool udp_parse4(
	const uint8_t *data, size_t len, const struct net_rx *rx, struct net_frame *f)
{
	const uint8_t *ip = data + NET_ETH_LEN;
	const uint32_t src = udp_load32(ip + 12), dst = udp_load32(ip + 16);
	const uint32_t total = load_be16(ip + 2), fragment = load_be16(ip + 6);
	const uint64_t sum = (uint64_t)udp_load32(ip) + udp_load32(ip + 4) + udp_load32(ip + 8);

	if (total > len - NET_ETH_LEN || total < NET_IP4_LEN + NET_UDP_LEN ||
		(fragment & 0x3fff) != 0 || ip[9] != 17 || src == dst || udp_martian4(ip[12]) ||
		udp_martian4(ip[16]) ||
		(!rx->ip_checksum_good && udp_fold(sum + src + dst) != 0xffff))
		return false;
	f->src = addr_from_v4(ip + 12);
	f->dst = addr_from_v4(ip + 16);
	f->l3_off = NET_ETH_LEN;
	f->l4_off = NET_ETH_LEN + NET_IP4_LEN;
	f->tos = ip[1];
	f->ttl = ip[8];
	f->df = (fragment & 0x4000) != 0;
	f->is_v4 = true;
	f->l2_multicast = false;
	return udp_header(data, rx, total - NET_IP4_LEN, (uint64_t)src + dst, f);
}

// Global unicast at both ends; other addresses are for net_frame_parse to judge.
static inline bool udp_parse6(
	const uint8_t *data, size_t len, const struct net_rx *rx, struct net_frame *f)
{
	const uint8_t *ip = data + NET_ETH_LEN;
	const uint32_t l4_len = load_be16(ip + 4);
	uint64_t pseudo;

	if (len < NET_ETH_LEN + NET_IP6_LEN + NET_UDP_LEN || ip[0] >> 4 != 6 || ip[6] != 17 ||
		l4_len < NET_UDP_LEN || l4_len > len - NET_ETH_LEN - NET_IP6_LEN)
		return false;
	f->src = addr_from_v6(ip + 8);
	f->dst = addr_from_v6(ip + 24);
	// the first byte says enough: 0 (unspecified, loopback, mapped), fe and ff are not for here
	if (f->src.b[0] == 0 || f->dst.b[0] == 0 || f->src.b[0] >= 0xfe || f->dst.b[0] >= 0xfe ||
		addr_eq(&f->src, &f->dst))
		return false;
	f->l3_off = NET_ETH_LEN;
	f->l4_off = NET_ETH_LEN + NET_IP6_LEN;
	f->tos = (uint8_t)(load_be16(ip) >> 4);
	f->ttl = ip[7];
	f->df = false;
	f->is_v4 = false;
	f->l2_multicast = false;
	pseudo = udp_add(udp_add(f->src.d[0], f->src.d[1]), udp_add(f->dst.d[0], f->dst.d[1]));
	return udp_header(data, rx, l4_len, udp_fold(pseudo), f);
}

// True: *f is what net_frame_parse would fill in. False: says nothing, and leaves *f in parts.
static inline bool net_udp_parse(
	const uint8_t *data, size_t len, const struct net_rx *rx, struct net_frame *f)
{
	uint64_t ours; // our MAC, and behind it the VLAN of the port

	_Static_assert(offsetof(struct net_rx, vlan) == 6, "mac and vlan are read as one word");
	memcpy(&ours, rx, sizeof(ours));
	if (len < NET_ETH_LEN + NET_IP4_LEN + NET_UDP_LEN || udp_load64(data) << 16 != ours << 16 ||
		ours >> 48 != 0 || (data[6] & 1) != 0 || udp_load64(data + 6) << 16 == ours << 16)
		return false;
	if ((udp_load32(data + 12) & 0xffffff) == 0x450008) // IPv4, version 4, 20 bytes of header
		return udp_parse4(data, len, rx, f);
	return load_be16(data + 12) == 0x86dd && udp_parse6(data, len, rx, f);
}
