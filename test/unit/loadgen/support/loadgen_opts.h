// SPDX-License-Identifier: BSD-3-Clause
// Reading command lines of the load generator in tests.
#pragma once

#include "options/opts.h"

#define READ(...) loadgen_opts_read((char *[]){"slipring-loadgen", ##__VA_ARGS__, NULL})
// Mandatory options of a run with a server and its own peers
#define BASE                                                                            \
	"--server", "10.0.0.1", "--client-addr", "10.0.0.2-10.0.0.9/24", "--peer-addr", \
		"10.0.1.2/24"
#define CLIENT "--role", "client", BASE
#define PEER "--role", "peer", "--peer-addr", "10.0.1.2/24"
#define REFUSED(reason, ...) assert_refused(reason, READ(__VA_ARGS__))

extern struct config read_config;
extern char read_error[OPTS_ERROR_LEN];

// Reads words up to a NULL into read_config, which is filled with garbage first. Returns the result
// of opts_read; the reason of an error is in read_error.
int loadgen_opts_read(char **argv);
// Asserts that the result of loadgen_opts_read is a run.
void assert_accepted(int rc);
// Asserts that the result is an error of one line that contains `reason`.
void assert_refused(const char *reason, int rc);
// Asserts that two numbers are equal, except for rounding.
void assert_number(double got, double want);
