// SPDX-License-Identifier: BSD-3-Clause
// What a run or a trial has measured: differences between two snapshots of the lanes' counters.
// Made by trial.c on the main lcore, shown by report.c and json.c.
#pragma once

#include "client/client.h"
#include "options/config.h"
#include "measure/hist.h"
#include "measure/search.h"

// Reasons why what was measured is (also) the generator's own limit: X(enum, name, meaning).
#define RESULT_BOUNDS(X)                                                                         \
	X(BOUND_SCHEDULE, "missed-schedule", "datagrams were due but could not be sent in time") \
	X(BOUND_TX_FULL, "tx-full", "the port did not take datagrams that were due")             \
	X(BOUND_RX_MISSED, "rx-missed", "the port dropped datagrams before they were read")      \
	X(BOUND_NO_MBUF, "no-mbuf", "packet pool empty")                                         \
	X(BOUND_FLOOD, "flood-not-lossy",                                                        \
		"a flood that the server relayed whole: it could take more than was offered")

enum result_bound {
#define X(id, name, text) id,
	RESULT_BOUNDS(X)
#undef X
		RESULT_NB_BOUNDS
};
const char *result_bound_name(enum result_bound b);
const char *result_bound_text(enum result_bound b);

// One way of media; also probes (Binding, Allocate without credentials), which use DIRECTION_ECHO.
struct result_way {
	bool used;
	uint64_t sent, sent_bytes; // payload bytes
	uint64_t received, received_bytes; // with valid stamps, duplicates included
	uint64_t delivered; // different datagrams
	uint64_t lost, duplicated, reordered, corrupted;
	struct hist *latency; // in TSC ticks; owned by the result
};

// What the reflector did on purpose.
enum {
	RESULT_INJECTED_LOSS,
	RESULT_INJECTED_DUPLICATE,
	RESULT_INJECTED_REORDER,
	RESULT_INJECTED_CORRUPT,
	RESULT_NB_INJECTED
};

// Counters of one lane (lcore), for lines of their own.
struct result_lane {
	unsigned int lcore;
	bool sends, receives;
	uint64_t sent, received, missed, tx_full;
	double busy; // share of rounds with work
	double max_gap_us; // longest time between two rounds
};

// Super-frames and the datagrams in them.
struct result_super {
	uint64_t frames, datagrams;
};

struct result {
	double seconds; // of sending
	double hz; // TSC ticks per second
	struct result_way way[DIRECTION_NB];
	uint64_t stray; // datagrams that were nobody's: foreign tag, or an earlier trial
	uint64_t injected[RESULT_NB_INJECTED];
	uint64_t answered, errors; // of probes: answers, of which error responses
	bool alive; // MODE_INVALID: the server answered a Binding request afterwards
	// the generator's own health
	uint64_t due, missed, tx_full, rx_missed, no_mbuf, bad_frames; // due: all, missed or not
	uint64_t reflect_full; // reflected datagrams that the port did not take
	uint64_t unstarted; // allocations or handshakes that were due when every client was busy
	struct {
		uint64_t opened, up, failed, broken; // whole life, not a difference
		uint64_t held_back; // media that a connection had no room for: never sent
	} link;
	char cipher[64]; // of the connections, "" = none
	bool bound[RESULT_NB_BOUNDS];
	bool uso; // super-frames were handed to the port, and it did not have to cut them all
	const char *uso_why; // why not
	struct result_super super_sent, super_received;
	struct client_stats clients; // whole life, not a difference
	uint64_t allocations, releases; // in this trial
	double setup_s; // of the set-up phase
	unsigned int nb_lanes;
	struct result_lane lane[CONFIG_LANES_MAX];
};

static inline bool result_generator_bound(const struct result *r)
{
	for (unsigned int i = 0; i < RESULT_NB_BOUNDS; i++)
		if (r->bound[i])
			return true;
	return false;
}

// Drop counters of the server, before and after (telemetry.c).
#define SERVER_DROPS_MAX 128

struct server_drops {
	unsigned int n;
	struct {
		char name[40];
		uint64_t count;
	} drop[SERVER_DROPS_MAX];
};
