// SPDX-License-Identifier: BSD-3-Clause
// Makes the kernel's end of an exception port a host: addresses and routes over rtnetlink.
// They go with the interface, so nothing has to be undone.

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "kernel_host.h"
#include "netns.h"
#include "port_log.h"

#define MESSAGE_LEN 1024 // bytes; our longest message has some 100
#define ANSWER_LEN 32768 // bytes; a link with all its attributes
#define LEARNED_ADDRESSES 16 // IPv6 addresses beside ours, as many as the kernel's default

struct session {
	const struct port *port;
	const struct port_host *host;
	struct mnl_socket *socket;
	int fd; // descriptor that is not the socket's yet
	int error; // errno of opening it
	unsigned int seq;
	int index; // the interface's index
	char *reason;
	size_t reason_len;
	char buf[MESSAGE_LEN], answer[ANSWER_LEN];
};

__attribute__((format(printf, 3, 4))) static int fail(
	struct session *s, int rc, const char *fmt, ...)
{
	const int n = snprintf(s->reason, s->reason_len, "port %s: interface %s: ", s->port->name,
		s->host->interface);
	size_t at = n > 0 && (size_t)n < s->reason_len ? (size_t)n : 0;
	va_list ap;

	va_start(ap, fmt);
	at += (size_t)vsnprintf(s->reason + at, s->reason_len - at, fmt, ap);
	va_end(ap);
	if (at < s->reason_len)
		snprintf(s->reason + at, s->reason_len - at, ": %s%s", strerror(-rc),
			rc == -EPERM ? " (run as root, or with CAP_NET_ADMIN)" : "");
	return -1;
}

// --- a question and its answer ------------------------------------------------------------------

static struct nlmsghdr *begin(struct session *s, uint16_t type, uint16_t flags)
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

// Sends a request and waits for the answer: 0 or the kernel's -errno.
static int ask(struct session *s, const struct nlmsghdr *n)
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

// --- the interface ------------------------------------------------------------------------------

static int find(struct session *s)
{
	struct nlmsghdr *n = begin(s, RTM_GETLINK, 0);
	struct ifinfomsg *link = mnl_nlmsg_put_extra_header(n, sizeof(*link));

	link->ifi_family = AF_UNSPEC;
	mnl_attr_put_strz(n, IFLA_IFNAME, s->host->interface);
	return ask(s, n);
}

// Keeps the kernel from making IPv6 addresses of its own. With a second link-local address it would
// speak from an address for which the data path does not answer.
static int set_no_autoconf(struct session *s)
{
	struct nlmsghdr *n = begin(s, RTM_SETLINK, 0);
	struct ifinfomsg *link = mnl_nlmsg_put_extra_header(n, sizeof(*link));
	struct nlattr *spec, *inet6;

	link->ifi_family = AF_UNSPEC;
	link->ifi_index = s->index;
	spec = mnl_attr_nest_start(n, IFLA_AF_SPEC);
	inet6 = mnl_attr_nest_start(n, AF_INET6);
	mnl_attr_put_u8(n, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
	mnl_attr_nest_end(n, inet6);
	mnl_attr_nest_end(n, spec);
	return ask(s, n);
}

// One setting of IPv6 of the interface, as sysctl has it: its number, -1 when it cannot be read.
static int read_setting(const char *path)
{
	char text[16] = "";
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (fd >= 0)
		close(fd);
	return n > 0 ? atoi(text) : -1;
}

// A read-only /proc/sys, as containers have it, may hold the right value all the same. Of a bound
// that is a least value more is right, too, and 0 is none.
static void write_setting(struct session *s, const char *name, int value, bool is_least)
{
	char path[128], text[16];
	const int len = snprintf(text, sizeof(text), "%d", value);
	int old, fd;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/%s", s->host->interface, name);
	old = read_setting(path);
	if (old == value || (is_least && (old == 0 || old > value)))
		return;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, (size_t)len) != len)
		PORT_LOG(NOTICE, "port %s: %s cannot be set to %d: %s", s->port->name, path, value,
			strerror(errno));
	if (fd >= 0)
		close(fd);
}

