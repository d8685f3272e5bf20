// SPDX-License-Identifier: BSD-3-Clause
// The counters of a lane.
#pragma once

#include <stdint.h>

#include "options/config.h"

// Only the lane writes them. The main lcore reads one word after the other, without a lock.
struct lane_stats {
	uint64_t sent[DIRECTION_NB], sent_bytes[DIRECTION_NB]; // accepted by the port
	uint64_t received[DIRECTION_NB], received_bytes[DIRECTION_NB];
	uint64_t unique[DIRECTION_NB], duplicated[DIRECTION_NB], reordered[DIRECTION_NB];
	uint64_t corrupted[DIRECTION_NB];
	uint64_t stray; // for an unknown owner, or from an earlier trial
	uint64_t answered, errors; // answered probes; answered probes with an error response
	// Datagrams; due includes missed, tx_full and link.held_back.
	uint64_t due, missed, tx_full, no_mbuf;
	uint64_t reflect_full; // reflected, but not taken by the port
	// Allocations (MODE_ALLOC) or handshakes (MODE_HANDSHAKE) that were due when every client
	// was busy.
	uint64_t unstarted;
	uint64_t bad_frames; // refused by net_frame_parse, or by gso_cut
	struct {
		uint64_t frames, datagrams;
	} super_sent, super_received; // super-frames, and the datagrams in them
	uint64_t control_lost; // answers lost because the ring to their sender was full
	// Connections: begun; up; failed during the handshake; closed by the server while in use.
	// held_back: media datagrams that a connection had no room for.
	struct {
		uint64_t opened, up, failed, broken, held_back;
	} link;
	uint64_t injected[4]; // made by the reflector: lost, duplicated, reordered, corrupted
	uint64_t rounds, busy_rounds;
	uint64_t max_gap; // longest time between two rounds of the trial, in TSC ticks
};
