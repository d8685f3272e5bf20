// SPDX-License-Identifier: BSD-3-Clause
// The command line of slipring-loadgen (EAL's own arguments apart). Main lcore only.
#pragma once

#include <stdio.h>

#include "options/config.h"

#define OPTS_ERROR_LEN 320

enum opts_result {
	OPTS_ERROR = -1,
	OPTS_RUN = 0,
	OPTS_SHOWN = 1, // --help or --version: nothing is to be run
};

// What holds when nothing is said. Defaults that depend on other options are filled in by
// opts_parse, so that this alone is no configuration to run with: addresses are missing.
void config_defaults(struct config *c);

// argv[0] is the program's name (a "--" after it is skipped). Strings of argv are kept by *c.
// OPTS_ERROR: the reason is on stderr, one line. OPTS_SHOWN: the answer is on stdout.
// What a complete configuration has:
//	role & ROLE_CLIENT	client.addrs, client.device, clients <= hosts of the client's side
//	role & ROLE_PEER	peer.addrs; peer.device is NULL for "port 1 when there is one"
//	media			peer.addrs (client i talks to host i modulo their number), no
//				payload that exceeds the MTU on either leg
//	rate			datagrams (MODE_ALLOC: allocations) per second whatever way it was
//				given; 0 also in MODE_ALLOC_HOLD, where the set-up has the rate
//	duration_s		0 with ROLE_PEER alone and no --duration: until it is stopped
int opts_parse(int argc, char **argv, struct config *c);
// The same, but the reason goes to error (OPTS_ERROR_LEN bytes), without the program's name.
int opts_read(int argc, char **argv, struct config *c, char *error);

void opts_help(FILE *out);

const char *opts_mode_name(enum mode m);
const char *opts_transport_name(enum transport t); // as on the command line
const char *opts_way_name(enum direction d); // "up", "down", "echo"
// "up", "down", "both", "echo"; "none" where no datagrams are measured (allocations).
const char *opts_direction_name(const struct config *c);
