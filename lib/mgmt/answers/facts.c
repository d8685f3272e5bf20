// SPDX-License-Identifier: BSD-3-Clause
// The commands status, drops, workers and steering.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "crash/crash_files.h"
#include "dp_realms.h"
#include "drain/drains.h"
#include "events/events.h"
#include "link/kernel_ports.h"
#include "mgmt_features.h"
#include "reload/reload.h"
#include "reload/in_use.h"
#include "telemetry/rows.h"
#include "socket/commands.h"
#include "socket/fields.h"
#include "answers/shown.h"
#include "state/state_facts.h"
#include "stream_refusals.h"
#include "watch/clock_rate.h"
#include "watch/watch.h"

#define BUFFERS_FEW 20 // warn when fewer than 1/20 of the packet buffers are free
#define REFUSED_S 60 // how long the status shows a refusal

// --- samples of the counters ---------------------------------------------------------------------

static bool look_make(struct facts_look *l, unsigned int workers)
{
	l->stats = calloc(workers, sizeof(*l->stats));
	return l->stats != NULL;
}

static void look_take(const struct control *k, struct facts_look *l)
{
	l->at_ms = clock_monotonic_ms();
	for (unsigned int w = 0; w < dp_workers(k->dp); w++)
		dp_worker_stats(k->dp, w, &l->stats[w]);
}

int facts_open(struct control *k)
{
	const unsigned int n = dp_workers(k->dp);
	struct facts *f = &k->facts;

	if (!look_make(&f->last, n) || !look_make(&f->before, n) || !look_make(&f->now, n))
		return -ENOMEM;
	f->started_ms = clock_monotonic_ms();
	look_take(k, &f->before);
	look_take(k, &f->last);
	return 0;
}

void facts_tick(struct control *k)
{
	const struct facts_look oldest = k->facts.before;

	k->facts.before = k->facts.last;
	k->facts.last = oldest;
	look_take(k, &k->facts.last);
}

void facts_close(struct control *k)
{
	free(k->facts.last.stats);
	free(k->facts.before.stats);
	free(k->facts.now.stats);
}

static const struct facts_look *look_now(struct command *c)
{
	look_take(c->control, &c->control->facts.now);
	return &c->control->facts.now;
}

static uint64_t read_counter(const struct facts_look *l, unsigned int worker, size_t offset)
{
	uint64_t v;

	memcpy(&v, (const char *)&l->stats[worker] + offset, sizeof(v));
	return v;
}

static uint64_t sum_growth(const struct control *k, int worker, size_t offset)
{
	uint64_t sum = 0;

	for (unsigned int w = 0; w < dp_workers(k->dp); w++)
		if (worker < 0 || w == (unsigned int)worker)
			sum += read_counter(&k->facts.now, w, offset) -
				read_counter(&k->facts.before, w, offset);
	return sum;
}

// Growth per second of the counter at an offset, for one worker, or, with -1, for all.
static uint64_t counter_rate(const struct control *k, int worker, size_t offset)
{
	const uint64_t ms = k->facts.now.at_ms - k->facts.before.at_ms;

	return ms > 0 ? sum_growth(k, worker, offset) * 1000 / ms : 0;
}

static uint64_t drop_rate(const struct control *k, int worker, unsigned int reason)
{
	return counter_rate(k, worker, offsetof(struct dp_stats, drop) + reason * sizeof(uint64_t));
}

static uint64_t drops_rate(const struct control *k, int worker)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < DP_DROP_END; i++)
		sum += drop_rate(k, worker, i);
	return sum;
}

// Percentage of its time that a worker was busy.
static double load_of(const struct control *k, int worker)
{
	const uint64_t total = sum_growth(k, worker, offsetof(struct dp_stats, total_cycles));
	const uint64_t busy = sum_growth(k, worker, offsetof(struct dp_stats, busy_cycles));
	const uint64_t tenths = total > 0 ? busy * 1000 / total : 0;

	return (double)tenths / 10;
}