// Makes the kernel listen to router advertisements, also where it forwards, and make one address of
// each prefix. It asks for them when it gets its link-local address. It makes none once it has
// max_addresses, and counts ours among them.
static void set_slaac(void *ctx)
{
	const struct session *s = ctx;
	int ours = 0;

	for (uint32_t i = 0; i < s->host->nb_addresses; i++)
		ours += !addr_is_v4(&s->host->addresses[i].addr);
	write_setting(ctx, "accept_ra", 2, false);
	write_setting(ctx, "autoconf", 1, false);
	write_setting(ctx, "use_tempaddr", 0, false);
	write_setting(ctx, "max_addresses", ours + LEARNED_ADDRESSES, true);
}

static int set_up(struct session *s)
{
	struct nlmsghdr *n = begin(s, RTM_SETLINK, 0);
	struct ifinfomsg *link = mnl_nlmsg_put_extra_header(n, sizeof(*link));

	link->ifi_family = AF_UNSPEC;
	link->ifi_index = s->index;
	link->ifi_flags = link->ifi_change = IFF_UP;
	return ask(s, n);
}

// Sets the limits of super-frames: we must cut longer ones. A kernel that refuses has other limits,
// or none.
static void set_limits(struct session *s)
{
	struct nlmsghdr *n = begin(s, RTM_SETLINK, 0);
	struct ifinfomsg *link = mnl_nlmsg_put_extra_header(n, sizeof(*link));
	int rc;

	link->ifi_family = AF_UNSPEC;
	link->ifi_index = s->index;
	mnl_attr_put_u32(n, IFLA_GSO_MAX_SEGS, s->host->segments);
	mnl_attr_put_u32(n, IFLA_GSO_MAX_SIZE, s->host->bytes);
	rc = ask(s, n);
	if (rc != 0)
		PORT_LOG(NOTICE, "port %s: limits of super-frames are the kernel's: %s",
			s->port->name, strerror(-rc));
}

// --- addresses and routes -----------------------------------------------------------------------

static void put_addr(struct nlmsghdr *n, uint16_t type, const struct addr *a)
{
	if (addr_is_v4(a))
		mnl_attr_put(n, type, 4, a->b + 12);
	else
		mnl_attr_put(n, type, 16, a->b);
}

