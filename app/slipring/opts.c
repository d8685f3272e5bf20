// SPDX-License-Identifier: BSD-3-Clause
// The command line: options, their checks, and the help.
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "opts.h"

static const struct option long_options[] = {
	{"config", required_argument, NULL, 'c'},
	{"check", no_argument, NULL, 'k'},
	{"drivers", required_argument, NULL, 'd'},
	{"show-driver", required_argument, NULL, 's'},
	{"show-needs", no_argument, NULL, 'n'},
	{"manual", no_argument, NULL, 'm'},
	{"state-layout", no_argument, NULL, 'l'},
	{"version", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

void opts_help(FILE *out)
{
	fputs("Usage: slipring -c FILE [-- EAL-ARGS]\n"
	      "  or:  slipring init [OPTIONS]\n"
	      "  or:  slipring --check -c FILE\n"
	      "  or:  slipring --show-driver NAME [-c FILE]\n"
	      "  or:  slipring --show-needs -c FILE\n"
	      "\n"
	      "A TURN server that takes NIC queues away from the kernel with DPDK and relays\n"
	      "media in user space.\n"
	      "\n"
	      "Running:\n"
	      "  -c, --config FILE  configuration (YAML)\n"
	      "      --drivers DIR  driver profiles; wins over the key drivers of the\n"
	      "                     configuration\n"
	      "  -- EAL-ARGS        passed to DPDK after eal.args of the configuration; they "
	      "win\n"
	      "                     over what slipring would choose (lcores, memory, prefix)\n"
	      "Setting up:\n"
	      "  init [OPTIONS]     look at this machine and write a configuration for it\n"
	      "                     (init --help, slipring-init(1))\n"
	      "Looking:\n"
	      "      --check        print all errors and warnings of the configuration, and\n"
	      "                     where it does not fit this machine; change nothing\n"
	      "      --show-driver NAME\n"
	      "                     print as YAML the settings for ports of a driver (net_ice, "
	      "ice,\n"
	      "                     net_af_packet0) and where each value comes from\n"
	      "      --show-needs   print as JSON the needs of a configuration on this machine: "
	      "lcores,\n"
	      "                     memory, devices (slipring-tune reads it)\n"
	      "      --manual       print the reference of all configuration keys (Markdown)\n"
	      "      --state-layout\n"
	      "                     print the layout of the state area: calls survive upgrades\n"
	      "                     to the same one (slipring-upgrade-check)\n"
	      "      --version      print the versions of slipring and DPDK\n"
	      "  -h, --help         print this\n"
	      "\n"
	      "Signals: SIGTERM, SIGINT stop; SIGHUP reads the configuration and certificates\n"
	      "again, SIGUSR2 certificates only.\n"
	      "\n"
	      "Exit status: 0 after a clean stop or a configuration without errors (it may have\n"
	      "warnings), 78 if the server cannot start with this configuration, else 1.\n"
	      "\n"
	      "Examples:\n"
	      "  slipring --check -c /etc/slipring/slipring.yaml\n"
	      "  slipring -c /etc/slipring/slipring.yaml\n"
	      "  slipring --show-driver ice\n"
	      "  slipring -c lab.yaml -- --log-level='pmd.*:debug'\n"
	      "  echo /slipring/stats | dpdk-telemetry.py -f slipring\n",
		out);
}

static int usage(char *error, size_t len, const char *reason, const char *arg)
{
	snprintf(error, len, "%s%s", reason, arg);
	return -1;
}

// Handles one option that getopt has found; 0 or -1.
static int take_option(struct opts *o, int option, char **argv, char *error, size_t len)
{
	switch (option) {
	case 'c':
		if (o->config != NULL)
			return usage(error, len, "-c given twice: ", optarg);
		o->config = optarg;
		return 0;
	case 'k':
		o->action = OPTS_CHECK;
		return 0;
	case 'd':
		o->drivers = optarg;
		return 0;
	case 's':
		o->action = OPTS_DRIVER;
		o->driver = optarg;
		return 0;
	case 'n':
		o->action = OPTS_NEEDS;
		return 0;
	case 'm':
		o->action = OPTS_MANUAL;
		return 0;
	case 'l':
		o->action = OPTS_LAYOUT;
		return 0;
	case 'v':
		o->action = OPTS_VERSION;
		return 0;
	case 'h':
		o->action = OPTS_HELP;
		return 0;
	case ':':
		return usage(error, len, "missing argument of ", argv[optind - 1]);
	default:
		return usage(error, len, "unknown option ", argv[optind - 1]);
	}
}

int opts_parse(struct opts *o, int argc, char **argv, char *error, size_t len)
{
	int own_argc = 1, option;

	*o = (struct opts){.action = OPTS_RUN};
	while (own_argc < argc && strcmp(argv[own_argc], "--") != 0)
		own_argc++;
	if (own_argc < argc) {
		o->eal = &argv[own_argc + 1];
		o->nb_eal = (unsigned int)(argc - own_argc - 1);
	}
	optind = 0; // makes glibc start again
	while ((option = getopt_long(own_argc, argv, "+:c:h", long_options, NULL)) != -1) {
		if (take_option(o, option, argv, error, len) != 0)
			return -1;
	}
	if (optind < own_argc)
		return usage(error, len, "unexpected argument ", argv[optind]);
	if ((o->action == OPTS_RUN || o->action == OPTS_CHECK || o->action == OPTS_NEEDS) &&
		o->config == NULL)
		return usage(error, len, "no configuration: give -c FILE", "");
	if (o->action != OPTS_RUN && o->nb_eal > 0)
		return usage(error, len, "EAL arguments make sense only with -c FILE: ", o->eal[0]);
	return 0;
}
