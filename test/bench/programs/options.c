// SPDX-License-Identifier: BSD-3-Clause
// The arguments after EAL's, read and checked.
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const options_directions[] = {"up", "down", "mixed", NULL};
const char *const options_runs[] = {"", "relay", "forward", NULL};
static const char *const modes[] = {"channel", "indication", NULL};
static const char *const families[] = {"4", "6", NULL};
static const char *const relays[] = {"own", "shared", NULL};
static const char *const rates[] = {"none", "own", "all", NULL};
static const char *const clocks[] = {"tsc", "fixed", NULL};

enum {
	OPT_ALLOCATIONS = 1,
	OPT_SIZE,
	OPT_DIRECTION,
	OPT_MODE,
	OPT_FAMILY,
	OPT_MBUFS,
	OPT_CLOCK,
	OPT_VERIFY,
	OPT_MEMORY,
	OPT_RUN,
	OPT_PACKETS,
	OPT_SECONDS,
	OPT_WORKERS,
	OPT_HANDOVER,
	OPT_ONE_LCORE,
	OPT_RELAY,
	OPT_VERIFIED,
	OPT_STATE,
	OPT_RATES,
	OPT_HELP,
};

static const struct option long_options[] = {
	{"allocations", required_argument, NULL, OPT_ALLOCATIONS},
	{"size", required_argument, NULL, OPT_SIZE},
	{"direction", required_argument, NULL, OPT_DIRECTION},
	{"mode", required_argument, NULL, OPT_MODE},
	{"family", required_argument, NULL, OPT_FAMILY},
	{"mbufs", required_argument, NULL, OPT_MBUFS},
	{"clock", required_argument, NULL, OPT_CLOCK},
	{"verify", required_argument, NULL, OPT_VERIFY},
	{"memory", no_argument, NULL, OPT_MEMORY},
	{"run", required_argument, NULL, OPT_RUN},
	{"packets", required_argument, NULL, OPT_PACKETS},
	{"seconds", required_argument, NULL, OPT_SECONDS},
	{"workers", required_argument, NULL, OPT_WORKERS},
	{"handover", no_argument, NULL, OPT_HANDOVER},
	{"one-lcore", no_argument, NULL, OPT_ONE_LCORE},
	{"relay", required_argument, NULL, OPT_RELAY},
	{"verified", no_argument, NULL, OPT_VERIFIED},
	{"state", required_argument, NULL, OPT_STATE},
	{"rates", required_argument, NULL, OPT_RATES},
	{"help", no_argument, NULL, OPT_HELP},
	{0},
};

void options_help(void)
{
	printf("Usage: relay_core [EAL ARGS] -- [OPTIONS]\n"
	       "\n"
	       "What one core relays: the worker's pipeline on a replay port, no second process.\n"
	       "\n"
	       "  --allocations N    1 to %u [1]\n"
	       "  --size BYTES       of the media payload, %u to %u [120]\n"
	       "  --direction D      up (client to peer), down, mixed: half of each [mixed]\n"
	       "  --mode M           channel (ChannelData), indication (Send and Data) [channel]\n"
	       "  --family F         4, 6 [4]\n"
	       "  --mbufs N          packet buffers, 1024 to 1048576 [16384]\n"
	       "  --clock C          tsc; fixed: 625 rounds are a millisecond, so that counts of\n"
	       "                     instructions can be repeated [tsc]\n"
	       "  --verify N         frames of the verified pass before the first run [3200]\n"
	       "  --workers N        1 to %u, each on an lcore of its own with a queue of its own\n"
	       "                     and an equal share of the allocations [1]\n"
	       "  --handover         each packet comes in on another worker's queue and is handed\n"
	       "                     over; every queue gives to all other workers alike\n"
	       "  --one-lcore        it runs the rounds of all workers in turn\n"
	       "  --relay R          own: a relay port for each allocation; shared: eight for\n"
	       "                     those of a worker [own]\n"
	       "  --verified         the port has verified the checksums, as NICs do\n"
	       "  --state FILE       a state area is written, too\n"
	       "  --rates R          none; own: the allocation's are limited, higher than is\n"
	       "                     offered; all: those of user and realm, too [none]\n"
	       "  --memory           print what memory this takes and exit\n"
	       "  --run KIND         one run: relay, or forward (receive and send alone); with\n"
	       "  --packets N        a multiple of %u, or\n"
	       "  --seconds S        0.01 to %u\n"
	       "\n"
	       "Without --run it reads commands: run KIND SECONDS, packets KIND N, verify N,\n"
	       "quit. Each is answered by one line of JSON.\n"
	       "\n"
	       "Example: relay_core --lcores 0@1 --in-memory --no-pci -- --allocations 1000 \\\n"
	       "             --run relay --seconds 2\n",
		OPTIONS_ALLOCATIONS_MAX, OPTIONS_SIZE_MIN, OPTIONS_SIZE_MAX, OPTIONS_WORKERS_MAX,
		OPTIONS_BURST, OPTIONS_SECONDS_MAX);
}

static bool number(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' && *out >= min && *out <= max;
}

// Index of a word in a list, or -1.
static int choice(const char *text, const char *const list[])
{
	for (int i = 0; list[i] != NULL; i++)
		if (list[i][0] != '\0' && strcmp(text, list[i]) == 0)
			return i;
	return -1;
}