static void add_rates(json_t *o, const struct control *k, int worker)
{
	const struct {
		const char *name;
		size_t offset;
	} rows[] = {
		{"rx", offsetof(struct dp_stats, rx)},
		{"tx", offsetof(struct dp_stats, tx)},
		{"rx_bytes", offsetof(struct dp_stats, rx_bytes)},
		{"tx_bytes", offsetof(struct dp_stats, tx_bytes)},
		{"allocations", offsetof(struct dp_stats, turn.allocations_total)},
		{"auth_failures", offsetof(struct dp_stats, turn.auth_failures)},
	};
	json_t *rates = json_object();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		json_object_set_new(
			rates, rows[i].name, shown_number(counter_rate(k, worker, rows[i].offset)));
	json_object_set_new(rates, "drops", shown_number(drops_rate(k, worker)));
	json_object_set_new(o, "rates", rates);
}

// The limit of limits.allocations. 0 if the number of relay ports is lower: then one family may run
// out long before the other.
static uint64_t allocations_most(const struct control *k, const struct dp_stats *s)
{
	const uint64_t most = k->conf->turn.limits.allocations;

	return turn_config_shares_ports(&k->conf->turn) ||
			most < s->turn.ports[0] + s->turn.ports[1]
		? most
		: 0;
}

// --- warnings ------------------------------------------------------------------------------------

__attribute__((format(printf, 2, 3))) static void add_warning(json_t *list, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_append_new(list, json_string(text)); // names of ports are plain words
}

static void warn_trouble(struct port *p, json_t *list)
{
	char trouble[256];

	if (p->ops->trouble != NULL && p->ops->trouble(p, trouble, sizeof(trouble)))
		add_warning(list, "port %s: %s", p->name, trouble);
}

static void warn_ports(const struct control *k, json_t *list)
{
	for (unsigned int i = 0; i < dp_ports(k->dp); i++) {
		struct port *p = dp_port(k->dp, i);
		struct dp_exception e;

		warn_trouble(p, list);
		if (dp_exception(k->dp, i, &e))
			warn_trouble(e.port, list);
		if (!p->ops->link(p))
			add_warning(list,
				"port %s: its link is down: check the cable or the switch",
				p->name);
		for (int is_v4 = 0; is_v4 < 2; is_v4++) {
			struct dp_steering s;

			if (dp_steering(k->dp, i, is_v4, &s) && s.degraded)
				add_warning(list,
					"port %s: steering of %s is degraded: see steering",
					p->name, is_v4 ? "IPv4" : "IPv6");
		}
	}
}

static void warn_kernel_ports(const struct control *k, json_t *list)
{
	char text[512];

	if (kernel_ports_wrong(k->conf, KERNEL_PORTS_SYSCTL, text, sizeof(text)))
		add_warning(list, "%s", text);
}

static void warn_addresses(const struct control *k, json_t *list)
{
	struct dp_learned rows[DP_LEARNED_MAX];
	const unsigned int n = dp_learned(k->dp, rows);
	char text[ADDR_TEXT_LEN];

	for (unsigned int i = 0; i < n; i++)
		if (rows[i].lost)
			add_warning(list,
				"port %s: interface %s has lost the address %s: it gets no new "
				"allocations; see ip addr, and the DHCP server or router",
				rows[i].port, rows[i].interface,
				addr_format(&rows[i].addr, text, sizeof(text)));
}

static void warn_reload(const struct control *k, json_t *list)
{
	struct mgmt_reload_state s;
	char text[400];

	mgmt_reload_state(k->reload, &s);
	if (s.how == MGMT_RELOAD_REFUSED)
		add_warning(list, "the last reload was refused: %s",
			mgmt_rows_text(s.text, text, sizeof(text)));
}

// Checks the certificates in use: a renewed file may not have been read yet.
static void warn_certificates(const struct control *k, json_t *list)
{
	char text[160], path[3 * STREAM_PATH_LEN];
	struct stream_certificate c;

	for (unsigned int i = 0; dp_certificate(k->dp, i, &c); i++)
		if (stream_expiry_text(&c.validity, time(NULL), text, sizeof(text)))
			add_warning(list, "certificate in use: %s: %s",
				mgmt_rows_text(c.path, path, sizeof(path)), text);
}

