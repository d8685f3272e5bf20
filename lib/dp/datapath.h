// SPDX-License-Identifier: BSD-3-Clause
// The data path as a whole, as lib/dp sees it: its ports, what all workers share, and the steps of
// starting and stopping it (dp.c).
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include "conf.h"
#include "control/alternates.h"
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
struct stream_way;
struct streams;
struct stun_crypto;
struct turn_accounts;
struct turn_event;
struct turn_meters;
struct turn_policy;
struct turn_quota;
struct turn_relay_map;
struct worker;

// A port and what workers need to know about it. Immutable while they run, except announce, and
// what the MAC is in where the kernel's interface changes it (ports_watch).
struct dp_port {
	struct port *port;
	const struct conf_port *conf;
	const struct conf_driver *profile; // its driver's; NULL: all is probed
	struct net_rx rx[4]; // by what the port has verified: bit 0 IPv4 header, bit 1 UDP
	struct net_udp_rules udp;
	uint64_t verified; // the flags of an mbuf that are to be believed
	struct net_l2 l2; // our MAC and tag; the destination is zero and filled in last
	struct addr link_local; // answers ND and ping, never relays
	bool rss_home; // the NIC's own hash says where a client lives
	uint16_t home_mask;
	uint8_t home[PORT_RETA_MAX]; // worker, by the hash under the mask
	uint32_t rss_key[PORT_RSS_KEY_MAX / 4]; // in the form rte_softrss_be takes
	uint8_t *by_tag; // port by VLAN id, where VLANs share its device (vlans.h); else NULL
	// Grows when the link comes up, or a bond uses another one; mgmt writes, worker 0 reads.
	uint32_t announce;
	// Written by the mgmt lcore while workers read what is above.
	bool link_up __rte_cache_aligned; // mgmt lcore only
	uint32_t used; // members of a bond that carry packets, as bits; mgmt lcore only
	uint16_t mtu; // of the port, as workers were told; mgmt lcore only
	struct steering steering[2]; // [is_v4]
} __rte_cache_aligned;

// Immutable while the workers run, except the fields that name their writer.
struct dp {
	const struct conf *conf;
	struct dp_port port[CONF_PORTS_MAX];
	struct worker *worker[TURN_WORKERS_MAX];
	unsigned int nb_ports, nb_workers;
	int loopback; // port by which programs of this machine are reached; -1 = none is
	unsigned int nb_started, nb_made, nb_launched; // ports and workers so far; mgmt lcore only
	struct local_addrs *local; // of the start: own addresses and listeners stay the same
	struct hot *hot; // that all workers have; mgmt lcore only
	struct turn_relay_map *map;
	struct turn_policy *policy; // mgmt lcore writes; stream threads read it with the lock
	// That workers take one after the other; NULL: no reload is there. As policy.
	const struct turn_policy *policy_next;
	pthread_mutex_t policy_lock; // of both
	struct reload *reload; // under way, or NULL; management lcore
	struct reload *reload_left; // of the last one: to be freed, or NULL
	struct alternates alternates;
	uint8_t boot_key[32]; // of nonces, the same for all policies, and of NICs' hashes
	struct turn_quota *quota; // atomic inside; written by all workers
	// Made once a rate is limited (workers/metering.h), by the mgmt lcore. NULL until then.
	struct turn_accounts *accounts; // atomic and locks inside; written by all workers
	struct turn_meters *meters[TURN_WORKERS_MAX]; // each its worker's
	struct turn_tallies *tallies; // of realms beside the first; each worker writes its own
	struct stun_crypto *crypto; // mgmt lcore only
	struct neigh_asked *asked; // whom workers have asked for; atomic inside, all write it
	struct rte_mempool *pool;
	struct rte_mempool *datagrams; // of long buffers; NULL: fragments.flows is 0
	int socket; // NUMA node of the pool, and of ports that do not say theirs
	struct hash_key quota_key;
	struct hash_key client_key; // steer_client_home's and the shards'
	bool homes_hashed; // no NIC says whose a client is: on no port
	struct streams *streams; // NULL: not running, or nobody listens
	struct stream_way *stream_way; // between each stream thread and each worker
	unsigned int nb_streams; // threads
	uint64_t tsc_start, tsc_per_ms; // one clock for all workers: notes carry times
	bool stopping; // mgmt writes, workers read
	uint32_t wires; // grows when a port's MAC or MTU has changed; mgmt writes, workers read
	uint64_t waiters; // workers that kicks may have to wake, as bits (workers/waiter.h)
	struct exception *exception[CONF_PORTS_MAX]; // by port, NULL = none
	unsigned int nb_exceptions;
	pthread_t exception_thread; // mgmt lcore only, as the next one
	bool exception_running;
	pid_t exception_tid; // the thread writes, any thread reads; so the next one
	uint64_t exception_rounds;
	struct learn *learn; // NULL: no address is the network's
	struct kernel_addrs *kernel_addrs; // of packet ports; NULL: not begun
	bool exception_stop; // mgmt writes, the thread reads
	struct rte_ring *stream_events[STREAM_THREADS_MAX]; // of each stream thread
	unsigned int events_next; // ring that dp_events takes from next; mgmt lcore only
	// Who gets events once workers have stopped (dp_events_to); mgmt lcore only.
	void (*events_take)(void *ctx, const struct turn_event *e);
	void *events_ctx;
	bool events_direct; // set when workers no longer run
	struct carry *carry; // the state area (state/carry.h); NULL: there is none
	struct dp_capture *capture; // NULL: none; changed while no worker knows of it
};

typedef struct port *dp_port_opener(const struct port_config *c, char *error, size_t len);

// dp_start and dp_stop in steps, so that a test brings its own ports and runs the rounds itself.
struct dp *dp_create(const struct conf *c, const unsigned int *lcores, dp_port_opener *open,
	char *error, size_t len);
int dp_launch(struct dp *d);
// Returns when no worker runs any more.
void dp_halt(struct dp *d);
// Workers are no longer running: takes back every packet and closes the ports.
void dp_quiesce(struct dp *d);
void dp_destroy(struct dp *d);

// control/memory.c: bytes of a packet buffer behind the private area, headroom included.
uint16_t dp_data_room(const struct conf *c);
// control/memory.c: the size of a worker's table of neighbours.
struct neigh_config dp_neigh_config(const struct conf *c);
