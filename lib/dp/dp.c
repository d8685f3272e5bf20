// SPDX-License-Identifier: BSD-3-Clause
// Start and stop of the data path, and the calls of the management lcore.
#include <errno.h>
#include <stdlib.h>

#include <openssl/rand.h>
#include <rte_cycles.h>
#include <rte_debug.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_launch.h>
#include <rte_malloc.h>

#include "dp.h"
#include "dp_memory.h"
#include "addr.h"
#include "path/backlog.h"
#include "capture/capture.h"
#include "clients/client.h"
#include "clients/sessions.h"
#include "clients/streams.h"
#include "conf.h"
#include "ask/intake_swap.h"
#include "see/event_rings.h"
#include "ask/hot.h"
#include "ask/mailbox.h"
#include "start/ports.h"
#include "ask/policy_swap.h"
#include "see/stats.h"
#include "csprng.h"
#include "datapath.h"
#include "dp_burst.h"
#include "exception/exception.h"
#include "exception/exception_thread.h"
#include "exception/learn.h"
#include "path/fastpath.h"
#include "hash.h"
#include "ip/fragments.h"
#include "ip/icmp_out.h"
#include "ip/path_mtu.h"
#include "link/kernel_addrs.h"
#include "link/local_addrs.h"
#include "link/nexthop.h"
#include "link/vlans.h"
#include "neigh/neigh_asked.h"
#include "port.h"
#include "state/carry.h"
#include "steering/flow_ladder.h"
#include "stun.h"
#include "turn_config.h"
#include "turn_policy.h"
#include "turn_quota.h"
#include "turn_relay_map.h"
#include "turn_shard.h"
#include "turn_state.h"
#include "path/worker.h"
#include "workers/handover.h"
#include "workers/mbuf_meta.h"

#define POOL_CACHE_MAX 256

// --- shared parts -------------------------------------------------------------------------------

// Panics if it fails: predictable nonces and ports are worse than no service.
static void random_fill(void *ctx, void *buf, size_t len)
{
	if (RAND_bytes(buf, (int)len) != 1)
		rte_panic("libcrypto gives no random bytes\n");
}

// NUMA node of the packet pool: that of the NIC, so that its DMA stays on the node. One pool serves
// all ports, so with ports on several nodes the first one decides.
static int pool_socket(const struct conf *c, unsigned int lcore)
{
	for (uint32_t i = 0; i < c->nb_ports; i++) {
		const int socket = port_device_socket(conf_port_device(&c->ports[i], 0));

		if (socket >= 0)
			return socket;
	}
	return (int)rte_lcore_to_socket_id(lcore);
}

static struct rte_mempool *pool_make(const struct conf *c, int socket)
{
	unsigned int cache = RTE_MIN(c->mbufs / 4 / (c->workers + 1), (uint32_t)POOL_CACHE_MAX);
	struct rte_mempool *pool = rte_pktmbuf_pool_create(
		"packets", c->mbufs, cache & ~1u, DP_PRIV_SIZE, dp_data_room(c), socket);

	// that node may have no memory: slow is better than not at all
	if (pool == NULL && rte_errno == ENOMEM)
		pool = rte_pktmbuf_pool_create("packets", c->mbufs, cache & ~1u, DP_PRIV_SIZE,
			dp_data_room(c), SOCKET_ID_ANY);
	return pool;
}

static bool policy_may_be_made(struct dp *d, char *error, size_t len)
{
	bool good = true;

#define X(type, field, open, close) good = good && open(d);
	DP_WORKERS(X)
#undef X
#define X(begin) good = good && begin(d, d->conf, NULL, error, len);
	DP_BEFORE_POLICY(X)
#undef X
	return good;
}

