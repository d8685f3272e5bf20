// SPDX-License-Identifier: BSD-3-Clause
// The data path as a whole, as lib/dp sees it: its ports, the state that all workers share, and the
// steps of starting and stopping it (dp.c).
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include "conf.h"
#include "ask/blocks_swap.h"
#include "ask/intake_swap.h"
#include "dp_features.h"
#include "hash.h"
#include "net.h"
#include "port.h"
#include "steering/flow_ladder.h"
#include "stream.h"
#include "turn_config.h"
#include "udp.h"

struct carry;
struct dp_capture;
struct exception;
struct hot;
struct kernel_addrs;
struct learn;
struct local_addrs;
struct rte_mempool;
struct rte_ring;
struct stream_rings;
struct streams;
struct stun_crypto;
struct turn_event;
struct turn_policy;
struct turn_quota;
struct turn_relay_map;
struct worker;

// A port and the facts about it that workers need. Immutable while they run, except announce and
// the fields that hold the MAC, which ports_watch changes where the kernel's interface changes it.
struct dp_port {
	struct port *port;
	const struct conf_port *conf;
	const struct conf_driver *profile; // profile of its driver; NULL: everything is probed
	// by what the port verified: bit 0 IPv4 header checksum, bit 1 UDP checksum
	struct net_rx rx[4];
	struct net_udp_rules udp;
	uint64_t verified; // mbuf flags that can be trusted
	struct net_l2 l2; // our MAC and tag; the destination is zero and filled in last
	struct addr link_local; // answers ND and ping, never relays
	bool rss_home; // the NIC's own hash decides the home of a client
	uint16_t home_mask;
	uint8_t home[PORT_RETA_MAX]; // worker, by masked hash
	uint32_t rss_key[PORT_RSS_KEY_MAX / 4]; // in the byte order of rte_softrss_be
	uint8_t *by_tag; // port by VLAN id, where VLANs share this device (vlans.h); else NULL
	// Grows when the link comes up, or when a bond switches its active link. Management writes,
	// worker 0 reads.
	uint32_t announce;
	// The management lcore writes these while workers read the fields above.
	bool link_up __rte_cache_aligned; // management lcore only
	uint32_t used; // bit mask: links of a bond that carry packets; management lcore only
	uint16_t mtu; // MTU of the port as workers know it; management lcore only
	struct steering steering[2]; // [is_v4]
} __rte_cache_aligned;

// Immutable while the workers run, except the fields whose comments name a writer.
struct dp {
	const struct conf *conf;
	struct dp_port port[CONF_PORTS_MAX];
	struct worker *worker[TURN_WORKERS_MAX];
	unsigned int nb_ports, nb_workers;
	int loopback; // port that reaches programs of this machine, or -1
	// number of ports and workers started; management lcore only
	unsigned int nb_started, nb_made, nb_launched;
	struct local_addrs *local; // made at start: our addresses and the listeners do not change
	struct hot *hot; // the settings that all workers have; management lcore only
	struct turn_relay_map *map;
	// management lcore writes; stream threads read it under the lock
	struct turn_policy *policy;
	// Policy that a reload is handing to the workers one by one, or NULL. Same locking as
	// policy.
	const struct turn_policy *policy_next;
	pthread_mutex_t policy_lock; // protects policy, policy_next and blocks.shown
	struct reload *reload; // reload in progress, or NULL; management lcore
	struct reload *reload_left; // the last reload, not freed yet, or NULL
	struct intake intake;
	struct blocks_swap blocks;
	uint8_t boot_key[32]; // key of nonces, which all policies share, and of the NICs' hashes
	struct turn_quota *quota; // atomic inside; all workers write it
#define X(type, field, of_each, in_each, make, take, close) type field;
	DP_WORKER(X)
#undef X
#define X(type, field, open, close) type field;
	DP_WORKERS(X)
#undef X
	struct stun_crypto *crypto; // management lcore only
	// neighbours that workers have asked for; atomic inside, all workers write it
	struct neigh_asked *asked;
	struct rte_mempool *pool;
	struct rte_mempool *datagrams; // of long buffers; NULL if fragments.flows is 0
	int socket; // NUMA node of the pool, and of ports that do not report theirs
	struct hash_key quota_key;
	struct hash_key client_key; // key of steer_client_home and the shards
	bool homes_hashed; // no port decides the home of a client by its NIC's hash
	struct streams *streams; // NULL: not running, or no listener needs it
	struct stream_rings *stream_rings; // between each stream thread and each worker
	unsigned int nb_streams; // number of threads
	uint64_t tsc_start, tsc_per_ms; // one clock for all workers, because messages carry times
	bool stopping; // management writes, workers read
	uint32_t wires; // grows when a port's MAC or MTU changes; management writes, workers read
	uint64_t waiters; // bit mask: workers that a kick may have to wake (workers/waiter.h)
	struct exception *exception[CONF_PORTS_MAX]; // by port, or NULL
	unsigned int nb_exceptions;
	pthread_t exception_thread; // management lcore only, like exception_running
	bool exception_running;
	pid_t exception_tid; // the thread writes, any thread reads; also exception_rounds
	uint64_t exception_rounds;
	struct learn *learn; // NULL: the network assigns no address
	struct kernel_addrs *kernel_addrs; // addresses of packet ports; NULL: not started
	bool exception_stop; // management writes, the thread reads
	struct rte_ring *stream_events[STREAM_THREADS_MAX]; // by stream thread
	unsigned int events_next; // next ring that dp_events reads; management lcore only
	// Receiver of events after workers have stopped (dp_events_to); management lcore only.
	void (*events_take)(void *ctx, const struct turn_event *e);
	void *events_ctx;
	bool events_direct; // set when workers no longer run
	struct carry *carry; // the state area (state/carry.h), or NULL
	struct dp_capture *capture; // NULL: no capture; changed only while no worker uses it
};

typedef struct port *dp_port_opener(const struct port_config *c, char *error, size_t len);

// dp_start and dp_stop in steps, so that a test can bring its own ports and run the rounds itself.
struct dp *dp_create(const struct conf *c, const unsigned int *lcores, dp_port_opener *open,
	char *error, size_t len);
int dp_launch(struct dp *d);
// Returns after all workers have stopped.
void dp_halt(struct dp *d);
// Takes back every packet and closes the ports. Call it after the workers have stopped.
void dp_quiesce(struct dp *d);
void dp_destroy(struct dp *d);

// start/memory.c: bytes of a packet buffer after the private area, headroom included.
uint16_t dp_data_room(const struct conf *c);
// start/memory.c: size of a worker's neighbour table.
struct neigh_config dp_neigh_config(const struct conf *c);
