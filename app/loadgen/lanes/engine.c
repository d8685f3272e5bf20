// SPDX-License-Identifier: BSD-3-Clause
// Makes ports, packet pool and lanes, and takes them down.
#include "lanes/engine.h"

#include <ctype.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>

#include "lanes/lane.h"
#include "lanes/receiver.h"
#include "lanes/sender.h"
#include "links/links.h"
#include "measure/stamp.h"

#define POOL_CACHE 256
#define POOL_MIN 16384u
#define FRAME_OVERHEAD 64u

// --- ports ---------------------------------------------------------------------------------------

// A number names an ethdev that EAL already has; any other text is a device string.
static const char *device_name(const char *text, char *buf, size_t len)
{
	char *end;
	const unsigned long id = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)text[0]) || *end != '\0' || id >= RTE_MAX_ETHPORTS)
		return text;
	if (!rte_eth_dev_is_valid_port((uint16_t)id) || len < RTE_ETH_NAME_MAX_LEN ||
		rte_eth_dev_get_name_by_port((uint16_t)id, buf) != 0)
		return NULL;
	return buf;
}

static struct port *open_port(
	struct engine *e, unsigned int side, const char *device, char *error, size_t len)
{
	static const enum port_uso uso[] = {
		[USO_AUTO] = PORT_USO_AUTO, [USO_ON] = PORT_USO_ON, [USO_OFF] = PORT_USO_OFF};
	char name[RTE_ETH_NAME_MAX_LEN];
	const struct port_config pc = {
		.name = side == SIDE_CLIENT ? "client" : "peer",
		.device = device_name(device, name, sizeof(name)),
		.queues = (uint16_t)e->nb_lanes,
		.mtu = e->config->mtu,
		.uso = uso[e->config->uso],
		.rx_ring = e->config->ring,
		.tx_ring = e->config->ring,
		.pool = e->pool,
		.socket = SOCKET_ID_ANY,
	};
	struct port *p;

	if (pc.device == NULL) {
		snprintf(error, len,
			"--%s-port %s: EAL has %u ports (name more with --vdev or -a, or give a "
			"device string)",
			pc.name, device, rte_eth_dev_count_avail());
		return NULL;
	}
	p = port_open(&pc, error, len);
	if (p != NULL && p->nb_txq < e->nb_lanes) {
		snprintf(error, len,
			"--%s-port %s: %u transmit queues for %u lcores (fewer --senders and "
			"--receivers, or more queues)",
			pc.name, device, p->nb_txq, e->nb_lanes);
		p->ops->close(p);
		return NULL;
	}
	return p;
}

// Sets the MACs of the frames that a side sends and accepts. Entry i of rx is for frames whose IP
// checksum (bit 0 of i) and UDP checksum (bit 1) the port has verified.
static void fill_link_params(struct engine *e, unsigned int side)
{
	const struct port *p = e->port[side];

	e->l2[side].vlan = 0;
	memcpy(e->l2[side].src, p->mac, sizeof(p->mac));
	for (unsigned int i = 0; i < 4; i++) {
		memcpy(e->rx[side][i].mac, p->mac, sizeof(p->mac));
		e->rx[side][i].ip_checksum_good = (i & 1) != 0;
		e->rx[side][i].l4_checksum_good = (i & 2) != 0;
	}
}

// By default the peers use port 1 if it exists, else the clients' port.
static const char *peer_device(const struct config *c)
{
	if (c->peer.device != NULL)
		return c->peer.device;
	if ((c->role & ROLE_CLIENT) == 0 || config_links(c))
		return "0";
	return strcmp(c->client.device, "0") == 0 && rte_eth_dev_is_valid_port(1)
		? "1"
		: c->client.device;
}

