// SPDX-License-Identifier: BSD-3-Clause
// Receive-side scaling. We set the key and read the table back, so software can compute the queue
// that the NIC would choose for any packet.

#include <sys/random.h>

#include "ethdev/ethdev.h"
#include "ethdev/rss.h"
#include "port_log.h"

#define RSS_UDP (RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP)
#define RSS_IP (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6)
#define RSS_KEY_DEFAULT 40 // bytes that Toeplitz needs for IPv6 and two ports
#define RETA_GROUPS (PORT_RETA_MAX / RTE_ETH_RETA_GROUP_SIZE)

void port_rss_plan(struct ethdev *e, const uint8_t *key)
{
	struct port *p = &e->port;
	const uint64_t offered = e->info.flow_type_rss_offloads;
	uint8_t len = e->info.hash_key_size;

	e->rss_hf = 0;
	if (p->nb_rxq < 2 || e->info.reta_size == 0 || e->info.reta_size > PORT_RETA_MAX)
		return;
	if (len == 0)
		len = RSS_KEY_DEFAULT;
	if (len < RSS_KEY_DEFAULT || len > PORT_RSS_KEY_MAX)
		return;
	// The key is secret, so that senders cannot direct all flows to one queue.
	if (key != NULL)
		memcpy(p->rss_key, key, len);
	else if (getrandom(p->rss_key, len, 0) != len)
		return;
	p->rss_key_len = len;
	if ((offered & RSS_UDP) == RSS_UDP)
		e->rss_hf = RSS_UDP;
	else if ((offered & RSS_IP) == RSS_IP)
		e->rss_hf = RSS_IP;
}

// Selects the first n entries of a table in groups of 64.
static void reta_mask(struct rte_eth_rss_reta_entry64 *g, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++)
		g[i / RTE_ETH_RETA_GROUP_SIZE].mask |= UINT64_C(1) << (i % RTE_ETH_RETA_GROUP_SIZE);
}

static int reta_write(const struct ethdev *e)
{
	struct rte_eth_rss_reta_entry64 g[RETA_GROUPS] = {0};
	const uint16_t n = e->info.reta_size;

	reta_mask(g, n);
	for (uint16_t i = 0; i < n; i++)
		g[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] =
			i % e->port.nb_rxq;
	return rte_eth_dev_rss_reta_update(e->port.dpdk_id, g, n);
}

static int reta_read(struct ethdev *e)
{
	struct rte_eth_rss_reta_entry64 g[RETA_GROUPS] = {0};
	struct port *p = &e->port;
	const uint16_t n = e->info.reta_size;
	int rc;

	reta_mask(g, n);
	rc = rte_eth_dev_rss_reta_query(p->dpdk_id, g, n);
	if (rc != 0)
		return rc;
	for (uint16_t i = 0; i < n; i++) {
		p->reta[i] = g[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE];
		if (p->reta[i] >= p->nb_rxq)
			return -ERANGE;
	}
	p->reta_size = n;
	return 0;
}

// Reads back the current hash types and key.
static int hash_read(const struct ethdev *e, uint8_t key[PORT_RSS_KEY_MAX], uint64_t *hf)
{
	struct rte_eth_rss_conf conf = {.rss_key = key, .rss_key_len = e->port.rss_key_len};
	const int rc = rte_eth_dev_rss_hash_conf_get(e->port.dpdk_id, &conf);

	*hf = conf.rss_hf & (RSS_UDP | RSS_IP);
	return rc;
}

// Ensures that key and hash types are the requested ones; -EIO if the driver uses others.
static int hash_verify(struct ethdev *e)
{
	struct port *p = &e->port;
	uint8_t key[PORT_RSS_KEY_MAX] = {0};
	struct rte_eth_rss_conf conf = {
		.rss_key = p->rss_key, .rss_key_len = p->rss_key_len, .rss_hf = e->rss_hf};
	uint64_t hf;
	int rc = hash_read(e, key, &hf);

	// Some drivers ignore the key in the configuration and accept it only through this call.
	if (rc == 0 && memcmp(key, p->rss_key, p->rss_key_len) != 0) {
		rc = rte_eth_dev_rss_hash_update(p->dpdk_id, &conf);
		if (rc == 0)
			rc = hash_read(e, key, &hf);
	}
	if (rc != 0)
		return rc;
	return memcmp(key, p->rss_key, p->rss_key_len) == 0 && hf == e->rss_hf ? 0 : -EIO;
}

void port_rss_apply(struct ethdev *e)
{
	struct port *p = &e->port;
	int rc;

	p->rss = p->rss_udp = false;
	if (e->rss_hf == 0)
		return;
	rc = reta_write(e);
	if (rc == 0)
		rc = reta_read(e);
	if (rc == 0)
		rc = hash_verify(e);
	if (rc != 0) {
		PORT_LOG(WARNING,
			"port %s: RSS is not reliable (%s): packets are directed to workers by "
			"software",
			p->name, strerror(-rc));
		return;
	}
	p->rss = true;
	p->rss_udp = e->rss_hf == RSS_UDP;
}
