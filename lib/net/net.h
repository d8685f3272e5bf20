// SPDX-License-Identifier: BSD-3-Clause
// Protocols below the UDP payload: Ethernet, VLAN, ARP, IPv4, IPv6, ICMP, UDP, on plain bytes.
// PURE: it does not know STUN, DPDK, or our addresses. The functions are grouped by source file.
#pragma once

#include "addr.h"
#include "hash.h"
#include "protocols.h"

#define NET_VLAN_NONE 0x1000 // above all VLAN ids
#define NET_HEADERS_MAX (NET_ETH_LEN + NET_VLAN_LEN + NET_IP6_LEN + NET_UDP_LEN)

// Reasons to drop a frame here: X(enum, name, meaning). The name is the counter's.
#define NET_DROPS(X)                                                                              \
	X(NET_DROP_SHORT, "short-frame", "frame shorter than its headers say")                    \
	X(NET_DROP_ETHERTYPE, "ethertype", "neither IPv4, IPv6 nor ARP")                          \
	X(NET_DROP_VLAN, "vlan", "VLAN tag missing, or not that of the port")                     \
	X(NET_DROP_NOT_FOR_US, "not-for-us", "unicast frame for another MAC or IP address")       \
	X(NET_DROP_IP_VERSION, "ip-version", "version field does not match the ethertype")        \
	X(NET_DROP_IP_HEADER, "ip-header", "invalid IPv4 IHL or IPv6 extension header chain")     \
	X(NET_DROP_IP_OPTIONS, "ip-options", "IPv4 options present")                              \
	X(NET_DROP_IP_LENGTH, "ip-length", "IP length larger than the frame")                     \
	X(NET_DROP_IP_CHECKSUM, "ip-checksum", "IPv4 header checksum wrong")                      \
	X(NET_DROP_FRAGMENT, "fragment", "IP fragment not of UDP")                                \
	X(NET_DROP_FRAGMENT_MALFORMED, "fragment-malformed",                                      \
		"fragment with an invalid length, or one that contradicts others")                \
	X(NET_DROP_FRAGMENT_LONG, "fragment-long",                                                \
		"fragment of a datagram longer than 9000 bytes, or with more than 64")            \
	X(NET_DROP_FRAGMENT_OVERLAP, "fragment-overlap",                                          \
		"fragment of a datagram whose fragments overlap (RFC 5722)")                      \
	X(NET_DROP_FRAGMENT_DUPLICATE, "fragment-duplicate", "fragment received already")         \
	X(NET_DROP_FRAGMENT_TIMEOUT, "fragment-timeout",                                          \
		"the other fragments did not arrive within a second")                             \
	X(NET_DROP_FRAGMENT_SOURCE, "fragment-source",                                            \
		"replaced by a newer datagram of its source, which has four")                     \
	X(NET_DROP_FRAGMENT_FULL, "fragment-full",                                                \
		"replaced by a newer datagram: all places taken")                                 \
	X(NET_DROP_PROTOCOL, "ip-protocol", "neither UDP nor ICMP")                               \
	X(NET_DROP_UDP_LENGTH, "udp-length", "UDP length does not match the IP length")           \
	X(NET_DROP_UDP_CHECKSUM, "udp-checksum", "UDP or ICMP checksum wrong, or zero over IPv6") \
	X(NET_DROP_MARTIAN_SOURCE, "martian-source", "source address that no host can have")      \
	X(NET_DROP_MARTIAN_DESTINATION, "martian-destination",                                    \
		"L2 broadcast to an IP unicast, or a destination that is never ours")             \
	X(NET_DROP_PORT_ZERO, "port-zero", "UDP source or destination port 0")

#define X(id, name, text) id,
enum net_drop { NET_OK, NET_DROPS(X) NET_DROP_END };
#undef X

// --- frame.c: reading frames ---------------------------------------------------------------------

