// SPDX-License-Identifier: BSD-3-Clause
// Frames in several buffers: UDP and TCP super-frames as a port with rx_super or the kernel
// delivers them, with false values in their headers and in their driver's reports; and chains that
// are not super-frames.
#include "datapath.h"
#include "fuzz.h"

static uint8_t whole[65536 + NET_HEADERS_MAX];

// Returns the bytes in a chain of buffers of the pool, at most `first` of them in the first buffer.
// NULL = pool empty.
static struct rte_mbuf *chain(struct rte_mempool *pool, size_t len, size_t first)
{
	struct rte_mbuf *head = NULL, *last = NULL;

	for (size_t done = 0; done < len;) {
		const size_t n = RTE_MIN(len - done, done == 0 ? first : (size_t)1900);
		struct rte_mbuf *m = fuzz_mbuf(pool, whole + done, n);

		if (m == NULL) {
			rte_pktmbuf_free(head);
			return NULL;
		}
		if (head == NULL)
			head = m;
		else
			last->next = m;
		last = m;
		done += n;
	}
	head->nb_segs = 0;
	for (last = head; last != NULL; last = last->next)
		head->nb_segs++;
	head->pkt_len = (uint32_t)len;
	return head;
}

// Sender of the super-frames of a call: they leave whole only if a line vouches for them.
static struct {
	const struct fuzz_client *client;
	bool up;
} flow;

static void pick_flow(void)
{
	for (unsigned int tries = 4; tries > 0; tries--) { // most clients have nothing
		flow.client = &fuzz.client[below(fuzz.nb_clients)];
		if (flow.client->allocated)
			break;
	}
	flow.up = flow.client->via == VIA_UDP && chance(50);
}

// Writes datagrams of a peer to a client's relayed transport address, or of a client to its server.
static size_t udp_super(uint16_t size, unsigned int n)
{
	const struct fuzz_client *c = flow.client;
	const bool up = flow.up;
	const struct endpoint *src = up ? &c->c.endpoint : &c->peer[0];
	const struct endpoint *dst = up ? &c->c.server : &c->c.relay;
	const uint16_t len = (uint16_t)(n * size - below(size));
	const bool is_v4 = addr_is_v4(&dst->addr);
	struct net_l2 l = {
		.src = {2, 0xaa}, .vlan = fuzz_port(fuzz_port(0)->shared && chance(30))->vlan};
	uint8_t *payload = whole + net_headers_len(is_v4, l.vlan);

	if (!c->allocated || addr_is_v4(&src->addr) != is_v4)
		return 0;
	test_rand_fill(&fuzz.rand, payload, 64);
	for (uint32_t offset = 0; up && offset + 4 <= len; offset += size) {
		const uint32_t left =
			chance(50) ? len - offset : size; // the rest, or a false length

		store_be16(payload + offset, 0x4000);
		store_be16(payload + offset + 2, (uint16_t)(RTE_MIN(left, (uint32_t)size) - 4));
	}
	memcpy(l.dst, fuzz_port(0)->mac, 6);
	net_write_udp(payload, len, &l, src, dst, &(struct net_ip){.ttl = 64, .df = true}, 0);
	return (size_t)(payload - whole) + len;
}

// Writes a TCP segment with correct headers, from the kernel or to it.
static size_t tcp_super(uint16_t size, unsigned int n, bool kernel)
{
	const struct addr local = fuzz.world.addresses[below(2)].addr;
	const struct addr host = fuzz_host(addr_is_v4(&local));
	const struct endpoint ours = {local, 22}, theirs = {host, 40000};
	const uint16_t len = (uint16_t)(n * size - below(size) + 12);
	struct net_l2 l = {.src = {2, 0xaa}, .vlan = kernel ? 0 : fuzz_port(0)->vlan};
	uint8_t *payload = whole + net_headers_len(addr_is_v4(&local), l.vlan), *tcp = payload - 8;

	memcpy(l.dst, fuzz_port(0)->mac, 6);
	if (kernel) {
		memcpy(l.src, l.dst, 6);
		l.dst[5] ^= 1;
	}
	net_write_udp(payload, len, &l, kernel ? &ours : &theirs, kernel ? &theirs : &ours,
		&(struct net_ip){.ttl = 64, .df = true}, 0);
	tcp[-(addr_is_v4(&local) ? 11 : 34)] = IPPROTO_TCP;
	store_be32(tcp + 4, 1000);
	tcp[12] = 0x50;
	tcp[13] = (uint8_t)(chance(80) ? 0x10 : below(256));
	fuzz_repair(whole, (size_t)(payload - whole) + len, false);
	return (size_t)(payload - whole) + len;
}

static uint16_t segment_size(uint16_t size)
{
	return chance(90) ? size : fuzz_edge();
}

static void any_super(void)
{
	const bool kernel = fuzz_exception() != NULL && chance(30);
	const bool tcp = kernel || chance(40);
	struct port *port = kernel ? fuzz_exception()->kernel : fuzz_port(0);
	struct rte_mempool *pool = kernel ? fuzz_exception()->pool : fuzz.world.dp->pool;
	const uint16_t size = (uint16_t)(chance(70) ? 1000 : 1 + below(1460));
	const unsigned int n = 1 + below(size > 1000 ? 20 : 40);
	size_t len = tcp ? tcp_super(size, n, kernel) : udp_super(size, n);
	struct rte_mbuf *m;

	if (len == 0 || (!port->rx_super && !kernel && chance(70)))
		return;
	if (chance(fuzz.mutate)) {
		const uint32_t pos = below(80);

		whole[pos] =
			chance(50) ? (uint8_t)below(256) : whole[pos] ^ (uint8_t)(1 << below(8));
		if (chance(50))
			fuzz_repair(whole, len, false);
		if (chance(20))
			len = 1 + below((uint32_t)len);
	}
	m = chain(pool, len, chance(90) ? 1900 : 1 + below(200));
	if (m == NULL)
		return;
	if (kernel || port->rx_super ? chance(95) : false) { // otherwise a plain chain
		m->ol_flags |= RTE_MBUF_F_RX_LRO;
		m->tso_segsz = segment_size(size);
		if (chance(90))
			m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	}
	fuzz_put_mbuf(kernel ? "kernel super" : "super", port, m);
}

void fuzz_any_super(void)
{
	const struct port *p = fuzz_port(0);
	// super-frames that may leave whole need a port that takes them, and more
	const unsigned int n = p->rx_super && p->uso.segments > 1 ? 24 : 1;

	for (unsigned int i = 0; i < n; i++) {
		if (i == 0 || chance(10))
			pick_flow();
		any_super();
	}
}