// Makes the tables that all workers read: our addresses, the owners of relay ports, the policy.
static int maps_create(struct dp *d, char *error, size_t len)
{
	const struct turn_config *t = &d->conf->turn;
	uint32_t slots = 0;

	d->crypto = stun_crypto_create();
	if (d->crypto == NULL) {
		snprintf(error, len, "no memory, or libcrypto lacks SHA-1 or SHA-256");
		return -1;
	}
	d->map = turn_relay_map_create(t);
	if (d->map == NULL && turn_config_shares_ports(t) && errno == EINVAL) {
		snprintf(error, len,
			"relay.ports: fewer shared ports than workers (%u): make the range larger, "
			"or set workers.count",
			d->nb_workers);
		return -1;
	}
	if (d->map == NULL) {
		snprintf(error, len, "relay: addresses cannot be dealt over %u workers: %s",
			d->nb_workers, strerror(errno));
		return -1;
	}
	// room for every possible slot: a reload may raise the limit
	for (unsigned int w = 0; w < d->nb_workers; w++)
		slots += turn_relay_map_slots(d->map, w);
	d->quota = turn_quota_create(slots, &d->quota_key);
	if (d->quota != NULL && policy_may_be_made(d, error, len))
		d->policy = turn_policy_create(t, d->crypto, d->boot_key);
	d->local = local_addrs_create(d->conf, d->map);
	if (d->policy != NULL && d->quota != NULL && d->local != NULL) {
		d->hot = hot_create(d->conf, d->map);
		if (d->hot != NULL)
			return 0;
		snprintf(error, len, "out of memory");
		return -1;
	}
	snprintf(error, len, "%s: %s",
		d->quota == NULL            ? "limits: quota table cannot be made"
			: d->policy == NULL ? "auth and peers: policy cannot be made"
					    : "listeners: more than 255, or one on no port",
		strerror(errno));
	return -1;
}

// Uses the keys of the state area if it will be adopted, else new ones. Returns 0.
static int keys_choose(struct dp *d)
{
	struct turn_state_keys keys;

	random_fill(NULL, &keys, sizeof(keys));
	carry_keys(d, &keys);
	d->client_key = keys.clients;
	d->quota_key = keys.quota;
	memcpy(d->boot_key, keys.boot, sizeof(d->boot_key));
	explicit_bzero(&keys, sizeof(keys));
	return 0;
}

// Calls maps_create, and makes the new state area.
static int shared_create(struct dp *d, char *error, size_t len)
{
	struct turn_state_keys keys = {.clients = d->client_key, .quota = d->quota_key};
	struct csprng rng;
	int rc;

	memcpy(keys.boot, d->boot_key, sizeof(keys.boot));
	csprng_init(&rng, random_fill, NULL);
	rc = maps_create(d, error, len);
	if (rc == 0)
		rc = carry_make(d, &keys, &rng, error, len);
	explicit_bzero(&keys, sizeof(keys));
	explicit_bzero(&rng, sizeof(rng));
	return rc;
}

// --- workers ------------------------------------------------------------------------------------

static void worker_queues(struct worker *w)
{
	for (unsigned int p = 0; p < w->dp->nb_ports; p++)
		for (uint16_t q = w->id; w->dp->port[p].port->on == NULL &&
			q < w->dp->port[p].port->nb_rxq && w->nb_rx < DP_RX_QUEUES_MAX;
			q = (uint16_t)(q + w->dp->nb_workers))
			w->rx[w->nb_rx++] = (struct rx_queue){.port = (uint8_t)p, .queue = q};
}

static int worker_shard(struct worker *w, int socket)
{
	const struct dp *d = w->dp;
	const struct turn_shard_params params = {.policy = d->policy,
		.config = &d->conf->turn,
		.map = d->map,
		.quota = d->quota,
#define X(type, field, open, close) .field = d->field,
		DP_WORKERS(X)
#undef X
			.crypto = w->crypto,
		.rng = &w->rng,
		.worker = w->id,
		.client_key = &d->client_key,
		.redirects = carry_redirects(d, w->id),
		.state = carry_area(d),
		.line_made = fastpath_line_made,
		.moved = client_moved,
		.event = events_put,
		.ctx = w};
	void *mem =
		rte_zmalloc_socket("shard", turn_shard_size(&params), RTE_CACHE_LINE_SIZE, socket);

	if (mem == NULL)
		return -ENOMEM;
	w->shard_mem = mem;
	w->shard = turn_shard_create(mem, &params, w->now_ms);
	if (w->shard == NULL)
		return -ENOMEM;
	w->lines = turn_shard_lines(w->shard);
	w->tids = turn_shard_tids(w->shard);
#define X(type, field, of_each, in_each, make, take, close) \
	if (make(w) != 0)                                   \
		return -ENOMEM;                             \
	take(w);
	DP_WORKER(X)
#undef X
	return 0;
}

