// SPDX-License-Identifier: BSD-3-Clause
// Turns received frames into datagrams for the shard. Nearly every frame is a plain one (see
// DP_PLAIN), and accept_plain classifies it without a call. For every other frame accept_plain
// returns NOBODY. accept_any then parses that frame from the start, and names the reason if it
// drops it.
//
//	check                       accept_plain                     accept_any
//	form, lengths, checksums    udp_masked_eq, net_udp_scan4, 6  net_frame_parse
//	destination is our address  local_addrs_guess                local_addrs_find,
//	on this port                                                 nexthop_find
//	source is another host      accept_again, later              net_frame_parse,
//	                                                             local_addrs_find
//	UDP port of a listener      the first of the address, else   local_addrs_listener
//	                            classify_rest
//	owner of a relay port       the run of the address, else     turn_relay_map_home
//	                            classify_rest
//	no match                    accept_any                       exception.c, host.c, or drop
//
// The source of a plain frame is checked only if no line vouches for the datagram: fastpath.c then
// calls accept_again.
//
// The next step finds the worker that owns the datagram. For a peer's datagram the relay port
// decides. For a client's it depends on the port and on the number of workers:
//
//	             client's datagram               peer's datagram   peers counted
//	HOMES_ONE    this worker                     this worker       no
//	HOMES_HASHED this worker, until              the relay port's  yes
//	             turn_route_begin has made our
//	             own hash
//	HOMES_NIC    by the NIC's hash and table     the relay port's  yes
//
// This is the same for a whole burst. So accept_burst decides once, and accept_frames is compiled
// three times with the answer as a constant: its loop over the frames has no branch for it.
#include <rte_ether.h>

#include "path/accept.h"
#include "addr.h"
#include "bytes.h"
#include "datapath.h"
#include "dp_view.h"
#include "drop_of.h"
#include "exception/exception.h"
#include "ip/fragments.h"
#include "ip/icmp_out.h"
#include "link/host.h"
#include "link/local_addrs.h"
#include "link/nexthop.h"
#include "net.h"
#include "steering/steer.h"
#include "steering/steer_counts.h"
#include "stun.h"
#include "turn.h"
#include "turn_mark.h"
#include "turn_relay_map.h"
#include "udp.h"
#include "path/worker.h"
#include "workers/handover.h"

#define NOBODY (-1)
// mbuf flags: the port has removed a tag, or two, or the outer one of two.
#define STRIPPED (RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ_STRIPPED)

// True if the port has verified the IPv4 header checksum of a packet, or its TCP or UDP checksum.
static inline bool ip_verified(const struct dp_port *p, const struct rte_mbuf *m)
{
	return (m->ol_flags & p->verified & RTE_MBUF_F_RX_IP_CKSUM_MASK) ==
		RTE_MBUF_F_RX_IP_CKSUM_GOOD;
}

static inline bool l4_verified(const struct dp_port *p, const struct rte_mbuf *m)
{
	return (m->ol_flags & p->verified & RTE_MBUF_F_RX_L4_CKSUM_MASK) ==
		RTE_MBUF_F_RX_L4_CKSUM_GOOD;
}

// True if the sender left the TCP or UDP checksum to a NIC, but no NIC was on the path: the sender
// is a virtual machine on this host. Then the port guarantees the data, and the field has the sum
// of the pseudo-header only.
static inline bool l4_unfinished(const struct dp_port *p, const struct rte_mbuf *m)
{
	return (m->ol_flags & p->verified & RTE_MBUF_F_RX_L4_CKSUM_MASK) ==
		RTE_MBUF_F_RX_L4_CKSUM_NONE;
}

