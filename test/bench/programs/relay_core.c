// SPDX-License-Identifier: BSD-3-Clause
// relay_core: the cost of relaying on one core, and of receiving and sending alone. It makes the
// allocations once and proves that frames are relayed correctly. Then it measures whenever a line
// on stdin tells it to, and sleeps in between, so that several programs can take turns.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_lcore.h>

#include "clients.h"
#include "measure.h"
#include "proof.h"
#include "visits.h"

struct bench {
	struct options o;
	struct flows flows;
	struct visits visits[OPTIONS_WORKERS_MAX]; // one per queue
	struct box box;
};

// --- answers ------------------------------------------------------------------------------------

static void print_ready(const struct bench *n, double seconds)
{
	const struct options *o = &n->o;
	const struct box_memory m = box_memory(&n->box);
	const unsigned int up = n->visits[0].up.len, down = n->visits[0].down.len;
	const unsigned int mean = o->direction == DIRECTION_UP ? up
		: o->direction == DIRECTION_DOWN               ? down
							       : (up + down) / 2;

	printf("{\"ready\":true,\"allocations\":%u,\"size\":%u,\"direction\":\"%s\","
	       "\"mode\":\"%s\",\"family\":%d,\"workers\":%u,\"handover\":%s,\"relay\":\"%s\","
	       "\"mbufs\":%u,\"frame_up\":%u,\"frame_down\":%u,"
	       "\"frame\":%u,\"memory_mb\":%u,\"memory_bytes\":%llu,\"pool_bytes\":%llu,"
	       "\"slots\":%llu,\"setup_s\":%.3f,\"verified\":%u}\n",
		o->allocations, o->size, options_directions[o->direction],
		o->indication ? "indication" : "channel", o->is_v4 ? 4 : 6, o->workers,
		o->handover ? "true" : "false", o->shared ? "shared" : "own", o->mbufs, up, down,
		mean, box_memory_mb(o), (unsigned long long)m.bytes, (unsigned long long)m.pool,
		(unsigned long long)m.slots, seconds, o->verify);
	fflush(stdout);
}

static void run(struct bench *n, bool forward, double seconds, uint64_t packets)
{
	const struct measurement m = measure_run(&n->box, &n->o, forward, seconds, packets);

	printf("{\"run\":\"%s\",\"packets\":%llu,\"seconds\":%.6f,\"ns_per_packet\":%.3f,"
	       "\"mpps\":%.3f,\"ns_median\":%.3f,\"held\":%.4f,\"drops\":0,\"rounds\":%llu}\n",
		forward ? "forward" : "relay", (unsigned long long)m.packets, m.seconds,
		m.seconds * 1e9 / (double)m.packets, (double)m.packets / m.seconds / 1e6,
		m.ns_median, m.held, (unsigned long long)m.rounds);
	fflush(stdout);
}

static void complain(const char *message)
{
	printf("{\"error\":\"%s\"}\n", message);
	fflush(stdout);
}

// --- commands -----------------------------------------------------------------------------------

static void command_run(struct bench *n, bool by_time, const char *kind, const char *amount)
{
	const bool forward = strcmp(kind, options_runs[RUN_FORWARD]) == 0;
	uint64_t packets = 0;
	double seconds = 0;

	if (!forward && strcmp(kind, options_runs[RUN_RELAY]) != 0)
		complain("a run is relay or forward");
	else if (!measure_possible(&n->o, forward, !by_time))
		complain("workers on their own lcores relay by time only");
	else if (by_time && !options_seconds(amount, &seconds))
		complain("seconds are 0.01 to 60");
	else if (!by_time && !options_packets(amount, &packets))
		complain("packets are a multiple of 32");
	else
		run(n, forward, seconds, packets);
}