static int worker_make(struct dp *d, unsigned int id, unsigned int lcore)
{
	const int socket = (int)rte_lcore_to_socket_id(lcore);
	const struct neigh_config nc = dp_neigh_config(d->conf);
	struct worker *w =
		rte_zmalloc_socket("worker", sizeof(*w), _Alignof(struct worker), socket);
	struct hash_key neigh_key;
	int rc;

	if (w == NULL)
		return -ENOMEM;
	d->worker[id] = w;
	d->nb_made = id + 1;
	w->dp = d;
	w->id = (uint8_t)id;
	w->lcore = lcore;
	w->now_ms = (rte_rdtsc() - d->tsc_start) / d->tsc_per_ms;
	csprng_init(&w->rng, random_fill, NULL);
	csprng_bytes(&w->rng, w->ip_id_key, sizeof(w->ip_id_key));
	w->ip_id_key[0] |= 1; // odd numbers are invertible, so no two ids coincide
	w->ip_id_key[1] |= 1;
	csprng_bytes(&w->rng, &w->ip_id, sizeof(w->ip_id));
	csprng_bytes(&w->rng, &w->fragment_key, sizeof(w->fragment_key));
	csprng_bytes(&w->rng, &w->fragment_id, sizeof(w->fragment_id));
	csprng_bytes(&w->rng, &neigh_key, sizeof(neigh_key));
	w->crypto = stun_crypto_create();
	w->neigh_mem =
		rte_zmalloc_socket("neighbours", neigh_size(&nc), RTE_CACHE_LINE_SIZE, socket);
	if (w->crypto == NULL || w->neigh_mem == NULL || mailbox_init(&w->mailbox) != 0)
		return -ENOMEM;
	w->neigh = neigh_create(w->neigh_mem, &nc, &neigh_key);
	w->hops = neigh_hops(w->neigh);
	fastpath_wires_init(w);
	icmp_out_init(w);
	worker_queues(w);
	rc = waiter_open(w);
	if (rc != 0)
		return rc;
	hot_take(w, d->hot);
	if (backlog_create(w, socket) != 0 || path_mtu_create(w, socket) != 0 ||
		fragments_create(w, socket) != 0)
		return -ENOMEM;
	return worker_shard(w, socket);
}

static void worker_free(struct worker *w)
{
	if (w->shard != NULL)
		carry_close_shard(w->dp, w->shard);
	stun_crypto_free(w->crypto);
	mailbox_fini(&w->mailbox);
	waiter_close(w);
	backlog_free(&w->backlog);
	sessions_free(w);
	path_mtu_free(w);
	fragments_free(w);
	rte_free(w->shard_mem);
	rte_free(w->neigh_mem);
	rte_free(w);
}

static int asked_create(struct dp *d)
{
	struct hash_key key;
	void *mem = rte_zmalloc_socket("asked", neigh_asked_size(), RTE_CACHE_LINE_SIZE, d->socket);

	if (mem == NULL)
		return -ENOMEM;
	random_fill(NULL, &key, sizeof(key));
	d->asked = neigh_asked_create(mem, &key);
	return 0;
}

static int workers_create(struct dp *d, const unsigned int *lcores, char *error, size_t len)
{
	if (asked_create(d) != 0)
		goto no_memory;
	for (unsigned int i = 0; i < d->nb_workers; i++)
		if (worker_make(d, i, lcores[i]) != 0)
			goto no_memory;
	if (handover_create(d, (int)rte_lcore_to_socket_id(lcores[0])) != 0 ||
		streams_create(d, (int)rte_lcore_to_socket_id(lcores[0])) != 0 ||
		events_create(d) != 0 || sessions_create(d) != 0 || exception_create_rings(d) != 0)
		goto no_memory;
	for (unsigned int i = 0; i < d->nb_workers; i++)
		stats_publish(d->worker[i]);
	return 0;
no_memory:
	snprintf(error, len,
		"not enough memory for %u workers: about %zu MB are needed in all (hugepages, or "
		"-m)",
		d->nb_workers, dp_memory_here_mb(d->conf));
	return -1;
}