static int open_ports(struct engine *e, char *error, size_t len)
{
	const struct config *c = e->config;
	const char *peer = peer_device(c);
	const bool clients = (c->role & ROLE_CLIENT) != 0 && !config_links(c);

	if (clients) {
		e->port[SIDE_CLIENT] = open_port(e, SIDE_CLIENT, c->client.device, error, len);
		if (e->port[SIDE_CLIENT] == NULL)
			return -1;
		fill_link_params(e, SIDE_CLIENT);
	}
	if ((c->role & ROLE_PEER) == 0)
		return 0;
	if (clients && strcmp(peer, c->client.device) == 0)
		e->port[SIDE_PEER] = e->port[SIDE_CLIENT];
	else
		e->port[SIDE_PEER] = open_port(e, SIDE_PEER, peer, error, len);
	if (e->port[SIDE_PEER] == NULL)
		return -1;
	fill_link_params(e, SIDE_PEER);
	return 0;
}

static bool shares_port(const struct engine *e)
{
	return e->port[SIDE_CLIENT] == e->port[SIDE_PEER];
}

static int start_ports(struct engine *e, char *error, size_t len)
{
	for (unsigned int side = 0; side < SIDE_NB; side++) {
		struct port *p = e->port[side];
		int rc;

		if (p == NULL || (side == SIDE_PEER && shares_port(e)))
			continue;
		rc = p->ops->start(p);
		if (rc != 0) {
			snprintf(error, len, "port %s does not start: %s", p->name,
				rte_strerror(-rc));
			return -1;
		}
	}
	return 0;
}

// --- memory --------------------------------------------------------------------------------------

static int pool_create(struct engine *e, char *error, size_t len)
{
	const struct config *c = e->config;
	const unsigned int rings = 4 * (unsigned int)c->ring * e->nb_lanes;
	unsigned int n = c->mbufs;

	if (n == 0) // by default: enough for full rings, caches and a delay line
		n = RTE_MAX(POOL_MIN,
			rings + e->nb_lanes * 4 * POOL_CACHE + (c->impair.delay_us ? 65536 : 0));
	e->pool = rte_pktmbuf_pool_create("loadgen", n, POOL_CACHE, 0,
		(uint16_t)(RTE_PKTMBUF_HEADROOM + RTE_MAX(2048u, c->mtu + FRAME_OVERHEAD)),
		SOCKET_ID_ANY);
	if (e->pool != NULL)
		return 0;
	snprintf(error, len,
		"no memory for %u packet buffers (%s): more hugepages or a larger -m, or fewer "
		"--mbufs",
		n, rte_strerror(rte_errno));
	return -1;
}

// --- lanes ---------------------------------------------------------------------------------------

// Senders take the first worker lcores and receivers the next. If there are too few lcores, a
// sender and a receiver share one.
static int lanes_create(struct engine *e, char *error, size_t len)
{
	const struct config *c = e->config;
	const unsigned int senders = (c->role & ROLE_CLIENT) != 0 ? c->senders : 0;
	// the lane that writes a connection also reads it
	const unsigned int wanted = config_links(c) ? senders : senders + c->receivers;
	unsigned int lcore;

	RTE_LCORE_FOREACH_WORKER (lcore) {
		if (e->nb_lanes == wanted)
			break;
		e->lane[e->nb_lanes] = lane_create(e, lcore);
		if (e->lane[e->nb_lanes] == NULL) {
			snprintf(error, len, "out of memory");
			return -1;
		}
		e->nb_lanes++;
	}
	if (e->nb_lanes >= RTE_MAX(senders, c->receivers) && e->nb_lanes > 0)
		return 0;
	snprintf(error, len,
		"%u senders and %u receivers need %u lcores besides the main one, EAL has %u: "
		"name more, e.g. --lcores 0@(0-1),1@1",
		senders, c->receivers, RTE_MAX(senders, c->receivers), e->nb_lanes);
	return -1;
}

static int roles_create(struct engine *e, char *error, size_t len)
{
	const struct config *c = e->config;
	const unsigned int senders = (c->role & ROLE_CLIENT) != 0 ? c->senders : 0;
	bool ok = true;

	for (unsigned int i = 0; i < c->receivers && ok; i++) {
		struct lane *l = e->lane[(senders + i) % e->nb_lanes];

		// The index has wrapped around: this lane already has one.
		while (l->receiver != NULL)
			l = e->lane[(l->number + 1) % e->nb_lanes];
		ok = receiver_create(l, i) != NULL;
		e->receiver[i] = l;
	}
	for (unsigned int i = 0; i < senders && ok; i++) {
		ok = sender_create(e->lane[i], i) != NULL;
		e->sender[i] = e->lane[i];
		if (ok && config_links(c))
			ok = (e->lane[i]->links = links_create(e->lane[i])) != NULL;
	}
	for (unsigned int i = 0; i < c->receivers && ok; i++)
		ok = receiver_connect(e->receiver[i]->receiver, e) == 0;
	if (!ok)
		snprintf(error, len, "no memory for %u clients", c->clients);
	return ok ? 0 : -1;
}