// Warns only of drops that the operator can prevent.
static void warn_drops(const struct control *k, json_t *list)
{
	for (unsigned int i = 0; i < DP_DROP_END; i++) {
		const uint64_t n = drop_rate(k, -1, i);

		if (n > 0 && dp_drop_advice(i)[0] != '\0')
			add_warning(list, "drops: %s, %" PRIu64 " a second: %s", dp_drop_name(i), n,
				dp_drop_advice(i));
	}
}

// Warns of clients that are refused for a limit that they share with others, as they get no reason.
static void warn_refused(const struct control *k, json_t *list)
{
	static const enum stream_refusal about[] = {STREAM_REFUSED_TOTAL, STREAM_REFUSED_SOURCE,
		STREAM_REFUSED_NETWORK, STREAM_REFUSED_FILES, STREAM_REFUSED_DTLS_TOTAL,
		STREAM_REFUSED_DTLS_SOURCE, STREAM_REFUSED_DTLS_NETWORK};
	const uint64_t since_ms = (uint64_t)(time(NULL) - REFUSED_S) * 1000;
	char text[ADDR_TEXT_LEN];
	struct addr client;

	for (unsigned int i = 0; i < sizeof(about) / sizeof(about[0]); i++) {
		const struct stream_refusal_info *r = stream_refusal_info(about[i]);

		if (mgmt_events_refused(k->events, about[i], since_ms, &client))
			add_warning(list,
				"connections are refused (%s), most recently from %s: %s: %s",
				r->name, addr_format(&client, text, sizeof(text)), r->text,
				r->advice);
	}
}

static void warn_watch(json_t *list)
{
	struct watch_counters n;

	watch_counters(&n);
	if (watch_crashes()->newest[0] != '\0')
		add_warning(list, "the last run has crashed: see crash newest");
	if (n.workers + n.management + n.threads > 0)
		add_warning(list,
			"alarms since the start: workers %" PRIu64 ", management %" PRIu64
			", other threads %" PRIu64 ": they made no progress; see the log",
			n.workers, n.management, n.threads);
}

// Warns of resources that will soon run out: relay ports of a family, allocations, packet buffers.
static void warn_full(const struct control *k, const struct dp_stats *s, json_t *list)
{
	const uint64_t most = allocations_most(k, s);

	for (unsigned int is_v4 = 0; is_v4 < 2; is_v4++)
		if (s->turn.ports_free[is_v4] * 10 < s->turn.ports[is_v4])
			add_warning(list,
				"%" PRIu64 " of %" PRIu64
				" relay ports of %s are free: add relay.addresses, or enlarge "
				"relay.ports",
				s->turn.ports_free[is_v4], s->turn.ports[is_v4],
				is_v4 ? "IPv4" : "IPv6");
	if (most > 0 && s->turn.allocations * 10 >= most * 9)
		add_warning(list,
			"%" PRIu64 " of %" PRIu64
			" allocations: the limit is near; see limits.allocations",
			s->turn.allocations, most);
	if (dp_buffers_free(k->dp) < k->conf->mbufs / BUFFERS_FEW)
		add_warning(list, "%u of %u packet buffers are free: workers are overloaded",
			dp_buffers_free(k->dp), k->conf->mbufs);
}

static json_t *list_warnings(const struct control *k, const struct dp_stats *s)
{
	json_t *list = json_array();
	char text[256];

	if (drains_told(k->drain, text, sizeof(text)))
		add_warning(list, "%s", text);
	if (clock_rate_trouble(text, sizeof(text)))
		add_warning(list, "%s", text);
	warn_ports(k, list);
	warn_addresses(k, list);
	warn_kernel_ports(k, list);
	warn_certificates(k, list);
	warn_reload(k, list);
	warn_full(k, s, list);
	for (unsigned int w = 0; w < dp_workers(k->dp); w++)
		if (load_of(k, (int)w) >= 90)
			add_warning(list, "worker %u: busy for %.1f %% of its time: add workers", w,
				load_of(k, (int)w));
	warn_drops(k, list);
	warn_refused(k, list);
	warn_watch(list);
	return list;
}

// --- commands ------------------------------------------------------------------------------------

