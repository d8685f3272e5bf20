// SPDX-License-Identifier: BSD-3-Clause
// Frames below the datagram: Ethernet, VLAN, ARP, IPv4, IPv6, ICMP, UDP, on plain bytes.
// PURE: it does not know STUN, DPDK, or which addresses are ours. The functions are grouped by the
// file that has them.
#pragma once

#include "addr.h"
#include "hash.h"
#include "protocols.h"

#define NET_VLAN_NONE 0x1000 // one more than an id can be
#define NET_HEADERS_MAX (NET_ETH_LEN + NET_VLAN_LEN + NET_IP6_LEN + NET_UDP_LEN)

// Every reason for which a frame can be refused here: X(enum, name, meaning). The name is the
// counter's.
#define NET_DROPS(X)                                                                              \
	X(NET_DROP_SHORT, "short-frame", "frame shorter than its headers say")                    \
	X(NET_DROP_ETHERTYPE, "ethertype", "neither IPv4, IPv6 nor ARP")                          \
	X(NET_DROP_VLAN, "vlan", "tagged with another VLAN id than the port's, or not tagged")    \
	X(NET_DROP_NOT_FOR_US, "not-for-us", "unicast frame for another MAC or IP address")       \
	X(NET_DROP_IP_VERSION, "ip-version", "version field does not match the ethertype")        \
	X(NET_DROP_IP_HEADER, "ip-header", "IPv4 IHL or IPv6 extension header chain not valid")   \
	X(NET_DROP_IP_OPTIONS, "ip-options", "IPv4 options present")                              \
	X(NET_DROP_IP_LENGTH, "ip-length", "IP length larger than the frame")                     \
	X(NET_DROP_IP_CHECKSUM, "ip-checksum", "IPv4 header checksum wrong")                      \
	X(NET_DROP_FRAGMENT, "fragment",                                                          \
		"IP fragment of anything but UDP, or of anything with fragments.flows: 0")        \
	X(NET_DROP_FRAGMENT_MALFORMED, "fragment-malformed",                                      \
		"fragment of a length that none can have, or one that contradicts others")        \
	X(NET_DROP_FRAGMENT_LONG, "fragment-long",                                                \
		"fragment of a datagram longer than fragments.datagram, or of more than 64")      \
	X(NET_DROP_FRAGMENT_OVERLAP, "fragment-overlap",                                          \
		"fragment of a datagram whose fragments overlap (RFC 5722)")                      \
	X(NET_DROP_FRAGMENT_DUPLICATE, "fragment-duplicate", "fragment that is there already")    \
	X(NET_DROP_FRAGMENT_TIMEOUT, "fragment-timeout",                                          \
		"the other fragments did not come within fragments.timeout")                      \
	X(NET_DROP_FRAGMENT_SOURCE, "fragment-source",                                            \
		"gave way to a newer datagram of its source: fragments.per-source")               \
	X(NET_DROP_FRAGMENT_FULL, "fragment-full",                                                \
		"gave way to a newer datagram: fragments.flows")                                  \
	X(NET_DROP_PROTOCOL, "ip-protocol", "not UDP, not ICMP")                                  \
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
	NET_TCP, // only where net_rx.tcp says so
};

// What net_frame_parse is told about the port that the frame came in on.
struct net_rx {
	uint8_t mac[6]; // the port's
	// 0 = untagged (a priority tag, id 0, is accepted), NET_VLAN_NONE = no frame is right
	uint16_t vlan;
	bool ip_checksum_good; // the port has verified the IPv4 header
	bool l4_checksum_good; // the port has verified UDP
	bool tcp; // somebody takes TCP; else it is NET_DROP_PROTOCOL
	bool loopback; // source and destination may be the same host: MACs, and addresses
};

// A parsed frame. Offsets count from the first byte of the frame. For ARP only kind, l3_off and
// l2_multicast mean anything. The source MAC is at bytes 6..11 of the frame.
struct net_frame {
	struct addr src, dst;
	uint16_t sport, dport; // host order; 0 unless UDP or TCP
	uint16_t l3_off, l4_off;
	uint16_t payload_off,
		payload_len; // UDP payload; of ICMP and TCP the whole message, segment
	uint16_t l4_checksum; // UDP checksum field as received, loaded big-endian
	uint8_t kind; // enum net_kind
	uint8_t tos; // DSCP and ECN
	uint8_t ttl; // TTL or hop limit
	bool df; // IPv4 DF bit
	bool is_v4;
	bool l2_multicast; // destination MAC had the group bit
};