// --- the engine ----------------------------------------------------------------------------------

// Refuses destinations without a next hop. Otherwise their datagrams would count as lost.
static int check_routes(const struct engine *e, char *error, size_t len)
{
	for (unsigned int i = 0; i < e->config->senders && e->sender[i] != NULL; i++) {
		const struct sender *s = e->sender[i]->sender;
		const struct flow *f = s->flow;
		char addr[ADDR_TEXT_LEN];
		const struct path *bad = NULL;

		for (uint32_t k = 0; k < s->nb_flows && bad == NULL; k++, f++)
			bad = f->up.hop == HOP_NONE ? &f->up
				: e->config->mode == MODE_DIRECT && f->down.hop == HOP_NONE &&
					e->port[SIDE_PEER] != NULL
				? &f->down
				: NULL;
		if (bad == NULL)
			continue;
		snprintf(error, len,
			"%s is neither on-link nor behind a gateway (or there are more than %u "
			"next hops): see --client-addr, --client-gateway, --peer-addr, "
			"--peer-gateway",
			addr_format(&bad->dst.addr, addr, sizeof(addr)), HOPS_MAX);
		return -1;
	}
	return 0;
}

static void constants_set(struct engine *e)
{
	const struct config *c = e->config;

	stamp_init();
	RAND_bytes((uint8_t *)&e->tag, sizeof(e->tag));
	e->hz = rte_get_tsc_hz();
	e->tsc_start = rte_rdtsc();
	e->mode = c->mode;
	e->rate = c->rate;
	rte_spinlock_init(&e->hop_lock);
	for (unsigned int i = 0; i < c->nb_sizes; i++)
		e->pattern_sum[i] = csum_add(0, stamp_pattern() + STAMP_LEN,
			c->size[i] > STAMP_LEN ? (size_t)c->size[i] - STAMP_LEN : 0);
}

struct engine *engine_create(const struct config *c, char *error, size_t len)
{
	struct engine *e = calloc(1, sizeof(*e));

	if (e == NULL) {
		snprintf(error, len, "out of memory");
		return NULL;
	}
	e->config = c;
	constants_set(e);
	if (links_prepare(e, error, len) != 0 || lanes_create(e, error, len) != 0 ||
		pool_create(e, error, len) != 0 || open_ports(e, error, len) != 0 ||
		roles_create(e, error, len) != 0 || check_routes(e, error, len) != 0 ||
		start_ports(e, error, len) != 0) {
		engine_destroy(e);
		return NULL;
	}
	return e;
}

int engine_launch(struct engine *e)
{
	for (unsigned int i = 0; i < e->nb_lanes; i++)
		if (rte_eal_remote_launch(lane_run, e->lane[i], e->lane[i]->lcore) != 0)
			return -1;
	return 0;
}

void engine_destroy(struct engine *e)
{
	__atomic_store_n(&e->phase, PHASE_END, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < e->nb_lanes; i++)
		rte_eal_wait_lcore(e->lane[i]->lcore);
	for (unsigned int side = 0; side < SIDE_NB; side++)
		if (e->port[side] != NULL && (side == SIDE_CLIENT || !shares_port(e)))
			e->port[side]->ops->stop(e->port[side]);
	for (unsigned int i = 0; i < e->nb_lanes; i++)
		lane_free(e->lane[i]);
	for (unsigned int side = 0; side < SIDE_NB; side++)
		if (e->port[side] != NULL && (side == SIDE_CLIENT || !shares_port(e)))
			e->port[side]->ops->close(e->port[side]);
	rte_mempool_free(e->pool);
	SSL_CTX_free(e->tls);
	free(e);
}
