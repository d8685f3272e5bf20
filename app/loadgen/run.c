// SPDX-License-Identifier: BSD-3-Clause
// The phases of a run, on the main lcore: next hops, set-up, trials or a search, release.
#include "run.h"

#include <rte_cycles.h>

#include "client/clients.h"
#include "lanes/lane.h"
#include "lanes/sender.h"
#include "measure/pacer.h"
#include "prompt.h"
#include "report/json.h"
#include "report/plot.h"
#include "report/report.h"
#include "report/report_result.h"
#include "report/report_search.h"
#include "seek.h"
#include "session.h"
#include "traffic.h"

#define HOPS_S 4.0 // seconds that next hops have to answer
#define RELEASE_S 8.0
#define ALIVE_S 0.5
#define ALIVE_PPS 20.0

volatile int run_stop;

// --- next hops and clients -----------------------------------------------------------------------

static int wait_hops(struct session *s)
{
	const uint64_t started = rte_rdtsc();
	char missing[128];

	while (hop_missing(s->e, missing, sizeof(missing)) && !run_stop) {
		if (session_seconds(s, started) > HOPS_S)
			return session_fail(
				"no answer from %s: is it there, and on the same link?", missing);
		session_step();
	}
	return 0;
}

static bool setting_up(const struct session *s, const struct client_stats *st)
{
	const uint64_t begun = st->state[CLIENT_READY] + st->state[CLIENT_FAILED];

	return begun < s->c->clients;
}

// Says why no client is ready: the fault that happened most often.
static int fail_clients(const struct session *s, const struct client_stats *st)
{
	unsigned int worst = 0, code = 0;

	for (unsigned int f = 1; f < CLIENT_NB_FAULTS; f++)
		if (st->fault[f] > st->fault[worst])
			worst = f;
	for (unsigned int i = 1; i < CLIENT_ERROR_CODES; i++)
		if (st->error[i] > st->error[code])
			code = i;
	if (worst != CLIENT_FAULT_REFUSED || st->error[code] == 0)
		return session_fail("no client of %u is ready: %s", s->c->clients,
			client_fault_text((enum client_fault)worst));
	return session_fail(
		"no client of %u is ready: the server answers %u (%s); see --user, --password, "
		"--secret and the server's limits",
		s->c->clients, code + 300, client_fault_error_text(code + 300));
}

// Checks that the peers can reach the relayed addresses. Every lane has made its paths by now, so
// no new next hop appears.
static int check_relays(struct session *s)
{
	const bool down = config_media(s->c) && s->c->direction[DIRECTION_DOWN];
	char text[ADDR_TEXT_LEN];

	for (unsigned int i = 0; down && i < s->c->senders; i++) {
		const struct sender *sender = s->e->sender[i]->sender;

		for (uint32_t k = 0; k < sender->nb_flows; k++) {
			const struct client *c = clients_at(sender->clients, k);

			if (c->state != CLIENT_READY || sender->flow[k].down.hop != HOP_NONE)
				continue;
			return session_fail(
				"the relayed address %s is neither on the peers' link nor "
				"behind their gateway: see --peer-addr, "
				"--peer-gateway",
				addr_format(&c->relay.addr, text, sizeof(text)));
		}
	}
	return 0;
}

static int set_up(struct session *s)
{
	const uint64_t started = rte_rdtsc();
	struct client_stats st;
	double told = 0;

	session_order(s->e, PHASE_SETUP);
	for (;;) {
		snapshot_clients(s->e, &st);
		s->setup_s = session_seconds(s, started);
		if (!setting_up(s, &st) || run_stop)
			break;
		if (s->setup_s - told >= 1) {
			told = s->setup_s;
			report_setup(s->out, &st, s->c->clients, s->setup_s, false);
		}
		session_step();
	}
	session_order(s->e, PHASE_WAIT);
	report_setup(s->out, &st, s->c->clients, s->setup_s, true);
	if (st.state[CLIENT_READY] == 0 && !run_stop)
		return fail_clients(s, &st);
	return check_relays(s) != 0 ? 1 : wait_hops(s);
}

