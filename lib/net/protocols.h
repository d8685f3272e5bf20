// SPDX-License-Identifier: BSD-3-Clause
// Constants of the protocols below the UDP payload: types, lengths, and offsets of header fields.
// Types are in host order, lengths and offsets in bytes.
#pragma once

// Ethernet (IEEE 802.3, 802.1Q)
#define NET_ETH_LEN 14
#define NET_ETH_TYPE_AT 12
#define NET_VLAN_LEN 4
#define NET_ETHERTYPE_IP4 0x0800
#define NET_ETHERTYPE_ARP 0x0806
#define NET_ETHERTYPE_VLAN 0x8100
#define NET_ETHERTYPE_QINQ 0x88a8
#define NET_ETHERTYPE_IP6 0x86dd

// IP protocol numbers and next headers
#define NET_PROTO_HOP_BY_HOP 0
#define NET_PROTO_ICMP 1
#define NET_PROTO_TCP 6
#define NET_PROTO_UDP 17
#define NET_PROTO_ROUTING 43
#define NET_PROTO_FRAGMENT 44
#define NET_PROTO_ICMP6 58
#define NET_PROTO_DESTINATION 60

#define NET_TOS_ECN 3 // the bits of ECN in TOS and traffic class (RFC 3168)

// IPv4 (RFC 791), without options
#define NET_IP4_LEN 20
#define NET_IP4_LENGTH_AT 2 // length of the whole packet
#define NET_IP4_ID_AT 4
#define NET_IP4_FRAGMENT_AT 6 // flags and offset of a fragment
#define NET_IP4_DF 0x40 // in the first byte of that field
#define NET_IP4_FRAGMENTED 0x3fff // in both bytes: more fragments follow, or this is not the first
#define NET_IP4_PROTO_AT 9
#define NET_IP4_CHECKSUM_AT 10
#define NET_IP4_ADDRS_AT 12 // source, then destination
#define NET_IP4_ADDRS_LEN 8

// IPv6 (RFC 8200), without extension headers
#define NET_IP6_LEN 40
#define NET_IP6_LENGTH_AT 4 // length of the data after the header
#define NET_IP6_NEXT_AT 6
#define NET_IP6_ADDRS_AT 8
#define NET_IP6_ADDRS_LEN 32

// UDP (RFC 768) and TCP (RFC 9293)
#define NET_PORTS_LEN 4 // both begin with source and destination port
#define NET_UDP_LEN 8
#define NET_UDP_LENGTH_AT 4
#define NET_UDP_CHECKSUM_AT 6
#define NET_TCP_LEN 20 // without options
#define NET_TCP_SEQUENCE_AT 4
#define NET_TCP_OFFSET_AT 12 // length of the header, in the upper four bits
#define NET_TCP_FLAGS_AT 13
#define NET_TCP_CHECKSUM_AT 16
#define NET_TCP_FIN 0x01
#define NET_TCP_PSH 0x08
#define NET_TCP_CWR 0x80
