// SPDX-License-Identifier: BSD-3-Clause
// lib/port on the software devices of every DPDK: opening, queues, RSS, errors, closing.

#include <stdlib.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>

#include "ethdev/device.h"
#include "port.h"
#include "test.h"

static struct rte_mempool *pool;
static char error[256];

static struct port *open_device(const char *device, uint16_t queues, uint16_t mtu)
{
	const struct port_config c = {
		.name = "wan",
		.device = device,
		.queues = queues,
		.mtu = mtu,
		.rx_ring = 256,
		.tx_ring = 256,
		.pool = pool,
		.socket = SOCKET_ID_ANY,
	};

	error[0] = '\0';
	return port_open(&c, error, sizeof(error));
}

static void assert_refused(const char *device, uint16_t mtu, const char *reason)
{
	struct port *p = open_device(device, 1, mtu);

	assert_null(p);
	assert_non_null(strstr(error, "port wan: device "));
	if (strstr(error, reason) == NULL)
		fail_msg("'%s' does not say '%s'", error, reason);
}

static void test_pci_strings(void **state)
{
	char bdf[PORT_PCI_LEN];

	assert_true(port_device_pci("0000:03:00.1", bdf));
	assert_string_equal(bdf, "0000:03:00.1");
	assert_true(port_device_pci("03:00.1", bdf));
	assert_string_equal(bdf, "0000:03:00.1");
	assert_true(port_device_pci("0000:03:00.1,representor=[0-1]", bdf));
	assert_string_equal(bdf, "0000:03:00.1");
	assert_false(port_device_pci("net_null0", bdf));
	assert_false(port_device_pci("net_af_packet0,iface=03:00.1", bdf));
	assert_false(port_device_pci("", bdf));
}

// No device of this kind has a NUMA node, and neither has a missing device.
static void test_no_node(void **state)
{
	assert_int_equal(port_device_socket("net_null0"), -1);
	assert_int_equal(port_device_socket("ffff:ff:1f.7"), -1);
	assert_int_equal(port_device_socket(""), -1);
}

static void assert_args(const char *device, uint16_t queues, const char *more, const char *want)
{
	char *got = port_device_args(device, queues, more);

	assert_non_null(got);
	assert_string_equal(got, want);
	free(got);
}

static void test_device_args(void **state)
{
	assert_args("net_x0", 1, NULL, "net_x0");
	assert_args("net_x0", 1, "", "net_x0");
	assert_args("net_x0", 1, "a=1", "net_x0,a=1");
	assert_args("net_x0,c=3", 1, "a=1,b=2", "net_x0,c=3,a=1,b=2");
	// the operator's arguments win, key by key
	assert_args("net_x0,a=7", 1, "a=1,b=2", "net_x0,a=7,b=2");
	assert_args("net_x0,b=7", 1, "a=1,b=2", "net_x0,b=7,a=1");
	assert_args("net_x0,ab=7,ca=8", 1, "a=1", "net_x0,ab=7,ca=8,a=1");
	assert_args("net_af_packet0,qpairs=4,iface=x", 2, "framecnt=9",
		"net_af_packet0,qpairs=2,iface=x,framecnt=9");
	assert_args("net_af_packet0,iface=x,qpairs=2", 2, "qpairs=1",
		"net_af_packet0,iface=x,qpairs=2");
}

static void decide(void *ctx, const char *driver, struct port_profile *out)
{
	assert_string_equal(driver, "net_null");
	assert_string_equal(ctx, "mine");
	*out = (struct port_profile){.rx_ring = 512, .tx_ring = 128};
}

static void test_rings(void **state)
{
	struct port_config c = {.name = "wan",
		.device = "net_null7",
		.queues = 1,
		.mtu = 1500,
		.by_driver = decide,
		.ctx = "mine",
		.pool = pool,
		.socket = SOCKET_ID_ANY};
	const struct {
		uint16_t rx, tx, rx_want, tx_want;
	} rows[] = {{0, 0, 512, 128}, {64, 0, 64, 128}, {0, 64, 512, 64}, {64, 64, 64, 64}};

	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		struct port *p;

		c.rx_ring = rows[i].rx;
		c.tx_ring = rows[i].tx;
		p = port_open(&c, error, sizeof(error));
		assert_non_null(p);
		assert_int_equal(p->rx_ring, rows[i].rx_want);
		assert_int_equal(p->tx_ring, rows[i].tx_want);
		p->ops->close(p);
	}
}

static void test_open_start_close(void **state)
{
	struct rte_mbuf *m[8];
	struct port_counters k;

	// Twice: closing undoes everything of the first round.
	for (int round = 0; round < 2; round++) {
		struct port *p = open_device("net_null0,size=60", 1, 1500);

		assert_non_null(p);
		assert_string_equal(p->name, "wan");
		assert_string_equal(p->driver, "net_null");
		assert_int_equal(p->nb_rxq, 1);
		assert_int_equal(p->nb_txq, 1);
		assert_int_equal(p->mtu, 1500);
		assert_int_equal(rte_eth_dev_count_avail(), 1);
		assert_int_equal(p->ops->start(p), 0);
		assert_true(p->ops->link(p));
		assert_false(p->rss); // one queue: nothing to spread
		assert_int_equal(port_rx(p, 0, m, 8), 8);
		assert_int_equal(rte_pktmbuf_pkt_len(m[0]), 60);
		assert_int_equal(port_tx(p, 0, m, 8), 8);
		p->ops->counters(p, &k);
		assert_int_equal(k.tx_errors, 0);
		assert_int_equal(p->ops->wake_fd(p, 0), -1); // nothing can wake for its frames
		p->ops->stop(p);
		p->ops->close(p);
		assert_int_equal(rte_eth_dev_count_avail(), 0);
	}
}