// Writes the complete checksum of such a frame, for the next hop.
static __rte_noinline void complete_checksum(struct rte_mbuf *m, struct net_frame *f)
{
	uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *), *l4 = data + f->l4_off;
	const uint16_t len = (uint16_t)(f->payload_off + f->payload_len - f->l4_off);
	const bool tcp = f->kind == NET_TCP;
	uint8_t *field = l4 + (tcp ? NET_TCP_CHECKSUM_AT : NET_UDP_CHECKSUM_AT);
	uint16_t sum;

	store_be16(field, 0);
	sum = (uint16_t)~csum_fold(csum_add(csum_addrs(&f->src, &f->dst) + len +
			(uint32_t)(tcp ? NET_PROTO_TCP : NET_PROTO_UDP),
		l4, len));
	f->l4_checksum = sum != 0 || tcp ? sum : 0xffff;
	store_be16(field, f->l4_checksum);
	m->ol_flags = (m->ol_flags & ~RTE_MBUF_F_RX_L4_CKSUM_MASK) | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
}

// --- slow path: any frame -----------------------------------------------------------------------

// Home of a client where the NIC's hash decides it. Where our own hash does, this returns the id of
// this worker, and turn_route_begin finds the home, for frames of all kinds, so that they stay in
// order.
static unsigned int client_home(const struct worker *w, const struct dp_port *p,
	const struct rte_mbuf *m, const struct net_frame *f)
{
	return p->rss_home ? steer_nic_home(p, m, f) : w->id;
}

// True if a port accepts packets from this source to our address: the source must be reached
// through this port, or, if there is no route to it, the address must be this port's own. So nobody
// can reach hosts behind one port by spoofing their addresses on another.
static bool is_accepted_on(const struct worker *w, const struct local_addr *laddr,
	const struct addr *src, uint8_t port)
{
	struct addr via;
	uint8_t egress;

	if (w->dp->nb_ports == 1)
		return laddr->port == port;
	return nexthop_find(w->hot, &laddr->addr, src, &egress, &via) ? egress == port
								      : laddr->port == port;
}

// True if the source of a packet from the loopback is our address, so that it comes from a program
// of this machine.
static bool is_program(const struct worker *w, const struct addr *src)
{
	const struct local_addr *laddr = local_addrs_find(w->local, src);

	return laddr != NULL && laddr->kind == LOCAL_OWN;
}

// True if the source of a datagram is our address and port, which no other host can have.
static inline bool is_ours(const struct worker *w, const struct turn_view *v)
{
	return local_addrs_ours_at(w->local, w->dp->map, &v->src, v->src_port);
}

unsigned int accept_ends(const struct worker *w, const struct addr *src, const struct addr *dst,
	uint8_t port, const struct local_addr **laddr)
{
	*laddr = local_addrs_find(w->local, dst);
	if (*laddr == NULL || (*laddr)->kind != LOCAL_OWN)
		return drop_of_net(*laddr != NULL && (*laddr)->kind == LOCAL_BROADCAST
				? NET_DROP_MARTIAN_DESTINATION
				: NET_DROP_NOT_FOR_US);
	if (w->dp->port[port].port->loopback)
		return is_program(w, src) ? DP_OK : drop_of_net(NET_DROP_MARTIAN_SOURCE);
	if (local_addrs_ours(w->local, src)) // or a broadcast address
		return drop_of_net(NET_DROP_MARTIAN_SOURCE);
	if (!is_accepted_on(w, *laddr, src, port))
		return drop_of_net(
			(*laddr)->port == port ? NET_DROP_MARTIAN_SOURCE : NET_DROP_NOT_FOR_US);
	return DP_OK;
}

// Finds the leg and the home worker of a datagram that came in on v->port. Returns DP_OK or a drop
// reason.
static unsigned int classify_datagram(struct worker *w, const struct rte_mbuf *m,
	const struct net_frame *f, struct turn_view *v, unsigned int *home)
{
	const struct dp *dp = w->dp;
	const struct local_addr *laddr;
	const unsigned int bad = accept_ends(w, &f->src, &f->dst, v->port, &laddr);
	int listener;

	if (bad != DP_OK)
		return bad;
	if (!dp->port[v->port].port->loopback && is_ours(w, v))
		return drop_of_net(NET_DROP_MARTIAN_SOURCE);
	listener = local_addrs_listener(w->local, laddr, f->dport);
	if (dp->port[v->port].port->loopback) { // only peers send through it
		listener = -1;
		v->inside = TURN_INSIDE_PROGRAM;
	}
	if (listener >= 0) {
		v->leg = TURN_FROM_CLIENT;
		v->listener = (uint8_t)listener;
		*home = client_home(w, &dp->port[v->port], m, f);
		return DP_OK;
	}
	v->leg = TURN_FROM_PEER;
	v->source = (uint16_t)turn_mark_from(laddr->plain_mark[TURN_FROM_PEER]);
	if (laddr->relay >= 0 &&
		turn_relay_map_home(dp->map, (unsigned int)laddr->relay, f->dport, home, &v->slot))
		return DP_OK;
	return DP_DROP_NO_LISTENER;
}

