// SPDX-License-Identifier: BSD-3-Clause
// Writes a result as one JSON object.
#include "report/json.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "options/config.h"

// --- values --------------------------------------------------------------------------------------

// Makes a JSON string. In a text that is not UTF-8, each byte beyond ASCII becomes U+FFFD.
static json_t *text_value(const char *text)
{
	static const char unknown[] = "\xef\xbf\xbd";
	json_t *v = json_string(text);
	char buf[1024];
	size_t n = 0;

	for (; v == NULL && *text != '\0' && n + sizeof(unknown) < sizeof(buf); text++) {
		if ((unsigned char)*text < 0x80) {
			buf[n++] = *text;
			continue;
		}
		memcpy(buf + n, unknown, sizeof(unknown) - 1);
		n += sizeof(unknown) - 1;
	}
	return v != NULL ? v : json_stringn(buf, n);
}

// A whole number is written without a fraction.
static json_t *number_value(double v)
{
	if (!isfinite(v))
		return json_null();
	return v == rint(v) && fabs(v) < 1e10 ? json_integer((json_int_t)v) : json_real(v);
}

// Adds an object or array to o, which owns it; NULL without memory.
static json_t *add_member(json_t *o, const char *name, json_t *v)
{
	return json_object_set_new(o, name, v) == 0 ? v : NULL;
}

static json_t *add_object(json_t *o, const char *name)
{
	return add_member(o, name, json_object());
}

static json_t *append_object(json_t *array)
{
	json_t *o = json_object();

	return json_array_append_new(array, o) == 0 ? o : NULL;
}

static void add_count(json_t *o, const char *name, uint64_t v)
{
	json_object_set_new(o, name, json_integer((json_int_t)v));
}

static void add_number(json_t *o, const char *name, double v)
{
	json_object_set_new(o, name, number_value(v));
}

static void add_bool(json_t *o, const char *name, bool v)
{
	json_object_set_new(o, name, json_boolean(v));
}

static void add_string(json_t *o, const char *name, const char *v)
{
	json_object_set_new(o, name, v != NULL ? text_value(v) : json_null());
}

// --- the configuration ---------------------------------------------------------------------------

static void add_family(json_t *o, const struct config *c)
{
	const char *client = addr_is_v4(&c->client.addrs.lo) ? "4" : "6";
	const char *relay = addr_is_v4(&c->peer.addrs.lo) ? "4" : "6";
	char both[8];

	if ((c->role & ROLE_CLIENT) == 0)
		client = relay;
	snprintf(both, sizeof(both), "%s-%s", client, relay);
	add_string(o, "family", strcmp(client, relay) == 0 ? client : both);
}

// The rate that the counters belong to. In a search it is that of the last trial.
static double offered_rate(const struct config *c, const struct search *s)
{
	return s != NULL && s->nb_trials > 0 ? s->trial[s->nb_trials - 1].rate : c->rate;
}

static void add_config(
	json_t *o, const struct config *c, const struct result *r, const struct search *s)
{
	static const char *const roles[] = {"?", "client", "peer", "both"};
	json_t *sizes;

	add_string(o, "program", "slipring-loadgen");
	add_string(o, "version", SLIPRING_VERSION);
	add_string(o, "role", roles[c->role & ROLE_BOTH]);
	add_string(o, "mode", config_mode_name(c->mode));
	add_string(o, "transport", config_transport_name(c->transport));
	add_string(o, "direction", config_direction_name(c));
	add_family(o, c);
	add_count(o, "clients", (c->role & ROLE_CLIENT) != 0 ? c->clients : 0);
	sizes = add_member(o, "sizes", json_array());
	for (unsigned int i = 0; i < c->nb_sizes; i++)
		json_array_append_new(sizes, json_integer(c->size[i]));
	add_number(o, "offered_pps", offered_rate(c, s));
	add_count(o, "burst", c->burst);
	add_number(o, "seconds", r->seconds);
}

// --- the measurements ----------------------------------------------------------------------------

static void add_latency(json_t *o, const struct result *r, enum direction d)
{
	static const struct {
		const char *name;
		double quantile;
	} rows[] = {{"min", 0}, {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999},
		{"max", 1}};

	o = add_object(o, "latency_us");
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const double us = result_latency_us(r, d, rows[i].quantile);

		add_number(o, rows[i].name, us < 0 ? NAN : us);
	}
}

