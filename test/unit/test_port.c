// SPDX-License-Identifier: BSD-3-Clause
// lib/port on the software devices every DPDK has: opening, queues, RSS, errors, closing.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>

#include "port.h"

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

// No device of this kind has a node, and one that is not there has none either.
static void test_no_node(void **state)
{
	assert_int_equal(port_device_socket("net_null0"), -1);
	assert_int_equal(port_device_socket("ffff:ff:1f.7"), -1);
	assert_int_equal(port_device_socket(""), -1);
}

static void test_open_start_close(void **state)
{
	struct rte_mbuf *m[8];
	struct port_counters k;

	// Twice: everything of the first round is undone by close.
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
		p->ops->stop(p);
		p->ops->close(p);
		assert_int_equal(rte_eth_dev_count_avail(), 0);
	}
}

// The table is filled round-robin and what is in struct port is what the driver holds.
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

static void test_refusals(void **state)
{
	assert_refused("vtap:", 1500, "interface name is empty");
	assert_refused("vtap:t0,queues=300", 1500, "queues=300: must be a number from 1 to 64");
	assert_refused("vtap:t0", 9000, "do not fit the packet buffers");
	assert_refused("vtap:t0,netns=no-such-one", 1500, "`ip netns add no-such-one` makes it");
	assert_refused("net_af_packet0,iface=nosuchif0", 1500, "no such interface: nosuchif0");
	assert_refused("net_af_packet0", 1500, "names no interface");
	assert_refused("no_such_driver0", 1500, "DPDK refuses it");
	assert_refused("ffff:1f:1f.7", 1500, "no such PCI device");
	assert_refused("net_null0", 9000, "do not fit the packet buffers");
	assert_refused("net_null0", 40, "mtu 40");
	// A refusal leaves nothing behind.
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
	// cut, never beyond its room
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
		cmocka_unit_test(test_open_start_close),
		cmocka_unit_test(test_rss),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_offloads),
		cmocka_unit_test(test_used_twice),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