static void add_counters(json_t *o, const struct dp_stats *s)
{
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{"rx", s->rx},
		{"tx", s->tx},
		{"rx_bytes", s->rx_bytes},
		{"tx_bytes", s->tx_bytes},
		{"drops", dp_stats_drops(s)},
		{"held", s->held},
		{"allocations", s->turn.allocations},
		{"permissions", s->turn.permissions},
		{"channels", s->turn.channels},
		{"allocations_total", s->turn.allocations_total},
		{"auth_failures", s->turn.auth_failures},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		json_object_set_new(o, rows[i].name, shown_number(rows[i].value));
}

// Datagrams that a realm has relayed and lost, with the names of records.
static json_t *realm_of(const char *name, const struct dp_realm *r)
{
	static const char *const legs[] = {
		[TURN_FROM_CLIENT] = "from_client", [TURN_FROM_PEER] = "from_peers"};
	const struct turn_sums *u = &r->sums;
	json_t *o = json_object(), *lost = json_object();

	json_object_set_new(o, "realm", shown_text(name));
	json_object_set_new(o, "allocations", shown_number(r->allocations));
	for (unsigned int leg = 0; leg < 2; leg++)
		json_object_set_new(o, legs[leg],
			json_pack("{s:o, s:o}", "datagrams", shown_number(u->datagrams[leg]),
				"bytes", shown_number(u->bytes[leg])));
	for (unsigned int i = 0; i < TURN_LOSS_END; i++)
		json_object_set_new(lost, turn_loss_name(i), shown_number(u->lost[i]));
	json_object_set_new(o, "lost", lost);
	return o;
}

static json_t *list_realms(const struct control *k, const struct dp_stats *s)
{
	const struct turn_config *t = &k->conf->turn;
	json_t *list = json_array();
	struct dp_realm r;

	in_use_read();
	for (uint32_t i = 0; i < turn_config_nb_realms(t); i++) {
		const struct turn_realm *realm = turn_config_realm(t, i);

		dp_realm_stats(k->dp, s, realm->number, &r);
		json_array_append_new(list, realm_of(realm->name, &r));
	}
	in_use_done();
	return list;
}

// By family; empty with shared ports.
static json_t *relay_ports(const struct dp_stats *s)
{
	json_t *list = json_array();

	for (int is_v4 = 1; is_v4 >= 0; is_v4--)
		if (s->turn.ports[is_v4] > 0)
			json_array_append_new(list,
				json_pack("{s:s, s:o, s:o}", "family", is_v4 ? "ipv4" : "ipv6",
					"free", shown_number(s->turn.ports_free[is_v4]), "all",
					shown_number(s->turn.ports[is_v4])));
	return list;
}

static json_t *list_links(const struct control *k)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < dp_ports(k->dp); i++) {
		struct port *p = dp_port(k->dp, i);

		json_array_append_new(list,
			json_pack("{s:o, s:b}", "port", shown_text(p->name), "up",
				(int)p->ops->link(p)));
	}
	return list;
}

static json_t *control_clients(const struct control *k)
{
	const struct clients *cs = &k->clients;
	json_t *o = json_object();

	json_object_set_new(o, "connections", shown_number(cs->nb));
	json_object_set_new(o, "refused", shown_number(cs->refused));
	json_object_set_new(o, "unread", shown_number(cs->unread));
	json_object_set_new(o, "broken", shown_number(cs->broken));
	json_object_set_new(o, "idle", shown_number(cs->idle));
	json_object_set_new(o, "denied", shown_number(cs->denied));
	return o;
}

enum command_end facts_status(struct command *c)
{
	struct control *k = c->control;
	const struct facts_look *now = look_now(c);
	struct dp_stats total;
	struct stream_stats streams = {0};
	json_t *o = c->out, *load = json_array();

