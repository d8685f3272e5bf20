// SPDX-License-Identifier: BSD-3-Clause
// Computes the memory that the data path will request from EAL. This happens before EAL is up, so
// that an EAL without hugepages can be given enough.
#include <rte_eal.h>

#include "path/backlog.h"
#include "clients/sessions.h"
#include "clients/streams.h"
#include "see/event_rings.h"
#include "datapath.h"
#include "dp.h"
#include "dp_memory.h"
#include "exception/exception.h"
#include "ip/fragments.h"
#include "ip/path_mtu.h"
#include "neigh/neigh_asked.h"
#include "net.h"
#include "state/carry.h"
#include "turn_config.h"
#include "turn_relay_map.h"
#include "turn_shard.h"
#include "path/worker.h"
#include "workers/handover.h"
#include "workers/mbuf_meta.h"

#define MB (1024 * 1024)
#define PAGE 4096 // bytes of a normal page
#define EAL_MB 32 // for EAL's own tables, drivers, and fragmentation
#define DESCRIPTOR 64 // bytes of driver memory per descriptor, rounded up
#define SLOW_BUFFER 576 // bytes of a buffer for an LACP frame, with its header and headroom
#define FRAME_ROOM 2048 // bytes after the headroom, unless the MTU needs more
// NICs are given the length of a buffer in steps of up to this many bytes (ixgbe, igc), rounded
// down. With a length that is no multiple they would cut frames that fit the buffer.
#define ROOM_STEP 1024
// A padded Data indication over IPv6 may extend beyond the end of the received frame.
#define FRAME_SLACK 128

uint16_t dp_data_room(const struct conf *c)
{
	uint32_t room = FRAME_ROOM;

	for (uint32_t i = 0; i < c->nb_ports; i++)
		room = RTE_MAX(room, c->ports[i].mtu + (uint32_t)NET_HEADERS_MAX + FRAME_SLACK);
	return (uint16_t)RTE_MIN(
		RTE_PKTMBUF_HEADROOM + RTE_ALIGN_CEIL(room, ROOM_STEP), (uint32_t)UINT16_MAX);
}

struct neigh_config dp_neigh_config(const struct conf *c)
{
	const uint32_t workers = RTE_MAX(c->workers, 1u);

	return (struct neigh_config){.entries = (uint16_t)c->neigh_entries,
		.held_total = (uint16_t)c->neigh_held,
		.held_each = (uint16_t)c->neigh_held_each,
		.asks = c->neigh_ask_rate > 0 ? RTE_MAX(c->neigh_ask_rate / workers, 1u) : 0};
}

static size_t packets_size(const struct conf *c)
{
	const uint32_t element =
		(uint32_t)(sizeof(struct rte_mbuf) + DP_PRIV_SIZE) + dp_data_room(c);

	return (size_t)c->mbufs * (rte_mempool_calc_obj_size(element, 0, NULL) + sizeof(void *));
}

static size_t shard_size(
	const struct conf *c, const struct turn_relay_map *map, unsigned int worker)
{
	const uint32_t slots = turn_relay_map_slots(map, worker);
	const struct turn_shard_params params = {.config = &c->turn,
		.map = map,
		.worker = (uint8_t)worker,
		.redirects = carry_redirects_most(c, slots)};

	return turn_shard_size(&params);
}

void dp_pools(const struct conf *c, struct dp_pools *out)
{
	struct turn_relay_map *map = turn_relay_map_create(&c->turn);

	*out = (struct dp_pools){0};
	for (unsigned int w = 0; map != NULL && w < c->workers; w++) {
		const struct turn_shard_params params = {
			.config = &c->turn, .map = map, .worker = (uint8_t)w};
		const struct turn_pools p = turn_shard_pools(&params);

		out->allocations += turn_relay_map_slots(map, w);
		out->pools.permissions += p.permissions;
		out->pools.channels += p.channels;
#define X(field, name, enabled, bytes, most) out->pools.field += p.field;
		TURN_CONFIG_POOLS(X)
#undef X
		out->pools.sure_permissions = p.sure_permissions;
		out->pools.sure_channels = p.sure_channels;
		out->pools.per_user = p.per_user;
		out->bytes += turn_shard_size(&params);
	}
	turn_relay_map_free(map);
}

