// SPDX-License-Identifier: BSD-3-Clause
// The port that shares an interface with the kernel.
#include "packet/packet.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_packet.h>

#include <rte_ether.h>
#include <rte_malloc.h>

#include "bpf/bpf_sys.h"
#include "packet/packet_bpf.h"
#include "packet/packet_fanout.h"
#include "packet/packet_filter.h"
#include "packet/packet_port.h"
#include "port_log.h"
#include "open_request.h"

#define SEND_BUFFER (4 << 20) // bytes of the send buffer of one queue

#define CAPABILITIES                                                                    \
	" (run as root, or with CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF; with systemd: " \
	"the drop-in packet.conf)"

static struct packet *to_packet(struct port *p)
{
	return p->priv;
}

// --- packets -------------------------------------------------------------------------------------

static uint16_t packet_rx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	return packet_rx_burst(&to_packet(p)->rx[queue], m, n);
}

static uint16_t packet_tx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	struct packet *k = to_packet(p);

	return unlikely(p->loopback) ? packet_loop_burst(&k->loop[queue], &k->tx[queue], m, n)
				     : packet_tx_burst(&k->tx[queue], m, n);
}

static void packet_tick(struct port *p, uint16_t queue)
{
	if (queue >= p->nb_txq)
		return;
	packet_rx_tick(&to_packet(p)->rx[queue]);
	super_kept_tick(&to_packet(p)->tx[queue].kept);
}

static bool packet_is_due(struct port *p, uint16_t queue)
{
	return queue < p->nb_txq && to_packet(p)->tx[queue].kept.nb > 0;
}

// --- starting ------------------------------------------------------------------------------------

int packet_listen(struct packet *k)
{
	const struct packet_fanout f = {.index = k->iface.index,
		.filter = k->filter,
		.chooses = k->chooses,
		.alone = k->alone};
	int fd[PACKET_QUEUES_MAX];

	for (unsigned int i = 0; i < k->port.nb_rxq; i++)
		fd[i] = k->rx[i].fd;
	return packet_fanout_start(&f, fd, k->port.nb_rxq);
}

static int packet_start(struct port *p)
{
	struct packet *k = to_packet(p);
	int rc = packet_listen(k);

	if (rc != 0)
		return rc;
	if (k->chooses >= 0)
		port_steer_tell(&k->steer, p);
	rc = packet_chain_attach(&k->chain, k->iface.index);
	if (rc != 0)
		PORT_LOG(ERR, "port %s: interface %s: no program at its ingress: %s%s", p->name,
			k->spec.name, strerror(-rc),
			rc == -EINVAL ? " (it needs Linux 6.6 or later, with CONFIG_NET_XGRESS)"
				: rc == -EPERM ? CAPABILITIES
					       : "");
	return rc;
}

static void packet_stop(struct port *p)
{
	packet_chain_detach(&to_packet(p)->chain);
}

static void packet_close(struct port *p)
{
	struct packet *k = to_packet(p);

	packet_stop(p);
	for (unsigned int i = 0; i < p->nb_rxq; i++) {
		packet_rx_free(&k->rx[i]);
		super_kept_drop(&k->tx[i].kept);
		if (k->rx[i].fd >= 0)
			close(k->rx[i].fd);
	}
	for (unsigned int i = 0; i < PACKET_SPARES * PACKET_QUEUES_MAX; i++)
		if (k->spare[i / PACKET_QUEUES_MAX][i % PACKET_QUEUES_MAX] >= 0)
			close(k->spare[i / PACKET_QUEUES_MAX][i % PACKET_QUEUES_MAX]);
	for (unsigned int i = 0; i < RTE_DIM(k->chain.program); i++)
		if (k->chain.program[i] >= 0)
			close(k->chain.program[i]);
	if (k->filter >= 0)
		close(k->filter);
	if (k->moving != NULL)
		munmap(k->moving, sizeof(*k->moving));
	if (k->chooses >= 0)
		close(k->chooses);
	if (k->raw >= 0)
		close(k->raw);
	port_steer_close(&k->steer);
	packet_iface_close(&k->iface);
	free((char *)(uintptr_t)p->name);
	rte_free(k);
}

