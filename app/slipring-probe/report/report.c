// SPDX-License-Identifier: BSD-3-Clause
// Output for people, and metrics in the text format of Prometheus.
#include "report/report.h"

#include <inttypes.h>

#include "report/words.h"

#define MARGIN "              "

void report_judge(struct report *p)
{
	unsigned int good = 0, bad = 0;

	for (unsigned int i = 0; i < p->n; i++) {
		good += p->result[i].ok;
		bad += !p->result[i].ok && !p->result[i].absent;
	}
	p->ok = good > 0 && bad == 0;
	if (good + bad > 0)
		return;
	for (unsigned int i = 0; i < p->n; i++)
		p->result[i].absent = false;
}

// --- for people ----------------------------------------------------------------------------------

static void put_endpoint(FILE *out, const char *before, const struct endpoint *e)
{
	char text[ADDR_TEXT_LEN + 8];

	if (e->port != 0)
		fprintf(out, "%s%s", before, addr_format_endpoint(e, text, sizeof(text)));
}

static void put_good(FILE *out, const struct result *r)
{
	fprintf(out, "%-5s ok      ", transport_name(r->transport));
	put_endpoint(out, "", &r->server);
	put_endpoint(out, " sees ", &r->mapped);
	put_endpoint(out, ", relays at ", &r->relayed);
	if (r->realm[0] != '\0')
		fprintf(out, ", realm %s", r->realm);
	fputc('\n', out);
}

static void put_bad(FILE *out, const struct report *p, const struct result *r)
{
	char words[WORDS_SIZE];

	fprintf(out, "%-5s %-7s %s", transport_name(r->transport), r->absent ? "absent" : "FAILED",
		step_name(r->step));
	put_endpoint(out, " at ", &r->server);
	fprintf(out, ": %s\n", words_what(r, p->host, words));
	if (!r->absent)
		fprintf(out, MARGIN "%s\n", words_advice(r, p->host, words));
}

static void put_times(FILE *out, const struct result *r)
{
	const char *before = MARGIN;

	for (unsigned int i = 0; i < NB_STEPS; i++) {
		if (r->us[i] == STEP_NOT_DONE)
			continue;
		fprintf(out, "%s%s %.1f ms", before, step_name(i), (double)r->us[i] / 1000);
		before = ", ";
	}
	if (before[0] == ',')
		fputc('\n', out);
}

static void put_notes(FILE *out, const struct report *p, const struct result *r)
{
	if (r->not_after_s > p->now_s)
		fprintf(out, MARGIN "the certificate is valid for %" PRId64 " days\n",
			result_days(r, p->now_s));
	if (r->alternate.port != 0) {
		put_endpoint(out, MARGIN "the server sent the client to ", &r->alternate);
		fputc('\n', out);
	}
	if (r->ok && r->authless)
		fputs(MARGIN "no credentials: only connection and Binding were tested\n", out);
	if (r->ok && r->paired)
		fputs(MARGIN "this host may not be a peer: two allocations sent to each other, and "
			     "the\n" MARGIN "firewall of the relay range was not tested\n",
			out);
}

void report_text(FILE *out, const struct report *p)
{
	for (unsigned int i = 0; i < p->n; i++) {
		const struct result *r = &p->result[i];

		if (r->ok)
			put_good(out, r);
		else
			put_bad(out, p, r);
		if (r->absent)
			continue;
		put_times(out, r);
		put_notes(out, p, r);
	}
}

// --- metrics -------------------------------------------------------------------------------------

static void put_head(FILE *out, const char *name, const char *help)
{
	fprintf(out, "# HELP slipring_probe_%s %s\n# TYPE slipring_probe_%s gauge\n", name, help,
		name);
}

static void put_name(FILE *out, const char *name, const struct report *p, const struct result *r)
{
	fprintf(out, "slipring_probe_%s{server=\"%s\",transport=\"%s\"", name, p->server,
		transport_name(r->transport));
}

static void put_seconds(FILE *out, const struct report *p, const struct result *r)
{
	for (unsigned int i = 0; i < NB_STEPS; i++) {
		if (r->us[i] == STEP_NOT_DONE)
			continue;
		put_name(out, "seconds", p, r);
		fprintf(out, ",step=\"%s\"} %.6f\n", step_name(i), (double)r->us[i] / 1e6);
	}
}

void report_prometheus(FILE *out, const struct report *p)
{
	put_head(out, "up", "1 if the transport works.");
	for (unsigned int i = 0; i < p->n; i++) {
		if (p->result[i].absent)
			continue;
		put_name(out, "up", p, &p->result[i]);
		fprintf(out, "} %d\n", p->result[i].ok);
	}
	put_head(out, "seconds", "Time that a step took.");
	for (unsigned int i = 0; i < p->n; i++)
		if (!p->result[i].absent)
			put_seconds(out, p, &p->result[i]);
	put_head(out, "certificate_expiry_seconds", "End of the certificate, Unix time.");
	for (unsigned int i = 0; i < p->n; i++) {
		if (p->result[i].not_after_s == 0)
			continue;
		put_name(out, "certificate_expiry_seconds", p, &p->result[i]);
		fprintf(out, "} %" PRId64 "\n", p->result[i].not_after_s);
	}
}