// Upper limit of the descriptors of one queue per device.
static size_t queue_descriptors(const struct conf *c)
{
	uint32_t rx, tx;
	size_t sum = 0;

	conf_rings_longest(c, &rx, &tx);
	for (uint32_t i = 0; i < c->nb_ports; i++)
		sum += conf_port_devices(&c->ports[i]) * (size_t)(rx + tx);
	return sum;
}

// Memory of the bonding driver for LACP: on each member a buffer for each transmit descriptor.
static size_t bonds_size(const struct conf *c)
{
	uint32_t rx, tx;
	size_t sum = 0;

	conf_rings_longest(c, &rx, &tx);
	for (uint32_t i = 0; i < c->nb_ports; i++) {
		const struct conf_port *p = &c->ports[i];

		if (p->bond.nb_members > 0 && p->bond.mode == CONF_BOND_LACP)
			sum += p->bond.nb_members * (size_t)c->workers * tx * SLOW_BUFFER;
	}
	return sum;
}

static size_t exceptions_size(const struct conf *c)
{
	uint32_t rx, tx;
	size_t sum = 0;

	conf_rings_longest(c, &rx, &tx);
	for (uint32_t i = 0; i < c->nb_ports; i++)
		sum += exception_pool_bytes(c, i, tx);
	return sum;
}

// Packet buffers never cross a page boundary (rte_mempool_op_populate_helper). In hugepages this
// wastes nothing; a normal page may hold only one buffer.
static size_t lost_in_pages(const struct conf *c)
{
	const uint32_t element =
		(uint32_t)(sizeof(struct rte_mbuf) + DP_PRIV_SIZE) + dp_data_room(c);
	const size_t size = rte_mempool_calc_obj_size(element, 0, NULL);
	const size_t n = (packets_size(c) + exceptions_size(c)) / (size + sizeof(void *));
	const size_t room = size > PAGE ? RTE_ALIGN_CEIL(size, (size_t)PAGE) : PAGE / (PAGE / size);

	return n * (room - size);
}

size_t dp_memory_normal_mb(const struct conf *c)
{
	const size_t lost = lost_in_pages(c) / MB;

	return dp_memory_mb(c) + lost + lost / 8;
}

size_t dp_memory_here_mb(const struct conf *c)
{
	return rte_eal_has_hugepages() ? dp_memory_mb(c) : dp_memory_normal_mb(c);
}

size_t dp_memory_mb(const struct conf *c)
{
	const struct neigh_config nc = dp_neigh_config(c);
	struct turn_relay_map *map = turn_relay_map_create(&c->turn);
	const ssize_t ring = rte_ring_get_memsize(rte_align32pow2(c->handover_ring));
	size_t size =
		packets_size(c) + exceptions_size(c) + fragments_bytes(c) + neigh_asked_size();

	size += (size_t)c->workers * c->workers * (ring > 0 ? (size_t)ring : 0);
	size += (size_t)c->workers *
		(sizeof(struct worker) + neigh_size(&nc) + backlog_size(c) + path_mtu_size(c));
	size += (size_t)c->workers * queue_descriptors(c) * DESCRIPTOR;
	size += streams_size(c) + events_size(c) + sessions_size(c) + bonds_size(c);
	for (unsigned int w = 0; map != NULL && w < c->workers; w++)
		size += shard_size(c, map, w) + streams_slots_size(c, turn_relay_map_slots(map, w));
#define X(bytes) size += bytes(c, map);
	DP_MEMORY(X)
#undef X
	turn_relay_map_free(map);
	return size / MB + size / MB / 8 + EAL_MB;
}