// --- state ---------------------------------------------------------------------------------------

static bool packet_link(struct port *p)
{
	const struct packet *k = to_packet(p);
	socklen_t len = sizeof(int);
	int error;

	// An interface that was down leaves an error, which would wake the worker again and again
	for (unsigned int i = 0; i < p->nb_rxq; i++)
		getsockopt(k->rx[i].fd, SOL_SOCKET, SO_ERROR, &error, &len);
	return packet_iface_running(&k->iface);
}

static uint64_t read_counter(const uint64_t *c)
{
	return __atomic_load_n(c, __ATOMIC_RELAXED);
}

static void packet_counters(struct port *p, struct port_counters *out)
{
	struct packet *k = to_packet(p);

	*out = (struct port_counters){0};
	for (unsigned int i = 0; i < p->nb_rxq; i++) {
		out->rx_missed += packet_rx_missed(&k->rx[i]);
		out->rx_errors += read_counter(&k->rx[i].errors);
		out->rx_nombuf += read_counter(&k->rx[i].nombuf);
		out->tx_errors += read_counter(&k->tx[i].errors) + read_counter(&k->loop[i].errors);
		out->tx_cut += read_counter(&k->tx[i].kept.cut);
	}
}

// The socket is readable while a slot of its ring is filled.
static int packet_wake_fd(struct port *p, uint16_t queue)
{
	return queue < p->nb_rxq ? to_packet(p)->rx[queue].fd : -1;
}

static int packet_flow_create(
	struct port *p, const struct port_rule *r, void **flow, char *reason, size_t len)
{
	return port_steer_rule(&to_packet(p)->steer, r, flow, reason, len);
}

static void packet_flow_destroy(struct port *p, void *flow)
{
	port_steer_unrule(&to_packet(p)->steer, flow);
}

static void packet_move(struct port *p, const struct addr *was, const struct addr *current)
{
	packet_moving_put(to_packet(p)->moving, current);
	port_steer_move(&to_packet(p)->steer, was, current);
}

static const struct port_ops packet_ops = {
	.kind = "packet",
	.rx = packet_rx,
	.tx = packet_tx,
	.start = packet_start,
	.stop = packet_stop,
	.close = packet_close,
	.link = packet_link,
	.counters = packet_counters,
	.watch = packet_watch,
	.trouble = packet_trouble,
	.move = packet_move,
	.flow_create = packet_flow_create,
	.flow_destroy = packet_flow_destroy,
	.tick = packet_tick,
	.is_due = packet_is_due,
	.wake_fd = packet_wake_fd,
};

// --- opening -------------------------------------------------------------------------------------

// Loads a program. Returns a descriptor or -errno.
static int load_filter(struct packet_filter *f, enum packet_filter_for whom)
{
	struct bpf_insn *code;
	uint32_t nb;
	int fd;

	f->whom = whom;
	code = packet_filter_make(f, &nb);
	fd = code == NULL ? -errno
			  : packet_bpf_load(whom == PACKET_FILTER_SOCKET ? PACKET_BPF_SOCKET
									 : PACKET_BPF_INGRESS,
				    code, nb);
	free(code);
	return fd;
}

// Makes the shared memory of addresses that may move, if any; the programs keep it. Returns 0 or
// -errno.
static int share_moving(struct packet *k, struct packet_filter *f)
{
	void *memory;

	for (uint32_t i = 0; i < f->nb_own; i++) {
		if (!f->owned[i].moves)
			continue;
		if (k->moving == NULL) {
			f->moving = bpf_sys_share(sizeof(*k->moving), &memory);
			if (f->moving < 0)
				return f->moving;
			k->moving = memory;
		}
		packet_moving_put(k->moving, &f->owned[i].addr);
	}
	return 0;
}