// Some ports remove tags without being asked. One tag is put back, and the frame is classified as
// it came in. Two tags are one too many. Returns DP_OK or a drop reason.
static unsigned int tag_back(struct rte_mbuf *m)
{
	if ((m->ol_flags & RTE_MBUF_F_RX_QINQ_STRIPPED) != 0)
		return drop_of_net(NET_DROP_VLAN);
	if (m->data_len < NET_ETH_LEN)
		return drop_of_net(NET_DROP_SHORT);
	return rte_vlan_insert(&m) == 0 ? DP_OK : DP_DROP_HEADROOM;
}

// True if the frame is a UDP datagram. Otherwise the frame has been passed on or dropped. If it was
// the last missing fragment of a datagram, *whole is then the complete frame, else it does not
// change.
static bool parse_any(struct worker *w, uint8_t port, struct rte_mbuf *m, struct net_frame *f,
	struct rte_mbuf **whole)
{
	const struct dp_port *p = &w->dp->port[port];
	const bool unfinished = l4_unfinished(p, m);
	const struct net_rx *rules =
		&p->rx[ip_verified(p, m) | (l4_verified(p, m) || unfinished) << 1];
	unsigned int tag = DP_OK;
	enum net_drop bad;

	if (m->nb_segs != 1) {
		worker_drop(w, m, DP_DROP_SEGMENTED);
		return false;
	}
	if (unlikely((m->ol_flags & STRIPPED) != 0))
		tag = tag_back(m);
	if (tag != DP_OK) {
		worker_drop(w, m, tag);
		return false;
	}
	bad = net_frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, rules, f);
	if (bad == NET_DROP_FRAGMENT) {
		*whole = fragments_input(w, port, m, f);
		return false;
	}
	if (bad != NET_OK) {
		if (!exception_learning(w, port, m))
			worker_drop(w, m, drop_of_net(bad));
		return false;
	}
	if (f->kind != NET_ARP && f->payload_off + f->payload_len - f->l3_off > p->port->mtu) {
		worker_drop(w, m, DP_DROP_RX_OVERSIZE);
		return false;
	}
	if (unlikely(unfinished) && (f->kind == NET_UDP || f->kind == NET_TCP))
		complete_checksum(m, f);
	if (f->kind == NET_UDP)
		return true;
	if (f->kind == NET_TCP)
		exception_tcp(w, port, m, f);
	else
		host_input(w, port, m, f);
	return false;
}

// Second part of accept_any, for a parsed datagram that came in on v->port.
static int accept_parsed(
	struct worker *w, struct rte_mbuf *m, const struct net_frame *f, struct turn_view *v)
{
	const uint8_t port = v->port;
	unsigned int reason, home;

	*v = (struct turn_view){.src = f->src,
		.src_port = f->sport,
		.data = rte_pktmbuf_mtod_offset(m, const uint8_t *, f->payload_off),
		.len = f->payload_len,
		.flags = f->is_v4 ? DP_IPV4 : 0,
		.via = TURN_NO_WORKER,
		.port = port};
	reason = classify_datagram(w, m, f, v, &home);
	if (reason == DP_OK)
		return (int)home;
	if (reason == DP_DROP_NO_LISTENER && exception_udp(w, port, m, f))
		return NOBODY;
	if (exception_learning(w, port, m))
		return NOBODY;
	if (reason == DP_DROP_NO_LISTENER)
		icmp_out_unreachable(w, m, f);
	worker_drop(w, m, reason);
	return NOBODY;
}