// Waits until all clients are released, or until nothing has changed for a while.
static void tear_down(struct session *s)
{
	const uint64_t started = rte_rdtsc();
	uint64_t moved = started, before = UINT64_MAX, left;
	struct client_stats st;
	double told = 0;

	session_order(s->e, PHASE_RELEASE);
	do {
		session_step();
		snapshot_clients(s->e, &st);
		if (session_seconds(s, started) - told >= 1) {
			told = session_seconds(s, started);
			report_teardown(s->out, &st, s->c->clients, told, false);
		}
		left = st.state[CLIENT_READY] + st.state[CLIENT_RELEASING] +
			st.state[CLIENT_ALLOCATING] + st.state[CLIENT_BINDING];
		if (left < before)
			moved = rte_rdtsc();
		before = left;
	} while (left > 0 && run_stop < 2 && session_seconds(s, moved) < RELEASE_S);
	session_order(s->e, PHASE_WAIT);
	report_teardown(s->out, &st, s->c->clients, session_seconds(s, started), true);
}

// Checks whether the server still answers after malformed datagrams.
static void check_alive(struct session *s)
{
	struct result *measured = s->result;
	struct result *probe = result_create();

	if (probe == NULL)
		return;
	s->result = probe;
	s->e->mode = MODE_BINDING;
	traffic_run(s, ALIVE_PPS, ALIVE_S, false);
	s->e->mode = s->c->mode;
	s->result = measured;
	measured->alive = probe->answered > 0;
	result_free(probe);
}

// --- the whole run -------------------------------------------------------------------------------

// Runs the reflector alone, until a signal or the end of its duration.
static void run_peer(struct session *s)
{
	const double duration = s->c->duration_s > 0 ? s->c->duration_s : 1e9;

	traffic_run(s, PACER_FLOOD, duration, true);
}

static void run_measure(struct session *s)
{
	if (s->c->interactive) {
		prompt_run(s);
		return;
	}
	if (s->c->mode != MODE_ALLOC_HOLD && s->c->mode != MODE_ALLOC)
		traffic_warm_up(s, s->c->rate);
	session_drops_before(s);
	if (!run_stop)
		traffic_run(s, s->c->rate, s->c->duration_s, true);
}

static bool needs_setup(const struct config *c)
{
	return config_allocates(c) && c->mode != MODE_ALLOC;
}

static int run_phases(struct session *s)
{
	const struct config *c = s->c;
	int rc = wait_hops(s);

	if (rc == 0 && needs_setup(c) && !run_stop)
		rc = set_up(s);
	if (rc == 0 && !run_stop) {
		if (c->role == ROLE_PEER)
			run_peer(s);
		else if (c->search != WANT_NO_SEARCH)
			rc = seek_run(s);
		else
			run_measure(s);
		if (c->mode == MODE_INVALID)
			check_alive(s);
		session_drops_after(s);
	}
	if (config_allocates(c) && run_stop < 2)
		tear_down(s);
	return rc;
}

static int write_json(const struct session *s)
{
	const struct server_drops *drops = s->has_drops ? &s->drops : NULL;
	FILE *f;
	int rc;

	if (s->c->json == NULL)
		return 0;
	f = strcmp(s->c->json, "-") == 0 ? stdout : fopen(s->c->json, "we");
	if (f == NULL)
		return session_fail("--json %s: %m", s->c->json);
	rc = json_write(f, s->c, s->result, drops, s->search);
	if ((f == stdout ? fflush(f) : fclose(f)) != 0 || rc != 0)
		return session_fail("--json: %m");
	return 0;
}

// The results are printed already, so a picture that fails is only a warning.
static void draw_plot(const struct session *s)
{
	char error[512];

	if (s->c->plot != NULL && plot_write(s->c, s->result, s->search, error, sizeof(error)) != 0)
		session_fail("%s", error);
}

// Checks that the picture can be drawn before a search, which may take long.
static int check_drawing(const struct session *s)
{
	char error[1024];

	if (s->c->plot == NULL || plot_check(s->c->plot, error, sizeof(error)) == 0)
		return 0;
	return session_fail("%s", error);
}

int run(struct engine *e)
{
	struct session s;
	int rc = session_init(&s, e);

	if (rc == 0)
		rc = check_drawing(&s);
	if (rc == 0) {
		setvbuf(s.out, NULL, _IOLBF, 0);
		report_begin(s.out, s.c);
		rc = run_phases(&s);
	}
	if (rc == 0) {
		if (s.result->hz == 0) { // a signal came before anything was measured
			snapshot_take(e, s.now);
			snapshot_result(e, s.now, s.now, true, s.result);
			s.result->setup_s = s.setup_s;
		}
		if (s.search != NULL)
			report_search(s.out, s.c, s.search);
		else if (!s.c->interactive) // the prompt has reported each result already
			report_result(s.out, s.c, s.result, s.has_drops ? &s.drops : NULL);
		rc = write_json(&s);
		draw_plot(&s);
	}
	session_fini(&s);
	return rc;
}
