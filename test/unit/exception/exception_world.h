// SPDX-License-Identifier: BSD-3-Clause
// A whole data path with an exception port: the thread's turns are made by the test, and the kernel
// is a software port. Packets are TCP and UDP of a host 10.99.0.77 or fd99::77 with the port's.
#pragma once

#include "bytes.h"
#include "datapath.h"
#include "dp_world.h"
#include "exception/exception.h"
#include "exception/exception_thread.h"
#include "control/stats.h"
#include "worker.h"

#include <netinet/in.h>

#include <rte_mempool.h>

#define SYN 0x02
#define ACK 0x10

static struct world world;
static uint64_t ns;
static const struct conf_service allow[] = {{IPPROTO_TCP, false, 22}, {IPPROTO_TCP, true, 179},
	{IPPROTO_UDP, false, 161}, {IPPROTO_UDP, true, 53}, {IPPROTO_UDP, false, 50000},
	{IPPROTO_UDP, false, 3478}};
static struct conf_exception entry;
static uint8_t frame[2048], got[2048];
static struct dp_exception before; // counters when the test began

static inline struct exception *exception(void)
{
	return world.dp->exception[0];
}

// Rounds and turns until nothing moves.
static inline void run(void)
{
	for (unsigned int quiet = 0; quiet < 3;) {
		bool moved = world_round(&world);

		ns += 1000000;
		moved |= exception_thread_turn(exception(), ns) > 0;
		quiet = moved ? 0 : quiet + 1;
	}
}

static inline void open_world(struct world_setup s, uint32_t nb_allow)
{
	entry = (struct conf_exception){.name = "sr0",
		.device = "soft:1:1",
		.allow = (struct conf_service *)(uintptr_t)allow,
		.nb_allow = nb_allow,
		.client_lo = 32768,
		.client_hi = 60999,
		.rate = 1000000,
		.buffers = 128};
	s.exception = &entry;
	s.icmp_rate = 1000;
	world_open(&world, &s);
	run(); // the gateways are asked for
	while (softport_take(exception()->kernel, got, sizeof(got)) > 0)
		;
	assert_true(dp_exception(world.dp, 0, &before));
}

static const struct world_setup one = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
static const struct world_setup tagged = {.workers = 1, .rx_queues = 1, .tx_queues = 1, .vlan = 9};
static const struct world_setup few = {.workers = 2, .rx_queues = 2, .tx_queues = 1};

static inline void close_world(void)
{
	dp_quiesce(world.dp);
	assert_int_equal(rte_mempool_in_use_count(exception()->pool), 0);
	world_close(&world);
}

static inline uint64_t dropped(unsigned int reason)
{
	return world_stats(&world).drop[reason];
}

static inline struct dp_exception counters(void)
{
	struct dp_exception e;

	assert_true(dp_exception(world.dp, 0, &e));
	for (unsigned int i = 0; i < EXC_CLASSES; i++)
		e.to[i] -= before.to[i];
	return e;
}

// --- frames -------------------------------------------------------------------------------------

static const uint8_t their_mac[6] = {2, 0, 0, 0, 0, 0x77};

struct packet {
	const char *src, *dst;
	uint16_t sport, dport;
	uint8_t proto, flags;
	uint16_t len; // behind the TCP or UDP header
	uint16_t vlan;
	bool from_us;
};

static inline struct packet tcp(uint16_t sport, uint16_t dport, uint8_t flags)
{
	return (struct packet){.src = "10.99.0.77",
		.dst = "10.99.0.1",
		.sport = sport,
		.dport = dport,
		.proto = IPPROTO_TCP,
		.flags = flags,
		.len = 10};
}

static inline uint16_t headers(const struct packet *p)
{
	return (uint16_t)(14 + (p->vlan != 0 ? 4 : 0) + (strchr(p->src, ':') == NULL ? 20 : 40) +
		(p->proto == IPPROTO_TCP ? 20 : 8));
}

// Writes headers, checksums included, around a payload that counts up.
static inline size_t make(const struct packet *p, uint8_t *buf)
{
	const struct endpoint src = world_endpoint(p->src, p->sport),
			      dst = world_endpoint(p->dst, p->dport);
	const bool is_v4 = addr_is_v4(&src.addr);
	struct net_l2 l2 = {.vlan = p->vlan};
	const uint16_t payload = (uint16_t)(p->len + (p->proto == IPPROTO_TCP ? 12 : 0));
	const uint16_t l4 = (uint16_t)(headers(p) - (p->proto == IPPROTO_TCP ? 20 : 8));
	uint8_t *at = buf + l4;
	uint32_t sum;

	memcpy(p->from_us ? l2.src : l2.dst, world.dp->port[0].port->mac, 6);
	memcpy(p->from_us ? l2.dst : l2.src, their_mac, 6);
	for (unsigned int i = 0; i < payload; i++)
		at[8 + i] = (uint8_t)i;
	net_write_udp(at + 8, payload, &l2, &src, &dst, &(struct net_ip){.ttl = 64, .df = true}, 0);
	if (p->proto == IPPROTO_UDP) {
		store_be16(at + 6, csum_udp(&src.addr, &dst.addr, at, (uint16_t)(payload + 8)));
		return (size_t)l4 + 8 + payload;
	}
	store_be32(at + 4, 1000);
	store_be32(at + 8, 2000);
	at[12] = 0x50;
	at[13] = p->flags;
	store_be32(at + 16, 0);
	buf[l4 - (is_v4 ? 11 : 34)] = IPPROTO_TCP;
	if (is_v4) {
		store_be16(at - 10, 0);
		store_be16(at - 10, (uint16_t)~csum_fold(csum_add(0, at - 20, 20)));
	}
	sum = csum_addrs(&src.addr, &dst.addr) + IPPROTO_TCP + payload + 8;
	store_be16(at + 16, (uint16_t)~csum_fold(csum_add(sum, at, payload + 8u)));
	return (size_t)l4 + 8 + payload;
}

// From the wire; the kernel then has it as it was, without the tag, or nothing.
static inline void up(struct packet p, bool arrives)
{
	const size_t len = make(&p, frame);

	world_inject(&world, 0, frame, len);
	run();
	p.vlan = 0;
	assert_int_equal(softport_take(exception()->kernel, got, sizeof(got)),
		arrives ? make(&p, frame) : 0);
	if (arrives)
		assert_memory_equal(got, frame, make(&p, frame));
}

// Out of the kernel; what then leaves the port, or nothing. The world would judge it as it comes.
static inline size_t down_frame(const uint8_t *data, size_t len)
{
	struct worker *w;

	softport_put(exception()->kernel, 0, data, len);
	for (unsigned int i = 0; i < 3; i++) {
		exception_thread_turn(exception(), ns += 1000000);
		for (unsigned int k = 0; k < world.dp->nb_workers; k++) {
			w = world.dp->worker[k];
			worker_round(w, world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
			stats_publish(w);
			world_balance(&world, k);
		}
	}
	return softport_take(world.dp->port[0].port, got, sizeof(got));
}

static inline void down(struct packet p, bool leaves)
{
	size_t len = make(&p, frame);
	const size_t out = down_frame(frame, len);

	p.vlan = world.dp->port[0].port->vlan;
	len = make(&p, frame);
	assert_int_equal(out, leaves ? len : 0);
	if (leaves)
		assert_memory_equal(got, frame, len);
}

static inline struct packet back(struct packet p)
{
	const struct packet was = p;

	p.src = was.dst;
	p.dst = was.src;
	p.sport = was.dport;
	p.dport = was.sport;
	p.from_us = true;
	return p;
}
