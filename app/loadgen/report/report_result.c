// SPDX-License-Identifier: BSD-3-Clause
// The summary of a run.
#include "report/report_result.h"

#include <inttypes.h>

#include "options/config.h"
#include "report/text.h"

#define DROPS_A_LINE 4

// --- media and probes ----------------------------------------------------------------------------

static bool measures_ways(const struct result *r)
{
	for (unsigned int d = 0; d < DIRECTION_NB; d++)
		if (r->direction[d].used)
			return true;
	return false;
}

static void result_counts(FILE *f, const struct config *c, const struct result *r)
{
	const bool alone = c->role == ROLE_PEER; // another process knows how many were sent

	fprintf(f, "%-10s %-5s %13s %13s %12s %9s %11s %11s %11s\n", "datagrams", "way", "sent",
		"delivered", "lost", "loss %", "duplicated", "reordered", "corrupted");
	for (unsigned int d = 0; d < DIRECTION_NB; d++) {
		const struct result_way *w = &r->direction[d];
		const double loss = w->sent > 0 ? (double)w->lost / (double)w->sent : 0;

		if (!w->used)
			continue;
		fprintf(f, "%-10s %-5s %13s %13s %12s %9s %11s %11s %11s\n", "", config_way_name(d),
			alone ? "-" : text_count(w->sent).s, text_count(w->delivered).s,
			alone ? "-" : text_count(w->lost).s, alone ? "-" : text_percent(loss).s,
			text_count(w->duplicated).s, text_count(w->reordered).s,
			text_count(w->corrupted).s);
	}
}

static struct text text_mbps(uint64_t bytes, double seconds)
{
	return text_rate(seconds > 0 ? (double)bytes * 8 / 1e6 / seconds : 0);
}

static void result_rates(FILE *f, const struct config *c, const struct result *r)
{
	const bool alone = c->role == ROLE_PEER;
	const double s = r->seconds;

	fprintf(f, "%-10s %-5s %13s %13s %15s %15s\n", "rates", "way", "sent pps", "recv pps",
		"sent Mb/s", "recv Mb/s");
	for (unsigned int d = 0; d < DIRECTION_NB; d++) {
		const struct result_way *w = &r->direction[d];

		if (!w->used)
			continue;
		fprintf(f, "%-10s %-5s %13s %13s %15s %15s\n", "", config_way_name(d),
			alone ? "-" : text_rate(s > 0 ? (double)w->sent / s : 0).s,
			text_rate(s > 0 ? (double)w->delivered / s : 0).s,
			alone ? "-" : text_mbps(w->sent_bytes, s).s,
			text_mbps(w->received_bytes, s).s);
	}
}

static void result_latency(FILE *f, const struct result *r)
{
	static const double quantiles[] = {0, 0.5, 0.9, 0.99, 0.999, 1};

	fprintf(f, "%-10s %-5s %10s %10s %10s %10s %10s %10s\n", "latency us", "way", "min", "p50",
		"p90", "p99", "p99.9", "max");
	for (unsigned int d = 0; d < DIRECTION_NB; d++) {
		if (!r->direction[d].used)
			continue;
		fprintf(f, "%-10s %-5s", "", config_way_name(d));
		for (unsigned int q = 0; q < sizeof(quantiles) / sizeof(*quantiles); q++) {
			const double us = result_latency_us(r, d, quantiles[q]);

			fprintf(f, " %10s", us < 0 ? "-" : text_us(us).s);
		}
		fputc('\n', f);
	}
}

static void result_probes(FILE *f, const struct config *c, const struct result *r)
{
	if (c->mode == MODE_BINDING || c->mode == MODE_UNAUTH || c->mode == MODE_INVALID ||
		c->mode == MODE_HANDSHAKE)
		fprintf(f, "%-10s %s answered, of which %s with an error\n", "probes",
			text_count(r->answered).s, text_count(r->errors).s);
	if (c->mode == MODE_INVALID)
		fprintf(f, "%-10s %s\n", "server",
			r->alive ? "still answers Binding requests"
				 : "DOES NOT ANSWER Binding requests any more");
}