// Checks everything that can be said about a frame without knowing our addresses and fills *f.
// len is what lies contiguous at data; trailing Ethernet padding is fine. Returns NET_OK or the
// reason. TCP needs only its header here, and its checksum is left to who takes it. Of a fragment
// (NET_DROP_FRAGMENT) *f has src, dst, tos, ttl, is_v4 and l3_off, l4_off is where the Fragment
// header or, with IPv4, the data begins, and payload_len counts from there.
// Martian rules: conformance section 4 (source 0/8, 127/8, 224/4, 240/4, ::, ::1, ff00::/8,
// v4-mapped on the wire, src = dst).  :: and fe80::/10 sources are accepted for ICMPv6 (ND).
enum net_drop net_frame_parse(
	const uint8_t *data, size_t len, const struct net_rx *rx, struct net_frame *f);
// Fills *f again from a UDP frame that has been parsed before, whose payload begins at payload_off
// and has payload_len bytes. Checks nothing. l2_multicast is false.
void net_frame_describe(
	const uint8_t *data, uint16_t payload_off, uint16_t payload_len, struct net_frame *f);

// The counter name and the meaning of a reason; NULL for NET_OK and out of range.
const char *net_drop_name(enum net_drop reason);
const char *net_drop_text(enum net_drop reason);

// --- csum.c: checksums ---------------------------------------------------------------------------
// Sums are 32-bit accumulators of big-endian 16-bit words ("host value" sums), folded at the end.

// Sum of len bytes at data, an odd last byte padded with zero, added to sum. Folded below 2^17.
uint32_t csum_add(uint32_t sum, const void *data, size_t len);
// 16-bit one's complement fold (not inverted).
static inline uint16_t csum_fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)(sum + (sum >> 16));
}
// Sum of addresses as they stand in the IP header (4 or 16 bytes each by family).
uint32_t csum_addrs(const struct addr *src, const struct addr *dst);
// Full UDP checksum (RFC 768, RFC 8200 8.1) over pseudo-header, udp header with zero checksum
// field assumed, and payload; never returns 0 (0xffff instead). udp_len >= 8.
uint16_t csum_udp(
	const struct addr *src, const struct addr *dst, const uint8_t *udp, uint16_t udp_len);
// RFC 1624 (eqn. 3): the checksum after words summing to removed are replaced by words summing
// to added. Result 0 is returned as 0xffff. Not for a v4 checksum of 0 (stays 0: the caller's
// rule).
static inline uint16_t csum_update(uint16_t old, uint32_t removed, uint32_t added)
{
	const uint16_t v = (uint16_t)~csum_fold(
		(uint32_t)(uint16_t)~old + (uint16_t)~csum_fold(removed) + csum_fold(added));

	return v != 0 ? v : 0xffff;
}

// --- frame.c: writing headers --------------------------------------------------------------------

// Where a datagram goes on layer 2.
struct net_l2 {
	uint8_t dst[6], src[6];
	uint16_t vlan; // 0 = no tag
};

// The fields of an IP header that a relayed packet carries over or gets anew.
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
// field (host order value; 0 = none, IPv4 only). src and dst are of one family. The IPv4 header
// checksum is computed. Returns the first byte of the frame.
uint8_t *net_write_udp(uint8_t *payload, uint16_t payload_len, const struct net_l2 *l2,
	const struct endpoint *src, const struct endpoint *dst, const struct net_ip *ip,
	uint16_t udp_checksum);

// --- neigh_msg.c: ARP and ND ---------------------------------------------------------------------

#define NET_ND_FRAME_MAX (NET_ETH_LEN + NET_VLAN_LEN + NET_IP6_LEN + 32)

// What an ARP packet or an ND message tells.
struct net_neigh_msg {
	enum { NET_NEIGH_NONE, NET_NEIGH_ASK, NET_NEIGH_ANSWER } type;
	struct addr target; // ASK: whose MAC is wanted; ANSWER: whose MAC this is
	struct addr sender; // ASK: who asks (unspecified in probes and DAD)
	uint8_t mac[6]; // ASK: the asker's (zero when not given); ANSWER: the target's
	bool solicited, override; // ANSWER; for ARP replies solicited is "unicast to us"
};