static void command_verify(struct bench *n, const char *amount)
{
	const long frames = strtol(amount, NULL, 10);

	if (frames < 1 || frames > 100000000) {
		complain("frames are 1 to 100000000");
		return;
	}
	clients_wake(&n->box, &n->o);
	proof_run(&n->box, &n->o, (uint32_t)frames);
	box_clock_stop(&n->box);
	printf("{\"verified\":%ld}\n", frames);
	fflush(stdout);
}

// Carries out one line; false to end.
static bool command(struct bench *n, const char *line)
{
	char verb[16] = "", kind[16] = "", amount[32] = "", more[2] = "";
	const int words = sscanf(line, "%15s %15s %31s %1s", verb, kind, amount, more);

	if (words == 1 && strcmp(verb, "quit") == 0)
		return false;
	if (words == 2 && strcmp(verb, "verify") == 0)
		command_verify(n, kind);
	else if (words == 3 && (strcmp(verb, "run") == 0 || strcmp(verb, "packets") == 0))
		command_run(n, strcmp(verb, "run") == 0, kind, amount);
	else
		complain("commands: run KIND SECONDS, packets KIND N, verify N, quit");
	return true;
}

// --- from start to end --------------------------------------------------------------------------

// Makes the frames of every queue, near the lcore that polls it.
static void frames_make(struct bench *n)
{
	for (uint32_t q = 0; q < n->o.workers; q++) {
		const struct visits_queue queue = {
			q, (int)rte_lcore_to_socket_id(box_lcore(&n->o, q)), n->box.port->mac};
		int rc = visits_make(&n->visits[q], &n->flows, &n->o, &queue);

		if (rc == 0)
			rc = visits_replay(&n->visits[q], &n->o, n->box.port, (uint16_t)q);
		if (rc != 0)
			box_die("frames for the replay port: %s", strerror(-rc));
	}
}

static void bench_open(struct bench *n)
{
	uint64_t start = rte_rdtsc();

	if (flows_init(&n->flows, n->o.is_v4, n->o.allocations) != 0)
		box_die("no memory for %u flows", n->o.allocations);
	box_open(&n->box, &n->o, &n->flows);
	box_settle(&n->box);
	clients_make(&n->box, &n->o);
	frames_make(n);
	proof_run(&n->box, &n->o, n->o.verify);
	box_clock_stop(&n->box);
	start = rte_rdtsc() - start;
	print_ready(n, (double)start / (double)rte_get_tsc_hz());
}

static void bench_close(struct bench *n)
{
	box_close(&n->box);
	for (unsigned int q = 0; q < n->o.workers; q++)
		visits_free(&n->visits[q]);
	flows_fini(&n->flows);
}

// Returns the index of "--", after which our options are; argc if there is no "--".
static int separator(int argc, char **argv)
{
	int i = 1;

	while (i < argc && strcmp(argv[i], "--") != 0)
		i++;
	return i;
}

int main(int argc, char **argv)
{
	static struct bench n;
	const int eal_argc = separator(argc, argv);
	char error[256], line[256];

	if (options_parse(RTE_MAX(argc - eal_argc, 1), argv + RTE_MIN(eal_argc, argc - 1), &n.o,
		    error, sizeof(error)) != 0) {
		fprintf(stderr, "relay_core: %s\n", error);
		return 2;
	}
	if (n.o.memory_only) {
		printf("{\"memory_mb\":%u}\n", box_memory_mb(&n.o));
		return 0;
	}
	if (rte_eal_init(eal_argc, argv) < 0)
		box_die("EAL does not start");
	if (!n.o.one_lcore && rte_lcore_count() < n.o.workers)
		box_die("%u lcores for %u workers (see --lcores, --one-lcore)", rte_lcore_count(),
			n.o.workers);
	bench_open(&n);
	if (n.o.run != RUN_COMMANDS)
		run(&n, n.o.run == RUN_FORWARD, n.o.seconds, n.o.packets);
	else
		while (fgets(line, sizeof(line), stdin) != NULL && command(&n, line))
			;
	bench_close(&n);
	return rte_eal_cleanup() == 0 ? 0 : 1;
}
