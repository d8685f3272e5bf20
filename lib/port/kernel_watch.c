// SPDX-License-Identifier: BSD-3-Clause
// Reads addresses and default routes of an interface over rtnetlink. One socket receives
// notifications and another one dumps the current state, so a lost notification only costs a dump.

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "kernel_watch.h"
#include "netns.h"

#define MESSAGE_LEN 256 // bytes; our requests have about 30
#define ANSWER_LEN 32768

struct port_kernel_watch {
	struct mnl_socket *news, *questions;
	char interface[IF_NAMESIZE];
	int fd[2], error; // descriptors of the sockets, and errno
	uint32_t index; // index of the interface
	unsigned int seq;
	bool due; // the state must be read: this is the first time, or the last read failed
	// During a read: the receiver of addresses, and the routers already found, by [is_v4].
	port_kernel_see *see;
	void *ctx;
	uint32_t metric[2];
	struct addr router[2];
	char answer[ANSWER_LEN];
};

// --- opening ------------------------------------------------------------------------------------

static void open_sockets(void *ctx)
{
	struct port_kernel_watch *w = ctx;

	for (int i = 0; i < 2; i++) {
		w->fd[i] = socket(AF_NETLINK,
			SOCK_RAW | SOCK_CLOEXEC | (i == 0 ? SOCK_NONBLOCK : 0), NETLINK_ROUTE);
		if (w->fd[i] < 0) {
			w->error = errno;
			return;
		}
	}
	w->index = if_nametoindex(w->interface);
	w->error = w->index == 0 ? errno : 0;
}

static int bind_sockets(struct port_kernel_watch *w)
{
	const unsigned int groups =
		RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
	struct mnl_socket **const sockets[] = {&w->news, &w->questions};

	for (int i = 0; i < 2; i++) {
		*sockets[i] = mnl_socket_fdopen(w->fd[i]);
		if (*sockets[i] == NULL)
			return errno;
		w->fd[i] = -1; // owned by the socket now
		if (mnl_socket_bind(*sockets[i], i == 0 ? groups : 0, MNL_SOCKET_AUTOPID) < 0)
			return errno;
	}
	return 0;
}

struct port_kernel_watch *port_kernel_watch_open(
	const char *netns, const char *interface, char *error, size_t len)
{
	struct port_kernel_watch *w = calloc(1, sizeof(*w));
	int rc;

	if (w == NULL) {
		snprintf(error, len, "out of memory");
		return NULL;
	}
	w->fd[0] = w->fd[1] = -1;
	w->due = true;
	snprintf(w->interface, sizeof(w->interface), "%s", interface);
	rc = -port_netns_run(netns, open_sockets, w, NULL);
	if (rc == 0)
		rc = w->error;
	if (rc == 0)
		rc = bind_sockets(w);
	if (rc == 0)
		return w;
	snprintf(error, len, "interface %s: its addresses cannot be read: %s", interface,
		strerror(rc));
	port_kernel_watch_close(w);
	return NULL;
}

void port_kernel_watch_close(struct port_kernel_watch *w)
{
	if (w == NULL)
		return;
	if (w->news != NULL)
		mnl_socket_close(w->news);
	if (w->questions != NULL)
		mnl_socket_close(w->questions);
	for (int i = 0; i < 2; i++)
		if (w->fd[i] >= 0)
			close(w->fd[i]);
	free(w);
}

// --- notifications ------------------------------------------------------------------------------

bool port_kernel_watch_news(struct port_kernel_watch *w)
{
	bool any = w->due;
	ssize_t len;

	w->due = false;
	while (true) {
		len = mnl_socket_recvfrom(w->news, w->answer, sizeof(w->answer));
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0 && errno != ENOBUFS && errno != ENOSPC)
			return any;
		any = true;
	}
}

// --- the state ----------------------------------------------------------------------------------

static bool take_addr(const struct nlattr *a, bool is_v4, struct addr *out)
{
	if (mnl_attr_get_payload_len(a) != (is_v4 ? 4 : 16))
		return false;
	*out = is_v4 ? addr_from_v4(mnl_attr_get_payload(a))
		     : addr_from_v6(mnl_attr_get_payload(a));
	return true;
}

static bool family_of(uint8_t family, bool *is_v4)
{
	*is_v4 = family == AF_INET;
	return family == AF_INET || family == AF_INET6;
}

static int see_address(const struct nlmsghdr *n, void *ctx)
{
	struct port_kernel_watch *w = ctx;
	const struct ifaddrmsg *m = mnl_nlmsg_get_payload(n);
	struct port_kernel_address found = {.deprecated = false};
	const struct nlattr *a;
	bool is_v4, any = false;
	uint32_t flags = m->ifa_flags;

	if (n->nlmsg_type != RTM_NEWADDR || m->ifa_index != w->index ||
		m->ifa_scope != RT_SCOPE_UNIVERSE || !family_of(m->ifa_family, &is_v4))
		return MNL_CB_OK;
	mnl_attr_for_each(a, n, sizeof(*m))
	{
		const uint16_t type = mnl_attr_get_type(a);

		// with IFA_LOCAL present, IFA_ADDRESS is the other end of a point-to-point link
		if (type == IFA_LOCAL || (type == IFA_ADDRESS && !any))
			any = take_addr(a, is_v4, &found.prefix.addr) || any;
		else if (type == IFA_FLAGS && mnl_attr_get_payload_len(a) == 4)
			flags = mnl_attr_get_u32(a);
	}
	if (!any || (flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) != 0 ||
		(!is_v4 && (flags & IFA_F_TEMPORARY) != 0))
		return MNL_CB_OK;
	found.prefix.len = is_v4 ? (uint8_t)(m->ifa_prefixlen + 96) : m->ifa_prefixlen;
	found.deprecated = (flags & IFA_F_DEPRECATED) != 0;
	w->see(w->ctx, &found);
	return MNL_CB_OK;
}