// --- start and stop -----------------------------------------------------------------------------

// Opens the ports. They and the exception ports run, and addresses are learned, before dp_complete.
static struct dp *dp_open(const struct conf *c, const unsigned int *lcores, dp_port_opener *open,
	char *error, size_t len)
{
	struct dp *d = rte_zmalloc("dp", sizeof(*d), RTE_CACHE_LINE_SIZE);

	if (d == NULL) {
		snprintf(error, len, "not enough memory: about %zu MB are needed",
			dp_memory_here_mb(c));
		return NULL;
	}
	pthread_mutex_init(&d->policy_lock, NULL);
	d->conf = c;
	d->nb_workers = c->workers;
	d->tsc_per_ms = rte_get_tsc_hz() / 1000;
	// the clock starts at one second, so that no time is 0
	d->tsc_start = rte_rdtsc() - 1000 * d->tsc_per_ms;
	d->socket = pool_socket(c, lcores[0]);
	d->pool = pool_make(c, d->socket);
	if (d->pool == NULL || fragments_pool(c, d->socket, &d->datagrams) != 0) {
		snprintf(error, len,
			"packet pool of %u buffers: %s; about %zu MB are needed in all (hugepages, "
			"or -m)",
			c->mbufs, rte_strerror(rte_errno), dp_memory_here_mb(c));
		dp_destroy(d);
		return NULL;
	}
	// keys first: the NICs' hashes use one derived from them
	if (carry_open(d, error, len) != 0 || keys_choose(d) != 0 ||
		ports_open(d, open, error, len) != 0) {
		dp_quiesce(d);
		dp_destroy(d);
		return NULL;
	}
	return d;
}

// Makes the workers. If it fails the caller calls dp_quiesce and dp_destroy.
static int dp_complete(struct dp *d, const unsigned int *lcores, char *error, size_t len)
{
	if (shared_create(d, error, len) != 0)
		return -1;
	for (uint32_t i = 0; i < d->nb_ports; i++)
		flow_ladder_install(d, i);
	if (workers_create(d, lcores, error, len) != 0)
		return -1;
	return carry_take(d, error, len);
}

struct dp *dp_create(const struct conf *c, const unsigned int *lcores, dp_port_opener *open,
	char *error, size_t len)
{
	struct dp *d = dp_open(c, lcores, open, error, len);

	if (d == NULL || dp_complete(d, lcores, error, len) == 0)
		return d;
	dp_quiesce(d);
	dp_destroy(d);
	return NULL;
}

int dp_launch(struct dp *d)
{
	const int failed = exception_thread_start(d);

	if (failed != 0)
		return failed;
	for (unsigned int i = 0; i < d->nb_workers; i++) {
		const int rc = rte_eal_remote_launch(worker_run, d->worker[i], d->worker[i]->lcore);

		if (rc != 0)
			return rc;
		d->nb_launched = i + 1;
	}
	return 0;
}

struct dp *dp_start(const struct conf *c, const unsigned int *lcores,
	const struct dp_learning *learning, char *error, size_t len)
{
	struct dp *d;
	int rc;

	if (learning != NULL && kernel_addrs_learn(learning, error, len) != 0)
		return NULL;
	d = dp_open(c, lcores, port_open, error, len);
	if (d == NULL)
		return NULL;
	carry_watch(d, learning != NULL ? learning->state : NULL);
	if (learn_addresses(d, learning, error, len) != 0 ||
		dp_complete(d, lcores, error, len) != 0 ||
		(kernel_addrs_open(d) != 0 && snprintf(error, len, "out of memory") > 0)) {
		dp_quiesce(d);
		dp_destroy(d);
		return NULL;
	}
	rc = dp_launch(d);
	if (rc != 0)
		snprintf(error, len, "lcore %u: worker cannot be launched: %s",
			d->worker[d->nb_launched]->lcore, strerror(-rc));
	else
		rc = streams_start(d, error, len);
	carry_started(d);
	if (rc == 0)
		return d;
	dp_stop(d);
	return NULL;
}

