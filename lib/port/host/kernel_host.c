// SPDX-License-Identifier: BSD-3-Clause
// Configures the kernel's end of an exception port as a host: addresses and routes over rtnetlink.
// They disappear with the interface, so nothing has to be undone.

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "host/host_routes.h"
#include "host/kernel_host.h"
#include "host/rtnl.h"
#include "netns.h"
#include "port_log.h"

#define SETTINGS "/proc/sys/net/ipv6/conf"
// IPv6 addresses in addition to our addresses: the kernel's default limit.
#define LEARNED_ADDRESSES 16

enum host_state {
	HOST_MADE,
	HOST_GONE, // the interface was removed
	HOST_BARE, // the interface was made again, but is not configured as a host
};

// Kept with the port for later calls.
struct kernel_host {
	struct rtnl rtnl;
	const struct port_host *host; // valid during port_kernel_host_start
	int settings; // directory of the IPv6 settings of its namespace; -1 = not open
	enum host_state state; // written by the management lcore, read by any thread
};

// --- the interface ------------------------------------------------------------------------------

static int find_link(struct kernel_host *s)
{
	struct nlmsghdr *n = rtnl_begin(&s->rtnl, RTM_GETLINK, 0);
	struct ifinfomsg *link = mnl_nlmsg_put_extra_header(n, sizeof(*link));

	link->ifi_family = AF_UNSPEC;
	mnl_attr_put_strz(n, IFLA_IFNAME, s->host->interface);
	return rtnl_ask(&s->rtnl, n);
}

static bool is_there(struct kernel_host *s)
{
	struct nlmsghdr *n = rtnl_begin(&s->rtnl, RTM_GETLINK, 0);
	struct ifinfomsg *link = mnl_nlmsg_put_extra_header(n, sizeof(*link));

	link->ifi_family = AF_UNSPEC;
	link->ifi_index = s->rtnl.index;
	return rtnl_ask(&s->rtnl, n) != -ENODEV;
}

