// SPDX-License-Identifier: BSD-3-Clause
// The steering ladder: rules in the NIC that steer packets from peers to the worker that owns their
// relay port. A step is in use if the NIC has accepted all its rules. If it refuses one, the
// accepted ones are destroyed and the next step is tried. Hand-over by software is below all
// steps and corrects packets that a rule steers wrongly.
#include <errno.h>
#include <stdlib.h>

#include "steering/flow_ladder.h"
#include "conf.h"
#include "conf_drivers.h"
#include "datapath.h"
#include "dp.h"
#include "steering/flow_rules.h"
#include "steering/flow_watch.h"
#include "steering/steer_counts.h"
#include "path/worker.h"

static const char *const step_names[] = {[STEER_NONE] = "none",
	[STEER_ADDRESS] = "address",
	[STEER_PORT_BITS] = "port-bits",
	[STEER_OFF] = "off"};

static void flows_destroy(struct port *p, struct steering *s)
{
	while (s->nb_flows > 0)
		p->ops->flow_destroy(p, s->flow[--s->nb_flows]);
	free(s->flow);
	s->flow = NULL;
}

static int flows_create(struct port *p, struct steering *s, const struct flow_rules *r,
	char reason[FLOW_RULES_WHY_LEN])
{
	char says[FLOW_RULES_WHY_LEN] = "";
	int rc = 0;

	s->flow = calloc(r->nb, sizeof(*s->flow));
	if (s->flow == NULL) {
		snprintf(reason, FLOW_RULES_WHY_LEN, "out of memory");
		return -ENOMEM;
	}
	while (s->nb_flows < r->nb && rc == 0) {
		rc = p->ops->flow_create(
			p, &r->rule[s->nb_flows], &s->flow[s->nb_flows], says, sizeof(says));
		s->nb_flows += rc == 0;
	}
	if (rc == 0)
		return 0;
	// the driver's text may be truncated, but not the number of accepted rules
	snprintf(reason, FLOW_RULES_WHY_LEN, "rule %u of %u: %.*s", s->nb_flows + 1, r->nb,
		FLOW_RULES_WHY_LEN - 32, says);
	flows_destroy(p, s);
	return rc;
}

static bool try_step(struct port *p, struct steering *s, const struct flow_rules_want *want,
	enum flow_rules_step step, char reason[FLOW_RULES_WHY_LEN])
{
	struct flow_rules r;
	int rc = flow_rules_make(want, step, &r, reason);

	if (rc == 0)
		rc = flows_create(p, s, &r, reason);
	free(r.rule);
	return rc == 0;
}

// The step that the port's configuration names, else that of its driver's profile.
static enum conf_steering wanted_step(const struct dp_port *p)
{
	return p->conf->steering != CONF_STEERING_AUTO || p->profile == NULL ? p->conf->steering
									     : p->profile->steering;
}

// Why rules are not tried, as logged; NULL if they are.
static const char *no_rules(
	const struct dp *d, const struct dp_port *p, char reason[FLOW_RULES_WHY_LEN])
{
	if (wanted_step(p) == CONF_STEERING_OFF)
		return p->conf->steering == CONF_STEERING_OFF ? "as configured"
							      : "by the profile of its driver";
	if (p->port->nb_rxq < d->nb_workers) {
		snprintf(reason, FLOW_RULES_WHY_LEN, "%u receive queues for %u workers",
			p->port->nb_rxq, d->nb_workers);
		return reason;
	}
	return p->port->ops->flow_create == NULL ? "this kind of port takes no rules" : NULL;
}

static void set_reason(struct steering *s, enum steer_step step, const char *reason)
{
	snprintf(s->reason[step], FLOW_RULES_WHY_LEN, "%s", reason);
}

