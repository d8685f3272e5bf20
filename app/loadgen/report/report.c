// SPDX-License-Identifier: BSD-3-Clause
// Output before and during a run: the request, set-up, the table of periods.
#include "report/report.h"

#include <string.h>
#include <unistd.h>

#include "options/config.h"
#include "report/text.h"

#define LINE_S 5.0 // seconds between lines of progress where none can be rewritten
#define HEADING_ROWS 30
#define RESENT_SHARE 20 // one request in RESENT_SHARE sent again is worth a hint

// State of progress and table; main lcore only.
static struct {
	double next_line; // time of the next line of progress, in seconds of the phase
	bool open; // the line on the terminal has no newline yet
	unsigned int rows; // since the last heading
} state;

// --- before the run ------------------------------------------------------------------------------

static const char *family_name(const struct addr *a)
{
	return addr_is_v4(a) ? "IPv4" : "IPv6";
}

static void begin_mode(FILE *f, const struct config *c)
{
	static const char *const ways[] = {
		"clients to peers", "peers to clients", "clients to peers and back"};
	const bool both = c->direction[DIRECTION_UP] && c->direction[DIRECTION_DOWN];
	const char *route = "";

	for (unsigned int d = 0; d < DIRECTION_NB; d++)
		if (c->direction[d])
			route = ways[d];
	if (c->role == ROLE_PEER) {
		fprintf(f, "%-11speers alone, %s\n", "role", family_name(&c->peer.addrs.lo));
		return;
	}
	fprintf(f, "%-11s%s", "mode", config_mode_name(c->mode));
	if (config_media(c))
		fprintf(f, ", %s (%s)", config_direction_name(c),
			both ? "both ways at a time" : route);
	fprintf(f, ", clients on %s", family_name(&c->client.addrs.lo));
	if (config_media(c) && addr_is_v4(&c->client.addrs.lo) != addr_is_v4(&c->peer.addrs.lo))
		fprintf(f, ", peers on %s", family_name(&c->peer.addrs.lo));
	fputc('\n', f);
}

static void begin_server(FILE *f, const struct config *c)
{
	char text[ADDR_TEXT_LEN + 8];

	if (c->mode == MODE_DIRECT || (c->role & ROLE_CLIENT) == 0)
		return;
	fprintf(f, "%-11s%s", "server", addr_format_endpoint(&c->server, text, sizeof(text)));
	if (c->mode == MODE_BINDING || c->mode == MODE_INVALID || c->mode == MODE_UNAUTH) {
		fputc('\n', f);
		return;
	}
	if (c->user[0] != '\0')
		fprintf(f, ", user %s%s", c->user, c->user_per_client ? "0 and on" : "");
	fprintf(f, ", %s%s, lifetime %u s%s\n", c->secret[0] != '\0' ? "REST secret, " : "",
		c->integrity == INTEGRITY_SHA256 ? "SHA-256" : "SHA-1", c->lifetime_s,
		c->dont_fragment ? ", DONT-FRAGMENT" : "");
}

static void begin_side(FILE *f, const char *name, const struct side *s, const char *lead)
{
	char lo[ADDR_TEXT_LEN], hi[ADDR_TEXT_LEN];

	addr_format(&s->addrs.lo, lo, sizeof(lo));
	addr_format(&s->addrs.hi, hi, sizeof(hi));
	fprintf(f, "%-11s%s%s%s%s, port%s %u", name, lead, lo, strcmp(lo, hi) != 0 ? "-" : "",
		strcmp(lo, hi) != 0 ? hi : "", s->port_lo < s->port_hi ? "s" : "", s->port_lo);
	if (s->port_lo < s->port_hi)
		fprintf(f, "-%u", s->port_hi);
}

static void begin_sides(FILE *f, const struct config *c)
{
	char lead[48];

	if ((c->role & ROLE_CLIENT) != 0) {
		snprintf(lead, sizeof(lead), "%s of ", text_count(c->clients).s);
		if (!config_links(c)) {
			begin_side(f, "clients", &c->client, lead);
			fprintf(f, ", on %s\n", c->client.device);
		} else {
			fprintf(f, "%-11s%sthis host's kernel, over %s\n", "clients", lead,
				config_transport_name(c->transport));
		}
	}
	if ((c->role & ROLE_PEER) != 0) {
		begin_side(f, "peers", &c->peer, "");
		fprintf(f, ", on %s, %s\n",
			c->peer.device != NULL ? c->peer.device : "port 1 or the clients' port",
			c->peer_echo ? "echoing" : "sinking");
	} else if (config_media(c)) {
		begin_side(f, "peers", &c->peer, "");
		fputs(", elsewhere\n", f);
	}
}