static void add_ways(json_t *o, const struct result *r)
{
	json_t *ways = add_object(o, "ways");

	for (unsigned int d = 0; d < DIRECTION_NB; d++) {
		const struct result_way *w = &r->direction[d];

		if (!w->used)
			continue;
		o = add_object(ways, config_way_name(d));
		add_count(o, "sent", w->sent);
		add_count(o, "received", w->received);
		add_count(o, "delivered", w->delivered);
		add_count(o, "lost", w->lost);
		add_count(o, "duplicated", w->duplicated);
		add_count(o, "reordered", w->reordered);
		add_count(o, "corrupted", w->corrupted);
		add_count(o, "sent_bytes", w->sent_bytes);
		add_count(o, "received_bytes", w->received_bytes);
		add_number(o, "loss", w->sent > 0 ? (double)w->lost / (double)w->sent : 0);
		add_latency(o, r, d);
	}
}

static void add_totals(json_t *o, const struct config *c, const struct result *r)
{
	const struct result_totals t = result_totals(r);

	add_number(o, "send_pps", t.send_pps);
	add_number(o, "recv_pps", t.recv_pps);
	add_count(o, "total_sent", t.sent);
	add_count(o, "total_recv", t.received);
	add_ways(o, r);
	add_count(o, "stray", r->stray);
	add_count(o, "answered", r->answered);
	add_count(o, "errors", r->errors);
	if (c->mode == MODE_INVALID)
		add_bool(o, "alive", r->alive);
	if ((c->role & ROLE_PEER) == 0 || !c->peer_echo)
		return;
	o = add_object(o, "injected");
	add_count(o, "loss", r->injected[RESULT_INJECTED_LOSS]);
	add_count(o, "duplicate", r->injected[RESULT_INJECTED_DUPLICATE]);
	add_count(o, "reorder", r->injected[RESULT_INJECTED_REORDER]);
	add_count(o, "corrupt", r->injected[RESULT_INJECTED_CORRUPT]);
}

static void add_supers(json_t *o, const char *key, const struct result_super *s)
{
	o = add_object(o, key);
	add_count(o, "frames", s->frames);
	add_count(o, "datagrams", s->datagrams);
}

static void add_generator(json_t *o, const struct result *r)
{
	json_t *generator = add_object(o, "generator"), *reasons;

	add_bool(generator, "bound", result_generator_bound(r));
	reasons = add_member(generator, "reasons", json_array());
	for (unsigned int b = 0; b < RESULT_NB_BOUNDS; b++)
		if (r->bound[b])
			json_array_append_new(reasons, json_string(result_bound_name(b)));
	add_count(generator, "due", r->due);
	add_count(generator, "missed", r->missed);
	add_count(generator, "tx_full", r->tx_full);
	add_count(generator, "rx_missed", r->rx_missed);
	add_count(generator, "no_mbuf", r->no_mbuf);
	add_count(generator, "reflect_full", r->reflect_full);
	add_count(generator, "unstarted", r->unstarted);
	add_count(generator, "bad_frames", r->bad_frames);
	add_bool(o, "uso", r->uso);
	add_string(o, "uso_why", r->uso ? NULL : r->uso_why);
	add_supers(o, "super_sent", &r->super_sent);
	add_supers(o, "super_received", &r->super_received);
}

static void add_clients(json_t *o, const struct result *r)
{
	const struct client_stats *s = &r->clients;
	json_t *faults, *codes;
	char code[16];

	add_count(o, "allocations", r->allocations);
	add_count(o, "releases", r->releases);
	add_number(
		o, "allocations_per_s", r->seconds > 0 ? (double)r->allocations / r->seconds : 0);
	add_count(o, "clients_ready", s->state[CLIENT_READY]);
	add_count(o, "clients_failed", s->state[CLIENT_FAILED]);
	add_number(o, "setup_seconds", r->setup_s);
	add_count(o, "requests", s->requests);
	add_count(o, "retransmissions", s->retransmissions);
	add_count(o, "challenges", s->challenges);
	add_count(o, "refreshes", s->refreshes);
	faults = add_object(o, "faults");
	for (unsigned int i = 0; i < CLIENT_NB_FAULTS; i++)
		add_count(faults, client_fault_name(i), s->fault[i]);
	codes = add_object(o, "error_codes");
	for (unsigned int i = 0; i < CLIENT_ERROR_CODES; i++) {
		if (s->error[i] == 0)
			continue;
		snprintf(code, sizeof(code), "%u", 300 + i);
		add_count(codes, code, s->error[i]);
	}
}

