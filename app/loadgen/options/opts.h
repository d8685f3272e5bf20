// SPDX-License-Identifier: BSD-3-Clause
// The command line of slipring-loadgen, without EAL's own arguments. Main lcore only.
#pragma once

#include "options/config.h"

#define OPTS_ERROR_LEN 320

enum opts_result {
	OPTS_ERROR = -1,
	OPTS_RUN = 0,
	OPTS_SHOWN = 1, // --help or --version: there is nothing to run
};

// Reads the command line into *c. argv[0] is the program's name; a "--" after it is skipped. *c
// keeps pointers to strings of argv. OPTS_ERROR: the reason is on stderr, in one line. OPTS_SHOWN:
// the answer is on stdout. OPTS_RUN: the configuration is complete, which means:
//	role & ROLE_CLIENT	client.addrs, client.device, clients <= hosts of the client's side
//	role & ROLE_PEER	peer.addrs; peer.device is NULL for "port 1 if there is one"
//	media			peer.addrs (client i talks to host i modulo their number), no
//				payload that exceeds the MTU on either leg
//	rate			datagrams (MODE_ALLOC: allocations) per second, whichever option
//				gave it; also 0 in MODE_ALLOC_HOLD, where the set-up has the rate
//	duration_s		0 for ROLE_PEER alone without --duration: runs until stopped
int opts_parse(int argc, char **argv, struct config *c);
// Like opts_parse, but writes the reason to error (OPTS_ERROR_LEN bytes), without the program's
// name.
int opts_read(int argc, char **argv, struct config *c, char *error);