// Second part of accept_any, for a reassembled frame. No rule of a NIC steers fragments to their
// home, so steering does not count it, and it is handed over here.
static int accept_whole(struct worker *w, uint8_t port, struct rte_mbuf *m, struct turn_view *v)
{
	// the port has verified no checksum of it
	const struct net_rx *rules = &w->dp->port[port].rx[0];
	struct net_frame f;
	enum net_drop bad =
		net_frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, rules, &f);
	int home;

	if (bad != NET_OK) {
		worker_drop(w, m, drop_of_net(bad));
		return NOBODY;
	}
	v->port = port;
	home = accept_parsed(w, m, &f, v);
	if (home == NOBODY)
		return NOBODY;
	v->flags |= DP_FRAGMENTED;
	if (home == w->id)
		return home;
	handover_datagram(w, (unsigned int)home, m, v);
	return NOBODY;
}

// Returns the worker that owns the datagram, with v filled in, or NOBODY if the frame has been
// passed on or dropped. A reassembled datagram replaces its last fragment in *m and so keeps its
// place in the burst: later packets do not overtake it.
static int accept_any(struct worker *w, uint8_t port, struct rte_mbuf **m, struct turn_view *v)
{
	struct rte_mbuf *whole = NULL;
	struct net_frame f;

	if (parse_any(w, port, *m, &f, &whole)) {
		v->port = port;
		return accept_parsed(w, *m, &f, v);
	}
	if (whole == NULL)
		return NOBODY;
	*m = whole;
	return accept_whole(w, port, whole, v);
}

// True if the source of a plain frame is reached through the port that it came in on. The
// destination is in the bytes before the UDP header.
static bool source_is_reached(const struct worker *w, const struct turn_view *v)
{
	const uint8_t *udp = v->data - NET_UDP_LEN;
	const struct addr dst =
		(v->flags & DP_IPV4) != 0 ? addr_from_v4(udp - 4) : addr_from_v6(udp - 16);
	const struct local_addr *laddr = local_addrs_find(w->local, &dst);

	return laddr != NULL && is_accepted_on(w, laddr, &v->src, v->port);
}

// True if the source of a frame that accept_plain accepted is valid and not ours. If false,
// accept_any finds the reason.
static bool source_is_fine(
	const struct worker *w, const struct rte_mbuf *m, const struct turn_view *v)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	const uint8_t *src = w->dp->port[v->port].l2.src;
	const uint8_t first = v->src.b[(v->flags & DP_IPV4) != 0 ? 12 : 0];
	const bool martian =
		(v->flags & DP_IPV4) != 0 ? udp_martian4(first) : first == 0 || first >= 0xfe;

	return !martian && v->src_port != 0 && (data[6] & 1) == 0 &&
		memcmp(data + 6, src, 6) != 0 && !is_ours(w, v) &&
		(w->dp->nb_ports == 1 || source_is_reached(w, v));
}

bool accept_again(struct worker *w, unsigned int i)
{
	struct turn_view *v = &w->burst.turn.view[i];
	struct turn_view looked_up = *v;

	if (likely(source_is_fine(w, w->burst.m[i], v))) {
		v->flags &= (uint8_t)~DP_UNJUDGED;
		return true;
	}
	if (accept_any(w, v->port, &w->burst.m[i], v) == NOBODY) // else still this worker's
		return false;
	v->slot = looked_up.slot;
	v->hash = looked_up.hash;
#define X(type, field) v->field = looked_up.field;
	TURN_CONFIG_VIEW(X)
#undef X
	v->state = looked_up.state;
	v->flags |= looked_up.flags & (DP_PLAIN | DP_IPV4);
	return true;
}

// --- fast path: plain frames --------------------------------------------------------------------