static void add_links(json_t *o, const struct config *c, const struct result *r)
{
	if (!config_links(c))
		return;
	o = add_object(o, "links");
	add_string(o, "cipher", r->cipher[0] != '\0' ? r->cipher : NULL);
	add_count(o, "opened", r->link.opened);
	add_count(o, "up", r->link.up);
	add_count(o, "failed", r->link.failed);
	add_count(o, "broken", r->link.broken);
	add_count(o, "held_back", r->link.held_back);
}

static void add_lanes(json_t *o, const struct result *r)
{
	json_t *lanes = add_member(o, "lcores", json_array());

	for (unsigned int i = 0; i < r->nb_lanes && i < CONFIG_LANES_MAX; i++) {
		const struct result_lane *l = &r->lane[i];

		o = append_object(lanes);
		add_count(o, "lcore", l->lcore);
		add_bool(o, "sends", l->sends);
		add_bool(o, "receives", l->receives);
		add_count(o, "sent", l->sent);
		add_count(o, "received", l->received);
		add_count(o, "missed", l->missed);
		add_count(o, "tx_full", l->tx_full);
		add_number(o, "busy", l->busy);
		add_number(o, "max_gap_us", l->max_gap_us);
	}
}

// The names come from the server.
static void add_drops(json_t *o, const struct server_drops *d)
{
	if (d == NULL)
		return;
	o = add_object(o, "server_drops");
	for (unsigned int i = 0; i < d->n && i < SERVER_DROPS_MAX; i++) {
		json_t *name = d->drop[i].count > 0 ? text_value(d->drop[i].name) : NULL;

		if (name != NULL)
			add_count(o, json_string_value(name), d->drop[i].count);
		json_decref(name);
	}
}

// --- searches ------------------------------------------------------------------------------------

static const char *state_name(enum search_state s)
{
	switch (s) {
	case SEARCH_RUNNING:
		return "stopped";
	case SEARCH_FOUND:
		return "found";
	case SEARCH_AT_LIMIT:
		return "at-limit";
	case SEARCH_NONE:
		return "none";
	case SEARCH_GENERATOR_BOUND:
		return "generator-bound";
	case SEARCH_UNSETTLED:
		return "unsettled";
	}
	return "?";
}

static void add_points(json_t *o, const struct search *s)
{
	json_t *points = add_member(o, "points", json_array());

	for (unsigned int i = 0; i < s->nb_trials && i < SEARCH_TRIALS_MAX; i++) {
		const struct search_trial *t = &s->trial[i];

		o = append_object(points);
		add_number(o, "rate", t->rate);
		add_number(o, "offered", t->offered);
		add_number(o, "delivered", t->delivered);
		add_number(o, "loss", t->loss);
		add_number(o, "p50", t->p50_us > 0 ? t->p50_us : NAN);
		add_number(o, "p99", t->p99_us > 0 ? t->p99_us : NAN);
		add_bool(o, "bound", t->verdict == SEARCH_BOUND);
		add_bool(o, "disturbed", t->verdict == SEARCH_REPEATED);
	}
}

static void add_search(json_t *o, const struct config *c, const struct search *s)
{
	struct search_result r;
	json_t *spread;

	if (s == NULL)
		return;
	search_result(s, &r);
	o = add_object(o, "search");
	add_string(o, "kind", config_search_name(c->search));
	add_string(o, "state", state_name(r.state));
	add_number(o, "accepted_loss", s->params.loss);
	add_number(o, "rate", r.rate);
	add_number(o, "failed_at", r.failed_at);
	add_number(o, "delivered", r.delivered);
	add_number(o, "loss", r.loss_median);
	spread = add_member(o, "spread", json_array());
	json_array_append_new(spread, number_value(r.spread_lo));
	json_array_append_new(spread, number_value(r.spread_hi));
	add_count(o, "trials", r.trials);
	add_points(o, s);
}

int json_write(FILE *f, const struct config *c, const struct result *r,
	const struct server_drops *drops, const struct search *s)
{
	json_t *o = json_object();
	int rc;

	add_config(o, c, r, s);
	add_totals(o, c, r);
	add_generator(o, r);
	add_clients(o, r);
	add_links(o, c, r);
	add_lanes(o, r);
	add_drops(o, drops);
	add_search(o, c, s);
	rc = json_dumpf(o, f, JSON_COMPACT | JSON_REAL_PRECISION(10));
	json_decref(o);
	return rc == 0 && fputc('\n', f) != EOF ? 0 : -1;
}