static void begin_impair(FILE *f, const struct impair *i)
{
	if (i->loss <= 0 && i->duplicate <= 0 && i->reorder <= 0 && i->corrupt <= 0 &&
		i->delay_us == 0)
		return;
	fprintf(f, "%-11son purpose: lost %g %%, duplicated %g %%, reordered %g %%, ", "peers",
		i->loss * 100, i->duplicate * 100, i->reorder * 100);
	fprintf(f, "corrupted %g %%, delayed %s us\n", i->corrupt * 100, text_count(i->delay_us).s);
}

static void begin_load(FILE *f, const struct config *c)
{
	const char *unit = c->mode == MODE_ALLOC ? "allocations a second" : "pps";
	double bytes = 0;

	for (unsigned int i = 0; i < c->nb_sizes; i++)
		bytes += (double)c->size[i] / c->nb_sizes;
	fprintf(f, "%-11s", "load");
	if (c->mode == MODE_ALLOC_HOLD)
		fputs("none", f);
	else if (c->search != WANT_NO_SEARCH)
		fprintf(f, "%s to %s %s", text_rate(c->search_lo).s, text_rate(c->search_hi).s,
			unit);
	else if (c->rate <= 0)
		fprintf(f, "flood: %s as possible",
			c->mode == MODE_ALLOC ? "as many allocations" : "as much");
	else
		fprintf(f, "%s %s", text_rate(c->rate).s, unit);
	if (config_media(c) && c->rate > 0 && c->search == WANT_NO_SEARCH)
		fprintf(f, " (%s Mb/s of payload)", text_rate(c->rate * bytes * 8 / 1e6).s);
	for (unsigned int i = 0; config_media(c) && i < c->nb_sizes; i++)
		fprintf(f, "%s%u", i == 0 ? ", " : "/", c->size[i]);
	if (config_media(c))
		fprintf(f, " bytes%s%s", c->burst > 1 ? ", bursts of " : "",
			c->burst > 1 ? text_count(c->burst).s : "");
	fprintf(f, ", %s s%s\n", text_seconds(c->duration_s).s,
		c->search != WANT_NO_SEARCH ? " a trial" : "");
}

static void begin_search(FILE *f, const struct config *c)
{
	if (c->search == WANT_NO_SEARCH)
		return;
	fprintf(f, "%-11s%s: highest rate with ", "search", config_search_name(c->search));
	if (c->search == WANT_PDR)
		fprintf(f, "at most %g %% lost", c->search_loss * 100);
	else
		fputs("none lost", f);
	fprintf(f, ", to within %g %%, %u trials a rate\n", c->search_resolution * 100,
		c->search_repeats);
}

void report_begin(FILE *f, const struct config *c)
{
	memset(&state, 0, sizeof(state));
	fprintf(f, "slipring-loadgen %s\n", SLIPRING_VERSION);
	begin_mode(f, c);
	begin_server(f, c);
	begin_sides(f, c);
	if ((c->role & ROLE_PEER) != 0)
		begin_impair(f, &c->impair);
	if ((c->role & ROLE_CLIENT) != 0)
		begin_load(f, c);
	begin_search(f, c);
	fputc('\n', f);
}

// --- progress ------------------------------------------------------------------------------------

// True if a line of progress is due. On a terminal it replaces the line before.
static bool progress_begin(FILE *f, double elapsed_s, bool last)
{
	const bool tty = isatty(fileno(f)) == 1;

	if (!tty && !last && elapsed_s < state.next_line)
		return false;
	state.next_line = elapsed_s + LINE_S;
	if (tty)
		fputs("\r\033[K", f);
	state.open = tty && !last;
	return true;
}

static void progress_end(FILE *f, bool last)
{
	if (!state.open)
		fputc('\n', f);
	if (last)
		state.next_line = 0; // so that the next phase prints its first line at once
	fflush(f);
}

// Prints the faults of clients, and where to look.
static void setup_faults(FILE *f, const struct client_stats *s)
{
	static const char *const hints[CLIENT_NB_FAULTS] = {
		[CLIENT_FAULT_TIMEOUT] = ": is the server up, and is this its address and port?",
	};

	for (unsigned int i = 0; i < CLIENT_NB_FAULTS; i++)
		if (s->fault[i] > 0 && i != CLIENT_FAULT_REFUSED)
			fprintf(f, "%-11s%s clients: %s%s\n", "", text_count(s->fault[i]).s,
				client_fault_name(i), hints[i] != NULL ? hints[i] : "");
	for (unsigned int i = 0; i < CLIENT_ERROR_CODES; i++)
		if (s->error[i] > 0)
			fprintf(f, "%-11s%s answers: %u %s\n", "", text_count(s->error[i]).s,
				300 + i, client_fault_error_text(300 + i));
	if (s->retransmissions * RESENT_SHARE > s->requests)
		fprintf(f,
			"%-11smany requests were sent again: they are lost, or the server "
			"limits answers per source\n",
			"");
}

