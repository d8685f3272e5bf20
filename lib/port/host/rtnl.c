// SPDX-License-Identifier: BSD-3-Clause
// Sends rtnetlink requests about an interface, and reads the answers.
#include "host/rtnl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

#include "netns.h"
#include "port.h"

int rtnl_fail(struct rtnl *s, int rc, const char *fmt, ...)
{
	const int n = snprintf(
		s->reason, s->reason_len, "port %s: interface %s: ", s->port->name, s->interface);
	size_t pos = n > 0 && (size_t)n < s->reason_len ? (size_t)n : 0;
	va_list ap;

	va_start(ap, fmt);
	pos += (size_t)vsnprintf(s->reason + pos, s->reason_len - pos, fmt, ap);
	va_end(ap);
	if (pos < s->reason_len)
		snprintf(s->reason + pos, s->reason_len - pos, ": %s%s", strerror(-rc),
			rc == -EPERM ? " (run as root, or with CAP_NET_ADMIN)" : "");
	return -1;
}

static void open_socket(void *ctx)
{
	struct rtnl *s = ctx;

	s->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	s->error = s->fd < 0 ? -errno : 0;
}

int rtnl_open(struct rtnl *s)
{
	int rc;

	s->fd = -1;
	rc = port_netns_run(s->netns, open_socket, s, NULL);
	if (rc == 0)
		rc = s->error;
	if (rc != 0)
		return rtnl_fail(s, rc, "rtnetlink");
	s->socket = mnl_socket_fdopen(s->fd);
	if (s->socket == NULL || mnl_socket_bind(s->socket, 0, MNL_SOCKET_AUTOPID) < 0)
		return rtnl_fail(s, -errno, "rtnetlink");
	return 0;
}

void rtnl_close(struct rtnl *s)
{
	if (s->socket != NULL)
		mnl_socket_close(s->socket);
	else if (s->fd >= 0)
		close(s->fd);
}

struct nlmsghdr *rtnl_begin(struct rtnl *s, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *n = mnl_nlmsg_put_header(s->buf);

	n->nlmsg_type = type;
	n->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	n->nlmsg_seq = ++s->seq;
	return n;
}

static int see_index(const struct nlmsghdr *n, void *ctx)
{
	if (n->nlmsg_type == RTM_NEWLINK)
		*(int *)ctx = ((const struct ifinfomsg *)mnl_nlmsg_get_payload(n))->ifi_index;
	return MNL_CB_OK;
}

int rtnl_ask(struct rtnl *s, const struct nlmsghdr *n)
{
	const unsigned int self = mnl_socket_get_portid(s->socket);
	int rc = MNL_CB_OK;

	if (mnl_socket_sendto(s->socket, n, n->nlmsg_len) < 0)
		return -errno;
	while (rc == MNL_CB_OK) {
		const ssize_t len = mnl_socket_recvfrom(s->socket, s->answer, sizeof(s->answer));

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return -errno;
		rc = mnl_cb_run(s->answer, (size_t)len, s->seq, self, see_index, &s->index);
	}
	return rc == MNL_CB_STOP ? 0 : -errno;
}

void rtnl_put_addr(struct nlmsghdr *n, uint16_t type, const struct addr *a)
{
	if (addr_is_v4(a))
		mnl_attr_put(n, type, 4, a->b + 12);
	else
		mnl_attr_put(n, type, 16, a->b);
}