enum net_kind {
	NET_UDP,
	NET_ARP,
	NET_ICMP, // ICMPv4
	NET_ICMP6, // ICMPv6, ND included
	NET_TCP, // only if net_rx.tcp is set
};

// Properties of the port that received a frame, for net_frame_parse.
struct net_rx {
	uint8_t mac[6]; // MAC address of the port
	// 0 = untagged (a priority tag, id 0, is accepted), NET_VLAN_NONE = every frame is refused
	uint16_t vlan;
	bool ip_checksum_good; // the port has verified the IPv4 header checksum
	bool l4_checksum_good; // the port has verified the UDP checksum
	bool tcp; // accept TCP; else it is NET_DROP_PROTOCOL
	bool loopback; // source and destination may be the same host: equal MACs and addresses
};

// A parsed frame. Offsets count from the first byte of the frame. For ARP only kind, l3_off and
// l2_multicast are valid. The source MAC is at bytes 6..11 of the frame.
struct net_frame {
	struct addr src, dst;
	uint16_t sport, dport; // host order; 0 unless UDP or TCP
	uint16_t l3_off, l4_off;
	uint16_t payload_off,
		payload_len; // UDP payload; for ICMP and TCP the whole message or segment
	uint16_t l4_checksum; // UDP checksum field as received, loaded big-endian
	uint8_t kind; // enum net_kind
	uint8_t tos; // DSCP and ECN
	uint8_t ttl; // TTL or hop limit
	bool df; // IPv4 DF bit
	bool is_v4;
	bool l2_multicast; // destination MAC had the group bit
};

// Checks everything that can be checked without knowing our addresses, and fills *f. data has len
// contiguous bytes; trailing Ethernet padding is fine. Returns NET_OK or the reason to drop the
// frame. For TCP it checks only the header, and leaves the checksum to the receiver. For a fragment
// (NET_DROP_FRAGMENT) *f has src, dst, tos, ttl, is_v4 and l3_off; l4_off is the offset of the
// Fragment header or, with IPv4, of the data, and payload_len counts from there. Martian rules:
// conformance section 4 (source 0/8, 127/8, 224/4, 240/4, ::, ::1, ff00::/8, v4-mapped on the wire,
// src = dst). :: and fe80::/10 sources are accepted for ICMPv6 (ND).
enum net_drop net_frame_parse(
	const uint8_t *data, size_t len, const struct net_rx *rx, struct net_frame *f);
// Fills *f again from a UDP frame that was parsed before, with payload_len bytes of payload at
// payload_off. Checks nothing. l2_multicast is false.
void net_frame_describe(
	const uint8_t *data, uint16_t payload_off, uint16_t payload_len, struct net_frame *f);

// Return the counter name and the meaning of a reason; NULL for NET_OK and out of range.
const char *net_drop_name(enum net_drop reason);
const char *net_drop_text(enum net_drop reason);

// --- csum.c: checksums ---------------------------------------------------------------------------
// Sums are 32-bit accumulators of big-endian 16-bit words ("host value" sums), folded at the end.

// Adds len bytes at data to sum, an odd last byte padded with zero. The result is below 2^17.
uint32_t csum_add(uint32_t sum, const void *data, size_t len);
// 16-bit one's complement fold (not inverted).
static inline uint16_t csum_fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)(sum + (sum >> 16));
}
// Sum of two addresses in IP header format (4 or 16 bytes each by family).
uint32_t csum_addrs(const struct addr *src, const struct addr *dst);
// Full UDP checksum (RFC 768, RFC 8200 8.1) over pseudo-header, UDP header (its checksum counts as
// zero) and payload; returns 0xffff instead of 0. udp_len >= 8.
uint16_t csum_udp(
	const struct addr *src, const struct addr *dst, const uint8_t *udp, uint16_t udp_len);