	dp_total_stats(k->dp, &total);
	dp_streams(k->dp, &streams);
	json_object_set_new(o, "version", json_string(SLIPRING_VERSION));
	json_object_set_new(o, "pid", shown_number((uint64_t)getpid()));
	json_object_set_new(o, "configuration", shown_text(k->conf->path));
	json_object_set_new(o, "realm", shown_text(k->conf->turn.first.name));
	json_object_set_new(o, "uptime", shown_number((now->at_ms - k->facts.started_ms) / 1000));
	add_counters(o, &total);
	if (allocations_most(k, &total) > 0)
		json_object_set_new(
			o, "allocations_most", shown_number(allocations_most(k, &total)));
	json_object_set_new(o, "relay_ports", relay_ports(&total));
	json_object_set_new(o, "streams", shown_number(streams.connections));
	json_object_set_new(o, "dtls", shown_number(total.dtls.open));
	add_rates(o, k, -1);
	for (unsigned int w = 0; w < dp_workers(k->dp); w++)
		json_array_append_new(load, json_real(load_of(k, (int)w)));
	json_object_set_new(o, "load", load);
	json_object_set_new(o, "realms", list_realms(k, &total));
	json_object_set_new(o, "links", list_links(k));
	json_object_set_new(o, "control", control_clients(k));
	json_object_set_new(o, "state", state_facts_shown(k->dp));
#define X(name, show) json_object_set_new(o, name, show());
	MGMT_STATUS(X)
#undef X
	json_object_set_new(o, "drain", drains_shown(k->drain));
	json_object_set_new(o, "warnings", list_warnings(k, &total));
	return COMMAND_DONE;
}

enum command_end facts_drops(struct command *c)
{
	const json_t *all = json_object_get(c->in, "all");
	const struct facts_look *now = look_now(c);
	json_t *rows = json_array();

	for (unsigned int i = 0; i < DP_DROP_END; i++) {
		uint64_t n = 0;
		json_t *o;

		for (unsigned int w = 0; w < dp_workers(c->control->dp); w++)
			n += now->stats[w].drop[i];
		if (n == 0 && !json_is_true(all))
			continue;
		o = json_object();
		json_object_set_new(o, "drop", json_string(dp_drop_name(i)));
		json_object_set_new(o, "count", shown_number(n));
		json_object_set_new(o, "rate", shown_number(drop_rate(c->control, -1, i)));
		json_object_set_new(o, "meaning", json_string(dp_drop_text(i)));
		json_object_set_new(o, "advice", json_string(dp_drop_advice(i)));
		json_array_append_new(rows, o);
	}
	json_object_set_new(c->out, "rows", rows);
	return COMMAND_DONE;
}

enum command_end facts_workers(struct command *c)
{
	const struct facts_look *now = look_now(c);
	json_t *rows = json_array();

	for (unsigned int w = 0; w < dp_workers(c->control->dp); w++) {
		const struct dp_stats *s = &now->stats[w];
		json_t *o = json_object();

		json_object_set_new(o, "worker", shown_number(w));
		json_object_set_new(o, "lcore", shown_number(dp_worker_lcore(c->control->dp, w)));
		json_object_set_new(o, "load", json_real(load_of(c->control, (int)w)));
		add_counters(o, s);
		json_object_set_new(o, "handed_in", shown_number(s->handed_in));
		json_object_set_new(o, "handed_out", shown_number(s->handed_out));
		json_object_set_new(o, "rx_bursts", shown_number(s->rx_bursts));
		add_rates(o, c->control, (int)w);
		json_array_append_new(rows, o);
	}
	json_object_set_new(c->out, "rows", rows);
	return COMMAND_DONE;
}

enum command_end facts_steering(struct command *c)
{
	json_t *rows = json_array();

	for (unsigned int i = 0; i < 2 * dp_ports(c->control->dp); i++) {
		struct dp_steering s;
		json_t *o;

		if (!dp_steering(c->control->dp, i / 2, i % 2 == 0, &s))
			continue;
		o = json_object();
		json_object_set_new(o, "port", shown_text(dp_port(c->control->dp, i / 2)->name));
		json_object_set_new(o, "family", json_string(i % 2 == 0 ? "ipv4" : "ipv6"));
		json_object_set_new(o, "step", json_string(s.step));
		json_object_set_new(o, "rules", shown_number(s.rules));
		json_object_set_new(o, "hits", shown_number(s.hits));
		json_object_set_new(o, "handed_over", shown_number(s.handed_over));
		json_object_set_new(o, "degraded", json_boolean(s.degraded));
		json_object_set_new(o, "why", shown_text(s.reason));
		json_object_set_new(o, "why_address", shown_text(s.why_address));
		json_array_append_new(rows, o);
	}
	json_object_set_new(c->out, "rows", rows);
	return COMMAND_DONE;
}