// Prevents the kernel from making IPv6 addresses itself. With a second link-local address it would
// send from an address for which the data path does not answer.
static int set_no_autoconf(struct kernel_host *s)
{
	struct nlmsghdr *n = rtnl_begin(&s->rtnl, RTM_SETLINK, 0);
	struct ifinfomsg *link = mnl_nlmsg_put_extra_header(n, sizeof(*link));
	struct nlattr *spec, *inet6;

	link->ifi_family = AF_UNSPEC;
	link->ifi_index = s->rtnl.index;
	spec = mnl_attr_nest_start(n, IFLA_AF_SPEC);
	inet6 = mnl_attr_nest_start(n, AF_INET6);
	mnl_attr_put_u8(n, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
	mnl_attr_nest_end(n, inet6);
	mnl_attr_nest_end(n, spec);
	return rtnl_ask(&s->rtnl, n);
}

// Reads an IPv6 setting (sysctl) of the interface: its number, -1 if it cannot be read.
static int read_setting(const struct kernel_host *s, const char *path)
{
	char text[16] = "";
	const int fd = openat(s->settings, path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (fd >= 0)
		close(fd);
	return n > 0 ? atoi(text) : -1;
}

// Writes a setting. A read-only /proc/sys, as in containers, may have the right value already.
// is_least: larger values are right, too, and 0 means no limit.
static void write_setting(struct kernel_host *s, const char *name, int value, bool is_least)
{
	char path[128], text[16];
	const int len = snprintf(text, sizeof(text), "%d", value);
	int old, fd;

	snprintf(path, sizeof(path), "%s/%s", s->host->interface, name);
	old = read_setting(s, path);
	if (old == value || (is_least && (old == 0 || old > value)))
		return;
	fd = openat(s->settings, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, (size_t)len) != len)
		PORT_LOG(NOTICE, "port %s: " SETTINGS "/%s cannot be set to %d: %s",
			s->rtnl.port->name, path, value, strerror(errno));
	if (fd >= 0)
		close(fd);
}

// The directory belongs to the namespace, whichever thread opens files in it.
static void open_settings(void *ctx)
{
	struct kernel_host *s = ctx;

	s->settings = open(SETTINGS, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

// Makes the kernel accept router advertisements, even if it forwards, and make one address of each
// prefix. It solicits them when it gets its link-local address. It makes no more once it has
// max_addresses, which includes our addresses.
static void set_slaac(struct kernel_host *s)
{
	int ours = 0;

	if (s->settings < 0)
		port_netns_run(s->host->netns, open_settings, s, NULL);
	for (uint32_t i = 0; i < s->host->nb_addresses; i++)
		ours += !addr_is_v4(&s->host->addresses[i].addr);
	write_setting(s, "accept_ra", 2, false);
	write_setting(s, "autoconf", 1, false);
	write_setting(s, "use_tempaddr", 0, false);
	write_setting(s, "max_addresses", ours + LEARNED_ADDRESSES, true);
}

static int set_up(struct kernel_host *s)
{
	struct nlmsghdr *n = rtnl_begin(&s->rtnl, RTM_SETLINK, 0);
	struct ifinfomsg *link = mnl_nlmsg_put_extra_header(n, sizeof(*link));

	link->ifi_family = AF_UNSPEC;
	link->ifi_index = s->rtnl.index;
	link->ifi_flags = link->ifi_change = IFF_UP;
	return rtnl_ask(&s->rtnl, n);
}

// Sets the limits of super-frames: we must cut longer ones. A kernel that refuses has other limits,
// or no limit.
static void set_limits(struct kernel_host *s)
{
	struct nlmsghdr *n = rtnl_begin(&s->rtnl, RTM_SETLINK, 0);
	struct ifinfomsg *link = mnl_nlmsg_put_extra_header(n, sizeof(*link));
	int rc;

	link->ifi_family = AF_UNSPEC;
	link->ifi_index = s->rtnl.index;
	mnl_attr_put_u32(n, IFLA_GSO_MAX_SEGS, s->host->segments);
	mnl_attr_put_u32(n, IFLA_GSO_MAX_SIZE, s->host->bytes);
	rc = rtnl_ask(&s->rtnl, n);
	if (rc != 0)
		PORT_LOG(NOTICE, "port %s: the limits of super-frames cannot be set: %s",
			s->rtnl.port->name, strerror(-rc));
}

// --- addresses ----------------------------------------------------------------------------------

// Adds an address without duplicate detection: the data path owns the address and answers for it
// already.
static int add_address(struct kernel_host *s, const struct addr *a, uint8_t len)
{
	const bool is_v4 = addr_is_v4(a);
	struct nlmsghdr *n = rtnl_begin(&s->rtnl, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
	struct ifaddrmsg *m = mnl_nlmsg_put_extra_header(n, sizeof(*m));

	m->ifa_family = is_v4 ? AF_INET : AF_INET6;
	m->ifa_prefixlen = is_v4 ? (uint8_t)(len - 96) : len;
	m->ifa_flags = is_v4 ? 0 : IFA_F_NODAD;
	m->ifa_index = (uint32_t)s->rtnl.index;
	rtnl_put_addr(n, IFA_LOCAL, a);
	rtnl_put_addr(n, IFA_ADDRESS, a);
	return rtnl_ask(&s->rtnl, n);
}

// Adds the link-local address. The kernel may have made it already, before it was told not to: a
// DHCP client brings up an interface as soon as it sees it.
static int add_link_local(struct kernel_host *s)
{
	const int rc = add_address(s, &s->host->link_local, 64);

	return rc == -EEXIST ? 0 : rc;
}

// Returns advice for refused IPv6 addresses.
static const char *switched_off(int rc)
{
	return rc == -EACCES || rc == -EOPNOTSUPP
		? " (switched off: sysctl net.ipv6.conf.default.disable_ipv6=0)"
		: "";
}

static int add_addresses(struct kernel_host *s, bool *any_v6)
{
	const struct port_host *h = s->host;
	char text[ADDR_TEXT_LEN];

	if (h->slaac) {
		const int rc = add_link_local(s);

		if (rc != 0)
			return rtnl_fail(&s->rtnl, rc, "link-local address%s", switched_off(rc));
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
		return rtnl_fail(&s->rtnl, rc, "address %s%s",
			addr_format(&p->addr, text, sizeof(text)), is_v6 ? switched_off(rc) : "");
	}
	return 0;
}

// --- the host -----------------------------------------------------------------------------------

static int set_up_host(struct kernel_host *s)
{
	bool any_v6 = false;
	int rc = find_link(s);

	// A vtap has its interface now; a DPDK driver may make it only when the port is started
	if (rc == 0)
		set_no_autoconf(s);
	rc = s->rtnl.port->ops->start((struct port *)(uintptr_t)s->rtnl.port);
	if (rc != 0)
		return rtnl_fail(&s->rtnl, rc, "cannot be started");
	rc = find_link(s);
	if (rc != 0)
		return rtnl_fail(&s->rtnl, rc, "not there (its device has to make it)");
	if (s->host->slaac)
		set_slaac(s);
	if (s->host->segments > 0)
		set_limits(s);
	rc = set_up(s);
	if (rc != 0)
		return rtnl_fail(&s->rtnl, rc, "cannot be brought up");
	if (add_addresses(s, &any_v6) != 0)
		return -1;
	return host_routes_add(&s->rtnl, s->host->routes, s->host->nb_routes);
}

static void set_state(struct kernel_host *s, enum host_state state)
{
	__atomic_store_n(&s->state, state, __ATOMIC_RELAXED);
}

static int start_again(struct kernel_host *s, const struct port_host *h, char *error, size_t len)
{
	int rc;

	s->host = h;
	s->rtnl.reason = error;
	s->rtnl.reason_len = len;
	rc = set_up_host(s);
	set_state(s, rc == 0 ? HOST_MADE : HOST_BARE);
	if (rc != 0)
		PORT_LOG(ERR, "%s", error);
	return rc;
}

int port_kernel_host_start(struct port *p, const struct port_host *h, char *error, size_t len)
{
	struct kernel_host *s;

	if (p->kernel_host != NULL)
		return start_again(p->kernel_host, h, error, len);
	s = calloc(1, sizeof(*s));
	if (s == NULL) {
		snprintf(error, len, "out of memory");
		return -1;
	}
	s->host = h;
	s->settings = -1;
	s->rtnl = (struct rtnl){.port = p,
		.interface = h->interface,
		.netns = h->netns,
		.metric = h->metric,
		.reason = error,
		.reason_len = len};
	p->kernel_host = s; // from here on port_kernel_host_close frees it
	return rtnl_open(&s->rtnl) != 0 ? -1 : set_up_host(s);
}

int port_kernel_host_reroute(struct port *p, const struct port_routes *before,
	const struct port_routes *after, char *error, size_t len)
{
	struct rtnl *s = &p->kernel_host->rtnl;

	s->reason = error;
	s->reason_len = len;
	return host_routes_change(s, before, after);
}

// --- removal -------------------------------------------------------------------------------------

bool port_kernel_host_watch(struct port *p)
{
	struct kernel_host *s = p->kernel_host;

	if (s == NULL || s->state == HOST_GONE || is_there(s))
		return false;
	set_state(s, HOST_GONE);
	PORT_LOG(WARNING,
		"port %s: interface %s was removed: it carries no packets until a restart", p->name,
		s->rtnl.interface);
	return false;
}

bool port_kernel_host_trouble(struct port *p, char *buf, size_t len)
{
	const struct kernel_host *s = p->kernel_host;
	const enum host_state state =
		s == NULL ? HOST_MADE : __atomic_load_n(&s->state, __ATOMIC_RELAXED);

	if (state == HOST_MADE)
		return false;
	snprintf(buf, len, "interface %s was removed%s", s->rtnl.interface,
		state == HOST_GONE
			? ": a restart makes it again"
			: " and made again, but not its addresses and routes: the log says why");
	return true;
}

void port_kernel_host_close(struct port *p)
{
	if (p->kernel_host == NULL)
		return;
	rtnl_close(&p->kernel_host->rtnl);
	if (p->kernel_host->settings >= 0)
		close(p->kernel_host->settings);
	free(p->kernel_host);
	p->kernel_host = NULL;
}