bool options_packets(const char *text, uint64_t *packets)
{
	return number(text, OPTIONS_BURST, UINT64_C(1) << 40, packets) &&
		*packets % OPTIONS_BURST == 0;
}

bool options_seconds(const char *text, double *seconds)
{
	char *end;

	*seconds = strtod(text, &end);
	return end != text && *end == '\0' && *seconds >= 0.01 && *seconds <= OPTIONS_SECONDS_MAX;
}

static bool take_number(struct options *o, int option, const char *text)
{
	uint64_t n;

	switch (option) {
	case OPT_ALLOCATIONS:
		if (!number(text, 1, OPTIONS_ALLOCATIONS_MAX, &n))
			return false;
		o->allocations = (uint32_t)n;
		return true;
	case OPT_SIZE:
		if (!number(text, OPTIONS_SIZE_MIN, OPTIONS_SIZE_MAX, &n))
			return false;
		o->size = (uint16_t)n;
		return true;
	case OPT_MBUFS:
		if (!number(text, 1024, 1048576, &n))
			return false;
		o->mbufs = (uint32_t)n;
		return true;
	case OPT_VERIFY:
		if (!number(text, 1, 100000000, &n))
			return false;
		o->verify = (uint32_t)n;
		return true;
	case OPT_WORKERS:
		if (!number(text, 1, OPTIONS_WORKERS_MAX, &n))
			return false;
		o->workers = (uint8_t)n;
		return true;
	case OPT_PACKETS:
		return options_packets(text, &o->packets);
	default:
		return options_seconds(text, &o->seconds);
	}
}

// Reads one option that getopt found; false if its value is invalid.
static bool take(struct options *o, int option, const char *text)
{
	int i;

	switch (option) {
	case OPT_DIRECTION:
		i = choice(text, options_directions);
		o->direction = (uint8_t)i;
		return i >= 0;
	case OPT_MODE:
		i = choice(text, modes);
		o->indication = i == 1;
		return i >= 0;
	case OPT_FAMILY:
		i = choice(text, families);
		o->is_v4 = i == 0;
		return i >= 0;
	case OPT_CLOCK:
		i = choice(text, clocks);
		o->fixed_clock = i == 1;
		return i >= 0;
	case OPT_RUN:
		i = choice(text, options_runs);
		o->run = (uint8_t)i;
		return i >= 0;
	case OPT_MEMORY:
		o->memory_only = true;
		return true;
	case OPT_VERIFIED:
		o->verified = true;
		return true;
	case OPT_HANDOVER:
		o->handover = true;
		return true;
	case OPT_ONE_LCORE:
		o->one_lcore = true;
		return true;
	case OPT_RELAY:
		i = choice(text, relays);
		o->shared = i == 1;
		return i >= 0;
	case OPT_RATES:
		i = choice(text, rates);
		o->rates = (uint8_t)i;
		return i >= 0;
	case OPT_STATE:
		o->state = text;
		return true;
	default:
		return take_number(o, option, text);
	}
}

static int check_run(const struct options *o, char *error, size_t len)
{
	if (o->run != RUN_COMMANDS && (o->packets != 0) == (o->seconds > 0)) {
		snprintf(error, len, "--run takes either --packets or --seconds");
		return -1;
	}
	if (o->run == RUN_COMMANDS && (o->packets != 0 || o->seconds > 0)) {
		snprintf(error, len, "--packets and --seconds belong to --run");
		return -1;
	}
	return 0;
}

static int check_workers(const struct options *o, char *error, size_t len)
{
	if (o->handover && o->workers == 1) {
		snprintf(error, len, "--handover needs --workers of two or more");
		return -1;
	}
	if (o->workers > o->allocations) {
		snprintf(error, len, "--allocations: at least one for each of %u workers",
			o->workers);
		return -1;
	}
	if (o->workers > 1 && !o->one_lcore && (o->fixed_clock || o->run == RUN_FORWARD)) {
		snprintf(error, len,
			"workers on their own lcores support neither --clock fixed nor forward");
		return -1;
	}
	return 0;
}

int options_parse(int argc, char **argv, struct options *o, char *error, size_t len)
{
	int option, opt_idx = 0;

	*o = (struct options){.allocations = 1,
		.mbufs = 16384,
		.verify = 3200,
		.size = 120,
		.direction = DIRECTION_MIXED,
		.is_v4 = true,
		.workers = 1};
	opterr = 0;
	optind = 1;
	while ((option = getopt_long(argc, argv, "", long_options, &opt_idx)) > 0) {
		if (option == OPT_HELP) {
			options_help();
			exit(0);
		}
		if (option == '?') {
			snprintf(error, len, "%s: no such option, or without its value",
				argv[optind - 1]);
			return -1;
		}
		if (!take(o, option, optarg)) {
			snprintf(error, len, "--%s %s: not a value it takes (see --help)",
				long_options[opt_idx].name, optarg);
			return -1;
		}
	}
	if (optind < argc) {
		snprintf(error, len, "%s: not an option", argv[optind]);
		return -1;
	}
	return check_workers(o, error, len) != 0 ? -1 : check_run(o, error, len);
}