// Slow path of classify_plain.
static __rte_noinline int classify_rest(const struct worker *w, const struct dp_port *p,
	const struct rte_mbuf *m, const struct local_addr *laddr, struct turn_view *v)
{
	const struct dp *dp = w->dp;
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	const uint16_t dport = load_be16(v->data - NET_UDP_LEN + 2);
	const int listener = local_addrs_listener(w->local, laddr, dport);
	struct net_frame f;
	unsigned int home;

	if (listener >= 0) {
		v->leg = TURN_FROM_CLIENT;
		v->listener = (uint8_t)listener;
		net_frame_describe(data, (uint16_t)(v->data - data), v->len, &f);
		return (int)client_home(w, p, m, &f);
	}
	v->leg = TURN_FROM_PEER;
	v->source = (uint16_t)turn_mark_from(laddr->plain_mark[TURN_FROM_PEER]);
	if (laddr->relay >= 0 &&
		turn_relay_map_home(dp->map, (unsigned int)laddr->relay, dport, &home, &v->slot))
		return (int)home;
	return NOBODY;
}

// How the home of a client is found.
enum homes {
	HOMES_ONE, // there is one worker: no look-up, not even for peers
	HOMES_HASHED, // by our hash, which turn_route_begin computes
	HOMES_NIC, // by the NIC's hash; only on some ports
};

// Constants for all plain frames of a burst.
struct accepting {
	const struct worker *w;
	const struct dp_port *p;
	struct local_addrs local; // a copy
	uint64_t verified; // of the port
	uint64_t usual[2]; // by [is_v4]: mbuf flags if the port has verified all checksums
	uint32_t shorter_than; // frame length minus SHORTEST must be below this
	uint64_t port4; // local_addrs_plain4 without an address
	uint64_t origin; // turn_view.lookup with slot 0
	uint8_t port, id;
	enum homes homes; // a constant where this is inlined
	uint64_t *came; // 2, by [is_v4]: datagrams from peers; not with HOMES_ONE
};

// Masks of these mbuf flags, and their values if all checksums are verified. NEVER is used if the
// port is not trusted.
#define L4_MASK RTE_MBUF_F_RX_L4_CKSUM_MASK
#define L4_GOOD RTE_MBUF_F_RX_L4_CKSUM_GOOD
#define BOTH_MASK (L4_MASK | RTE_MBUF_F_RX_IP_CKSUM_MASK)
#define BOTH_GOOD (L4_GOOD | RTE_MBUF_F_RX_IP_CKSUM_GOOD)
#define NEVER UINT64_MAX

// Length of a frame with 4 bytes of payload, so that it can be compared with any line.
#define SHORTEST (NET_ETH_LEN + NET_IP4_LEN + NET_UDP_LEN + CHANNEL_HEADER_LEN)
#define SHORTEST6 (NET_ETH_LEN + NET_IP6_LEN + NET_UDP_LEN + CHANNEL_HEADER_LEN)

// steer_client_home for plain frames, which have no extension headers. The result is meaningless
// for a peer's datagram, but computed anyway, because a branch on the leg would be mispredicted
// every other time.
static __rte_always_inline unsigned int nic_home(
	const struct accepting *a, const struct rte_mbuf *m, const struct turn_view *v)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	struct net_frame f;

	if (likely((m->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0))
		return a->p->home[m->hash.rss & a->p->home_mask];
	if (v->leg == TURN_FROM_PEER)
		return 0;
	net_frame_describe(data, (uint16_t)(v->data - data), v->len, &f);
	return steer_nic_home(a->p, m, &f);
}

// Converts the result of a slow path to that of classify_plain.
static __rte_always_inline int relative_owner(
	const struct accepting *a, int home, const struct turn_view *v)
{
	if (home == NOBODY)
		return NOBODY;
	if ((v->flags & DP_FRAGMENTED) == 0)
		a->came[(v->flags & DP_IPV4) != 0] += v->leg;
	return home ^ a->id;
}

