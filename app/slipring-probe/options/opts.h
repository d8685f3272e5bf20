// SPDX-License-Identifier: BSD-3-Clause
// The command line.
#pragma once

#include "options/uri.h"

#define OPTS_ERROR_SIZE 320
#define OPTS_LINE 1023 // bytes of a password or secret in a file

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_PROMETHEUS };

struct opts {
	const char *text; // the server, as it was written
	struct uri uri;
	unsigned int transports; // bits of enum transport
	bool asked; // the command line names the transports: each of them must work
	// Credentials; all NULL if there is no user.
	const char *user, *password, *secret;
	char line[OPTS_LINE + 3]; // of the file that has the password or the secret
	const char *ca; // PEM file; NULL = the system's CAs
	const char *name; // that the certificate must have; NULL = the host
	int family; // AF_UNSPEC, AF_INET or AF_INET6
	uint32_t timeout_ms; // of each step
	enum format format;
};

enum opts_result { OPTS_RUN, OPTS_SHOWN, OPTS_ERROR };

// Reads the command line into *o, which keeps pointers to strings of argv and into itself.
// OPTS_SHOWN: --help or --version was answered on stdout. OPTS_ERROR: the reason is in error.
enum opts_result opts_read(int argc, char **argv, struct opts *o, char error[OPTS_ERROR_SIZE]);