static void climb_ladder(struct dp_port *p, struct steering *s, const struct flow_rules_want *want)
{
	const enum conf_steering wish = wanted_step(p);

	s->step = STEER_ADDRESS;
	if (wish != CONF_STEERING_PORT_BITS &&
		try_step(p->port, s, want, FLOW_RULES_ADDRESS, s->reason[STEER_ADDRESS]))
		return;
	s->step = STEER_PORT_BITS;
	if (wish == CONF_STEERING_PORT_BITS)
		set_reason(s, STEER_ADDRESS, "port-bits is configured");
	if (wish != CONF_STEERING_ADDRESS &&
		try_step(p->port, s, want, FLOW_RULES_PORT_BITS, s->reason[STEER_PORT_BITS]))
		return;
	s->step = STEER_OFF;
}

static void install_family(struct dp *d, struct dp_port *p, bool is_v4)
{
	const struct flow_rules_want want = {
		.port = p->conf->loopback ? &d->conf->ports[p->conf->on] : p->conf,
		.turn = &d->conf->turn,
		.map = d->map,
		.is_v4 = is_v4};
	struct steering *s = &p->steering[is_v4];
	char text[FLOW_RULES_WHY_LEN];
	const char *reason;

	*s = (struct steering){.step = STEER_NONE};
	if (d->nb_workers == 1)
		set_reason(s, STEER_ADDRESS, "one worker");
	else if (flow_rules_addresses(&want) == 0)
		set_reason(s, STEER_ADDRESS, "no relay address");
	else if ((reason = no_rules(d, p, text)) == NULL)
		climb_ladder(p, s, &want);
	else {
		s->step = STEER_OFF;
		set_reason(s, STEER_PORT_BITS, reason);
	}
}

void flow_ladder_install(struct dp *d, unsigned int port)
{
	// IPv4 first: if a NIC has room for one family only, most sites need that one
	install_family(d, &d->port[port], true);
	install_family(d, &d->port[port], false);
}

void flow_ladder_remove(struct dp *d, unsigned int port)
{
	for (unsigned int is_v4 = 0; is_v4 < 2; is_v4++)
		flows_destroy(d->port[port].port, &d->port[port].steering[is_v4]);
}

// --- results ------------------------------------------------------------------------------------

// Datagrams from peers of a family that have come in: on their worker's queue, and elsewhere.
static void count_hits(
	const struct dp *d, unsigned int port, bool is_v4, uint64_t *hits, uint64_t *elsewhere)
{
	*hits = *elsewhere = 0;
	for (unsigned int w = 0; w < d->nb_workers; w++) {
		const struct steer_counts *c = &d->worker[w]->steer[port];
		// read after `came`, so the difference is never below 0
		const uint64_t n = __atomic_load_n(&c->elsewhere[is_v4], __ATOMIC_ACQUIRE);

		*elsewhere += n;
		*hits += __atomic_load_n(&c->came[is_v4], __ATOMIC_RELAXED) - n;
	}
}

void flow_ladder_watch(struct dp *d, uint64_t now_ms)
{
	for (unsigned int p = 0; p < d->nb_ports; p++) {
		for (unsigned int v4 = 0; v4 < 2; v4++) {
			struct steering *s = &d->port[p].steering[v4];
			uint64_t hits, elsewhere;

			if (s->step != STEER_ADDRESS && s->step != STEER_PORT_BITS)
				continue;
			count_hits(d, p, v4, &hits, &elsewhere);
			flow_watch_look(&s->watch, hits, elsewhere, now_ms);
		}
	}
}

bool dp_steering(const struct dp *d, unsigned int port, bool is_v4, struct dp_steering *out)
{
	const struct steering *s;
	bool both;

	if (port >= d->nb_ports)
		return false;
	s = &d->port[port].steering[is_v4];
	both = s->step == STEER_OFF && s->reason[STEER_PORT_BITS][0] != '\0';
	*out = (struct dp_steering){.step = step_names[s->step],
		.reason = s->reason[both ? STEER_PORT_BITS : STEER_ADDRESS],
		.why_address = both ? s->reason[STEER_ADDRESS] : "",
		.rules = s->nb_flows,
		.degraded = __atomic_load_n(&s->watch.degraded, __ATOMIC_RELAXED)};
	count_hits(d, port, is_v4, &out->hits, &out->handed_over);
	return true;
}
