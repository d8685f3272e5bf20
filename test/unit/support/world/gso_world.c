// SPDX-License-Identifier: BSD-3-Clause
// Six clients and datagrams for them, one by one or in super-frames.
#include "gso_world.h"
#include "bytes.h"
#include "datapath.h"
#include "shard_rows.h"
#include "path/worker.h"

struct dp_world world;
struct world_client client[GSO_CLIENTS];
static struct turn_usage usage[GSO_CLIENTS]; // received datagrams
struct endpoint peer[GSO_CLIENTS];

const struct port_super gso_granted = {.segments = 64, .bufs = 64, .bytes = 65549};

// --- the world ----------------------------------------------------------------------------------

void gso_open(const struct world_setup *s)
{
	static const char *const clients[] = {"10.99.0.20", "fd99::20", "198.51.100.5"};
	static const char *const peers[] = {"10.99.0.30", "fd99::30"};

	world_open(&world, s);
	memset(usage, 0, sizeof(usage));
	for (unsigned int i = 0; i < GSO_CLIENTS; i++) {
		peer[i] = world_endpoint(peers[i / 3], (uint16_t)(7000 + i));
		world_client(&world, &client[i], clients[i % 3], (uint16_t)(40000 + i));
		assert_int_equal(
			client_allocate(&world, &client[i], addr_is_v4(&peer[i].addr) ? 4 : 6), 0);
		assert_int_equal(client_bind(&world, &client[i], GSO_CHANNEL, &peer[i]), 0);
	}
}

struct port *gso_port(void)
{
	return world.dp->port[0].port;
}

// --- a burst ------------------------------------------------------------------------------------

struct gso_sent sent[GSO_BURST_MAX];
unsigned int nb_sent;

struct gso_sent *gso_make(unsigned int i, bool up, uint16_t len, const struct world_datagram *like)
{
	struct gso_sent *s = &sent[nb_sent++];

	assert_true(nb_sent <= GSO_BURST_MAX);
	s->in = *like;
	test_rand_fill(&world.rand, s->in.data, len + 4u);
	s->client = i;
	s->leg = up ? TURN_FROM_CLIENT : TURN_FROM_PEER;
	if (up) {
		s->in.src = client[i].endpoint;
		s->in.dst = client[i].server;
		s->src = client[i].relay;
		s->dst = peer[i];
		store_be16(s->in.data, GSO_CHANNEL);
		store_be16(s->in.data + 2, len);
		s->in.len = (uint16_t)(len + 4);
		s->off = 4;
		s->front = 0;
	} else {
		s->in.src = peer[i];
		s->in.dst = client[i].relay;
		s->src = client[i].server;
		s->dst = client[i].endpoint;
		s->in.len = len;
		s->off = 0;
		s->front = 4;
	}
	return s;
}

void gso_arrives(const struct gso_sent *s)
{
	const uint16_t len = (uint16_t)(s->in.len - s->off);
	struct world_datagram got;

	assert_true(world_take(&world, &s->dst, &got));
	assert_true(endpoint_eq(&got.src, &s->src));
	assert_int_equal(got.len, s->front + len);
	if (s->front != 0) {
		assert_int_equal(load_be16(got.data), GSO_CHANNEL);
		assert_int_equal(load_be16(got.data + 2), len);
	}
	assert_memory_equal(got.data + s->front, s->in.data + s->off, len);
	assert_int_equal(got.tos, s->in.tos);
	assert_int_equal(got.ttl, s->in.ttl - 1);
	// RFC 8656 15: copied where both sides are IPv4
	assert_int_equal(
		got.df, s->in.df && addr_is_v4(&s->dst.addr) && addr_is_v4(&s->in.src.addr));
	assert_int_equal(got.no_checksum, s->in.no_checksum && addr_is_v4(&s->dst.addr));
	usage[s->client].leg[s->leg].datagrams++;
	usage[s->client].leg[s->leg].bytes += len;
}

void gso_all_arrive(void)
{
	for (unsigned int i = 0; i < nb_sent; i++)
		gso_arrives(&sent[i]);
	assert_int_equal(world.nb_seen, 0);
}

void gso_all_counted(void)
{
	unsigned int found = 0;

	for (unsigned int w = 0; w < world.dp->nb_workers; w++) {
		struct turn_info info[GSO_CLIENTS];
		const unsigned int n = shard_rows(world.dp->worker[w]->shard, info, GSO_CLIENTS);

		for (unsigned int k = 0; k < n; k++)
			for (unsigned int i = 0; i < GSO_CLIENTS; i++)
				if (endpoint_eq(&info[k].client, &client[i].endpoint)) {
					assert_memory_equal(info[k].usage.leg, usage[i].leg,
						sizeof(usage[i].leg));
					found++;
				}
	}
	assert_int_equal(found, GSO_CLIENTS);
}

// --- super-frames received ----------------------------------------------------------------------

struct rte_mbuf *gso_whole(unsigned int first, unsigned int n, uint32_t step)
{
	static uint8_t frame[70000];
	const bool v4 = addr_is_v4(&sent[first].in.src.addr);
	const uint32_t headers = net_headers_len(v4, gso_port()->vlan);
	struct rte_mbuf *head = NULL, **next = &head;
	uint8_t one[2048], *ip = frame + headers - (v4 ? 28 : 48);
	uint32_t len = headers, done = 0;
	uint16_t segs = 0;

	world_frame(&world, &sent[first].in, one);
	memcpy(frame, one, headers);
	for (unsigned int i = first; i < first + n; len += sent[i++].in.len)
		memcpy(frame + len, sent[i].in.data, sent[i].in.len);
	store_be16(frame + headers - 4, (uint16_t)(len - headers + 8));
	store_be16(frame + headers - 2, 0x1234); // without meaning
	if (v4) {
		store_be16(ip + 2, (uint16_t)(len - headers + 28));
		store_be16(ip + 10, 0);
		store_be16(ip + 10, (uint16_t)~csum_fold(csum_add(0, ip, 20)));
	} else {
		store_be16(ip + 4, (uint16_t)(len - headers + 8));
	}
	while (done < len) {
		const uint32_t part = RTE_MIN(len - done, 1 + test_rand_below(&world.rand, step));

		*next = rte_pktmbuf_alloc(world.dp->pool);
		assert_non_null(*next);
		memcpy(rte_pktmbuf_append(*next, (uint16_t)part), frame + done, part);
		next = &(*next)->next;
		done += part;
		segs++;
	}
	head->nb_segs = segs;
	head->pkt_len = len;
	head->tso_segsz = sent[first].in.len;
	head->ol_flags = RTE_MBUF_F_RX_LRO | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	return head;
}