// RFC 1624 (eqn. 3): the checksum after words summing to removed are replaced by words summing to
// added. Returns 0xffff instead of 0. An IPv4 UDP checksum of 0 must stay 0: the caller checks
// this.
static inline uint16_t csum_update(uint16_t old, uint32_t removed, uint32_t added)
{
	const uint16_t v = (uint16_t)~csum_fold(
		(uint32_t)(uint16_t)~old + (uint16_t)~csum_fold(removed) + csum_fold(added));

	return v != 0 ? v : 0xffff;
}

// --- frame.c: writing headers --------------------------------------------------------------------

// The layer 2 addresses of a datagram.
struct net_l2 {
	uint8_t dst[6], src[6];
	uint16_t vlan; // 0 = no tag
};

// The fields of an IP header that a relayed packet copies or sets.
struct net_ip {
	uint8_t tos, ttl;
	uint16_t id; // IPv4 identification
	bool df; // IPv4
};

// Bytes of Ethernet + VLAN + IP + UDP header in front of a payload for this family and tag.
static inline uint16_t net_headers_len(bool is_v4, uint16_t vlan)
{
	return (uint16_t)(NET_ETH_LEN + (vlan != 0 ? NET_VLAN_LEN : 0) +
		(is_v4 ? NET_IP4_LEN : NET_IP6_LEN) + NET_UDP_LEN);
}

// Writes all headers of a UDP datagram so that they end at payload, with the given UDP checksum
// field (host order; 0 = no checksum, IPv4 only). src and dst must have the same family. The IPv4
// header checksum is computed. Returns the first byte of the frame.
uint8_t *net_write_udp(uint8_t *payload, uint16_t payload_len, const struct net_l2 *l2,
	const struct endpoint *src, const struct endpoint *dst, const struct net_ip *ip,
	uint16_t udp_checksum);

// --- neigh_msg.c: ARP and ND ---------------------------------------------------------------------

#define NET_ND_FRAME_MAX (NET_ETH_LEN + NET_VLAN_LEN + NET_IP6_LEN + 32)

// The contents of an ARP packet or an ND message.
struct net_neigh_msg {
	enum { NET_NEIGH_NONE, NET_NEIGH_ASK, NET_NEIGH_ANSWER } type;
	struct addr target; // ASK: the address to resolve; ANSWER: the resolved address
	struct addr sender; // ASK: address of the asker (unspecified in probes and DAD)
	uint8_t mac[6]; // ASK: the asker's (zero when not given); ANSWER: the target's
	bool solicited; // ANSWER; for ARP replies "unicast to us"
};

// Parses an ARP frame (kind NET_ARP) or an ND message (kind NET_ICMP6; RFC 4861 7.1 validity: hop
// limit 255, checksum, code 0, option lengths). Anything else: type NET_NEIGH_NONE.
void net_neigh_parse(
	const uint8_t *data, size_t len, const struct net_frame *f, struct net_neigh_msg *msg);
// Both functions write a whole frame at buf (at least NET_ND_FRAME_MAX bytes) and return its
// length. net_write_ask writes an ARP request or NS for target; to_mac NULL = broadcast or
// solicited-node multicast.
size_t net_write_ask(uint8_t *buf, const struct net_l2 *l2, const struct addr *sender,
	const struct addr *target, const uint8_t *to_mac);
// Writes an ARP reply or NA for target, our address, to one asker; a gratuitous ARP or unsolicited
// NA if asker is NULL (then l2->dst is ignored).
size_t net_write_answer(
	uint8_t *buf, const struct net_l2 *l2, const struct addr *target, const struct addr *asker);
// The multicast MAC of an IPv6 multicast address, and the solicited-node group of a.
void net_mac_of_multicast(const struct addr *group, uint8_t mac[6]);
struct addr net_solicited_node(const struct addr *a);
// EUI-64 link-local address of a MAC.
struct addr net_link_local(const uint8_t mac[6]);

// --- icmp.c --------------------------------------------------------------------------------------