static int load_programs(struct packet *k, const struct port_request *r)
{
	struct port_own *owned = calloc(r->c->nb_own + 1, sizeof(*owned));
	struct packet_filter f = {.owned = owned, .nb_own = r->c->nb_own, .moving = -1};
	int rc = owned != NULL ? 0 : -ENOMEM;

	if (rc == 0 && r->c->nb_own > 0)
		memcpy(owned, r->c->owned, r->c->nb_own * sizeof(*owned));
	if (rc == 0) {
		packet_filter_sort(owned, r->c->nb_own);
		rc = share_moving(k, &f);
	}
	if (rc == 0)
		rc = k->filter = load_filter(&f, PACKET_FILTER_SOCKET);
	for (unsigned int i = 0; i < RTE_DIM(k->chain.program) && rc >= 0; i++)
		rc = k->chain.program[i] = load_filter(&f, PACKET_FILTER_KERNEL);
	free(owned);
	if (f.moving >= 0)
		close(f.moving);
	if (rc == -E2BIG)
		port_request_fail(r,
			"it has too many addresses and ports for a kernel program: "
			"use ranges, or a separate port");
	else if (rc < 0)
		port_request_fail(
			r, "filter program: %s%s", strerror(-rc), rc == -EPERM ? CAPABILITIES : "");
	return rc < 0 ? -1 : 0;
}

// Makes a socket, which receives nothing before it is bound. Returns its descriptor or -errno.
static int open_socket(void)
{
	const int on = 1, bytes = SEND_BUFFER;
	const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	int rc = fd < 0 ? -errno : packet_rx_prepare(fd);

	if (rc == 0 && setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) != 0)
		rc = -errno;
	if (rc != 0) {
		if (fd >= 0)
			close(fd);
		return rc;
	}
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) != 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	return fd;
}

static int open_queue(struct packet *k, unsigned int i, const struct port_request *r)
{
	const int fd = open_socket();
	int rc = fd < 0 ? fd : 0;

	k->rx[i].fd = fd;
	k->port.nb_rxq = k->port.nb_txq = (uint16_t)(i + 1);
	if (rc == 0)
		rc = packet_rx_init(&k->rx[i], fd, k->port.rx_ring, k->port.mtu, r->c->pool);
	if (rc != 0) {
		port_request_fail(r, "packet socket with a ring of %u frames: %s%s",
			k->port.rx_ring, strerror(-rc), rc == -EPERM ? CAPABILITIES : "");
		return -1;
	}
	packet_tx_init(&k->tx[i], fd, r->c->pool, &k->port);
	return 0;
}

// Makes the spare sockets. A port with one queue needs no spares: its socket can be bound again.
static int open_spares(struct packet *k, const struct port_request *r)
{
	const unsigned int nb = k->port.nb_rxq > 1 && !r->c->loopback ? PACKET_SPARES : 0;

	for (; k->nb_spares < nb; k->nb_spares++) {
		for (unsigned int i = 0; i < k->port.nb_rxq; i++) {
			const int fd = open_socket();

			k->spare[k->nb_spares][i] = fd;
			if (fd >= 0)
				continue;
			port_request_fail(r, "spare packet socket: %s", strerror(-fd));
			return -1;
		}
	}
	return 0;
}

// Chooses the smaller MTU of the configuration and the interface.
static int choose_mtu(struct packet *k, const struct port_request *r)
{
	const uint32_t room = rte_pktmbuf_data_room_size(r->c->pool) - RTE_PKTMBUF_HEADROOM;
	const uint32_t frame = r->c->mtu + RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN;

	if (frame > room) {
		port_request_fail(r,
			"mtu %u: frames of %u bytes do not fit the packet buffers (%u)", r->c->mtu,
			frame, room);
		return -1;
	}
	k->mtu_most = r->c->mtu;
	k->port.mtu = k->mtu_start = RTE_MIN(r->c->mtu, k->iface.mtu);
	if (r->c->loopback)
		return 0;
	if (k->iface.mtu < r->c->mtu)
		PORT_LOG(NOTICE, "port %s: mtu %u, that of interface %s", k->port.name,
			k->iface.mtu, k->spec.name);
	else if (k->iface.mtu > r->c->mtu)
		PORT_LOG(NOTICE,
			"port %s: interface %s has an MTU of %u: packets above %u are dropped "
			"(mtu: %u accepts them)",
			k->port.name, k->spec.name, k->iface.mtu, r->c->mtu, k->iface.mtu);
	return 0;
}

