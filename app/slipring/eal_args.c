// SPDX-License-Identifier: BSD-3-Clause
// Builds the arguments of EAL from the configuration and the machine. The operator's arguments come
// last and win. Options that EAL refuses to see twice, or in some mixtures, are left to the
// operator.

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "eal.h"
#include "port.h"

#define PREFIX_OPTION "--file-prefix"

static const char *const lcore_options[] = {"-c", "-l", "--lcores", NULL};
static const char *const memory_options[] = {"-m", "--socket-mem", "--no-huge", "--in-memory",
	"--huge-dir", "--huge-unlink", "--legacy-mem", "--single-file-segments", NULL};

__attribute__((format(printf, 2, 3))) static int add_arg(struct eal_args *a, const char *fmt, ...)
{
	char **grown = realloc(a->argv, (a->argc + 2) * sizeof(*grown));
	va_list ap;
	int n;

	if (grown == NULL)
		return -1;
	a->argv = grown;
	a->argv[a->argc] = NULL;
	va_start(ap, fmt);
	n = vasprintf(&a->argv[a->argc], fmt, ap);
	va_end(ap);
	if (n < 0) {
		a->argv[a->argc] = NULL;
		return -1;
	}
	a->argv[++a->argc] = NULL;
	return 0;
}

// True if arg is the option: "--x" matches "--x" and "--x=..."; "-x" matches "-x..." too.
static bool is_option(const char *arg, const char *name)
{
	const size_t n = strlen(name);

	if (strncmp(arg, name, n) != 0)
		return false;
	return name[1] != '-' || arg[n] == '\0' || arg[n] == '=';
}

static const char *operator_arg(const struct eal_params *p, unsigned int i)
{
	return i < p->conf->nb_eal_args ? p->conf->eal_args[i] : p->extra[i - p->conf->nb_eal_args];
}

static unsigned int operator_args(const struct eal_params *p)
{
	return p->conf->nb_eal_args + p->nb_extra;
}

static bool operator_says(const struct eal_params *p, const char *const *names)
{
	for (unsigned int i = 0; i < operator_args(p); i++)
		for (const char *const *n = names; *n != NULL; n++)
			if (is_option(operator_arg(p, i), *n))
				return true;
	return false;
}

bool eal_args_lcores(char *const *args, unsigned int nb)
{
	for (unsigned int i = 0; i < nb; i++)
		for (const char *const *n = lcore_options; *n != NULL; n++)
			if (is_option(args[i], *n))
				return true;
	return false;
}

unsigned int eal_workers_default(unsigned int nb_cpus, unsigned int lcores)
{
	unsigned int n = lcores != 0 ? lcores : nb_cpus;

	n = n > 1 ? n - 1 : 1;
	return n < TURN_WORKERS_MAX ? n : TURN_WORKERS_MAX;
}

