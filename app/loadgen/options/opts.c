// SPDX-License-Identifier: BSD-3-Clause
// Reads the command line with getopt_long.
#include "options/opts.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "options/help.h"
#include "options/option.h"
#include "options/opts_check.h"

#define LONG_BASE 256 // getopt returns LONG_BASE + id for option id

static int fail_word(struct opts *o, const char *reason, const char *arg)
{
	snprintf(o->error, OPTS_ERROR_LEN, "%s %.100s (see --help)", reason, arg);
	return -1;
}

// True if a name was written in full. getopt accepts abbreviations, which are refused here: an
// option of a newer version could change the meaning of an abbreviation in an old command line.
static bool spelled_out(const char *arg, const char *name)
{
	const size_t n = strlen(name);

	return strncmp(arg, "--", 2) == 0 && strncmp(arg + 2, name, n) == 0 &&
		(arg[2 + n] == '\0' || arg[2 + n] == '=');
}

static int take_option(struct opts *o, enum opt id, int argc, char **argv)
{
	const struct opt_row *row = option_row(id);
	const char *text = optarg;

	// --json FILE: getopt takes an optional value only after "="
	if (row->has_arg == optional_argument && text == NULL) {
		const bool next = optind < argc && argv[optind][0] != '\0' &&
			(argv[optind][0] != '-' || argv[optind][1] == '\0');

		text = next ? argv[optind++] : "-";
	}
	o->now = id;
	o->text[id] = row->has_arg != no_argument ? text : "";
	return row->take(o, row, text);
}

// Handles one result of getopt; OPTS_RUN means to continue.
static int read_option(struct opts *o, int option, int argc, char **argv, const char *arg)
{
	const int id = option == 'h' ? OPT_HELP : option - LONG_BASE;

	if (option == ':')
		return fail_word(o, "missing value of", arg);
	if (option == '?' || id < 0 || id >= OPT_NB)
		return fail_word(o, "unknown option", arg);
	if (option != 'h' && !spelled_out(arg, option_row(id)->name))
		return fail_word(o, "unknown option", arg);
	if (id == OPT_HELP) {
		help_print(stdout);
		return OPTS_SHOWN;
	}
	if (id == OPT_VERSION) {
		printf("slipring-loadgen %s\n", SLIPRING_VERSION);
		return OPTS_SHOWN;
	}
	return take_option(o, (enum opt)id, argc, argv);
}

static int read_all(struct opts *o, int argc, char **argv)
{
	struct option names[OPT_NB + 1] = {0};
	int option, pos = 1;

	for (int i = 0; i < OPT_NB; i++) {
		const struct opt_row *row = option_row((enum opt)i);

		names[i] = (struct option){row->name, row->has_arg, NULL, LONG_BASE + i};
	}
	optind = 0; // glibc: start over
	while ((option = getopt_long(argc, argv, "+:h", names, NULL)) != -1) {
		const int rc = read_option(o, option, argc, argv, argv[pos]);

		if (rc != OPTS_RUN)
			return rc;
		pos = optind;
	}
	if (optind < argc)
		return fail_word(o, "unexpected argument", argv[optind]);
	return OPTS_RUN;
}

int opts_read(int argc, char **argv, struct config *c, char *error)
{
	struct opts o = {.config = c, .error = error};
	int rc;

	error[0] = '\0';
	config_defaults(c);
	// The "--" that ends EAL's arguments may still be in front
	if (argc > 1 && strcmp(argv[1], "--") == 0) {
		argc--;
		argv++;
	}
	rc = read_all(&o, argc, argv);
	return rc == OPTS_RUN ? opts_check(&o) : rc;
}

int opts_parse(int argc, char **argv, struct config *c)
{
	char error[OPTS_ERROR_LEN];
	const int rc = opts_read(argc, argv, c, error);

	if (rc == OPTS_ERROR)
		fprintf(stderr, "slipring-loadgen: %s\n", error);
	return rc;
}