void report_setup(
	FILE *f, const struct client_stats *s, uint32_t clients, double elapsed_s, bool last)
{
	const uint64_t ready = s->state[CLIENT_READY];
	const uint64_t asked = s->state[CLIENT_ALLOCATING] + s->state[CLIENT_BINDING];

	if (!progress_begin(f, elapsed_s, last))
		return;
	fprintf(f, "%-11s%s of %s clients ready", "set-up", text_count(ready).s,
		text_count(clients).s);
	if (last)
		fprintf(f, " in %s s", text_seconds(elapsed_s).s);
	else
		fprintf(f, ", %s asking", text_count(asked).s);
	if (s->state[CLIENT_FAILED] > 0)
		fprintf(f, ", %s failed", text_count(s->state[CLIENT_FAILED]).s);
	if (elapsed_s > 0)
		fprintf(f, ", %s a second", text_rate((double)ready / elapsed_s).s);
	if (last)
		fprintf(f, "; %s requests, %s sent again", text_count(s->requests).s,
			text_count(s->retransmissions).s);
	progress_end(f, last);
	if (!last)
		return;
	setup_faults(f, s);
	fputc('\n', f);
}

void report_teardown(
	FILE *f, const struct client_stats *s, uint32_t clients, double elapsed_s, bool last)
{
	const uint64_t left = s->state[CLIENT_READY] + s->state[CLIENT_RELEASING] +
		s->state[CLIENT_ALLOCATING] + s->state[CLIENT_BINDING];

	if (!progress_begin(f, elapsed_s, last))
		return;
	fprintf(f, "%-11s%s of %s clients left", "tear-down", text_count(left).s,
		text_count(clients).s);
	if (last)
		fprintf(f, " after %s s", text_seconds(elapsed_s).s);
	if (last && left > 0)
		fputs(": their allocations end with their lifetime", f);
	progress_end(f, last);
}

// --- the table -----------------------------------------------------------------------------------

static void print_heading(FILE *f, const struct config *c)
{
	if (state.rows++ % HEADING_ROWS != 0)
		return;
	if (c->mode == MODE_ALLOC || c->mode == MODE_ALLOC_HOLD)
		fprintf(f, "%9s %12s %12s %10s %10s %10s\n", "time s", "allocs/s", "releases/s",
			"held", "failed", "errors");
	else
		fprintf(f, "%9s %-5s %12s %12s %9s %9s %9s %9s\n", "time s", "way", "sent pps",
			"recv pps", "loss %", "p50 us", "p99 us", "missed");
}

static double per_second(const struct result *r, uint64_t n)
{
	return r->seconds > 0 ? (double)n / r->seconds : 0;
}

static void period_allocations(FILE *f, const struct result *r, double t)
{
	uint64_t errors = 0;

	for (unsigned int i = 0; i < CLIENT_ERROR_CODES; i++)
		errors += r->clients.error[i];
	fprintf(f, "%9.1f %12s %12s %10s %10s %10s\n", t,
		text_rate(per_second(r, r->allocations)).s, text_rate(per_second(r, r->releases)).s,
		text_count(r->clients.state[CLIENT_READY]).s,
		text_count(r->clients.state[CLIENT_FAILED]).s, text_count(errors).s);
}

static struct text text_latency(const struct result *r, enum direction d, double quantile)
{
	const double us = result_latency_us(r, d, quantile);

	return us < 0 ? (struct text){"-"} : text_us(us);
}

// Prints one direction of a period. Before the end, datagrams under way look like lost ones, so the
// loss is an estimate; that of the result is exact. Peers alone do not know how many were sent.
static void period_way(
	FILE *f, const struct config *c, const struct result *r, enum direction d, double t)
{
	const struct result_way *w = &r->direction[d];
	const double loss = w->sent > 0 ? (double)w->lost / (double)w->sent : 0;
	const bool alone = c->role == ROLE_PEER;

	fprintf(f, "%9.1f %-5s %12s %12s %9s %9s %9s %9s\n", t, config_way_name(d),
		alone ? "-" : text_rate(per_second(r, w->sent)).s,
		text_rate(per_second(r, w->delivered)).s, alone ? "-" : text_percent(loss).s,
		text_latency(r, d, 0.5).s, text_latency(r, d, 0.99).s, text_count(r->missed).s);
}

void report_period(FILE *f, const struct config *c, const struct result *r, double t)
{
	print_heading(f, c);
	if (c->mode == MODE_ALLOC || c->mode == MODE_ALLOC_HOLD)
		period_allocations(f, r, t);
	for (unsigned int d = 0; d < DIRECTION_NB; d++)
		if (r->direction[d].used)
			period_way(f, c, r, d, t);
	fflush(f);
}