// Drops the packets of a ring. The sender has counted them as handed out, so they are counted as
// handed in first.
static void ring_drain(struct worker *w, unsigned int src)
{
	struct rte_mbuf *m[DP_BURST];
	unsigned int n;

	if (w->in[src] == NULL)
		return;
	while ((n = handover_take(w, src, m)) > 0) {
		for (unsigned int i = 0; i < n; i++) {
			handover_no_packet(w, mbuf_meta_of(m[i]));
			if (mbuf_meta_is_packet(mbuf_meta_of(m[i])->kind))
				worker_drop(w, m[i], DP_DROP_STOPPING);
			else
				rte_pktmbuf_free(m[i]);
		}
	}
}

void dp_quiesce(struct dp *d)
{
	for (unsigned int i = 0; i < d->nb_made; i++) {
		struct worker *w = d->worker[i];

		for (unsigned int src = 0; src < d->nb_workers; src++)
			ring_drain(w, src);
		backlog_drain(w);
#define X(fill, drain, held) drain(w);
		DP_FILLS(X)
#undef X
		fragments_drain(w);
		if (w->neigh != NULL)
			nexthop_drain(w);
		if (w->shard != NULL)
			stats_publish(w);
	}
	streams_drain(d);
	events_drain(d);
	exception_close_all(d);
	ports_close(d);
}

void dp_destroy(struct dp *d)
{
	capture_free(d);
	reload_free(d);
	intake_free(d);
	blocks_swap_free(d);
	learn_free(d);
	kernel_addrs_free(d);
	exception_free_all(d);
	handover_free(d);
	streams_free(d);
	events_free(d);
	for (unsigned int i = d->nb_made; i-- > 0;)
		worker_free(d->worker[i]);
	rte_free(d->asked);
#define X(type, field, of_each, in_each, make, take, close) close(d);
	DP_WORKER(X)
#undef X
	carry_free(d);
	vlans_free(d);
	hot_free(d->hot);
	local_addrs_free(d->local);
	turn_quota_free(d->quota);
#define X(type, field, open, close) close(d);
	DP_WORKERS(X)
#undef X
	turn_policy_free(d->policy);
	pthread_mutex_destroy(&d->policy_lock);
	turn_relay_map_free(d->map);
	stun_crypto_free(d->crypto);
	rte_mempool_free(d->pool);
	rte_mempool_free(d->datagrams);
	explicit_bzero(d->boot_key, sizeof(d->boot_key));
	explicit_bzero(&d->quota_key, sizeof(d->quota_key));
	rte_free(d);
}

void dp_halt(struct dp *d)
{
	__atomic_store_n(&d->stopping, true, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < d->nb_launched; i++)
		waiter_kick(&d->worker[i]->waiter);
	// busy-waits, at most for a round and a sleep of the worker
	for (unsigned int i = 0; i < d->nb_launched; i++)
		rte_eal_wait_lcore(d->worker[i]->lcore);
	d->nb_launched = 0;
	exception_thread_stop(d);
}

void dp_stop(struct dp *d)
{
	dp_halt(d);
	streams_stop(d);
	dp_quiesce(d);
	dp_destroy(d);
}

// --- for the management lcore -------------------------------------------------------------------

unsigned int dp_workers(const struct dp *d)
{
	return d->nb_workers;
}

unsigned int dp_waiters(const struct dp *d)
{
	return (unsigned int)__builtin_popcountll(d->waiters);
}

unsigned int dp_worker_lcore(const struct dp *d, unsigned int worker)
{
	return d->worker[worker]->lcore;
}

unsigned int dp_ports(const struct dp *d)
{
	return d->nb_ports;
}

struct port *dp_port(const struct dp *d, unsigned int index)
{
	return d->port[index].port;
}

const struct conf_driver *dp_profile(const struct dp *d, unsigned int index)
{
	return d->port[index].profile;
}

void dp_tick(struct dp *d)
{
	carry_tick(d);
	ports_watch(d);
	learn_tick(d);
	kernel_addrs_tick(d);
	flow_ladder_watch(d, (rte_rdtsc() - d->tsc_start) / d->tsc_per_ms);
}
