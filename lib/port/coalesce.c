// SPDX-License-Identifier: BSD-3-Clause
// Makes super-frames: a run of datagrams of one flow and one size becomes one super-frame. Nothing
// is copied: the first datagram keeps its headers; each later one is trimmed to its payload and
// appended to the chain.
//
// The order within one flow (all datagrams of one 5-tuple) is kept: a datagram joins the last frame
// of its flow, or no frame. The order between flows may change, so runs are found even if flows are
// interleaved, as is usual.
//
// The port computes the checksums again, as with any checksum offload. So a payload that was
// damaged in our memory leaves with a correct checksum.
#include "coalesce.h"

#include "bytes.h"
#include "port.h"
#include "super/super_shape.h"
#include "udp.h"

#define SLOTS 64 // twice the frames of a burst
#define IP_LEN_MAX 65535

_Static_assert(SLOTS >= 2 * PORT_COALESCE_MAX && PORT_COALESCE_MAX < UINT8_MAX,
	"there is always a free slot");

// The headers of a datagram to send.
struct head {
	const uint8_t *ip;
	uint16_t l2, all; // bytes of the link header, and of all headers
	uint16_t len; // bytes of payload
	bool is_v4;
	bool alone; // must not join a super-frame
};

// A frame to send: one datagram, or several of one flow.
struct run {
	struct head head; // headers of the first datagram
	struct rte_mbuf *first, *last;
	unsigned int n;
	bool closed; // its last datagram was shorter: no more may follow
};

struct bundle {
	const struct port_super *limits;
	unsigned int n;
	struct run run[PORT_COALESCE_MAX];
	uint8_t slot[SLOTS]; // by hash of the flow: 1 + number of its last run; 0 = free
};

// --- datagrams ----------------------------------------------------------------------------------

// Reads the headers of m; h->l2 is set already. False if m is not a whole UDP datagram: its flow is
// unknown then.
static bool head_read(struct head *h, const struct rte_mbuf *m)
{
	const uint8_t *ip = rte_pktmbuf_mtod_offset(m, const uint8_t *, h->l2);
	const uint32_t l3_len = m->data_len - (uint32_t)h->l2;
	uint32_t l4_len;
	uint16_t type;

	if (m->nb_segs != 1 || m->data_len < h->l2 + NET_IP4_LEN + NET_UDP_LEN)
		return false;
	type = load_be16(ip - 2);
	h->is_v4 = type == NET_ETHERTYPE_IP4;
	if (h->is_v4) {
		l4_len = l3_len - NET_IP4_LEN;
		if (ip[0] != 0x45 || ip[NET_IP4_PROTO_AT] != NET_PROTO_UDP ||
			load_be16(ip + NET_IP4_LENGTH_AT) != l3_len ||
			(load_be16(ip + NET_IP4_FRAGMENT_AT) & NET_IP4_FRAGMENTED) != 0)
			return false;
	} else {
		l4_len = l3_len - NET_IP6_LEN;
		if (type != NET_ETHERTYPE_IP6 || l3_len < NET_IP6_LEN + NET_UDP_LEN ||
			ip[NET_IP6_NEXT_AT] != NET_PROTO_UDP ||
			load_be16(ip + NET_IP6_LENGTH_AT) != l4_len)
			return false;
	}
	h->ip = ip;
	h->all = (uint16_t)(m->data_len - l4_len + NET_UDP_LEN);
	h->len = (uint16_t)(l4_len - NET_UDP_LEN);
	// Cutting a run increments the identification from the first datagram on. With DF the
	// identification has no meaning (RFC 6864 4.1). Without DF the datagram may be fragmented
	// on its path. Then it needs an identification that was not used recently, which only its
	// sender can guarantee.
	h->alone = h->len == 0 ||
		load_be16(ip - h->l2 + h->all - NET_UDP_LEN + NET_UDP_CHECKSUM_AT) == 0 ||
		(h->is_v4 && (ip[NET_IP4_FRAGMENT_AT] & NET_IP4_DF) == 0);
	return true;
}

// Returns the key of the flow. Addresses and ports are adjacent in the headers.
static inline const uint8_t *flow_key(const struct head *h, size_t *len)
{
	*len = (h->is_v4 ? NET_IP4_ADDRS_LEN : NET_IP6_ADDRS_LEN) + NET_PORTS_LEN;
	return h->ip + (h->is_v4 ? NET_IP4_ADDRS_AT : NET_IP6_ADDRS_AT);
}

