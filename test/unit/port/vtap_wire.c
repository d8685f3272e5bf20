// SPDX-License-Identifier: BSD-3-Clause
// A wire between two ports, for test_vtap, test_wake and test_virtio of the lab: frames from one
// port go into the other, super-frames whole if that port takes them. The kernels at both ends are
// under test.
// vtap_wire PREFIX DEVICE DEVICE [SIZE | unfinished]
// SIZE: super-frames are passed on with segments of this size, whatever their own size was: more
// segments than a kernel takes in one super-frame, so that it refuses. unfinished: UDP goes into
// the first device as a virtual machine sends it, with the checksum left to a NIC. Each line on
// stdin is answered with a line of JSON; the end of stdin ends the program.

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_ip.h>
#include <rte_lcore.h>
#include <rte_udp.h>

#include "bytes.h"
#include "vtap/vtap_port.h"

#define BUFFERS 4095
#define BURST 32
#define QUEUES 2

static struct rte_mempool *pool;
static uint16_t size; // of the segments sent; 0 = unchanged

static bool unfinished;

static struct end {
	struct port *port;
	uint64_t frames, supers, longest; // received
	uint64_t unsent, left; // towards the other end; left: with partial checksums
	uint64_t queue[QUEUES]; // of the frames
} end[2];

// Prepares a received mbuf for sending (super.h).
static void turn_round(struct rte_mbuf *m)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	const bool v4 = load_be16(data + 12) == 0x0800;
	const bool tcp = data[14 + (v4 ? 9 : 6)] == 6;

	m->l2_len = 14;
	m->l3_len = v4 ? 20 : 40;
	m->l4_len = tcp ? (data[14 + m->l3_len + 12] >> 4) * 4 : 8;
	m->ol_flags = (tcp ? RTE_MBUF_F_TX_TCP_SEG : RTE_MBUF_F_TX_UDP_SEG) |
		(v4 ? RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM : RTE_MBUF_F_TX_IPV6);
	if (size != 0 && !tcp)
		m->tso_segsz = size;
}

// Leaves the UDP checksum to a later sender: the field has the sum of the pseudo-header.
static bool leave(struct rte_mbuf *m)
{
	uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *), *ip = data + 14;
	const bool v4 = load_be16(data + 12) == 0x0800;

	if ((!v4 && load_be16(data + 12) != 0x86dd) || ip[v4 ? 9 : 6] != 17 ||
		(v4 && (load_be16(ip + 6) & 0x3fff) != 0))
		return false;
	m->l2_len = 14;
	m->l3_len = v4 ? 20 : 40;
	m->ol_flags = RTE_MBUF_F_TX_UDP_CKSUM | (v4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6);
	((struct rte_udp_hdr *)(ip + m->l3_len))->dgram_cksum = v4
		? rte_ipv4_phdr_cksum((struct rte_ipv4_hdr *)ip, 0)
		: rte_ipv6_phdr_cksum((struct rte_ipv6_hdr *)ip, 0);
	return true;
}

static void pass(struct end *src, struct end *dst, uint16_t queue)
{
	struct rte_mbuf *m[BURST];
	const uint16_t n = port_rx(src->port, queue, m, BURST);
	// one direction changes queues, so that a flow returns on another queue than it took
	const uint16_t out = (uint16_t)(queue + (src == &end[1])) % dst->port->nb_txq;
	uint16_t sent = 0;

	src->queue[queue] += n;
	for (uint16_t i = 0; i < n; i++) {
		src->frames++;
		src->longest = RTE_MAX(src->longest, (uint64_t)m[i]->pkt_len);
		if (unfinished && dst == &end[0])
			src->left += leave(m[i]);
		if ((m[i]->ol_flags & RTE_MBUF_F_RX_LRO) == 0)
			continue;
		src->supers++;
		turn_round(m[i]);
	}
	for (unsigned int tries = 0; sent < n && tries < 10; tries++)
		sent += port_tx(dst->port, out, m + sent, n - sent);
	src->unsent += n - sent;
	rte_pktmbuf_free_bulk(m + sent, n - sent);
}