static void result_allocations(FILE *f, const struct config *c, const struct result *r)
{
	const double s = r->seconds;

	if (c->mode == MODE_ALLOC)
		fprintf(f, "%-10s %s allocations, %s a second; %s releases\n", "allocated",
			text_count(r->allocations).s,
			text_rate(s > 0 ? (double)r->allocations / s : 0).s,
			text_count(r->releases).s);
	if (c->mode == MODE_ALLOC_HOLD)
		fprintf(f, "%-10s %s allocations held for %s s, %s refreshes, %s lost\n",
			"allocated", text_count(r->clients.state[CLIENT_READY]).s,
			text_seconds(s).s, text_count(r->clients.refreshes).s,
			text_count(r->clients.state[CLIENT_FAILED]).s);
}

static void result_injected(FILE *f, const struct config *c, const struct result *r)
{
	if (!c->peer_echo || (c->role & ROLE_PEER) == 0)
		return;
	if (r->injected[RESULT_INJECTED_LOSS] + r->injected[RESULT_INJECTED_DUPLICATE] +
			r->injected[RESULT_INJECTED_REORDER] +
			r->injected[RESULT_INJECTED_CORRUPT] ==
		0)
		return;
	fprintf(f, "%-10s on purpose: %s lost, %s duplicated, %s reordered, %s corrupted\n",
		"peers", text_count(r->injected[RESULT_INJECTED_LOSS]).s,
		text_count(r->injected[RESULT_INJECTED_DUPLICATE]).s,
		text_count(r->injected[RESULT_INJECTED_REORDER]).s,
		text_count(r->injected[RESULT_INJECTED_CORRUPT]).s);
}

// --- clients and lanes ---------------------------------------------------------------------------

static void result_clients(FILE *f, const struct config *c, const struct result *r)
{
	const struct client_stats *s = &r->clients;

	if (!config_allocates(c))
		return;
	fprintf(f, "%-10s %s requests, %s sent again, %s challenges, %s refreshes", "clients",
		text_count(s->requests).s, text_count(s->retransmissions).s,
		text_count(s->challenges).s, text_count(s->refreshes).s);
	if (s->state[CLIENT_FAILED] > 0)
		fprintf(f, "; %s of %s FAILED", text_count(s->state[CLIENT_FAILED]).s,
			text_count(c->clients).s);
	fputc('\n', f);
	for (unsigned int i = 0; i < CLIENT_ERROR_CODES; i++)
		if (s->error[i] > 0)
			fprintf(f, "%-10s %s answers: %u %s\n", "", text_count(s->error[i]).s,
				300 + i, client_fault_error_text(300 + i));
}

static void result_links(FILE *f, const struct config *c, const struct result *r)
{
	if (!config_links(c))
		return;
	fprintf(f, "%-10s %s%s%s: %s begun, %s up, %s failed, %s ended by the server\n", "links",
		config_transport_name(c->transport), r->cipher[0] != '\0' ? ", " : "", r->cipher,
		text_count(r->link.opened).s, text_count(r->link.up).s,
		text_count(r->link.failed).s, text_count(r->link.broken).s);
	if (config_media(c))
		fprintf(f, "%-10s %s datagrams held back, as a connection had no room\n", "",
			text_count(r->link.held_back).s);
}

static void result_lanes(FILE *f, const struct result *r)
{
	if (r->nb_lanes == 0)
		return;
	fprintf(f, "%-10s %5s %-8s %13s %13s %11s %11s %7s %15s\n", "lcores", "lcore", "does",
		"sent", "received", "missed", "ring full", "busy %", "longest gap us");
	for (unsigned int i = 0; i < r->nb_lanes; i++) {
		const struct result_lane *l = &r->lane[i];
		const char *does = l->sends && l->receives ? "tx rx" : l->sends ? "tx" : "rx";

		fprintf(f, "%-10s %5u %-8s %13s %13s %11s %11s %7.0f %15s\n", "", l->lcore, does,
			text_count(l->sent).s, text_count(l->received).s, text_count(l->missed).s,
			text_count(l->tx_full).s, l->busy * 100, text_us(l->max_gap_us).s);
	}
}

