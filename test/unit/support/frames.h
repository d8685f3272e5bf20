// SPDX-License-Identifier: BSD-3-Clause
// Frames that all tests of lib/net use, and functions that correct their checksums. A script that
// shares nothing with our code made the frames, and tcpdump -vv has decoded them. Host A
// (02:00:00:00:00:0a) is this server, host B is the other host.
#pragma once

#include <stdint.h>
#include <stddef.h>

extern const uint8_t mac_a[6];
extern const uint8_t mac_b[6];

// 192.0.2.7:50000 > 198.51.100.1:3478, tos 0xb8, ttl 57, id 0x1234, DF, "turn!"
extern const uint8_t udp4[47];

// udp4 with VLAN id 100, priority 3.
extern const uint8_t udp4_vlan[51];

// [2001:db8::7]:50000 > [2001:db8:1::1]:3478, class 0xb9, hop limit 61, "slipring"
extern const uint8_t udp6[70];

// Echo requests and their replies.
extern const uint8_t echo4[49];
extern const uint8_t reply4[49];
extern const uint8_t echo6[69];
extern const uint8_t reply6[69];

// B at 192.0.2.7 asks for 192.0.2.1; the answer; the announcement of 192.0.2.1.
extern const uint8_t arp_request[42];
extern const uint8_t arp_reply[42];
extern const uint8_t arp_gratuitous[42];

// B at 2001:db8::7 asks for 2001:db8::1; duplicate address detection; a unicast probe.
extern const uint8_t nd_solicit[86];
extern const uint8_t nd_dad[78];
extern const uint8_t nd_probe[86];

// The answer to B; then an unsolicited advertisement.
extern const uint8_t nd_advert[86];
extern const uint8_t nd_unsolicited[86];

// Corrects the header checksum of the IPv4 header at ip after a test has changed the header.
void frames_fix_ip4(uint8_t *ip);
// Corrects the checksum of len bytes of UDP (17), ICMP (1) or ICMPv6 (58) at l4. addrs points at
// the two addresses in the IP header, addrs_len bytes together.
void frames_fix_l4(const uint8_t *addrs, size_t addrs_len, uint8_t proto, uint8_t *l4, size_t len);