static bool same_flow(const struct head *a, const struct head *b)
{
	size_t len;
	const uint8_t *key = flow_key(a, &len);

	return a->is_v4 == b->is_v4 && memcmp(key, flow_key(b, &len), len) == 0;
}

// The hash has no key: colliding flows cost at most a walk of PORT_COALESCE_MAX steps.
static unsigned int flow_hash(const struct head *h)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
	size_t len;
	const uint8_t *key = flow_key(h, &len);
	uint64_t x = 0;

	for (; len > 4; key += 8, len -= 8)
		x = (x ^ load_raw64(key)) * odd;
	return (unsigned int)(((x ^ load_raw32(key)) * odd) >> 58);
}

// Compares, for datagrams of one flow, all header fields that cutting copies from the first
// datagram of a run.
static bool same_headers(const struct head *a, const struct head *b)
{
	if (memcmp(a->ip - a->l2, b->ip - b->l2, a->l2) != 0)
		return false;
	if (a->is_v4) // type of service; DF, TTL and protocol
		return a->ip[1] == b->ip[1] && load_raw32(a->ip + 6) == load_raw32(b->ip + 6);
	// traffic class and flow label; next header and hop limit
	return load_raw32(a->ip) == load_raw32(b->ip) && a->ip[7] == b->ip[7];
}

static bool joins_run(const struct run *r, const struct head *h, const struct port_super *limits)
{
	const uint32_t bytes = r->first->pkt_len + h->len;

	return !r->closed && !r->head.alone && !h->alone && h->len <= r->head.len &&
		r->n < limits->segments && r->n < limits->bufs && bytes <= limits->bytes &&
		bytes - h->l2 <= IP_LEN_MAX && same_headers(&r->head, h);
}

// --- runs ---------------------------------------------------------------------------------------

static void run_append(struct run *r, struct rte_mbuf *m, const struct head *h)
{
	rte_pktmbuf_adj(m, h->all);
	r->last->next = m;
	r->last = m;
	r->first->nb_segs++;
	r->first->pkt_len += h->len;
	r->n++;
	r->closed = h->len < r->head.len;
}

// Finds the slot of a flow: the slot with its last run, or a free one.
static uint8_t *slot_find(struct bundle *b, const struct head *h)
{
	unsigned int i = flow_hash(h);

	while (b->slot[i] != 0 && !same_flow(&b->run[b->slot[i] - 1].head, h))
		i = (i + 1) % SLOTS;
	return &b->slot[i];
}

// Adds m to a run, and returns the number of that run.
static unsigned int bundle_add(struct bundle *b, struct rte_mbuf *m, uint16_t l2)
{
	struct run *r = &b->run[b->n];
	struct head h = {.l2 = l2};
	uint8_t *slot;

	if (unlikely(!head_read(&h, m))) {
		// m may be a fragment of any flow, so no datagram may pass it
		memset(b->slot, 0, sizeof(b->slot));
	} else {
		slot = slot_find(b, &h);
		if (*slot != 0 && joins_run(&b->run[*slot - 1], &h, b->limits)) {
			run_append(&b->run[*slot - 1], m, &h);
			return *slot - 1u;
		}
		*slot = (uint8_t)(b->n + 1);
	}
	*r = (struct run){.head = h, .first = m, .last = m, .n = 1};
	return b->n++;
}

// --- the function -------------------------------------------------------------------------------

struct port_coalesced port_coalesce(const struct port_super *limits, uint16_t vlan,
	struct rte_mbuf **m, unsigned int n, uint8_t *frame_of)
{
	const uint16_t l2 = (uint16_t)(NET_ETH_LEN + (vlan != 0 ? NET_VLAN_LEN : 0));
	struct port_coalesced c = {0};
	struct bundle b;

	b.limits = limits;
	b.n = 0;
	memset(b.slot, 0, sizeof(b.slot));
	for (unsigned int i = 0; i < n; i++) {
		const unsigned int run = bundle_add(&b, m[i], l2);

		if (frame_of != NULL)
			frame_of[i] = (uint8_t)run;
	}
	c.frames = b.n;
	for (unsigned int i = 0; i < b.n; i++) {
		m[i] = b.run[i].first;
		if (b.run[i].n == 1)
			continue;
		super_finish(m[i], l2, (uint16_t)(b.run[i].head.all - l2 - NET_UDP_LEN),
			b.run[i].head.len);
		c.supers++;
		c.segments += b.run[i].n;
	}
	return c;
}