// Prints how often a limit was hit, and what would help.
static void bound_line(FILE *f, const struct result *r, enum result_bound b)
{
	const struct {
		uint64_t n;
		const char *unit, *help;
	} more[RESULT_NB_BOUNDS] = {
		[BOUND_SCHEDULE] = {r->missed + r->unstarted, "missed",
			"a lower rate, more --senders, idle CPUs; more --clients that allocate"},
		[BOUND_TX_FULL] = {r->tx_full + r->reflect_full, "refused",
			"a longer --ring, a lower rate"},
		[BOUND_RX_MISSED] = {r->rx_missed, "dropped", "a longer --ring, more --receivers"},
		[BOUND_NO_MBUF] = {r->no_mbuf, "times", "more --mbufs"},
		[BOUND_FLOOD] = {0, NULL, "more --senders: the server may well be faster"},
	};

	fprintf(f, "%-10s   %s: %s", "", result_bound_name(b), result_bound_text(b));
	if (more[b].unit != NULL)
		fprintf(f, " (%s %s)", text_count(more[b].n).s, more[b].unit);
	fprintf(f, "\n%-10s   what helps: %s\n", "", more[b].help);
}

static void result_health(FILE *f, const struct config *c, const struct result *r)
{
	fprintf(f, "%-10s ", "generator");
	if (!result_generator_bound(r))
		fputs("kept up: the result is the server's and the wire's\n", f);
	else
		fputs("BOUND: the result shows (also) the generator's own limit\n", f);
	for (unsigned int b = 0; b < RESULT_NB_BOUNDS; b++)
		if (r->bound[b])
			bound_line(f, r, b);
	if ((c->role & ROLE_CLIENT) != 0 && r->due > 0)
		fprintf(f, "%-10s %s due, %s missed\n", "", text_count(r->due).s,
			text_count(r->missed).s);
	if (r->bad_frames > 0)
		fprintf(f, "%-10s %s frames received with errors (or fragments)\n", "",
			text_count(r->bad_frames).s);
	if (r->stray > 0)
		fprintf(f, "%-10s %s datagrams received from other runs or senders\n", "",
			text_count(r->stray).s);
	if (r->uso)
		fprintf(f, "%-10s USO used: %s datagrams left in %s super-frames\n", "",
			text_count(r->super_sent.datagrams).s, text_count(r->super_sent.frames).s);
	else if (config_media(c) && c->burst > 1)
		fprintf(f, "%-10s USO not used%s%s\n", "", r->uso_why != NULL ? ": " : "",
			r->uso_why != NULL ? r->uso_why : "");
}

static void result_drops(FILE *f, const struct server_drops *d)
{
	unsigned int shown = 0;

	if (d == NULL)
		return;
	fprintf(f, "%-10s", "server");
	for (unsigned int i = 0; i < d->n && i < SERVER_DROPS_MAX; i++) {
		if (d->drop[i].count == 0)
			continue;
		if (shown > 0)
			fprintf(f, shown % DROPS_A_LINE == 0 ? ",\n%-10s" : ",", "");
		fprintf(f, "%s%s %s", shown == 0 ? " dropped " : " ", d->drop[i].name,
			text_count(d->drop[i].count).s);
		shown++;
	}
	fputs(shown > 0 ? "\n" : " dropped nothing\n", f);
}

void report_result(
	FILE *f, const struct config *c, const struct result *r, const struct server_drops *drops)
{
	const struct result_totals t = result_totals(r);

	fprintf(f, "\n%-10s %s s\n", "measured", text_seconds(r->seconds).s);
	if (measures_ways(r)) {
		result_counts(f, c, r);
		result_rates(f, c, r);
		result_latency(f, r);
	}
	result_probes(f, c, r);
	result_allocations(f, c, r);
	result_injected(f, c, r);
	result_clients(f, c, r);
	result_links(f, c, r);
	result_lanes(f, r);
	result_health(f, c, r);
	result_drops(f, drops);
	// turnutils_uclient ends with this line too; people and scripts look for it
	fprintf(f, "send_pps=%.0f, recv_pps=%.0f, total_sent=%" PRIu64 ", total_recv=%" PRIu64 "\n",
		t.send_pps, t.recv_pps, t.sent, t.received);
	fflush(f);
}