// Turns an ICMP or ICMPv6 echo request (whole frame, parsed as f) into its reply, in place: MACs,
// addresses, type, checksums, TTL 64. The source MAC of the reply is mac. False if it is not an
// echo request that may be answered; the frame is then unchanged.
bool net_echo_reply(uint8_t *data, const struct net_frame *f, const uint8_t mac[6]);

// --- neigh.c: the neighbour table ----------------------------------------------------------------
// ARP and ND in one fixed-size table: RFC 4861 states for both families. One replica per worker,
// single owner. Held packets are opaque pointers, owned by the table until it returns them.

enum neigh_state {
	NEIGH_FREE,
	NEIGH_INCOMPLETE,
	NEIGH_REACHABLE,
	NEIGH_STALE, // usable; probed when used
	NEIGH_PROBE, // usable; unicast probes sent. Without an answer: INCOMPLETE
	NEIGH_FAILED, // negative cache, 1 s
};

#define NEIGH_NONE UINT16_MAX
#define NEIGH_REFUSED (UINT16_MAX - 1) // not an index, either

struct neigh_config {
	uint16_t entries; // default 4096
	uint16_t held_total, held_each; // default 1024, 16
	uint32_t reachable_ms; // default 30,000
	uint32_t asks; // requests a second for unknown targets, of all shares; 0 = no limit
};

struct neigh_table; // opaque

// A request (ARP or NS) to send.
struct neigh_ask {
	struct addr target;
	uint8_t mac[6]; // for a unicast probe
	bool unicast;
	uint8_t port; // index of the port the entry was made for
};

size_t neigh_size(const struct neigh_config *c);
struct neigh_table *neigh_create(
	void *mem, const struct neigh_config *c, const struct hash_key *key);
// Returns the index of the entry for target on port. Makes the entry if needed (INCOMPLETE, with a
// request due at once). NEIGH_NONE if the table is full of entries in use. Only for gateways and
// on-link targets.
uint16_t neigh_use(struct neigh_table *t, const struct addr *target, uint8_t port, uint64_t now_ms);
// The client and user on whose behalf a neighbour is resolved.
struct neigh_asker {
	const struct addr *client; // may be the target itself
	uint64_t user; // a hash, equal for all allocations of a user; 0 = no user
};

// Like neigh_use, on behalf of asker (NULL = no limit): if the asker's share of neigh_config.asks
// allows no request now, the result is NEIGH_REFUSED for a target without an entry. Half of the
// NEIGH_SHARES are for answers to clients (client and target are equal), half for peers that users
// want to reach. In the first half a keyed hash of the address (the /64 for IPv6) chooses the
// share, in the second a keyed hash of the user, or of the address if there is no user. So a user
// with many addresses gets only one share of the second half. Packets held until targets answer are
// counted by share as well (neigh_hold). Requests to known targets and gateways need no share.
// Known targets that another host claims have an extra share, a sixteenth of asks.
#define NEIGH_SHARES 16
uint16_t neigh_use_for(struct neigh_table *t, const struct addr *target, uint8_t port,
	const struct neigh_asker *asker, uint64_t now_ms);
// Never reuses this entry for another target, whatever its state. This is for the few gateways:
// otherwise a scan could take the entry of a STALE or FAILED gateway, and then every entry that
// becomes free.
void neigh_keep(struct neigh_table *t, uint16_t index);
// Returns the MAC of a usable entry, else NULL. Counts as a use (a STALE entry goes to PROBE).
const uint8_t *neigh_mac(struct neigh_table *t, uint16_t index, uint64_t now_ms);
// Holds a packet until the entry resolves; false if a limit is reached or the entry is FAILED. One
// share may hold a quarter of the remaining room, so never all of it.
bool neigh_hold(struct neigh_table *t, uint16_t index, void *packet);
// Returns the number of packets that neigh_hold would accept for an entry now.
unsigned int neigh_room(const struct neigh_table *t, uint16_t index);
// Returns up to max held packets of an entry that became usable or failed to the caller.
unsigned int neigh_held(struct neigh_table *t, uint16_t index, void **packets, unsigned int max);
unsigned int neigh_held_total(const struct neigh_table *t);
// Handles an answer (or, with from_ask, the sender of a request to us): updates existing entries
// only. An unsolicited answer never overwrites a REACHABLE entry. With another MAC it makes the
// entry STALE, at most once a second: on its next use the known owner gets three unicast requests,
// 100 ms apart, and after 300 ms without an answer everybody gets one. Returns the entry's index if
// its MAC or usability changed, else NEIGH_NONE.
uint16_t neigh_learn(struct neigh_table *t, const struct net_neigh_msg *msg, uint8_t port,
	bool from_ask, uint64_t now_ms);