// The table is filled round-robin, and struct port holds what the driver holds.
static void test_rss(void **state)
{
	struct rte_eth_rss_conf conf = {0};
	struct port *p = open_device("net_null0", 3, 1500);
	uint8_t key[PORT_RSS_KEY_MAX];
	uint8_t any = 0;

	assert_non_null(p);
	assert_int_equal(p->nb_rxq, 3);
	assert_int_equal(p->ops->start(p), 0);
	assert_true(p->rss);
	assert_true(p->rss_udp);
	assert_int_equal(p->reta_size, 128);
	for (unsigned int i = 0; i < p->reta_size; i++)
		assert_int_equal(p->reta[i], i % 3);
	conf.rss_key = key;
	conf.rss_key_len = sizeof(key);
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(p->dpdk_id, &conf), 0);
	assert_memory_equal(key, p->rss_key, p->rss_key_len);
	for (unsigned int i = 0; i < p->rss_key_len; i++)
		any |= p->rss_key[i];
	assert_int_not_equal(any, 0);
	p->ops->stop(p);
	p->ops->close(p);
}

// With a configured key the homes stay the same at the next start; otherwise each start has another
// key.
static void test_rss_key(void **state)
{
	uint8_t key[PORT_RSS_KEY_MAX], drawn[40] = {0};
	struct port_config c = {.name = "wan",
		.device = "net_null0",
		.queues = 3,
		.mtu = 1500,
		.rx_ring = 256,
		.tx_ring = 256,
		.pool = pool,
		.socket = SOCKET_ID_ANY};

	memset(key, 0xa5, sizeof(key));
	for (unsigned int i = 0; i < 4; i++) {
		struct port *p;

		c.rss_key = i < 2 ? key : NULL;
		p = port_open(&c, error, sizeof(error));
		assert_non_null(p);
		assert_int_equal(p->ops->start(p), 0);
		assert_true(p->rss);
		assert_int_equal(p->rss_key_len, sizeof(drawn));
		if (i < 2)
			assert_memory_equal(p->rss_key, key, sizeof(drawn));
		else
			assert_memory_not_equal(p->rss_key, drawn, sizeof(drawn));
		memcpy(drawn, p->rss_key, sizeof(drawn));
		p->ops->stop(p);
		p->ops->close(p);
	}
}

static void test_refusals(void **state)
{
	assert_refused("vtap:", 1500, "interface name is empty");
	assert_refused("vtap:t0,queues=300", 1500, "queues=300: must be a number from 1 to 64");
	assert_refused("vtap:t0", 9000, "do not fit the packet buffers");
	assert_refused("vtap:t0,netns=no-such-one", 1500, "`ip netns add no-such-one` makes it");
	assert_refused("net_af_packet0,iface=nosuchif0", 1500, "no such interface: nosuchif0");
	assert_refused("net_af_packet0", 1500, "has no interface: write");
	assert_refused("no_such_driver0", 1500, "DPDK refuses it");
	assert_refused("ffff:1f:1f.7", 1500, "no such PCI device");
	assert_refused("net_null0", 9000, "do not fit the packet buffers");
	assert_refused("net_null0", 40, "mtu 40");
	// A refusal leaves no device open.
	assert_int_equal(rte_eth_dev_count_avail(), 0);
}

static void test_offloads(void **state)
{
	struct port p = {0};
	char text[64], small[8];

	assert_string_equal(port_offloads(&p, text, sizeof(text)), "none");
	p.l4_checksum_good = true;
	assert_string_equal(port_offloads(&p, text, sizeof(text)), "checksums");
	p.tso = (struct port_super){256, 64, 65535};
	assert_string_equal(port_offloads(&p, text, sizeof(text)), "tso 256x65535, checksums");
	p.uso = (struct port_super){64, 64, 65535};
	p.l4_checksum_good = false;
	assert_string_equal(port_offloads(&p, text, sizeof(text)), "uso 64x65535, tso 256x65535");
	// truncated, never beyond the buffer
	for (size_t len = 1; len <= sizeof(small); len++)
		assert_true(strlen(port_offloads(&p, small, len)) < len);
}

static void test_used_twice(void **state)
{
	struct port *p = open_device("net_null0", 1, 1500);

	assert_non_null(p);
	assert_refused("net_null0", 1500, "already in use");
	p->ops->close(p);
}

static int start_eal(void **state)
{
	char *argv[] = {"test", "--no-huge", "-m", "64", "--no-pci", "--no-shconf",
		"--no-telemetry", "--file-prefix=test_port", "--log-level=*:critical"};

	if (rte_eal_init(RTE_DIM(argv), argv) < 0)
		return -1;
	pool = rte_pktmbuf_pool_create(
		"test", 2047, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	return pool == NULL ? -1 : 0;
}

static int stop_eal(void **state)
{
	const int leaked = (int)rte_mempool_in_use_count(pool);

	rte_mempool_free(pool);
	rte_eal_cleanup();
	return leaked;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pci_strings),
		cmocka_unit_test(test_no_node),
		cmocka_unit_test(test_device_args),
		cmocka_unit_test(test_rings),
		cmocka_unit_test(test_open_start_close),
		cmocka_unit_test(test_rss),
		cmocka_unit_test(test_rss_key),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_offloads),
		cmocka_unit_test(test_used_twice),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
