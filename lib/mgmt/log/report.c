// SPDX-License-Identifier: BSD-3-Clause
// Logs the configuration at the start, and the totals at the end.

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include <rte_version.h>

#include "log/log.h"
#include "log/report.h"
#include "state/state_facts.h"
#include "conf_drivers.h"

#define LISTENERS_TOLD 16
#define STEERING_LEN 256 // bytes: a step and two reasons

// Writes "address (16 rules)", "off (address: ...; port-bits: ...)" or "none (one worker)".
static void steering_text(const struct dp_steering *s, char *buf, size_t len)
{
	if (s->rules > 0)
		snprintf(buf, len, "%s (%u rules%s%s)", s->step, s->rules,
			s->reason[0] != '\0' ? "; address: " : "", s->reason);
	else if (s->why_address[0] != '\0')
		snprintf(buf, len, "%s (address: %s; port-bits: %s)", s->step, s->why_address,
			s->reason);
	else
		snprintf(buf, len, "%s (%s)", s->step, s->reason);
}

// Writes the steering of both families, once if they are equal.
static void port_steering(const struct dp *d, unsigned int port, char *buf, size_t len)
{
	struct dp_steering v4, v6;
	char text[2][STEERING_LEN];

	dp_steering(d, port, true, &v4);
	dp_steering(d, port, false, &v6);
	steering_text(&v4, text[0], sizeof(text[0]));
	steering_text(&v6, text[1], sizeof(text[1]));
	if (strcmp(text[0], text[1]) == 0)
		snprintf(buf, len, "%s", text[0]);
	else
		snprintf(buf, len, "ipv4 %s, ipv6 %s", text[0], text[1]);
}

static void report_port(const struct dp *d, unsigned int i)
{
	struct port *p = dp_port(d, i);
	const char *rss = !p->rss ? "none" : p->rss_udp ? "addresses and ports" : "addresses";
	char vlan[24] = "", steering[2 * STEERING_LEN + 16], offloads[64];

	port_steering(d, i, steering, sizeof(steering));
	if (p->on != NULL) {
		LOG(START, INFO, "port %s: vlan %u on port %s, mtu %u, steering %s", p->name,
			p->vlan, p->on->name, p->mtu, steering);
		return;
	}
	if (p->vlan != 0)
		snprintf(vlan, sizeof(vlan), ", vlan %u", p->vlan);
	LOG(START, INFO,
		"port %s: %s, %02x:%02x:%02x:%02x:%02x:%02x, queues rx %u tx %u, mtu %u%s, rss %s, "
		"offloads %s, steering %s, link %s",
		p->name, p->driver, p->mac[0], p->mac[1], p->mac[2], p->mac[3], p->mac[4],
		p->mac[5], p->nb_rxq, p->nb_txq, p->mtu, vlan, rss,
		port_offloads(p, offloads, sizeof(offloads)), steering,
		p->ops->link(p) ? "up" : "down");
}

// Logs the settings of the driver's profile, and which of them the device could not take.
static void report_profile(const struct dp *d, const struct conf *c, unsigned int i)
{
	const struct conf_driver *v = dp_profile(d, i);
	const struct conf_port *cp = &c->ports[i];
	const struct port *p = dp_port(d, i);

	if (cp->shares)
		return; // the line of its device says it
	if (v == NULL) {
		LOG(START, INFO, "port %s: rings rx %u tx %u, no profile of driver %s", p->name,
			p->rx_ring, p->tx_ring, p->driver);
		return;
	}
	LOG(START, INFO, "port %s: rings rx %u tx %u, profile %s (%s)", p->name, p->rx_ring,
		p->tx_ring, v->path, v->tested);
	if (p->rx_ring < v->rx_ring || p->tx_ring < v->tx_ring)
		LOG(PORTS, WARNING,
			"port %s: %s asks for rings of %u and %u: the device has fewer "
			"descriptors, or there are too few packet buffers for them",
			p->name, v->path, v->rx_ring, v->tx_ring);
	if (v->devargs != NULL && v->devargs[0] != '\0' &&
		conf_driver_of_device(c->drivers, cp->device) != v)
		LOG(PORTS, WARNING,
			"port %s: devargs of %s are for devices that are named by driver: write "
			"'%s' after the address in ports[].device",
			p->name, v->path, v->devargs);
}

