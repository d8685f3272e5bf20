// SPDX-License-Identifier: BSD-3-Clause
// Writes a result as one JSON object.
#include "report/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "options/config.h"

// --- the writer ----------------------------------------------------------------------------------

struct json {
	FILE *f;
	bool more; // this object or array already has an element
};

// Returns the length of the UTF-8 character at s; 0 when it is none (RFC 3629).
static unsigned int utf8_len(const unsigned char *s)
{
	const unsigned int n = s[0] < 0x80    ? 1
		: s[0] >= 0xc2 && s[0] < 0xe0 ? 2
		: s[0] >= 0xe0 && s[0] < 0xf0 ? 3
		: s[0] >= 0xf0 && s[0] < 0xf5 ? 4
					      : 0;

	for (unsigned int i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	// Refuses overlong forms, surrogates, and code points above U+10FFFF
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
		(s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static void write_string(FILE *f, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	fputc('"', f);
	while (*s != '\0') {
		const unsigned int n = utf8_len(s);

		if (n == 0)
			fputs("\\ufffd", f);
		else if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else if (*s < 0x20)
			fprintf(f, "\\u%04x", *s);
		else
			fwrite(s, 1, n, f);
		s += n > 0 ? n : 1;
	}
	fputc('"', f);
}

static void key(struct json *j, const char *name)
{
	if (j->more)
		fputc(',', j->f);
	j->more = true;
	if (name == NULL)
		return; // an element of an array has no name
	write_string(j->f, name);
	fputc(':', j->f);
}

static void begin(struct json *j, const char *name, char bracket)
{
	key(j, name);
	fputc(bracket, j->f);
	j->more = false;
}

static void end(struct json *j, char bracket)
{
	fputc(bracket, j->f);
	j->more = true;
}

static void add_count(struct json *j, const char *name, uint64_t v)
{
	key(j, name);
	fprintf(j->f, "%" PRIu64, v);
}

static void add_number(struct json *j, const char *name, double v)
{
	key(j, name);
	if (isfinite(v))
		fprintf(j->f, "%.10g", v);
	else
		fputs("null", j->f);
}

static void add_bool(struct json *j, const char *name, bool v)
{
	key(j, name);
	fputs(v ? "true" : "false", j->f);
}

static void add_string(struct json *j, const char *name, const char *v)
{
	key(j, name);
	if (v != NULL)
		write_string(j->f, v);
	else
		fputs("null", j->f);
}

// --- what was asked for --------------------------------------------------------------------------

static void add_family(struct json *j, const struct config *c)
{
	const char *client = addr_is_v4(&c->client.addrs.lo) ? "4" : "6";
	const char *relay = addr_is_v4(&c->peer.addrs.lo) ? "4" : "6";
	char both[8];

	if ((c->role & ROLE_CLIENT) == 0)
		client = relay;
	snprintf(both, sizeof(both), "%s-%s", client, relay);
	add_string(j, "family", strcmp(client, relay) == 0 ? client : both);
}

// The rate that the counters belong to. In a search it is that of the last trial.
static double offered(const struct config *c, const struct search *s)
{
	return s != NULL && s->nb_trials > 0 ? s->trial[s->nb_trials - 1].rate : c->rate;
}

static void add_config(
	struct json *j, const struct config *c, const struct result *r, const struct search *s)
{
	static const char *const roles[] = {"?", "client", "peer", "both"};

	add_string(j, "program", "slipring-loadgen");
	add_string(j, "version", SLIPRING_VERSION);
	add_string(j, "role", roles[c->role & ROLE_BOTH]);
	add_string(j, "mode", config_mode_name(c->mode));
	add_string(j, "transport", config_transport_name(c->transport));
	add_string(j, "direction", config_direction_name(c));
	add_family(j, c);
	add_count(j, "clients", (c->role & ROLE_CLIENT) != 0 ? c->clients : 0);
	begin(j, "sizes", '[');
	for (unsigned int i = 0; i < c->nb_sizes; i++)
		add_count(j, NULL, c->size[i]);
	end(j, ']');
	add_number(j, "offered_pps", offered(c, s));
	add_count(j, "burst", c->burst);
	add_number(j, "seconds", r->seconds);
}

// --- what was measured ---------------------------------------------------------------------------

static void add_latency(struct json *j, const struct result *r, enum direction d)
{
	static const struct {
		const char *name;
		double quantile;
	} rows[] = {{"min", 0}, {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999},
		{"max", 1}};

	begin(j, "latency_us", '{');
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const double us = result_latency_us(r, d, rows[i].quantile);

		add_number(j, rows[i].name, us < 0 ? NAN : us);
	}
	end(j, '}');
}

static void add_ways(struct json *j, const struct result *r)
{
	begin(j, "ways", '{');
	for (unsigned int d = 0; d < DIRECTION_NB; d++) {
		const struct result_way *w = &r->way[d];

		if (!w->used)
			continue;
		begin(j, config_way_name(d), '{');
		add_count(j, "sent", w->sent);
		add_count(j, "received", w->received);
		add_count(j, "delivered", w->delivered);
		add_count(j, "lost", w->lost);
		add_count(j, "duplicated", w->duplicated);
		add_count(j, "reordered", w->reordered);
		add_count(j, "corrupted", w->corrupted);
		add_count(j, "sent_bytes", w->sent_bytes);
		add_count(j, "received_bytes", w->received_bytes);
		add_number(j, "loss", w->sent > 0 ? (double)w->lost / (double)w->sent : 0);
		add_latency(j, r, d);
		end(j, '}');
	}
	end(j, '}');
}

static void add_totals(struct json *j, const struct config *c, const struct result *r)
{
	const struct result_totals t = result_totals(r);

	add_number(j, "send_pps", t.send_pps);
	add_number(j, "recv_pps", t.recv_pps);
	add_count(j, "total_sent", t.sent);
	add_count(j, "total_recv", t.received);
	add_ways(j, r);
	add_count(j, "stray", r->stray);
	add_count(j, "answered", r->answered);
	add_count(j, "errors", r->errors);
	if (c->mode == MODE_INVALID)
		add_bool(j, "alive", r->alive);
	if ((c->role & ROLE_PEER) == 0 || !c->peer_echo)
		return;
	begin(j, "injected", '{');
	add_count(j, "loss", r->injected[RESULT_INJECTED_LOSS]);
	add_count(j, "duplicate", r->injected[RESULT_INJECTED_DUPLICATE]);
	add_count(j, "reorder", r->injected[RESULT_INJECTED_REORDER]);
	add_count(j, "corrupt", r->injected[RESULT_INJECTED_CORRUPT]);
	end(j, '}');
}

static void add_supers(struct json *j, const char *key, const struct result_super *s)
{
	begin(j, key, '{');
	add_count(j, "frames", s->frames);
	add_count(j, "datagrams", s->datagrams);
	end(j, '}');
}

static void add_generator(struct json *j, const struct result *r)
{
	begin(j, "generator", '{');
	add_bool(j, "bound", result_generator_bound(r));
	begin(j, "reasons", '[');
	for (unsigned int b = 0; b < RESULT_NB_BOUNDS; b++)
		if (r->bound[b])
			add_string(j, NULL, result_bound_name(b));
	end(j, ']');
	add_count(j, "due", r->due);
	add_count(j, "missed", r->missed);
	add_count(j, "tx_full", r->tx_full);
	add_count(j, "rx_missed", r->rx_missed);
	add_count(j, "no_mbuf", r->no_mbuf);
	add_count(j, "reflect_full", r->reflect_full);
	add_count(j, "unstarted", r->unstarted);
	add_count(j, "bad_frames", r->bad_frames);
	end(j, '}');
	add_bool(j, "uso", r->uso);
	add_string(j, "uso_why", r->uso ? NULL : r->uso_why);
	add_supers(j, "super_sent", &r->super_sent);
	add_supers(j, "super_received", &r->super_received);
}

static void add_clients(struct json *j, const struct result *r)
{
	const struct client_stats *s = &r->clients;
	char code[16];

	add_count(j, "allocations", r->allocations);
	add_count(j, "releases", r->releases);
	add_number(
		j, "allocations_per_s", r->seconds > 0 ? (double)r->allocations / r->seconds : 0);
	add_count(j, "clients_ready", s->state[CLIENT_READY]);
	add_count(j, "clients_failed", s->state[CLIENT_FAILED]);
	add_number(j, "setup_seconds", r->setup_s);
	add_count(j, "requests", s->requests);
	add_count(j, "retransmissions", s->retransmissions);
	add_count(j, "challenges", s->challenges);
	add_count(j, "refreshes", s->refreshes);
	begin(j, "faults", '{');
	for (unsigned int i = 0; i < CLIENT_NB_FAULTS; i++)
		add_count(j, client_fault_name(i), s->fault[i]);
	end(j, '}');
	begin(j, "error_codes", '{');
	for (unsigned int i = 0; i < CLIENT_ERROR_CODES; i++) {
		if (s->error[i] == 0)
			continue;
		snprintf(code, sizeof(code), "%u", 300 + i);
		add_count(j, code, s->error[i]);
	}
	end(j, '}');
}

static void add_links(struct json *j, const struct config *c, const struct result *r)
{
	if (!config_links(c))
		return;
	begin(j, "links", '{');
	add_string(j, "cipher", r->cipher[0] != '\0' ? r->cipher : NULL);
	add_count(j, "opened", r->link.opened);
	add_count(j, "up", r->link.up);
	add_count(j, "failed", r->link.failed);
	add_count(j, "broken", r->link.broken);
	add_count(j, "held_back", r->link.held_back);
	end(j, '}');
}

static void add_lanes(struct json *j, const struct result *r)
{
	begin(j, "lcores", '[');
	for (unsigned int i = 0; i < r->nb_lanes && i < CONFIG_LANES_MAX; i++) {
		const struct result_lane *l = &r->lane[i];

		begin(j, NULL, '{');
		add_count(j, "lcore", l->lcore);
		add_bool(j, "sends", l->sends);
		add_bool(j, "receives", l->receives);
		add_count(j, "sent", l->sent);
		add_count(j, "received", l->received);
		add_count(j, "missed", l->missed);
		add_count(j, "tx_full", l->tx_full);
		add_number(j, "busy", l->busy);
		add_number(j, "max_gap_us", l->max_gap_us);
		end(j, '}');
	}
	end(j, ']');
}

static void add_drops(struct json *j, const struct server_drops *d)
{
	if (d == NULL)
		return;
	begin(j, "server_drops", '{');
	for (unsigned int i = 0; i < d->n && i < SERVER_DROPS_MAX; i++)
		if (d->drop[i].count > 0)
			add_count(j, d->drop[i].name, d->drop[i].count);
	end(j, '}');
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

static void add_points(struct json *j, const struct search *s)
{
	begin(j, "points", '[');
	for (unsigned int i = 0; i < s->nb_trials && i < SEARCH_TRIALS_MAX; i++) {
		const struct search_trial *t = &s->trial[i];

		begin(j, NULL, '{');
		add_number(j, "rate", t->rate);
		add_number(j, "offered", t->offered);
		add_number(j, "delivered", t->delivered);
		add_number(j, "loss", t->loss);
		add_number(j, "p50", t->p50_us > 0 ? t->p50_us : NAN);
		add_number(j, "p99", t->p99_us > 0 ? t->p99_us : NAN);
		add_bool(j, "bound", t->verdict == SEARCH_BOUND);
		add_bool(j, "disturbed", t->verdict == SEARCH_REPEATED);
		end(j, '}');
	}
	end(j, ']');
}

static void add_search(struct json *j, const struct config *c, const struct search *s)
{
	struct search_result r;

	if (s == NULL)
		return;
	search_result(s, &r);
	begin(j, "search", '{');
	add_string(j, "kind", config_search_name(c->search));
	add_string(j, "state", state_name(r.state));
	add_number(j, "accepted_loss", s->params.loss);
	add_number(j, "rate", r.rate);
	add_number(j, "failed_at", r.failed_at);
	add_number(j, "delivered", r.delivered);
	add_number(j, "loss", r.loss_median);
	begin(j, "spread", '[');
	add_number(j, NULL, r.spread_lo);
	add_number(j, NULL, r.spread_hi);
	end(j, ']');
	add_count(j, "trials", r.trials);
	add_points(j, s);
	end(j, '}');
}

void json_write(FILE *f, const struct config *c, const struct result *r,
	const struct server_drops *drops, const struct search *s)
{
	struct json j = {.f = f};

	begin(&j, NULL, '{');
	add_config(&j, c, r, s);
	add_totals(&j, c, r);
	add_generator(&j, r);
	add_clients(&j, r);
	add_links(&j, c, r);
	add_lanes(&j, r);
	add_drops(&j, drops);
	add_search(&j, c, s);
	end(&j, '}');
	fputc('\n', f);
}