// Loads the program that gives each queue the packets of its worker.
static void steer_queues(struct packet *k, const struct port_request *r)
{
	if (k->port.nb_rxq == 1)
		return;
	k->chooses = port_steer_open(&k->steer, &k->port, r->c->rss_key, STEER_AT_IP);
	if (k->chooses >= 0)
		return;
	PORT_LOG(WARNING,
		"port %s: most datagrams are handed over between workers, as the kernel chooses "
		"queues by its own hash: %s (root, or CAP_BPF with CAP_PERFMON, prevents "
		"that; with systemd: the drop-in packet.conf)",
		k->port.name, strerror(-k->chooses));
	k->chooses = -1;
}

// Makes the socket that reaches programs of this host.
static int open_raw(struct packet *k, const struct port_request *r)
{
	k->raw = packet_loop_open(k->spec.name, SEND_BUFFER);
	if (k->raw < 0) {
		port_request_fail(r, "raw socket: %s%s", strerror(-k->raw),
			k->raw == -EPERM ? CAPABILITIES : "");
		return -1;
	}
	for (unsigned int i = 0; i < k->port.nb_txq; i++)
		k->loop[i] = (struct packet_loop){.fd = k->raw};
	return 0;
}

static int setup_port(struct packet *k, const struct port_request *r, uint16_t queues)
{
	port_request_rings(r, &k->port);
	k->port.tx_ring = 0; // the kernel accepts a frame at once or refuses it
	if (packet_iface_open(&k->iface, r, k->spec.name) != 0 || choose_mtu(k, r) != 0 ||
		load_programs(k, r) != 0)
		return -1;
	memcpy(k->port.mac, k->iface.mac, sizeof(k->port.mac));
	for (unsigned int i = 0; i < queues; i++)
		if (open_queue(k, i, r) != 0)
			return -1;
	if (r->c->loopback && open_raw(k, r) != 0)
		return -1;
	steer_queues(k, r);
	return open_spares(k, r);
}

struct port *port_packet_open(const struct port_request *r)
{
	struct packet_spec spec;
	char reason[160];
	struct packet *k;

	if (!packet_spec_parse(r->c->device, &spec, reason, sizeof(reason))) {
		port_request_fail(r, "%s", reason);
		return NULL;
	}
	k = rte_zmalloc_socket("packet", sizeof(*k), RTE_CACHE_LINE_SIZE, r->c->socket);
	if (k == NULL) {
		port_request_fail(r, "out of memory");
		return NULL;
	}
	k->spec = spec;
	k->iface.control = k->filter = k->chooses = k->raw = -1;
	packet_chain_init(&k->chain);
	memset(k->spare, -1, sizeof(k->spare));
	k->port = (struct port){
		.ops = &packet_ops,
		.priv = k,
		.name = strdup(r->c->name),
		.driver = "packet",
		.kernel_is_host = true,
		.loopback = r->c->loopback,
		.l4_checksum_good = true,
		.rx_super = true,
		.uso = {PACKET_USO_SEGMENTS, PACKET_SUPER_BUFS, PACKET_SUPER_BYTES},
		.dpdk_id = RTE_MAX_ETHPORTS,
	};
	if (r->c->loopback) // a raw socket cannot send super-frames
		k->port.uso = (struct port_super){0};
	if (k->port.name == NULL ||
		setup_port(k, r,
			RTE_MIN(r->c->queues,
				spec.queues != 0 ? spec.queues : (uint16_t)PACKET_QUEUES_MAX)) !=
			0) {
		packet_close(&k->port);
		return NULL;
	}
	return &k->port;
}