static int see_route(const struct nlmsghdr *n, void *ctx)
{
	struct port_kernel_watch *w = ctx;
	const struct rtmsg *m = mnl_nlmsg_get_payload(n);
	uint32_t oif = 0, metric = 0;
	struct addr router;
	const struct nlattr *a;
	bool is_v4, any = false;

	if (n->nlmsg_type != RTM_NEWROUTE || m->rtm_dst_len != 0 || m->rtm_type != RTN_UNICAST ||
		(m->rtm_flags & RTM_F_CLONED) != 0 || !family_of(m->rtm_family, &is_v4))
		return MNL_CB_OK;
	mnl_attr_for_each(a, n, sizeof(*m))
	{
		const uint16_t type = mnl_attr_get_type(a);

		if (type == RTA_GATEWAY)
			any = take_addr(a, is_v4, &router);
		else if (type == RTA_OIF && mnl_attr_get_payload_len(a) == 4)
			oif = mnl_attr_get_u32(a);
		else if (type == RTA_PRIORITY && mnl_attr_get_payload_len(a) == 4)
			metric = mnl_attr_get_u32(a);
	}
	if (!any || oif != w->index || metric >= w->metric[is_v4])
		return MNL_CB_OK;
	w->metric[is_v4] = metric;
	w->router[is_v4] = router;
	return MNL_CB_OK;
}

// A dump request, and the state of its answer.
struct question {
	mnl_cb_t see;
	bool interrupted; // the state changed during the dump, which may be incomplete
	int rc; // MNL_CB_OK: the answer continues
};

// Reads a part of the answer, and skips the rest of answers to earlier requests that failed.
static void read_part(struct port_kernel_watch *w, struct question *q, size_t bytes)
{
	const unsigned int self = mnl_socket_get_portid(w->questions);
	const struct nlmsghdr *n = (const struct nlmsghdr *)w->answer;
	int len = (int)bytes;

	for (; q->rc == MNL_CB_OK && mnl_nlmsg_ok(n, len); n = mnl_nlmsg_next(n, &len)) {
		const int32_t *code = mnl_nlmsg_get_payload(n);
		const bool has_code = mnl_nlmsg_get_payload_len(n) >= sizeof(*code);

		if (n->nlmsg_seq != w->seq || n->nlmsg_pid != self)
			continue;
		q->interrupted = q->interrupted || (n->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
		if (n->nlmsg_type == NLMSG_ERROR)
			q->rc = has_code && *code < 0 ? *code : -EBADMSG;
		else if (n->nlmsg_type == NLMSG_DONE)
			q->rc = has_code && *code < 0 ? *code : MNL_CB_STOP;
		else if (n->nlmsg_type >= NLMSG_MIN_TYPE)
			q->see(n, w);
	}
}

static int read_answer(struct port_kernel_watch *w, mnl_cb_t see)
{
	struct question q = {.see = see, .rc = MNL_CB_OK};

	_Static_assert(MNL_CB_OK > 0 && MNL_CB_STOP == 0, "errors are below both");
	while (q.rc == MNL_CB_OK) {
		const ssize_t len = mnl_socket_recvfrom(w->questions, w->answer, sizeof(w->answer));

		if (len >= 0)
			read_part(w, &q, (size_t)len);
		else if (errno != EINTR)
			return -errno;
	}
	return q.rc == MNL_CB_STOP && q.interrupted ? -EINTR : q.rc;
}

// Dumps all objects of a type and a family.
static int request_dump(struct port_kernel_watch *w, uint16_t type, uint8_t family, mnl_cb_t see)
{
	char buf[MESSAGE_LEN];
	struct nlmsghdr *n = mnl_nlmsg_put_header(buf);

	n->nlmsg_type = type;
	n->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	n->nlmsg_seq = ++w->seq;
	// ifaddrmsg and rtmsg both begin with the family
	*(uint8_t *)mnl_nlmsg_put_extra_header(
		n, type == RTM_GETADDR ? sizeof(struct ifaddrmsg) : sizeof(struct rtmsg)) = family;
	if (mnl_socket_sendto(w->questions, n, n->nlmsg_len) < 0)
		return -errno;
	return read_answer(w, see);
}

// Looks up the index again, in case the interface was removed and recreated. Any socket will do.
static void update_index(struct port_kernel_watch *w)
{
	const int fd = mnl_socket_get_fd(w->questions);
	struct ifreq q = {.ifr_ifindex = (int)w->index};

	if (ioctl(fd, SIOCGIFNAME, &q) == 0)
		return;
	snprintf(q.ifr_name, sizeof(q.ifr_name), "%s", w->interface);
	if (ioctl(fd, SIOCGIFINDEX, &q) == 0)
		w->index = (uint32_t)q.ifr_ifindex;
}

int port_kernel_watch_read(
	struct port_kernel_watch *w, port_kernel_see *see, void *ctx, struct addr router[2])
{
	static const uint8_t families[] = {AF_INET, AF_INET6};
	int rc = 0;

	update_index(w);
	w->see = see;
	w->ctx = ctx;
	w->metric[0] = w->metric[1] = UINT32_MAX;
	w->router[0] = w->router[1] = (struct addr){.b = {0}};
	for (int i = 0; i < 2 && rc == 0; i++) {
		rc = request_dump(w, RTM_GETADDR, families[i], see_address);
		if (rc == 0)
			rc = request_dump(w, RTM_GETROUTE, families[i], see_route);
	}
	w->due = rc != 0;
	router[0] = w->router[0];
	router[1] = w->router[1];
	return rc;
}
