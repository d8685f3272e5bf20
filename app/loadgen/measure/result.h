// SPDX-License-Identifier: BSD-3-Clause
// The measurements of a run or a trial: the differences between two snapshots of the lanes'
// counters. lanes/snapshot.c fills it on the main lcore; report.c and json.c show it.
#pragma once

#include "client/client.h"
#include "options/config.h"
#include "measure/hist.h"
#include "measure/search.h"

// Reasons why a result shows the generator's own limit, not only the server's: X(enum, name,
// meaning).
#define RESULT_BOUNDS(X)                                                                         \
	X(BOUND_SCHEDULE, "missed-schedule", "datagrams were due but could not be sent in time") \
	X(BOUND_TX_FULL, "tx-full", "the port did not take datagrams that were due")             \
	X(BOUND_RX_MISSED, "rx-missed", "the port dropped datagrams before they were read")      \
	X(BOUND_NO_MBUF, "no-mbuf", "packet pool empty")                                         \
	X(BOUND_FLOOD, "flood-not-lossy",                                                        \
		"a flood that the server relayed whole: it could take more")

enum result_bound {
#define X(id, name, text) id,
	RESULT_BOUNDS(X)
#undef X
		RESULT_NB_BOUNDS
};
// The short name ("tx-full"), and the meaning in words.
const char *result_bound_name(enum result_bound b);
const char *result_bound_text(enum result_bound b);

// One direction of media. Probes (Binding, Allocate without credentials) use DIRECTION_ECHO.
struct result_way {
	bool used; // the run sends in this direction
	uint64_t sent, sent_bytes; // payload bytes
	uint64_t received, received_bytes; // with valid stamps, duplicates included
	uint64_t delivered; // different datagrams, each counted once
	uint64_t lost, duplicated, reordered, corrupted;
	struct hist *latency; // in TSC ticks; the result owns it
};

// Faults that the reflector made on purpose.
enum {
	RESULT_INJECTED_LOSS,
	RESULT_INJECTED_DUPLICATE,
	RESULT_INJECTED_REORDER,
	RESULT_INJECTED_CORRUPT,
	RESULT_NB_INJECTED
};

// Counters of one lane (lcore), shown on a line each.
struct result_lane {
	unsigned int lcore;
	bool sends, receives;
	uint64_t sent, received, missed, tx_full; // datagrams
	double busy; // share of rounds that had work, 0..1
	double max_gap_us; // longest time between two rounds
};

// Super-frames and the datagrams in them.
struct result_super {
	uint64_t frames, datagrams;
};

struct result {
	double seconds; // of sending
	double hz; // TSC ticks per second
	struct result_way direction[DIRECTION_NB];
	uint64_t stray; // datagrams with a foreign tag, or from an earlier trial
	uint64_t injected[RESULT_NB_INJECTED];
	uint64_t answered, errors; // probes: answers, and error responses among them
	bool alive; // MODE_INVALID: the server still answered a Binding request afterwards
	// the generator's own health
	// due includes missed
	uint64_t due, missed, tx_full, rx_missed, no_mbuf, bad_frames;
	uint64_t reflect_full; // reflected datagrams that the port did not take
	uint64_t unstarted; // allocations or handshakes that were due when every client was busy
	struct {
		uint64_t opened, up, failed, broken; // since the start, not a difference
		uint64_t held_back; // media that a connection had no room for; it was never sent
	} link;
	char cipher[64]; // cipher of the connections; "" = no connection yet
	bool bound[RESULT_NB_BOUNDS];
	bool uso; // the port took super-frames and did not have to cut them all
	const char *uso_why; // why uso is false
	struct result_super super_sent, super_received;
	struct client_stats clients; // since the start, not a difference
	uint64_t allocations, releases; // in this trial
	double setup_s; // duration of the set-up phase
	unsigned int nb_lanes;
	struct result_lane lane[CONFIG_LANES_MAX];
};

// Makes a result with its histograms; NULL when memory ran out.
struct result *result_create(void);
void result_free(struct result *r);
// True if any limit of the generator shows in the result.
static inline bool result_generator_bound(const struct result *r)
{
	for (unsigned int i = 0; i < RESULT_NB_BOUNDS; i++)
		if (r->bound[i])
			return true;
	return false;
}

// Sums over the directions of media. The way up of an echo is not counted in addition to the echo.
struct result_totals {
	uint64_t sent, received; // received: delivered at the far end, each counted once
	double send_pps, recv_pps;
};
struct result_totals result_totals(const struct result *r);
// Returns a latency in microseconds; below zero when none was measured.
double result_latency_us(const struct result *r, enum direction d, double quantile);

// Drop counters of the server, by name (telemetry.c).
#define SERVER_DROPS_MAX 128

struct server_drops {
	unsigned int n;
	struct {
		char name[40];
		uint64_t count;
	} drop[SERVER_DROPS_MAX];
};
