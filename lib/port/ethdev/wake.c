// SPDX-License-Identifier: BSD-3-Clause
// Finds the descriptors of receive queues: of interrupts, and the sockets of af_packet. No function
// of DPDK returns those sockets. The driver's receive queue, which the port's table of fast-path
// functions points to, begins with its socket (22.11 to 24.11). This is verified: a number found
// there counts only if the kernel says that it is a packet socket of this process, bound to the
// port's interface. Otherwise the port cannot wake.
#include "ethdev/wake.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_packet.h>

#include "ethdev/bond.h"
#include "ethdev/ethdev.h"

static bool is_socket_on(int fd, unsigned int interface)
{
	struct sockaddr_ll addr = {0};
	socklen_t len = sizeof(int), at_len = sizeof(addr);
	int domain;

	return fd > STDERR_FILENO && getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
		domain == AF_PACKET && getsockname(fd, (struct sockaddr *)&addr, &at_len) == 0 &&
		addr.sll_ifindex == (int)interface;
}

static int socket_of(uint16_t id, uint16_t queue)
{
	struct rte_eth_dev_info info;
	const int *rxq;

	if (rte_eth_dev_info_get(id, &info) != 0 || queue >= info.nb_rx_queues ||
		strcmp(info.driver_name, "net_af_packet") != 0)
		return -1;
	rxq = rte_eth_fp_ops[id].rxq.data != NULL ? rte_eth_fp_ops[id].rxq.data[queue] : NULL;
	return rxq != NULL && is_socket_on(*rxq, info.if_index) ? *rxq : -1;
}

int port_wake_fd(struct port *p, uint16_t queue)
{
	const struct ethdev *e = p->priv;

	if (queue >= p->nb_rxq)
		return -1;
	return e->interrupts ? rte_eth_dev_rx_intr_ctl_q_get_fd(p->dpdk_id, queue)
			     : socket_of(p->dpdk_id, queue);
}

// Most interrupts use an eventfd, which stays readable until it is read. net_tap uses the TAP
// itself, readable while a frame waits: reading it would remove the frame, and there is nothing to
// enable.
int port_wake_arm(struct port *p, uint16_t queue, bool on)
{
	const struct ethdev *e = p->priv;
	int rc;

	if (!e->interrupts || strcmp(e->info.driver_name, "net_tap") == 0)
		return 0;
	if (on) {
		const int fd = rte_eth_dev_rx_intr_ctl_q_get_fd(p->dpdk_id, queue);
		uint64_t times;

		if (read(fd, &times, sizeof(times)) < 0 && errno != EAGAIN)
			return -errno;
	}
	rc = on ? rte_eth_dev_rx_intr_enable(p->dpdk_id, queue)
		: rte_eth_dev_rx_intr_disable(p->dpdk_id, queue);
	return rc;
}

static bool add_members(const struct bond *b, int epoll, uint16_t queue)
{
	for (unsigned int i = 0; i < port_bond_size(b); i++) {
		struct epoll_event e = {.events = EPOLLIN};
		const int fd = socket_of(port_bond_member_id(b, i), queue);

		if (fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) != 0)
			return false;
	}
	return true;
}

int port_wake_bond_fd(struct port *p, uint16_t queue)
{
	struct ethdev *e = p->priv;

	if (queue >= p->nb_rxq)
		return -1;
	if (e->wake == NULL) {
		e->wake = calloc(p->nb_rxq, sizeof(*e->wake));
		for (unsigned int i = 0; e->wake != NULL && i < p->nb_rxq; i++)
			e->wake[i] = -1;
	}
	if (e->wake == NULL || e->wake[queue] >= 0)
		return e->wake != NULL ? e->wake[queue] : -1;
	e->wake[queue] = epoll_create1(EPOLL_CLOEXEC);
	if (e->wake[queue] >= 0 && !add_members(e->bond, e->wake[queue], queue)) {
		close(e->wake[queue]);
		e->wake[queue] = -1;
	}
	return e->wake[queue];
}

void port_wake_close(struct ethdev *e)
{
	for (unsigned int i = 0; e->wake != NULL && i < e->port.nb_rxq; i++)
		if (e->wake[i] >= 0)
			close(e->wake[i]);
	free(e->wake);
	e->wake = NULL;
}

static void clear_errors(uint16_t id, uint16_t nb)
{
	for (uint16_t q = 0; q < nb; q++) {
		const int fd = socket_of(id, q);
		socklen_t len = sizeof(int);
		int error;

		if (fd < 0)
			return;
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len); // reading it clears it
	}
}

void port_wake_settle(const struct ethdev *e)
{
	for (unsigned int i = 0; e->bond != NULL && i < port_bond_size(e->bond); i++)
		clear_errors(port_bond_member_id(e->bond, i), e->port.nb_rxq);
	if (e->bond == NULL)
		clear_errors(e->port.dpdk_id, e->port.nb_rxq);
}