// Finds the leg, the listener or slot, and the owner of the datagram, without a branch on the leg.
// laddr is its destination, our address on this port; head is the beginning of its UDP header.
// Returns the owner's id xor our id, so 0 is this worker, or NOBODY if the slow path must look.
static __rte_always_inline int classify_plain(const struct accepting *a, const struct rte_mbuf *m,
	const struct local_addr *laddr, uint64_t head, struct turn_view *v)
{
	const unsigned int is_v4 = (v->flags & DP_IPV4) != 0; // known where this is inlined
	const uint32_t dport = (uint16_t)(head >> 32);
	uint32_t from_peer = dport - laddr->run.lo < laddr->run.nb;
	unsigned int client_worker;

	__asm__("" : "+r"(from_peer)); // one register, or gcc repeats the comparison at each use
	v->mark = (uint32_t)(head >> 48) | laddr->plain_mark[from_peer];
	v->lookup = a->origin | (laddr->run.base + dport);
	v->leg = (uint8_t)from_peer;
	// a single test, or gcc branches on the leg
	if (unlikely(((dport ^ laddr->plain_listener) & (from_peer - 1)) != 0))
		return relative_owner(a, classify_rest(a->w, a->p, m, laddr, v), v);
	if (a->homes == HOMES_ONE)
		return 0;
	a->came[is_v4] += from_peer;
	// a client belongs to this worker until turn_route_begin knows more
	if (a->homes == HOMES_HASHED)
		return (from_peer & (laddr->run.worker != a->id)) ? laddr->run.worker ^ a->id : 0;
	client_worker = nic_home(a, m, v);
	return (int)(client_worker ^ ((client_worker ^ laddr->run.worker) & -from_peer) ^ a->id);
}

// net_udp_scan4 or 6, for frames whose checksums the port did not fully verify. Also 0 if the port
// has removed a tag.
static __rte_noinline uint32_t scan_unusual(
	const struct dp_port *p, const struct rte_mbuf *m, const uint8_t *data, bool is_v4)
{
	const bool l4_good = l4_verified(p, m);

	if ((m->ol_flags & STRIPPED) != 0 || l4_unfinished(p, m))
		return 0;
	return is_v4 ? net_udp_scan4(data, m->data_len, ip_verified(p, m), l4_good)
		     : net_udp_scan6(data, m->data_len, l4_good);
}

// Checks lengths and checksums. Fast case: the port verified all checksums, or never does.
static __rte_always_inline uint32_t scan_udp(
	const struct accepting *a, const struct rte_mbuf *m, const uint8_t *data, bool is_v4)
{
	const uint64_t mask = is_v4 ? BOTH_MASK : L4_MASK;

	if (likely((m->ol_flags & (mask | STRIPPED)) == a->usual[is_v4]))
		return is_v4 ? net_udp_scan4(data, m->data_len, true, true)
			     : net_udp_scan6(data, m->data_len, true);
	if (unlikely(((m->ol_flags & STRIPPED) | a->verified) != 0))
		return scan_unusual(a->p, m, data, is_v4);
	return is_v4 ? net_udp_scan4(data, m->data_len, false, false)
		     : net_udp_scan6(data, m->data_len, false);
}

static __rte_always_inline int accept_plain4(const struct accepting *a, const struct rte_mbuf *m,
	const uint8_t *data, struct turn_view *v)
{
	const uint8_t *ip = data + NET_ETH_LEN;
	const uint32_t len = scan_udp(a, m, data, true), dst = load_raw32(ip + 16);
	const uint64_t head = udp_head(ip + NET_IP4_LEN);
	const struct local_addr *laddr = local_addrs_guess4(&a->local, dst);

	if (unlikely(len == 0 || ip[8] <= 1 || laddr->plain4 != (dst | a->port4)))
		return NOBODY;
	addr_store_v4(&v->src, ip + 12);
	v->data = ip + NET_IP4_LEN + NET_UDP_LEN;
	v->len = (uint16_t)(len - NET_UDP_LEN);
	v->flags = DP_PLAIN | DP_IPV4 | DP_UNJUDGED;
	return classify_plain(a, m, laddr, head, v);
}

static __rte_always_inline int accept_plain6(const struct accepting *a, const struct rte_mbuf *m,
	const uint8_t *data, struct turn_view *v)
{
	const uint8_t *ip = data + NET_ETH_LEN;
	const uint32_t len = m->data_len >= SHORTEST6 ? scan_udp(a, m, data, false) : 0;
	const uint64_t head = udp_head(ip + NET_IP6_LEN);
	const struct addr dst = addr_from_v6(ip + 24);
	const struct local_addr *laddr = local_addrs_guess(&a->local, &dst);

	if (unlikely(len == 0 || ip[7] <= 1 || !addr_eq(&laddr->addr, &dst) ||
		    laddr->plain_port6 != a->port))
		return NOBODY;
	v->src = addr_from_v6(ip + 8);
	v->data = ip + NET_IP6_LEN + NET_UDP_LEN;
	v->len = (uint16_t)(len - NET_UDP_LEN);
	v->flags = DP_PLAIN | DP_UNJUDGED;
	return classify_plain(a, m, laddr, head, v);
}