// Parses an ARP frame (kind NET_ARP) or an ND message (kind NET_ICMP6; RFC 4861 7.1 validity: hop
// limit 255, checksum, code 0, option lengths). Anything else: type NET_NEIGH_NONE.
void net_neigh_parse(
	const uint8_t *data, size_t len, const struct net_frame *f, struct net_neigh_msg *msg);
// Each writes a whole frame at buf (NET_ND_FRAME_MAX bytes at least) and returns its length.
// ask: ARP request or NS for target; to_mac NULL = broadcast / solicited-node multicast.
size_t net_write_ask(uint8_t *buf, const struct net_l2 *l2, const struct addr *sender,
	const struct addr *target, const uint8_t *to_mac);
// answer: ARP reply or NA for target (ours) to one asker; gratuitous ARP / unsolicited NA when
// to is NULL (then l2->dst is ignored).
size_t net_write_answer(
	uint8_t *buf, const struct net_l2 *l2, const struct addr *target, const struct addr *asker);
// Multicast MAC that goes with an IPv6 multicast address, and the solicited-node group of a.
void net_mac_of_multicast(const struct addr *group, uint8_t mac[6]);
struct addr net_solicited_node(const struct addr *a);
// EUI-64 link-local address of a MAC.
struct addr net_link_local(const uint8_t mac[6]);

// --- icmp.c --------------------------------------------------------------------------------------

// Turns an ICMP or ICMPv6 echo request (whole frame, parsed as f) into its reply, in place: MACs,
// addresses, type, checksums, TTL 64. src is the address that answers. False when it is no echo
// request; the frame is then unchanged.
bool net_echo_reply(uint8_t *data, const struct net_frame *f, const uint8_t mac[6]);

// --- neigh.c: the neighbour table ----------------------------------------------------------------
// ARP and ND in one fixed-size table: RFC 4861 states for both families. One replica per worker,
// single owner. Held packets are opaque pointers that belong to the caller again once returned.

enum neigh_state {
	NEIGH_FREE,
	NEIGH_INCOMPLETE,
	NEIGH_REACHABLE,
	NEIGH_STALE, // usable; probed when used
	NEIGH_PROBE, // usable; unicast probes under way. Without an answer: INCOMPLETE
	NEIGH_FAILED, // negative cache, 1 s
};

#define NEIGH_NONE UINT16_MAX
#define NEIGH_REFUSED (UINT16_MAX - 1) // no index either

struct neigh_config {
	uint16_t entries; // default 4096
	uint16_t held_total, held_each; // default 1024, 16
	uint32_t reachable_ms; // default 30,000
	uint32_t asks; // questions a second for who is not known, of all shares; 0 = no limit
};

struct neigh_table; // opaque

// A question to put on the wire.
struct neigh_ask {
	struct addr target;
	uint8_t mac[6]; // for a unicast probe
	bool unicast;
	uint8_t port; // index of the port the entry was made for
};

size_t neigh_size(const struct neigh_config *c);
struct neigh_table *neigh_create(
	void *mem, const struct neigh_config *c, const struct hash_key *key);
// Index of the entry for target on port, made (INCOMPLETE, to be asked at once) when there is none;
// NEIGH_NONE when the table is full of entries in use. Only for gateways and on-link targets.
uint16_t neigh_use(struct neigh_table *t, const struct addr *target, uint8_t port, uint64_t now_ms);
// On whose account a neighbour is asked for.
struct neigh_asker {
	const struct addr *client; // who may be the target himself
	uint64_t user; // a hash, the same for all of a user's allocations; 0 = none is known
};

// The same on behalf of somebody (NULL = nobody): if his share of neigh_config.asks allows no
// question now, the result is NEIGH_REFUSED for a target that has no entry. Half of the
// NEIGH_SHARES are for clients that are asked for because they are to be answered (client and
// target are the same), half for whom users want to reach. In the one half the address (the /64 for
// IPv6) says which share, in the other the user, or the address where there is none, under the key.
// So nobody who has many addresses takes more than one share of the second. What is held until
// targets answer is counted by share as well (neigh_hold). Known targets and gateways are asked
// again without a share. Known targets that somebody else claims have a share of their own, which
// is a sixteenth of asks more.
#define NEIGH_SHARES 16
uint16_t neigh_use_for(struct neigh_table *t, const struct addr *target, uint8_t port,
	const struct neigh_asker *asker, uint64_t now_ms);