static void show(void)
{
	struct port_counters k;
	char offloads[64];

	printf("[");
	for (unsigned int i = 0; i < 2; i++) {
		struct port *p = end[i].port;

		p->ops->counters(p, &k);
		printf("%s{\"frames\": %" PRIu64 ", \"supers\": %" PRIu64 ", \"longest\": %" PRIu64
		       ", \"unsent\": %" PRIu64 ", \"left\": %" PRIu64 ", \"rx_missed\": %" PRIu64
		       ", \"rx_errors\": %" PRIu64 ", \"tx_errors\": %" PRIu64
		       ", \"tx_cut\": %" PRIu64
		       ", \"link\": %d, \"queues\": %u, \"queue\": [%" PRIu64 ", %" PRIu64
		       "], \"role\": %d, \"offloads\": \"%s\"}",
			i > 0 ? ", " : "", end[i].frames, end[i].supers, end[i].longest,
			end[i].unsent, end[i].left, k.rx_missed, k.rx_errors, k.tx_errors, k.tx_cut,
			p->ops->link(p), p->nb_rxq, end[i].queue[0], end[i].queue[1],
			((const struct vtap *)p->priv)->spec.role,
			port_offloads(p, offloads, sizeof(offloads)));
	}
	printf("]\n");
	fflush(stdout);
}

static bool hear(void)
{
	char line[64];
	const ssize_t n = read(STDIN_FILENO, line, sizeof(line));

	if (n > 0)
		show();
	return n > 0 || (n < 0 && errno == EAGAIN);
}

static bool open_ends(char **device)
{
	for (unsigned int i = 0; i < 2; i++) {
		const struct port_config c = {.name = i == 0 ? "left" : "right",
			.device = device[i],
			.queues = QUEUES,
			.mtu = 1500,
			.rx_ring = 1024,
			.tx_ring = 1024,
			.pool = pool,
			.socket = SOCKET_ID_ANY};
		char error[256];

		end[i].port = port_open(&c, error, sizeof(error));
		if (end[i].port == NULL) {
			fprintf(stderr, "%s\n", error);
			return false;
		}
		if (end[i].port->ops->start(end[i].port) != 0)
			return false;
	}
	return true;
}

static void close_ends(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		if (end[i].port == NULL)
			continue;
		end[i].port->ops->stop(end[i].port);
		end[i].port->ops->close(end[i].port);
	}
}

static void run(void)
{
	const struct timespec nap = {.tv_nsec = 20 * 1000};

	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	show();
	while (hear()) {
		const uint64_t before = end[0].frames + end[1].frames;

		for (unsigned int i = 0; i < 1000; i++)
			for (uint16_t q = 0; q < end[i % 2].port->nb_rxq; q++)
				pass(&end[i % 2], &end[1 - i % 2], q);
		if (before == end[0].frames + end[1].frames)
			nanosleep(&nap, NULL);
	}
}

int main(int argc, char **argv)
{
	char *eal[] = {argv[0], "--no-huge", "-m", "64", "--no-pci", "--no-shconf",
		"--no-telemetry", "--file-prefix", argv[1], "--iova-mode=va"};
	bool good;

	if (argc < 4 || rte_eal_init(RTE_DIM(eal), eal) < 0)
		return 2;
	unfinished = argc > 4 && strcmp(argv[4], "unfinished") == 0;
	size = argc > 4 && !unfinished ? (uint16_t)atoi(argv[4]) : 0;
	pool = rte_pktmbuf_pool_create(
		"wire", BUFFERS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (pool == NULL)
		return 2;
	good = open_ends(argv + 2);
	if (good)
		run();
	close_ends();
	if (rte_mempool_in_use_count(pool) != 0) {
		fprintf(stderr, "%u buffers are missing\n", rte_mempool_in_use_count(pool));
		good = false;
	}
	rte_mempool_free(pool);
	rte_eal_cleanup();
	return good ? 0 : 1;
}
