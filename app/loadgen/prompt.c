// SPDX-License-Identifier: BSD-3-Clause
// The prompt of --interactive, with testpmd's commands. Traffic continues while the user types.
#include "prompt.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "measure/pacer.h"
#include "report/report_result.h"
#include "session.h"
#include "traffic.h"

#define LINE_MAX_LEN 256
#define POLL_MS 50

struct prompt {
	struct session *s;
	double rate;
	bool running, quit;
	uint64_t since; // TSC at "start"
	double next; // time of the next row, in seconds since the start
	char line[LINE_MAX_LEN];
	size_t len;
};

static void stop_traffic(struct prompt *p)
{
	if (!p->running)
		return;
	p->running = false;
	traffic_end(p->s);
	session_drops_after(p->s);
	report_result(p->s->out, p->s->c, p->s->result, p->s->has_drops ? &p->s->drops : NULL);
}

static void start_traffic(struct prompt *p)
{
	if (p->running) {
		fputs("it is sending already\n", p->s->out);
		return;
	}
	session_drops_before(p->s);
	traffic_begin(p->s, p->rate);
	p->running = true;
	p->since = rte_rdtsc();
	p->next = p->s->c->stats_period_s;
}

static void set_pps(struct prompt *p, const char *text)
{
	double rate;
	char unit = '\0', more;
	const int n = sscanf(text, "%lf%c%c", &rate, &unit, &more);

	if (strcmp(text, "flood") == 0) {
		rate = PACER_FLOOD;
	} else if (n < 1 || n > 2 || (unit != '\0' && strchr("kM", unit) == NULL) || !(rate > 0) ||
		rate > 1e9) {
		fprintf(p->s->out, "set pps N: a number, 10k, 2.5M or flood, not '%s'\n", text);
		return;
	}
	p->rate = rate * (unit == 'k' ? 1e3 : unit == 'M' ? 1e6 : 1);
	if (p->running)
		traffic_rate(p->s, p->rate);
}

static void print_help(struct prompt *p)
{
	fputs("start            send, at the rate set\n"
	      "stop             stop, and print the result\n"
	      "show stats       a row of the table, for the time since the last row\n"
	      "set pps N        rate of all clients together: N, 10k, 2.5M, flood; at once\n"
	      "quit             stop, release the allocations, end\n",
		p->s->out);
}

static void run_command(struct prompt *p, char *line)
{
	char *text = line + strspn(line, " \t");
	size_t n = strlen(text);

	while (n > 0 && strchr(" \t\r", text[n - 1]) != NULL)
		text[--n] = '\0';
	if (n == 0)
		return;
	if (strcmp(text, "start") == 0)
		start_traffic(p);
	else if (strcmp(text, "stop") == 0)
		stop_traffic(p);
	else if (strcmp(text, "show stats") == 0 && p->running)
		traffic_row(p->s, session_seconds(p->s, p->since));
	else if (strcmp(text, "show stats") == 0)
		fputs("nothing is being sent\n", p->s->out);
	else if (strncmp(text, "set pps ", 8) == 0)
		set_pps(p, text + 8 + strspn(text + 8, " "));
	else if (strcmp(text, "quit") == 0)
		p->quit = true;
	else if (strcmp(text, "help") == 0)
		print_help(p);
	else
		fprintf(p->s->out, "'%s' is not a command; help lists them\n", text);
}

// Reads the input and carries out whole lines. The end of the input means "quit".
static void read_input(struct prompt *p)
{
	const ssize_t n = read(STDIN_FILENO, p->line + p->len, sizeof(p->line) - 1 - p->len);
	char *end;

	if (n <= 0) {
		p->quit = true;
		return;
	}
	p->len += (size_t)n;
	p->line[p->len] = '\0';
	while (!p->quit && (end = strchr(p->line, '\n')) != NULL) {
		*end = '\0';
		run_command(p, p->line);
		p->len -= (size_t)(end + 1 - p->line);
		memmove(p->line, end + 1, p->len + 1);
	}
	if (p->len == sizeof(p->line) - 1)
		p->len = 0; // no command is that long: drop it
	fputs("loadgen> ", p->s->out);
	fflush(p->s->out);
}

void prompt_run(struct session *s)
{
	struct prompt p = {.s = s, .rate = s->c->rate};
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

	fputs("loadgen> ", s->out);
	fflush(s->out);
	while (!p.quit && !run_stop) {
		const double t = p.running ? session_seconds(s, p.since) : 0;

		if (poll(&in, 1, POLL_MS) > 0)
			read_input(&p);
		if (!p.running || s->c->stats_period_s <= 0 || t < p.next)
			continue;
		p.next += s->c->stats_period_s;
		traffic_row(s, t);
	}
	stop_traffic(&p);
}
