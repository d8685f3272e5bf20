// SPDX-License-Identifier: BSD-3-Clause
// Adds, changes and deletes routes of an interface.
#include "host/host_routes.h"

#include <errno.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

#include "host/rtnl.h"
#include "port_log.h"

static unsigned int prefix_len(const struct port_route *r)
{
	return addr_is_v4(&r->via) ? r->dst.len - 96u : r->dst.len;
}

static int request_route(struct rtnl *s, const struct port_route *r, uint16_t type, uint16_t flags)
{
	const bool is_v4 = addr_is_v4(&r->via);
	struct nlmsghdr *n = rtnl_begin(s, type, flags);
	struct rtmsg *m = mnl_nlmsg_put_extra_header(n, sizeof(*m));

	m->rtm_family = is_v4 ? AF_INET : AF_INET6;
	m->rtm_dst_len = (uint8_t)prefix_len(r);
	m->rtm_table = RT_TABLE_MAIN;
	m->rtm_protocol = RTPROT_STATIC;
	m->rtm_scope = RT_SCOPE_UNIVERSE;
	m->rtm_type = RTN_UNICAST;
	m->rtm_flags = RTNH_F_ONLINK; // the router of a /32 or /128 address is in no subnet
	if (m->rtm_dst_len != 0)
		rtnl_put_addr(n, RTA_DST, &r->dst.addr);
	rtnl_put_addr(n, RTA_GATEWAY, &r->via);
	mnl_attr_put_u32(n, RTA_OIF, (uint32_t)s->index);
	mnl_attr_put_u32(n, RTA_PRIORITY, s->metric);
	return rtnl_ask(s, n);
}

static int fail_route(struct rtnl *s, int rc, const struct port_route *r)
{
	char dst[ADDR_TEXT_LEN], via[ADDR_TEXT_LEN];

	addr_format(&r->via, via, sizeof(via));
	if (prefix_len(r) == 0)
		return rtnl_fail(s, rc, "default route through %s, metric %u", via, s->metric);
	return rtnl_fail(s, rc, "route to %s/%u through %s, metric %u",
		addr_format(&r->dst.addr, dst, sizeof(dst)), prefix_len(r), via, s->metric);
}

int host_routes_add(struct rtnl *s, const struct port_route *routes, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++) {
		const int rc =
			request_route(s, &routes[i], RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL);

		if (rc != 0)
			return fail_route(s, rc, &routes[i]);
	}
	return 0;
}

// Returns the route to the same destination, or NULL. There are few routes.
static const struct port_route *find_route(const struct port_routes *in, const struct port_route *r)
{
	for (uint32_t i = 0; i < in->nb; i++)
		if (addr_is_v4(&in->route[i].via) == addr_is_v4(&r->via) &&
			in->route[i].dst.len == r->dst.len &&
			(prefix_len(r) == 0 || addr_eq(&in->route[i].dst.addr, &r->dst.addr)))
			return &in->route[i];
	return NULL;
}

// Adds a route, or replaces the kernel's route `had`.
static int put_route(struct rtnl *s, const struct port_route *r, const struct port_route *had)
{
	if (had != NULL && addr_eq(&had->via, &r->via))
		return 0;
	return request_route(
		s, r, RTM_NEWROUTE, NLM_F_CREATE | (had != NULL ? NLM_F_REPLACE : NLM_F_EXCL));
}

static void delete_route(struct rtnl *s, const struct port_route *r)
{
	const int rc = request_route(s, r, RTM_DELROUTE, 0);
	char via[ADDR_TEXT_LEN];

	if (rc != 0 && rc != -ESRCH) // somebody else may have deleted the route
		PORT_LOG(WARNING, "port %s: interface %s: a route through %s cannot be deleted: %s",
			s->port->name, s->interface, addr_format(&r->via, via, sizeof(via)),
			strerror(-rc));
}

// Undoes the first nb routes of `after`.
static void undo_routes(struct rtnl *s, const struct port_routes *before,
	const struct port_routes *after, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++) {
		const struct port_route *had = find_route(before, &after->route[i]);

		if (had == NULL)
			delete_route(s, &after->route[i]);
		else
			put_route(s, had, &after->route[i]);
	}
}

int host_routes_change(
	struct rtnl *s, const struct port_routes *before, const struct port_routes *after)
{
	for (uint32_t i = 0; i < after->nb; i++) {
		const struct port_route *r = &after->route[i];
		const int rc = put_route(s, r, find_route(before, r));

		if (rc == 0)
			continue;
		undo_routes(s, before, after, i);
		return fail_route(s, rc, r);
	}
	for (uint32_t i = 0; i < before->nb; i++)
		if (find_route(after, &before->route[i]) == NULL)
			delete_route(s, &before->route[i]);
	return 0;
}