// Returns the id of the worker that owns the datagram, xor our id, with v filled in; or NOBODY if
// the frame is not plain.
static __rte_always_inline int accept_plain(
	const struct accepting *a, const struct rte_mbuf *m, struct turn_view *v)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct net_udp_rules *r = &a->p->udp;

	if (unlikely(m->nb_segs != 1 || m->data_len - (uint32_t)SHORTEST >= a->shorter_than))
		return NOBODY;
	if (likely(udp_masked_eq(data, r->v4.value, r->v4.mask)))
		return accept_plain4(a, m, data, v);
	__asm__("" : "+r"(data)); // read again, or gcc keeps copies of the bytes read
	if (udp_masked_eq(data, r->v6.value, r->v6.mask))
		return accept_plain6(a, m, data, v);
	return NOBODY;
}

static __rte_always_inline void accept_frames(
	struct worker *w, uint8_t port, unsigned int n, enum homes homes)
{
	const struct dp_port *p = &w->dp->port[port];
	uint64_t bytes = 0, came[2] = {0, 0}, elsewhere[2] = {0, 0}; // datagrams from peers
	const struct turn_view fresh = {.via = TURN_NO_WORKER, .port = port};
	const struct accepting a = {.w = w,
		.p = p,
		.local = *w->local,
		.verified = p->verified,
		.usual = {(p->verified & L4_MASK) == L4_MASK ? L4_GOOD : NEVER,
			(p->verified & BOTH_MASK) == BOTH_MASK ? BOTH_GOOD : NEVER},
		.shorter_than = w->plain_max >= SHORTEST ? w->plain_max - SHORTEST + 1u : 0,
		.port4 = local_addrs_plain4(0, port),
		.port = port,
		.id = w->id,
		.homes = homes,
		.origin = fresh.lookup,
		.came = came};
	struct burst *b = &w->burst;
	struct turn_view *v = b->turn.view;
	struct rte_mbuf **kept = b->m;

	for (unsigned int i = 0; i < n; i++) {
		struct rte_mbuf *m = b->m[i];
		int away;

		bytes += m->pkt_len;
		away = accept_plain(&a, m, v);
		if (unlikely(away == NOBODY)) {
			away = relative_owner(&a, accept_any(w, port, &b->m[i], v), v);
			m = b->m[i];
		}
		if (unlikely(away != 0)) {
			if (away != NOBODY) {
				elsewhere[(v->flags & DP_IPV4) != 0] += v->leg;
				handover_datagram(w, (unsigned int)away ^ a.id, m, v);
			}
			continue;
		}
		*kept++ = m;
		v++;
	}
	b->n = (unsigned int)(kept - b->m);
	w->live.rx_bytes += bytes;
	for (unsigned int is_v4 = 0; is_v4 < 2 && homes != HOMES_ONE; is_v4++) {
		steer_count(w->steer[port].came, is_v4, came[is_v4]);
		steer_count(w->steer[port].elsewhere, is_v4, elsewhere[is_v4]);
	}
}

void accept_burst(struct worker *w, uint8_t port, unsigned int n)
{
	struct rte_mbuf *const *m = w->burst.m;

	_Static_assert(TURN_FROM_CLIENT == 0 && TURN_FROM_PEER == 1, "legs are used as bits");
#pragma GCC unroll 8
	for (unsigned int i = 0; i < n; i++)
		rte_prefetch0((const uint8_t *)m[i]->buf_addr + RTE_PKTMBUF_HEADROOM);
	if (w->dp->nb_workers == 1)
		accept_frames(w, port, n, HOMES_ONE);
	else if (w->dp->port[port].rss_home)
		accept_frames(w, port, n, HOMES_NIC);
	else
		accept_frames(w, port, n, HOMES_HASHED);
}