// Adds an address without duplicate detection: the data path owns the address and answers for it
// already.
static int add_address(struct session *s, const struct addr *a, uint8_t len)
{
	const bool is_v4 = addr_is_v4(a);
	struct nlmsghdr *n = begin(s, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
	struct ifaddrmsg *m = mnl_nlmsg_put_extra_header(n, sizeof(*m));

	m->ifa_family = is_v4 ? AF_INET : AF_INET6;
	m->ifa_prefixlen = is_v4 ? (uint8_t)(len - 96) : len;
	m->ifa_flags = is_v4 ? 0 : IFA_F_NODAD;
	m->ifa_index = (uint32_t)s->index;
	put_addr(n, IFA_LOCAL, a);
	put_addr(n, IFA_ADDRESS, a);
	return ask(s, n);
}

// The kernel may have made it, the same one, before it was told not to: a DHCP client brings up an
// interface as soon as it sees it.
static int add_link_local(struct session *s)
{
	const int rc = add_address(s, &s->host->link_local, 64);

	return rc == -EEXIST ? 0 : rc;
}

// Advice where IPv6 addresses are refused.
static const char *switched_off(int rc)
{
	return rc == -EACCES || rc == -EOPNOTSUPP
		? " (switched off: sysctl net.ipv6.conf.default.disable_ipv6=0)"
		: "";
}

static int add_addresses(struct session *s, bool *any_v6)
{
	const struct port_host *h = s->host;
	char text[ADDR_TEXT_LEN];

	if (h->slaac) {
		const int rc = add_link_local(s);

		if (rc != 0)
			return fail(s, rc, "link-local address%s", switched_off(rc));
		*any_v6 = true;
	}
	for (uint32_t i = 0; i < h->nb_addresses; i++) {
		const struct prefix *p = &h->addresses[i];
		const bool is_v6 = !addr_is_v4(&p->addr);
		int rc = 0;

		if (is_v6 && !*any_v6)
			rc = add_link_local(s);
		if (rc == 0)
			rc = add_address(s, &p->addr, p->len);
		*any_v6 = *any_v6 || is_v6;
		if (rc == 0)
			continue;
		return fail(s, rc, "address %s%s", addr_format(&p->addr, text, sizeof(text)),
			is_v6 ? switched_off(rc) : "");
	}
	return 0;
}

static int add_route(struct session *s, const struct port_route *r)
{
	const bool is_v4 = addr_is_v4(&r->via);
	struct nlmsghdr *n = begin(s, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL);
	struct rtmsg *m = mnl_nlmsg_put_extra_header(n, sizeof(*m));

	m->rtm_family = is_v4 ? AF_INET : AF_INET6;
	m->rtm_dst_len = is_v4 ? (uint8_t)(r->to.len - 96) : r->to.len;
	m->rtm_table = RT_TABLE_MAIN;
	m->rtm_protocol = RTPROT_STATIC;
	m->rtm_scope = RT_SCOPE_UNIVERSE;
	m->rtm_type = RTN_UNICAST;
	m->rtm_flags = RTNH_F_ONLINK; // the router of a lone address is in no subnet of it
	if (m->rtm_dst_len != 0)
		put_addr(n, RTA_DST, &r->to.addr);
	put_addr(n, RTA_GATEWAY, &r->via);
	mnl_attr_put_u32(n, RTA_OIF, (uint32_t)s->index);
	mnl_attr_put_u32(n, RTA_PRIORITY, s->host->metric);
	return ask(s, n);
}

static int add_routes(struct session *s)
{
	char to[ADDR_TEXT_LEN], via[ADDR_TEXT_LEN];

	for (uint32_t i = 0; i < s->host->nb_routes; i++) {
		const struct port_route *r = &s->host->routes[i];
		const unsigned int len = addr_is_v4(&r->via) ? r->to.len - 96u : r->to.len;
		const int rc = add_route(s, r);

		addr_format(&r->via, via, sizeof(via));
		if (rc != 0 && len == 0)
			return fail(
				s, rc, "default route through %s, metric %u", via, s->host->metric);
		if (rc != 0)
			return fail(s, rc, "route to %s/%u through %s, metric %u",
				addr_format(&r->to.addr, to, sizeof(to)), len, via,
				s->host->metric);
	}
	return 0;
}

// --- all of it ----------------------------------------------------------------------------------

static void open_socket(void *ctx)
{
	struct session *s = ctx;

	s->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	s->error = s->fd < 0 ? -errno : 0;
}

static int session_open(struct session *s)
{
	int rc = port_netns_run(s->host->netns, open_socket, s, NULL);

	if (rc == 0)
		rc = s->error;
	if (rc != 0)
		return fail(s, rc, "rtnetlink");
	s->socket = mnl_socket_fdopen(s->fd);
	if (s->socket == NULL || mnl_socket_bind(s->socket, 0, MNL_SOCKET_AUTOPID) < 0)
		return fail(s, -errno, "rtnetlink");
	return 0;
}

static void session_close(struct session *s)
{
	if (s->socket != NULL)
		mnl_socket_close(s->socket);
	else if (s->fd >= 0)
		close(s->fd);
}

static int set_up_host(struct session *s)
{
	bool any_v6 = false;
	int rc = find(s);

	// A vtap has its interface by now; a DPDK driver may make it only when the port is started
	if (rc == 0)
		set_no_autoconf(s);
	rc = s->port->ops->start((struct port *)(uintptr_t)s->port);
	if (rc != 0)
		return fail(s, rc, "cannot be started");
	rc = find(s);
	if (rc != 0)
		return fail(s, rc, "not there (its device has to make it)");
	if (s->host->slaac)
		port_netns_run(s->host->netns, set_slaac, s, NULL);
	if (s->host->segments > 0)
		set_limits(s);
	rc = set_up(s);
	if (rc != 0)
		return fail(s, rc, "cannot be brought up");
	return add_addresses(s, &any_v6) != 0 ? -1 : add_routes(s);
}

int port_kernel_host_start(struct port *p, const struct port_host *h, char *error, size_t len)
{
	struct session s = {.port = p, .host = h, .fd = -1, .reason = error, .reason_len = len};
	int rc = session_open(&s);

	if (rc == 0)
		rc = set_up_host(&s);
	session_close(&s);
	return rc;
}
