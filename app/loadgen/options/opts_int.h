// SPDX-License-Identifier: BSD-3-Clause
// Between the files of the command line: opts.c (the table), opts_values.c (texts to values),
// opts_check.c (what options say of each other).
#pragma once

#include <stddef.h>

#include "options/opts.h"

#define OPTS_PAYLOAD_MIN 28 // the stamp
#define OPTS_PAYLOAD_MAX 9216
#define OPTS_ADDRS_MAX 65536
#define OPTS_BURST_MAX 64
#define OPTS_RATE_MAX 1e9

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

// Who an option is for. One that nobody of this run looks at is refused, not ignored.
enum {
	USE_CLIENT = 1, // the clients of this process
	USE_PEER = 2, // the peers of this process
	USE_MEDIA = 4, // datagrams from end to end
	USE_SEARCH = 8,
};

struct opts;

// One option. Its value goes to `size` bytes at `offset` of struct config, or where take says.
struct opt_row {
	const char *name;
	int has_arg; // as getopt has it
	unsigned int use;
	int (*take)(struct opts *o, const struct opt_row *row, const char *text);
	size_t offset, size;
	double lo, hi; // of numbers
};

// A command line being read.
struct opts {
	struct config *config;
	enum opt now; // being taken
	const char *text[OPT_NB]; // as given ("" for a flag), NULL = not given
	double mbps, per_client;
	bool server_port; // --server tells one
	bool down; // --mode peer-to-client
	bool way[DIRECTION_NB]; // --direction, if given
	char *error; // OPTS_ERROR_LEN bytes
};

const struct opt_row *opts_row(enum opt id);
// Index of text among n names, or -1 with all of them in the error.
int opts_word(struct opts *o, const char *text, const char *const *names, int n);
static inline bool opts_given(const struct opts *o, enum opt id)
{
	return o->text[id] != NULL;
}
// Writes "--name value: reason". Always -1.
int opts_fail(struct opts *o, enum opt id, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

// --- opts_values.c: 0, or -1 with the reason written ---------------------------------------------

int opts_take_flag(struct opts *o, const struct opt_row *row, const char *text);
int opts_take_count(struct opts *o, const struct opt_row *row, const char *text); // whole number
int opts_take_real(struct opts *o, const struct opt_row *row, const char *text);
int opts_take_share(struct opts *o, const struct opt_row *row, const char *text);
int opts_take_text(struct opts *o, const struct opt_row *row, const char *text); // is copied
int opts_take_string(struct opts *o, const struct opt_row *row, const char *text); // is kept
int opts_take_sizes(struct opts *o, const struct opt_row *row, const char *text);
int opts_take_impair(struct opts *o, const struct opt_row *row, const char *text);
// Number with an optional k, M or G behind it; false when it is none.
bool opts_number(const char *text, double *out);

// --- opts_addr.c ---------------------------------------------------------------------------------

int opts_take_server(struct opts *o, const struct opt_row *row, const char *text);
int opts_take_addrs(struct opts *o, const struct opt_row *row, const char *text);
int opts_take_ports(struct opts *o, const struct opt_row *row, const char *text);
int opts_take_gateway(struct opts *o, const struct opt_row *row, const char *text);
// Checks of sides and of families; see opts_check.
int opts_check_sides(struct opts *o);

// --- opts_transport.c ----------------------------------------------------------------------------

int opts_take_transport(struct opts *o, const struct opt_row *row, const char *text);
int opts_take_tls_max(struct opts *o, const struct opt_row *row, const char *text);
// What connections do not have or do, and their defaults.
int opts_check_transport(struct opts *o);

// --- opts_check.c --------------------------------------------------------------------------------

// Defaults that depend on other options, then everything that one option says of another.
int opts_check(struct opts *o);
