// SPDX-License-Identifier: BSD-3-Clause
// The appliance in one straight line: arguments, configuration, EAL, data path, management; and the
// same backwards.

#include <stdio.h>
#include <stdlib.h>

#include <rte_version.h>

#include "conf.h"
#include "dp.h"
#include "eal.h"
#include "log.h"
#include "mgmt.h"
#include "opts.h"

static void print_line(void *ctx, const char *line)
{
	fprintf(ctx, "%s\n", line);
}

static void log_warning(void *ctx, const char *line)
{
	LOG(WARNING, "%s", line);
}

static int check(const struct opts *o)
{
	char error[CONF_ERROR_LEN];
	struct conf *c = conf_load(o->config, error);

	if (c == NULL) {
		fprintf(stderr, "%s\n", error);
		return EXIT_FAILURE;
	}
	conf_warnings(c, print_line, stderr);
	printf("%s: no errors\n", o->config);
	conf_free(c);
	return EXIT_SUCCESS;
}

// Whoever started us reads standard error; with syslog the reason must be found there as well.
static int start_failed(const struct conf *c, const char *error)
{
	LOG(ERR, "%s", error);
	if (c->log_to != CONF_LOG_STDERR)
		fprintf(stderr, "slipring: %s\n", error);
	return EXIT_FAILURE;
}

static void resolve_workers(struct conf *c, unsigned int nb_cpus)
{
	const int lcores = c->eal_lcores != NULL ? conf_lcores_count(c->eal_lcores) : 0;

	if (c->workers == 0)
		c->workers = eal_workers_default(nb_cpus, lcores > 0 ? (unsigned int)lcores : 0);
	c->turn.workers = c->workers;
	if (c->workers > nb_cpus)
		LOG(WARNING, "%u workers share %u CPUs", c->workers, nb_cpus);
}

static int serve(const struct conf *c, const struct eal *e)
{
	char error[CONF_ERROR_LEN];
	struct dp *d = dp_start(c, e->workers, error, sizeof(error));
	int rc;

	if (d == NULL)
		return start_failed(c, error);
	rc = mgmt_run(d, c, e->memory);
	dp_stop(d);
	if (rc != 0)
		return EXIT_FAILURE;
	LOG(INFO, "stopped");
	return EXIT_SUCCESS;
}

static int run_configured(const struct opts *o, struct conf *c)
{
	unsigned int cpus[RTE_MAX_LCORE];
	struct eal_params p = {
		.conf = c,
		.extra = o->eal,
		.nb_extra = o->nb_eal,
		.cpus = cpus,
		.nb_cpus = eal_cpus_allowed(cpus),
	};
	char error[CONF_ERROR_LEN];
	struct eal e;
	int rc;

	resolve_workers(c, p.nb_cpus);
	p.need_mb = dp_memory_mb(c);
	p.free_mb = eal_hugepages_free_mb("/sys/kernel/mm/hugepages");
	// Before EAL makes threads, which inherit the mask: only the management loop takes signals.
	if (mgmt_signals_block() != 0)
		return start_failed(c, "signals cannot be blocked");
	if (eal_start(&e, &p, error, sizeof(error)) != 0)
		return start_failed(c, error);
	rc = serve(c, &e);
	eal_stop(&e);
	return rc;
}

static int run(const struct opts *o)
{
	char error[CONF_ERROR_LEN];
	struct conf *c = conf_load(o->config, error);
	int rc;

	if (c == NULL) {
		fprintf(stderr, "%s\n", error);
		return EXIT_FAILURE;
	}
	mgmt_log_open(c->log_to, c->log_level);
	conf_warnings(c, log_warning, NULL);
	rc = run_configured(o, c);
	mgmt_log_close();
	conf_free(c);
	return rc;
}

int main(int argc, char **argv)
{
	char error[256];
	struct opts o;

	if (opts_parse(&o, argc, argv, error, sizeof(error)) != 0) {
		fprintf(stderr, "slipring: %s\nTry: slipring --help\n", error);
		return EXIT_FAILURE;
	}
	switch (o.action) {
	case OPTS_HELP:
		opts_help(stdout);
		return EXIT_SUCCESS;
	case OPTS_VERSION:
		printf("slipring %s (%s)\n", SLIPRING_VERSION, rte_version());
		return EXIT_SUCCESS;
	case OPTS_MANUAL:
		conf_manual(stdout);
		return EXIT_SUCCESS;
	case OPTS_CHECK:
		return check(&o);
	case OPTS_RUN:
		break;
	}
	return run(&o);
}