char *eal_lcores_deal(const unsigned int *cpus, unsigned int nb_cpus, unsigned int workers)
{
	const unsigned int skip = nb_cpus > workers ? 1 : 0;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		return NULL;
	fprintf(f, "0@(");
	for (unsigned int i = 0; i < nb_cpus; i++)
		fprintf(f, "%s%u", i > 0 ? "," : "", cpus[i]);
	fprintf(f, ")");
	for (unsigned int w = 0; w < workers; w++)
		fprintf(f, ",%u@%u", w + 1, cpus[(w + skip) % nb_cpus]);
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static int add_lcores(struct eal_args *a, const struct eal_params *p)
{
	char *dealt;
	int rc;

	if (operator_says(p, lcore_options))
		return 0;
	if (p->conf->eal_lcores != NULL)
		return add_arg(a, "--lcores=%s", p->conf->eal_lcores);
	dealt = eal_lcores_deal(p->cpus, p->nb_cpus, p->conf->workers);
	if (dealt == NULL)
		return -1;
	rc = add_arg(a, "--lcores=%s", dealt);
	free(dealt);
	return rc;
}

// Adds -a for every NIC that is named. Without any, EAL does not even look at the PCI bus.
static int add_devices(struct eal_args *a, const struct conf *c, bool *pci)
{
	char bdf[PORT_PCI_LEN];
	int rc = 0;

	*pci = false;
	for (uint32_t i = 0; i < c->nb_ports; i++) {
		for (uint32_t k = 0; k < conf_port_devices(&c->ports[i]) && rc == 0; k++) {
			const char *device = conf_port_device(&c->ports[i], k);

			if (!port_device_pci(device, bdf))
				continue;
			*pci = true;
			rc = add_arg(a, "-a") != 0 || add_arg(a, "%s", device) != 0;
		}
	}
	if (rc == 0 && !*pci)
		rc = add_arg(a, "--no-pci");
	return rc != 0 ? -1 : 0;
}

static int add_memory(struct eal_args *a, const struct eal_params *p, bool pci)
{
	if (operator_says(p, memory_options)) {
		a->memory = EAL_MEMORY_OPERATOR;
		return 0;
	}
	if (p->free_mb < p->need_mb) {
		// Without hugepages there are only virtual addresses.
		a->memory = EAL_MEMORY_NORMAL;
		return add_arg(a, "--no-huge") != 0 || add_arg(a, "-m") != 0 ||
				add_arg(a, "%zu", p->normal_mb) != 0 ||
				add_arg(a, "--no-shconf") != 0 || add_arg(a, "--iova-mode=va") != 0
			? -1
			: 0;
	}
	// In-memory mode needs no hugetlbfs mount and leaves no files; vhost-user peers want one
	// file.
	a->memory = EAL_MEMORY_HUGE;
	if (add_arg(a, "--in-memory") != 0 || add_arg(a, "--single-file-segments") != 0)
		return -1;
	// A NIC without IOMMU needs physical addresses, so with a NIC EAL chooses.
	return pci ? 0 : add_arg(a, "--iova-mode=va");
}

static void find_prefix(struct eal_args *a)
{
	const size_t n = strlen(PREFIX_OPTION);

	for (unsigned int i = 0; i < a->argc; i++) {
		if (strncmp(a->argv[i], PREFIX_OPTION, n) != 0)
			continue;
		if (a->argv[i][n] == '=')
			a->file_prefix = a->argv[i] + n + 1;
		else if (a->argv[i][n] == '\0' && i + 1 < a->argc)
			a->file_prefix = a->argv[i + 1];
	}
}

int eal_args_build(struct eal_args *a, const struct eal_params *p)
{
	// At its "info" level DPDK logs much that matters only for debugging; telemetry even warns
	// that the socket of older releases is missing. If several patterns fit a log that does not
	// exist yet, the first pattern counts.
	const bool debug = conf_area_level(&p->conf->log, CONF_AREA_DPDK) >= LOG_DEBUG;
	const bool ports = conf_area_level(&p->conf->log, CONF_AREA_PORTS) >= LOG_DEBUG;
	bool pci;
	int rc;

	*a = (struct eal_args){0};
	rc = add_arg(a, "slipring") != 0 ||
		add_arg(a, "--log-level=lib.telemetry:%s", debug ? "info" : "error") != 0 ||
		add_arg(a, "--log-level=*:%s", debug ? "info" : "warning") != 0 ||
		add_arg(a, "--log-level=port:%s", ports ? "info" : "warning") != 0 ||
		add_arg(a, PREFIX_OPTION "=%s", p->conf->eal_file_prefix) != 0 ||
		add_lcores(a, p) != 0 || add_devices(a, p->conf, &pci) != 0 ||
		add_memory(a, p, pci) != 0;
	for (unsigned int i = 0; i < operator_args(p) && rc == 0; i++)
		rc = add_arg(a, "%s", operator_arg(p, i));
	if (rc != 0) {
		eal_args_free(a);
		return -1;
	}
	find_prefix(a);
	return 0;
}

void eal_args_free(struct eal_args *a)
{
	for (unsigned int i = 0; i < a->argc; i++)
		free(a->argv[i]);
	free(a->argv);
	*a = (struct eal_args){0};
}
