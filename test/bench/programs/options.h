// SPDX-License-Identifier: BSD-3-Clause
// The options of a benchmark of one core: the arguments after EAL's.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_ALLOCATIONS_MAX 8000000
#define OPTIONS_SIZE_MIN 16
#define OPTIONS_SIZE_MAX 1400 // its Data indication fits an MTU of 1500 over IPv6
#define OPTIONS_SECONDS_MAX 60
#define OPTIONS_BURST 32 // a run has a multiple of this many packets for each worker
#define OPTIONS_WORKERS_MAX 64 // as many as slipring has (TURN_WORKERS_MAX)

enum options_direction { DIRECTION_UP, DIRECTION_DOWN, DIRECTION_MIXED };
enum options_run { RUN_COMMANDS, RUN_RELAY, RUN_FORWARD };

struct options {
	uint32_t allocations, mbufs;
	uint32_t verify; // frames that the verified pass relays
	uint16_t size; // bytes of the media payload
	uint8_t direction; // enum options_direction
	uint8_t run; // enum options_run
	bool is_v4;
	bool indication; // Send and Data indications instead of ChannelData
	bool fixed_clock;
	bool memory_only;
	uint8_t workers;
	bool verified; // the port verifies checksums
	uint8_t rates; // limited rates: 1 = of allocations, 2 = of users and realms, too
	const char *state; // the file of a state area, or NULL
	bool handover; // every packet arrives on another worker's queue
	bool one_lcore; // one lcore runs the rounds of all workers in turn
	bool shared; // relay ports are shared
	uint64_t packets; // of the run; 0 = the run is timed
	double seconds; // of the run
};

extern const char *const options_directions[]; // by enum options_direction
extern const char *const options_runs[]; // by enum options_run; "" for commands

// Reads argv[1..argc). Returns 0, or -1 with the reason in error.
int options_parse(int argc, char **argv, struct options *o, char *error, size_t len);
// Read the number of packets, or the seconds, of a run from text. False if it is invalid or out of
// range.
bool options_packets(const char *text, uint64_t *packets);
bool options_seconds(const char *text, double *seconds);
// Prints the options.
void options_help(void);