// The entry is never given to another target, whatever its state. This is for the few gateways:
// nothing else would keep a scan from taking the entry of one that is STALE or FAILED, and then
// every place that comes free.
void neigh_keep(struct neigh_table *t, uint16_t index);
// MAC of an entry when it is usable, else NULL. Notes the use (a STALE entry goes to PROBE).
const uint8_t *neigh_mac(struct neigh_table *t, uint16_t index, uint64_t now_ms);
// Holds a packet until the entry resolves; false when a bound is reached or it has FAILED. One
// share may hold a quarter of the room that is left: never all of it.
bool neigh_hold(struct neigh_table *t, uint16_t index, void *packet);
// How many packets neigh_hold would take for an entry now.
unsigned int neigh_room(const struct neigh_table *t, uint16_t index);
// Takes back up to max held packets of an entry that has become usable or has failed.
unsigned int neigh_held(struct neigh_table *t, uint16_t index, void **packets, unsigned int max);
unsigned int neigh_held_total(const struct neigh_table *t);
// An answer (or, with from_ask, what a question to us told about the asker): updates an existing
// entry only. An unsolicited answer never overwrites a REACHABLE one. With another MAC it makes it
// STALE, once a second: on its next use the known owner is asked, and after 250 ms of silence all
// are. Returns the entry's index when its MAC or usability changed, else NEIGH_NONE.
uint16_t neigh_learn(struct neigh_table *t, const struct net_neigh_msg *msg, uint8_t port,
	bool from_ask, uint64_t now_ms);

#define NEIGH_DUE_MAX 16 // lib/dp calls neigh_tick each millisecond

// What a call of neigh_tick leaves to do.
struct neigh_due {
	unsigned int nb_asks, nb_failed;
	struct neigh_ask ask[NEIGH_DUE_MAX]; // questions to send
	uint16_t failed[NEIGH_DUE_MAX]; // entries whose held packets neigh_held gives back
};

// Ages entries (bounded work a call) and retries (3 x 1 s). Writes to *due the questions to send
// and the entries that have failed in this call.
void neigh_tick(struct neigh_table *t, uint64_t now_ms, struct neigh_due *due);
// The time until which neigh_tick has nothing to do, as things are now. 0: it has something;
// UINT64_MAX: there is nothing that ages.
uint64_t neigh_next_ms(const struct neigh_table *t);
// What a sender needs to know about an entry, kept beside it and always current: 16 bytes, indexed
// as entries are. It is good for a note made by neigh_note when serial is the note's upper half.
// Entries that are not usable, and those whose use has to be noted (STALE), have NEIGH_NO_SERIAL.
struct neigh_hop {
	uint8_t mac[6];
	uint8_t port;
	uint32_t serial;
} __attribute__((aligned(16)));
#define NEIGH_NO_SERIAL UINT32_MAX
const struct neigh_hop *neigh_hops(const struct neigh_table *t);
// Names an entry and the target it has now: index in the lower half, serial above. Never 0; void
// once the entry has been given to another target 65,534 times.
uint32_t neigh_note(const struct neigh_table *t, uint16_t index);
// Entry of a note, or NEIGH_NONE when it has another target now, or for 0.
uint16_t neigh_noted(const struct neigh_table *t, uint32_t note);
// Voids the notes of the next n entries from *index on, and keeps none of them any more; what they
// know stays. For when routes have changed: begin with *index 0. True when there are more.
bool neigh_renounce(struct neigh_table *t, uint16_t *index, unsigned int n);
enum neigh_state neigh_state(const struct neigh_table *t, uint16_t index);

// An entry as people are shown it.
struct neigh_info {
	struct addr target;
	uint8_t mac[6]; // zero: not known yet
	uint8_t state; // enum neigh_state
	uint8_t port;
	uint16_t held; // packets that wait for it
	bool kept; // a gateway
};

// Writes the entries in use to out, beginning with entry *index, and moves that on; looks at max of
// them. Returns how many were written. *index is NEIGH_NONE after the last.
unsigned int neigh_list(
	const struct neigh_table *t, uint16_t *index, struct neigh_info *out, unsigned int max);
// Name of a state: static text.
const char *neigh_state_name(enum neigh_state state);