static void report_exception(const struct dp *d, const struct conf *c, unsigned int i)
{
	char offloads[64];
	struct dp_exception e;

	if (!dp_exception(d, i, &e))
		return;
	LOG(START, INFO,
		"port %s: exception port %s%s%s, %s, allows %u services, %u packets/s, offloads %s",
		dp_port(d, i)->name, e.interface, e.netns[0] != '\0' ? " in namespace " : "",
		e.netns, e.port->driver, c->ports[i].exception.nb_allow, c->ports[i].exception.rate,
		port_offloads(e.port, offloads, sizeof(offloads)));
}

static void report_workers(const struct dp *d, const struct conf *c)
{
	char lcores[TURN_WORKERS_MAX * 4 + 1];
	size_t used = 0;

	lcores[0] = '\0';
	for (unsigned int w = 0; w < dp_workers(d) && used + 8 < sizeof(lcores); w++)
		used += (size_t)snprintf(
			lcores + used, sizeof(lcores) - used, " %u", dp_worker_lcore(d, w));
	LOG(START, INFO, "workers: %u, idle %s, on lcores%s; %u woken by their ports",
		dp_workers(d), conf_idle_name(c->idle), lcores,
		c->idle != CONF_IDLE_BUSY ? dp_waiters(d) : 0);
}

static void report_listeners(const struct turn_config *t)
{
	static const char *const transports[] = {[TURN_OVER_UDP] = "udp",
		[TURN_OVER_TCP] = "tcp",
		[TURN_OVER_TLS] = "tls",
		[TURN_OVER_AUTO] = "tcp or tls",
		[TURN_OVER_DTLS] = "dtls"};
	char text[ADDR_TEXT_LEN + 8];

	for (uint32_t i = 0; i < t->nb_listeners && i < LISTENERS_TOLD; i++) {
		const struct turn_listener *l = &t->listeners[i];
		char dscp[16] = "";

		if (l->dscp != TURN_DSCP_COPY)
			snprintf(dscp, sizeof(dscp), ", dscp %u", turn_listener_tos(l) >> 2);
		LOG(START, INFO, "listener: %s %s%s%s", transports[l->transport],
			addr_format_endpoint(&l->endpoint, text, sizeof(text)), dscp,
			l->proxy.nb_from > 0 ? ", by balancers" : "");
	}
	if (t->nb_listeners > LISTENERS_TOLD)
		LOG(START, INFO, "listener: and %u more", t->nb_listeners - LISTENERS_TOLD);
}

// The number of UDP ports of a relay address in the relay range that no listener has.
const char *mgmt_report_relay(const struct turn_config *t, char *buf, size_t len)
{
	const uint32_t range = (uint32_t)t->port_hi - t->port_lo + 1;
	uint64_t most = 0;

	for (uint32_t i = 0; i < t->nb_relay; i++)
		most += conf_relay_left(t, &t->relay[i]);
	// with shared ports no allocation has a port to itself
	if (turn_config_shares_ports(t) ||
		(t->limits.allocations != 0 && t->limits.allocations < most))
		most = t->limits.allocations;
	snprintf(buf, len,
		"%u address%s with %u %sport%s each (%u-%u), %" PRIu64 " allocation%s at most",
		t->nb_relay, t->nb_relay == 1 ? "" : "es", range,
		turn_config_shares_ports(t) ? "shared " : "", range == 1 ? "" : "s", t->port_lo,
		t->port_hi, most, most == 1 ? "" : "s");
	return buf;
}

