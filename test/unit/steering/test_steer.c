// SPDX-License-Identifier: BSD-3-Clause
// The home of a client: the result of a NIC's RSS (by the verification suite of the RSS
// specification), and of the keyed hash without such a NIC.
#include "datapath.h"
#include "steering/steer.h"
#include "test.h"
#include "test_rand.h"

static const uint8_t key[40] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25,
	0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb,
	0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

static const struct {
	const char *src, *dst;
	uint16_t sport, dport;
	uint32_t ports, addrs; // hash with ports, hash of the addresses alone
} vectors[] = {
	{"66.9.149.187", "161.142.100.80", 2794, 1766, 0x51ccc178, 0x323e8fc2},
	{"199.92.111.2", "65.69.140.83", 14230, 4739, 0xc626b0ea, 0xd718262a},
	{"24.19.198.95", "12.22.207.184", 12898, 38024, 0x5c2b394a, 0xd2d0a5de},
	{"38.27.205.30", "209.142.163.6", 48228, 2217, 0xafc7327f, 0x82989176},
	{"153.39.163.191", "202.188.127.2", 44251, 1303, 0x10e828a2, 0x5d1809c5},
	{"3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1", 2794, 1766, 0x40207d3d, 0x2cc18cd5},
	{"3ffe:501:8::260:97ff:fe40:efab", "ff02::1", 14230, 4739, 0xdde51bbf, 0x0f0c461c},
	{"3ffe:1900:4545:3:200:f8ff:fe21:67cf", "fe80::200:f8ff:fe21:67cf", 44251, 38024,
		0x02d1feef, 0x4b61e985},
};

static struct port port;
static struct dp_port wan;
static struct dp dp;
static struct rte_mbuf mbuf;

static struct net_frame frame(const char *src, uint16_t sport, const char *dst, uint16_t dport)
{
	struct net_frame f = {.sport = sport, .dport = dport, .l3_off = NET_ETH_LEN};

	assert_int_equal(addr_parse(src, &f.src), 0);
	assert_int_equal(addr_parse(dst, &f.dst), 0);
	f.is_v4 = addr_is_v4(&f.src);
	f.l4_off = f.l3_off + (f.is_v4 ? NET_IP4_LEN : NET_IP6_LEN);
	return f;
}

// One table entry per worker: the home is then the low bits of the hash.
static void setup(unsigned int workers, uint16_t reta_size)
{
	memset(&port, 0, sizeof(port));
	port.rss = true;
	port.rss_udp = true;
	port.nb_rxq = (uint16_t)workers;
	port.reta_size = reta_size;
	memcpy(port.rss_key, key, sizeof(key));
	port.rss_key_len = sizeof(key);
	for (uint16_t i = 0; i < reta_size; i++)
		port.reta[i] = i % port.nb_rxq;
	wan = (struct dp_port){.port = &port};
	steer_port_init(&wan, workers);
	dp.nb_workers = workers;
	mbuf.ol_flags = 0;
}

static void test_toeplitz(void **state)
{
	setup(64, 2048);
	assert_true(wan.rss_home);
	for (unsigned int i = 0; i < RTE_DIM(vectors); i++) {
		const struct net_frame f =
			frame(vectors[i].src, vectors[i].sport, vectors[i].dst, vectors[i].dport);

		port.rss_udp = true;
		assert_int_equal(steer_client_home(&dp, &wan, &mbuf, &f, 0), vectors[i].ports % 64);
		port.rss_udp = false;
		assert_int_equal(steer_client_home(&dp, &wan, &mbuf, &f, 0), vectors[i].addrs % 64);
	}
}

// The hash that the NIC delivers is used.
static void test_hash_of_nic(void **state)
{
	const struct net_frame f = frame("10.0.0.1", 1, "10.0.0.2", 2);

	setup(4, 128);
	mbuf.ol_flags = RTE_MBUF_F_RX_RSS_HASH;
	for (uint32_t i = 0; i < 1000; i++) {
		mbuf.hash.rss = i * 2654435761u;
		assert_int_equal(
			steer_client_home(&dp, &wan, &mbuf, &f, 0), port.reta[mbuf.hash.rss % 128]);
	}
}

// A client has one home, with or without extension headers in its packets, which can keep a NIC
// from hashing the ports.
static void test_extension_headers(void **state)
{
	struct net_frame f =
		frame(vectors[5].src, vectors[5].sport, vectors[5].dst, vectors[5].dport);

	setup(64, 2048);
	mbuf.ol_flags = RTE_MBUF_F_RX_RSS_HASH;
	mbuf.hash.rss = vectors[5].ports;
	assert_int_equal(steer_client_home(&dp, &wan, &mbuf, &f, 0), vectors[5].ports % 64);
	f.l4_off += 8;
	mbuf.hash.rss = vectors[5].addrs;
	assert_int_equal(steer_client_home(&dp, &wan, &mbuf, &f, 0), vectors[5].ports % 64);
}

static bool usable(unsigned int workers)
{
	steer_port_init(&wan, workers);
	return wan.rss_home;
}

static void test_usable(void **state)
{
	setup(4, 128);
	assert_true(usable(4));
	assert_true(usable(2));
	assert_false(usable(5)); // a worker without a queue would have no clients
	port.reta_size = 100;
	assert_false(usable(4));
	port.reta_size = 0;
	assert_false(usable(4));
	port.reta_size = 128;
	port.rss_key_len = 36; // too short for IPv6
	assert_false(usable(4));
	port.rss_key_len = 40;
	port.rss = false;
	assert_false(usable(4));
}

// Without RSS: in range, independent of the hash in the mbuf, evenly spread, and keyed.
static void test_keyed(void **state)
{
	struct test_rand r = test_rand_start("steer");
	unsigned int count[7] = {0}, moved = 0;

	setup(7, 128);
	port.rss = false;
	wan.rss_home = false;
	test_rand_fill(&r, &dp.client_key, sizeof(dp.client_key));
	for (unsigned int i = 0; i < 70000; i++) {
		struct net_frame f = frame("10.0.0.1", (uint16_t)i, "10.0.0.2", 3478);
		unsigned int home;

		test_rand_fill(&r, &f.src.b[13], 3);
		home = steer_client_home(&dp, &wan, &mbuf, &f, 0);
		assert_in_range(home, 0, 6);
		count[home]++;
		mbuf.ol_flags = RTE_MBUF_F_RX_RSS_HASH;
		mbuf.hash.rss = (uint32_t)test_rand(&r);
		assert_int_equal(steer_client_home(&dp, &wan, &mbuf, &f, 0), home);
		moved += steer_client_home(&dp, &wan, &mbuf, &f, 1) != home;
	}
	for (unsigned int i = 0; i < 7; i++)
		assert_in_range(count[i], 9500, 10500); // 5 standard deviations
	assert_in_range(moved, 59000, 61000); // another listener makes another 5-tuple: 6 of 7 move
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_toeplitz),
		cmocka_unit_test(test_hash_of_nic),
		cmocka_unit_test(test_extension_headers),
		cmocka_unit_test(test_usable),
		cmocka_unit_test(test_keyed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
