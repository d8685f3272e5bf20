// SPDX-License-Identifier: BSD-3-Clause
// The options: the rows of their table, and the state of those read until now. Only the files of
// options/ include it.
#pragma once

#include <stddef.h>

#include "options/config.h"

enum opt {
	OPT_ROLE,
	OPT_CLIENT_PORT,
	OPT_PEER_PORT,
	OPT_SENDERS,
	OPT_RECEIVERS,
	OPT_MTU,
	OPT_RING,
	OPT_MBUFS,
	OPT_SERVER,
	OPT_TRANSPORT,
	OPT_CA,
	OPT_TLS_MAX,
	OPT_CLIENT_ADDR,
	OPT_CLIENT_PORTS,
	OPT_CLIENT_GATEWAY,
	OPT_PEER_ADDR,
	OPT_PEER_PORTS,
	OPT_PEER_GATEWAY,
	OPT_CLIENTS,
	OPT_USER,
	OPT_PASSWORD,
	OPT_SECRET,
	OPT_USER_PER_CLIENT,
	OPT_INTEGRITY,
	OPT_DONT_FRAGMENT,
	OPT_LIFETIME,
	OPT_SETUP_RATE,
	OPT_WINDOW,
	OPT_MODE,
	OPT_DIRECTION,
	OPT_PPS,
	OPT_MBPS,
	OPT_PPS_PER_CLIENT,
	OPT_VOIP,
	OPT_SIZE,
	OPT_BURST,
	OPT_USO,
	OPT_DURATION,
	OPT_WARMUP,
	OPT_DRAIN,
	OPT_REFLECT,
	OPT_IMPAIR,
	OPT_SEARCH,
	OPT_LOSS,
	OPT_FROM,
	OPT_TO,
	OPT_RESOLUTION,
	OPT_REPEATS,
	OPT_STATS_PERIOD,
	OPT_JSON,
	OPT_TELEMETRY,
	OPT_PLOT,
	OPT_INTERACTIVE,
	OPT_HELP,
	OPT_VERSION,
	OPT_NB
};

// Users of an option. An option without users in this run is refused, not ignored.
enum {
	USE_CLIENT = 1, // the clients of this process
	USE_PEER = 2, // the peers of this process
	USE_MEDIA = 4, // datagrams from end to end
	USE_SEARCH = 8,
};

struct opts;

// One option. take reads its value. A general take function writes `size` bytes at `offset` of
// struct config; the others choose the field themselves.
struct opt_row {
	const char *name;
	int has_arg; // as in getopt's struct option
	unsigned int use;
	int (*take)(struct opts *o, const struct opt_row *row, const char *text);
	size_t offset, size;
	double lo, hi; // bounds of a number
};

// The state of reading one command line.
struct opts {
	struct config *config;
	enum opt now; // the option being read
	const char *text[OPT_NB]; // values as given ("" for a flag); NULL = not given
	double mbps, per_client;
	bool server_port; // --server gives a port
	bool down; // --mode peer-to-client was given
	bool direction[DIRECTION_NB]; // --direction, if given
	char *error; // OPTS_ERROR_LEN bytes
};

// The row of an option in the table.
const struct opt_row *option_row(enum opt id);
// Returns the index of text among n names, or -1 with an error that lists them.
int option_word(struct opts *o, const char *text, const char *const *names, int n);
// True if an option was on the command line.
static inline bool option_given(const struct opts *o, enum opt id)
{
	return o->text[id] != NULL;
}
// Writes "--name value: reason" to o->error. Always returns -1.
int option_fail(struct opts *o, enum opt id, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