// Logs external addresses, routes and pools: because of these, packets go to other places than
// their addresses say.
static void report_routing(const struct conf *c)
{
	static const struct addr none;
	char text[ADDR_TEXT_LEN], other_text[ADDR_TEXT_LEN];
	uint32_t told = 0;

	for (uint32_t i = 0; i < c->turn.nb_local && told < LISTENERS_TOLD; i++) {
		const struct turn_local *l = &c->turn.local[i];

		if (addr_eq(&l->external, &none))
			continue;
		LOG(START, INFO, "address %s is %s outside",
			addr_format(&l->addr, text, sizeof(text)),
			addr_format(&l->external, other_text, sizeof(other_text)));
		told++;
	}
	for (uint32_t i = 0; i < c->nb_ports; i++)
		for (uint32_t k = 0; k < c->ports[i].nb_routes; k++) {
			const struct conf_route *route = &c->ports[i].routes[k];
			const bool is_v4 = addr_is_v4(&route->via);

			LOG(START, INFO, "route: %s/%u by port %s through %s",
				addr_format(&route->dst.addr, text, sizeof(text)),
				is_v4 ? route->dst.len - 96u : route->dst.len, c->ports[i].name,
				addr_format(&route->via, other_text, sizeof(other_text)));
		}
	for (uint32_t i = 0; i < c->turn.nb_relay_pools; i++)
		LOG(START, INFO, "relay pool %s: %s for peers in %s, %u prefixes in all",
			c->turn.relay_pools[i].name,
			addr_format(&c->turn.relay_pools[i].addresses[0], text, sizeof(text)),
			addr_format(&c->turn.relay_pools[i].peers[0].addr, other_text,
				sizeof(other_text)),
			c->turn.relay_pools[i].nb_peers);
}

void mgmt_report_start(const struct dp *d, const struct conf *c, const char *memory)
{
	const struct turn_config *t = &c->turn;
	char relay[128];

	LOG(START, INFO, "slipring %s, %s, pid %d, configuration %s", SLIPRING_VERSION,
		rte_version(), (int)getpid(), c->path);
	LOG(START, INFO, "memory: %s", memory);
	for (unsigned int i = 0; i < dp_ports(d); i++)
		report_port(d, i);
	for (unsigned int i = 0; i < dp_ports(d); i++)
		report_profile(d, c, i);
	for (unsigned int i = 0; i < dp_ports(d); i++)
		report_exception(d, c, i);
	report_workers(d, c);
	report_listeners(t);
	LOG(START, INFO, "relay: %s", mgmt_report_relay(t, relay, sizeof(relay)));
	report_routing(c);
	state_facts_log(d);
	LOG(START, INFO, "ready");
}

// Logs all drop reasons that occurred, in one line.
static void report_drops(const struct dp_stats *s)
{
	char line[MGMT_LOG_LINE_LEN - 64];
	size_t used = 0;

	for (unsigned int i = 0; i < DP_DROP_END; i++) {
		if (s->drop[i] == 0)
			continue;
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s %" PRIu64,
			used > 0 ? ", " : "", dp_drop_name(i), s->drop[i]);
		if (used > sizeof(line) - 64) {
			LOG(START, INFO, "drops: %s", line);
			used = 0;
		}
	}
	if (used > 0)
		LOG(START, INFO, "drops: %s", line);
}

void mgmt_report_stop(const struct dp *d, uint64_t uptime_s)
{
	struct dp_stats s;

	dp_total_stats(d, &s);
	LOG(START, INFO,
		"totals: up %" PRIu64 " s, rx %" PRIu64 " (%" PRIu64 " bytes), tx %" PRIu64
		" (%" PRIu64 " bytes), allocations %" PRIu64 ", auth failures %" PRIu64,
		uptime_s, s.rx, s.rx_bytes, s.tx, s.tx_bytes, s.turn.allocations_total,
		s.turn.auth_failures);
	report_drops(&s);
}