#define NEIGH_DUE_MAX 16 // lib/dp calls neigh_tick each millisecond

// Work for the caller of neigh_tick.
struct neigh_due {
	unsigned int nb_asks, nb_failed;
	struct neigh_ask ask[NEIGH_DUE_MAX]; // requests to send
	uint16_t failed[NEIGH_DUE_MAX]; // entries whose held packets neigh_held returns
};

// Ages entries (bounded work per call) and retries (3 x 1 s). Writes to *due the requests to send
// and the entries that have failed in this call.
void neigh_tick(struct neigh_table *t, uint64_t now_ms, struct neigh_due *due);
// Returns the time until which neigh_tick has nothing to do, in the current state. 0: it has work
// now; UINT64_MAX: no entry ages.
uint64_t neigh_next_ms(const struct neigh_table *t);
// Data of an entry for senders, always current: 16 bytes, with the index of the entry. It is valid
// for a note of neigh_note if neigh_note_holds says so. Entries that are not usable, and those that
// need neigh_mac at their next use (STALE), have NEIGH_NO_SERIAL.
struct neigh_hop {
	uint8_t mac[6];
	uint8_t port;
	uint32_t serial;
} __attribute__((aligned(16)));
#define NEIGH_NO_SERIAL UINT32_MAX
const struct neigh_hop *neigh_hops(const struct neigh_table *t);
// Returns a note of an entry and its current target: index in the lower half, serial in the upper
// half. Never 0; serials repeat after 65,534 reuses of the entry.
uint32_t neigh_note(const struct neigh_table *t, uint16_t index);
// The data of a note's entry, in the table of neigh_hops(). The note may be 0.
static inline const struct neigh_hop *neigh_note_hop(const struct neigh_hop *hops, uint32_t note)
{
	return &hops[(uint16_t)note];
}
// True if this data of a note's entry is about the note's target.
static inline bool neigh_note_holds(const struct neigh_hop *hop, uint32_t note)
{
	return hop->serial == note >> 16;
}
// Returns the entry of a note, or NEIGH_NONE if the entry has another target now, or for 0.
uint16_t neigh_noted(const struct neigh_table *t, uint32_t note);
// Invalidates the notes of the next n entries from *index on, and undoes neigh_keep; the entries
// keep their state. Use it after a change of routes, with *index 0 first. True if there are more
// entries.
bool neigh_renounce(struct neigh_table *t, uint16_t *index, unsigned int n);
enum neigh_state neigh_state(const struct neigh_table *t, uint16_t index);

// An entry for display.
struct neigh_info {
	struct addr target;
	uint8_t mac[6]; // zero: unknown
	uint8_t state; // enum neigh_state
	uint8_t port;
	uint16_t held; // packets held for it
	bool kept; // a gateway
};

// Writes the entries in use to out, from entry *index on, and advances that; checks max entries.
// Returns the number written. *index is NEIGH_NONE after the last entry.
unsigned int neigh_list(
	const struct neigh_table *t, uint16_t *index, struct neigh_info *out, unsigned int max);
// Returns the name of a state, a static string.
const char *neigh_state_name(enum neigh_state state);
