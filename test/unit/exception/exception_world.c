// SPDX-License-Identifier: BSD-3-Clause
// An exception port in a whole data path, TCP and UDP packets with their checksums, and the fate of
// a packet from the wire and of one from the kernel.
#include "exception_world.h"

#include <string.h>

#include <rte_mempool.h>

#include "bytes.h"

struct dp_world world;
uint64_t exception_ns;
const struct conf_service exception_allow[EXCEPTION_ALLOWED] = {{IPPROTO_TCP, false, 22},
	{IPPROTO_TCP, true, 179}, {IPPROTO_UDP, false, 161}, {IPPROTO_UDP, true, 53},
	{IPPROTO_UDP, false, 50000}, {IPPROTO_UDP, false, 3478}};
struct conf_exception exception_entry;
uint8_t frame[2048], got[2048];
const struct world_setup exception_one = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
const struct world_setup exception_tagged = {
	.workers = 1, .rx_queues = 1, .tx_queues = 1, .vlan = 9};
const struct world_setup exception_few = {.workers = 2, .rx_queues = 2, .tx_queues = 1};
const uint8_t their_mac[6] = {2, 0, 0, 0, 0, 0x77};

static struct dp_exception before; // counters when the test began

struct exception *exception(void)
{
	return world.dp->exception[0];
}

void exception_world_run(void)
{
	for (unsigned int quiet = 0; quiet < 3;) {
		bool moved = world_round(&world);

		exception_ns += 1000000;
		moved |= exception_thread_turn(exception(), exception_ns) > 0;
		quiet = moved ? 0 : quiet + 1;
	}
}

void exception_world_open(struct world_setup s, uint32_t nb_allow)
{
	exception_entry = (struct conf_exception){.name = "sr0",
		.device = "soft:1:1",
		.allow = (struct conf_service *)(uintptr_t)exception_allow,
		.nb_allow = nb_allow,
		.client_lo = 32768,
		.client_hi = 60999,
		.rate = 1000000,
		.buffers = 128};
	s.exception = &exception_entry;
	s.icmp_rate = 1000;
	world_open(&world, &s);
	exception_world_run(); // the gateways are resolved
	while (softport_take(exception()->kernel, got, sizeof(got)) > 0)
		;
	assert_true(dp_exception(world.dp, 0, &before));
}

void exception_world_close(void)
{
	dp_quiesce(world.dp);
	assert_int_equal(rte_mempool_in_use_count(exception()->pool), 0);
	world_close(&world);
}

struct dp_exception exception_world_counters(void)
{
	struct dp_exception e;

	assert_true(dp_exception(world.dp, 0, &e));
	for (unsigned int i = 0; i < EXC_CLASSES; i++)
		e.to_kernel[i] -= before.to_kernel[i];
	return e;
}

struct packet packet_tcp(uint16_t sport, uint16_t dport, uint8_t flags)
{
	return (struct packet){.src = "10.99.0.77",
		.dst = "10.99.0.1",
		.sport = sport,
		.dport = dport,
		.proto = IPPROTO_TCP,
		.flags = flags,
		.len = 10};
}

uint16_t packet_headers(const struct packet *p)
{
	return (uint16_t)(14 + (p->vlan != 0 ? 4 : 0) + (strchr(p->src, ':') == NULL ? 20 : 40) +
		(p->proto == IPPROTO_TCP ? 20 : 8));
}

size_t packet_make(const struct packet *p, uint8_t *buf)
{
	const struct endpoint src = world_endpoint(p->src, p->sport),
			      dst = world_endpoint(p->dst, p->dport);
	const bool is_v4 = addr_is_v4(&src.addr);
	struct net_l2 l2 = {.vlan = p->vlan};
	const uint16_t payload = (uint16_t)(p->len + (p->proto == IPPROTO_TCP ? 12 : 0));
	const uint16_t l4 = (uint16_t)(packet_headers(p) - (p->proto == IPPROTO_TCP ? 20 : 8));
	uint8_t *header = buf + l4;
	uint32_t sum;

	memcpy(p->from_us ? l2.src : l2.dst, world.dp->port[0].port->mac, 6);
	memcpy(p->from_us ? l2.dst : l2.src, their_mac, 6);
	for (unsigned int i = 0; i < payload; i++)
		header[8 + i] = (uint8_t)i;
	net_write_udp(
		header + 8, payload, &l2, &src, &dst, &(struct net_ip){.ttl = 64, .df = true}, 0);
	if (p->proto == IPPROTO_UDP) {
		store_be16(header + 6,
			csum_udp(&src.addr, &dst.addr, header, (uint16_t)(payload + 8)));
		return (size_t)l4 + 8 + payload;
	}
	store_be32(header + 4, 1000);
	store_be32(header + 8, 2000);
	header[12] = 0x50;
	header[13] = p->flags;
	store_be32(header + 16, 0);
	buf[l4 - (is_v4 ? 11 : 34)] = IPPROTO_TCP;
	if (is_v4) {
		store_be16(header - 10, 0);
		store_be16(header - 10, (uint16_t)~csum_fold(csum_add(0, header - 20, 20)));
	}
	sum = csum_addrs(&src.addr, &dst.addr) + IPPROTO_TCP + payload + 8;
	store_be16(header + 16, (uint16_t)~csum_fold(csum_add(sum, header, payload + 8u)));
	return (size_t)l4 + 8 + payload;
}

void packet_up(struct packet p, bool arrives)
{
	const size_t len = packet_make(&p, frame);

	world_inject(&world, 0, frame, len);
	exception_world_run();
	p.vlan = 0;
	assert_int_equal(softport_take(exception()->kernel, got, sizeof(got)),
		arrives ? packet_make(&p, frame) : 0);
	if (arrives)
		assert_memory_equal(got, frame, packet_make(&p, frame));
}

size_t exception_world_down(const uint8_t *data, size_t len)
{
	struct worker *w;

	softport_put(exception()->kernel, 0, data, len);
	for (unsigned int i = 0; i < 3; i++) {
		exception_thread_turn(exception(), exception_ns += 1000000);
		for (unsigned int k = 0; k < world.dp->nb_workers; k++) {
			w = world.dp->worker[k];
			worker_round(w, world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
			stats_publish(w);
			world_balance(&world, k);
		}
	}
	return softport_take(world.dp->port[0].port, got, sizeof(got));
}

void packet_down(struct packet p, bool leaves)
{
	size_t len = packet_make(&p, frame);
	const size_t out = exception_world_down(frame, len);

	p.vlan = world.dp->port[0].port->vlan;
	len = packet_make(&p, frame);
	assert_int_equal(out, leaves ? len : 0);
	if (leaves)
		assert_memory_equal(got, frame, len);
}

struct packet packet_back(struct packet p)
{
	const struct packet was = p;

	p.src = was.dst;
	p.dst = was.src;
	p.sport = was.dport;
	p.dport = was.sport;
	p.from_us = true;
	return p;
}
